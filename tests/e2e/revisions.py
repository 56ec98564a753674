"""The API servers for which packwise renders: a row for each revision, with the CRDs of its cluster."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from tests.e2e.apiserver import documents

__all__ = ["REVISIONS", "Revision"]

Crd = dict[str, Any]


@dataclass(frozen=True)
class Revision:
    """A revision.

    `crds` are folders of upstream's CRDs. `amended` changes published CRDs to the meaning of the revision.
    """

    name: str
    crds: tuple[str, ...]
    amended: Callable[[Crd], Crd] = copy.copy

    def definitions(self, crds: Path) -> Sequence[Crd]:
        """Return the CustomResourceDefinitions of a cluster of this revision."""
        return [self.amended(crd) for folder in self.crds for crd in documents(crds / folder)]


def _with_topology_name(crd: Crd) -> Crd:
    """Return alpha7's CRD of PodCliqueSets with the field `clusterTopologyName`. Source: spec/designs.md#7.9."""
    if crd["spec"]["names"]["kind"] != "PodCliqueSet":
        return crd
    amended = copy.deepcopy(crd)
    (version,) = amended["spec"]["versions"]
    field: Any = version["schema"]["openAPIV3Schema"]
    for name in ("spec", "template"):
        field = field["properties"][name]
    cast("Crd", field["properties"])["clusterTopologyName"] = {"type": "string"}
    return amended


REVISIONS = (
    Revision("design-1", ("alpha7", "kai-v0.12.0")),
    Revision("design-2", ("alpha7", "kai-2026-03")),
    Revision("grep-244", ("alpha7", "kai-v0.12.0")),
    Revision("grep-244-multi", ("alpha7", "kai-v0.17.0"), _with_topology_name),
    Revision("upstream", ("head", "kai-v0.15.0")),
)
