"""Topology constraints as the first two designs judge them, of new workloads and of changed ones.

Their texts stand alone, without a field. Source: spec/designs.md#6.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.frontends.grove.resolution import resolve_topology
from packwise.frontends.grove.rules.alpha7 import ALPHA7
from packwise.frontends.grove.rules.check import TEMPLATE, Check, Context, Scope, refused
from packwise.frontends.grove.rules.constraints import (
    DISABLED,
    HIERARCHY,
    UNKNOWN,
    ConstraintAt,
    constraints_at,
    disabled_message,
    unknown_domain_message,
)
from packwise.frontends.grove.rules.update import update_rules
from packwise.kubernetes.validation import Sentence
from packwise.topology.levels import ClusterTopology
from packwise.wording import list_known

if TYPE_CHECKING:
    from collections.abc import Iterator

    from packwise.findings.finding import Problem
    from packwise.frontends.grove.podcliqueset import PodCliqueSet

__all__ = ["DESIGN"]


class _Constrained(NamedTuple):
    """A workload with its constraints; `topology` is None while TAS is disabled."""

    pcs: PodCliqueSet
    constraints: tuple[ConstraintAt, ...]
    topology: ClusterTopology | None


def _constrained(pcs: PodCliqueSet, context: Context) -> tuple[_Constrained, ...]:
    name = resolve_topology(pcs, context.revision)
    # A constraint without a domain demands nothing: the designs let it be left out.
    constraints = tuple([constraint for constraint in constraints_at(pcs) if constraint.domain])
    topology = context.topologies.get(name, ClusterTopology(name, ())) if context.enabled and name else None
    return (_Constrained(pcs, constraints, topology),)


def _disabled(at: _Constrained, _context: Context) -> Iterator[Problem]:
    for constraint in at.constraints if at.topology is None else ():
        message = disabled_message(f'"{constraint.domain}"')
        yield _refused(constraint, message, "topology support is not enabled in the operator")


def _domain_known(at: _Constrained, context: Context) -> Iterator[Problem]:
    if at.topology is None:
        return
    name, known = at.topology.name, at.topology.domains
    for constraint in at.constraints:
        if constraint.domain not in known:
            message = unknown_domain_message(constraint.domain, context.revision.topology_kind, name, known)
            text = f"topology level '{constraint.domain}' not defined in ClusterTopology '{name}'"
            yield _refused(constraint, message, text)


def _hierarchy(at: _Constrained, _context: Context) -> Iterator[Problem]:
    if at.topology is None:
        return
    domains = at.topology.domains
    for child, parent in _pairs(at):
        if child.domain not in domains or parent.domain not in domains:
            continue
        if domains.index(child.domain) < domains.index(parent.domain):
            message = (
                f'must be as narrow as "{parent.domain}" of {parent.owner} or narrower; got "{child.domain}"; broadest '
                f"first the levels are {list_known(domains)}"
            )
            text = (
                f"child topology constraint '{child.domain}' must be equal to or stricter than parent constraint "
                f"'{parent.domain}'"
            )
            yield _refused(child, message, text)


def _pairs(at: _Constrained) -> Iterator[tuple[ConstraintAt, ConstraintAt]]:
    """Each constraint below another one, with that: a scaling group's is between the set's and its cliques'."""
    by_path = {constraint.path: constraint for constraint in at.constraints}
    whole = by_path.get((*TEMPLATE, "topologyConstraint"))
    groups = [
        (group, by_path.get((*TEMPLATE, "podCliqueScalingGroups", index, "topologyConstraint")))
        for index, group in enumerate(at.pcs.groups)
    ]
    for _, child in groups:
        if child is not None and whole is not None:
            yield child, whole
    for index, clique in enumerate(at.pcs.cliques):
        child = by_path.get((*TEMPLATE, "cliques", index, "topologyConstraint"))
        parent = next((above for group, above in groups if above and clique.name in group.clique_names), whole)
        if child is not None and parent is not None:
            yield child, parent


def _refused(constraint: ConstraintAt, message: str, text: str) -> Problem:
    return refused((*constraint.path, "packDomain"), message, Sentence(text))


DESIGN_TOPOLOGY = (
    Scope(_constrained, (
        Check(DISABLED, _disabled),
        Check(UNKNOWN, _domain_known),
        Check(HIERARCHY, _hierarchy),
    )),
)  # fmt: skip
"""Rules of a PodCliqueSet's constraints, where they are new or changed."""

DESIGN = ALPHA7._replace(constraints=DESIGN_TOPOLOGY, update=update_rules())
"""The rules of the webhook of the first two designs."""
