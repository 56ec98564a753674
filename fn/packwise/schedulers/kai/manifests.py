"""KAI's Queue, and a pod with the labels by which KAI schedules it. Source: spec/osmo.md#5, spec/kai.md."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.objects.kinds import QUEUE
from packwise.schedulers.kai.gang_podgroup import QUEUE_LABELS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krmfn.value import Value
    from packwise.placement import GangPod, Queue

__all__ = ["pod_value", "queue_value"]

_POD_GROUP = "pod-group-name"
_SUB_GROUP = "kai.scheduler/subgroup-name"
_UNBOUNDED: Mapping[str, Value] = {"quota": -1, "limit": -1, "overQuotaWeight": 1}


def queue_value(queue: Queue) -> Mapping[str, Value]:
    """`scheduling.run.ai/v2 Queue`."""
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
    """The pod with KAI's own labels, which nobody else's may replace; `pod-group-name` keeps the podgrouper away."""
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
