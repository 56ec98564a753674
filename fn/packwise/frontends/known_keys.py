"""The labels and annotations that operators and schedulers read: one table, by key.

Who reads one, where it stands, which values count, and since or until which release. A front end of other workloads
adds its places to `PARTS`, and to the rows that are read there.
Source: spec/grove.md, spec/grove-releases.md, spec/podgrouper.md#2,
spec/dynamo.md#2.4 and #3.9; Grove's labels.go, KAI's constants.go, Dynamo's consts.go.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.objects.kinds import DYNAMO_GRAPH, POD_CLIQUE_SET, PODGROUP, QUEUE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from packwise.revisions.revision import Revision

__all__ = ["GRAPH", "KEYS", "PARTS", "Key", "Part", "Releases"]


class Part(NamedTuple):
    """A part of the objects of one kind that has labels and annotations."""

    kind: tuple[str, str]
    path: tuple[str, ...]
    """The steps to it; `*` is every entry of a list or a mapping."""

    title: str
    """The part's name in messages and pages."""

    takes_any: bool = False
    """True if others copy keys there, so that none is in the wrong place."""


_COMPONENT_TITLE = "components of a DynamoGraphDeployment"

_SET = Part(POD_CLIQUE_SET.key, ("metadata",), "a PodCliqueSet")
_CLIQUE = Part(POD_CLIQUE_SET.key, ("spec", "template", "cliques", "*"), "cliques")
_GROUP = Part(POD_CLIQUE_SET.key, ("spec", "template", "podCliqueScalingGroups", "*"), "scaling groups")
GRAPH = Part(DYNAMO_GRAPH.key, ("metadata",), "a DynamoGraphDeployment")
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


class Releases(NamedTuple):
    """The releases of Grove that read a key: `words` say which, as in "read by …"."""

    words: str
    read: Callable[[Revision], bool]
    otherwise: str = ""
    """The consequence in all other releases."""


class Key(NamedTuple):
    """One key; `labels` and `annotations` are the parts in which it is read as such."""

    name: str
    reader: str
    labels: tuple[Part, ...] = ()
    annotations: tuple[Part, ...] = ()
    values: tuple[str, ...] = ()
    """The values that count; empty: any."""

    any_case: bool = False
    """True if the case of a value's letters does not matter."""

    otherwise: str = ""
    """The consequence of any other value."""

    is_refused: bool = False
    """True if Dynamo's webhook refuses a graph that has another value itself."""

    releases: Releases | None = None
    """The releases that read it; None: all."""

    annotation_releases: Releases | None = None
    """The releases that read it as an annotation, where others read it as a label alone."""

    is_written: bool = False
    """True if an operator or KAI writes it itself: where it stands is not judged."""

    elsewhere: str = ""
    """Where it is read of workloads that have no parts here, in words."""

    instead: Mapping[Part, str] = {}
    """For a part in which it is not read, what is read there."""

    successor: str = ""
    """The key that has taken its place in every release that is still met."""

    since: int = 0
    """The first minor release of KAI that reads it of workloads that KAI groups itself; 0: all that are known."""

    since_of: Mapping[Part, int] = {}
    """The same of parts where it is read later than elsewhere."""

    only_beside: Mapping[Part, tuple[str, ...]] = {}
    """Of parts where it is read beside one of other keys alone: these."""


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
