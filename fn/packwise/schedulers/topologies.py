"""A scheduler's own object for every ClusterTopology. Source: operator.md 9, revisions.md "KAI Topology"."""

from __future__ import annotations

from typing import TYPE_CHECKING

from packwise.finding import Finding, Rule, Severity
from packwise.plan import Generated

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krmfn.fieldpath import FieldPath
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
    findings += _own(scheduler, selection)
    profiles = selection.revision.scheduler_profiles
    for topology in known.by_name.values():
        refusals = scheduler.refusals([level.key for level in topology.topology.levels]) if topology.valid else []
        findings += [
            _finding(scheduler, topology, refusal, rendered=rendered, profiles=profiles) for refusal in refusals
        ]
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


def _finding(
    scheduler: Scheduler, known: KnownTopology, refusal: Refusal, *, rendered: bool, profiles: bool
) -> Finding:
    place = known.levels
    if refusal.index is not None:
        # The scheduler counts levels broadest first, the configuration as they were written.
        place = place.below(known.written.index(known.topology.levels[refusal.index]), "key")
    message = f"{refusal.message}: {scheduler.name} refuses the {scheduler.topology_kind} that is made of it"
    if not rendered:
        return place.finding(REFUSED, message, severity=Severity.WARNING)
    switch = "`createTopologyResources: false`, or " if profiles else ""
    return place.finding(REFUSED, f"{message}; or render none: {switch}`emit` without {scheduler.topology_kind}")


def _own(scheduler: Scheduler, selection: Selection) -> Iterator[Finding]:
    """What the scheduler refuses in objects of its kind that users wrote."""
    for item in selection.index.of_kind(scheduler.group, scheduler.topology_kind):
        keys = scheduler.read_keys(item.value)
        for refusal in scheduler.refusals(keys):
            path: FieldPath = ("spec", "levels")
            if refusal.index is not None:
                path = (*path, refusal.index)
            yield Finding.of(REFUSED, item, path, f"{refusal.message}: {scheduler.name} refuses it")
