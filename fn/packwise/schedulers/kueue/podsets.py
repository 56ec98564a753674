"""The jobs of the input that Kueue's webhooks check, and their pod sets with the defaults of the API server.

Source: spec/kueue.md#3 and #8; the PodSets method of each of Kueue's integrations.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from krmfn.hints import TYPE_CHECKING, Record
from krmfn.result import Severity
from packwise.findings import Finding, Rule, Stage
from packwise.lenient import (
    integer,
    mapping,
    mapping_at,
    mappings_by_place,
    text,
    value_at,
)
from packwise.objects.index import identity
from packwise.objects.trainer import GROUP as TRAINER
from packwise.objects.trainer import replicated_jobs
from packwise.objects.workload_kinds import POD_KIND, QUEUE_NAME, WORKLOAD_KINDS, Grouping, Integration
from packwise.objects.wrapped import WORKLOAD_SOURCES, unwrap
from packwise.pod_templates import template_problems
from packwise.schedulers.kueue.manager import DEFAULT_QUEUE, read_manager
from packwise.schedulers.kueue.request import PREFIX, PodTemplate
from packwise.wording import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.objects.index import Index
    from packwise.objects.workload_kinds import WorkloadKind
    from packwise.objects.wrapped import Wrapped
    from packwise.revisions.kueue import KueueRelease
    from packwise.schedulers.kueue.manager import Manager

RUNTIME = Rule("kueue-runtime", "The runtime of a TrainJob does not exist.", "spec/kueue.md#3", Severity.WARNING)
OVERRIDES = Rule(
    "kueue-overrides",
    "A TrainJob uses `podTemplateOverrides`, but Kueue starts it through `runtimePatches`.",
    "spec/kueue.md#3",
    Severity.WARNING,
)
RULES = (RUNTIME, OVERRIDES)
"""Rules about TrainJobs and their runtimes."""

POD_GROUP = f"{PREFIX}pod-group-name"
"""The label of a pod that names its group of pods."""

POD_COUNT = f"{PREFIX}pod-group-total-count"
"""The annotation of a pod with the number of pods in its group."""

_MAIN, _LEADER, _WORKER, HEAD = "main", "leader", "worker", "head"
_CLUSTER = "ClusterTrainingRuntime"
_SUFFIX = (
    '. Adjust either the "TrainJob.spec.runtimePatches" or the "TrainingRuntime.Template" annotations for the '
    "corresponding Job"
)


@dataclass(frozen=True, slots=True)
class KueuePodSet:
    """Pods of one template that Kueue counts and places together.

    `is_validated` is true if the webhook checks the annotations of the template.
    """

    name: str
    count: int
    template: PodTemplate
    pod_spec: Mapping[str, Value] = field(default_factory=dict[str, "Value"])
    is_validated: bool = True


def _pod_set(
    name: str, count: int, template: Value, path: FieldPath, title: str, *, is_validated: bool = True
) -> KueuePodSet:
    """Return the pod set of the pod template at `path`. `title` is the path of the template in Kueue's texts."""
    metadata = mapping(mapping(template).get("metadata"))
    at = PodTemplate((*path, "metadata"), f"{title}.metadata", metadata)
    # Kueue's names of pod sets are in lower case.
    return KueuePodSet(name.lower(), count, at, mapping(mapping(template).get("spec")), is_validated)


def _pods_of_job(spec: Value) -> int:
    """Return the number of pods of a Job that run at the same time."""
    parallelism = integer(value_at(spec, "parallelism"), 1)
    return min(parallelism, integer(value_at(spec, "completions"), parallelism))


def _job(_kind: WorkloadKind, value: Mapping[str, Value]) -> list[KueuePodSet]:
    spec = value.get("spec")
    path = ("spec", "template")
    return [_pod_set(_MAIN, _pods_of_job(spec), value_at(spec, "template"), path, "spec.template")]


def _job_set(_kind: WorkloadKind, value: Mapping[str, Value]) -> list[KueuePodSet]:
    return _replicated_jobs(value_at(value, "spec", "replicatedJobs"))


def _replicated_jobs(jobs: Value) -> list[KueuePodSet]:
    """Return a pod set for each entry of a JobSet's `spec.replicatedJobs`."""
    sets: list[KueuePodSet] = []
    for index, job in mappings_by_place(jobs):
        spec = value_at(job, "template", "spec")
        path = ("spec", "replicatedJobs", index, "template", "spec", "template")
        count = integer(job.get("replicas"), 1) * _pods_of_job(spec)
        title = f"spec.replicatedJobs[{index}].template.spec.template"
        sets.append(_pod_set(text(job.get("name")), count, value_at(spec, "template"), path, title))
    return sets


def _leader_worker_set(_kind: WorkloadKind, value: Mapping[str, Value]) -> list[KueuePodSet]:
    group = mapping_at(value, "spec", "leaderWorkerTemplate")
    path: FieldPath = ("spec", "leaderWorkerTemplate")
    size = integer(group.get("size"), 1)
    title = "spec.leaderWorkerTemplate"
    worker = (*path, "workerTemplate")
    if group.get("leaderTemplate") is None:
        return [_pod_set(_MAIN, size, group.get("workerTemplate"), worker, f"{title}.workerTemplate")]
    leader = _pod_set(_LEADER, 1, group["leaderTemplate"], (*path, "leaderTemplate"), f"{title}.leaderTemplate")
    return [leader, _pod_set(_WORKER, size - 1, group.get("workerTemplate"), worker, f"{title}.workerTemplate")]


def _replica_types(kind: WorkloadKind, value: Mapping[str, Value]) -> list[KueuePodSet]:
    """Return a pod set for each type of replica, in the order of the operator."""
    specs = mapping_at(value, *kind.body)
    title = ".".join(kind.body)
    return [
        _pod_set(
            each,
            integer(mapping(specs[each]).get("replicas"), 1),
            mapping(specs[each]).get("template"),
            (*kind.body, each, "template"),
            f"{title}[{each}].template",
        )
        for each in kind.types
        if specs.get(each) is not None
    ]


def _ray_cluster(kind: WorkloadKind, value: Mapping[str, Value]) -> list[KueuePodSet]:
    """Return the pod sets of the head and of the worker groups.

    For a cluster within another object, the paths in the webhook's texts differ from the paths in the object.
    """
    section = kind.body
    is_part = len(section) > 1
    title = "spec.rayClusterSpec" if is_part else "spec"
    cluster = value_at(value, *section)
    if is_part and not isinstance(cluster, dict):
        return []
    head = (*section, "headGroupSpec", "template")
    sets = [_pod_set(HEAD, 1, value_at(value, *head), head, f"{title}.headGroupSpec.template")]
    for index, group in mappings_by_place(value_at(cluster, "workerGroupSpecs")):
        count = integer(group.get("replicas"), 0) * max(integer(group.get("numOfHosts"), 1), 1)
        path = (*section, "workerGroupSpecs", index, "template")
        name = f"{title}.workerGroupSpecs[{index}].template"
        sets.append(_pod_set(text(group.get("groupName")), count, group.get("template"), path, name))
    return sets


def _ray_job(kind: WorkloadKind, value: Mapping[str, Value]) -> list[KueuePodSet]:
    """Return the pod sets of the Ray cluster, and of the pod that submits the job."""
    sets = _ray_cluster(kind, value)
    if sets and value_at(value, "spec", "submissionMode") in (None, "", "K8sJobMode"):
        path = ("spec", "submitterPodTemplate")
        template = value_at(value, *path)
        sets.append(_pod_set("submitter", 1, template, path, "spec.submitterPodTemplate", is_validated=False))
    return sets


def _spark(_kind: WorkloadKind, value: Mapping[str, Value]) -> list[KueuePodSet]:
    sets: list[KueuePodSet] = []
    for role in ("driver", "executor"):
        part = mapping_at(value, "spec", role)
        base = mapping_at(part, "template", "metadata")
        # The annotations of the role override the annotations of its pod template.
        annotations: dict[str, Value] = {**mapping(base.get("annotations")), **mapping(part.get("annotations"))}
        metadata: dict[str, Value] = {"annotations": annotations, "labels": part.get("labels")}
        count = 1 if role == "driver" else integer(part.get("instances"), 0)
        template = PodTemplate(("spec", role), f"spec.{role}", metadata)
        sets.append(KueuePodSet(role, count, template, mapping_at(part, "template", "spec")))
    return sets


def _pod(_kind: WorkloadKind, value: Mapping[str, Value]) -> list[KueuePodSet]:
    template = PodTemplate(("metadata",), "metadata", mapping(value.get("metadata")))
    return [KueuePodSet(_MAIN, 1, template, mapping(value.get("spec")))]


_POD_SETS: Mapping[Integration, Callable[[WorkloadKind, Mapping[str, Value]], list[KueuePodSet]]] = {
    Integration.JOB: _job,
    Integration.JOB_SET: _job_set,
    Integration.LEADER_WORKER_SET: _leader_worker_set,
    Integration.POD: _pod,
    Integration.KUBEFLOW: _replica_types,
    Integration.MPI: _replica_types,
    Integration.RAY_CLUSTER: _ray_cluster,
    Integration.RAY_JOB: _ray_job,
    Integration.RAY_SERVICE: _ray_cluster,
    Integration.SPARK: _spark,
}
"""The functions that build pod sets from the object alone. The pod sets of a TrainJob come from its runtime."""


@dataclass(frozen=True, slots=True)
class KueueJob:
    """A job of the input and its pod sets in Kueue.

    If the job is part of another object, such as a role of a DisaggregatedSet, `wrapper` is its place there. `queue` is
    the LocalQueue of the job, or "". If only the pods name the queue, Kueue queues each pod, and `pods_path` is the
    path of the pods' metadata.
    """

    item: KubeObject
    kind: WorkloadKind
    sets: tuple[KueuePodSet, ...]
    wrapper: Wrapped | None = None
    queue: str = ""
    pods_path: FieldPath = ()

    @property
    def owner_path(self) -> FieldPath:
        """Return the metadata path of the queued objects: `item` itself, the Jobs of a CronJob, or single pods."""
        return self.pods_path or self.kind.owner.path

    @property
    def queue_path(self) -> FieldPath:
        """Return the path of the label that names the queue, or of the metadata if Kueue adds the label."""
        path = (*self.owner_path, "labels", QUEUE_NAME)
        return path if self.item.get(path) is not None else self.owner_path

    @property
    def queues_pods(self) -> bool:
        """Return True if Kueue admits the pods one by one."""
        return bool(self.pods_path) or self.kind.grouping is Grouping.EACH_POD

    @property
    def manager_path(self) -> FieldPath:
        """Return the path of `managedBy`, which names the job's controller.

        The field is in `spec.runPolicy` if it is set there, and otherwise in `spec`.
        """
        path: FieldPath = ("spec", "runPolicy", "managedBy")
        return path if self.item.get(path) is not None else ("spec", "managedBy")

    def metadata(self, field: str) -> Mapping[str, Value]:
        """Return the labels or annotations (`field`) in the metadata at `owner_path`."""
        return mapping(self.item.get((*self.owner_path, field)))


def jobs_of(index: Index) -> list[KueueJob]:
    """Return the jobs of the input that Kueue's webhooks check, with or without a queue."""
    manager = read_manager(index)
    jobs: list[KueueJob] = []
    for kind, item, wrapped in _workloads(index):
        sets = _pod_sets_of(kind, item, index) if manager.is_enabled(kind) else None
        if sets is not None:
            jobs.append(KueueJob(item, kind, tuple(sets), wrapped, _queue_of(kind, item, manager)))
    return jobs


def _workloads(index: Index) -> Iterator[tuple[WorkloadKind, KubeObject, Wrapped | None]]:
    """Yield the workloads of the input by kind, and then the workloads that controllers make of other objects."""
    for kind in WORKLOAD_KINDS.values():
        for item in index.of_kind(*kind.key):
            yield kind, item, None
    for wrapped in _made_workloads(index):
        yield WORKLOAD_KINDS[identity(wrapped.item.value)[:2]], wrapped.item, wrapped


def _queue_of(kind: WorkloadKind, item: KubeObject, manager: Manager) -> str:
    """Return the LocalQueue in which Kueue manages an object, or ""."""
    if kind.integration is None or not manager.manages(kind, item.namespace or ""):
        return ""
    return kind.queue_of(item.value) or (DEFAULT_QUEUE if manager.has_default_queue(item) else "")


def _made_workloads(index: Index) -> Iterator[Wrapped]:
    """Yield the workloads that controllers make of objects, such as a LeaderWorkerSet of a DisaggregatedSet's role."""
    for kind in WORKLOAD_SOURCES:
        for outer in index.of_kind(*kind):
            yield from unwrap(outer)


def _app_wrapper(item: KubeObject, index: Index) -> list[KueuePodSet]:
    """Return the pod sets of the objects in an AppWrapper, with numbered names and with paths in the AppWrapper."""
    sets: list[KueuePodSet] = []
    for wrapped in unwrap(item):
        kind = WORKLOAD_KINDS.get(identity(wrapped.item.value)[:2])
        inner = None if kind is None else _pod_sets_of(kind, wrapped.item, index)
        for each in inner or ():
            template = replace(each.template, path=wrapped.path_of(each.template.path))
            name = f"{item.name}-{len(sets)}".lower()
            sets.append(replace(each, name=name, template=template, is_validated=False))
    return sets


def made_pod_sets(kind: WorkloadKind, value: Mapping[str, Value]) -> list[KueuePodSet]:
    """Return the pod sets of an object if Kueue queues the pods or Jobs that it makes, or []."""
    if kind.integration not in (Integration.PODS, Integration.BARE_PODS, Integration.JOBS):
        return []
    is_job = kind.integration is Integration.JOBS
    body = value_at(value, *kind.body)
    count = _pods_of_job(body) if is_job else integer(value_at(body, "replicas"), 1)
    return [
        _pod_set(_MAIN, count, value_at(value, *part.path[:-1]), part.path[:-1], ".".join(part.path[:-1]))
        for part in kind.templates
    ]


def services_of(index: Index) -> Iterator[KueueJob]:
    """Yield the Deployments and StatefulSets that Kueue's webhooks check. Kueue queues their pods."""
    manager = read_manager(index)
    for kind, item, wrapped in _workloads(index):
        if kind.integration is Integration.PODS and manager.is_enabled(kind):
            yield KueueJob(item, kind, (), wrapped)


def owners_of_queued(index: Index) -> Iterator[KueueJob]:
    """Yield the objects that make pods or Jobs if Kueue queues these instead of the object."""
    manager = read_manager(index)
    for kind, item, wrapped in _workloads(index):
        queue = _queue_of(kind, item, manager)
        sets = made_pod_sets(kind, item.value)
        if queue and sets and kind.integration is not Integration.BARE_PODS:
            yield KueueJob(item, kind, tuple(sets), wrapped, queue)
            continue
        # Kueue suspends an owner with a queue as a whole. The default queue of a ReplicaSet counts for its pods.
        is_owned = bool(queue) and kind.integration is not Integration.BARE_PODS
        if not is_owned and not manager.manages_all and manager.manages(POD_KIND, item.namespace or ""):
            every = sets or _pod_sets_of(kind, item, index) or ()
            yield from _queued_pods(kind, item, wrapped, every, queue)


def _queued_pods(
    kind: WorkloadKind, item: KubeObject, wrapped: Wrapped | None, sets: Iterable[KueuePodSet], default: str
) -> Iterator[KueueJob]:
    """Yield a job for each pod set of an object without a queue, if the label of the pods names a queue.

    Without the label, the pods are in the queue `default`, unless it is "". Kueue queues each pod on its own.
    """
    if kind.integration in _WITHOUT_TEMPLATES:
        return
    replicas = integer(item.get("spec.replicas"), 1) if kind.integration is Integration.LEADER_WORKER_SET else 1
    for each in sets:
        queue = text(mapping(each.template.metadata.get("labels")).get(QUEUE_NAME)) or default
        if queue:
            pods = replace(each, name=_MAIN, count=each.count * replicas)
            yield KueueJob(item, kind, (pods,), wrapped, queue, each.template.path)


def check_pods(jobs: Iterable[KueueJob], kai_name: str) -> Iterator[Finding]:
    """Yield a finding for each problem of the pods of queued jobs.

    Pods that KAI schedules are skipped, because another front end checks them.
    """
    for job in jobs:
        is_made = job.wrapper is not None or job.kind.integration is Integration.APP_WRAPPER
        kind = None if is_made else job.kind
        # Several pod sets can share a template, and the template of a pod set can be in another object.
        templates = {each.template.path[:-1]: each.pod_spec for each in job.sets if job.queue}
        for path, spec in templates.items():
            if job.item.get((*path, "spec")) is not spec or spec.get("schedulerName") == kai_name:
                continue
            for order, (rule, problem) in enumerate(template_problems(kind, job.kind.grouping, path, spec)):
                at = problem.replace(path=(*path, "spec", *problem.path))
                yield Finding.of(rule, job.item, at.short_form, order=order)


def with_single_pods(job: KueueJob) -> KueueJob:
    """Return the job. If Kueue admits its pods one by one, each pod set has one pod."""
    if not job.queues_pods:
        return job
    return replace(job, sets=tuple([replace(each, count=1) for each in job.sets]))


def _pod_sets_of(kind: WorkloadKind, item: KubeObject, index: Index) -> list[KueuePodSet] | None:
    if kind.integration is Integration.TRAIN_JOB:
        return _train_job(item, index)
    if kind.integration is Integration.APP_WRAPPER:
        return _app_wrapper(item, index)
    pod_sets = None if kind.integration is None else _POD_SETS.get(kind.integration)
    return None if pod_sets is None else pod_sets(kind, item.value)


def _train_job(item: KubeObject, index: Index) -> list[KueuePodSet] | None:
    """Return the pod sets of a TrainJob. Return None if the input lacks its runtime, or if it has overrides."""
    runtime = _runtime_of(index, item)
    if runtime is None or item.get("spec.podTemplateOverrides"):
        return None
    return [_runtime_pod_set(each) for each in _replicated_jobs(list(replicated_jobs(item.value, runtime.value)))]


def _runtimes(index: Index, item: KubeObject) -> tuple[KubeObject, ...]:
    """Return the runtimes of the kind that a TrainJob names."""
    kind = item.get("spec.runtimeRef.kind")
    return index.of_kind(TRAINER, kind if isinstance(kind, str) else _CLUSTER)


def _runtime_of(index: Index, item: KubeObject) -> KubeObject | None:
    """Return the runtime that a TrainJob names. Return None if it is not in the input."""
    name = item.get("spec.runtimeRef.name")
    for runtime in _runtimes(index, item):
        if runtime.name == name and (runtime.kind == _CLUSTER or runtime.namespace == item.namespace):
            return runtime
    return None


def _runtime_pod_set(each: KueuePodSet) -> KueuePodSet:
    """Return the pod set with the path that the webhook's texts have.

    Its problems are reported at the field of the TrainJob that names the runtime.
    """
    template = replace(each.template, path=("spec", "runtimeRef", "name"), field=f"job[{each.name}]", suffix=_SUFFIX)
    return replace(each, template=template)


_WITHOUT_TEMPLATES = (None, Integration.POD, Integration.TRAIN_JOB, Integration.APP_WRAPPER)
"""The integrations of objects without pod templates of their own."""


def too_many_sets(job: KueueJob, release: KueueRelease) -> str:
    """Return the API server's text about a Workload with too many pod sets, or "".

    For objects of Ray, Kueue's webhook checks the number itself.
    """
    is_ray = job.kind.integration in (Integration.RAY_CLUSTER, Integration.RAY_JOB, Integration.RAY_SERVICE)
    if is_ray or not job.queue or len(job.sets) <= release.most_pod_sets:
        return ""
    return f"spec.podSets: Too many: {len(job.sets)}: must have at most {release.most_pod_sets} items"


class UnlikePod(Record):
    """A pod of a group that differs at `path` from another pod. Kueue then makes no Workload. `text` is its error."""

    pod: KubeObject
    path: FieldPath
    text: str


def unlike_pods(pods: Sequence[KubeObject], copied_labels: Sequence[str]) -> UnlikePod | None:
    """Return the first pod that is unlike the other pods of its group, or None.

    All pods must name the same queue and the same number of pods, and have the same values of `copied_labels`.
    """
    first = pods[0]
    copied: dict[str, str] = {}
    for pod in pods[1:]:
        names = f"pods '{first.name}' and '{pod.name}' has different"
        ours, theirs = (each.labels.get(QUEUE_NAME, "") for each in (first, pod))
        if ours != theirs:
            return UnlikePod(pod, ("metadata", "labels", QUEUE_NAME), f"{names} queue names: {ours}!={theirs}")
        ours, theirs = (each.annotations.get(POD_COUNT, "") for each in (first, pod))
        if ours != theirs and ours.isdecimal() and theirs.isdecimal():
            path = ("metadata", "annotations", POD_COUNT)
            return UnlikePod(pod, path, f"{names} '{POD_COUNT}' values: {ours}!={theirs}")
    for pod in pods:
        for key in copied_labels:
            value = pod.labels.get(key)
            if value is not None and copied.setdefault(key, value) != value:
                text = "constructing workload: pods have different label values"
                return UnlikePod(pod, ("metadata", "labels", key), text)
    return None


def check_runtimes(index: Index, release: KueueRelease | None) -> Iterator[Finding]:
    """Yield a finding for each TrainJob with a missing runtime, if the input has other runtimes.

    Also yield one for `podTemplateOverrides` if the release that the settings name does not use this field.
    """
    kinds = [kind.key for kind in WORKLOAD_KINDS.values() if kind.integration is Integration.TRAIN_JOB]
    for item in [item for key in kinds for item in index.of_kind(*key)]:
        name = item.get("spec.runtimeRef.name")
        known = [runtime.name for runtime in _runtimes(index, item)]
        if isinstance(name, str) and known and _runtime_of(index, item) is None:
            suggestion = did_you_mean(name, known)
            message = f'the runtime "{name}" is not in the input. Without it, Kueue refuses the job{suggestion}'
            text = f"runtime '{name}' not found"
            path = ("spec", "runtimeRef", "name")
            yield Finding.of(RUNTIME, item, path, message, operator_message=text, stage=Stage.WEBHOOK)
        is_overridden = item.labels.get(QUEUE_NAME) and item.get("spec.podTemplateOverrides")
        if is_overridden and release is not None and release.patches_runtimes:
            message = (
                f"Trainer from v2.2 on drops this field. Kueue {release.name} resumes a TrainJob by `runtimePatches`, "
                "which older releases of Trainer do not have. Write the override as a patch in `runtimePatches`"
            )
            yield Finding.of(OVERRIDES, item, ("spec", "podTemplateOverrides"), message, at_key=True)
