"""The PodGroups that operators and KAI's pod-grouper make of gangs, and KAI's refusals of them.

Source: spec/grove.md#10, spec/kai.md, spec/designs.md#4, spec/podgrouper.md#3, #9.

A PodGroup is checked as in a cluster: first by KAI's CRD, then by its webhook, then by the scheduler. The text of the
webhook is in an event of the pods.
"""

from __future__ import annotations

from functools import partial
from itertools import groupby

from krmfn.hints import TYPE_CHECKING, Record
from krmfn.result import Severity
from packwise.findings import Effect, Finding, Problem, Rule, Stage
from packwise.lenient import entries, value_at
from packwise.objects.index import Generated, format_identity, identity
from packwise.objects.kinds import CLUSTER_TOPOLOGY_BINDING, PODGROUP
from packwise.placement import Gang
from packwise.revisions.kai import SUBGROUP_COUNTS, Versions, release_of, versions_for
from packwise.schedulers.kai.podgroup import DEFAULT_QUEUE, listed_sets, podgroup, podgroup_origins
from packwise.schedulers.kai.podgroup_rules import known_topologies, podgroup_problems
from packwise.schedulers.kai.topology import MissingBindingError, topology_names
from packwise.settings.topologyrender import KAI_PROFILE
from packwise.validate.crds import no_table, validate_object
from packwise.wording import list_known

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.placement import Placement
    from packwise.schedulers import SchedulerInput

REFUSED = Rule("scheduler-podgroup", "KAI refuses a PodGroup.", "spec/kai.md#3")
IGNORED = Rule(
    "scheduler-ignores",
    "KAI ignores a field of a Topology or PodGroup.",
    "spec/kai.md#4",
    Severity.WARNING,
)
QUEUE = Rule(
    "podgroup-queue",
    "A workload names no queue for its PodGroup, or its pods name several.",
    "spec/grove.md#kai-backend",
    Severity.WARNING,
)
NOTE = Rule(
    "podgroup-note", "packwise renders a PodGroup only in part, or not at all.", "spec/grove.md#10", Severity.INFO
)
PODGROUP_RULES = (REFUSED, IGNORED, QUEUE, NOTE)
"""Rules about PodGroups that operators make, and about users' own."""


def scheduler_podgroups(
    placements: Sequence[Placement], source: SchedulerInput, topologies: Iterable[Generated]
) -> tuple[list[Generated], list[Finding]]:
    """Return the PodGroup of each gang with pods that KAI schedules, in the order of the gangs, and the findings.

    `topologies` are the Topologies of the render. If packwise renders no PodGroups, the list is empty. Other components
    then make them, and KAI's refusals are warnings.
    """
    writer = _Writer(source, topologies)
    generated = [
        group
        for _, gangs in groupby(placements, lambda placement: placement.subject)
        for group in writer.write_workload(list(gangs))
    ]
    if not writer.rendered:
        return [], writer.findings
    if any(_has_inner_groups(group.value) for group in generated):
        notes = _notes(source, writer.supported)
        writer.findings += [Finding.of(NOTE, source.settings.item, (), note) for note in notes]
    return generated, writer.findings


def supported_versions(source: SchedulerInput) -> Versions:
    """Return the versions of KAI that the output must support."""
    return versions_for(source.settings.kai_version, counts_subgroups=source.cluster.revision.podgroups_by_operator)


def describe_problem(value: Mapping[str, Value], problem: Problem) -> str:
    """Return the message for a problem of the PodGroup `value`, or of one of its subgroups."""
    where, part = format_identity(identity(value)), _subgroup_name(value, problem.path)
    of = f'subgroup "{part}" of {where}' if part is not None else where
    field = f"{problem.path[-1]}: " if isinstance(problem.path[-1], str) else ""
    return f"becomes {of}: {field}{problem.full_message}"


class _Workload(Record):
    """A workload, and the problems of its PodGroups that are already reported: their places, fields, consequences."""

    item: KubeObject
    reported_problems: set[tuple[FieldPath, FieldPath, str]]


class _Writer:
    """Makes the PodGroups of all workloads, and collects the `findings`."""

    __slots__ = (
        "_definition",
        "_empties",
        "_inventory",
        "_topologies",
        "_topology_of",
        "findings",
        "rendered",
        "supported",
    )

    def __init__(self, source: SchedulerInput, topologies: Iterable[Generated]) -> None:
        self._topologies = known_topologies(source, topologies)
        self._definition = source.definitions.of_kind(*PODGROUP.key)
        self._inventory = source.inventory
        self._empties = source.cluster.revision.empty_podgroups
        self._topology_of = topology_names(source)
        self.supported = supported_versions(source)
        self.rendered = source.settings.emits(PODGROUP.name)
        self.findings: list[Finding] = []

    def write_workload(self, placements: list[Placement]) -> Iterator[Generated]:
        """Yield the PodGroups of the gangs of one workload."""
        workload = _Workload(placements[0].subject, set())
        gangs_by_scheduler: dict[str, str] = {}
        empty: list[str] = []
        written: Gang | None = None
        for placement in placements:
            gang = placement.node
            if not isinstance(gang, Gang):
                continue
            if gang.scheduler not in ("", KAI_PROFILE):
                whole, gang = gang, _part_of_kai(gang)
                if gang is None:
                    gangs_by_scheduler.setdefault(whole.scheduler, whole.name)
                    continue
            if not gang.leaves and not self._empties:
                empty.append(gang.name)
                continue
            written = gang
            try:
                value = podgroup(gang, self.supported, self._topology_of(gang))
            except MissingBindingError as error:
                self._report_missing(workload, gang, error)
                continue
            except ValueError as error:
                message = "the constraint of the PodGang names no topology, and KAI refuses the PodGroup"
                self.findings.append(self._finding(workload, gang.origin.place.path, message, str(error)))
                continue
            self._check(workload, gang, value)
            origins = partial(podgroup_origins, gang)
            yield Generated(value, placement.source, placement.subject, origins, validated=True)
        if self.rendered:
            self.findings += _other_schedulers(workload, gangs_by_scheduler)
            self.findings += _podless_findings(workload, empty)
        if self.rendered and written is not None:
            self.findings += _queue_findings(workload, written)

    def _report_missing(self, workload: _Workload, gang: Gang, error: MissingBindingError) -> None:
        """Report a missing ClusterTopologyBinding. Report each place in the workload once."""
        key = (error.place, (error.binding,), "")
        if key not in workload.reported_problems:
            workload.reported_problems.add(key)
            message = (
                f'PodGang "{gang.name}" names the topology "{error.binding}", but no {CLUSTER_TOPOLOGY_BINDING.name} '
                f"has that name. The operator makes no {PODGROUP.name} for this PodGang"
            )
            self.findings.append(self._finding(workload, error.place, message, str(error)))

    def _check(self, workload: _Workload, gang: Gang, value: Mapping[str, Value]) -> None:
        """Report the problems of a PodGroup. Skip a problem if another PodGroup of the workload has the same."""
        for problem in self._problems(value):
            if problem.path[-1:] == ("parent",):
                # The parent is a subgroup too, and its name has the same problem.
                continue
            place = _place_of(gang, problem.path)
            key = (place, problem.path[-1:], problem.consequence)
            if key in workload.reported_problems:
                continue
            workload.reported_problems.add(key)
            message = describe_problem(value, problem)
            if problem.effect is Effect.REFUSED:
                self.findings.append(self._finding(workload, place, message, problem.operator_message, problem.stage))
            elif self.rendered:
                self.findings.append(Finding.of(IGNORED, workload.item, place, message))

    def _problems(self, value: Mapping[str, Value]) -> Iterator[Problem]:
        """Yield the problems of the PodGroup `value`: first by its CRD, then by KAI's webhook and scheduler.

        The CRD is the one in the input, or else KAI's own CRD.
        """
        verdict = validate_object(value, self._definition, no_table, before=self._inventory.baseline_object(value))
        self.findings += verdict.unchecked
        for problem in verdict.problems:
            # The API server would drop a field that the CRD does not have. packwise refuses to write such a PodGroup.
            yield problem.replace(effect=Effect.REFUSED, consequence="The cluster's CRD refuses it")
        yield from podgroup_problems(value, self.supported, self._topologies, schema=not verdict.by_definition)

    def _finding(
        self, workload: _Workload, place: FieldPath, message: str, text: str | None, stage: Stage | None = None
    ) -> Finding:
        severity = Severity.WARNING
        if self.rendered:
            severity = Severity.ERROR
            message += f"; change it, or remove {PODGROUP.name} from `emit`"
        return Finding.of(REFUSED, workload.item, place, message, severity=severity, operator_message=text, stage=stage)


def _part_of_kai(gang: Gang) -> Gang | None:
    """Return a gang of another scheduler, limited to the sets of pods that KAI schedules, or None without such sets."""
    sets = tuple(pods for pods in gang.sets if pods.scheduler == KAI_PROFILE)
    return gang.replace(sets=sets, members=sum([pods.members or 0 for pods in sets])) if sets else None


def _notes(source: SchedulerInput, supported: Versions) -> Iterator[str]:
    """Yield a note if minSubGroup is omitted because the oldest supported version of KAI does not know it."""
    if source.cluster.revision.podgroups_by_operator and supported.oldest < SUBGROUP_COUNTS:
        yield (
            f"minSubGroup is omitted from PodGroups, because KAI v0.{supported.oldest} does not know it; KAI needs all "
            "subgroups of a group anyway"
        )


def _podless_findings(workload: _Workload, empty: Sequence[str]) -> Iterator[Finding]:
    if empty:
        gangs = f"PodGang {list_known(empty)} has" if len(empty) == 1 else f"PodGangs {list_known(empty)} have"
        message = f"packwise renders no {PODGROUP.name} of KAI: {gangs} no pods"
        yield Finding.of(NOTE, workload.item, ("metadata",), message)


def _other_schedulers(workload: _Workload, gangs_by_scheduler: Mapping[str, str]) -> Iterator[Finding]:
    for scheduler, gang in gangs_by_scheduler.items():
        message = f'packwise renders no {PODGROUP.name} of KAI: {scheduler} schedules the pods of PodGang "{gang}"'
        yield Finding.of(NOTE, workload.item, ("metadata",), message)


def _queue_findings(workload: _Workload, gang: Gang) -> Iterator[Finding]:
    if len(gang.queues) > 1:
        message = (
            f"the workload names several queues, {', '.join(gang.queues)}; its PodGroups use the first one. "
            "Name only one"
        )
        yield Finding.of(QUEUE, workload.item, ("metadata",), message)
    elif not gang.queues:
        message = (
            f'the workload names no queue, and its PodGroups use "{DEFAULT_QUEUE}"; add the label kai.scheduler/queue'
        )
        yield Finding.of(QUEUE, workload.item, ("metadata",), message)


def _place_of(gang: Gang, path: FieldPath) -> FieldPath:
    """Return the path of a pod set in the workload: the pod set that becomes the subgroup in `path`.

    Return the path of the gang if `path` is not in a subgroup.
    """
    position = _subgroup_position(path)
    origin = gang.origin if position is None else listed_sets(gang)[position].origin
    return origin.place.path


def _has_inner_groups(value: Mapping[str, Value]) -> bool:
    """Return True if a subgroup of the PodGroup has a parent."""
    return any(isinstance(group, dict) and "parent" in group for group in _subgroups(value))


def _subgroup_position(path: FieldPath) -> int | None:
    """Return the position of the subgroup in `path`. Return None if the path is not in a subgroup."""
    if path[:2] != ("spec", "subGroups") or len(path) < 3 or not isinstance(path[2], int):
        return None
    return path[2]


def _subgroup_name(value: Mapping[str, Value], path: FieldPath) -> str | None:
    position = _subgroup_position(path)
    entry = None if position is None else _subgroups(value)[position]
    return str(entry["name"]) if isinstance(entry, dict) else None


def _subgroups(value: Mapping[str, Value]) -> Sequence[Value]:
    return entries(value_at(value, "spec", "subGroups"))


_REFUSED = Rule(
    "own-podgroup", "The API server refuses the PodGroup that KAI creates for a workload.", "spec/podgrouper.md#3.6"
)
_UNPLACED = Rule(
    "workload-topology",
    "A workload names a topology level that KAI cannot use.",
    "spec/podgrouper.md#9",
)
OWN_PODGROUP_RULES = (_REFUSED, _UNPLACED)
"""Rules about PodGroups that KAI's pod-grouper creates from the owners of pods."""

_WEBHOOK = 'admission webhook "podgroup-validation.kai.scheduler" denied the request: '
_FIELDS = {"minMember": "members", "minSubGroup": "members", "name": "name"}
_LEVELS = {"requiredTopologyLevel": "required", "preferredTopologyLevel": "preferred"}


def own_podgroups(
    placements: Sequence[Placement], source: SchedulerInput, rendered: Iterable[Generated]
) -> tuple[list[Generated], list[Finding]]:
    """Return the PodGroup that KAI's pod-grouper creates for each gang, in the order of the gangs, and the findings.

    `rendered` are the Topologies of the render.
    """
    record = release_of(source.settings.kai_version)
    release = Versions(record.minor, record.minor)
    topologies = known_topologies(source, rendered)
    generated: list[Generated] = []
    findings: list[Finding] = []
    for _, of_workload in groupby(placements, lambda placement: placement.subject):
        reported: set[tuple[FieldPath, str]] = set()
        for placement in of_workload:
            gang = placement.node
            if not isinstance(gang, Gang):
                continue
            value = podgroup(gang, release, gang.topology)
            problems = podgroup_problems(value, release, topologies)
            for finding in _findings(placement.subject, gang, value, problems):
                if (key := (finding.path, finding.rule)) not in reported:
                    reported.add(key)
                    # For a release that was not compared with KAI's own code, findings are only warnings.
                    findings.append(finding if record.is_run else finding.replace(severity=Severity.WARNING))
            origins = partial(podgroup_origins, gang)
            generated.append(
                Generated(value, placement.source, placement.subject, origins, validated=True, preview=True)
            )
    return generated, findings


def _findings(
    item: KubeObject, gang: Gang, value: Mapping[str, Value], problems: Sequence[Problem]
) -> Iterator[Finding]:
    by_schema = [each for each in problems if each.stage is Stage.SCHEMA and each.operator_message]
    by_webhook = [each for each in problems if each.stage is Stage.WEBHOOK and each.operator_message]
    first = next(iter(by_schema or by_webhook), None)
    if first is not None:
        text = _schema_text(gang.name, by_schema) if by_schema else _webhook_text(by_webhook)
        message = f"{describe_problem(value, first)}; no pod is scheduled"
        place = _own_path(gang, first.path)
        yield Finding.of(_REFUSED, item, place, message, operator_message=text, stage=first.stage)
    for problem in problems:
        if problem.effect is not Effect.IGNORED:
            continue
        place, message, text = _own_path(gang, problem.path), describe_problem(value, problem), problem.operator_message
        if text is None and problem.path[-1] not in _LEVELS:
            yield Finding.of(IGNORED, item, place, message)
            continue
        # A topology that is not in the input may be in the cluster. A level that a known Topology lacks is an error.
        severity = Severity.WARNING if problem.path[-1] == "topology" else Severity.ERROR
        yield Finding.of(
            _UNPLACED, item, place, message, severity=severity, operator_message=text,
            # If both levels are wrong, KAI's text is only about the first one.
            stage=None if text is None else Stage.SCHEDULER, when_written=Severity.WARNING,
        )  # fmt: skip


def _schema_text(name: str, problems: Sequence[Problem]) -> str:
    """Return the error of the API server for the whole PodGroup."""
    texts = [problem.operator_message or "" for problem in problems]
    what = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    return f'{PODGROUP.name}.{PODGROUP.group} "{name}" is invalid: {what}'


def _webhook_text(problems: Sequence[Problem]) -> str:
    return _WEBHOOK + "\n".join([problem.operator_message or "" for problem in problems])


def _own_path(gang: Gang, path: FieldPath) -> FieldPath:
    """Return the path of the field in the workload that sets the PodGroup's value at `path`.

    For a value in a topology constraint, return the path of the topology or the level.
    """
    field = str(path[-1]) if path else ""
    pods = listed_sets(gang)[path[2]] if len(path) > 2 and isinstance(path[2], int) else None
    if "topologyConstraint" not in path:
        origin = gang.origin if pods is None else pods.origin
        return origin.of(_FIELDS.get(field, "")).place.path
    bounds = gang.bounds if pods is None else pods.bounds
    level = _LEVELS.get(field)
    origin = None if bounds is None else bounds.origin
    if level is None and pods is None and "topology" in gang.owner.fields:
        return gang.owner.of("topology").place.path
    if origin is None:
        return gang.origin.place.path
    return origin.of(level or next(iter(origin.fields), "")).place.path
