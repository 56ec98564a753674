"""The jobs of the input for the simulation of Kueue's scheduler: one job for each Workload that Kueue makes.

Source: spec/kueue.md#3 and #9.7; Kueue, the integrations' PodSets, and pkg/controller/jobs/pod.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

from krmfn.hints import TYPE_CHECKING, Record
from packwise.lenient import integer, mappings, text, text_at, value_at
from packwise.objects.index import is_placeholder
from packwise.objects.workload_kinds import Integration, is_queued
from packwise.schedulers.kueue.allocate.scene import Job, PodSet
from packwise.schedulers.kueue.cluster import node_rules, pod_request
from packwise.schedulers.kueue.configuration import KnownDevices, read_devices, unmapped_class
from packwise.schedulers.kueue.manager import read_manager
from packwise.schedulers.kueue.pod_resources import adjust, resource_fault
from packwise.schedulers.kueue.podsets import (
    POD_COUNT,
    POD_GROUP,
    jobs_of,
    owners_of_queued,
    too_many_sets,
    unlike_pods,
    with_single_pods,
)
from packwise.schedulers.kueue.request import PREFIX, TopologyRequest, parse_int32, read_request, unread_annotation
from packwise.wording import count_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.objects.index import Index
    from packwise.revisions.kueue import KueueRelease
    from packwise.schedulers.kueue.pod_resources import ResourceRules
    from packwise.schedulers.kueue.podsets import KueueJob, KueuePodSet

_MIN_PARALLELISM = f"{PREFIX}job-min-parallelism"
_PRIORITY_CLASS = f"{PREFIX}priority-class"

_MAX_REPLICAS = 10_000
"""The largest number of Workloads that packwise makes of one object."""


class Obstacle(Record):
    """The reason why Kueue never tries to place a job, and Kueue's own text or ""."""

    reason: str
    message: str = ""


class QueuedJob(Record):
    """A job for the scheduler, with its object in the input and its pod sets.

    If the job is a group of pods, `item` is the first pod and `other_objects` are the others. `manager` is the
    controller in `managedBy`. `notes` name the facts that Kueue ignores.
    """

    job: Job
    item: KubeObject
    sets: tuple[KueuePodSet, ...]
    other_objects: tuple[KubeObject, ...] = ()
    obstacle: Obstacle | None = None
    manager: str = ""
    notes: tuple[str, ...] = ()


class JobPriorities(Record):
    """The values of WorkloadPriorityClasses and PriorityClasses by name. `default` is the default class's value."""

    of_workloads: Mapping[str, int]
    of_pods: Mapping[str, int]
    default: int = 0


def queued_jobs(
    index: Index, release: KueueRelease, priorities: JobPriorities, rules: ResourceRules
) -> list[QueuedJob]:
    """Return the jobs that name a queue, in the order of the input."""
    queued: list[QueuedJob] = []
    groups: dict[tuple[str, str], list[KueueJob]] = {}
    for job in [adjust(each, rules) for each in jobs_of(index)]:
        # A pod with a node runs already.
        if not job.queue or job.item.get("spec.nodeName"):
            continue
        group = job.item.labels.get(POD_GROUP) if job.kind.integration is Integration.POD else None
        if group:
            groups.setdefault((job.item.namespace or "", group), []).append(job)
        elif job.kind.integration is Integration.LEADER_WORKER_SET:
            queued += _replicas(job, release, priorities)
        else:
            queued.append(_queued_job(job, name_of(job.item), job.sets, release, priorities))
    for job in [adjust(each, rules) for each in owners_of_queued(index)]:
        queued += _made_jobs(job, release, priorities)
    copied = read_manager(index).copied_labels if groups else ()
    queued += [_pod_group(name, pods, release, priorities, copied) for (_, name), pods in groups.items()]
    devices = read_devices(index) if release.counts_devices else KnownDevices(None, {})
    queued = [
        each.replace(obstacle=each.obstacle or _resource_obstacle(each, rules) or _device_obstacle(each, devices))
        for each in queued
    ]
    places = {id(item): place for place, item in enumerate(index.users.values())}
    return sorted(queued, key=lambda each: places.get(id(each.item), 0))


def name_of(item: KubeObject) -> str:
    """Return the name of an object, with xxxxx for the letters that the API server appends to a `generateName`."""
    return item.name or f"{text_at(item.value, 'metadata', 'generateName')}xxxxx"


def _replicas(job: KueueJob, release: KueueRelease, priorities: JobPriorities) -> Iterator[QueuedJob]:
    """Yield a job for each replica of a LeaderWorkerSet. Kueue makes one Workload of each."""
    replicas = min(integer(job.item.get("spec.replicas"), 1), _MAX_REPLICAS)
    for number in range(replicas):
        name = name_of(job.item) if replicas == 1 else f"{name_of(job.item)}-{number}"
        yield _queued_job(job, name, job.sets, release, priorities)


def _made_jobs(job: KueueJob, release: KueueRelease, priorities: JobPriorities) -> Iterator[QueuedJob]:
    """Yield the jobs for an object that creates pods or a Job.

    If Kueue queues the pods, as for a Deployment, each pod is a job.
    """
    if not job.queues_pods:
        yield _queued_job(job, name_of(job.item), job.sets, release, priorities)
        return
    pods = min(sum([each.count for each in job.sets]), _MAX_REPLICAS)
    for number in range(pods):
        name = name_of(job.item) if pods == 1 else f"{name_of(job.item)}-{number}"
        yield _queued_job(job, name, with_single_pods(job).sets, release, priorities)


def _pod_group(
    name: str,
    pods: Sequence[KueueJob],
    release: KueueRelease,
    priorities: JobPriorities,
    copied_labels: Sequence[str],
) -> QueuedJob:
    """Return the job of a group of pods. It has a pod set for each role, and the spec of a pod decides its role."""
    total = parse_int32(text(pods[0].metadata("annotations").get(POD_COUNT))) or 0
    # Kueue deletes pods beyond the total number of the group.
    counted = sorted(pods, key=lambda each: each.item.name)[: max(total, 1) if total else None]
    roles: dict[str, list[KueuePodSet]] = {}
    for pod in counted:
        for each in pod.sets:
            roles.setdefault(_role(each.pod_spec), []).append(each)
    # Annotations do not decide the role. The annotations of the first pod of a role count for all its pods.
    sets = [replace(members[0], name=role, count=len(members)) for role, members in roles.items()]
    queued = _queued_job(pods[0], name, sets, release, priorities)
    reason = queued.obstacle
    if len(pods) < total:
        lacking = total - len(pods)
        reason = Obstacle(
            f"{count_text(lacking, 'pod')} of the group {'is' if lacking == 1 else 'are'} missing: it has "
            f"{len(pods)} of {total}, and Kueue waits for the others",
            f"'{name}' group has fewer runnable pods than expected",
        )
    elif unlike := unlike_pods([pod.item for pod in counted], copied_labels):
        reason = Obstacle("the pods of the group differ, and Kueue makes no Workload of them", unlike.text)
    return queued.replace(obstacle=reason, other_objects=tuple([pod.item for pod in pods[1:]]))


def _role(spec: Mapping[str, Value]) -> str:
    """Return a name for the role of pods with this spec: a hash of the fields that Kueue compares."""
    fields = ("nodeSelector", "affinity", "tolerations", "runtimeClassName", "priority", "topologySpreadConstraints",
              "overhead", "resourceClaims", "resources")  # fmt: skip
    shape: list[Value] = [spec.get(field) for field in fields]
    for part in ("initContainers", "containers"):
        shape.append([
            [value_at(container, "resources", "requests"), container.get("ports")]
            for container in mappings(spec.get(part))
        ])  # fmt: skip
    return hashlib.sha256(json.dumps(shape, sort_keys=True).encode()).hexdigest()[:8]


def _queued_job(
    job: KueueJob, name: str, sets: Sequence[KueuePodSet], release: KueueRelease, priorities: JobPriorities
) -> QueuedJob:
    least = parse_int32(text(job.metadata("annotations").get(_MIN_PARALLELISM)))
    is_partial = job.kind.integration is Integration.JOB and least is not None and len(sets) == 1
    read = [_pod_set(each, release, least if is_partial else None) for each in sets]
    return QueuedJob(
        Job(
            namespace=job.item.namespace or "",
            name=name,
            queue=job.queue,
            sets=tuple(read),
            priority=_priority(job, sets, priorities),
            created=text_at(job.item.value, "metadata", "creationTimestamp"),
        ),
        job.item,
        tuple(sets),
        obstacle=_priority_obstacle(job, priorities) or _size_obstacle(job, release),
        manager=text(job.item.get(job.manager_path)),
    )


def _device_obstacle(queued: QueuedJob, devices: KnownDevices) -> Obstacle | None:
    """Return an obstacle if a pod set claims a DeviceClass that Kueue does not map to a resource, or None."""
    unmapped = unmapped_class(queued.sets, queued.item.namespace or "", devices)
    if unmapped is None:
        return None
    return Obstacle(f'Kueue\'s configuration maps the DeviceClass "{unmapped.name}" to no resource', unmapped.text)


def _size_obstacle(job: KueueJob, release: KueueRelease) -> Obstacle | None:
    message = too_many_sets(job, release)
    reason = f"the job has {len(job.sets)} pod sets, and a Workload can have only {release.most_pod_sets}"
    return Obstacle(reason, message) if message else None


def _resource_obstacle(queued: QueuedJob, rules: ResourceRules) -> Obstacle | None:
    """Return an obstacle if Kueue refuses the resources of a pod set, or None."""
    refused = resource_fault(queued.sets, queued.item.namespace or "", rules)
    if refused is None:
        return None
    each, fault = refused
    return Obstacle(f'a {fault.subject} of the pod set "{each.name}" {fault.cause}', fault.text)


def _priority_obstacle(job: KueueJob, priorities: JobPriorities) -> Obstacle | None:
    """Return an obstacle if the job's WorkloadPriorityClass does not exist although others do, or None."""
    name = text(job.metadata("labels").get(_PRIORITY_CLASS))
    if not name or name in priorities.of_workloads or not priorities.of_workloads or is_placeholder(name):
        return None
    return Obstacle(f'the WorkloadPriorityClass "{name}" does not exist, and Kueue makes no Workload without it')


def _pod_set(each: KueuePodSet, release: KueueRelease, least: int | None) -> PodSet:
    annotations = each.template.annotations
    request = None if unread_annotation(annotations, release) else read_request(annotations, release)
    # Kueue admits fewer pods only if the minimum is above 0 and below the number of pods.
    fewer = least if least is not None and 0 < least < each.count else None
    return PodSet(
        each.name,
        each.count,
        pod_request(each.pod_spec),
        request or TopologyRequest(),
        node_rules(each.pod_spec),
        fewer,
    )


def _priority(job: KueueJob, sets: Iterable[KueuePodSet], priorities: JobPriorities) -> int:
    """Return the priority of the job's Workload.

    It is the value of the job's WorkloadPriorityClass, or else of the first PriorityClass that a pod set names.
    """
    name = text(job.metadata("labels").get(_PRIORITY_CLASS))
    if name:
        return priorities.of_workloads.get(name, 0)
    named = [name for each in sets if (name := text(each.pod_spec.get("priorityClassName")))]
    return priorities.of_pods.get(named[0], 0) if named else priorities.default


def unread_jobs(items: Iterable[KubeObject], read: set[int]) -> int:
    """Return the number of objects that name a queue and are not in `read`, a set of ids of objects."""
    return sum(is_queued(item) and id(item) not in read for item in items)
