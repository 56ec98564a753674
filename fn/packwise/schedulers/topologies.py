"""A scheduler's own object for every ClusterTopology. Source: operator.md 9, revisions.md "KAI Topology"."""

from __future__ import annotations

from typing import TYPE_CHECKING

from packwise.finding import Finding, Rule, Severity, Stage
from packwise.plan import Generated
from packwise.schedulers.scheduler import Refusal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from packwise.schedulers.scheduler import Scheduler
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
        value = scheduler.topology_value(topology.topology)
        if topology.valid:
            refusals, unchecked = _refusals(scheduler, value, selection)
            findings += [
                _finding(scheduler, topology, refusal, rendered=rendered, profiles=profiles) for refusal in refusals
            ]
            findings += unchecked
        if made:
            generated.append(Generated(value, f"ClusterTopology {topology.topology.name}", topology.item))
    return generated, findings


def _refusals(
    scheduler: Scheduler, value: Mapping[str, Value], selection: Selection
) -> tuple[list[Refusal], list[Finding]]:
    """Why the scheduler's API server would not take `value`: by its own CRD, where that is at hand."""
    definition = selection.definitions.of_kind(scheduler.group, scheduler.topology_kind)
    if definition is None:
        return scheduler.refusals(scheduler.read_keys(value)), []
    from packwise.crds.findings import split

    problems, unchecked = split(definition.problems(value, selection.before(value)), definition)
    return [Refusal(_level(one.path), one.message, one.operator_message) for one in problems], unchecked


def _level(path: FieldPath) -> int | None:
    """The level that a field belongs to; None where it belongs to none, or to all of them."""
    return next((step for step in path if isinstance(step, int)), None)


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
    text = refusal.operator_message
    stage = None if text is None else Stage.SCHEMA
    if not rendered:
        return place.finding(REFUSED, message, severity=Severity.WARNING, operator_message=text, stage=stage)
    switch = "`createTopologyResources: false`, or " if profiles else ""
    message += f"; or render none: {switch}`emit` without {scheduler.topology_kind}"
    return place.finding(REFUSED, message, operator_message=text, stage=stage)


def _own(scheduler: Scheduler, selection: Selection) -> Iterator[Finding]:
    """What the scheduler refuses in objects of its kind that users wrote."""
    definition = selection.definitions.of_kind(scheduler.group, scheduler.topology_kind)
    for item in selection.index.of_kind(scheduler.group, scheduler.topology_kind):
        if definition is not None:
            from packwise.crds.findings import findings_of

            problems = definition.problems(item.value, selection.before(item.value))
            yield from findings_of(problems, item, definition, REFUSED)
            continue
        for refusal in scheduler.refusals(scheduler.read_keys(item.value)):
            path: FieldPath = ("spec", "levels")
            if refusal.index is not None:
                path = (*path, refusal.index)
            yield Finding.of(REFUSED, item, path, f"{refusal.message}: {scheduler.name} refuses it")
