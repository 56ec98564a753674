"""The files by which a client renders the package, or a pipeline checks it."""

from __future__ import annotations

import json
import re
from shlex import quote

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from krmfn.yamltext.quote import scalar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["Place", "client_files"]


class Place(NamedTuple):
    """Where the package stands: its folder below the top of the repository, slash-separated, "." for the top itself.

    `resources` are the files of the folder that hold objects; `requirement` is what pip installs packwise by,
    `repository` and `commit` where it comes from.
    """

    folder: str
    resources: Sequence[str]
    requirement: str
    repository: str
    commit: str

    @property
    def name(self) -> str:
        """A name for the package, as Kubernetes allows it."""
        letters = [letter if letter.isascii() and letter.isalnum() else "-" for letter in self.folder.lower()]
        return "".join(letters).strip("-")[-50:].strip("-") or "packwise"


def client_files(target: str, place: Place) -> tuple[dict[str, str], dict[str, str]]:
    """The files for `target`: below the package's folder, and below the top of the repository."""
    inside, above = _FILES[target]
    return (
        {path: text(place) for path, text in inside.items()},
        {path: text(place) for path, text in above.items()},
    )


def _kustomization(place: Place) -> str:
    resources = "".join([f"- {json.dumps(name, ensure_ascii=False)}\n" for name in place.resources])
    return f"""\
# kustomize build --enable-alpha-plugins --enable-exec .
# Both flags: without --enable-exec, kustomize leaves packwise out without a word.
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
{resources}transformers:
- topology.yaml
"""


def _kptfile(place: Place) -> str:
    return f"""\
# kpt fn render --allow-exec
apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: {place.name}
  annotations:
    config.kubernetes.io/local-config: "true"
info:
  description: Grove workloads with their topology, rendered by packwise
pipeline:
  mutators:
  - exec: packwise fn
    configPath: topology.yaml
"""


def _application(place: Place) -> str:
    return f"""\
# To be applied once where Argo CD runs, with packwise's plugin beside its repo-server; no part of what is rendered.
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata:
  name: {place.name}
  namespace: argocd
  annotations:
    config.kubernetes.io/local-config: "true"
spec:
  project: default
  source:
    repoURL: https://git.example.com/platform/clusters.git # the repository of this folder
    targetRevision: main
    path: {json.dumps(place.folder, ensure_ascii=False)}
    plugin:
      name: packwise
  destination:
    server: https://kubernetes.default.svc
  syncPolicy:
    automated:
      prune: true
      selfHeal: true
    syncOptions:
    # Else every sync would re-create the Topologies, also where their levels are the same.
    - ApplyOutOfSyncOnly=true
"""


def _flux(place: Place) -> str:
    source = f"""\
# To be applied once where Flux runs; no part of what is rendered. CI renders this folder into the branch.
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata:
  name: {place.name}
  namespace: flux-system
  annotations:
    config.kubernetes.io/local-config: "true"
spec:
  interval: 1m
  url: https://git.example.com/platform/clusters.git # the repository of this folder
  ref:
    branch: rendered/{place.name}
"""
    topologies = _flux_kustomization(place, "topologies", "")
    workloads = _flux_kustomization(place, "workloads", f"  dependsOn:\n  - name: {place.name}-topologies\n")
    return "---\n".join([source, topologies, workloads])


def _flux_kustomization(place: Place, part: str, first: str) -> str:
    return f"""\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata:
  name: {place.name}-{part}
  namespace: flux-system
  annotations:
    config.kubernetes.io/local-config: "true"
spec:
{first}  interval: 10m
  path: ./{part}
  prune: true
  wait: true
  sourceRef:
    kind: GitRepository
    name: {place.name}
"""


def _github(place: Place) -> str:
    return f"""\
name: packwise
on: pull_request
permissions:
  contents: read
jobs:
  check:
    runs-on: ubuntu-latest
    steps:
    - uses: actions/checkout@v7.0.1
      with:
        fetch-depth: 2 # the first parent is the target branch
    - uses: actions/setup-python@v7.0.0
      with:
        python-version: "3.13"
    - run: {scalar(f"pipx install {quote(place.requirement)}")}
    - run: {scalar(f"packwise check {quote(place.folder)} --baseline git:HEAD^1 --output github")}
"""


def _gitlab(place: Place) -> str:
    check = f"packwise check {quote(place.folder)}"
    return f"""\
packwise:
  image: python:3.13
  script:
  - {scalar(f"pip install {quote(place.requirement)}")}
  - {scalar(f"{check} --output gitlab > gl-code-quality-report.json || [ $? = 1 ]")}
  - {scalar(check)}
  artifacts:
    when: always
    reports:
      codequality: gl-code-quality-report.json
"""


def _pre_commit(place: Place) -> str:
    folder = "" if place.folder == "." else f"^{re.escape(place.folder)}/"
    files = f"    files: {json.dumps(folder, ensure_ascii=False)}\n" if folder else ""
    return f"""\
repos:
- repo: {place.repository}
  rev: {place.commit}
  hooks:
  - id: packwise-check
    args: [{json.dumps(place.folder, ensure_ascii=False)}]
{files}"""


_Files = dict[str, "Callable[[Place], str]"]

_FILES: dict[str, tuple[_Files, _Files]] = {
    "kustomize": ({"kustomization.yaml": _kustomization}, {}),
    "kpt": ({"Kptfile": _kptfile}, {}),
    "argocd": ({"application.yaml": _application}, {}),
    "flux": ({"flux.yaml": _flux}, {}),
    "github": ({}, {".github/workflows/packwise.yaml": _github}),
    "gitlab": ({}, {".gitlab-ci.yml": _gitlab}),
    "pre-commit": ({}, {".pre-commit-config.yaml": _pre_commit}),
}
"""The files of each target, below the folder of the package and below the top of the repository."""
