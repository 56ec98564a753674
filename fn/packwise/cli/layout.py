"""The layout of a folder that Argo CD or Flux applies: what is to be there first, the rest, what is for nobody.

A workload and the topology that it names cannot stand in one Kustomization of Flux. Source: spec/gitops.md#2.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.cli.stream import joined
from packwise.objects.identity import identity
from packwise.objects.kinds import KINDS
from packwise.render import LOCAL_CONFIG
from packwise.settings import GROUP

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krmfn.kubeobject import KubeObject
    from packwise.cli.document import Document, InputFile

__all__ = ["FOLLOWED", "LOCAL", "TOPOLOGIES", "WORKLOADS", "is_kustomization", "part_of", "parts_of", "placed"]

TOPOLOGIES = "topologies"
"""Folder of what workloads name, topologies and queues, and of CRDs of any kind."""

WORKLOADS = "workloads"
"""Folder of everything else that a cluster takes."""

LOCAL = "local"
"""Folder of what no cluster takes: configuration, previews, files without objects."""

FOLLOWED = (TOPOLOGIES, WORKLOADS)
"""Folders that a tool applies, each in its turn."""

_PARTS = (TOPOLOGIES, WORKLOADS, LOCAL)
_GENERATED = {f"packwise/{part}/": f"{part}/packwise/" for part in (TOPOLOGIES, WORKLOADS)}

_FIRST = {kind.key for kind in KINDS if kind.before_workloads} | {("apiextensions.k8s.io", "CustomResourceDefinition")}
_LOCAL_GROUPS = frozenset({GROUP, "operator.config.grove.io"})


def part_of(item: KubeObject) -> str:
    """The folder that an object goes to."""
    kind = identity(item.value)[:2]
    if item.annotations.get(LOCAL_CONFIG) == "true" or kind[0] in _LOCAL_GROUPS:
        return LOCAL
    return TOPOLOGIES if kind in _FIRST else WORKLOADS


def placed(part: str, path: str) -> str:
    """`path` within the folder `part`; one that stands in it already stays, so that a second render moves none."""
    if path.startswith(f"{part}/"):
        return path
    for before, after in _GENERATED.items():
        if path.startswith(before) and part != LOCAL:
            return after + path.removeprefix(before)
    return f"{part}/{path}"


def parts_of(file: InputFile) -> Iterator[tuple[str, InputFile]]:
    """The file by the folders that its objects go to: as it is where that is one, else document by document."""
    documents = [document for document in file.documents if document.item is not None]
    parts = [part for part in _PARTS if any(_part(document) == part for document in documents)]
    if len(parts) < 2:
        yield parts[0] if parts else LOCAL, file
        return
    for part in parts:
        own = [document for document in documents if _part(document) == part]
        text = joined([document.separator.partition("---")[0] + document.text for document in own])
        yield part, file._replace(documents=tuple(own), list_text=text)


def is_kustomization(item: KubeObject) -> bool:
    """Whether kustomize has to build the object: no tool can once its files stand elsewhere."""
    return identity(item.value)[:2] == ("kustomize.config.k8s.io", "Kustomization")


def _part(document: Document) -> str:
    return LOCAL if document.item is None else part_of(document.item)
