"""A scheduler's own object for every ClusterTopology. Source: operator.md 9, revisions.md "KAI Topology"."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from packwise.finding import Finding, Rule, Severity, Stage
from packwise.plan import Generated
from packwise.schedulers.scheduler import Refusal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from packwise.plan import Condition
    from packwise.schedulers.scheduler import Scheduler
    from packwise.select.selection import Selection
    from packwise.select.topologies import KnownTopologies, KnownTopology

__all__ = [
    "REFUSED",
    "RULES",
    "Judgement",
    "SchedulerTopologies",
    "judge",
    "own_topologies",
    "refusals_of",
    "scheduler_topologies",
]

REFUSED = Rule("scheduler-topology", "The scheduler takes the object made of every topology.", "kai.md")
RULES = (REFUSED,)
"""Rules of the schedulers' objects."""


class SchedulerTopologies(NamedTuple):
    """A scheduler's objects in the topologies' order, what is wrong with them, and why the scheduler refuses which.

    `refused` holds its API server's answer by name of the topology. `conditions` are those of the objects that hold the
    topologies, by their identity in memory, where the revision has any but Ready.
    """

    generated: tuple[Generated, ...]
    findings: tuple[Finding, ...]
    refused: Mapping[str, str] = {}
    conditions: Mapping[int, tuple[Condition, ...]] = {}


def scheduler_topologies(scheduler: Scheduler, known: KnownTopologies, selection: Selection) -> SchedulerTopologies:
    """What is made of every topology for `scheduler`; nothing of one that it refuses where that is no error."""
    if selection.schedulers is not None:
        # Only one revision lets others keep the scheduler's objects.
        from packwise.schedulers.references import referenced_topologies

        return referenced_topologies(scheduler, known, selection, selection.schedulers)
    generated: list[Generated] = []
    findings: list[Finding] = [*own_topologies(scheduler, selection)]
    refused: dict[str, str] = {}
    made = _are_made(selection)
    rendered = made and selection.settings.emits(scheduler.topology_kind)
    way_out = "`createTopologyResources: false`, or " if selection.revision.scheduler_profiles else ""
    fatal = selection.revision.topology_status is None
    for topology in known.by_name.values():
        name, value = topology.topology.name, scheduler.topology_value(topology.topology)
        surely_valid = False
        if topology.valid:
            judgement = judge(scheduler, topology, selection, way_out=way_out if rendered else None, fatal=fatal)
            findings += judgement.findings
            surely_valid = judgement.surely_valid
            if judgement.answer is not None:
                refused[name] = judgement.answer
        if made and (fatal or name not in refused):
            recreate = scheduler.topology_immutable and surely_valid
            generated.append(Generated(value, f"ClusterTopology {name}", topology.item, recreate=recreate))
    return SchedulerTopologies(tuple(generated), tuple(findings), refused)


class Judgement(NamedTuple):
    """What the scheduler's API server says of an object: its `answer`, None where it takes it.

    `surely_valid`: every rule of its CRD was checked, and is kept.
    """

    findings: tuple[Finding, ...]
    answer: str | None
    surely_valid: bool


def judge(
    scheduler: Scheduler, known: KnownTopology, selection: Selection, *, way_out: str | None, fatal: bool = True
) -> Judgement:
    """What the scheduler's API server says of the object made of `known`.

    Refusals are errors, which say how else to have none rendered, `way_out` first; warnings where there is none anyway
    (None), or where the operator goes on without it (not `fatal`).
    """
    refusals, unchecked = refusals_of(scheduler, scheduler.topology_value(known.topology), selection)
    findings = (*(_finding(scheduler, known, refusal, way_out, fatal=fatal) for refusal in refusals), *unchecked)
    answer = _answer(scheduler, known.topology.name, refusals) if refusals else None
    return Judgement(findings, answer, not findings)


def _answer(scheduler: Scheduler, name: str, refusals: list[Refusal]) -> str:
    """What the API server answers to the object: each of its texts once."""
    texts = list(dict.fromkeys([refusal.api_text for refusal in refusals]))
    told = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    return f'{scheduler.topology_kind}.{scheduler.group} "{name}" is invalid: {told}'


def refusals_of(
    scheduler: Scheduler, value: Mapping[str, Value], selection: Selection
) -> tuple[list[Refusal], list[Finding]]:
    """Why the scheduler's API server would not take `value`: by its own CRD, where that is at hand."""
    definition = selection.definitions.of_kind(scheduler.group, scheduler.topology_kind)
    if definition is None:
        return scheduler.refusals(scheduler.read_keys(value)), []
    from packwise.crds.findings import split

    # A GitOps tool creates it anew, so that nothing need be the same as before.
    recreated = scheduler.topology_immutable and selection.settings.gitops
    before = None if recreated else selection.before(value)
    problems, unchecked = split(definition.problems(value, before), definition)
    return [
        Refusal(_level(one.path), one.message, one.operator_message or one.message, one.operator_message)
        for one in problems
    ], unchecked


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
    scheduler: Scheduler, known: KnownTopology, refusal: Refusal, way_out: str | None, *, fatal: bool
) -> Finding:
    place = known.levels
    if refusal.index is not None:
        # The scheduler counts levels broadest first, the configuration as they were written.
        place = place.below(known.written.index(known.topology.levels[refusal.index]), "key")
    message = f"{refusal.message}: {scheduler.name} refuses the {scheduler.topology_kind} that is made of it"
    text = refusal.operator_message
    stage = None if text is None else Stage.SCHEMA
    if way_out is None or not fatal:
        if way_out is not None:
            message += "; it is left out, and the ClusterTopology is not Ready"
        return place.finding(REFUSED, message, severity=Severity.WARNING, operator_message=text, stage=stage)
    message += f"; or render none: {way_out}`emit` without {scheduler.topology_kind}"
    return place.finding(REFUSED, message, operator_message=text, stage=stage)


def own_topologies(scheduler: Scheduler, selection: Selection) -> Iterator[Finding]:
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
