"""The group of a job of Kubeflow's training operator: replicas by type; PyTorch's workers may be segments.

Source: spec/podgrouper.md#7.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
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
    from collections.abc import Iterator

    from krmfn.fieldpath import FieldPath
    from packwise.frontends.workloads.workload import Template, Workload

__all__ = ["MASTER", "MIN_AVAILABLE", "WORKER", "replica_types", "replicas_of", "template_of", "waits_for_workers"]

MASTER, WORKER, _LAUNCHER = "Master", "Worker", "Launcher"
MIN_AVAILABLE: FieldPath = ("spec", "runPolicy", "schedulingPolicy", "minAvailable")
_ELASTIC: FieldPath = ("spec", "elasticPolicy", "minReplicas")
_RULE = "spec/podgrouper.md#7"


def replica_types(workload: Workload) -> list[Shape]:
    """The group of all replicas. Raises RefusedError."""
    members, path = _members(workload)
    is_pytorch = workload.kind is not None and workload.kind.name == "PyTorchJob"
    sets = tuple(_pytorch(workload, members) if is_pytorch else _unnamed(workload, members))
    fields: dict[str, FieldPath] = {"members": path} if path else {}
    return [Shape(sets, Origin(workload.at(), _RULE, fields), members)]


def template_of(workload: Workload, name: str) -> Template | None:
    """The pod template of a type of replicas."""
    return next((each for each in workload.templates if each.part == name), None)


def replicas_of(workload: Workload, name: str, default: int = 0) -> int:
    """How many replicas of a type are written."""
    return count(mapping(workload.body.get(name)), "replicas", default)


def waits_for_workers(workload: Workload) -> bool:
    """Whether the launcher of an MPIJob is made only once its workers are ready."""
    return workload.spec.get("launcherCreationPolicy") == "WaitForWorkersReady"


def _members(workload: Workload) -> tuple[int, FieldPath]:
    """How many pods the group needs, and what says so; "" where all of them are."""
    least = _number(workload, MIN_AVAILABLE)
    total = least if least is not None else _total(workload)
    path: FieldPath = () if least is None else MIN_AVAILABLE
    if least is None and workload.kind is not None and workload.kind.name == "PyTorchJob":
        elastic = _number(workload, _ELASTIC)
        total, path = (total, path) if elastic is None else (elastic, _ELASTIC)
    if waits_for_workers(workload):
        total -= replicas_of(workload, _LAUNCHER)
    return total, path


def _number(workload: Workload, path: FieldPath) -> int | None:
    value = workload.item.get(path)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _total(workload: Workload) -> int:
    name, required = workload.name, workload.kind.required if workload.kind is not None else ()
    job = f"the type of the job {name} doesn't"
    types = workload.body
    for missing in [each for each in required if each not in types]:
        text = f"{job} have a {missing} replica spec which is required. Please fix the replica field"
        raise RefusedError(workload.body_path, f"must have {missing}", text)
    for each in types:
        if replicas_of(workload, each) == 0:
            text = f"{job} allow for 0 {each} pods. Please fix the replica field"
            message = "must be at least 1: KAI does not take the training operator's default"
            raise RefusedError((*workload.body_path, each, "replicas"), message, text)
    return sum([replicas_of(workload, each) for each in types])


def _unnamed(workload: Workload, members: int) -> Iterator[PodSet]:
    """The replicas by type, of which the scheduler knows nothing."""
    left = members
    for template in workload.templates:
        pods = replicas_of(workload, template.part, 1)
        taken = max(min(left, pods), 0)
        left -= taken
        yield pod_set(
            workload, template, template.part.lower(), taken, _origin(workload, template), replicas=pods, is_named=False
        )


def _pytorch(workload: Workload, members: int) -> Iterator[PodSet]:
    master, worker = template_of(workload, MASTER), template_of(workload, WORKER)
    masters = replicas_of(workload, MASTER)
    if master is not None and masters > 0:
        yield pod_set(workload, master, "master", masters, _origin(workload, master))
    if worker is None:
        return
    least, workers = max(0, members - masters), replicas_of(workload, WORKER, 1)
    size = _segment_size(workload, worker, has_master=master is not None and masters > 0)
    origin = _origin(workload, worker)
    if size is None:
        yield pod_set(workload, worker, "worker", least, origin, replicas=workers)
        return
    topology = worker.annotations.get(TOPOLOGY) or workload.owner.annotations.get(TOPOLOGY) or ""
    bounds = bounds_of(workload, worker.annotations, worker.metadata, (SEGMENT_REQUIRED, SEGMENT_PREFERRED))
    if not topology or bounds.is_empty:
        topology, bounds = "", Bounds()
    segments = -(-workers // size)
    yield PodSet("worker", None, None, Bounds(), origin, needed=segments)
    due, counts = -(-least // size), workload.release.counts_segments
    sized = Origin(origin.place, _RULE, {"members": workload.at(*annotation_path(worker.metadata, SEGMENT_SIZE))})
    for index in range(segments):
        pods = min(size, workers - index * size)
        yield pod_set(
            workload, worker, f"worker-{index}", pods if index < due or not counts else 0, sized,
            parent="worker", replicas=pods, bounds=bounds, topology=topology,
        )  # fmt: skip


def _segment_size(workload: Workload, worker: Template, *, has_master: bool) -> int | None:
    text = worker.annotations.get(SEGMENT_SIZE)
    if not text:
        return None
    path, size = annotation_path(worker.metadata, SEGMENT_SIZE), atoi(text)
    if isinstance(size, str):
        where = "worker podTemplate" if has_master else f"pod {workload.namespace}/{workload.name}-worker-0"
        message = f'must be a whole number of pods, at least 1; got "{text}"'
        raise RefusedError(path, message, f"invalid segment size {text} on {where}, err: {size}")
    if size < 1:
        fault = f"segment size {text} on worker podTemplate needs to be a positive integer" if has_master else ""
        message = f"must be at least 1; got {size}: KAI's pod-grouper dies of it at every worker pod, without an event"
        raise RefusedError(path, message, fault)
    return size


def _origin(workload: Workload, template: Template) -> Origin:
    return Origin(workload.at(*template.path[:-1]), _RULE, {"members": ("replicas",)})
