"""The groups of workloads with leaders and workers: LeaderWorkerSets, Ray clusters, and Kubeflow's replicas by type.

Each replica of a LeaderWorkerSet is one group. The sets of the group are a leader and its workers, or segments. The
workers of a PyTorchJob can also form segments. Source: spec/podgrouper.md#6, #7 and #8.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING, Record
from packwise.findings import Origin
from packwise.frontends.workloads.workload import (
    SEGMENT_LEVELS,
    SEGMENT_SIZE,
    TOPOLOGY,
    GroupShape,
    RefusedError,
    annotation_path,
    bounds_of,
    pod_set,
)
from packwise.kubernetes import atoi
from packwise.lenient import integer, mapping, mapping_at, mappings_in_place, value_at
from packwise.lenient import text as text_of
from packwise.objects.index import identity
from packwise.objects.workload_kinds import Grouping, workload_kind
from packwise.placement import Bounds, PodSet

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from packwise.frontends.workloads.workload import Template, Workload

_LWS_RULE = "spec/podgrouper.md#6"
_BODY = ("spec", "leaderWorkerTemplate")
_POLICIES = (None, "LeaderCreated", "LeaderReady")


class Segments(Record):
    """Segments with `size` pods each, as the field at `path` requests.

    `leads` is true if the leader is in the first segment.
    """

    size: int
    path: FieldPath
    leads: bool

    def sizes(self, whole: int) -> list[int]:
        """Return the number of pods that KAI counts for each segment of a group with `whole` pods."""
        # KAI counts the leader among the pods of the segments, unless the workers alone fill the segments. KAI counts
        # the last segment by its real pods. If it is the only segment, the leader is one of them.
        pods = whole - 1 if self.is_filled(whole) else whole
        sizes = [min(self.size, pods - start) for start in range(0, pods, self.size)]
        return sizes if len(sizes) > 1 else [whole]

    def is_filled(self, whole: int) -> bool:
        """Return True if the workers of a group with `whole` pods fill the segments without the leader."""
        return (whole - 1) % self.size == 0


_MAX_SEGMENTS = 10_000
"""The largest number of segments that KAI makes of one group."""


def _check_segments(number: int, path: FieldPath, segments: str) -> None:
    """Raise RefusedError if `number`, the segments of a group, is too large. `segments` is the word in KAI's text."""
    if number > _MAX_SEGMENTS:
        text = f"number of subgroups {segments} {number} is greater than max allowed segmentation {_MAX_SEGMENTS}"
        raise RefusedError(path, f"must give at most {_MAX_SEGMENTS} segments; it gives {number}", text)


def template_of(workload: Workload, part: str) -> Template | None:
    """Return the pod template with the name `part`, such as a type of replicas, or None."""
    return next((each for each in workload.templates if each.part == part), None)


def worker_template(workload: Workload) -> Template | None:
    """Return the template of workers, or None. Leaders without a template of their own also use it."""
    return template_of(workload, "workerTemplate")


def leader_template(workload: Workload) -> Template | None:
    """Return the template of leaders. Return None if there are no templates."""
    return template_of(workload, "leaderTemplate") or worker_template(workload)


def size_of(workload: Workload) -> int:
    """Return the number of pods of each replica."""
    return integer(mapping_at(workload.spec, "leaderWorkerTemplate").get("size"), 1)


def leader_waits(workload: Workload) -> bool:
    """Return True if workers are created only after their leader is ready."""
    return workload.spec.get("startupPolicy") == "LeaderReady"


def leader_worker_set(workload: Workload) -> list[GroupShape]:
    """Return the groups of a LeaderWorkerSet. Raise RefusedError if KAI makes none."""
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
        _whole_sets(workload, leader, worker, size)
        if segments is None
        else _segment_sets(workload, leader, worker, size, segments)
    )
    fields: dict[str, FieldPath] = {"members": (*_BODY, "size"), "copies": ("spec", "replicas")}
    origin = Origin(workload.place_at(), _LWS_RULE, fields)
    replicas = integer(workload.spec.get("replicas"), 1)
    return [GroupShape(sets, origin, size, suffix=f"-group-{index}") for index in range(replicas)]


def has_segments(workload: Workload) -> bool:
    """Return True if the workload requests segments of any size. Raise RefusedError if the size is not a number."""
    return _segment_size(workload) is not None


def segments_of(workload: Workload) -> Segments | None:
    """Return the segments that the workload requests, or None. Raise RefusedError if KAI refuses their size."""
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
        raise RefusedError(path, message, _policy_error(workload, fault))
    leads = value_at(workload.item.value, *_BODY, "subGroupPolicy", "subGroupPolicyType") != "LeaderExcluded"
    segments = Segments(size, path, leads)
    _check_segments(len(segments.sizes(whole)), path, "segments")
    if not leads and not segments.is_filled(whole):
        text = (
            f"replicasSize {whole} is not divisible by segmentSize {size}. LeaderExcluded policy is only supported "
            "when replicasSize is divisible by segmentSize."
        )
        raise RefusedError(path, f"must divide the {whole - 1} workers of a group; got {size}", text)
    return segments


def _segment_size(workload: Workload) -> tuple[int, FieldPath] | None:
    path: FieldPath = (*_BODY, "subGroupPolicy", "subGroupSize")
    size = value_at(workload.item.value, *path)
    if isinstance(size, int):
        return size, path
    worker = worker_template(workload)
    holders = [("", workload.owner.annotations, workload.owner.path)]
    if worker is not None:
        holders.append(("workerTemplate of ", worker.annotations, worker.metadata))
    for of, texts, metadata in holders:
        text = texts.get(SEGMENT_SIZE)
        if text is None:
            continue
        path, number = annotation_path(metadata, SEGMENT_SIZE), atoi(text)
        if isinstance(number, str):
            where = f"{of}LWS {workload.namespace}/{workload.name}"
            fault = f"invalid segment size annotation {text} in {where}: {number}"
            raise RefusedError(path, f'must be a whole number of pods; got "{text}"', _policy_error(workload, fault))
        return number, path
    return None


def _policy_error(workload: Workload, fault: str) -> str:
    return f"failed to get sub group policy for LWS {workload.namespace}/{workload.name}: {fault}"


def _whole_sets(workload: Workload, leader: Template, worker: Template, size: int) -> tuple[PodSet, ...]:
    first = pod_set(workload, leader, "leader", 1, Origin(workload.place_at(*leader.path), _LWS_RULE))
    if size < 2:
        return (first,)
    origin = Origin(workload.place_at(*worker.path), _LWS_RULE, {"members": workload.place_at(*_BODY, "size")})
    return first, pod_set(workload, worker, "workers", size - 1, origin)


def _segment_sets(
    workload: Workload, leader: Template, worker: Template, size: int, segments: Segments
) -> tuple[PodSet, ...]:
    bounds, topology = _segment_constraint(workload, worker)
    origin = Origin(workload.place_at(*worker.path), _LWS_RULE, {"members": workload.place_at(*segments.path)})
    at_leader = Origin(workload.place_at(*leader.path), _LWS_RULE)
    sizes = segments.sizes(size)

    def segment(index: int, members: int) -> PodSet:
        return pod_set(workload, worker, f"segment-{index}", members, origin, bounds=bounds, topology=topology)

    if not segments.leads:
        own = pod_set(workload, leader, "leader", 1, at_leader)
        return own, *[segment(index, members) for index, members in enumerate(sizes)]
    beside = sizes[0] if segments.is_filled(size) else sizes[0] - 1
    # KAI appends the two parts of the first segment after all segments. Source: spec/podgrouper.md#6.5.
    return (
        PodSet("segment-0", None, None, bounds, origin, needed=2, topology=topology),
        *[segment(index, members) for index, members in enumerate(sizes) if index],
        pod_set(workload, leader, "leader", 1, at_leader, parent="segment-0"),
        pod_set(workload, worker, "workers", beside, origin, parent="segment-0"),
    )


def _segment_constraint(workload: Workload, worker: Template) -> tuple[Bounds, str]:
    """Return the levels and the topology of each segment. If one of them is missing, both are empty."""
    topology = worker.annotations.get(TOPOLOGY) or workload.owner.annotations.get(TOPOLOGY) or ""
    bounds = bounds_of(workload, worker.annotations, worker.metadata, SEGMENT_LEVELS)
    return (bounds, topology) if topology and not bounds.is_empty else (Bounds(), "")


MASTER, WORKER, _LAUNCHER = "Master", "Worker", "Launcher"
MIN_AVAILABLE: FieldPath = ("spec", "runPolicy", "schedulingPolicy", "minAvailable")
_ELASTIC: FieldPath = ("spec", "elasticPolicy", "minReplicas")
_TYPES_RULE = "spec/podgrouper.md#7"


def replica_types(workload: Workload) -> list[GroupShape]:
    """Return the group of all replicas of a Kubeflow job. Raise RefusedError if KAI makes none."""
    members, path = _members(workload)
    is_pytorch = workload.kind is not None and workload.kind.name == "PyTorchJob"
    sets = tuple(_pytorch(workload, members) if is_pytorch else _unnamed_sets(workload, members))
    fields: dict[str, FieldPath] = {"members": path} if path else {}
    return [GroupShape(sets, Origin(workload.place_at(), _TYPES_RULE, fields), members)]


def without_types(value: Mapping[str, Value]) -> RefusedError | None:
    """Return the error of KAI about a Kubeflow job that lacks the field with its replicas, or None."""
    kind = workload_kind(value)
    if kind.grouping is not Grouping.REPLICA_TYPES or value.get("apiVersion") not in kind.api_versions:
        return None
    field = kind.body[-1]
    if field in mapping_at(value, "spec"):
        return None
    _, _, namespace, name = identity(value)
    text = f"the type of the job {name} doesn't have a {field} field. Please fix the replica field"
    if isinstance(value_at(value, *MIN_AVAILABLE), int):
        # With minAvailable, KAI reads the types only for a PyTorchJob, to make its sets of pods.
        if kind.name != "PyTorchJob":
            return None
        text = f"{field} not found in {kind.name} {namespace}/{name}"
    return RefusedError(("spec",), f"must have {field}", text)


def replicas_of(workload: Workload, name: str, default: int = 0) -> int:
    """Return the number of replicas of the type `name` in the manifest, or `default`."""
    return integer(mapping(workload.body.get(name)).get("replicas"), default)


def waits_for_workers(workload: Workload) -> bool:
    """Return True if the launcher of an MPIJob is created only after its workers are ready."""
    is_mpi = workload.kind is not None and workload.kind.name == "MPIJob"
    return is_mpi and workload.spec.get("launcherCreationPolicy") == "WaitForWorkersReady"


def stated_members(workload: Workload) -> tuple[int, FieldPath] | None:
    """Return the number of pods that the gang needs by a field of the job, and the path of this field, or None."""
    is_pytorch = workload.kind is not None and workload.kind.name == "PyTorchJob"
    for path in (MIN_AVAILABLE, _ELASTIC) if is_pytorch else (MIN_AVAILABLE,):
        if (number := integer(workload.item.get(path), None)) is not None:
            return number, path
    return None


def created_pods(workload: Workload) -> int | None:
    """Return the number of pods that the training operator creates. Return None if an autoscaler sets the number."""
    # Only with metrics does the operator make a HorizontalPodAutoscaler, which raises the replicas to the minimum.
    if value_at(workload.item.value, "spec", "elasticPolicy", "metrics"):
        return None
    return sum([replicas_of(workload, each, 1) for each in workload.body])


def _members(workload: Workload) -> tuple[int, FieldPath]:
    """Return the number of pods that the group needs, and the path of its field, or () if it needs all pods.

    Raise RefusedError if KAI refuses the job.
    """
    stated = stated_members(workload)
    # KAI does not compare the number in the field with the number of pods. Source: spec/podgrouper.md#7.1.
    members, path = (_total(workload), ()) if stated is None else stated
    if path == _ELASTIC:
        # KAI counts the replicas first, and refuses a type without replicas.
        _total(workload)
    if waits_for_workers(workload):
        launchers = replicas_of(workload, _LAUNCHER)
        if launchers == 0:
            text = f"the type of the job {workload.name} doesn't allow for 0 mpiReplicaSpecs pods. "
            message = "must be at least 1: KAI does not apply the training operator's default"
            path = (*workload.body_path, _LAUNCHER, "replicas")
            raise RefusedError(path, message, f"{text}Please fix the replica field")
        members -= launchers
    return members, path


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
            message = "must be at least 1: KAI does not apply the training operator's default"
            raise RefusedError((*workload.body_path, each, "replicas"), message, text)
    total = sum([replicas_of(workload, each) for each in types])
    if total < 1:
        text = f"failed calculate number of pods for a distributed job {name}. Must be greater than 0, but got {total}"
        raise RefusedError(workload.body_path, f"must have at least 1 pod; got {total}", text)
    return total


def _unnamed_sets(workload: Workload, members: int) -> Iterator[PodSet]:
    """Yield a set of pods for each type of replicas. The PodGroup does not contain these sets."""
    left = members
    for template in workload.templates:
        pods = replicas_of(workload, template.part, 1)
        taken = max(min(left, pods), 0)
        left -= taken
        yield pod_set(
            workload,
            template,
            template.part.lower(),
            taken,
            _origin_of(workload, template),
            replicas=pods,
            is_named=False,
        )


def _pytorch(workload: Workload, members: int) -> Iterator[PodSet]:
    master, worker = template_of(workload, MASTER), template_of(workload, WORKER)
    masters = replicas_of(workload, MASTER)
    if master is not None and masters != 0:
        yield pod_set(workload, master, "master", masters, _origin_of(workload, master))
    if worker is None:
        return
    least, workers = max(0, members - masters), replicas_of(workload, WORKER, 1)
    size = _size_of_segments(workload, worker, has_master=master is not None and masters > 0)
    origin = _origin_of(workload, worker)
    if size is None or workers == 0:
        yield pod_set(workload, worker, "worker", least, origin, replicas=workers)
        return
    bounds, topology = _segment_constraint(workload, worker)
    segments = -(-workers // size)
    _check_segments(segments, annotation_path(worker.metadata, SEGMENT_SIZE), "created for the segmentation")
    # KAI requires all segments here, including segments that need no pod. Source: spec/podgrouper.md#7.4.
    yield PodSet("worker", None, None, Bounds(), origin, needed=segments)
    due, counts = -(-least // size), workload.release.counts_segments
    size_place = workload.place_at(*annotation_path(worker.metadata, SEGMENT_SIZE))
    sized = Origin(origin.place, _TYPES_RULE, {"members": size_place})
    for index in range(segments):
        pods = min(size, workers - index * size)
        yield pod_set(
            workload, worker, f"worker-{index}", pods if index < due or not counts else 0, sized,
            parent="worker", replicas=pods, bounds=bounds, topology=topology,
        )  # fmt: skip


def _size_of_segments(workload: Workload, worker: Template, *, has_master: bool) -> int | None:
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
        message = f"must be at least 1; got {size}. KAI's pod-grouper crashes at every worker pod, without an event"
        raise RefusedError(path, message, fault)
    return size


def _origin_of(workload: Workload, template: Template) -> Origin:
    return Origin(workload.place_at(*template.path[:-1]), _TYPES_RULE, {"members": ("replicas",)})


_RAY_RULE = "spec/podgrouper.md#8"
_HEAD = "headgroup"


class WorkerGroup(Record):
    """An entry of `workerGroupSpecs`, at `path`. `hosts` is the number of pods of each replica."""

    name: str
    path: FieldPath
    position: int
    replicas: int
    min_replicas: int
    hosts: int
    is_suspended: bool
    """True if KubeRay creates no pods for the group."""

    is_skipped_by_kai: bool
    """True if KAI skips the group because of the field `suspended`, which KubeRay does not have."""

    template: Template | None

    @property
    def needed_pods(self) -> int:
        """Return the number of pods of the group that the gang needs."""
        return (self.min_replicas if self.min_replicas > 0 else self.replicas) * self.hosts


def worker_groups(workload: Workload) -> list[WorkerGroup]:
    """Return the worker groups of a Ray cluster, in their order."""
    by_path = {each.path: each for each in workload.templates}
    groups: list[WorkerGroup] = []
    for position, written in enumerate(mappings_in_place(workload.body.get("workerGroupSpecs"))):
        path = (*workload.body_path, "workerGroupSpecs", position)
        groups.append(
            WorkerGroup(
                name=text_of(written.get("groupName")) or f"worker-group-{position}",
                path=path,
                position=position,
                replicas=integer(written.get("replicas"), 0),
                min_replicas=integer(written.get("minReplicas"), 0),
                hosts=integer(written.get("numOfHosts"), 1),
                is_suspended=written.get("suspend") is True,
                # KAI reads the field `suspended`, but KubeRay's field is `suspend`. Source: spec/podgrouper.md#8.3.
                is_skipped_by_kai=written.get("suspended") is True,
                template=by_path.get((*path, "template")),
            )
        )
    return groups


def ray_cluster(workload: Workload) -> list[GroupShape]:
    """Return the group of the head and all workers. Raise RefusedError if KAI makes none."""
    head = next((each for each in workload.templates if each.path[-2:] == ("headGroupSpec", "template")), None)
    if head is None:
        return []
    sets = [_head(workload, head)]
    for group in worker_groups(workload):
        if group.is_skipped_by_kai:
            continue
        if group.min_replicas > group.replicas:
            text = (
                f"ray-cluster replicas for a workerGroupsSpec can't be less than minReplicas. Given {group.replicas} "
                f"replicas and {group.min_replicas} minReplicas. Please fix the replicas field for group number "
                f"{group.position}"
            )
            message = f"must be at least {group.min_replicas}, its minReplicas; got {group.replicas}"
            raise RefusedError((*group.path, "replicas"), message, text)
        if (group.min_replicas or group.replicas) and group.template is not None:
            sets.append(_workers(workload, group, group.template))
    if workload.has_flat_podgroup:
        sets = [each.replace(is_named=False) for each in sets]
    return [GroupShape(tuple(sets), Origin(workload.place_at(), _RAY_RULE), sum([pods.members or 0 for pods in sets]))]


def _head(workload: Workload, template: Template) -> PodSet:
    origin = Origin(workload.place_at(*workload.body_path, "headGroupSpec"), _RAY_RULE)
    bounds, topology = _constraint(workload, template, "headGroupSpec")
    return pod_set(workload, template, _HEAD, 1, origin, bounds=bounds, topology=topology)


def _workers(workload: Workload, group: WorkerGroup, template: Template) -> PodSet:
    bounds, topology = _constraint(workload, template, f"workerGroupSpecs.{group.name}")
    origin = Origin(workload.place_at(*group.path), _RAY_RULE, {"name": ("groupName",), "members": ("replicas",)})
    pods = max(group.replicas * group.hosts, group.needed_pods)
    return pod_set(
        workload, template, group.name, group.needed_pods, origin, replicas=pods, bounds=bounds, topology=topology
    )


def _constraint(workload: Workload, template: Template, holder: str) -> tuple[Bounds, str]:
    """Return the levels of a group and their topology. Raise RefusedError if there are levels without a topology."""
    if not workload.release.ray_group_topology:
        return Bounds(), ""
    bounds = bounds_of(workload, template.annotations, template.metadata)
    # KAI silently ignores a topology without a level, and refuses a level without a topology. Source:
    # spec/podgrouper.md#8.4.
    if bounds.is_empty:
        return bounds, ""
    topology = template.annotations.get(TOPOLOGY, "")
    if not topology:
        text = f"topology annotation ({TOPOLOGY}) is required for {holder} when topology placement annotations are set"
        message = f"the topology of these levels is not set; add the annotation {TOPOLOGY}"
        raise RefusedError((*template.metadata, "annotations"), message, text)
    return bounds, topology
