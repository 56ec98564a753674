"""Topology constraints of a new PodCliqueSet.

Source: operator.md 4.3 (R43..R45), revisions.md `grep-244-multi` rules 1, 3, 4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from krmfn.fieldpath import format_path
from packwise.frontends.grove.resolution import chosen_topology, resolve_topology
from packwise.frontends.grove.rules.rule import (
    TEMPLATE,
    Context,
    Rule,
    Scope,
    Violation,
    invalid,
    required,
)  # fmt: skip
from packwise.kubernetes.field_error import TypedText
from packwise.topology import is_narrower, rank
from packwise.wording import closest, list_known

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krmfn.fieldpath import FieldPath
    from packwise.frontends.grove.podcliqueset import PodCliqueSet

__all__ = ["DISABLED", "HIERARCHY", "TOPOLOGY", "UNKNOWN", "Placed", "placed_constraints"]

_NOT_ALLOWED = "topology constraints are not allowed when Topology Aware Scheduling is disabled"


class Placed(NamedTuple):
    """A constraint where it stands: the operator's errors name `group_field` where that is a scaling group's."""

    path: FieldPath
    domain: str
    kind: str
    name: str
    group_field: str = ""

    @property
    def field(self) -> str:
        """The path in the operator's errors."""
        if self.group_field:
            return f"spec.template.{self.group_field}[{self.path[3]}].topologyConstraint"
        return format_path(self.path)

    @property
    def owner(self) -> str:
        """Whose constraint it is, as the operator says it."""
        return self.kind if self.kind == "PodCliqueSet" else f"{self.kind} '{self.name}'"


def placed_constraints(pcs: PodCliqueSet, context: Context) -> list[Placed]:
    """All constraints in the operator's order: the set's, the cliques', the groups'."""
    found: list[Placed] = []
    if pcs.topology:
        path = (*TEMPLATE, "topologyConstraint")
        found.append(Placed(path, pcs.topology.pack_domain, "PodCliqueSet", ""))
    for index, clique in enumerate(pcs.cliques):
        if clique.topology:
            path = (*TEMPLATE, "cliques", index, "topologyConstraint")
            found.append(Placed(path, clique.topology.pack_domain, "PodClique", clique.name))
    for index, group in enumerate(pcs.groups):
        if group.topology:
            path = (*TEMPLATE, "podCliqueScalingGroups", index, "topologyConstraint")
            field = context.revision.group_constraint_field
            found.append(Placed(path, group.topology.pack_domain, "PodCliqueScalingGroup", group.name, field))
    return found


class _Constrained(NamedTuple):
    """A workload with its constraints, and the domains that these may name.

    `known` stands in the operator's order; it is None while TAS is disabled and where no topology applies.
    """

    pcs: PodCliqueSet
    placed: tuple[Placed, ...]
    known: tuple[str, ...] | None

    @property
    def unknown(self) -> list[Placed]:
        """The constraints whose domain is none of the known ones."""
        known = self.known or ()
        return [placed for placed in self.placed if placed.domain not in known]

    def missing(self, context: Context) -> list[Placed]:
        """The constraints without a domain, where the revision has an error of its own for these."""
        if not context.revision.names_missing_domain:
            return []
        return [placed for placed in self.placed if not placed.domain]


def _constrained(pcs: PodCliqueSet, context: Context) -> tuple[_Constrained, ...]:
    return (_Constrained(pcs, tuple(placed_constraints(pcs, context)), _known_domains(pcs, context)),)


def _disabled(at: _Constrained, context: Context) -> Iterator[Violation]:
    if context.enabled:
        return
    chosen = chosen_topology(at.pcs, context.revision)
    if chosen is not None:
        message = (
            f'must not be set while topology-aware scheduling is disabled; got "{chosen}"; '
            "enable it or remove the field"
        )
        yield Violation(_name_path(context), message)
    for placed in at.placed:
        message = (
            f'must not be set while topology-aware scheduling is disabled; got packDomain "{placed.domain}"; '
            "enable it or remove the constraint"
        )
        yield invalid(placed.path, TypedText(placed.domain), _NOT_ALLOWED, message, field=placed.field)


def _name_path(context: Context) -> FieldPath:
    return (*TEMPLATE, context.revision.topology_name_field or "")


def _topology_exists(at: _Constrained, context: Context) -> Iterator[Violation]:
    if not context.enabled or not context.revision.chooses_topology:
        return
    name = resolve_topology(at.pcs, context.revision)
    if name is None or name in context.topologies:
        return
    known = sorted(context.topologies)
    chosen = chosen_topology(at.pcs, context.revision)
    subject = f'got "{name}"' if chosen else f'left out, it means "{name}", which does not exist'
    message = f"must name an existing ClusterTopology; {subject}; known: {list_known(known)}{closest(name, known)}"
    yield invalid(_name_path(context), name, f'ClusterTopology "{name}" not found', message)


def _name_needs_constraint(at: _Constrained, context: Context) -> Iterator[Violation]:
    chosen = chosen_topology(at.pcs, context.revision)
    if context.enabled and chosen is not None and not at.pcs.is_constrained:
        message = (
            f'must be set together with a topologyConstraint; got "{chosen}" and no constraint at the set, a scaling '
            "group or a clique; add one or remove the field"
        )
        yield Violation(_name_path(context), message)


def _domain_given(at: _Constrained, context: Context) -> Iterator[Violation]:
    if at.known is None:
        return
    for placed in at.missing(context):
        text = "packDomain is required when topologyConstraint is set"
        path = (*placed.path, "packDomain")
        yield required(path, text, "must name the domain to pack into", field=f"{placed.field}.packDomain")


def _known_domains(pcs: PodCliqueSet, context: Context) -> tuple[str, ...] | None:
    """The domains to choose from, in the operator's order; None when no topology applies or TAS is disabled."""
    if not context.enabled:
        return None
    if not context.revision.chooses_topology:
        return context.domains
    name = resolve_topology(pcs, context.revision)
    topology = context.topologies.get(name) if name is not None else None
    if topology is None:
        return None
    return tuple(sorted(topology.domains, key=rank)) if context.revision.fixed_domain_order else topology.domains


def _domain_exists(at: _Constrained, context: Context) -> Iterator[Violation]:
    known = at.known
    if known is None or at.missing(context):
        return
    name = resolve_topology(at.pcs, context.revision)
    for placed in at.unknown:
        text = f"topology domain '{placed.domain}' does not exist in cluster topology [{' '.join(known)}]"
        message = (
            f'must be a level of ClusterTopology "{name}": {list_known(known)}; '
            f'got "{placed.domain}"{closest(placed.domain, known)}'
        )
        yield invalid((*placed.path, "packDomain"), TypedText(placed.domain), text, message, field=placed.field)


def _hierarchy(at: _Constrained, _context: Context) -> Iterator[Violation]:
    pcs, placed = at.pcs, at.placed
    if at.known is None or len(placed) < 2 or at.unknown:
        return
    if pcs.topology:
        for child in placed[1:]:
            yield from _not_narrower(placed[0], child)
    cliques = {clique.name: index for index, clique in reversed(list(enumerate(pcs.cliques)))}
    by_path = {child.path: child for child in placed}
    for index, group in enumerate(pcs.groups):
        parent = by_path.get((*TEMPLATE, "podCliqueScalingGroups", index, "topologyConstraint"))
        for name in group.clique_names if parent else ():
            child = by_path.get((*TEMPLATE, "cliques", cliques.get(name, -1), "topologyConstraint"))
            if parent and child:
                yield from _not_narrower(parent, child)


def _not_narrower(parent: Placed, child: Placed) -> Iterator[Violation]:
    if is_narrower(parent.domain, child.domain):
        text = (
            f"{parent.owner} topology constraint domain '{parent.domain}' is narrower than "
            f"{child.owner} topology constraint domain '{child.domain}'"
        )
        message = (
            f'must be as broad as "{child.domain}" of {child.kind} "{child.name}" or broader; got "{parent.domain}"; '
            "widen it here or narrow it there"
        )
        yield invalid((*parent.path, "packDomain"), TypedText(parent.domain), text, message, field=parent.field)


_MULTI = "revisions.md grep-244-multi"

_DESIGNS = "revisions.md Workload validation"

DISABLED = Rule("topology-disabled", "Constraints need topology-aware scheduling enabled.",
                f"operator.md R43; {_MULTI} 4; {_DESIGNS}", _disabled)  # fmt: skip
UNKNOWN = Rule("topology-domain-unknown", "A constraint's domain is a level of its topology.",
               f"operator.md R44; {_DESIGNS}", _domain_exists)  # fmt: skip
HIERARCHY = Rule("topology-hierarchy", "A parent's domain is as broad as its children's.",
                 f"operator.md R45; {_DESIGNS}", _hierarchy)  # fmt: skip

TOPOLOGY = (Scope(_constrained, (
    DISABLED,
    Rule("topology-not-found", "The workload's topology exists.", f"{_MULTI} 1", _topology_exists),
    Rule("topology-name-unused", "clusterTopologyName needs a constraint that uses it.", f"{_MULTI} 3",
         _name_needs_constraint),
    Rule("topology-domain-required", "A constraint names its packDomain.", "operator.md 4.3, M", _domain_given),
    UNKNOWN,
    HIERARCHY,
)),)  # fmt: skip
"""Rules of a new PodCliqueSet's constraints; they come before all others."""
