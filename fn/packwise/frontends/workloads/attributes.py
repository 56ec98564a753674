"""What a group takes from the labels and annotations of its owner and its pods.

Source: spec/podgrouper.md#2, spec/podgrouper.md#3.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.frontends.workloads.workload import QUEUE
from packwise.kubernetes.quantities import format_duration, parse_duration
from packwise.objects.place import Origin
from packwise.placement import Bounds
from packwise.topology import Level

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krmfn.fieldpath import FieldPath
    from packwise.frontends.workloads.workload import Owner, Template, Workload

__all__ = [
    "BATCH_MIN_MEMBER",
    "GRACE_PERIOD",
    "POD_GROUP",
    "PREEMPTIBILITY",
    "PREEMPTION_DELAY",
    "PREFERRED",
    "REQUIRED",
    "SEGMENT_PREFERRED",
    "SEGMENT_REQUIRED",
    "SEGMENT_SIZE",
    "SKIP",
    "TOPOLOGY",
    "Read",
    "annotation_path",
    "bounds_of",
    "delay",
    "preemptibility",
    "priority_class",
    "queue",
    "wrong_delays",
]

TOPOLOGY = "kai.scheduler/topology"
REQUIRED = "kai.scheduler/topology-required-placement"
PREFERRED = "kai.scheduler/topology-preferred-placement"
SEGMENT_SIZE = "kai.scheduler/segment-size"
SEGMENT_REQUIRED = "kai.scheduler/segment-topology-required-placement"
SEGMENT_PREFERRED = "kai.scheduler/segment-topology-preferred-placement"
BATCH_MIN_MEMBER = "kai.scheduler/batch-min-member"
SKIP = "kai.scheduler/skip-podgrouper"
POD_GROUP = "pod-group-name"
RAY_CLASS = "ray.io/priority-class-name"
PREEMPTION_DELAY = "kai.scheduler/preemption-delay"
GRACE_PERIOD = "kai.scheduler/staleness-grace-period"

_NODE_POOL = "kai.scheduler/node-pool"
PREEMPTIBILITY = "kai.scheduler/preemptibility"
_PRIORITY = "priorityClassName"
_PROJECT = "project"
_DEFAULT_QUEUE = "default-queue"
_PREEMPTIBILITIES = ("preemptible", "non-preemptible")


class Read(NamedTuple):
    """A value, and the path of the field that it is read from; () where nobody wrote it."""

    value: str
    path: FieldPath = ()


def annotation_path(metadata: FieldPath, key: str) -> FieldPath:
    """The path of an annotation in the metadata at a path."""
    return (*metadata, "annotations", key)


def queue(owner: Owner, pod: Template) -> Read:
    """The queue of a group: the label of the owner, else of the pod, else what `project` says. An empty one counts."""
    for labels, path in _labels(owner, pod):
        if QUEUE in labels:
            return Read(labels[QUEUE], (*path, "labels", QUEUE))
    for labels, path in _labels(owner, pod):
        if _PROJECT in labels:
            project = labels[_PROJECT]
            pool = pod.labels.get(_NODE_POOL)
            if project:
                return Read(project if pool is None else f"{project}-{pool}", (*path, "labels", _PROJECT))
            break
    return Read(_DEFAULT_QUEUE)


def priority_class(workload: Workload, owner: Owner, pod: Template) -> Read:
    """The PriorityClass of a group: the label of the owner, else of the pod, else the pod's own, where it exists."""
    ray = owner.labels.get(RAY_CLASS) if workload.kind is not None and workload.kind.group == "ray.io" else None
    if ray is not None:
        return Read(ray, (*owner.path, "labels", RAY_CLASS))
    named = _named_class(owner, pod)
    exists = workload.classes is None or named.value in workload.classes
    return named if named.value and exists else Read(workload.fallback_class)


def _named_class(owner: Owner, pod: Template) -> Read:
    for labels, path in _labels(owner, pod):
        if _PRIORITY in labels:
            return Read(labels[_PRIORITY], (*path, "labels", _PRIORITY))
    name = pod.spec.get(_PRIORITY)
    return Read(name, (*pod.path, "spec", _PRIORITY)) if isinstance(name, str) else Read("")


def preemptibility(owner: Owner, pod: Template) -> Read:
    """Whether a group may be preempted, in the words of its label; "" where neither owner nor pod says."""
    for labels, path in _labels(owner, pod):
        if labels.get(PREEMPTIBILITY) in _PREEMPTIBILITIES:
            return Read(labels[PREEMPTIBILITY], (*path, "labels", PREEMPTIBILITY))
    return Read("")


def delay(owner: Owner, pod: Template, key: str) -> Read:
    """A duration as KAI stores it; "" where neither owner nor pod has one."""
    for texts, path in _annotations(owner, pod):
        if key in texts and not _delay_fault(key, texts[key]):
            nanoseconds = parse_duration(texts[key])
            return Read(format_duration(nanoseconds or 0), (*path, "annotations", key))
    return Read("")


def wrong_delays(owner: Owner, pod: Template) -> Iterator[tuple[FieldPath, str, str]]:
    """The durations that KAI passes over: path, value, and what it should be."""
    for texts, path in _annotations(owner, pod):
        for key in (PREEMPTION_DELAY, GRACE_PERIOD):
            if key in texts and (fault := _delay_fault(key, texts[key])):
                yield (*path, "annotations", key), texts[key], fault


def _delay_fault(key: str, text: str) -> str:
    nanoseconds = parse_duration(text)
    if nanoseconds is None:
        return 'a duration with its unit, as "90s"'
    return "a duration that is not negative" if nanoseconds < 0 and key == PREEMPTION_DELAY else ""


def bounds_of(
    workload: Workload,
    annotations: Mapping[str, str],
    metadata: FieldPath,
    keys: tuple[str, str] = (REQUIRED, PREFERRED),
) -> Bounds:
    """The levels that annotations ask for; `metadata` is the path of what has them."""
    required, preferred = (annotations.get(key) or "" for key in keys)
    fields = {
        name: annotation_path((), key)
        for name, key, level in (("required", keys[0], required), ("preferred", keys[1], preferred))
        if level
    }
    if not fields:
        return Bounds()
    origin = Origin(workload.at(*metadata), "spec/podgrouper.md#2", fields)
    return Bounds(_level(required), _level(preferred), origin)


def _level(key: str) -> Level | None:
    """A level by the key of its node label, or by its alias: KAI's topologies have no domains."""
    return Level("", key) if key else None


def _labels(owner: Owner, pod: Template) -> tuple[tuple[Mapping[str, str], FieldPath], ...]:
    return (owner.labels, owner.path), (pod.labels, pod.metadata)


def _annotations(owner: Owner, pod: Template) -> tuple[tuple[Mapping[str, str], FieldPath], ...]:
    both = (owner.annotations, owner.path), (pod.annotations, pod.metadata)
    return both[:1] if owner.path == pod.metadata else both
