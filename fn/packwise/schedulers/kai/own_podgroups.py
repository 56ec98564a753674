"""The PodGroups that KAI's pod-grouper makes of workloads itself: previews, and what refuses them.

What is read of a workload is judged as in a cluster: by KAI's CRD, then by its webhook, with the text of the event that
the pods get, and by the scheduler. Source: spec/podgrouper.md#3, spec/podgrouper.md#9.
"""

from __future__ import annotations

from functools import partial
from itertools import groupby

from krmfn.hints import TYPE_CHECKING
from packwise.findings.finding import Effect, Finding, Rule, Severity, Stage
from packwise.objects.kinds import PODGROUP
from packwise.objects.place import Generated
from packwise.placement import Gang
from packwise.revisions.kai import release_of
from packwise.schedulers.kai.gang_podgroup import listed_sets, podgroup, podgroup_origins
from packwise.schedulers.kai.level_search import known_topologies
from packwise.schedulers.kai.podgroup_rules import podgroup_problems
from packwise.schedulers.kai.podgroups import IGNORED, describe_problem
from packwise.schedulers.kai.versions import Versions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.findings.finding import Problem
    from packwise.placement import Placement
    from packwise.schedulers.scheduler import SchedulerInput

__all__ = ["RULES", "own_podgroups"]

_REFUSED = Rule(
    "own-podgroup", "KAI's API server takes the PodGroup that KAI makes of a workload.", "spec/podgrouper.md#3"
)
_UNPLACED = Rule(
    "workload-topology",
    "KAI's scheduler places pods by the topology that their workload names.",
    "spec/podgrouper.md#9",
)
RULES = (_REFUSED, _UNPLACED)
"""Rules of the PodGroups that KAI makes itself."""

_WEBHOOK = 'admission webhook "podgroup-validation.kai.scheduler" denied the request: '
_FIELDS = {"minMember": "members", "minSubGroup": "members", "name": "name"}
_LEVELS = {"requiredTopologyLevel": "required", "preferredTopologyLevel": "preferred"}


def own_podgroups(
    placements: Sequence[Placement], source: SchedulerInput, rendered: Iterable[Generated]
) -> tuple[list[Generated], list[Finding]]:
    """The PodGroup for each gang, in their order, and what is wrong with them; `rendered` are the Topologies."""
    record = release_of(source.settings.kai_version)
    release = Versions(record.minor, record.minor)
    topologies = known_topologies(source, rendered)
    generated: list[Generated] = []
    findings: list[Finding] = []
    for _, of_workload in groupby(placements, lambda placement: id(placement.subject)):
        reported: set[tuple[FieldPath, str]] = set()
        for placement in of_workload:
            gang = placement.node
            if not isinstance(gang, Gang):
                continue
            value = podgroup(gang, release, gang.topology).to_value()
            problems = podgroup_problems(value, release, topologies)
            for finding in _findings(placement.subject, gang, value, problems):
                if (key := (finding.path, finding.rule)) not in reported:
                    reported.add(key)
                    # Of a release that nobody ran, nothing is sure.
                    findings.append(finding if record.is_run else finding._replace(severity=Severity.WARNING))
            origins = partial(podgroup_origins, gang)
            generated.append(Generated(value, placement.source, placement.subject, origins, judged=True, preview=True))
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
        place = _place_of(gang, first.path)
        yield Finding.of(_REFUSED, item, place, message, operator_message=text, stage=first.stage)
    for problem in problems:
        if problem.effect is not Effect.IGNORED:
            continue
        place, message, text = _place_of(gang, problem.path), describe_problem(value, problem), problem.operator_message
        if text is None:
            yield Finding.of(IGNORED, item, place, message)
            continue
        # A topology may be in the cluster alone; a level that a known one lacks is nowhere.
        severity = Severity.WARNING if problem.path[-1] == "topology" else Severity.ERROR
        yield Finding.of(
            _UNPLACED, item, place, message, severity=severity, operator_message=text, stage=Stage.SCHEDULER,
            when_written=Severity.WARNING,
        )  # fmt: skip


def _schema_text(name: str, problems: Sequence[Problem]) -> str:
    """The API server's answer about a whole object."""
    texts = [problem.operator_message or "" for problem in problems]
    what = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    return f'{PODGROUP.name}.{PODGROUP.group} "{name}" is invalid: {what}'


def _webhook_text(problems: Sequence[Problem]) -> str:
    return _WEBHOOK + "\n".join([problem.operator_message or "" for problem in problems])


def _place_of(gang: Gang, path: FieldPath) -> FieldPath:
    """The path in the workload of what a PodGroup has at `path`; of a constraint, that of the topology or a level."""
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
