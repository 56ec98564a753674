"""A scheduler's own group of pods for every PodGang, and what it has against its objects, whoever wrote them.

Source: operator.md 10, kai.md, revisions.md "KAI's refusal".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from packwise.finding import Finding, Rule, Severity, Stage
from packwise.plan import Generated
from packwise.schedulers.fault import Effect, Fault, Target
from packwise.schedulers.topologies import REFUSED as TOPOLOGY_REFUSED
from packwise.select.index import identity, told_identity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.plan import GangTraits, WorkloadPlan
    from packwise.schedulers.scheduler import Scheduler
    from packwise.select.selection import Selection

__all__ = ["RULES", "check_own_objects", "requested_faults", "scheduler_podgroups"]

REFUSED = Rule("scheduler-podgroup", "The scheduler takes every PodGroup, rendered or users' own.", "kai.md")
IGNORED = Rule(
    "scheduler-ignores",
    "What a Topology or PodGroup says has an effect with every version of the scheduler.",
    "kai.md",
    Severity.WARNING,
)
QUEUE = Rule("podgroup-queue", "A PodGroup is of one queue.", "operator.md 4.4", Severity.WARNING)
NOTE = Rule("podgroup-note", "What is not rendered of PodGroups, and why.", "operator.md 10", Severity.INFO)
RULES = (REFUSED, IGNORED, QUEUE, NOTE)
"""Rules of groups of pods."""

_PODGANG = ("scheduler.grove.io", "PodGang")
_SCHEDULER = "grove.io/scheduler-name"
_LEVELS = ("requiredTopologyLevel", "preferredTopologyLevel")


def scheduler_podgroups(
    scheduler: Scheduler, plans: Iterable[WorkloadPlan], selection: Selection
) -> tuple[list[Generated], list[Finding]]:
    """The scheduler's object for each PodGang of its own pods, in their order, and what is wrong with them.

    Where none are rendered, what it would refuse in those that others make is told as a warning.
    """
    maker = _Maker(scheduler, selection)
    generated = [one for plan in plans if plan.gangs is not None for one in maker.of_plan(plan, plan.gangs)]
    if not maker.rendered:
        return [], maker.findings
    if any(_counts(one.value) for one in generated):
        notes = scheduler.podgroup_notes(maker.target)
        maker.findings += [Finding.of(NOTE, selection.settings.item, (), note) for note in notes]
    return generated, maker.findings


class _Maker:
    """What all workloads have in common."""

    __slots__ = ("_definition", "_scheduler", "_selection", "findings", "rendered", "target")

    def __init__(self, scheduler: Scheduler, selection: Selection) -> None:
        self._scheduler = scheduler
        self._selection = selection
        self._definition = selection.definitions.of_kind(scheduler.podgroup_group, scheduler.podgroup_kind)
        self.target = _target(selection)
        self.rendered = selection.settings.emits(scheduler.podgroup_kind)
        self.findings: list[Finding] = []

    def of_plan(self, plan: WorkloadPlan, gangs: GangTraits) -> Iterator[Generated]:
        """The objects of one workload."""
        told: set[tuple[FieldPath, FieldPath, str]] = set()
        elsewhere: dict[str, str] = {}
        made = False
        for one in plan.generated:
            if identity(one.value)[:2] != _PODGANG:
                continue
            other = self._other_scheduler(one.value, gangs)
            if other is not None:
                elsewhere.setdefault(other, _name_of(one.value))
                continue
            made = True
            try:
                value = self._scheduler.podgroup_value(one.value, gangs, self.target)
            except ValueError as error:
                message = f"becomes a PodGang with a constraint of no topology: {self._scheduler.name} refuses it"
                place = gangs.place_of(_name_of(one.value), None)
                self.findings.append(self._finding(plan, place, message, str(error)))
                continue
            self._judge(plan, gangs, value, told)
            yield Generated(value, one.origin, one.subject)
        if self.rendered:
            self.findings += self._elsewhere(plan, elsewhere)
        if self.rendered and made:
            self.findings += self._queue(plan, gangs)

    def _judge(
        self,
        plan: WorkloadPlan,
        gangs: GangTraits,
        value: Mapping[str, Value],
        told: set[tuple[FieldPath, FieldPath, str]],
    ) -> None:
        """Tells what is wrong with an object, where it was not `told` of another one of the workload."""
        for fault in self._faults(value):
            if fault.path[-1:] == ("parent",):
                # Its parent is one of the subgroups, whose name has the same fault.
                continue
            place = gangs.place_of(_name_of(value), _part(value, fault.path))
            key = (place, fault.path[-1:], fault.consequence)
            if key in told:
                continue
            told.add(key)
            message = _becomes(value, fault)
            if fault.effect is Effect.REFUSED:
                self.findings.append(self._finding(plan, place, message, fault.operator_message, fault.stage))
            elif self.rendered:
                self.findings.append(Finding.of(IGNORED, plan.workload, place, message))

    def _other_scheduler(self, podgang: Mapping[str, Value], gangs: GangTraits) -> str | None:
        """The scheduler of a PodGang where it is another one; of one that names none nothing is known."""
        metadata = podgang["metadata"]
        labels = metadata.get("labels") if isinstance(metadata, dict) else None
        named = labels.get(_SCHEDULER) if isinstance(labels, dict) else None
        found = named if isinstance(named, str) else gangs.scheduler
        return None if found in ("", self._scheduler.profile) else found

    def _faults(self, value: Mapping[str, Value]) -> Iterator[Fault]:
        """What the scheduler has against `value`: by the cluster's own CRD, where that is at hand."""
        definition = self._definition
        if definition is not None:
            from packwise.crds.findings import split

            problems, unchecked = split(definition.problems(value, self._selection.before(value)), definition)
            self.findings += unchecked
            for problem in problems:
                text = problem.operator_message
                stage = None if text is None else Stage.SCHEMA
                yield Fault(problem.path, problem.message, "the cluster's CRD refuses it", Effect.REFUSED, text, stage)
        yield from self._scheduler.podgroup_faults(value, self.target, schema=definition is None)

    def _finding(
        self, plan: WorkloadPlan, place: FieldPath, message: str, text: str | None, stage: Stage | None = None
    ) -> Finding:
        severity = Severity.WARNING
        if self.rendered:
            severity = Severity.ERROR
            message += f"; change it, or render none: `emit` without {self._scheduler.podgroup_kind}"
        return Finding.of(REFUSED, plan.workload, place, message, severity=severity, operator_message=text, stage=stage)

    def _elsewhere(self, plan: WorkloadPlan, elsewhere: Mapping[str, str]) -> Iterator[Finding]:
        kind = self._scheduler.podgroup_kind
        for other, gang in elsewhere.items():
            message = f'becomes no {kind}: the pods of PodGang "{gang}" are scheduled by {other}'
            yield Finding.of(NOTE, plan.workload, ("metadata",), message)

    def _queue(self, plan: WorkloadPlan, gangs: GangTraits) -> Iterator[Finding]:
        if len(gangs.queues) > 1:
            message = f"names the queues {', '.join(gangs.queues)}; its PodGroups are of the first one: name one only"
            yield Finding.of(QUEUE, plan.workload, ("metadata",), message)
        elif not gangs.queues:
            queue = self._scheduler.default_queue
            message = f'names no queue, so its PodGroups are of "{queue}"; add the label kai.scheduler/queue'
            yield Finding.of(QUEUE, plan.workload, ("metadata",), message)


def requested_faults(
    scheduler: Scheduler, value: Mapping[str, Value], subject: KubeObject, selection: Selection, *, unasked: bool
) -> Iterator[Finding]:
    """What the scheduler has against the group of pods `value` that a front end asked for, made of `subject`."""
    rendered = selection.settings.emits(scheduler.podgroup_kind, unasked=unasked)
    # The cluster's own CRD is seen to where all rendered objects are.
    by_crd = selection.definitions.of_kind(scheduler.podgroup_group, scheduler.podgroup_kind) is not None
    faults = scheduler.podgroup_faults(value, _target(selection), schema=not by_crd)
    for order, fault in enumerate(faults):
        if fault.effect is Effect.REFUSED:
            yield Finding.of(
                REFUSED,
                subject,
                (),
                _becomes(value, fault),
                severity=None if rendered else Severity.WARNING,
                operator_message=fault.operator_message,
                stage=fault.stage,
                order=order,
            )
        elif rendered:
            yield Finding.of(IGNORED, subject, (), _becomes(value, fault))


def check_own_objects(scheduler: Scheduler, selection: Selection, topologies: Iterable[Generated]) -> Iterator[Finding]:
    """What the scheduler has against the topologies and groups of pods that users wrote; `topologies` are rendered."""
    target = _target(selection)
    own = selection.index.of_kind(scheduler.group, scheduler.topology_kind)
    by_crd = selection.definitions.of_kind(scheduler.group, scheduler.topology_kind) is not None
    for item in own:
        yield from _of_own(item, scheduler.topology_faults(item.value, target, schema=not by_crd), scheduler, selection)
    groups = selection.index.of_kind(scheduler.podgroup_group, scheduler.podgroup_kind)
    if not groups:
        return
    by_crd = selection.definitions.of_kind(scheduler.podgroup_group, scheduler.podgroup_kind) is not None
    values = [item.value for item in own] + [one.value for one in topologies]
    levels = {_name_of(value): scheduler.level_names(value) for value in reversed(values)}
    for item in groups:
        update = selection.before(item.value) is not None
        faults = scheduler.podgroup_faults(item.value, target, update=update, schema=not by_crd)
        yield from _of_own(item, faults, scheduler, selection)
        yield from _unknown_levels(item, levels, scheduler)
        if not item.get(("spec", "queue")):
            message = f"names no queue: {scheduler.name} schedules none of its pods"
            yield Finding.of(QUEUE, item, ("spec",), message, at_key=True)


def _of_own(item: KubeObject, faults: Iterable[Fault], scheduler: Scheduler, selection: Selection) -> Iterator[Finding]:
    settings = selection.settings
    # A field that only some versions know is wrong where the user says that such a version runs.
    unknown = Severity.ERROR if settings.unknown_fields == "Error" else Severity.WARNING
    refused = REFUSED if item.kind == scheduler.podgroup_kind else TOPOLOGY_REFUSED
    for order, fault in enumerate(faults):
        severity = unknown if fault.effect is Effect.UNKNOWN and settings.kai_version is not None else None
        yield Finding.of(
            refused if fault.effect is Effect.REFUSED else IGNORED,
            item,
            fault.path,
            fault.told(),
            severity=severity,
            operator_message=fault.operator_message,
            stage=fault.stage if fault.operator_message is not None else None,
            order=order,
            at_key=fault.effect is Effect.UNKNOWN,
        )


def _unknown_levels(item: KubeObject, known: Mapping[str, Sequence[str]], scheduler: Scheduler) -> Iterator[Finding]:
    """Constraints by levels that the Topology does not have, where it is known."""
    groups = item.get(("spec", "subGroups"))
    paths: list[FieldPath] = [("spec",)]
    paths += [("spec", "subGroups", index) for index in range(len(groups) if isinstance(groups, list) else 0)]
    for path in paths:
        at = (*path, "topologyConstraint")
        topology = item.get((*at, "topology"))
        levels = known.get(topology) if isinstance(topology, str) else None
        for field in _LEVELS if levels is not None else ():
            level = item.get((*at, field))
            if level and level not in (levels or ()):
                message = (
                    f'must be a level of {scheduler.topology_kind} "{topology}", one of {", ".join(levels or ())}; got '
                    f'"{level}": {scheduler.name} schedules none of these pods'
                )
                yield Finding.of(IGNORED, item, (*at, field), message)


def _becomes(value: Mapping[str, Value], fault: Fault) -> str:
    where, part = told_identity(identity(value)), _part(value, fault.path)
    of = f'subgroup "{part}" of {where}' if part is not None else where
    field = f"{fault.path[-1]} " if isinstance(fault.path[-1], str) else ""
    return f"becomes {of}: {field}{fault.told()}"


def _target(selection: Selection) -> Target:
    return Target(selection.settings.kai_version, selection.revision.podgroups_by_operator)


def _counts(value: Mapping[str, Value]) -> bool:
    """Whether the object has a subgroup of subgroups, which could be counted."""
    return any(isinstance(group, dict) and "parent" in group for group in _groups(value))


def _part(value: Mapping[str, Value], path: FieldPath) -> str | None:
    """The name of the subgroup that `path` leads into; None where it leads into none."""
    if path[:2] != ("spec", "subGroups") or len(path) < 3 or not isinstance(path[2], int):
        return None
    entry = _groups(value)[path[2]]
    return str(entry["name"]) if isinstance(entry, dict) else None


def _groups(value: Mapping[str, Value]) -> Sequence[Value]:
    spec = value["spec"]
    groups = spec.get("subGroups") if isinstance(spec, dict) else None
    return groups if isinstance(groups, list) else ()


def _name_of(value: Mapping[str, Value]) -> str:
    return identity(value)[3]
