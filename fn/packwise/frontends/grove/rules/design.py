"""Topology constraints as the first two designs judge them, of new workloads and of changed ones.

Their texts stand alone, without a field. Source: revisions.md "Workload validation".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from packwise.frontends.grove.resolution import resolve_topology
from packwise.frontends.grove.rules.rule import TEMPLATE, Context, Scope, Violation
from packwise.frontends.grove.rules.topology import DISABLED, HIERARCHY, UNKNOWN, Placed, placed_constraints
from packwise.kubernetes.field_error import Sentence
from packwise.topology import ClusterTopology
from packwise.wording import closest, list_known

if TYPE_CHECKING:
    from collections.abc import Iterator

    from packwise.frontends.grove.podcliqueset import PodCliqueSet

__all__ = ["DESIGN_TOPOLOGY"]


class _Judged:
    """A workload with its constraints; `topology` is None while TAS is disabled."""

    __slots__ = ("pcs", "placed", "topology")

    def __init__(self, pcs: PodCliqueSet, context: Context) -> None:
        name = resolve_topology(pcs, context.revision)
        # A constraint without a domain demands nothing: the designs let it be left out.
        self.placed = [placed for placed in placed_constraints(pcs, context) if placed.domain]
        self.topology = context.topologies.get(name, ClusterTopology(name, ())) if context.enabled and name else None
        self.pcs = pcs


def _judged(pcs: PodCliqueSet, context: Context) -> tuple[_Judged, ...]:
    return (_Judged(pcs, context),)


def _disabled(at: _Judged, _context: Context) -> Iterator[Violation]:
    if at.topology is not None:
        return
    for placed in at.placed:
        message = (
            f'must not be set while topology-aware scheduling is disabled; got "{placed.domain}"; enable it or remove '
            "the constraint"
        )
        yield _violation(placed, message, "topology support is not enabled in the operator")


def _domain_exists(at: _Judged, _context: Context) -> Iterator[Violation]:
    if at.topology is None:
        return
    name, known = at.topology.name, at.topology.domains
    for placed in at.placed:
        if placed.domain not in known:
            message = (
                f'must be a level of ClusterTopology "{name}": {list_known(known)}; '
                f'got "{placed.domain}"{closest(placed.domain, known)}'
            )
            text = f"topology level '{placed.domain}' not defined in ClusterTopology '{name}'"
            yield _violation(placed, message, text)


def _hierarchy(at: _Judged, _context: Context) -> Iterator[Violation]:
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
            yield _violation(child, message, text)


def _pairs(at: _Judged) -> Iterator[tuple[Placed, Placed]]:
    """Each constraint below another one, with that: a scaling group's stands between the set's and its cliques'."""
    by_path = {placed.path: placed for placed in at.placed}
    whole = by_path.get((*TEMPLATE, "topologyConstraint"))
    groups = [
        (group, by_path.get((*TEMPLATE, "podCliqueScalingGroups", index, "topologyConstraint")))
        for index, group in enumerate(at.pcs.groups)
    ]
    for _, placed in groups:
        if placed is not None and whole is not None:
            yield placed, whole
    for index, clique in enumerate(at.pcs.cliques):
        placed = by_path.get((*TEMPLATE, "cliques", index, "topologyConstraint"))
        parent = next((found for group, found in groups if found and clique.name in group.clique_names), whole)
        if placed is not None and parent is not None:
            yield placed, parent


def _violation(placed: Placed, message: str, text: str) -> Violation:
    return Violation((*placed.path, "packDomain"), message, Sentence(text))


DESIGN_TOPOLOGY = (
    Scope(
        _judged,
        (
            DISABLED._replace(check=_disabled),
            UNKNOWN._replace(check=_domain_exists),
            HIERARCHY._replace(check=_hierarchy),
        ),
    ),
)
"""Rules of a PodCliqueSet's constraints, where they are new or changed."""
