"""The gangs of the placement model that a workload becomes: by the rule of its kind, with what its metadata say.

Source: spec/podgrouper.md#3, spec/podgrouper.md#4.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.frontends.workloads.jobs import job_set, replicated_jobs, single
from packwise.frontends.workloads.leaders import (
    has_segments,
    leader_worker_set,
    ray_cluster,
    replica_types,
    replicas_of,
    size_of,
)
from packwise.frontends.workloads.workload import (
    GRACE_PERIOD,
    POD_GROUP,
    PREEMPTION_DELAY,
    SEGMENT_SIZE,
    SKIP,
    SUFFIX,
    TOPOLOGY,
    RefusedError,
    annotation_path,
    bounds_of,
    count,
    delay,
    mapping,
    preemptibility,
    priority_class,
    queue,
)
from packwise.objects.place import Origin
from packwise.objects.workload_kinds import Grouping
from packwise.placement import Gang, GangOwner, Grouper
from packwise.settings.topologyrender import KAI_PROFILE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from krmfn.fieldpath import FieldPath
    from packwise.frontends.workloads.workload import GroupShape, Owner, Read, Template, Workload
    from packwise.objects.place import Place

__all__ = ["gangs", "is_idle", "is_passed_over", "pods_in_order", "shapes", "weight"]

_RULE = "spec/podgrouper.md#3"
_SHAPES: Mapping[Grouping, Callable[[Workload], list[GroupShape]]] = {
    Grouping.JOB_SET: job_set,
    Grouping.LEADER_WORKER_SET: leader_worker_set,
    Grouping.REPLICA_TYPES: replica_types,
    Grouping.RAY: ray_cluster,
}
_OWNER = ("apiVersion", "kind", "name", "uid")
"""The fields of an owner's reference, as KAI prints them."""
_INTERNAL = ("config.kubernetes.io/", "internal.config.kubernetes.io/", "packwise.dev/")
"""Annotations that never reach a cluster."""


def shapes(workload: Workload) -> list[GroupShape]:
    """The shapes of its groups. Raises RefusedError where KAI makes none."""
    _check_owners(workload)
    return _SHAPES.get(workload.grouping, single)(workload)


def _check_owners(workload: Workload) -> None:
    """Raises RefusedError where a workload has several owners: only of a Pod KAI takes the first."""
    path: FieldPath = ("metadata", "ownerReferences")
    written = workload.item.get(path)
    if workload.grouping is Grouping.POD or not isinstance(written, list) or len(written) < 2:
        return
    owners = [mapping(each) for each in written]
    values = [" ".join([str(each.get(field, "")) for field in _OWNER]) for each in owners]
    text = (
        f"found {workload.item.kind} <{workload.name} in namespace {workload.namespace}> with multiple owners: "
        f"[{' '.join([f'{{{value} <nil> <nil>}}' for value in values])}]"
    )
    # Of a flag KAI prints the address.
    is_told = not any(flag in each for each in owners for flag in ("controller", "blockOwnerDeletion"))
    raise RefusedError(path, f"must be one owner; got {len(owners)}", text if is_told else "")


def weight(workload: Workload) -> int:
    """The least number of gangs and sets of pods that it becomes, told before any is built."""
    match workload.grouping:
        case Grouping.JOB_SET:
            return sum([max(job.replicas, 0) for job in replicated_jobs(workload)])
        case Grouping.LEADER_WORKER_SET:
            return count(workload.spec, "replicas", 1) * (size_of(workload) // 2 if has_segments(workload) else 1)
        case Grouping.REPLICA_TYPES:
            return sum(
                [replicas_of(workload, each.part, 1) for each in workload.templates if SEGMENT_SIZE in each.annotations]
            )
        case _:
            return len(workload.templates)


def is_idle(workload: Workload) -> bool:
    """True if it has no pods for now: it is suspended, or has no replicas."""
    spec = workload.spec
    if spec.get("suspend") is True or mapping(spec.get("runPolicy")).get("suspend") is True:
        return True
    if "kubeflow-resource-stopped" in workload.owner.annotations:
        return True
    is_scaled = workload.grouping in (
        Grouping.LEADER_WORKER_SET,
        Grouping.OWNER,
        Grouping.EACH_POD,
        Grouping.REPLICA_SET,
    )
    return (is_scaled and spec.get("replicas") == 0) or (
        workload.grouping is Grouping.JOB and workload.body.get("parallelism") == 0
    )


def is_passed_over(workload: Workload, template: Template) -> bool:
    """True if the pod-grouper leaves the pods of a template alone, as they ask."""
    if workload.grouping is Grouping.POD and POD_GROUP in template.annotations:
        return True
    own = mapping(mapping(workload.item.value.get("metadata")).get("annotations"))
    holders = (own, workload.owner.annotations, template.annotations)
    return workload.release.skips_by_annotation and any(each.get(SKIP) == "true" for each in holders)


def pods_in_order(workload: Workload) -> list[Template]:
    """The templates of its pods, in the order in which these are made: leaders, masters and launchers first."""
    templates = [each for each in workload.scheduled_templates if not is_passed_over(workload, each)]
    if workload.grouping is Grouping.LEADER_WORKER_SET:
        # Without a template of its own, the leader has the workers'; a group of one has no workers.
        templates = templates if size_of(workload) > 1 or len(templates) == 1 else templates[:1]
    return sorted(templates, key=lambda each: each.part == "Worker")


def gangs(workload: Workload, of_shapes: list[GroupShape]) -> list[Gang]:
    """The gangs of these shapes. The queue is that of the first pod; all else is the last one's, which wins in KAI."""
    pods = pods_in_order(workload)
    first, last = pods[0], pods[-1]
    return [_gang(workload, shape, first, last) for shape in of_shapes]


def _gang(workload: Workload, shape: GroupShape, first: Template, last: Template) -> Gang:
    owner, release = workload.owner, workload.release
    in_queue = queue(owner, first)
    priority = priority_class(workload, owner, last)
    # Of a revision, KAI reads a queue and a priority alone.
    reads_all = workload.grouping is not Grouping.REVISION
    reads_delays = reads_all and release.delays
    preempted = preemptibility(workload, owner, last) if reads_all else None
    delays = [delay(owner, last, key) for key in (PREEMPTION_DELAY, GRACE_PERIOD)] if reads_delays else []
    annotations: Mapping[str, str] = owner.annotations if reads_all else {}
    reads = {"queue": in_queue, "priorityClassName": priority}
    if preempted is not None:
        reads["preemptibility"] = preempted
    reads |= dict(zip(("preemptionDelay", "stalenessGracePeriod"), delays, strict=False))
    fields: dict[str, FieldPath | Place] = {
        "name": workload.at("metadata", "name"),
        "namespace": workload.at("metadata", "namespace"),
        "labels": workload.at(*owner.labels_path, "labels"),
        "annotations": workload.at(*owner.path, "annotations"),
        **_places(workload, reads),
        **({"topology": workload.at(*annotation_path(owner.path, TOPOLOGY))} if TOPOLOGY in annotations else {}),
    }
    made_for = _gang_owner(shape, owner)
    named = f"{owner.name}-{SUFFIX}" if shape.each_pod and owner.kind != "Pod" else owner.name
    return Gang(
        name=_spark_name(workload, first) or f"pg-{named}-{made_for.uid}{shape.suffix}",
        namespace=workload.namespace,
        workload=workload.name,
        sets=shape.sets,
        bounds=bounds_of(workload, annotations, owner.path),
        members=shape.members,
        topology=annotations.get(TOPOLOGY, ""),
        grouper=Grouper.OWNER,
        origin=shape.origin,
        owner=Origin(workload.at(), _RULE, fields),
        queue=in_queue.value,
        queues=tuple(dict.fromkeys([queue(owner, pod).value for pod in pods_in_order(workload)])),
        priority_class=priority.value,
        scheduler=KAI_PROFILE,
        labels=_labels(owner, last),
        annotations={key: text for key, text in owner.annotations.items() if not key.startswith(_INTERNAL)},
        needed=shape.needed,
        preemptibility=preempted.value if preempted is not None else "",
        preemption_delay=delays[0].value if delays else "",
        grace_period=delays[1].value if delays else "",
        made_for=made_for,
        alike=shape.alike,
    )


def _spark_name(workload: Workload, pod: Template) -> str:
    """The name of the group of Spark's driver, which all executors of the application share; "" for other pods."""
    is_spark = workload.grouping is Grouping.POD and "spark-app-name" in pod.labels
    return pod.labels.get("spark-app-selector", "") if is_spark else ""


def _places(workload: Workload, reads: Mapping[str, Read]) -> dict[str, Place]:
    return {field: read.place or workload.at(*read.path) for field, read in reads.items() if read.place or read.path}


def _gang_owner(shape: GroupShape, owner: Owner) -> GangOwner:
    # Where each pod of a Job has a group, that is the Job's all the same.
    if shape.each_pod and owner.kind not in ("Job", "Pod"):
        return GangOwner("v1", "Pod", f"{owner.name}-{SUFFIX}")
    return GangOwner(owner.api_version, owner.kind, owner.name)


def _labels(owner: Owner, pod: Template) -> Mapping[str, str]:
    more = {key: pod.labels[key] for key in ("user", "kai.scheduler/node-pool") if key in pod.labels}
    return {**more, **owner.labels}
