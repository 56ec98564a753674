"""The programs that the tests start, in the versions of `control_plane/go.mod`."""

from __future__ import annotations

import re
import shutil
from functools import cache
from pathlib import Path

from tests.places import ROOT, TOOLS, missing

__all__ = ["built", "installed", "manifests_of"]

_MODULES = {
    "kube-apiserver": "k8s.io/kubernetes",
    "kube-controller-manager": "k8s.io/kubernetes",
    "source-controller": "github.com/fluxcd/source-controller",
    "kustomize-controller": "github.com/fluxcd/kustomize-controller",
    "helm-controller": "github.com/fluxcd/helm-controller",
    "argocd": "github.com/argoproj/argo-cd/v3",
    "crane": "github.com/google/go-containerregistry",
}


def built(name: str) -> Path:
    """Return the path of the program that `make e2e-tools` builds."""
    path = _folder(name) / name
    if not path.exists():
        missing(f"{name} is not built: `make e2e-tools` puts it at {path.relative_to(ROOT)}")
    return path


def manifests_of(name: str) -> Path:
    """Return the folder of a controller's manifests: its CustomResourceDefinitions, or its installation."""
    return _folder(name) / "manifests"


def installed(name: str) -> str:
    """Return the path of a program of the Linux distribution."""
    path = shutil.which(name)
    if path is None:
        missing(f"{name} is not on PATH: `make e2e-packages` installs it")
    return path


@cache
def _folder(name: str) -> Path:
    text = (ROOT / "tests/e2e/control_plane/go.mod").read_text(encoding="utf-8")
    found = re.search(rf"^\t{re.escape(_MODULES[name])} (v\S+)", text, re.MULTILINE)
    assert found is not None, name
    return TOOLS / f"{name}-{found[1]}"
