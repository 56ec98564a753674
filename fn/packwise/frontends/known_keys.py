"""The labels and annotations that operators and schedulers read: one table, by key.

Who reads one, where it stands, which values count, and since or until which release. A front end of other workloads
adds its places to `PARTS`, and to the rows that are read there.
Source: spec/grove.md, spec/grove-releases.md, spec/podgrouper.md#2,
spec/dynamo.md#2.4 and #3.9; Grove's labels.go, KAI's constants.go, Dynamo's consts.go.
"""

from __future__ import annotations

from functools import partial

from krmfn.hints import TYPE_CHECKING
from packwise.frontends.recognition import has_candidates
from packwise.keys import Key, KeyTable, Part, Releases, findings_at, key_places, key_problems
from packwise.objects.kinds import DYNAMO_GRAPH, POD, POD_CLIQUE_SET, PODGROUP, QUEUE
from packwise.settings import KAI_PROFILE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.findings.finding import Finding, Problem, Rule
    from packwise.keys import KeyPlace
    from packwise.objects import Index
    from packwise.revisions.grove import Revision

__all__ = ["KEYS", "PARTS", "key_findings", "pod_key_problems", "workload_metadata"]


_COMPONENT_TITLE = "components of a DynamoGraphDeployment"

_SET = Part(POD_CLIQUE_SET.key, ("metadata",), "a PodCliqueSet")
_CLIQUE = Part(POD_CLIQUE_SET.key, ("spec", "template", "cliques", "*"), "cliques")
_GROUP = Part(POD_CLIQUE_SET.key, ("spec", "template", "podCliqueScalingGroups", "*"), "scaling groups")
_MOVED = ("grove.io/", "scheduling.grove.io/")
"""Annotations of a graph that begin so, `dynamo-annotation-lost` reports."""

GRAPH = Part(DYNAMO_GRAPH.key, ("metadata",), "a DynamoGraphDeployment", has_webhook=True, told_elsewhere=_MOVED)
"""A graph itself; its operator reads keys of its own there."""
_GRAPH_SET = Part(DYNAMO_GRAPH.key, ("spec",), "the spec of a DynamoGraphDeployment")
_COMPONENT = Part(DYNAMO_GRAPH.key, ("spec", "components", "*", "podTemplate", "metadata"), _COMPONENT_TITLE)
_SERVICE = Part(DYNAMO_GRAPH.key, ("spec", "services", "*"), _COMPONENT_TITLE)
_SERVICE_POD = Part(DYNAMO_GRAPH.key, ("spec", "services", "*", "extraPodMetadata"), _COMPONENT_TITLE)
_QUEUE = Part(QUEUE.key, ("metadata",), "a Queue", takes_any=True)
_PODGROUP = Part(PODGROUP.key, ("metadata",), "a PodGroup", takes_any=True)

PARTS = (
    _SET, _CLIQUE, _GROUP, GRAPH, _GRAPH_SET, _COMPONENT, _SERVICE, _SERVICE_POD, _QUEUE, _PODGROUP,
)  # fmt: skip
"""All parts in which keys are looked at."""

_SETS = (_SET, _GRAPH_SET)
"""The parts that become the metadata of a PodCliqueSet."""
_COMPONENTS = (_COMPONENT, _SERVICE, _SERVICE_POD)
_PODS = (_CLIQUE, *_COMPONENTS)
"""The parts that become the metadata of pods."""


def _operator_makes_podgroups(revision: Revision) -> bool:
    return revision.podgroups_by_operator


def _pod_grouper_makes_podgroups(revision: Revision) -> bool:
    return not revision.podgroups_by_operator


def _has_auto_mnnvl(revision: Revision) -> bool:
    return revision.mnnvl_annotation is not None


def _has_mnnvl_groups(revision: Revision) -> bool:
    # They came with the backends of schedulers.
    return bool(revision.scheduler_backends)


_FROM_PODGROUPS = Releases("Grove from v0.1.0-alpha.12-rc2 on", _operator_makes_podgroups)
_POD_GROUPER = Releases(
    "KAI's pod-grouper, which passes over workloads of Grove from v0.1.0-alpha.12-rc2 on",
    _pod_grouper_makes_podgroups,
    "Grove makes the PodGroups, without it",
)
_AUTO = Releases("Grove up to v0.1.0-alpha.8", _has_auto_mnnvl, "grove.io/mnnvl-group is its successor")
_GROUPS = Releases("Grove from v0.1.0-alpha.8 on", _has_mnnvl_groups)

_GROVE, _KAI, _GROUPER, _DYNAMO = "Grove's operator", "KAI", "KAI's pod-grouper", "Dynamo's operator"
_REFUSED = "of a graph Dynamo's webhook refuses others"
_OF_A_GRAPH = {GRAPH: "of a DynamoGraphDeployment it is the annotation nvidia.com/kai-scheduler-queue"}

_ROWS = (
    Key(
        "kai.scheduler/queue", _KAI, labels=(*_SETS, *_PODS, _PODGROUP), annotations=(*_SETS, *_PODS),
        annotation_releases=_FROM_PODGROUPS, instead=_OF_A_GRAPH,
    ),
    Key("runai/queue", "KAI before v0.6", successor="kai.scheduler/queue"),
    Key("kai.scheduler/node-pool", _KAI, labels=(*_SETS, *_PODS, _QUEUE, _PODGROUP)),
    Key(
        "kai.scheduler/preemptibility", _GROUPER, labels=(*_SETS, *_PODS, GRAPH), releases=_POD_GROUPER,
        values=("preemptible", "non-preemptible", ""), otherwise="others are passed over, or KAI makes no PodGroup",
    ),
    Key("priorityClassName", _GROUPER, labels=(*_SETS, *_PODS, GRAPH), releases=_POD_GROUPER),
    Key("kai.scheduler/topology", _KAI, annotations=(*_SETS, GRAPH)),
    Key(
        "kai.scheduler/topology-required-placement", _GROUPER, annotations=(*_SETS, GRAPH), releases=_POD_GROUPER,
    ),
    Key(
        "kai.scheduler/topology-preferred-placement", _GROUPER, annotations=(*_SETS, GRAPH), releases=_POD_GROUPER,
    ),
    Key(
        "kai.scheduler/skip-podgrouper", _GROUPER, annotations=(*_SETS, *_PODS), values=("true", "false"),
        otherwise='only "true" counts',
    ),
    Key("kai.scheduler/preemption-delay", _GROUPER, annotations=(*_SETS, *_PODS), releases=_POD_GROUPER),
    Key("kai.scheduler/staleness-grace-period", _GROUPER, annotations=(*_SETS, *_PODS), releases=_POD_GROUPER),
    Key("kai.scheduler/batch-min-member", _GROUPER, elsewhere="an annotation of Jobs and JobSets"),
    Key("kai.scheduler/segment-size", _GROUPER, elsewhere="an annotation of LeaderWorkerSets and PyTorchJobs"),
    Key(
        "kai.scheduler/segment-topology-required-placement", _GROUPER,
        elsewhere="an annotation of the pods of LeaderWorkerSets and PyTorchJobs",
    ),
    Key(
        "kai.scheduler/segment-topology-preferred-placement", _GROUPER,
        elsewhere="an annotation of the pods of LeaderWorkerSets and PyTorchJobs",
    ),
    Key("kai.scheduler/subgroup-name", _KAI, is_written=True),
    Key("kai.scheduler/top-owner-metadata", _KAI, is_written=True),
    Key("kai.scheduler/stale-podgroup-timestamp", _KAI, is_written=True),
    Key("kai.scheduler/last-start-timestamp", _KAI, is_written=True),
    Key("kai.scheduler/task-priority", _KAI, is_written=True),
    Key("kai.scheduler/accounting", _KAI, is_written=True),
    Key("pod-group-name", _KAI, is_written=True),
    Key("gpu-fraction", _KAI, annotations=_PODS),
    Key("gpu-fraction-num-devices", _KAI, annotations=_PODS),
    Key("gpu-fraction-container-name", _KAI, annotations=_PODS),
    Key("gpu-memory", _KAI, annotations=_PODS),
    Key(
        "grove.io/auto-mnnvl", _GROVE, annotations=(*_SETS, *_PODS), releases=_AUTO,
    ),
    Key("grove.io/mnnvl-group", _GROVE, annotations=(*_SETS, *_PODS, _GROUP), releases=_GROUPS),
    Key("grove.io/disable-managed-resource-protection", _GROVE, annotations=_SETS),
    Key(
        "grove.io/topology-name", _GROVE, elsewhere="an annotation of PodGangs, which Grove's operator writes itself",
    ),
    Key("scheduling.grove.io/volcano-queue", _GROVE, annotations=(*_SETS, *_PODS)),
    *[
        Key(f"grove.io/{name}", _GROVE, is_written=True)
        for name in (
            "podclique", "podgang", "base-podgang", "podcliqueset-replica-index", "podcliquescalinggroup",
            "podcliquescalinggroup-replica-index", "podcliquescalinggroup-pod-index", "podclique-pod-index",
            "pod-template-hash", "scheduler-name", "reconcile-trigger", "epoch", "podgang-role",
            "podcliqueset-generation-hash",
        )
    ],
    Key(
        "nvidia.com/enable-grove", _DYNAMO, annotations=(GRAPH,), values=("true", "false"), any_case=True,
        otherwise='only "false" opts out, a PodCliqueSet is made all the same',
    ),
    Key("nvidia.com/enable-disaggregatedset", _DYNAMO, annotations=(GRAPH,)),
    Key("nvidia.com/grove-update-strategy", _DYNAMO, annotations=(GRAPH,)),
    Key("nvidia.com/kai-scheduler-queue", _DYNAMO, annotations=(GRAPH,)),
    Key("nvidia.com/volcano-queue", _DYNAMO, annotations=(GRAPH,)),
    Key(
        "nvidia.com/enable-metrics", _DYNAMO, annotations=(GRAPH, *_PODS), values=("true", "false"),
        otherwise='only "false" counts, metrics stay on',
    ),
    Key(
        "nvidia.com/dynamo-discovery-backend", _DYNAMO, labels=_PODS, annotations=(GRAPH, *_PODS),
        values=("kubernetes", "etcd"), otherwise='only "kubernetes" turns on discovery by Kubernetes',
    ),
    Key(
        "nvidia.com/dynamo-kube-discovery-mode", _DYNAMO, annotations=(GRAPH, *_PODS), values=("pod", "container"),
        otherwise=_REFUSED, is_refused=True,
    ),
    Key(
        "nvidia.com/vllm-distributed-executor-backend", _DYNAMO, annotations=(GRAPH, *_PODS), values=("mp", "ray"),
        any_case=True, otherwise=_REFUSED, is_refused=True,
    ),
    *[
        Key(f"nvidia.com/{name}", _DYNAMO, is_written=True)
        for name in (
            "workload-provider", "selector", "dynamo-graph-deployment-name", "dynamo-component", "dynamo-namespace",
            "dynamo-component-type", "dynamo-sub-component-type", "dynamo-component-class", "dynamo-component-pod",
            "dynamo-base-model", "dynamo-base-model-hash", "dynamo-discovery-enabled", "dynamo-worker-hash",
            "dynamo-operator-origin-version", "metrics-enabled", "disable-image-pull-secret-discovery", "restartAt",
            "current-worker-hash", "current-worker-hash-v2", "last-applied-hash", "last-applied-generation",
            "dgd-spec", "dgd-status", "topology-label-key", "topology-cluster-topology-name",
        )
    ],
)  # fmt: skip

KEYS: Mapping[str, Key] = {key.name: key for key in _ROWS}
"""Every key by its name."""


_TABLE = KeyTable(KEYS, PARTS)


def key_findings(
    index: Index, revision: Revision | None, kai_version: str | None = None, kai_name: str = KAI_PROFILE
) -> Iterator[Finding]:
    """The keys of users' objects that nobody reads.

    Of releases of Grove nothing is said where the `revision` is None; the release of KAI is named by its version, and
    pods ask for KAI by the `kai_name`.
    """
    for part in PARTS:
        for item in index.by_kind.get(part.kind, ()):
            for place in key_places(item.value, part):
                yield from findings_at(item, place, _TABLE, partial(_of_other_releases, revision=revision))
    if has_candidates(index):
        # Few inputs have workloads that KAI groups itself.
        from packwise.frontends.workloads.keys import workload_key_findings

        yield from workload_key_findings(index, kai_version, kai_name)


def workload_metadata(index: Index, kai_name: str) -> Iterator[tuple[KubeObject, FieldPath, Mapping[str, Value]]]:
    """Each metadata of the workloads that KAI groups itself, and of the templates in them, with its path."""
    if has_candidates(index):
        # Few inputs have one.
        from packwise.frontends.workloads.keys import metadata_of_workloads

        yield from metadata_of_workloads(index, kai_name)


def pod_key_problems(pod: Mapping[str, Value]) -> Iterator[tuple[Rule, Problem]]:
    """Problems of the keys of a pod that KAI schedules, whoever makes it."""
    # Few inputs have pods.
    from packwise.frontends.workloads.keys import WORKLOAD_KEYS

    for part in WORKLOAD_KEYS.parts:
        for place in key_places(pod, part) if part.kind == POD.key else ():
            yield from key_problems(place, WORKLOAD_KEYS, lambda _key, _place: "")


def _of_other_releases(key: Key, place: KeyPlace, revision: Revision | None) -> str:
    """The releases that read a key which this one does not read; "" where it does, or where nobody names it."""
    if revision is None:
        return ""
    only = key.annotation_releases if place.form == "annotations" else None
    if only is not None and not only.read(revision) and not place.has_beside("labels", key.name):
        return f"must be a label: as an annotation it is read by {only.words}, and this is {revision.name}"
    releases = key.releases
    if releases is None or releases.read(revision):
        return ""
    why = f": {releases.otherwise}" if releases.otherwise else ""
    return f"is read by {releases.words}, and this is {revision.name}{why}"
