"""A KAI Topology for every topology that workloads can name. Source: spec/grove.md#9, spec/designs.md#1."""

from __future__ import annotations

from functools import partial

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.findings.finding import Finding, Rule, Severity
from packwise.objects.kinds import TOPOLOGY
from packwise.objects.place import Generated, Origin
from packwise.schedulers.kai.topology_manifest import NAME, topology_value
from packwise.schedulers.kai.topology_schema import topology_problems
from packwise.schedulers.kai.versions import minor_of
from packwise.validate.definitions import judge as judge_object

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.findings.finding import Problem
    from packwise.objects.place import Place
    from packwise.schedulers.scheduler import SchedulerInput
    from packwise.topology.known import Condition, KnownTopology
    from packwise.topology.levels import ClusterTopology
    from packwise.validate.definitions import Verdict

__all__ = [
    "REFUSED",
    "RULES",
    "Judgement",
    "KaiTopologies",
    "judge_known",
    "judge_topology",
    "level_origins",
    "level_position",
    "scheduler_topologies",
    "users_topologies",
    "value_of",
]

REFUSED = Rule("scheduler-topology", "The scheduler takes the object made of every topology.", "spec/kai.md#1")
RULES = (REFUSED,)
"""Rules of Topologies."""


class KaiTopologies(NamedTuple):
    """The Topologies in the topologies' order, what is wrong with them, and why KAI refuses which.

    `refusals` holds its API server's answer by name of the topology. `conditions` are those of the objects that hold
    the topologies, where the revision has any but Ready.
    """

    generated: tuple[Generated, ...]
    findings: tuple[Finding, ...]
    refusals: Mapping[str, str] = {}
    conditions: Mapping[KubeObject, tuple[Condition, ...]] = {}


def scheduler_topologies(source: SchedulerInput) -> KaiTopologies:
    """What is made of every topology; nothing of one that KAI refuses where that is no error."""
    if source.cluster.schedulers is not None and source.cluster.revision.topology_backends:
        # Only one API lets others keep the scheduler's objects.
        from packwise.schedulers.kai.references import referenced_topologies

        return referenced_topologies(source, source.cluster.schedulers)
    revision = source.cluster.revision
    generated: list[Generated] = []
    findings: list[Finding] = [*users_topologies(source)]
    refused: dict[str, str] = {}
    makes = source.cluster.makes_topologies
    rendered = makes and source.settings.emits(TOPOLOGY.name)
    way_out = "`createTopologyResources: false`, or " if revision.scheduler_profiles else ""
    fatal = revision.topology_status is None
    for known in source.topologies.by_name.values():
        name = known.topology.name
        surely_valid = False
        if known.valid:
            judgement = judge_known(known, source, way_out=way_out if rendered else None, fatal=fatal)
            findings += judgement.findings
            surely_valid = judgement.surely_valid
            if judgement.answer is not None:
                refused[name] = judgement.answer
        if makes and (fatal or name not in refused):
            generated.append(_generated(known, f"ClusterTopology {name}", recreate=surely_valid))
    return KaiTopologies(tuple(generated), tuple(findings), refused)


def _generated(known: KnownTopology, source: str, *, recreate: bool) -> Generated:
    origins = partial(level_origins, known.levels, known.places, "key", "spec/grove.md#9.2")
    return Generated(value_of(known.topology), source, known.item, origins, recreate=recreate)


def value_of(topology: ClusterTopology) -> dict[str, Value]:
    """The Topology of a topology, of the same name."""
    return topology_value(topology.name, [level.key for level in topology.levels])


def level_origins(levels: Place, places: tuple[Place, ...], field: str, rule: str) -> Mapping[FieldPath, Origin]:
    """The origin of each part of a Topology: `places` are those of its levels, `field` their node label."""
    origins: dict[FieldPath, Origin] = {(): Origin(levels, rule)}
    for position, place in enumerate(places):
        origins["spec", "levels", position] = Origin(place, rule)
        origins["spec", "levels", position, "nodeLabel"] = Origin(place.below(field), rule)
    return origins


class Judgement(NamedTuple):
    """What KAI's API server says of a Topology: its `answer`, None where it takes it.

    `surely_valid`: every rule of its CRD was checked, and is kept.
    """

    findings: tuple[Finding, ...]
    answer: str | None
    surely_valid: bool


def judge_known(known: KnownTopology, source: SchedulerInput, *, way_out: str | None, fatal: bool = True) -> Judgement:
    """What KAI's API server says of the Topology made of `known`.

    Refusals are errors, which say how else to have none rendered, `way_out` first; warnings where there is none anyway
    (None), or where the operator goes on without it (not `fatal`).
    """
    verdict = judge_topology(value_of(known.topology), source)
    refusals = [_finding(known, problem, way_out, fatal=fatal) for problem in verdict.problems]
    findings = (*refusals, *verdict.unchecked)
    answer = _answer(known.topology.name, verdict.problems) if verdict.problems else None
    return Judgement(findings, answer, not findings)


def _answer(name: str, problems: Iterable[Problem]) -> str:
    """What the API server answers to the object: each of its texts once."""
    texts = list(dict.fromkeys([problem.operator_message for problem in problems if problem.operator_message]))
    text = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    return f'{TOPOLOGY.name}.{TOPOLOGY.group} "{name}" is invalid: {text}'


def judge_topology(value: Mapping[str, Value], source: SchedulerInput) -> Verdict:
    """Why KAI's API server would not take the Topology `value`: by its own CRD, where that is at hand."""
    return judge_object(
        value,
        source.definitions.of_kind(*TOPOLOGY.key),
        # What was run beside an operator that makes Topologies had an API server that prints the type.
        lambda: [problem._replace(stage=None) for problem in topology_problems(value, of_rules="array")],
        # A GitOps tool creates it anew, so that nothing need be the same as before.
        before=None if source.settings.gitops else source.inventory.before(value),
    )


def level_position(problem: Problem) -> int | None:
    """The position of the level that a problem belongs to; None where it belongs to none, or to all of them."""
    return next((step for step in problem.path if isinstance(step, int)), None)


def _finding(known: KnownTopology, problem: Problem, way_out: str | None, *, fatal: bool) -> Finding:
    position = level_position(problem)
    place = known.levels if position is None else known.places[position].below("key")
    message = f"{problem.message}: {NAME} refuses the {TOPOLOGY.name} that is made of it"
    stage = problem.stage
    text = None if stage is None else problem.operator_message
    if way_out is None or not fatal:
        if way_out is not None:
            message += "; it is left out, and the ClusterTopology is not Ready"
        return place.finding(REFUSED, message, severity=Severity.WARNING, operator_message=text, stage=stage)
    message += f"; or render none: {way_out}`emit` without {TOPOLOGY.name}"
    return place.finding(REFUSED, message, operator_message=text, stage=stage)


def users_topologies(source: SchedulerInput) -> Iterator[Finding]:
    """What KAI refuses in Topologies that users wrote."""
    for item in source.inventory.items.of_kind(*TOPOLOGY.key):
        before = source.inventory.before(item.value)
        verdict = judge_object(
            item.value,
            source.definitions.of_kind(*TOPOLOGY.key),
            partial(_own_problems, item.value, before, minor_of(source.settings.kai_version)),
            before=before,
        )
        yield from verdict.findings(item, REFUSED)


def _own_problems(value: Mapping[str, Value], before: Mapping[str, Value] | None, minor: int) -> list[Problem]:
    problems = topology_problems(value, before, minor=minor)
    return [problem._replace(consequence=f"{NAME} refuses it") for problem in problems]
