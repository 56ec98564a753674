"""Make the gangs of a workload in the placement model, by the grouping rule of its kind and by its metadata.

This module has the rules of Jobs, JobSets and single pods. `leaders` has the rules of leaders and workers. Source:
spec/podgrouper.md#3, #4 and #5.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING, Record
from packwise.findings import Origin
from packwise.frontends.workloads.leaders import (
    has_segments,
    leader_worker_set,
    ray_cluster,
    replica_types,
    replicas_of,
    size_of,
    waits_for_workers,
    worker_groups,
)
from packwise.frontends.workloads.workload import (
    BATCH_MIN_MEMBER,
    GRACE_PERIOD,
    POD_GROUP,
    PREEMPTION_DELAY,
    SEGMENT_SIZE,
    SKIP,
    SUFFIX,
    TOPOLOGY,
    GroupShape,
    RefusedError,
    annotation_path,
    bounds_of,
    delay,
    pod_set,
    preemptibility,
    priority_class,
    queue,
)
from packwise.kubernetes import atoi, parse_int
from packwise.lenient import integer, mapping_at, mappings_by_place, mappings_in_place, texts, value_at
from packwise.lenient import text as text_of
from packwise.objects.workload_kinds import Grouping
from packwise.placement import Bounds, Gang, GangOwner, Grouper, PodSet
from packwise.settings.topologyrender import KAI_PROFILE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from packwise.findings import Place
    from packwise.frontends.workloads.workload import FieldRead, Owner, Template, Workload

# The functions below make the groups of Jobs, JobSets, Pods, Deployments and revisions. The group of a JobSet is a tree
# of its replicated Jobs. In earlier releases, it has no subgroups. Source: spec/podgrouper.md#4 and #5.

_JOB_SET_RULE = "spec/podgrouper.md#5"

MIN_SCALE = "autoscaling.knative.dev/min-scale"
_JOB_RULE = "spec/podgrouper.md#4"


def single_groups(workload: Workload) -> list[GroupShape]:
    """Return the group of a workload with one set of pods. If each pod is its own group, one record stands for all."""
    number = pods_of(workload)
    if number < 1:
        return []
    members, path = _members(workload)
    each = workload.grouping in (Grouping.EACH_POD, Grouping.WORKFLOW) or (
        workload.grouping is Grouping.JOB and is_own(workload) and not workload.release.groups_jobs
    )
    fields: dict[str, FieldPath] = {"members": path} if path else {}
    if each:
        fields["copies"] = _number_path(workload)
    origin = Origin(workload.place_at(), _JOB_RULE, fields)
    template = workload.scheduled_templates[0]
    pods = Origin(workload.place_at(*template.path), _JOB_RULE)
    own = 1 if each else number
    # The group has one set, which counts all members of the group.
    leaf = pod_set(workload, template, template.part, members, pods, replicas=own, is_named=False)
    return [GroupShape((leaf,), origin, members, alike=number if each else 1, each_pod=each)]


def is_own(workload: Workload) -> bool:
    """Return True if the workload itself owns the group. Return False if a Job or revision made from it does."""
    return workload.owner.path == ("metadata",)


def pods_of(workload: Workload) -> int:
    """Return the number of pods that the workload has at the same time."""
    match workload.grouping:
        case Grouping.JOB:
            return pods_at_once(integer(workload.body.get("parallelism"), 1), completions_of(workload.body))
        case Grouping.POD:
            return 1
        case Grouping.REVISION:
            return max(_min_scale(workload), 1)
        case _:
            return integer(workload.spec.get("replicas"), 1)


def completions_of(spec: Mapping[str, Value]) -> int | None:
    """Return `completions` of a Job's spec. Return None if it is not set."""
    return integer(spec.get("completions"), None)


def pods_at_once(parallelism: int, completions: int | None) -> int:
    """Return the largest number of pods that the Job controller runs at the same time."""
    return parallelism if completions is None else min(parallelism, completions)


def _number_path(workload: Workload) -> FieldPath:
    if workload.grouping is Grouping.JOB:
        return (*workload.body_path, "parallelism")
    return ("spec", "replicas")


def _members(workload: Workload) -> tuple[int, FieldPath]:
    if workload.grouping is Grouping.REVISION:
        path = annotation_path(workload.owner.path, MIN_SCALE)
        return _min_scale(workload), path if MIN_SCALE in workload.owner.annotations else ()
    if workload.grouping is Grouping.JOB:
        return job_members(workload)
    path = workload.kind.members if workload.kind is not None else ()
    return (_written_members(workload, path), path) if path else (1, ())


def _written_members(workload: Workload, path: FieldPath) -> int:
    """Return the number of members in the field at `path`. Raise RefusedError if it is not an integer."""
    number = workload.item.get(path)
    if type(number) is int:
        return number
    refused = workload.kind.without_members if workload.kind is not None else ""
    raise RefusedError(path, "must be the number of pods", refused)


def job_members(workload: Workload) -> tuple[int, FieldPath]:
    """Return the number of pods that a Job's group needs, and the path of the number, or () without a field.

    Raise RefusedError if the number is invalid.
    """
    text = workload.owner.annotations.get(BATCH_MIN_MEMBER)
    # KAI does not count a Job's parallelism, and never reads the annotation of a CronJob. Without a number, the group
    # needs one pod. Source: spec/podgrouper.md#4.4, #4.5.
    if text is None or not is_own(workload) or not workload.release.batch_min_member:
        return 1, ()
    path = annotation_path(workload.owner.path, BATCH_MIN_MEMBER)
    number = parse_int(text)
    if isinstance(number, str):
        message = f'must be a whole number of pods; got "{text}"'
        raise RefusedError(path, message, f"invalid min-member annotation value: {number}")
    return number, path


def _min_scale(workload: Workload) -> int:
    number = atoi(workload.owner.annotations.get(MIN_SCALE, "1"))
    return 1 if isinstance(number, str) else number


class ReplicatedJob(Record):
    """An entry of `replicatedJobs`, at `path`."""

    name: str
    path: FieldPath
    replicas: int
    parallelism: int
    completions: int | None
    annotations: Mapping[str, str]
    template: Template
    waits: bool
    """True if its Jobs are created only after another entry is ready or complete."""

    @property
    def metadata(self) -> FieldPath:
        """Return the path of the metadata of its Jobs."""
        return (*self.path, "template", "metadata")

    @property
    def pods(self) -> int:
        """Return the number of pods that each of its Jobs runs at the same time."""
        return pods_at_once(self.parallelism, self.completions)


def replicated_jobs(workload: Workload) -> list[ReplicatedJob]:
    """Return the replicated Jobs that have a pod template, in their order."""
    by_path = {each.path: each for each in workload.templates}
    jobs: list[ReplicatedJob] = []
    for position, written in mappings_by_place(workload.spec.get("replicatedJobs")):
        path = ("spec", "replicatedJobs", position)
        template = by_path.get((*path, "template", "spec", "template"))
        if template is None:
            continue
        spec = mapping_at(written, "template", "spec")
        jobs.append(
            ReplicatedJob(
                name=text_of(written.get("name")),
                path=path,
                replicas=integer(written.get("replicas"), 1),
                parallelism=integer(spec.get("parallelism"), 1),
                completions=completions_of(spec),
                annotations=texts(value_at(written, "template", "metadata", "annotations")),
                template=template,
                waits=bool(written.get("dependsOn")),
            )
        )
    return jobs


def job_set(workload: Workload) -> list[GroupShape]:
    """Return the groups of a JobSet. Raise RefusedError if KAI makes none."""
    jobs = replicated_jobs(workload)
    if workload.release.job_sets == "tree" and not workload.has_flat_podgroup:
        return [_tree(workload, jobs)]
    if starts_in_order(workload):
        return [_flat_group(workload, [job], suffix=f"-{job.name}") for job in jobs]
    return [_flat_group(workload, jobs)]


def starts_in_order(workload: Workload) -> bool:
    """Return True if each replicated Job is created only after the previous one is ready."""
    return value_at(workload.spec, "startupPolicy", "startupPolicyOrder") == "InOrder"


def needed_jobs(workload: Workload, number: int) -> int:
    """Return how many of the `number` replicated Jobs the group needs.

    Raise RefusedError if the annotation is invalid.
    """
    text = workload.owner.annotations.get(BATCH_MIN_MEMBER)
    if text is not None:
        path = annotation_path(workload.owner.path, BATCH_MIN_MEMBER)
        # KAI lowers a larger number to the number of replicated Jobs. Source: spec/podgrouper.md#5.1.
        return min(_at_least_one(text, path, "JobSet", "replicated Jobs"), number)
    # KAI does not read dependsOn, so it also counts a Job that is created later. Source: spec/podgrouper.md#5.6.
    return 1 if starts_in_order(workload) else number


def _tree(workload: Workload, jobs: list[ReplicatedJob]) -> GroupShape:
    # KAI reads the annotation of the JobSet before the annotations of its Jobs, and refuses the first invalid one.
    needed = needed_jobs(workload, len(jobs))
    sets: list[PodSet] = []
    for job in jobs:
        fields: dict[str, FieldPath] = {"name": ("name",), "members": ("replicas",)}
        origin = Origin(workload.place_at(*job.path), _JOB_SET_RULE, fields)
        sets.append(PodSet(job.name, None, None, Bounds(), origin, needed=job.replicas))
        members, path = leaf_members(job)
        bounds = bounds_of(workload, job.annotations, job.metadata)
        # KAI silently drops a constraint with only a topology or only a level, and does not inherit the JobSet's
        # topology. Source: spec/podgrouper.md#5.3.
        topology = job.annotations.get(TOPOLOGY, "")
        leaf = Origin(workload.place_at(*job.path), _JOB_SET_RULE, {"name": ("name",), "members": path})
        sets += [
            pod_set(
                workload, job.template, f"{job.name}-replica-{index}", members, leaf, parent=job.name,
                replicas=job.pods, bounds=bounds if topology else None,
                topology="" if bounds.is_empty else topology,
            )
            for index in range(job.replicas)
        ]  # fmt: skip
    return GroupShape(tuple(sets), _job_set_origin(workload), needed=needed)


def leaf_members(job: ReplicatedJob) -> tuple[int, FieldPath]:
    """Return the number of pods that each Job needs, and the path of the number within the replicated Job.

    Raise RefusedError if the annotation is invalid.
    """
    text = job.annotations.get(BATCH_MIN_MEMBER)
    if not text:
        # Here, an empty annotation counts as none, but not on a Job or JobSet. KAI ignores completions here. If there
        # are fewer completions, the Job never has enough pods. Source: spec/podgrouper.md#5.2.
        return job.parallelism, ("template", "spec", "parallelism")
    path = annotation_path(job.metadata, BATCH_MIN_MEMBER)
    number = _at_least_one(text, path, "replicatedJob template", "pods")
    return number, path[len(job.path) :]


def _at_least_one(text: str, path: FieldPath, holder: str, noun: str) -> int:
    number = parse_int(text)
    fault = number if isinstance(number, str) else f"value {number} must be >= 1" if number < 1 else ""
    if isinstance(number, str) or fault:
        message = f'must be a whole number of {noun}, at least 1; got "{text}"'
        raise RefusedError(path, message, f"invalid {BATCH_MIN_MEMBER} annotation on {holder}: {fault}")
    return number


def _flat_group(workload: Workload, jobs: list[ReplicatedJob], suffix: str = "") -> GroupShape:
    """Return a group without subgroups, as earlier releases make it. It needs one pod, the annotated number, or all.

    Raise RefusedError if the annotation is invalid.
    """
    counts = workload.release.job_sets == "counted"
    text = workload.owner.annotations.get(BATCH_MIN_MEMBER) if workload.release.batch_min_member else None
    number = None if text is None else parse_int(text)
    if isinstance(number, str):
        path = annotation_path(workload.owner.path, BATCH_MIN_MEMBER)
        message = f'must be a whole number of pods; got "{text}"'
        raise RefusedError(path, message, f"invalid {BATCH_MIN_MEMBER} annotation value: {number}")
    if number is None or (counts and number == 0):
        # These releases treat zero as absent.
        number = sum([(job.replicas or 1) * (job.pods or 1) for job in jobs]) if counts else 1
    sets: list[PodSet] = []
    left = number
    for job in jobs:
        pods = job.replicas * job.pods
        taken = max(min(left, pods), 0)
        left -= taken
        origin = Origin(workload.place_at(*job.path), _JOB_SET_RULE, {"name": ("name",)})
        sets.append(pod_set(workload, job.template, job.name, taken, origin, replicas=pods, is_named=False))
    return GroupShape(tuple(sets), _job_set_origin(workload), number, suffix=suffix)


def _job_set_origin(workload: Workload) -> Origin:
    fields: dict[str, FieldPath] = {}
    if BATCH_MIN_MEMBER in workload.owner.annotations:
        fields["members"] = annotation_path(workload.owner.path, BATCH_MIN_MEMBER)
    return Origin(workload.place_at(), _JOB_SET_RULE, fields)


_RULE = "spec/podgrouper.md#3"
_SHAPES: Mapping[Grouping, Callable[[Workload], list[GroupShape]]] = {
    Grouping.JOB_SET: job_set,
    Grouping.LEADER_WORKER_SET: leader_worker_set,
    Grouping.REPLICA_TYPES: replica_types,
    Grouping.RAY: ray_cluster,
}
_OWNER = ("apiVersion", "kind", "name", "uid")
"""The fields of an owner reference, in the order in which KAI prints them."""
_INTERNAL = ("config.kubernetes.io/", "internal.config.kubernetes.io/", "packwise.dev/")
"""Prefixes of annotations that no client applies to a cluster."""
_USER, _NODE_POOL = "user", "kai.scheduler/node-pool"
"""The labels, and the annotation `user`, that KAI copies from pods to the group."""


def shapes(workload: Workload) -> list[GroupShape]:
    """Return the groups of a workload. Raise RefusedError if KAI makes none."""
    _check_owners(workload)
    return _SHAPES.get(workload.grouping, single_groups)(workload)


def _check_owners(workload: Workload) -> None:
    """Raise RefusedError if a workload has several owners. KAI accepts several only for a Pod, and uses the first."""
    path: FieldPath = ("metadata", "ownerReferences")
    owners = mappings_in_place(workload.item.get(path))
    if workload.grouping is Grouping.POD or len(owners) < 2:
        return
    values = [" ".join([str(each.get(field, "")) for field in _OWNER]) for each in owners]
    text = (
        f"found {workload.item.kind} <{workload.name} in namespace {workload.namespace}> with multiple owners: "
        f"[{' '.join([f'{{{value} <nil> <nil>}}' for value in values])}]"
    )
    # KAI prints the address of a flag instead of its value, so the text is unknown if an owner has a flag.
    is_known = not any(flag in each for each in owners for flag in ("controller", "blockOwnerDeletion"))
    raise RefusedError(path, f"must have one owner; got {len(owners)}", text if is_known else "")


def least_number_of_sets(workload: Workload) -> int:
    """Return a lower limit for the number of gangs and sets of pods of a workload, without building them."""
    match workload.grouping:
        case Grouping.JOB_SET:
            return sum([max(job.replicas, 0) for job in replicated_jobs(workload)])
        case Grouping.LEADER_WORKER_SET:
            return integer(workload.spec.get("replicas"), 1) * (size_of(workload) // 2 if has_segments(workload) else 1)
        case Grouping.REPLICA_TYPES:
            return sum(
                [replicas_of(workload, each.part, 1) for each in workload.templates if SEGMENT_SIZE in each.annotations]
            )
        case _:
            return len(workload.templates)


_STOPPED = "kubeflow-resource-stopped"


def idle_reason(workload: Workload) -> str:
    """Return the reason why a workload has no pods for now, or "". It may be suspended or scaled to 0."""
    spec = workload.spec
    for path in (("suspend",), ("runPolicy", "suspend")):
        if value_at(spec, *path) is True:
            return f"no gang while spec.{'.'.join(path)} is true"
    if _STOPPED in workload.owner.annotations:
        return f"no gang while it has the annotation {_STOPPED}"
    is_scaled = workload.grouping in (
        Grouping.LEADER_WORKER_SET,
        Grouping.OWNER,
        Grouping.EACH_POD,
        Grouping.REPLICA_SET,
    )
    if is_scaled and spec.get("replicas") == 0:
        return "no gang while spec.replicas is 0"
    if workload.grouping is Grouping.JOB and workload.body.get("parallelism") == 0:
        return "no gang while its parallelism is 0"
    return ""


def is_skipped(workload: Workload, template: Template) -> bool:
    """Return True if KAI's pod-grouper skips the pods of a template, because of an annotation."""
    if workload.grouping is Grouping.POD and POD_GROUP in template.annotations:
        return True
    own = mapping_at(workload.item.value, "metadata", "annotations")
    holders = (own, workload.owner.annotations, template.annotations)
    # KAI compares only with "true", so "True" has no effect. Source: spec/podgrouper.md#1.2.
    return workload.release.skips_by_annotation and any(each.get(SKIP) == "true" for each in holders)


def pods_in_order(workload: Workload) -> list[Template]:
    """Return the templates with pods that KAI groups, in the order in which the pods are created.

    Leaders, masters and launchers come first. A launcher that waits for its workers comes last.
    """
    templates = [each for each in workload.scheduled_templates if not is_skipped(workload, each)]
    if workload.grouping is Grouping.LEADER_WORKER_SET:
        # A leader without a template of its own uses the template of the workers. A group of size 1 has no workers.
        templates = templates if size_of(workload) > 1 or len(templates) == 1 else templates[:1]
    waits = waits_for_workers(workload)
    return sorted(templates, key=lambda each: (each.part == "Worker") != waits)


def _first_pods(workload: Workload) -> list[Template]:
    """Return the templates of the pods with which the group is first complete, in the order of their creation."""
    pods, without = pods_in_order(workload), _without_pods(workload)
    # If no template has pods, show the group that KAI would make from them.
    pods = [each for each in pods if each.path not in without] or pods
    # If the launcher waits for its workers, the group is complete before the launcher exists.
    return pods[:1] if waits_for_workers(workload) else pods


def _without_pods(workload: Workload) -> frozenset[FieldPath]:
    """Return the paths of pod templates without pods: of replica types and of Ray's worker groups."""
    match workload.grouping:
        case Grouping.REPLICA_TYPES:
            return frozenset(each.path for each in workload.templates if replicas_of(workload, each.part, 1) < 1)
        case Grouping.RAY:
            groups = worker_groups(workload)
            return frozenset((*each.path, "template") for each in groups if each.replicas < 1 or each.is_suspended)
        case _:
            return frozenset()


def gangs(workload: Workload, groups: list[GroupShape]) -> list[Gang]:
    """Return the gangs of a workload for these groups.

    KAI takes the queue from the first pod. It updates all other values with each later pod, so the last pod decides.
    """
    pods = _first_pods(workload)
    return [_gang(workload, shape, pods) for shape in groups]


def _gang(workload: Workload, shape: GroupShape, pods: list[Template]) -> Gang:
    owner, release = workload.owner, workload.release
    first, last = pods[0], pods[-1]
    in_queue = queue(owner, first)
    priority = priority_class(workload, owner, last)
    # From a revision, KAI reads only the queue and the priority.
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
        "name": workload.place_at("metadata", "name"),
        "namespace": workload.place_at("metadata", "namespace"),
        "labels": workload.place_at(*owner.labels_path, "labels"),
        "annotations": workload.place_at(*owner.path, "annotations"),
        **_places(workload, reads),
        **({"topology": workload.place_at(*annotation_path(owner.path, TOPOLOGY))} if TOPOLOGY in annotations else {}),
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
        owner=Origin(workload.place_at(), _RULE, fields),
        queue=in_queue.value,
        queues=tuple(dict.fromkeys([queue(owner, pod).value for pod in pods_in_order(workload)])),
        priority_class=priority.value,
        scheduler=KAI_PROFILE,
        labels=_labels(owner, pods),
        annotations={key: text for key, text in _annotations(owner, pods).items() if not key.startswith(_INTERNAL)},
        needed=shape.needed,
        preemptibility=preempted.value if preempted is not None else "",
        preemption_delay=delays[0].value if delays else "",
        grace_period=delays[1].value if delays else "",
        made_for=made_for,
        alike=shape.alike,
    )


def _spark_name(workload: Workload, pod: Template) -> str:
    """Return the name of the group of a Spark application, if `pod` is one of its pods, or ""."""
    is_spark = workload.grouping is Grouping.POD and "spark-app-name" in pod.labels
    return pod.labels.get("spark-app-selector", "") if is_spark else ""


def _places(workload: Workload, reads: Mapping[str, FieldRead]) -> dict[str, Place]:
    return {
        field: read.place or workload.place_at(*read.path) for field, read in reads.items() if read.place or read.path
    }


def _gang_owner(shape: GroupShape, owner: Owner) -> GangOwner:
    # If each pod of a Job has its own group, the Job still owns each group.
    if shape.each_pod and owner.kind not in ("Job", "Pod"):
        return GangOwner("v1", "Pod", f"{owner.name}-{SUFFIX}")
    return GangOwner(owner.api_version, owner.kind, owner.name)


def _labels(owner: Owner, pods: list[Template]) -> Mapping[str, str]:
    """Return the labels of the group: the labels of the owner, completed from pods.

    The label `user` comes from the last pod that has it, and the node pool comes from the first pod.
    """
    labels = [pod.labels for pod in pods]
    return {**_last(_USER, labels), **_last(_NODE_POOL, labels[:1]), **owner.labels}


def _annotations(owner: Owner, pods: list[Template]) -> Mapping[str, str]:
    """Return the annotations of the group: the annotations of the owner, and `user` of the last pod that has it."""
    return {**_last(_USER, [pod.annotations for pod in pods]), **owner.annotations}


def _last(key: str, holders: list[Mapping[str, str]]) -> Mapping[str, str]:
    """Return the key with its value in the last mapping that has it. Return an empty mapping if none has it."""
    values = [each[key] for each in holders if key in each]
    return {key: values[-1]} if values else {}
