"""KAI's objects for what a front end asks. Source: osmo.md 5, kai.md."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from packwise.request import Gang, NodeLevels, Queue
from packwise.schedulers.kai.podgroup import PodGroup, SubGroup, TopologyConstraint
from packwise.schedulers.kai.topology import API_VERSION, TOPOLOGY_KIND

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krmfn.value import Value
    from packwise.request import Asked, Bounds, GangPod, PodSet

__all__ = ["QUEUE_KIND", "requested_value"]

QUEUE_API_VERSION = "scheduling.run.ai/v2"
QUEUE_KIND = "Queue"

_POD_GROUP = "pod-group-name"
_SUB_GROUP = "kai.scheduler/subgroup-name"
_QUEUE = ("kai.scheduler/queue", "runai/queue")
"""What pods say of their queue: the second is read by KAI before v0.6."""

_UNBOUNDED: Mapping[str, Value] = {"quota": -1, "limit": -1, "overQuotaWeight": 1}


def requested_value(asked: Asked) -> Mapping[str, Value]:
    """The manifest that KAI reads."""
    if isinstance(asked, Gang):
        return _pod_group(asked).to_value()
    if isinstance(asked, NodeLevels):
        return _topology(asked)
    if isinstance(asked, Queue):
        return _queue(asked)
    return _pod(asked)


def _topology(levels: NodeLevels) -> Mapping[str, Value]:
    return {
        "apiVersion": API_VERSION,
        "kind": TOPOLOGY_KIND,
        "metadata": {"name": levels.name, "labels": dict(levels.labels)},
        "spec": {"levels": [{"nodeLabel": key} for key in levels.keys]},
    }


def _queue(queue: Queue) -> Mapping[str, Value]:
    gpu = queue.gpu
    resources: dict[str, Value] = {
        "gpu": {"quota": gpu.quota, "limit": gpu.limit, "overQuotaWeight": gpu.weight},
        "cpu": dict(_UNBOUNDED),
        "memory": dict(_UNBOUNDED),
    }
    parent: dict[str, Value] = {} if queue.parent is None else {"parentQueue": queue.parent}
    return {
        "apiVersion": QUEUE_API_VERSION,
        "kind": QUEUE_KIND,
        "metadata": {"name": queue.name, "labels": dict(queue.labels)},
        "spec": {**parent, "resources": resources},
    }


def _pod_group(gang: Gang) -> PodGroup:
    """Pods stand in leaves only, and only leaves say how many: KAI from v0.15 on refuses more. Source: kai.md."""
    return PodGroup(
        gang.name,
        gang.namespace,
        gang.queue,
        gang.priority_class,
        None if gang.sets else gang.members,
        _constraint(gang.bounds, gang.topology),
        tuple([_sub_group(each, gang.topology) for each in gang.sets]),
        {**dict.fromkeys(_QUEUE, gang.queue), **gang.labels},
    )


def _sub_group(pods: PodSet, topology: str) -> SubGroup:
    return SubGroup(pods.name, pods.parent, pods.members, None, _constraint(pods.bounds, topology))


def _constraint(bounds: Bounds | None, topology: str) -> TopologyConstraint | None:
    if bounds is None or (bounds.required is None and bounds.preferred is None):
        return None
    return TopologyConstraint(topology, bounds.required, bounds.preferred)


def _pod(pod: GangPod) -> Mapping[str, Value]:
    """The pod with KAI's own labels, which nobody else's may replace; `pod-group-name` keeps the podgrouper away."""
    metadata = dict(cast("Mapping[str, Value]", pod.value["metadata"]))
    labels = dict(cast("Mapping[str, Value]", metadata.get("labels") or {}))
    labels.pop(_SUB_GROUP, None)
    labels.update(dict.fromkeys(_QUEUE, pod.queue))
    if pod.pod_set is not None:
        labels[_SUB_GROUP] = pod.pod_set
    metadata["labels"] = labels
    metadata["annotations"] = {
        **cast("Mapping[str, Value]", metadata.get("annotations") or {}),
        _POD_GROUP: pod.gang,
    }
    return {**pod.value, "metadata": metadata}
