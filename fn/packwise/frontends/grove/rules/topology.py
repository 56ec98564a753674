"""Topology constraints of a new PodCliqueSet where each is a packDomain.

Source: spec/grove.md#4.3, spec/designs.md#7.1, #7.3, #7.4.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.findings.finding import Problem, Rule
from packwise.frontends.grove.resolution import chosen_topology, resolve_topology
from packwise.frontends.grove.rules.check import TEMPLATE, Check, Context, Scope, invalid, required
from packwise.frontends.grove.rules.constraints import (
    DISABLED,
    DOMAIN_REQUIRED,
    HIERARCHY,
    NOT_ALLOWED,
    NOT_FOUND,
    UNKNOWN,
    ConstraintAt,
    constraints_at,
    disabled_message,
    not_narrower_message,
    parents_and_children,
    unknown_domain_message,
    unknown_domain_text,
)
from packwise.kubernetes.validation import TypedText
from packwise.topology.levels import is_narrower, rank
from packwise.wording import closest, list_known

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krmfn.fieldpath import FieldPath
    from packwise.frontends.grove.podcliqueset import PodCliqueSet

__all__ = ["TOPOLOGY"]


class _Constrained(NamedTuple):
    """A workload with its constraints, and the domains that these may name.

    `known` is in the operator's order; it is None while TAS is disabled and where no topology applies.
    """

    pcs: PodCliqueSet
    constraints: tuple[ConstraintAt, ...]
    known: tuple[str, ...] | None

    @property
    def unknown(self) -> list[ConstraintAt]:
        """The constraints whose domain is none of the known ones."""
        known = self.known or ()
        return [constraint for constraint in self.constraints if constraint.domain not in known]

    def missing(self, context: Context) -> list[ConstraintAt]:
        """The constraints without a domain, where the revision has an error of its own for these."""
        if not context.revision.names_missing_domain:
            return []
        return [constraint for constraint in self.constraints if not constraint.domain]


def _constrained(pcs: PodCliqueSet, context: Context) -> tuple[_Constrained, ...]:
    return (_Constrained(pcs, constraints_at(pcs), _known_domains(pcs, context)),)


def _disabled(at: _Constrained, context: Context) -> Iterator[Problem]:
    if context.enabled:
        return
    chosen = chosen_topology(at.pcs, context.revision)
    if chosen is not None:
        message = (
            f'must not be set while topology-aware scheduling is disabled; got "{chosen}"; '
            "enable it or remove the field"
        )
        yield Problem(_name_path(context), message)
    for constraint in at.constraints:
        message = disabled_message(f'packDomain "{constraint.domain}"')
        field = constraint.operator_field(context.revision)
        yield invalid(constraint.path, TypedText(constraint.domain), NOT_ALLOWED, message, field=field)


def _name_path(context: Context) -> FieldPath:
    return (*TEMPLATE, context.revision.topology_name_field or "")


def _topology_exists(at: _Constrained, context: Context) -> Iterator[Problem]:
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


def _name_needs_constraint(at: _Constrained, context: Context) -> Iterator[Problem]:
    chosen = chosen_topology(at.pcs, context.revision)
    if context.enabled and chosen is not None and not at.pcs.is_constrained:
        message = (
            f'must be set together with a topologyConstraint; got "{chosen}" and no constraint at the set, a scaling '
            "group or a clique; add one or remove the field"
        )
        yield Problem(_name_path(context), message)


def _domain_required(at: _Constrained, context: Context) -> Iterator[Problem]:
    if at.known is None:
        return
    for constraint in at.missing(context):
        text = "packDomain is required when topologyConstraint is set"
        field = f"{constraint.operator_field(context.revision)}.packDomain"
        yield required((*constraint.path, "packDomain"), text, "must name the domain to pack into", field=field)


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


def _domain_known(at: _Constrained, context: Context) -> Iterator[Problem]:
    known = at.known
    if known is None or at.missing(context):
        return
    name = resolve_topology(at.pcs, context.revision)
    for constraint in at.unknown:
        domain = constraint.domain
        message = unknown_domain_message(domain, context.revision.topology_kind, name, known)
        path, text = (*constraint.path, "packDomain"), unknown_domain_text(domain, known)
        yield invalid(path, TypedText(domain), text, message, field=constraint.operator_field(context.revision))


def _hierarchy(at: _Constrained, context: Context) -> Iterator[Problem]:
    if at.known is None or len(at.constraints) < 2 or at.unknown:
        return
    for parent, child in parents_and_children(at.pcs, at.constraints):
        if is_narrower(parent.domain, child.domain):
            text = (
                f"{parent.owner} topology constraint domain '{parent.domain}' is narrower than "
                f"{child.owner} topology constraint domain '{child.domain}'"
            )
            message = not_narrower_message(parent.domain, child, child.domain)
            path, field = (*parent.path, "packDomain"), parent.operator_field(context.revision)
            yield invalid(path, TypedText(parent.domain), text, message, field=field)


_CONSTRAINED = Scope(_constrained, (
    Check(DISABLED, _disabled),
    Check(NOT_FOUND, _topology_exists),
    Check(Rule("topology-name-unused", "clusterTopologyName needs a constraint that uses it.", "spec/designs.md#7.3"),
          _name_needs_constraint),
    Check(DOMAIN_REQUIRED, _domain_required),
    Check(UNKNOWN, _domain_known),
    Check(HIERARCHY, _hierarchy),
))  # fmt: skip

TOPOLOGY = (_CONSTRAINED,)
"""Rules of a new PodCliqueSet's constraints; they come before all others."""
