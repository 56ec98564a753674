"""Options of `packwise init` and `packwise topology import`, as values."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from typing import Literal

    Target = Literal["kustomize", "kpt", "argocd", "flux", "github", "gitlab", "pre-commit"]


TARGETS: tuple[Target, ...] = ("kustomize", "kpt", "argocd", "flux", "github", "gitlab", "pre-commit")
"""The clients and pipelines that `packwise init` writes a package for."""


class Init(Record):
    """`packwise init`: a package in `folder` for `targets`, based on `sources` from the cluster.

    `levels` are pairs of domain and node label, broadest first. `apply` is true if generated objects are applied. None
    means that they are not applied if the sources show an operator. With `without_grove`, KAI groups workloads itself.
    """

    folder: str
    targets: tuple[Target, ...] = ()
    sources: tuple[str, ...] = ()
    levels: tuple[tuple[str, str], ...] = ()
    revision: str | None = None
    apply: bool | None = None
    without_grove: bool = False


class ImportTopology(Record):
    """`packwise topology import`. `paths` are files with a cluster's nodes."""

    paths: tuple[str, ...]
