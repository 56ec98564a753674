"""The cluster for KAI's simulation: nodes, pods, Topologies, Queues, PriorityClasses, and the use of the queues.

Source: spec/placement.md#9.

packwise reads them from the output of `kubectl get nodes,pods -A -o json`, or from a dump of KAI's snapshot plugin.
"""

from __future__ import annotations

import re
from itertools import pairwise

from krmfn.hints import TYPE_CHECKING, Record, cast
from packwise.keys import KAI_QUEUE
from packwise.lenient import entries, integer, mapping_at, mappings, text_at
from packwise.schedulers.kai.allocate.scene import (
    GPU,
    NOT_PREEMPTIBLE,
    PODS,
    KaiTopology,
    Node,
    QueueShare,
    Share,
)
from packwise.schedulers.kai.allocate.session import add_use, existing_queues, is_bounded, lineage, usage_of
from packwise.schedulers.kai.allocate.state import memory_of, mig_strategy
from packwise.schedulers.kai.installation import NODE_POOL
from packwise.schedulers.kai.podgroup_rules import read_topology
from packwise.schedulers.kai.pods import KnownObjects, Manifest, known_objects, node_amounts, read_pod, texts_at
from packwise.schedulers.node_selection import read_taints
from packwise.wording import count_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from krmfn.value import Value
    from packwise.schedulers.kai.allocate.scene import GpuPortion, Pod, Scene
    from packwise.schedulers.kai.allocate.session import JobAnswer
    from packwise.schedulers.kai.gang_jobs import GangJob

_NOT_READY = "node has NotReady condition"
_PRESSURES = ("MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable")
_KINDS = {
    "nodes": "Node",
    "pods": "Pod",
    "topologies": "Topology",
    "queues": "Queue",
    "podGroups": "PodGroup",
    "bindRequests": "BindRequest",
    "priorityClasses": "PriorityClass",
    "configMaps": "ConfigMap",
    "persistentVolumeClaims": "PersistentVolumeClaim",
}
"""The kinds of the objects in a dump of KAI's snapshot plugin, by field of the dump."""

_GROUPS = {
    "Topology": "kai.scheduler/",
    "Queue": "scheduling.run.ai/",
    "PodGroup": "scheduling.run.ai/",
    "BindRequest": "scheduling.run.ai/",
}
_PODS_OF_A_NODE = 110
_ENDLESS = 1e300
QUEUE_MEMORY = 10**6
"""The number of bytes in the unit of memory that Queues use."""

_GPU_GROUP = "runai-gpu-group"
_RESERVATION = "kai-resource-reservation"
_ENDED = ("Succeeded", "Failed", "Unknown")
_UTC = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")
_SCHEDULER = re.compile(r"kai-scheduler/(?:[a-z0-9-]+/){0,9}scheduler:v0\.([0-9]{1,9})(?:[.-]|$)")


class SnapshotError(Exception):
    """Raised if the objects describe no cluster: there is no node, or there are two nodes of one name."""


class BoundPod(Record):
    """A pod that runs on a node or is bound to it.

    `gang` and `pod_set` are the names in the labels or annotations of the pod. `group` is its PodGroup, and `queue` the
    queue that its label names. `gpus` are the groups of its shared GPUs. `is_ending` is true if the pod is being
    deleted.
    """

    pod: Pod
    gang: str = ""
    pod_set: str = ""
    group: str = ""
    queue: str = ""
    gpus: tuple[str, ...] = ()
    is_ending: bool = False

    @property
    def node(self) -> str:
        """Return the name of the pod's node."""
        return self.pod.node


class BoundGroup(Record):
    """A PodGroup of the cluster: its queue, its PriorityClass, and its `preemptibility` or ""."""

    queue: str
    priority_class: str = ""
    preemptibility: str = ""


class Priorities(Record):
    """The values of PriorityClasses by name. `default` is the value of the default class, or None."""

    by_name: Mapping[str, int] = {}
    default: int | None = None


class Snapshot(Record):
    """The cluster. `nodes` are sorted by name, and their used amounts do not include the `pods` on them.

    `waiting` are the namespaces and names of PodGroups with pods without a node. `queues`, `groups` and `priorities`
    are None if the objects do not list the kind. `kai` is the minor version of KAI in the cluster, or None if unknown.
    `newest_time` is the newest time in any object. `objects` are the source objects, for other schedulers.
    """

    nodes: tuple[Node, ...]
    pods: tuple[BoundPod, ...] = ()
    topologies: tuple[KaiTopology, ...] = ()
    queues: tuple[QueueShare, ...] | None = None
    priorities: Priorities | None = None
    groups: Mapping[tuple[str, str], BoundGroup] | None = None
    waiting: tuple[tuple[str, str], ...] = ()
    known_objects: KnownObjects = KnownObjects()
    kai: int | None = None
    newest_time: str = ""
    objects: tuple[Mapping[str, Value], ...] = ()


def objects_of(value: Value) -> Iterator[Mapping[str, Value]]:
    """Yield the objects of a document: the document itself, the items of a List, or the objects of a KAI snapshot."""
    if isinstance(value, list):
        for entry in value:
            yield from objects_of(entry)
    if not isinstance(value, dict):
        return
    raw, items = value.get("rawObjects"), value.get("items")
    if isinstance(raw, dict):
        for field, kind in _KINDS.items():
            if field in raw:
                # Also an empty list shows that the kind was listed.
                yield {"kind": f"{kind}List"}
            # The API server's client omits the kind of listed objects.
            yield from ({"kind": kind, **entry} for entry in mappings(raw.get(field)))
    elif isinstance(items, list) and str(value.get("kind", "")).endswith("List"):
        kind = str(value["kind"]).removesuffix("List")
        if kind:
            yield {"kind": str(value["kind"])}
        for entry in items:
            if isinstance(entry, dict):
                yield from objects_of({"kind": kind, **entry} if kind else entry)
    else:
        yield value


def read_snapshot(objects: Iterable[Mapping[str, Value]]) -> Snapshot:
    """Return the cluster that these objects describe. Raise SnapshotError if no node or two nodes of one name exist."""
    by_kind: dict[str, list[Mapping[str, Value]]] = {}
    listed = tuple(objects)
    for value in listed:
        kind, version = str(value.get("kind")), value.get("apiVersion")
        if isinstance(version, str) and not version.startswith(_GROUPS.get(kind, "")):
            # Other schedulers have kinds with the same names.
            continue
        by_kind.setdefault(kind, []).append(value)
    nodes = sorted((_node(value) for value in by_kind.get("Node", ())), key=lambda node: node.name)
    for before, node in pairwise(nodes):
        if before.name == node.name:
            raise SnapshotError(f'duplicate Node "{node.name}"')
    if not nodes:
        raise SnapshotError("found no nodes; pass the output of `kubectl get nodes,pods -A -o json`")
    names = {node.name for node in nodes}
    known = known_objects(by_kind)
    bindings = dict(_binding(value) for value in by_kind.get("BindRequest", ()))
    pods: list[BoundPod] = []
    waiting: list[tuple[str, str]] = []
    for value in by_kind.get("Pod", ()):
        pod = _pod(value, known, bindings)
        if pod is None:
            continue
        if pod.node in names:
            pods.append(pod)
        elif not pod.node and pod.group and not pod.is_ending:
            waiting.append((pod.pod.namespace, pod.group))
    pods.sort(key=lambda pod: (pod.pod.namespace, pod.pod.name))
    shared = _shared_memory(nodes, pods)
    return Snapshot(
        nodes=tuple(node.replace(shared=shared[node.name]) if node.name in shared else node for node in nodes),
        pods=tuple(pods),
        topologies=tuple(read_topology(value) for value in by_kind.get("Topology", ())),
        queues=tuple(queue_share(value) for value in by_kind.get("Queue", ()))
        if _is_listed(by_kind, "Queue")
        else None,
        priorities=priorities(by_kind.get("PriorityClass", ())) if _is_listed(by_kind, "PriorityClass") else None,
        groups=dict(_group(value) for value in by_kind.get("PodGroup", ()))
        if _is_listed(by_kind, "PodGroup")
        else None,
        waiting=tuple(waiting),
        known_objects=known,
        kai=next((minor for value in by_kind.get("Pod", ()) if (minor := _scheduler(value)) is not None), None),
        newest_time=max(
            (time for values in by_kind.values() for value in values for time in _times(value)), default=""
        ),
        objects=listed,
    )


def _is_listed(by_kind: Mapping[str, object], kind: str) -> bool:
    return kind in by_kind or f"{kind}List" in by_kind


def priorities(classes: Iterable[Mapping[str, Value]]) -> Priorities:
    """Return the values of PriorityClasses."""
    by_name: dict[str, int] = {}
    default: int | None = None
    for value in classes:
        number = value.get("value")
        if isinstance(number, int):
            by_name[text_at(value, "metadata", "name")] = number
            default = number if value.get("globalDefault") is True and default is None else default
    return Priorities(by_name, default)


def _node(value: Mapping[str, Value]) -> Node:
    spec, status = mapping_at(value, "spec"), mapping_at(value, "status")
    labels = texts_at(value, "metadata", "labels")
    allocatable = node_amounts(mapping_at(status, "allocatable") or mapping_at(status, "capacity"))
    return Node(
        name=text_at(value, "metadata", "name"),
        labels=labels,
        allocatable={PODS: _PODS_OF_A_NODE, **allocatable},
        used={},
        unschedulable=spec.get("unschedulable") is True,
        taints=read_taints(spec.get("taints")),
        unready=tuple(_reasons(status)),
        mig=mig_strategy(labels, allocatable),
    )


def _reasons(status: Mapping[str, Value]) -> Iterator[str]:
    """Yield the reasons why KAI rejects a node for its conditions.

    Source: KAI Scheduler, scheduler_util.CheckNodeConditionPredicate.
    """
    for condition in mappings(status.get("conditions")):
        kind, holds = condition.get("type"), condition.get("status")
        if kind == "Ready" and holds != "True":
            yield _NOT_READY
        elif kind in _PRESSURES and holds != "False":
            yield f"node has {kind} condition"


def _pod(
    value: Mapping[str, Value],
    known: KnownObjects,
    bindings: Mapping[tuple[str, str], tuple[str, tuple[str, ...]]],
) -> BoundPod | None:
    """Return the pod. Return None if it has ended."""
    metadata, spec = mapping_at(value, "metadata"), mapping_at(value, "spec")
    if text_at(value, "status", "phase") in _ENDED:
        return None
    name, namespace = text_at(metadata, "name"), text_at(metadata, "namespace")
    labels, annotations = texts_at(metadata, "labels"), texts_at(metadata, "annotations")
    pod, _ = read_pod(name, Manifest(namespace, spec, labels, annotations), known)
    bound, selected = bindings.get((namespace, name), ("", ()))
    if labels.get("app") == _RESERVATION:
        # This pod reserves a GPU for the pods that share it. Do not count the GPU twice.
        pod = pod.replace(request=tuple(entry for entry in pod.request if entry[0] != GPU))
    groups = [text for key, text in sorted(labels.items()) if key == _GPU_GROUP or key.startswith(f"{_GPU_GROUP}/")]
    return BoundPod(
        pod=pod.replace(node=text_at(spec, "nodeName") or bound),
        gang=labels.get("grove.io/podgang") or annotations.get("pod-group-name", ""),
        pod_set=labels.get("grove.io/podclique") or labels.get("kai.scheduler/subgroup-name", ""),
        group=annotations.get("pod-group-name", ""),
        queue=labels.get(KAI_QUEUE) or labels.get("runai/queue", ""),
        gpus=(tuple(dict.fromkeys(groups)) or selected) if pod.share is not None else (),
        is_ending=bool(metadata.get("deletionTimestamp")),
    )


def _binding(value: Mapping[str, Value]) -> tuple[tuple[str, str], tuple[str, tuple[str, ...]]]:
    """Return the pod that a BindRequest binds, and the place of the pod.

    The pod is identified by its namespace and name. The place is the node, and the groups of the pod's shared GPUs.
    """
    spec = mapping_at(value, "spec")
    groups = tuple(str(each) for each in entries(spec.get("selectedGPUGroups")))
    return (text_at(value, "metadata", "namespace"), text_at(spec, "podName")), (text_at(spec, "selectedNode"), groups)


def _shared_memory(nodes: Iterable[Node], pods: Iterable[BoundPod]) -> dict[str, dict[str, int]]:
    """Return the memory of shared GPUs that pods use, by node and group."""
    by_name = {node.name: node for node in nodes}
    shared: dict[str, dict[str, int]] = {}
    for bound in pods:
        share = bound.pod.share
        for group in bound.gpus:
            groups = shared.setdefault(bound.node, {})
            groups[group] = groups.get(group, 0) + memory_of(cast("GpuPortion", share), by_name[bound.node])
    return shared


def _group(value: Mapping[str, Value]) -> tuple[tuple[str, str], BoundGroup]:
    metadata, spec = mapping_at(value, "metadata"), mapping_at(value, "spec")
    group = BoundGroup(text_at(spec, "queue"), text_at(spec, "priorityClassName"), text_at(spec, "preemptibility"))
    return (text_at(metadata, "namespace"), text_at(metadata, "name")), group


def _scheduler(value: Mapping[str, Value]) -> int | None:
    """Return the minor version of KAI if the pod runs KAI's scheduler, or None otherwise."""
    for container in mappings(mapping_at(value, "spec").get("containers")):
        match = _SCHEDULER.search(text_at(container, "image"))
        if match is not None:
            return int(match[1])
    return None


def _times(value: Mapping[str, Value]) -> Iterator[str]:
    """Yield the times in an object: its creation, and the heartbeats and transitions of its conditions.

    A time that is not set is "".
    """
    yield _time(mapping_at(value, "metadata"), "creationTimestamp")
    for condition in mappings(mapping_at(value, "status").get("conditions")):
        yield _time(condition, "lastHeartbeatTime")
        yield _time(condition, "lastTransitionTime")


def _time(value: Mapping[str, Value], key: str) -> str:
    written = text_at(value, key)
    return written if _UTC.fullmatch(written) else ""


def queue_share(value: Mapping[str, Value], pool_label: str = NODE_POOL) -> QueueShare:
    """Return the queue that the KAI Queue `value` describes. An absent amount is 0, as in Go, and -1 is unlimited."""
    spec = mapping_at(value, "spec")
    return QueueShare(
        name=text_at(value, "metadata", "name"),
        gpu=_share(spec, "gpu", 1),
        cpu=_share(spec, "cpu", 1),
        memory=_share(spec, "memory", QUEUE_MEMORY),
        parent=text_at(spec, "parentQueue"),
        title=text_at(spec, "displayName"),
        priority=integer(spec.get("priority"), 100),
        pool=texts_at(value, "metadata", "labels").get(pool_label, ""),
    )


def _share(spec: Mapping[str, Value], resource: str, unit: int) -> Share:
    amounts = mapping_at(spec, "resources", resource)
    bounds: list[float | None] = []
    for field in ("quota", "limit"):
        written = _number(amounts.get(field))
        bounds.append(None if written == -1 else max(written, -1) * unit)
    return Share(bounds[0], bounds[1], _number(amounts.get("overQuotaWeight")))


def _number(value: Value) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return 0.0
    # A larger integer does not fit into a float. Such an amount is unlimited in effect.
    return float(max(-_ENDLESS, min(value, _ENDLESS)))


_PRIORITY = 50


def with_use(queues: Sequence[QueueShare], others: Iterable[BoundPod], snapshot: Snapshot) -> tuple[QueueShare, ...]:
    """Return the queues, with the resources that the pods `others` use. Pods without a PodGroup do not count."""
    nodes = {node.name: node for node in snapshot.nodes}
    used: dict[str, dict[str, float]] = {}
    non_preemptible: dict[str, dict[str, float]] = {}
    for bound in others:
        if not bound.group or bound.is_ending:
            continue
        asked = usage_of([(bound.pod, nodes[bound.node])])
        for total in (used, non_preemptible) if _is_non_preemptible(bound, snapshot) else (used,):
            add_use(total.setdefault(_queue(bound, snapshot), {}), asked)
    return tuple(
        queue.replace(used=used.get(queue.name, {}), non_preemptible=non_preemptible.get(queue.name, {}))
        for queue in queues
    )


def count_evictable(others: Iterable[BoundPod], snapshot: Snapshot) -> int:
    """Return how many PodGroups KAI may evict. `others` are the pods to search for PodGroups."""
    return len({
        (bound.pod.namespace, bound.group)
        for bound in others
        if bound.group and not bound.is_ending and not _is_non_preemptible(bound, snapshot)
    })  # fmt: skip


def eviction_notes(answer: JobAnswer, groups: int) -> Iterator[str]:
    """Yield a note if the job is pending and KAI may evict pods to make room. `groups` is the number of PodGroups."""
    if answer.state == "pending" and groups:
        yield (
            f"packwise evicts no pods, but KAI's preempt, reclaim and consolidation may make room: "
            f"{count_text(groups, 'running PodGroup')} can be evicted"
        )


def add_notes(gangs: Sequence[GangJob], scene: Scene, snapshot: Snapshot) -> tuple[GangJob, ...]:
    """Return the gangs, with notes on facts of the cluster that the answer ignores."""
    known = existing_queues(scene.queues)
    common = tuple(_common_notes(gangs, snapshot))
    # Each node pool has its own scheduler, so only queues of the same pool compete.
    pools = {gang.job.pool for gang in gangs}
    rivals = {pool: _rivals([gang for gang in gangs if gang.job.pool == pool], known) for pool in pools}
    return tuple(
        gang.replace(notes=(*gang.notes, *_queue_notes(gang, known, rivals[gang.job.pool], snapshot), *common))
        for gang in gangs
    )


def _common_notes(gangs: Sequence[GangJob], snapshot: Snapshot) -> Iterator[str]:
    own = {(gang.job.namespace, gang.job.name) for gang in gangs}
    waiting = {key for key in snapshot.waiting if not any(_is_of(key, gang) for gang in own)}
    if waiting:
        has = "has" if len(waiting) == 1 else "have"
        yield (
            f"{count_text(len(waiting), 'other PodGroup')} in the cluster {has} pending pods; packwise ignores "
            "that KAI "
            "may place them first"
        )
    ending = sum(pod.is_ending for pod in snapshot.pods)
    if ending:
        yield (
            f"{count_text(ending, 'pod')} of the cluster is being deleted and counts as running; KAI uses its room"
            if ending == 1
            else f"{ending} pods of the cluster are being deleted and count as running; KAI uses their room"
        )


def _is_of(key: tuple[str, str], gang: tuple[str, str]) -> bool:
    """Return True if the PodGroup `key` belongs to `gang`.

    KAI's pod-grouper makes the name of a PodGroup from `pg`, the name of the gang, and a UID.
    """
    namespace, name = gang
    return key == gang or (key[0] == namespace and key[1].startswith(f"pg-{name}-"))


def _queue_notes(
    gang: GangJob, known: Mapping[str, QueueShare], rivals: Sequence[str], snapshot: Snapshot
) -> Iterator[str]:
    queue = gang.job.queue
    if snapshot.queues is None and queue not in known:
        yield f'the queue "{queue}" is not in the cluster\'s objects; its limits and quotas are not counted'
    elif snapshot.groups is None and any(bound.group for bound in snapshot.pods) and is_bounded(queue, known):
        yield (
            "the cluster's objects include no PodGroups; running pods count in the queues of their labels, and as "
            "preemptible"
        )
    if queue in rivals:
        others = ", ".join([f'"{name}"' for name in rivals if name != queue])
        yield (
            f'the queue "{queue}" competes with {others}; KAI orders them by fair share, which packwise does not '
            "simulate"
        )


def _rivals(gangs: Iterable[GangJob], known: Mapping[str, QueueShare]) -> list[str]:
    """Return the queues of gangs with waiting pods if fair shares decide the order of these queues, or [].

    They decide if there are several queues with quotas, or with different weights, priorities or parents.
    """
    waiting = sorted({gang.job.queue for gang in gangs if any(not pod.node for pod in gang.job.pods)})
    queues = [queue for name in waiting for queue in lineage(name, known)]
    shares = [share for queue in queues for share in (queue.gpu, queue.cpu, queue.memory)]
    is_alike = (
        all(share.quota is None for share in shares)
        and len({(queue.gpu.weight, queue.cpu.weight, queue.memory.weight, queue.priority) for queue in queues}) < 2
        and len({queue.parent for queue in queues if queue.name in waiting}) < 2
    )
    return waiting if len(waiting) > 1 and not is_alike else []


def _group_of(bound: BoundPod, snapshot: Snapshot) -> BoundGroup | None:
    return (snapshot.groups or {}).get((bound.pod.namespace, bound.group))


def _queue(bound: BoundPod, snapshot: Snapshot) -> str:
    group = _group_of(bound, snapshot)
    return bound.queue if group is None else group.queue


def _is_non_preemptible(bound: BoundPod, snapshot: Snapshot) -> bool:
    """Return True if the PodGroup of the pod is non-preemptible."""
    group = _group_of(bound, snapshot)
    if group is None:
        return False
    if group.preemptibility:
        return group.preemptibility == "non-preemptible"
    classes = snapshot.priorities or Priorities()
    default = _PRIORITY if classes.default is None else classes.default
    return classes.by_name.get(group.priority_class, default) >= NOT_PREEMPTIBLE
