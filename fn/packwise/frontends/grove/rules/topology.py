"""Topology constraints of a new PodCliqueSet.

Source: operator.md 4.3 (R43..R45), revisions.md `grep-244-multi` rules 1, 3, 4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from krmfn.fieldpath import format_path
from packwise.frontends.grove.resolution import chosen_topology, resolve_topology
from packwise.frontends.grove.rules.operator_text import TypedText
from packwise.frontends.grove.rules.rule import (
    TEMPLATE,
    Context,
    Rule,
    Violation,
    closest,
    invalid,
    list_known,
    required,
)  # fmt: skip
from packwise.topology import is_narrower, rank

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krmfn.fieldpath import FieldPath
    from packwise.frontends.grove.podcliqueset import PodCliqueSet

__all__ = ["TOPOLOGY", "Placed", "placed_constraints"]

_DISABLED = "topology constraints are not allowed when Topology Aware Scheduling is disabled"


@dataclass(frozen=True, slots=True)
class Placed:
    """A constraint where it stands: `field` is the path in the operator's errors."""

    path: FieldPath
    field: str
    domain: str
    kind: str
    name: str

    @property
    def owner(self) -> str:
        """Whose constraint it is, as the operator says it."""
        return f"{self.kind} '{self.name}'" if self.name else self.kind


def placed_constraints(pcs: PodCliqueSet, context: Context) -> list[Placed]:
    """All constraints in the operator's order: the set's, the cliques', the groups'."""
    found: list[Placed] = []
    if pcs.topology:
        path = (*TEMPLATE, "topologyConstraint")
        found.append(Placed(path, "spec.template.topologyConstraint", pcs.topology.pack_domain, "PodCliqueSet", ""))
    for index, clique in enumerate(pcs.cliques):
        if clique.topology:
            path = (*TEMPLATE, "cliques", index, "topologyConstraint")
            found.append(Placed(path, format_path(path), clique.topology.pack_domain, "PodClique", clique.name))
    for index, group in enumerate(pcs.groups):
        if group.topology:
            path = (*TEMPLATE, "podCliqueScalingGroups", index, "topologyConstraint")
            field = f"spec.template.{context.revision.group_constraint_field}[{index}].topologyConstraint"
            found.append(Placed(path, field, group.topology.pack_domain, "PodCliqueScalingGroup", group.name))
    return found


def _disabled(pcs: PodCliqueSet, context: Context) -> Iterator[Violation]:
    if context.enabled:
        return
    chosen = chosen_topology(pcs, context.revision)
    if chosen is not None:
        message = (
            f'must not be set while topology-aware scheduling is disabled; got "{chosen}"; '
            "enable it or remove the field"
        )
        yield Violation(_name_path(context), message)
    for placed in placed_constraints(pcs, context):
        message = (
            f'must not be set while topology-aware scheduling is disabled; got packDomain "{placed.domain}"; '
            "enable it or remove the constraint"
        )
        yield invalid(placed.path, TypedText(placed.domain), _DISABLED, message, field=placed.field)


def _name_path(context: Context) -> FieldPath:
    return (*TEMPLATE, context.revision.topology_name_field or "")


def _topology_exists(pcs: PodCliqueSet, context: Context) -> Iterator[Violation]:
    if not context.enabled or context.revision.topology_name_field is None:
        return
    name = resolve_topology(pcs, context.revision)
    if name is None or name in context.topologies:
        return
    known = sorted(context.topologies)
    chosen = chosen_topology(pcs, context.revision)
    subject = f'got "{name}"' if chosen else f'left out, it means "{name}", which does not exist'
    message = f"must name an existing ClusterTopology; {subject}; known: {list_known(known)}{closest(name, known)}"
    yield invalid(_name_path(context), name, f'ClusterTopology "{name}" not found', message)


def _name_needs_constraint(pcs: PodCliqueSet, context: Context) -> Iterator[Violation]:
    chosen = chosen_topology(pcs, context.revision)
    if context.enabled and chosen is not None and not pcs.is_constrained:
        message = (
            f'must be set together with a topologyConstraint; got "{chosen}" and no constraint at the set, a scaling '
            "group or a clique; add one or remove the field"
        )
        yield Violation(_name_path(context), message)


def _missing_domains(pcs: PodCliqueSet, context: Context) -> list[Placed]:
    if not context.revision.names_missing_domain:
        return []
    return [placed for placed in placed_constraints(pcs, context) if not placed.domain]


def _domain_given(pcs: PodCliqueSet, context: Context) -> Iterator[Violation]:
    if _known_domains(pcs, context) is None:
        return
    for placed in _missing_domains(pcs, context):
        text = "packDomain is required when topologyConstraint is set"
        path = (*placed.path, "packDomain")
        yield required(path, text, "must name the domain to pack into", field=f"{placed.field}.packDomain")


def _known_domains(pcs: PodCliqueSet, context: Context) -> tuple[str, ...] | None:
    """The domains to choose from, in the operator's order; None when no topology applies or TAS is disabled."""
    if not context.enabled:
        return None
    if context.revision.topology_name_field is None:
        return context.domains
    name = resolve_topology(pcs, context.revision)
    topology = context.topologies.get(name) if name is not None else None
    if topology is None:
        return None
    return tuple(sorted(topology.domains, key=rank)) if context.revision.fixed_domain_order else topology.domains


def _unknown(pcs: PodCliqueSet, context: Context, known: tuple[str, ...]) -> list[Placed]:
    return [placed for placed in placed_constraints(pcs, context) if placed.domain not in known]


def _domain_exists(pcs: PodCliqueSet, context: Context) -> Iterator[Violation]:
    known = _known_domains(pcs, context)
    if known is None or _missing_domains(pcs, context):
        return
    name = resolve_topology(pcs, context.revision)
    for placed in _unknown(pcs, context, known):
        text = f"topology domain '{placed.domain}' does not exist in cluster topology [{' '.join(known)}]"
        message = (
            f'must be a level of ClusterTopology "{name}": {list_known(known)}; '
            f'got "{placed.domain}"{closest(placed.domain, known)}'
        )
        yield invalid((*placed.path, "packDomain"), TypedText(placed.domain), text, message, field=placed.field)


def _hierarchy(pcs: PodCliqueSet, context: Context) -> Iterator[Violation]:
    known = _known_domains(pcs, context)
    if known is None or _unknown(pcs, context, known):
        return
    placed = placed_constraints(pcs, context)
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

TOPOLOGY = (
    Rule("topology-disabled", "Constraints need topology-aware scheduling enabled.", f"operator.md R43; {_MULTI} 4",
         _disabled, scope="topology"),
    Rule("topology-not-found", "The workload's ClusterTopology exists.", f"{_MULTI} 1", _topology_exists,
         scope="topology"),
    Rule("topology-name-unused", "clusterTopologyName needs a constraint that uses it.", f"{_MULTI} 3",
         _name_needs_constraint, scope="topology"),
    Rule("topology-domain-required", "A constraint names its packDomain.", "operator.md 4.3, M", _domain_given,
         scope="topology"),
    Rule("topology-domain-unknown", "packDomain is a level of the cluster's topology.", "operator.md R44",
         _domain_exists, scope="topology"),
    Rule("topology-hierarchy", "A parent's packDomain is as broad as its children's.", "operator.md R45", _hierarchy,
         scope="topology"),
)  # fmt: skip
"""Rules of a new PodCliqueSet's constraints; they come before all others."""
