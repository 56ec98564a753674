"""Findings about gangs that Grove's future backend for Kueue turns into Workloads (GREP-704).

No release of Grove has the backend. packwise checks its limits only if `spec.kueue.unreleased` is set. Source:
spec/kueue.md#10.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.result import Severity
from packwise.findings import Rule, Stage
from packwise.kubernetes import ErrorType, OperatorError
from packwise.objects.index import is_placeholder
from packwise.objects.kinds import POD_CLIQUE_SET
from packwise.objects.workload_kinds import QUEUE_NAME
from packwise.placement import Gang
from packwise.revisions.grove import PLANNED_BACKENDS
from packwise.revisions.kueue import kueue_release
from packwise.schedulers import Scheduler, SchedulerInput, SchedulerObjects
from packwise.schedulers.kueue.chain import Chain
from packwise.schedulers.kueue.waiting import missing_queue

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeGuard

    from krmfn.kubeobject import KubeObject
    from packwise.findings import Finding
    from packwise.placement import Node
    from packwise.revisions.kueue import KueueRelease

POD_SETS = Rule(
    "kueue-backend-pod-sets",
    "A gang has more PodCliques than a Workload of Kueue can have pod sets.",
    "spec/kueue.md#10.5",
)
LEVEL = Rule(
    "kueue-backend-level",
    "Kueue keeps the pods of each PodClique together, but not the whole gang.",
    "spec/kueue.md#10.6",
    Severity.WARNING,
)
RULES = (POD_SETS, LEVEL)
"""Rules about the Workloads that Grove's backend makes of gangs."""

_UNRELEASED = "GREP-704, in no release of Grove"


class _Backend(Scheduler):
    def objects(self, source: SchedulerInput) -> SchedulerObjects:
        """Return the findings about gangs for Kueue, each once for all replicas of a workload. Write no objects."""
        release, chain = kueue_release(source.settings.kueue.version), Chain(source.inventory.items, ())
        gangs = [
            (placement.subject, placement.node) for placement in source.placements if _is_scheduled(placement.node)
        ]
        workloads = {id(workload): workload for workload, _ in gangs}
        findings = [finding for workload in workloads.values() for finding in _queue_findings(workload, chain)]
        first: dict[object, Finding] = {}
        for _, gang in gangs:
            for finding in _gang_findings(gang, release):
                first.setdefault((id(finding.subject), finding.path, finding.rule), finding)
        return SchedulerObjects(findings=(*findings, *first.values()))


def _is_scheduled(node: Node) -> TypeGuard[Gang]:
    return isinstance(node, Gang) and node.is_of_operator and node.scheduler in PLANNED_BACKENDS


def _queue_findings(workload: KubeObject, chain: Chain) -> Iterator[Finding]:
    # The label of the queue counts only on a PodCliqueSet, and not on a graph of Dynamo.
    name = workload.labels.get(QUEUE_NAME, "") if workload.kind == POD_CLIQUE_SET.name else ""
    if name and not is_placeholder(name) and not chain.local_queues_of(name, workload.namespace or ""):
        yield from missing_queue(workload, ("metadata", "labels", QUEUE_NAME), name, chain)


def _gang_findings(gang: Gang, release: KueueRelease) -> Iterator[Finding]:
    number = len(gang.leaves)
    if number > release.most_pod_sets:
        error = OperatorError(
            "spec.podSets", ErrorType.TOO_MANY, number, f"must have at most {release.most_pod_sets} items"
        )
        message = (
            f"{gang.name} has {number} PodCliques, and a Workload of Kueue {release.name} has at most "
            f"{release.most_pod_sets} pod sets: split the workload ({_UNRELEASED})"
        )
        yield gang.origin.place.finding(POD_SETS, message, operator_message=error.text(), stage=Stage.SCHEMA)
    bounds = gang.bounds
    if number > 1 and bounds is not None and bounds.required is not None and bounds.origin is not None:
        message = (
            f"Kueue applies this level to each of the {number} PodCliques of {gang.name} separately, and may choose "
            f"another {bounds.required.key} for each of them ({_UNRELEASED})"
        )
        yield bounds.origin.of("required").place.finding(LEVEL, message)


BACKEND: Scheduler = _Backend()
"""Grove's future backend for Kueue."""
