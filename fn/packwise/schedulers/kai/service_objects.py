"""Topologies, Queues, PodGroups and Pods that a service such as OSMO submits to KAI, and KAI's refusals of them.

Source: spec/kai.md, spec/osmo.md#5.
"""

from __future__ import annotations

from functools import partial

from krmfn.fieldpath import parse_path
from krmfn.hints import TYPE_CHECKING
from krmfn.result import Severity
from packwise.findings import Effect, Finding, Rule
from packwise.objects.index import Generated, identity
from packwise.objects.kinds import PODGROUP, QUEUE, TOPOLOGY
from packwise.placement import Gang, NodeTopology, Queue
from packwise.schedulers.kai.podgroup import QUEUE_LABELS, podgroup, podgroup_origins
from packwise.schedulers.kai.podgroup_rules import podgroup_problems
from packwise.schedulers.kai.podgroups import IGNORED, describe_problem, supported_versions
from packwise.schedulers.kai.podgroups import REFUSED as PODGROUP_REFUSED
from packwise.schedulers.kai.topology import REFUSED, annotated_topology, check_topology, topology_value
from packwise.topology.known import level_origins, node_labels

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from packwise.findings import Origin
    from packwise.placement import GangPod, Node, Placement
    from packwise.schedulers import SchedulerInput

_POD_GROUP = "pod-group-name"
_SUB_GROUP = "kai.scheduler/subgroup-name"
_UNBOUNDED: Mapping[str, Value] = {"quota": -1, "limit": -1, "overQuotaWeight": 1}


def queue_value(queue: Queue) -> Mapping[str, Value]:
    """Return the manifest of a Queue in the API version `scheduling.run.ai/v2`."""
    gpu = queue.gpu
    resources: dict[str, Value] = {
        "gpu": {"quota": gpu.quota, "limit": gpu.limit, "overQuotaWeight": gpu.weight},
        "cpu": dict(_UNBOUNDED),
        "memory": dict(_UNBOUNDED),
    }
    parent: dict[str, Value] = {} if queue.parent is None else {"parentQueue": queue.parent}
    return {
        "apiVersion": QUEUE.api_version,
        "kind": QUEUE.name,
        "metadata": {"name": queue.name, "labels": dict(queue.labels)},
        "spec": {**parent, "resources": resources},
    }


def pod_value(pod: GangPod) -> Mapping[str, Value]:
    """Return the manifest of a pod with KAI's labels and the annotation `pod-group-name`.

    KAI's labels replace labels with the same keys. The annotation makes KAI's pod-grouper ignore the pod.
    """
    metadata = _fields(pod.value.get("metadata"))
    labels = _fields(metadata.get("labels"))
    labels.pop(_SUB_GROUP, None)
    labels.update(dict.fromkeys(QUEUE_LABELS, pod.queue))
    if pod.pod_set is not None:
        labels[_SUB_GROUP] = pod.pod_set
    metadata["labels"] = labels
    metadata["annotations"] = {**_fields(metadata.get("annotations")), _POD_GROUP: pod.gang}
    return {**pod.value, "metadata": metadata}


def _fields(value: Value) -> dict[str, Value]:
    return dict(value) if isinstance(value, dict) else {}


REPLACED = Rule(
    "topology-replaced",
    "The levels of a Topology change, but they are immutable.",
    "spec/kai.md#1.3",
    Severity.WARNING,
)
RULES = (REPLACED,)
"""Rules about objects that a service submits."""


def service_objects(placements: Sequence[Placement], source: SchedulerInput) -> tuple[list[Generated], list[Finding]]:
    """Return the object for each placement, in the order of the placements, and the findings about these objects."""
    generated: list[Generated] = []
    findings: list[Finding] = []
    for placement in placements:
        node = placement.node
        value = _value(node, source)
        recreate = False
        if isinstance(node, NodeTopology):
            problems, recreate = _topology_findings(node, value, placement, source)
            findings += problems
        elif isinstance(node, Gang):
            findings += _podgroup_findings(value, placement, source)
        generated.append(
            Generated(
                value,
                placement.source,
                placement.subject,
                partial(_origins, node),
                placement.notes,
                recreate=recreate,
                emit_by_default=placement.emit_by_default,
            )
        )
    return generated, findings


def _value(node: Node, source: SchedulerInput) -> Mapping[str, Value]:
    if isinstance(node, Gang):
        return podgroup(node, supported_versions(source), annotated_topology(node))
    if isinstance(node, NodeTopology):
        return topology_value(node.name, node.keys, node.labels)
    return queue_value(node) if isinstance(node, Queue) else pod_value(node)


def _origins(node: Node) -> Mapping[FieldPath, Origin]:
    if isinstance(node, Gang):
        return podgroup_origins(node)
    if isinstance(node, NodeTopology):
        places = tuple(node.place.child(position) for position in range(len(node.levels)))
        return {**level_origins(node.place, places, node.field, node.origin.rule), (): node.origin}
    if isinstance(node, Queue):
        return {(): node.origin, ("spec", "resources", "gpu"): node.origin.of("gpu")}
    return {(): node.origin, **{parse_path(field): node.origin.of(field) for field in node.origin.fields}}


def _podgroup_findings(value: Mapping[str, Value], placement: Placement, source: SchedulerInput) -> Iterator[Finding]:
    """Yield findings about a gang's PodGroup `value`: KAI refuses it, or ignores some of its fields."""
    rendered = source.settings.emits(PODGROUP.name, by_default=placement.emit_by_default)
    # If the input has a CRD for PodGroups, another step checks all rendered objects by it.
    by_crd = source.definitions.of_kind(*PODGROUP.key) is not None
    for order, problem in enumerate(podgroup_problems(value, supported_versions(source), schema=not by_crd)):
        if problem.effect is Effect.REFUSED:
            yield Finding.of(
                PODGROUP_REFUSED,
                placement.subject,
                (),
                describe_problem(value, problem),
                severity=None if rendered else Severity.WARNING,
                operator_message=problem.operator_message,
                stage=problem.stage,
                order=order,
            )
        elif rendered:
            yield Finding.of(IGNORED, placement.subject, (), describe_problem(value, problem))


def _topology_findings(
    topology: NodeTopology, value: Mapping[str, Value], placement: Placement, source: SchedulerInput
) -> tuple[list[Finding], bool]:
    """Return the findings about a topology's levels, and True if the Topology certainly follows all rules of KAI."""
    verdict = check_topology(value, source)
    problems, findings = verdict.problems, list(verdict.unchecked)
    surely_valid = not problems and not findings
    rendered = source.settings.emits(TOPOLOGY.name, by_default=placement.emit_by_default)
    for problem in problems:
        position = next((step for step in problem.path if isinstance(step, int)), None)
        stage, levels = problem.stage, topology.place
        findings.append(
            (levels if position is None else levels.child(position, topology.field)).finding(
                REFUSED,
                f"{problem.message}; KAI refuses the {TOPOLOGY.name} with these levels",
                severity=None if rendered else Severity.WARNING,
                operator_message=None if stage is None else problem.operator_message,
                stage=stage,
            )
        )
    before = _keys_before(topology, value, source)
    if rendered and not problems and before is not None and before != topology.keys:
        message = (
            f'the levels of {TOPOLOGY.name} "{topology.name}" change (they were {", ".join(before)}), but KAI does '
            "not allow that. Delete the Topology in the cluster when you apply this change"
        )
        findings.append(topology.place.finding(REPLACED, message))
    return findings, surely_valid


def _keys_before(topology: NodeTopology, value: Mapping[str, Value], source: SchedulerInput) -> tuple[str, ...] | None:
    """Return the node label keys of the Topology before the change. Return None if it is new.

    They are from the baseline, or from an earlier render if the baseline has no such topology.
    """
    old = source.inventory.baseline_object(value)
    if old is None and topology.before is not None:
        return topology.before
    if old is None:
        earlier = source.inventory.items.generated.get(identity(value))
        old = None if earlier is None else earlier.value
    return None if old is None else tuple(node_labels(old))
