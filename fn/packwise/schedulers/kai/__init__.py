"""The KAI Scheduler: its Topology, PodGroup and Queue, the labels of its pods, and what it refuses."""

from __future__ import annotations

from functools import partial

from krmfn.fieldpath import format_path
from krmfn.hints import TYPE_CHECKING
from krmfn.record import Record
from krmfn.result import Severity
from packwise.findings.finding import Cause, Finding, Problem, Rule, Stage
from packwise.kubernetes.validation import OMITTED, ErrorType, OperatorError, type_error
from packwise.objects import Generated
from packwise.objects.kinds import CLUSTER_TOPOLOGY_BINDING, CONFIGURING, KAI_CONFIG, PODGROUP, QUEUE, TOPOLOGY
from packwise.placement import Gang, GangPod, Grouper
from packwise.schedulers import Scheduler, SchedulerInput, SchedulerObjects
from packwise.topology.known import LABEL, LABEL_PATTERN, level_origins, node_labels
from packwise.validate import judge as judge_object

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import TypeGuard

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.placement import Cluster, Node
    from packwise.settings import TopologyRender
    from packwise.topology.known import ClusterTopology, KnownTopologies, KnownTopology
    from packwise.validate import Verdict

# The versions of KAI that packwise knows, and ranges of them. Source: spec/kai.md (v0.12 to v0.18).


class Versions(Record):
    """The minor versions from `first` to `last`, both included: (15, 17) is v0.15 to v0.17."""

    first: int
    last: int

    def within(self, other: Versions) -> Versions | None:
        """The versions that both have in common; None where there are none."""
        shared = Versions(max(self.first, other.first), min(self.last, other.last))
        return shared if shared.first <= shared.last else None

    @property
    def text(self) -> str:
        """The range as a message names it, in the singular: `KAI from v0.15 on`."""
        if self == KNOWN:
            return "KAI"
        if self.last == KNOWN.last:
            return f"KAI from v0.{self.first} on"
        if self.first == self.last:
            return f"KAI v0.{self.first}"
        return f"KAI v0.{self.first} to v0.{self.last}"


KNOWN = Versions(12, 18)
"""All that are known. What holds for the last holds for newer ones as far as anybody can tell."""

SUBGROUP_COUNTS = 15
"""The first one that lets a PodGroup say how many subgroups it needs (minSubGroup)."""

LEVEL_ALIASES = 17
"""The first one whose Topologies have other names of levels, which alone may change (alias)."""

SEGMENT_COUNTS = 16
"""The first one whose own pod-grouper writes how many subgroups a group needs, and not how many pods."""

NO_TAINT_NAMES = 17
"""The first one whose messages do not name the taint that a pod does not tolerate."""


def minor_of(version: str | None) -> int:
    """The number of `version` (`v0.15`, as in `kai.version`); where none is named, that of the newest known one."""
    return KNOWN.last if version is None else int(version.removeprefix("v0."))


def versions_for(version: str | None, *, counts_subgroups: bool = False) -> Versions:
    """The versions that the output must suit: `version` (`v0.15`, as in `kai.version`) and newer ones; None: all.

    A PodGroup that counts subgroups suits none before v0.15, whatever is asked. Source: spec/packwise.md#2.
    """
    if version is not None:
        return Versions(minor_of(version), KNOWN.last)
    return Versions(SUBGROUP_COUNTS, KNOWN.last) if counts_subgroups else KNOWN


# KAI's Topology: one for every topology that workloads can name, its manifest, and what its CRDs refuse.
#
# Source: spec/grove.md#9, #10, spec/designs.md#1, spec/kai.md, spec/grove-releases.md#4, spec/podgrouper.md#9,
# crds/kai-v0.12.0 to v0.17.0.

NAME = "KAI"
"""The scheduler's name in messages."""

PROFILE = "kai-scheduler"
"""The scheduler's name in Grove's scheduler profiles and in pods."""


def topology_value(name: str, keys: Sequence[str], labels: Mapping[str, str] | None = None) -> dict[str, Value]:
    """`kai.scheduler/v1alpha1 Topology`, cluster-scoped, of these node label keys, broadest first."""
    metadata: dict[str, Value] = {"name": name}
    if labels is not None:
        metadata["labels"] = dict(labels)
    levels: list[Value] = [{"nodeLabel": key} for key in keys]
    return {"apiVersion": TOPOLOGY.api_version, "kind": TOPOLOGY.name, "metadata": metadata, "spec": {"levels": levels}}


KAI_TOPOLOGY = "kai.scheduler/topology"
"""Annotation that names the Topology where Grove's own does not."""

_ANNOTATIONS = ("grove.io/topology-name", KAI_TOPOLOGY)


class MissingBindingError(ValueError):
    """The operator makes no PodGroup, since the binding that an annotation names is not there; the text is its own."""

    def __init__(self, binding: str, annotation: str) -> None:
        kind = CLUSTER_TOPOLOGY_BINDING
        super().__init__(f'get {kind.name} {binding}: {kind.name}.{kind.group} "{binding}" not found')
        self.binding = binding
        self.place: FieldPath = ("metadata", "annotations", annotation)


def topology_names(source: SchedulerInput) -> Callable[[Gang], str]:
    """The name for each gang, "" for none; raises MissingBindingError where the operator has none."""
    if source.cluster.revision.follows_references:
        return partial(_topology_name, source.topologies)
    return annotated_topology


def annotated_topology(gang: Gang) -> str:
    """The Topology that the gang's annotations name, else the one of its bounds."""
    if gang.grouper is Grouper.OWNER:
        return gang.topology
    return next((name for annotation in _ANNOTATIONS if (name := gang.annotations.get(annotation))), gang.topology)


def _topology_name(topologies: KnownTopologies, gang: Gang) -> str:
    """The Topology that the binding which the gang names refers to for KAI, else the one of the binding's name."""
    annotation = next((annotation for annotation in _ANNOTATIONS if gang.annotations.get(annotation)), None)
    if annotation is None or gang.grouper is not Grouper.OPERATOR:
        return annotated_topology(gang)
    name = gang.annotations[annotation]
    binding = topologies.by_name.get(name)
    if binding is None:
        raise MissingBindingError(name, annotation)
    return binding.references.get(PROFILE) or name


_SPEC, _LEVELS = ("spec",), ("spec", "levels")
_MAX_LEVELS = 16
_MAX_LABEL = 316
_HOSTNAME = "kubernetes.io/hostname"
_LOWEST = f"the {_HOSTNAME} label can only be used at the lowest level of topology"


def topology_problems(
    value: Mapping[str, Value],
    before: Mapping[str, Value] | None = None,
    *,
    minor: int = KNOWN.last,
    of_rules: Value = OMITTED,
) -> list[Problem]:
    """Violations of the CRD of KAI v0.`minor` in the Topology `value`, which was `before` the change.

    `of_rules` is the value that texts about all levels print: older API servers print their type.
    """
    problems = list(_of_spec(value.get("spec")))
    # The API server evaluates the rules once all values have the shape that these expect.
    if all(problem.cause is not Cause.TYPE for problem in problems):
        keys_before = None if before is None else node_labels(before)
        problems += _of_rules(node_labels(value), keys_before, minor, of_rules)
    return problems


def _of_spec(spec: Value) -> Iterator[Problem]:
    levels = spec.get("levels") if isinstance(spec, dict) else None
    if not isinstance(spec, dict):
        yield _wrong_type(_SPEC, spec, "object")
    elif not isinstance(levels, list):
        yield _wrong_type(_LEVELS, levels, "array")
    else:
        if not levels:
            detail = "spec.levels in body should have at least 1 items"
            yield _refusal(_LEVELS, "must hold at least one level; got none", ErrorType.INVALID, 0, detail)
        if len(levels) > _MAX_LEVELS:
            message = f"must hold at most {_MAX_LEVELS} levels; got {len(levels)}"
            detail = f"must have at most {_MAX_LEVELS} items"
            problem = _refusal(_LEVELS, message, ErrorType.TOO_MANY, len(levels), detail)
            yield problem.replace(cause=Cause.TYPE)
        for position, level in enumerate(levels):
            yield from _of_level((*_LEVELS, position), level)


def _of_level(at: FieldPath, level: Value) -> Iterator[Problem]:
    field = (*at, "nodeLabel")
    label = level.get("nodeLabel") if isinstance(level, dict) else None
    if not isinstance(level, dict):
        yield _wrong_type(at, level, "object")
    elif not isinstance(label, str):
        yield _wrong_type(field, label, "string")
    elif len(label) > _MAX_LABEL or not LABEL.fullmatch(label):
        message = f'must be a label key with a prefix in lower case, if any; got "{label}"'
        text, detail = format_path(field), f"may not be more than {_MAX_LABEL} bytes"
        if len(label) > _MAX_LABEL:
            yield _refusal(field, message, ErrorType.TOO_LONG, label, detail).replace(cause=Cause.TYPE)
            return
        detail = f"{text} in body should " + (f"match '{LABEL_PATTERN}'" if label else "be at least 1 chars long")
        yield _refusal(field, message, ErrorType.INVALID, label, detail)


def _of_rules(keys: Sequence[str], before: Sequence[str] | None, minor: int, shown: Value) -> Iterator[Problem]:
    """Violations of the rules in CEL about all levels, in their order; one a rule, however many levels break it."""
    has_aliases = minor >= LEVEL_ALIASES
    if before is not None and before != keys:
        text = "nodeLabel structure is immutable; only aliases may be edited" if has_aliases else "field is immutable"
        message = f"must stay as they are; they were {', '.join(before)}: delete the Topology and create it anew"
        yield _refusal(_LEVELS, message, ErrorType.INVALID, shown, text)
    again = [
        (position, f'must be unique among the levels; got "{key}" again')
        for position, key in enumerate(keys)
        if key in keys[:position]
    ]
    yield from _told_once(again, "nodeLabel must be unique" if has_aliases else "must be unique", shown)
    above = [
        (position, f'must be the lowest level where it is "{key}"; "{keys[-1]}" is below it')
        for position, key in enumerate(keys[:-1])
        if key == _HOSTNAME and keys[-1] != key
    ]
    yield from _told_once(above, _LOWEST, shown)


def _told_once(levels: Iterable[tuple[int, str]], text: str, shown: Value) -> Iterator[Problem]:
    answer: str | None = OperatorError("spec.levels", ErrorType.INVALID, shown, text).text()
    for position, message in levels:
        yield Problem((*_LEVELS, position, "nodeLabel"), message, answer, Stage.SCHEMA)
        answer = None


def _wrong_type(at: FieldPath, value: Value, wanted: str) -> Problem:
    if value is None:
        problem = _refusal(at, "must be set", ErrorType.REQUIRED, None, "")
    else:
        message, error = type_error(format_path(at), value, wanted)
        problem = Problem(at, message, error.text(), Stage.SCHEMA)
    return problem.replace(cause=Cause.TYPE)


def _refusal(at: FieldPath, message: str, kind: ErrorType, value: Value, detail: str) -> Problem:
    return Problem(at, message, OperatorError(format_path(at), kind, value, detail).text(), Stage.SCHEMA)


REFUSED = Rule("scheduler-topology", "The scheduler takes the object made of every topology.", "spec/kai.md#1")
RULES = (REFUSED,)
"""Rules of Topologies."""


def scheduler_topologies(source: SchedulerInput) -> SchedulerObjects:
    """The Topologies made of all topologies, without those that KAI refuses where that is no error."""
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
            generated.append(_generate(known, f"ClusterTopology {name}", recreate=surely_valid))
    return SchedulerObjects(tuple(generated), tuple(findings), refused)


def _generate(known: KnownTopology, source: str, *, recreate: bool) -> Generated:
    origins = partial(level_origins, known.levels, known.places, "key", "spec/grove.md#9.2")
    return Generated(value_of(known.topology), source, known.item, origins, recreate=recreate)


def value_of(topology: ClusterTopology) -> dict[str, Value]:
    """The Topology of a topology, of the same name."""
    return topology_value(topology.name, [level.key for level in topology.levels])


class TopologyAnswer(Record):
    """The answer of KAI's API server to a Topology: its `answer`, None where it takes it.

    `surely_valid`: every rule of its CRD was checked, and is kept.
    """

    findings: tuple[Finding, ...]
    answer: str | None
    surely_valid: bool


def judge_known(
    known: KnownTopology, source: SchedulerInput, *, way_out: str | None, fatal: bool = True
) -> TopologyAnswer:
    """The answer of KAI's API server to the Topology made of `known`.

    Refusals are errors, which say how else to have none rendered, `way_out` first; warnings where there is none anyway
    (None), or where the operator goes on without it (not `fatal`).
    """
    verdict = judge_topology(value_of(known.topology), source)
    refusals = [_finding(known, problem, way_out, fatal=fatal) for problem in verdict.problems]
    findings = (*refusals, *verdict.unchecked)
    answer = _answer(known.topology.name, verdict.problems) if verdict.problems else None
    return TopologyAnswer(findings, answer, not findings)


def _answer(name: str, problems: Iterable[Problem]) -> str:
    """The error of the API server for the object: each of its texts once."""
    texts = list(dict.fromkeys([problem.operator_message for problem in problems if problem.operator_message]))
    text = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    return f'{TOPOLOGY.name}.{TOPOLOGY.group} "{name}" is invalid: {text}'


def judge_topology(value: Mapping[str, Value], source: SchedulerInput) -> Verdict:
    """Why KAI's API server would not take the Topology `value`: by its own CRD, where that is at hand."""
    return judge_object(
        value,
        source.definitions.of_kind(*TOPOLOGY.key),
        # What was run beside an operator that makes Topologies had an API server that prints the type.
        lambda: [problem.replace(stage=None) for problem in topology_problems(value, of_rules="array")],
        # A GitOps tool creates it anew, so that nothing need be the same as before.
        before=None if source.settings.gitops else source.inventory.before(value),
    )


def _finding(known: KnownTopology, problem: Problem, way_out: str | None, *, fatal: bool) -> Finding:
    place = known.key_place(problem.path)
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
    """KAI's refusals of Topologies that users wrote."""
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
    return [problem.replace(consequence=f"{NAME} refuses it") for problem in problems]


# The KAI Scheduler, v0.12 and newer: all of its objects. Source: spec/kai.md.

_PRIORITY_CLASS = ("scheduling.k8s.io", "PriorityClass")


class _Kai(Scheduler):
    def objects(self, source: SchedulerInput) -> SchedulerObjects:
        """Topologies, the PodGroups of gangs, and what a service asks for; users' own objects are judged."""
        items, placements = source.inventory.items, source.placements
        topologies = scheduler_topologies(source)
        findings = [*topologies.findings]
        # What nothing of the input needs is not imported: the import of podgroups takes 18 million instructions, a run
        # of ten workloads 273 (valgrind --tool=cachegrind, Python 3.11).
        if any(items.of_kind(*kind.key) for kind in (TOPOLOGY, PODGROUP)):
            from packwise.schedulers.kai.users_objects import check_users_objects

            findings += check_users_objects(source, topologies.generated)
        groups: list[Generated] = []
        # Where none are rendered, KAI may refuse those that others make.
        is_judged = _is_grouped if source.settings.emits(PODGROUP.name) else _is_suspect
        judged = [placement for placement in placements if is_judged(placement.node)]
        if judged:
            from packwise.schedulers.kai.podgroups import scheduler_podgroups

            groups, problems = scheduler_podgroups(judged, source, topologies.generated)
            findings += problems
        previews: list[Generated] = []
        own = [placement for placement in placements if _is_own(placement.node)]
        if own:
            from packwise.schedulers.kai.podgroups import own_podgroups

            previews, problems = own_podgroups(own, source, topologies.generated)
            findings += problems
        submitted: list[Generated] = []
        asked = [each for each in placements if not _is_grouped(each.node) and not _is_own(each.node)]
        if asked:
            from packwise.schedulers.kai.service_objects import service_objects

            submitted, problems = service_objects(asked, source)
            findings += problems
        if items.of_kind(*KAI_CONFIG.key) or any(_asks_for_share(each.node) for each in placements):
            from packwise.schedulers.kai.pod_admission import check_pods

            findings += check_pods(source)
        if any(items.of_kind(*kind.key) for kind in (QUEUE, *CONFIGURING)):
            from packwise.schedulers.kai.object_schemas import check_objects

            findings += check_objects(source)
        if source.cluster.nodes:
            from packwise.schedulers.kai.cluster_rules import check_nodes

            findings += check_nodes(source)
        if any(items.of_kind(*kind) for kind in (QUEUE.key, _PRIORITY_CLASS)):
            from packwise.schedulers.kai.cluster_rules import check_queues

            findings += check_queues(source)
        generated = (*topologies.generated, *submitted, *groups, *previews)
        return SchedulerObjects(generated, tuple(findings), topologies.refusals, topologies.conditions)

    def mend(self, item: KubeObject, cluster: Cluster, settings: TopologyRender) -> KubeObject:
        """A ClusterTopologyBinding, which gets the entry that its rendered Topology needs."""
        if cluster.schedulers is None:
            return item
        from packwise.schedulers.kai.references import with_reference

        return with_reference(item, cluster.schedulers, settings)


_SHARES = frozenset({"gpu-fraction", "gpu-memory", "gpu-fraction-num-devices", "mps"})
"""The annotations of pods by which they ask for shares of GPUs."""


def _asks_for_share(node: Node) -> bool:
    if isinstance(node, Gang):
        return any(not _SHARES.isdisjoint(leaf.annotations) for leaf in node.sets)
    metadata = node.value.get("metadata") if isinstance(node, GangPod) else None
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    return isinstance(annotations, dict) and not _SHARES.isdisjoint(annotations)


def _is_suspect(node: Node) -> bool:
    """True if the node is a gang, and the PodGroup that others make of it may be refused.

    Of names that Grove's webhook takes, KAI refuses those with dots; and the topology may be none of the cluster's.
    """
    return _is_grouped(node) and ("." in node.workload or KAI_TOPOLOGY in node.annotations)


def _is_grouped(node: Node) -> TypeGuard[Gang]:
    """True if an operator or KAI itself makes a PodGroup for the node, once its PodGang is there."""
    return isinstance(node, Gang) and node.is_of_operator


def _is_own(node: Node) -> bool:
    """True if KAI itself makes a PodGroup of the object that owns the node's pods."""
    return isinstance(node, Gang) and node.grouper is Grouper.OWNER


KAI: Scheduler = _Kai()
"""The KAI Scheduler."""


def rule_table() -> tuple[Rule, ...]:
    """Every rule of KAI's objects, in the order in which they are checked."""
    from packwise.schedulers.kai.cluster_rules import NODE_RULES, QUEUE_RULES
    from packwise.schedulers.kai.object_schemas import RULES as OBJECT_RULES
    from packwise.schedulers.kai.pod_admission import RULES as POD_RULES
    from packwise.schedulers.kai.podgroups import OWN_PODGROUP_RULES, PODGROUP_RULES
    from packwise.schedulers.kai.references import RULES as REFERENCE_RULES
    from packwise.schedulers.kai.service_objects import RULES as SERVICE_RULES

    return (
        *RULES,
        *PODGROUP_RULES,
        *OWN_PODGROUP_RULES,
        *SERVICE_RULES,
        *REFERENCE_RULES,
        *NODE_RULES,
        *QUEUE_RULES,
        *OBJECT_RULES,
        *POD_RULES,
    )
