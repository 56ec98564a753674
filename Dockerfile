# The function as an image: `docker run --rm -i --network none IMAGE < resourcelist.yaml`.

# The native core of krmfn. This stage alone has a linker.
FROM python:3.13.9-trixie AS native
COPY --from=rust:1.95.0-slim-trixie /usr/local/rustup /usr/local/rustup
COPY --from=rust:1.95.0-slim-trixie /usr/local/cargo /usr/local/cargo
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 \
    SOURCE_DATE_EPOCH=1767225600 \
    RUSTUP_HOME=/usr/local/rustup \
    CARGO_HOME=/usr/local/cargo \
    PATH=/opt/build/bin:/usr/local/cargo/bin:/usr/local/bin:/usr/bin:/bin
WORKDIR /src
COPY requirements-native.lock ./
RUN python -m venv /opt/build \
 && /opt/build/bin/python -m pip install --no-cache-dir --require-hashes --requirement requirements-native.lock
COPY fn/krmfn-native krmfn-native
RUN /opt/build/bin/python -m pip wheel --no-cache-dir --no-deps --no-build-isolation --no-index --wheel-dir /opt/native ./krmfn-native

# This stage and the last run the same interpreter, since the virtual environment made in the first runs in the second.
FROM python:3.13.9-slim-trixie AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 \
    SOURCE_DATE_EPOCH=1767225600
WORKDIR /src
COPY requirements.lock requirements-build.lock ./
RUN python -m venv /opt/build \
 && /opt/build/bin/python -m pip install --no-cache-dir --require-hashes --requirement requirements-build.lock
# No pip in what is shipped: the build environment's pip fills it. The lock holds every extra.
RUN python -m venv --without-pip /opt/packwise \
 && /opt/build/bin/python -m pip --python /opt/packwise/bin/python install --no-cache-dir --no-compile --require-hashes --requirement requirements.lock
COPY --from=native /opt/native /opt/native
COPY pyproject.toml README.md LICENSE ./
COPY fn fn
RUN /opt/build/bin/python -m pip wheel --no-cache-dir --no-deps --no-build-isolation --no-index --wheel-dir /opt/dist . \
 && /opt/build/bin/python -m pip --python /opt/packwise/bin/python install --no-cache-dir --no-compile --no-deps --no-index /opt/dist/*.whl /opt/native/*.whl
# What no run reads: what the build of CEL's wheel left in it, CEL's extensions that rules of CRDs have not, commands of libraries,
# the plugin of kubectl, which is not in the image. Compiled once, here: the user below can write no cache. Files have one time;
# hash-based bytecode has none.
RUN rm -rf /opt/packwise/lib/python3.*/site-packages/bazel-project \
    /opt/packwise/lib/python3.*/site-packages/cel_expr_python/ext/ext_bindings.* \
    /opt/packwise/lib/python3.*/site-packages/cel_expr_python/ext/ext_encoders.* \
    /opt/packwise/lib/python3.*/site-packages/cel_expr_python/ext/ext_math.* \
    /opt/packwise/lib/python3.*/site-packages/cel_expr_python/ext/ext_proto.* \
    /opt/packwise/bin/activate* /opt/packwise/bin/Activate.ps1 /opt/packwise/bin/json* /opt/packwise/bin/kubectl-packwise /opt/packwise/bin/shtab /opt/packwise/include /opt/packwise/.gitignore \
 && python -m compileall -q --invalidation-mode unchecked-hash /opt/packwise/lib \
 && find /opt/packwise -exec touch --no-dereference --date=@$SOURCE_DATE_EPOCH {} +

# For `docker build --target without-crds`: 28 MB less, where no CRDs stand among the input.
FROM build AS small
RUN rm -r /opt/packwise/lib/python3.*/site-packages/cel_expr_python*

# The plugin beside Argo CD's repo-server: `docker build --target argocd-plugin`. Argo CD brings the server that runs it.
FROM golang:1.26.0-trixie AS kustomize
RUN CGO_ENABLED=0 go install sigs.k8s.io/kustomize/kustomize/v5@v5.8.2

FROM python:3.13.9-slim-trixie AS argocd-plugin
COPY --from=build /opt/packwise /opt/packwise
COPY --from=kustomize /go/bin/kustomize /usr/local/bin/kustomize
COPY --chmod=755 argocd-plugin/generate.sh /usr/local/bin/packwise-argocd
COPY argocd-plugin/plugin.yaml /home/argocd/cmp-server/config/plugin.yaml
ENV PATH=/opt/packwise/bin:/usr/local/bin:/usr/bin:/bin
USER 999:999
WORKDIR /tmp
ENTRYPOINT ["/var/run/argocd/argocd-cmp-server"]

# Argo CD's own image with packwise on the PATH of its kustomize: `docker build --target argocd-repo-server`.
FROM quay.io/argoproj/argocd:v3.2.11 AS argocd-repo-server
USER 0
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install --yes --no-install-recommends python3 python3-venv \
 && rm -rf /var/lib/apt/lists/* \
 && python3 -m venv /opt/packwise
COPY requirements.lock /opt/
COPY --from=build /opt/dist /opt/dist
RUN /opt/packwise/bin/python -m pip install --no-cache-dir --require-hashes --requirement /opt/requirements.lock \
 && /opt/packwise/bin/python -m pip install --no-cache-dir --no-deps --no-index /opt/dist/*.whl \
 && ln -s /opt/packwise/bin/packwise /usr/local/bin/packwise
USER 999

# The function. Its targets differ in nothing but the libraries.
FROM python:3.13.9-slim-trixie AS base
LABEL org.opencontainers.image.title="packwise" \
      org.opencontainers.image.description="Renders topology-aware scheduling in Git: a KRM function for Grove and the KAI Scheduler" \
      org.opencontainers.image.licenses="Apache-2.0"
# The base image ships the standard library without compiled files; every start would compile it again.
RUN ["python", "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash", "-x", "/(test|idlelib|lib2to3)/", "/usr/local/lib/python3.13"]
USER 65532:65532
WORKDIR /tmp
ENTRYPOINT ["/opt/packwise/bin/packwise", "fn"]

FROM base AS without-crds
COPY --from=small /opt/packwise /opt/packwise

FROM base AS function
COPY --from=build /opt/packwise /opt/packwise

# For `docker build --target validator`: kustomize gives a container no arguments, and takes what a validator hands back for a change.
FROM function AS validator
ENTRYPOINT ["/opt/packwise/bin/packwise", "fn", "--validate"]

FROM function
