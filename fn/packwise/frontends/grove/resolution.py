"""Which ClusterTopology a workload means. Source: revisions.md, `grep-244-multi` rule 8."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from packwise.frontends.grove.podcliqueset import PodCliqueSet
    from packwise.revisions import Revision

__all__ = ["chosen_topology", "resolve_topology"]


def chosen_topology(pcs: PodCliqueSet, revision: Revision) -> str | None:
    """The ClusterTopology that `pcs` names itself, or None; always None where the revision has no such field."""
    return pcs.topology_name if revision.topology_name_field else None


def resolve_topology(pcs: PodCliqueSet, revision: Revision) -> str | None:
    """The name of the ClusterTopology that applies to `pcs`: its own, else the default, else (unconstrained) None.

    A revision with one topology only always resolves to that one.
    """
    chosen = chosen_topology(pcs, revision)
    if chosen is not None:
        return chosen
    return revision.default_topology if pcs.is_constrained or not revision.topology_name_field else None
