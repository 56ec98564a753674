"""The groups of a LeaderWorkerSet: one for each replica, of a leader and its workers, or of segments.

Source: spec/podgrouper.md#6.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.frontends.workloads.attributes import (
    SEGMENT_PREFERRED,
    SEGMENT_REQUIRED,
    SEGMENT_SIZE,
    TOPOLOGY,
    annotation_path,
    bounds_of,
)
from packwise.frontends.workloads.shape import RefusedError, Shape, pod_set
from packwise.frontends.workloads.workload import count, mapping
from packwise.kubernetes.quantities import atoi
from packwise.objects.place import Origin
from packwise.placement import Bounds, PodSet

if TYPE_CHECKING:
    from krmfn.fieldpath import FieldPath
    from packwise.frontends.workloads.workload import Template, Workload

__all__ = [
    "Segments",
    "has_segments",
    "leader_template",
    "leader_waits",
    "leader_worker_set",
    "segments_of",
    "size_of",
    "worker_template",
]

_RULE = "spec/podgrouper.md#6"
_BODY = ("spec", "leaderWorkerTemplate")
_POLICIES = (None, "LeaderCreated", "LeaderReady")


class Segments(NamedTuple):
    """Parts of so many pods, as what stands at `path` says; `leads`: the leader is in the first one."""

    size: int
    path: FieldPath
    leads: bool


def worker_template(workload: Workload) -> Template | None:
    """The template of workers, and of leaders that have none of their own."""
    return _template(workload, "workerTemplate")


def leader_template(workload: Workload) -> Template | None:
    """The template of leaders."""
    return _template(workload, "leaderTemplate") or worker_template(workload)


def size_of(workload: Workload) -> int:
    """How many pods each replica has."""
    return count(mapping(workload.spec.get("leaderWorkerTemplate")), "size", 1)


def leader_waits(workload: Workload) -> bool:
    """Whether workers are made only once their leader is ready."""
    return workload.spec.get("startupPolicy") == "LeaderReady"


def leader_worker_set(workload: Workload) -> list[Shape]:
    """The groups of a LeaderWorkerSet. Raises RefusedError."""
    policy = workload.spec.get("startupPolicy")
    if policy not in _POLICIES:
        message = f'must be "LeaderCreated" or "LeaderReady"; got "{policy}"'
        raise RefusedError(("spec", "startupPolicy"), message, f"unknown startupPolicy: {policy}")
    leader, worker = leader_template(workload), worker_template(workload)
    if leader is None:
        return []
    size, segments = size_of(workload), segments_of(workload)
    worker = worker or leader
    sets = (
        _whole(workload, leader, worker, size)
        if segments is None
        else _segmented(workload, leader, worker, size, segments)
    )
    fields: dict[str, FieldPath] = {"members": (*_BODY, "size"), "copies": ("spec", "replicas")}
    origin = Origin(workload.at(), _RULE, fields)
    replicas = count(workload.spec, "replicas", 1)
    return [Shape(sets, origin, size, suffix=f"-group-{index}") for index in range(replicas)]


def has_segments(workload: Workload) -> bool:
    """Whether segments are asked for, whatever their size. Raises RefusedError where that is no number."""
    return _segment_size(workload) is not None


def segments_of(workload: Workload) -> Segments | None:
    """The segments that the workload asks for; None where it asks for none. Raises RefusedError."""
    policy = mapping(mapping(workload.spec.get("leaderWorkerTemplate")).get("subGroupPolicy"))
    written = _segment_size(workload)
    if written is None:
        return None
    size, path = written
    whole = size_of(workload)
    fault, message = "", ""
    if size <= 1:
        fault = f"segmentSize {size} is not valid. It must be greater than 1"
        message = f"must be at least 2; got {size}"
    elif size > whole:
        fault = f"segmentSize {size} is greater than replicasSize {whole}"
        message = f"must be at most {whole}, the size of the group; got {size}"
    if fault:
        raise RefusedError(path, message, _failed(workload, fault))
    leads = policy.get("subGroupPolicyType") != "LeaderExcluded"
    if not leads and (whole - 1) % size:
        text = (
            f"replicasSize {whole} is not divisible by segmentSize {size}. LeaderExcluded policy is only supported "
            "when replicasSize is divisible by segmentSize."
        )
        raise RefusedError(path, f"must divide the {whole - 1} workers of a group; got {size}", text)
    return Segments(size, path, leads)


def _segment_size(workload: Workload) -> tuple[int, FieldPath] | None:
    policy = mapping(mapping(workload.spec.get("leaderWorkerTemplate")).get("subGroupPolicy"))
    size = policy.get("subGroupSize")
    if isinstance(size, int):
        return size, (*_BODY, "subGroupPolicy", "subGroupSize")
    worker = worker_template(workload)
    holders = [("", workload.owner.annotations, workload.owner.path)]
    if worker is not None:
        holders.append(("workerTemplate of ", worker.annotations, worker.metadata))
    for of, texts, metadata in holders:
        text = texts.get(SEGMENT_SIZE)
        if not text:
            continue
        path, number = annotation_path(metadata, SEGMENT_SIZE), atoi(text)
        if isinstance(number, str):
            where = f"{of}LWS {workload.namespace}/{workload.name}"
            fault = f"invalid segment size annotation {text} in {where}: {number}"
            raise RefusedError(path, f'must be a whole number of pods; got "{text}"', _failed(workload, fault))
        return number, path
    return None


def _failed(workload: Workload, fault: str) -> str:
    return f"failed to get sub group policy for LWS {workload.namespace}/{workload.name}: {fault}"


def _whole(workload: Workload, leader: Template, worker: Template, size: int) -> tuple[PodSet, ...]:
    first = pod_set(workload, leader, "leader", 1, Origin(workload.at(*leader.path), _RULE))
    if size < 2:
        return (first,)
    origin = Origin(workload.at(*worker.path), _RULE, {"members": workload.at(*_BODY, "size")})
    return first, pod_set(workload, worker, "workers", size - 1, origin)


def _segmented(
    workload: Workload, leader: Template, worker: Template, size: int, segments: Segments
) -> tuple[PodSet, ...]:
    topology = worker.annotations.get(TOPOLOGY) or workload.owner.annotations.get(TOPOLOGY) or ""
    bounds = bounds_of(workload, worker.annotations, worker.metadata, (SEGMENT_REQUIRED, SEGMENT_PREFERRED))
    if not topology:
        bounds = Bounds()
    topology = "" if bounds.is_empty else topology
    origin = Origin(workload.at(*worker.path), _RULE, {"members": workload.at(*segments.path)})
    at_leader = Origin(workload.at(*leader.path), _RULE)
    # The leader counts among the pods of segments unless the workers fill theirs alone.
    pods = size - 1 if (size - 1) % segments.size == 0 else size
    sizes = [min(segments.size, pods - start) for start in range(0, pods, segments.size)]

    def segment(index: int, members: int) -> PodSet:
        return pod_set(workload, worker, f"segment-{index}", members, origin, bounds=bounds, topology=topology)

    if not segments.leads:
        own = pod_set(workload, leader, "leader", 1, at_leader)
        return own, *[segment(index, members) for index, members in enumerate(sizes)]
    beside = sizes[0] if pods < size else sizes[0] - 1
    return (
        PodSet("segment-0", None, None, bounds, origin, needed=2, topology=topology),
        *[segment(index, members) for index, members in enumerate(sizes) if index],
        pod_set(workload, leader, "leader", 1, at_leader, parent="segment-0"),
        pod_set(workload, worker, "workers", beside, origin, parent="segment-0"),
    )


def _template(workload: Workload, name: str) -> Template | None:
    return next((each for each in workload.templates if each.part == name), None)
