"""Which topology a workload means. Source: spec/designs.md#7.8; spec/grove.md#7."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING

if TYPE_CHECKING:
    from packwise.frontends.grove.podcliqueset import PodCliqueSet
    from packwise.revisions.revision import Revision

__all__ = ["chosen_topology", "resolve_topology"]


def chosen_topology(pcs: PodCliqueSet, revision: Revision) -> str | None:
    """The topology that `pcs` names itself, or None; always None where the revision has no such field.

    Where constraints name it, the first that does counts: the set's, a group's, a clique's.
    """
    if revision.topology_name_field:
        return pcs.topology_name
    for owner in (pcs, *pcs.groups, *pcs.cliques):
        if owner.topology is not None and owner.topology.topology_name is not None:
            return owner.topology.topology_name
    return None


def resolve_topology(pcs: PodCliqueSet, revision: Revision) -> str | None:
    """The name of the topology that applies to `pcs`: its own, else the default, else (unconstrained) None.

    A revision with one topology only always resolves to that one.
    """
    chosen = chosen_topology(pcs, revision)
    if chosen is not None:
        return chosen
    return revision.default_topology if pcs.is_constrained or not revision.chooses_topology else None
