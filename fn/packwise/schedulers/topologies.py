"""A scheduler's own object for every ClusterTopology. Source: operator.md 9, revisions.md "KAI Topology"."""

from __future__ import annotations

from typing import TYPE_CHECKING

from packwise.finding import Finding, Rule, Severity
from packwise.plan import Generated

if TYPE_CHECKING:
    from packwise.schedulers.scheduler import Refusal, Scheduler
    from packwise.select.selection import Selection
    from packwise.select.topologies import KnownTopologies, KnownTopology

__all__ = ["RULES", "scheduler_topologies"]

REFUSED = Rule("scheduler-topology", "The scheduler takes the object made of every ClusterTopology.", "kai.md")
RULES = (REFUSED,)
"""Rules of the schedulers' objects."""


def scheduler_topologies(
    scheduler: Scheduler, known: KnownTopologies, selection: Selection
) -> tuple[list[Generated], list[Finding]]:
    """The scheduler's objects in the topologies' order, and what is wrong with them."""
    findings: list[Finding] = []
    generated: list[Generated] = []
    made = _are_made(selection)
    rendered = made and scheduler.topology_kind in selection.settings.emit
    for topology in known.by_name.values():
        refusals = scheduler.refusals(topology.topology)
        findings += [_finding(scheduler, topology, refusal, rendered=rendered) for refusal in refusals]
        if made:
            origin = f"ClusterTopology {topology.topology.name}"
            generated.append(Generated(scheduler.topology_value(topology.topology), origin, topology.item))
    return generated, findings


def _are_made(selection: Selection) -> bool:
    """Whether the operator makes them: without scheduler profiles it does."""
    configuration = selection.configuration
    if configuration is None or not selection.revision.scheduler_profiles:
        return True
    return configuration.makes_kai_topologies is not False


def _finding(scheduler: Scheduler, known: KnownTopology, refusal: Refusal, *, rendered: bool) -> Finding:
    place = known.levels
    if refusal.index is not None:
        # The scheduler counts levels broadest first, the configuration as they were written.
        place = place.below(known.written.index(known.topology.levels[refusal.index]), "key")
    message = f"{refusal.message}: {scheduler.name} refuses the {scheduler.topology_kind} that is made of it"
    if not rendered:
        return place.finding(REFUSED, message, severity=Severity.WARNING)
    way_out = f"; or render none: `createTopologyResources: false`, or `emit` without {scheduler.topology_kind}"
    return place.finding(REFUSED, message + way_out)
