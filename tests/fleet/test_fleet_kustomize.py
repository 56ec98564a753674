"""Packages that kustomize builds have the same objects as within kustomize. No program that a repository names runs."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from krmfn.yamltext import read, split_documents
from packwise.fleet import kustomize as module
from tests.cli.calling import CONFIG, SERVICE, WORKLOAD, Call, write
from tests.clients.running import run
from tests.fleet.trees import FLEET, FUNCTION, overlay
from tests.places import ROOT


@pytest.fixture(autouse=True)
def _apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Make a separate cache for each test, and search for kustomize again."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / ".cache"))
    (tmp_path / ".git").mkdir()
    module.kustomize_version.cache_clear()
    yield
    module.kustomize_version.cache_clear()


@pytest.fixture
def on_path(kustomize: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put the real kustomize first on PATH."""
    monkeypatch.setenv("PATH", f"{kustomize.parent}{os.pathsep}{os.environ['PATH']}")
    return kustomize


def program(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a program with the name kustomize first on PATH."""
    path = folder / "bin/kustomize"
    path.parent.mkdir()
    path.write_text(f"#!/bin/sh\n{script}", encoding="utf-8")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{path.parent}{os.pathsep}{os.environ['PATH']}")


ECHO = """\
if [ "$1" = version ]; then echo v5; exit 0; fi
echo "$0 $# $PATH" >&2
while read -r line; do echo "$line"; done < "$2/../../base/workload.yaml" | true
while IFS= read -r line; do printf '%s\\n' "$line"; done < "$2/../../base/workload.yaml"
"""


def test_without_kustomize_its_packages_fail_alone(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, FLEET)
    monkeypatch.setenv("PATH", str(tmp_path))

    ran = call("fleet", "check", ".")

    assert ran.code == 1
    assert ran.stdout.splitlines()[0] == "4 packages: 2 failing, 2 passing"
    assert "clusters/east: kustomize is not on PATH, and packwise needs it to build kustomizations: " in ran.stdout


def test_what_kustomize_refuses_is_the_error_of_its_package(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, FLEET)
    program(
        tmp_path, 'if [ "$1" = version ]; then echo v5; exit 0; fi; echo "Error: no $2/x" >&2; exit 1\n', monkeypatch
    )

    ran = call("fleet", "check", ".")
    again = call("fleet", "check", ".")

    assert ran.code == 1
    assert "  error: clusters/east/kustomization.yaml: no clusters/east/x [fleet-build]" in ran.stdout.splitlines()
    assert again == ran


def test_a_build_without_a_word_is_an_error_too(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, FLEET)
    program(tmp_path, '[ "$1" = version ] && echo v5\n', monkeypatch)

    assert "kustomization.yaml: kustomize fails without a message [fleet-build]" in call("fleet", "check", ".").stdout


def test_a_build_that_is_no_yaml_is_an_error(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, FLEET)
    program(tmp_path, 'if [ "$1" = version ]; then echo v5; exit 0; fi; echo "a: ["\n', monkeypatch)

    assert "error: clusters/east/kustomization.yaml: " in call("fleet", "check", ".").stdout


@pytest.mark.parametrize(
    "error",
    [
        FileNotFoundError(2, "No usable temporary directory found in ['/tmp', '/']"),
        OSError(28, "No space left on device"),
        PermissionError(13, "Permission denied"),
    ],
    ids=["none", "full", "refused"],
)
def test_without_a_folder_for_temporary_files_a_package_fails_that_is_built(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: OSError
) -> None:
    write(tmp_path, FLEET)
    program(tmp_path, ECHO, monkeypatch)

    def fail(*_: object, **__: object) -> None:
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(module, "TemporaryDirectory", fail)
        ran = call("fleet", "check", ".")
    again = call("fleet", "check", ".")

    lines = ran.stdout.splitlines()
    assert (ran.code, lines[0]) == (1, "4 packages: 2 failing, 2 passing")
    assert (
        "  error: clusters/east/kustomization.yaml: cannot write the files of a build to the folder in TMPDIR: "
        f"{error.strerror} [fleet-build]"
    ) in lines
    assert again.stdout.splitlines()[0] == "4 packages: 4 passing"


def test_a_kustomize_that_cannot_be_started_is_the_error_of_its_packages(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, FLEET)
    program(tmp_path, ECHO, monkeypatch)
    (tmp_path / "bin/kustomize").write_bytes(b"\x7fELF")

    ran = call("fleet", "check", ".")

    assert (ran.code, ran.stdout.splitlines()[0]) == (1, "4 packages: 2 failing, 2 passing")
    assert f"clusters/east: cannot run {tmp_path}/bin/kustomize: Exec format" in ran.stdout


def test_a_resource_list_that_comes_out_of_a_build_is_an_error(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """kustomize treats a ResourceList without items as any other object."""
    write(tmp_path, FLEET | {"base/workload.yaml": "apiVersion: v1\nkind: ResourceList\nmetadata: {name: a}\n"})
    program(tmp_path, ECHO, monkeypatch)

    ran = call("fleet", "check", "clusters/east")

    assert (ran.code, ran.stderr) == (1, "")
    assert ran.stdout == (
        "1 package: 1 failing\n"
        "  1 error\n"
        "\n"
        "failing: 1 error: clusters/east\n"
        '  error: clusters/east/kustomization.yaml: apiVersion must be one of "config.kubernetes.io/v1", '
        '"config.kubernetes.io/v1beta1", "config.kubernetes.io/v1alpha1"; got "v1" [readable]\n'
    )


def test_a_folder_may_be_called_like_a_place(call: Call, tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "a:1:2/b/kustomization.yaml": "resources: [gone.yaml]\n",
            "a:1:2/b/topology.yaml": CONFIG,
            "a:1:2/c/kustomization.yaml": "resources: {\n",
            "a:1:2/c/topology.yaml": CONFIG,
        },
    )

    packages = json.loads(call("fleet", "check", "a:1:2", "-o", "json").stdout)["packages"]

    findings = [finding for package in packages for finding in package["findings"]]
    assert [(each["file"], each["line"], each["column"]) for each in findings] == [
        ("a:1:2/b/kustomization.yaml", None, None),
        ("a:1:2/c/kustomization.yaml", 2, 1),
    ]


def test_kustomize_has_no_program_and_no_network(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, FLEET)
    script = 'if [ "$1" = version ]; then echo v5; exit 0; fi; echo "$@:$PATH:$HTTPS_PROXY:$HOME" >&2; exit 1\n'
    program(tmp_path, script, monkeypatch)

    lines = call("fleet", "check", "clusters/east").stdout.splitlines()

    assert lines[-1] == (
        "  error: clusters/east/kustomization.yaml: build clusters/east::http://127.0.0.1:9:/dev/null [fleet-build]"
    )


def test_findings_of_a_build_are_at_its_kustomization(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, FLEET | {"base/workload.yaml": WORKLOAD.replace("packDomain: rack", "packDomain: block")})
    program(tmp_path, ECHO, monkeypatch)

    lines = call("fleet", "check", "clusters/east").stdout.splitlines()

    assert lines[-1].startswith(
        "  error: clusters/east/kustomization.yaml: PodCliqueSet shop/web spec.template.topologyConstraint.packDomain: "
    )


def test_a_shared_base_reaches_every_overlay_of_it(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.fleet.test_fleet_command import git

    write(tmp_path, FLEET)
    program(tmp_path, ECHO, monkeypatch)
    (tmp_path / ".git").rmdir()
    git(tmp_path, "init")
    git(tmp_path, "add", "base", "clusters")
    git(tmp_path, "commit", "-m", "x")
    write(tmp_path, {"base/workload.yaml": WORKLOAD.replace("replicas: 1", "replicas: 3"), "clusters/notes.md": "x"})

    ran = call("fleet", "diff", "clusters", "--changed-since", "git:HEAD", "-v")

    assert ran.stdout == (
        "4 packages: 2 changed, 2 unchanged\n"
        "  gangs: 4 created in 2 packages\n"
        "\n"
        "changed: gangs 2 created: clusters/east, clusters/west\n"
    )


def test_a_package_fails_that_leads_out_of_the_repository(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A link is treated alike: neither the file nor the folder is copied for kustomize."""
    write(tmp_path, {f"repo/{path}": text for path, text in FLEET.items()} | {"secret/s.yaml": SERVICE})
    (tmp_path / "repo/.git").mkdir()
    (tmp_path / "repo/link.yaml").symlink_to(tmp_path / "secret/s.yaml")
    (tmp_path / "repo/folder").symlink_to(tmp_path / "secret")
    (tmp_path / "repo/loop").symlink_to(".")
    names = {"a": "../../../secret/s.yaml", "b": "../../link.yaml", "c": "../../folder/s.yaml", "d": "../../loop/base"}
    for name, entry in names.items():
        write(
            tmp_path,
            {
                f"repo/bad/{name}/kustomization.yaml": overlay(resources=entry),
                f"repo/bad/{name}/topology.yaml": FUNCTION,
            },
        )
    program(tmp_path, "echo it ran; exit 1\n", monkeypatch)

    ran = call("fleet", "check", "repo/bad", "-o", "json")

    packages = json.loads(ran.stdout)["packages"]
    assert [each["findings"][0]["message"] for each in packages] == [
        '"../../../secret/s.yaml" leads out of the repository',
        '"../../link.yaml" is not an existing file or folder, or is a link',
        '"../../folder/s.yaml" is not an existing file or folder, or is a link',
        '"../../loop/base" is not an existing file or folder, or is a link',
    ]


def objects(text: str) -> dict[tuple[str, str, str], Any]:
    """Return the objects in a stream of YAML, by kind, namespace and name."""
    values: list[Any] = [read(document.text) for document in split_documents(text)]
    return {
        (value["kind"], value["metadata"].get("namespace", ""), value["metadata"]["name"]): value
        for value in values
        if value is not None
    }


PREVIEW = FUNCTION.replace("spec:\n", "spec:\n  apply: false\n")
LOCAL = SERVICE.replace(
    "  name: web # mine\n", '  name: mine\n  annotations: {config.kubernetes.io/local-config: "true"}\n'
)
VARIANTS = {
    "plain": {"kustomization.yaml": overlay(resources="../base"), "topology.yaml": FUNCTION},
    "prefix": {
        "kustomization.yaml": overlay("namePrefix: a-", "namespace: team", resources="../base"),
        "topology.yaml": FUNCTION,
    },
    "patch": {
        "kustomization.yaml": overlay("patches: [{path: patch.yaml}]", resources="../base"),
        "patch.yaml": (
            "apiVersion: grove.io/v1alpha1\nkind: PodCliqueSet\nmetadata: {name: web, namespace: shop}\n"
            "spec: {replicas: 3}\n"
        ),
        "topology.yaml": FUNCTION,
    },
    "generator": {
        "kustomization.yaml": overlay(
            "configMapGenerator: [{name: c, files: [data.txt]}]", "sortOptions: {order: fifo}", resources="../base"
        ),
        "data.txt": "x\n",
        "topology.yaml": FUNCTION,
    },
    "data": {
        "kustomization.yaml": overlay("configMapGenerator: [{name: c, files: [data.txt]}]", resources="../base"),
        "data.txt": 'config.kubernetes.io/local-config: "true"\n',
        "topology.yaml": FUNCTION,
    },
    "component": {
        "kustomization.yaml": overlay("components: [../parts]", resources="../base"),
        "topology.yaml": FUNCTION,
    },
    "preview": {"kustomization.yaml": overlay(resources="../base"), "topology.yaml": PREVIEW},
    "local": {
        "kustomization.yaml": overlay(resources="../base, local.yaml"),
        "local.yaml": LOCAL,
        "topology.yaml": FUNCTION,
    },
    "function": {"kustomization.yaml": "resources: [../base]\ntransformers: [../fn]\n"},
    "inline": {
        "kustomization.yaml": "resources: [../base]\ntransformers:\n- |\n"
        + "".join([f"  {line}\n" for line in FUNCTION.splitlines()])
    },
    "validator": {
        "kustomization.yaml": "resources: [../base]\nvalidators: [topology.yaml]\n",
        "topology.yaml": FUNCTION.replace("[fn]", "[fn, --validate]"),
    },
    "builtin": {
        "kustomization.yaml": "resources: [../base]\ntransformers: [labels.yaml, topology.yaml]\n",
        "labels.yaml": (
            "apiVersion: builtin\nkind: LabelTransformer\nmetadata: {name: l}\nlabels: {team: a}\n"
            "fieldSpecs: [{path: metadata/labels, create: true}]\n"
        ),
        "topology.yaml": FUNCTION,
    },
}
VARIANTS["fields"] = {
    "kustomization.yaml": """\
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
metadata: {name: a, annotations: {config.kubernetes.io/local-config: "true"}}
resources: [../base, more.json]
components: [../parts/]
namespace: team
namePrefix: "yes-"
nameSuffix: "-\\u0031"
labels:
- {pairs: {a: "1"}, includeSelectors: false, includeTemplates: true, fields: [{path: x/y, kind: Service, create: true}]}
commonAnnotations: {note: "😀: \\u2028 #"}
images: [{name: a, newName: b, newTag: "1.10"}]
replicas: [{name: web, count: 3}]
replacements:
- path: replace.yaml
- source: {kind: ConfigMap, name: made, fieldPath: data.x}
  targets: [{select: {kind: Service}, fieldPaths: [metadata.annotations.made], options: {create: true}}]
vars: [{name: WORD, objref: {apiVersion: v1, kind: Service, name: web}, fieldref: {fieldpath: metadata.name}}]
configurations: [names.yaml]
patchesStrategicMerge:
- merge.yaml
- |-
  apiVersion: v1
  kind: Service
  metadata: {name: web, annotations: {on: "no"}}
patchesJson6902:
- target: {version: v1, kind: Service, name: web}
  patch: '- {op: add, path: /metadata/annotations/json, value: "$(WORD)"}'
patches: [{target: {kind: ConfigMap}, patch: "- {op: add, path: /data/p, value: q}", options: {allowNameChange: true}}]
generatorOptions: {labels: {g: h}, disableNameSuffixHash: true}
configMapGenerator: [{name: made, literals: [x=y], envs: [d.env], options: {immutable: true}}]
secretGenerator: [{name: made, type: Opaque, files: [k=data.txt], behavior: create}]
sortOptions: {order: legacy, legacySortOptions: {orderFirst: [Service], orderLast: [ConfigMap]}}
generators:
- |
  apiVersion: builtin
  kind: ConfigMapGenerator
  metadata: {name: inline}
  literals: [on=off]
transformers: [../plugins, labels.yaml, topology.yaml]
""",
    "more.json": '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "more"}, "data": {"a": "$(WORD)"}}',
    "merge.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\ndata: {merged: yes it is}\n",
    "names.yaml": (
        "varReference: [{path: data, kind: ConfigMap}]\nreplicas: [{path: spec/replicas, kind: PodCliqueSet}]\n"
    ),
    "replace.yaml": (
        "source: {kind: Service, fieldPath: metadata.name}\n"
        "targets: [{select: {kind: ConfigMap, name: more}, fieldPaths: [data.name], options: {create: true}}]\n"
    ),
    "d.env": "E=f\n",
    "data.txt": "x\n",
    "labels.yaml": (
        "apiVersion: builtin\nkind: LabelTransformer\nmetadata: {name: l}\nlabels: {team: a}\n"
        "fieldSpecs: [{path: metadata/labels, create: true}]\n---\n"
        "apiVersion: builtin\nkind: SuffixTransformer\nmetadata: {name: s}\nsuffix: -s\n"
        "fieldSpecs: [{path: metadata/name, kind: Service}]\n"
    ),
    "topology.yaml": FUNCTION,
}
"""Each package of the fleet by the name of its folder."""

SHARED_FILES = {
    "plugins/kustomization.yaml": "kind: Kustomization\nresources: [inner, patch.yaml]\n",
    "plugins/patch.yaml": (
        "apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: p}\ntarget: {kind: Secret}\n"
        "patch: '- {op: add, path: /metadata/annotations/p, value: q}'\n"
    ),
    "plugins/inner/Kustomization": "resources:\n- annotations.yaml\n",
    "plugins/inner/annotations.yaml": (
        "apiVersion: builtin\nkind: AnnotationsTransformer\nmetadata: {name: a}\nannotations: {inner: b}\n"
        "fieldSpecs: [{path: metadata/annotations, create: true}]\n"
    ),
    "base/kustomization.yaml": "resources: [workload.yaml, service.yaml]\n",
    "base/workload.yaml": WORKLOAD,
    "base/service.yaml": SERVICE,
    "parts/kustomization.yaml": "kind: Component\npatches: [{path: more.yaml}]\n",
    "parts/more.yaml": (
        "apiVersion: grove.io/v1alpha1\nkind: PodCliqueSet\nmetadata: {name: web, namespace: shop}\n"
        "spec: {replicas: 2}\n"
    ),
    "fn/kustomization.yaml": "resources: [topology.yaml]\n",
    "fn/topology.yaml": FUNCTION,
}


@pytest.mark.client
@pytest.mark.usefixtures("on_path")
@pytest.mark.parametrize("name", VARIANTS)
def test_a_package_holds_what_kustomize_prints(
    call: Call, tmp_path: Path, kustomize: Path, packwise: Path, name: str
) -> None:
    write(tmp_path / "in", {f"{name}/{path}": text for path, text in VARIANTS[name].items()} | SHARED_FILES)

    ran = call("fleet", "render", "in", "-o", "out")
    flags = ["--enable-alpha-plugins", "--enable-exec"]
    built = run([kustomize, "build", *flags, f"in/{name}"], cwd=tmp_path, packwise=packwise)

    assert (ran.code, built.code) == (0, 0), (ran.stdout, built.stderr)
    written = "---\n".join([path.read_text(encoding="utf-8") for path in (tmp_path / "out" / name).rglob("*.yaml")])
    assert objects(written) == objects(built.stdout)


@pytest.mark.client
@pytest.mark.usefixtures("on_path")
def test_the_plugin_of_the_repository_is_a_fleet(call: Call, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "kustomize-plugin", tmp_path / "in")

    ran = call("fleet", "check", "in", "-v")

    assert (ran.code, ran.stdout.splitlines()[0]) == (0, "3 packages: 3 passing")


@pytest.mark.client
def test_a_package_of_kpt_holds_what_kpt_writes(call: Call, tmp_path: Path, packwise: Path) -> None:
    kpt = shutil.which("kpt")
    if kpt is None:
        pytest.skip("kpt is not on PATH")
    shutil.copytree(ROOT / "kpt-package", tmp_path / "in")
    shutil.copytree(ROOT / "kpt-package", tmp_path / "kpt")

    ran = call("fleet", "render", "in", "-o", "out")
    done = run([kpt, "fn", "render", "kpt", "--allow-exec"], cwd=tmp_path, packwise=packwise)

    assert (ran.code, done.code) == (0, 0), (ran.stdout, done.stderr)
    fleet, own = (
        {
            path.relative_to(folder).as_posix(): objects(path.read_text(encoding="utf-8"))
            for path in folder.rglob("*.yaml")
        }
        for folder in (tmp_path / "out", tmp_path / "kpt")
    )
    assert fleet == own


HOSTILE = {
    "exec transformer": {"kustomization.yaml": "resources: [w.yaml]\ntransformers: [bad.yaml, topology.yaml]\n"},
    "exec generator": {"kustomization.yaml": "generators: [bad.yaml]\ntransformers: [topology.yaml]\n"},
    "exec validator": {
        "kustomization.yaml": "resources: [w.yaml]\nvalidators: [bad.yaml]\ntransformers: [topology.yaml]\n"
    },
    "settings that run another": {
        "kustomization.yaml": "resources: [w.yaml]\ntransformers: [topology.yaml]\n",
        "topology.yaml": FUNCTION.replace("path: packwise", "path: ./bad.sh"),
    },
    "a base with a function": {
        "kustomization.yaml": "resources: [base]\ntransformers: [topology.yaml]\n",
        "base/kustomization.yaml": "resources: [../w.yaml]\ntransformers: [../bad.yaml]\n",
    },
    "a chart": {"kustomization.yaml": "helmCharts: [{name: x, repo: 'https://x'}]\ntransformers: [topology.yaml]\n"},
}
BAD = (
    "apiVersion: example.com/v1\nkind: Bad\nmetadata:\n  name: x\n  annotations:\n"
    "    config.kubernetes.io/function: |\n"
    "      exec: {path: ./bad.sh}\n"
)


@pytest.mark.client
@pytest.mark.usefixtures("on_path")
@pytest.mark.parametrize("name", HOSTILE)
def test_nothing_runs_that_a_repository_names(call: Call, tmp_path: Path, name: str) -> None:
    files = {"topology.yaml": FUNCTION, "w.yaml": WORKLOAD, "bad.yaml": BAD, **HOSTILE[name]}
    write(tmp_path / "in", files)
    script = tmp_path / "in/bad.sh"
    script.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\ncat\n", encoding="utf-8")
    script.chmod(0o755)

    ran = call("fleet", "render", "in", "-o", "out")

    assert not (tmp_path / "ran").exists()
    assert ran.code == (0 if name == "settings that run another" else 1), ran.stdout


@pytest.mark.client
@pytest.mark.usefixtures("on_path")
def test_a_build_of_a_plugin_that_was_overlooked_is_refused_by_kustomize_itself() -> None:
    """Even if packwise passed such a plugin to kustomize, functions are disabled there."""
    files = {"a/kustomization.yaml": b"", "a/bad.yaml": BAD.encode(), "a/w.yaml": WORKLOAD.encode()}

    with pytest.raises(module.KustomizeError, match="external plugins disabled"):
        module.build(files, "a/kustomization.yaml", {"resources": ["w.yaml"], "transformers": ["bad.yaml"]})
    with pytest.raises(module.KustomizeError, match="security; file '/etc/hostname' is not in or below"):
        module.build(files, "a/kustomization.yaml", {"resources": ["../../../../../../etc/hostname"]})
    with pytest.raises(module.KustomizeError, match="git"):
        module.build(files, "a/kustomization.yaml", {"resources": ["https://example.invalid/org/repo"]})


def test_a_configuration_beside_a_kustomization_is_the_one_of_its_build(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Users of `kustomize build | packwise check - --config` get the same configuration."""
    write(tmp_path, FLEET | {"clusters/east/kustomization.yaml": "resources: [../../base]\n"})
    write(tmp_path, {"clusters/east/topology.yaml": CONFIG})
    program(tmp_path, ECHO, monkeypatch)

    ran = call("fleet", "check", "clusters/east")

    assert ran.stdout == "1 package: 1 passing\n  1 workload checked\n"
