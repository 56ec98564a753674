"""Where topology constraints stand in a PodCliqueSet."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from krmfn.fieldpath import format_path
from packwise.frontends.grove.rules.rule import TEMPLATE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krmfn.fieldpath import FieldPath
    from packwise.frontends.grove.podcliqueset import PodCliqueSet, TopologyConstraint

__all__ = ["ConstraintAt", "constraint_places", "placed_domains"]

_CONSTRAINT = "topologyConstraint"


class ConstraintAt(NamedTuple):
    """A place where a constraint may stand, and the one that does. `name` is empty for the PodCliqueSet's own."""

    path: FieldPath
    constraint: TopologyConstraint | None
    kind: str
    name: str = ""

    @property
    def owner(self) -> str:
        """Whose constraint it is, as the operator says it."""
        return f"{self.kind} '{self.name}'" if self.name else self.kind

    def field(self, *steps: str) -> str:
        """The path of a field of the constraint, as text."""
        return format_path((*self.path, *steps))


def constraint_places(pcs: PodCliqueSet) -> Iterator[ConstraintAt]:
    """Every place where a constraint can stand, in the operator's order: the set, the cliques, the groups."""
    yield ConstraintAt((*TEMPLATE, _CONSTRAINT), pcs.topology, "PodCliqueSet")
    for index, clique in enumerate(pcs.cliques):
        yield ConstraintAt((*TEMPLATE, "cliques", index, _CONSTRAINT), clique.topology, "PodClique", clique.name)
    for index, group in enumerate(pcs.groups):
        path = (*TEMPLATE, "podCliqueScalingGroups", index, _CONSTRAINT)
        yield ConstraintAt(path, group.topology, "PodCliqueScalingGroup", group.name)


def placed_domains(pcs: PodCliqueSet) -> Iterator[tuple[FieldPath, str]]:
    """Every domain that a constraint names, with the path of the field: packDomain, then pack's own."""
    for place in constraint_places(pcs):
        constraint = place.constraint
        if constraint is None:
            continue
        pack = constraint.pack
        if constraint.pack_domain:
            yield (*place.path, "packDomain"), constraint.pack_domain
        if pack is not None and pack.required:
            yield (*place.path, "pack", "required"), pack.required
        if pack is not None and pack.preferred:
            yield (*place.path, "pack", "preferred"), pack.preferred
