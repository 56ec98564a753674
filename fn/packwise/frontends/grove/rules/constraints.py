"""The topology constraints of a PodCliqueSet with their paths, and what every rulebook checks of them alike."""

from __future__ import annotations

from krmfn.fieldpath import format_path
from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.findings.finding import Rule
from packwise.frontends.grove.rules.check import TEMPLATE
from packwise.wording import closest, list_known

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from krmfn.fieldpath import FieldPath
    from packwise.frontends.grove.podcliqueset import PodCliqueSet, TopologyConstraint
    from packwise.revisions.revision import Revision

__all__ = [
    "CLIQUE",
    "DISABLED",
    "DOMAIN_REQUIRED",
    "GROUP",
    "HIERARCHY",
    "NOT_ALLOWED",
    "NOT_FOUND",
    "SET",
    "UNKNOWN",
    "ConstraintAt",
    "constraint_places",
    "constraints_at",
    "disabled_message",
    "not_narrower_message",
    "parents_and_children",
    "placed_domains",
    "unknown_domain_message",
    "unknown_domain_text",
]

SET, CLIQUE, GROUP = "PodCliqueSet", "PodClique", "PodCliqueScalingGroup"

_GROUPS = "podCliqueScalingGroups"
_CONSTRAINT = "topologyConstraint"

_DESIGNS = "spec/designs.md#6"

DISABLED = Rule(
    "topology-disabled",
    "Constraints need topology-aware scheduling enabled.",
    "spec/grove.md#r43",
)
NOT_FOUND = Rule("topology-not-found", "The workload's topology exists.", "spec/designs.md#7.1")
DOMAIN_REQUIRED = Rule("topology-domain-required", "A constraint names its packDomain.", "spec/grove.md#4.3")
UNKNOWN = Rule("topology-domain-unknown", "A constraint's domain is a level of its topology.", "spec/grove.md#r44")
HIERARCHY = Rule("topology-hierarchy", "A parent's domain is as broad as its children's.", "spec/grove.md#r45")

NOT_ALLOWED = "topology constraints are not allowed when Topology Aware Scheduling is disabled"
"""The operator's detail for `DISABLED`."""


class ConstraintAt(NamedTuple):
    """A place for a constraint, and the constraint there, if any. `kind` and `name` are of the part that owns it.

    `name` is None for the PodCliqueSet itself.
    """

    path: FieldPath
    constraint: TopologyConstraint | None
    kind: str
    name: str | None = None

    @property
    def domain(self) -> str:
        """The packDomain; "" where there is none."""
        return self.constraint.pack_domain if self.constraint is not None else ""

    @property
    def owner(self) -> str:
        """The owner as the operator names it."""
        return self.kind if self.name is None else f"{self.kind} '{self.name}'"

    @property
    def owner_if_named(self) -> str:
        """The same; of an owner whose name is empty the kind alone."""
        return self.owner if self.name else self.kind

    def field(self, *steps: str) -> str:
        """The path of a field of the constraint, as text."""
        return format_path((*self.path, *steps))

    def operator_field(self, revision: Revision) -> str:
        """The path in the operator's errors: some revisions have another name for the list of scaling groups."""
        if self.kind == GROUP:
            return f"spec.template.{revision.group_constraint_field}[{self.path[3]}].{_CONSTRAINT}"
        return format_path(self.path)


def constraint_places(pcs: PodCliqueSet) -> tuple[ConstraintAt, ...]:
    """Every place for a constraint, in the operator's order: the set, the cliques, the groups."""
    return tuple(_places(pcs, with_empty=True))


def constraints_at(pcs: PodCliqueSet) -> tuple[ConstraintAt, ...]:
    """The places where there is a constraint, in the same order."""
    return tuple(_places(pcs, with_empty=False))


def _places(pcs: PodCliqueSet, *, with_empty: bool) -> Iterator[ConstraintAt]:
    if with_empty or pcs.topology is not None:
        yield ConstraintAt((*TEMPLATE, _CONSTRAINT), pcs.topology, SET)
    for index, clique in enumerate(pcs.cliques):
        if with_empty or clique.topology is not None:
            yield ConstraintAt((*TEMPLATE, "cliques", index, _CONSTRAINT), clique.topology, CLIQUE, clique.name)
    for index, group in enumerate(pcs.groups):
        if with_empty or group.topology is not None:
            yield ConstraintAt((*TEMPLATE, _GROUPS, index, _CONSTRAINT), group.topology, GROUP, group.name)


def placed_domains(pcs: PodCliqueSet) -> Iterator[tuple[FieldPath, str]]:
    """Every domain that a constraint names, with the path of the field: packDomain, then pack's own."""
    for place in constraints_at(pcs):
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


def parents_and_children(
    pcs: PodCliqueSet, constraints: Sequence[ConstraintAt]
) -> Iterator[tuple[ConstraintAt, ConstraintAt]]:
    """Each constraint with each below it, in the operator's order: the set's with all, then each group's with members.

    Of two cliques with the same name the operator takes the first.
    """
    if constraints and constraints[0].kind == SET:
        for child in constraints[1:]:
            yield constraints[0], child
    by_path = {constraint.path: constraint for constraint in constraints}
    positions = {clique.name: index for index, clique in reversed(list(enumerate(pcs.cliques)))}
    for index, group in enumerate(pcs.groups):
        parent = by_path.get((*TEMPLATE, _GROUPS, index, _CONSTRAINT))
        for name in group.clique_names if parent is not None else ():
            child = by_path.get((*TEMPLATE, "cliques", positions.get(name, -1), _CONSTRAINT))
            if parent is not None and child is not None:
                yield parent, child


def disabled_message(value: str) -> str:
    """What is wrong with a constraint, of which `value` is shown, while topology-aware scheduling is disabled."""
    return (
        f"must not be set while topology-aware scheduling is disabled; got {value}; enable it or remove the constraint"
    )


def unknown_domain_message(domain: str, kind: str, name: str | None, known: Iterable[str]) -> str:
    """What is wrong with a domain that is none of the `known` ones of the topology object `name`."""
    known = list(known)
    return f'must be a level of {kind} "{name}": {list_known(known)}; got "{domain}"{closest(domain, known)}'


def unknown_domain_text(domain: str, known: Iterable[str]) -> str:
    """The operator's detail for such a domain."""
    return f"topology domain '{domain}' does not exist in cluster topology [{' '.join(known)}]"


def not_narrower_message(domain: str, child: ConstraintAt, below: str) -> str:
    """What is wrong with a parent's `domain` where `child` packs into `below`, which is broader."""
    return (
        f'must be as broad as "{below}" of {child.kind} "{child.name}" or broader; got "{domain}"; '
        "widen it here or narrow it there"
    )
