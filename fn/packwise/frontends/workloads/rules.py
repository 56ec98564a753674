"""Rules about workloads that KAI refuses, or groups in another way than intended. KAI reports at most an event.

The problems of the pods come first, as the API server reports them. Source: spec/podgrouper.md#5.
"""

from __future__ import annotations

from krmfn.fieldpath import describe
from krmfn.hints import TYPE_CHECKING
from krmfn.result import Severity
from packwise.findings import Finding, Rule, Stage
from packwise.frontends.workloads.groups import (
    MIN_SCALE,
    completions_of,
    is_own,
    is_skipped,
    job_members,
    leaf_members,
    needed_jobs,
    pods_in_order,
    pods_of,
    replicated_jobs,
    starts_in_order,
)
from packwise.frontends.workloads.leaders import (
    MASTER,
    WORKER,
    created_pods,
    leader_template,
    leader_waits,
    segments_of,
    size_of,
    stated_members,
    template_of,
    worker_groups,
    worker_template,
)
from packwise.frontends.workloads.workload import (
    BATCH_MIN_MEMBER,
    LEVELS,
    POD_GROUP,
    PREFERRED,
    REQUIRED,
    SEGMENT_LEVELS,
    SEGMENT_SIZE,
    SKIP,
    TOPOLOGY,
    annotation_path,
    priority_class,
    queue,
    wrong_delays,
)
from packwise.kubernetes import atoi, unmarshal_error
from packwise.lenient import integer, mapping
from packwise.objects.workload_kinds import QUEUE_NAME, Grouping
from packwise.pod_rules import SCHEDULER_NAME
from packwise.pod_templates import BUILT_IN, template_problems
from packwise.wording import count_text, list_known

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.frontends.workloads.workload import RefusedError, Template, Workload
    from packwise.objects.index import Index

_REFUSED = Rule(
    "workload-refused", "KAI's pod-grouper cannot create a PodGroup for a workload.", "spec/podgrouper.md#4"
)
_DEADLOCK = Rule(
    "workload-deadlock", "A gang needs pods that are created only after the gang runs.", "spec/podgrouper.md#6.7"
)
_REST = Rule(
    "workload-rest", "The last pods of a job are fewer than the gang needs.", "spec/podgrouper.md#5.2", Severity.WARNING
)
_SHORT = Rule("workload-short", "A gang needs more pods than its workload has.", "spec/podgrouper.md#4")
_ALONE = Rule(
    "workload-alone",
    "Pods that belong together are scheduled as separate gangs.",
    "spec/podgrouper.md#10",
    Severity.WARNING,
)
_DIFFERENT = Rule(
    "workload-pods-differ",
    "The pods of a gang have different queues, priorities, schedulers or levels.",
    "spec/podgrouper.md#3.10",
    Severity.WARNING,
)
_IGNORED = Rule(
    "workload-ignored", "KAI ignores or changes a request of a workload.", "spec/podgrouper.md#10", Severity.WARNING
)
UNSCHEDULED = Rule(
    "workload-unscheduled", "Pods with labels or annotations of KAI do not name KAI as their scheduler.",
    "spec/podgrouper.md#1.1",
    Severity.WARNING,
)  # fmt: skip
_UNGROUPED = Rule(
    "workload-ungrouped", "Pods skip KAI's pod-grouper, but name no PodGroup.", "spec/podgrouper.md#1.2",
    Severity.WARNING,
)  # fmt: skip
BATCH_SCHEDULER = Rule(
    "spark-batch-scheduler", "A SparkApplication names an unknown batch scheduler.",
    "spec/podgrouper.md#1.1", Severity.WARNING,
)  # fmt: skip
RUNTIME_POLICY = Rule(
    "runtime-policy", "A training runtime of Kubeflow Trainer names an unknown gang scheduler.", "spec/podgrouper.md#4",
    Severity.WARNING,
)  # fmt: skip
RULES = (
    _REFUSED,
    _DEADLOCK,
    _SHORT,
    _REST,
    _ALONE,
    _DIFFERENT,
    _IGNORED,
    UNSCHEDULED,
    _UNGROUPED,
    RUNTIME_POLICY,
    BATCH_SCHEDULER,
)
"""Rules of workloads that KAI groups itself."""

_DOMAIN = "kai.scheduler/"


def no_group(item: KubeObject, error: RefusedError) -> Finding:
    """Return the finding that KAI makes no group of a workload, because of `error`."""
    message = f"{error.message}. KAI makes no PodGroup, and schedules no pod"
    stage = Stage.SCHEDULER if error.text else None
    return Finding.of(_REFUSED, item, error.path, message, operator_message=error.text or None, stage=stage)


def unscheduled_keys(workload: Workload) -> Iterator[Finding]:
    """Yield a finding about the first key of KAI in a workload, if none of its pods names a scheduler."""
    if any(each.scheduler for each in workload.templates):
        return
    owner = workload.owner
    own = mapping(workload.item.value.get("metadata"))
    holders: list[tuple[str, Mapping[str, Value], FieldPath]] = [
        ("annotations", owner.annotations, owner.path),
        ("labels", owner.labels, owner.labels_path),
        *[(form, mapping(own.get(form)), ("metadata",)) for form in ("annotations", "labels")],
    ]
    for each in workload.templates:
        holders += [("annotations", each.annotations, each.metadata), ("labels", each.labels, each.metadata)]
    for form, keys, path in holders:
        for key in keys:
            # The labels of a Job without labels come from its template. They are reported there.
            if key.startswith(_DOMAIN) and workload.item.get((*path, form, key)) is not None:
                # The import is lazy, because `keys` imports this module.
                from packwise.frontends.workloads.keys import WORKLOAD_KEYS

                right = WORKLOAD_KEYS.nearest_key(key) if key not in WORKLOAD_KEYS.keys else ""
                spelling = f'no known component reads this key; did you mean "{right}"? ' if right else ""
                message = (
                    f"{spelling}KAI never sees this key: the pods name no scheduler. Set schedulerName: "
                    f"{workload.scheduler} in the pod spec"
                )
                yield Finding.of(UNSCHEDULED, workload.item, (*path, form, key), message)
                return


_SPARK = ("sparkoperator.k8s.io", "SparkApplication")


def batch_scheduler_findings(index: Index, scheduler: str) -> Iterator[Finding]:
    """Yield a finding about each SparkApplication with KAI as batch scheduler. Spark's operator has no such plugin."""
    for item in index.of_kind(*_SPARK):
        if item.get(("spec", "batchScheduler")) == scheduler:
            message = (
                "the Spark operator does not know this batch scheduler, and KAI makes the groups itself. Set "
                f"schedulerName: {scheduler} in spec.driver.template.spec and spec.executor.template.spec"
            )
            yield Finding.of(BATCH_SCHEDULER, item, ("spec", "batchScheduler"), message)


def advice(workload: Workload) -> Iterator[Finding]:
    """Yield findings about a workload that KAI groups."""
    yield from _skip_annotations(workload)
    # If the pod-grouper skips the workload, a PodGroup of the user decides which pods start together.
    if pods_in_order(workload):
        for check in (*_CHECKS_OF_ALL, *_CHECKS_BY_GROUPING.get(workload.grouping, ())):
            yield from check(workload)


def _never_starts(rule: Rule, workload: Workload, path: FieldPath, message: str, text: str | None = None) -> Finding:
    """Return an error about a group that never starts. packwise still shows the group, because KAI makes it."""
    stage = None if text is None else Stage.SCHEDULER
    return Finding.of(
        rule, workload.item, path, message, operator_message=text, stage=stage, when_written=Severity.WARNING
    )


def _skip_annotations(workload: Workload) -> Iterator[Finding]:
    for template in workload.scheduled_templates:
        if is_skipped(workload, template) and POD_GROUP not in template.annotations:
            path = _skip_path(workload, template)
            message = (
                "KAI never schedules these pods: this annotation excludes them from KAI's pod-grouper, and they name "
                f"no PodGroup. Remove it, or add the annotation {POD_GROUP} to the pod template"
            )
            yield Finding.of(_UNGROUPED, workload.item, path, message)
            return


def _skip_path(workload: Workload, template: Template) -> FieldPath:
    for path in (("metadata",), workload.owner.path, template.metadata):
        at = annotation_path(path, SKIP)
        if workload.item.get(at) == "true":
            return at
    return template.metadata


def _differences(workload: Workload) -> Iterator[Finding]:
    """Yield findings about templates of one group with different queues or PriorityClasses.

    KAI uses the queue of the first pod and the PriorityClass of the last pod.
    """
    if workload.grouping is Grouping.EACH_POD:
        return
    pods = pods_in_order(workload)
    owner = workload.owner
    queues = _by_value([(each, queue(owner, each).value) for each in pods])
    if len(queues) > 1:
        message = (
            f"pods of one PodGroup are in different queues ({_list_parts(queues)}); KAI uses the queue of the first pod"
        )
        yield Finding.of(_DIFFERENT, workload.item, pods[0].metadata, message)
    classes = _by_value([(each, priority_class(workload, owner, each).value) for each in pods])
    if len(classes) > 1:
        message = (
            f"pods of one PodGroup have different PriorityClasses ({_list_parts(classes)}); KAI uses the class of the "
            "last pod that it sees"
        )
        yield Finding.of(_DIFFERENT, workload.item, pods[0].path, message)


def _check_other_schedulers(workload: Workload) -> Iterator[Finding]:
    """Yield a finding if pods in the group name another scheduler. KAI counts these pods too."""
    if workload.grouping in (Grouping.EACH_POD, Grouping.OWNER, Grouping.REPLICA_SET):
        return
    others = [
        each
        for each in workload.templates
        if each.scheduler != workload.scheduler and each.part != "submitterPodTemplate"
    ]
    if others:
        message = (
            f"must name the scheduler {workload.scheduler}, like the other pods of this workload: KAI counts these "
            "pods too, and waits for them"
        )
        yield Finding.of(_DIFFERENT, workload.item, (*others[0].path, "spec"), message)


def _queue_of_another_scheduler(workload: Workload) -> Iterator[Finding]:
    """Yield a finding if a workload names a queue of another scheduler but no queue of KAI."""
    if QUEUE_NAME in workload.owner.labels and not any(
        queue(workload.owner, each).path for each in workload.scheduled_templates
    ):
        path = (*workload.owner.labels_path, "labels", QUEUE_NAME)
        message = "KAI does not read this queue; add the label kai.scheduler/queue"
        yield _ignored_finding(workload, path, message)


def _by_value(entries: Sequence[tuple[Template, str]]) -> dict[str, str]:
    """Return each value with the name of the first template that has it."""
    parts: dict[str, str] = {}
    for template, value in entries:
        parts.setdefault(value, template.part)
    return parts


def _list_parts(parts: Mapping[str, str]) -> str:
    return ", ".join([f'{part}: "{value}"' for value, part in parts.items()])


def _delays(workload: Workload) -> Iterator[Finding]:
    if not workload.release.delays or workload.grouping is Grouping.REVISION:
        return
    seen: set[FieldPath] = set()
    for template in pods_in_order(workload):
        for path, text, wanted in wrong_delays(workload.owner, template):
            if path not in seen:
                seen.add(path)
                yield _ignored_finding(workload, path, f'KAI ignores "{text}"; use {wanted}')


def _ignored_finding(workload: Workload, path: FieldPath, message: str) -> Finding:
    return Finding.of(_IGNORED, workload.item, path, message)


def _job(workload: Workload) -> Iterator[Finding]:
    """Yield findings about a Job if its pods start one by one, or if its gang needs more pods than there are."""
    pods = pods_of(workload)
    completions = completions_of(workload.body)
    text = workload.owner.annotations.get(BATCH_MIN_MEMBER)
    if text is not None and is_own(workload) and workload.release.batch_min_member:
        members, path = job_members(workload)
        if members > pods:
            yield _short_job(workload, path, members, pods, completions)
        yield from _last_pods(workload, workload.body_path, members, completions)
        return
    asks = _first_level(workload.owner.annotations) is not None
    if pods > 1 and (completions is None or completions == pods or asks):
        at = (*workload.body_path, "parallelism")
        together = ", and each is placed separately" if asks else ""
        if is_own(workload) and workload.release.batch_min_member:
            way_out = f'to start all pods together, add the annotation {BATCH_MIN_MEMBER}: "{pods}" to the Job'
        else:
            way_out = "KAI cannot require more pods of this kind; use a JobSet with one Job to start all pods together"
        message = f"{pods} pods start one by one{together}: the PodGroup needs only 1 of them; {way_out}"
        yield Finding.of(_ALONE, workload.item, at, message)


def _each_pod(workload: Workload) -> Iterator[Finding]:
    """Yield a finding if there is a level, but each pod is a separate group."""
    level = _first_level(workload.owner.annotations)
    if level is not None:
        message = (
            "each pod is a PodGroup of its own, so the level does not bring the pods into one domain. KAI makes one "
            "group from a LeaderWorkerSet, or from a Job with batch-min-member"
        )
        yield Finding.of(_ALONE, workload.item, annotation_path(workload.owner.path, level), message)


def _check_single_member(workload: Workload) -> Iterator[Finding]:
    """Yield a finding if there is a level, but the group needs only one of its pods."""
    pods, level = pods_of(workload), _first_level(workload.owner.annotations)
    if pods > 1 and level is not None:
        path = annotation_path(workload.owner.path, level)
        message = (
            f"the PodGroup needs only 1 of the {pods} pods; the first pod that starts chooses the domain of all pods"
        )
        yield Finding.of(_ALONE, workload.item, path, message, severity=Severity.INFO)


def _first_level(annotations: Mapping[str, str], keys: tuple[str, str] = LEVELS) -> str | None:
    """Return the first key with a value, or None."""
    return next((key for key in keys if annotations.get(key)), None)


def _job_set(workload: Workload) -> Iterator[Finding]:
    jobs = replicated_jobs(workload)
    if workload.release.job_sets != "tree":
        return
    needed = needed_jobs(workload, len(jobs))
    first = [job for job in jobs if not job.waits]
    waiting = next((job for job in jobs if job.waits), None)
    if waiting is not None and needed > len(first) and not starts_in_order(workload):
        others = list_known([job.name for job in jobs if job.waits])
        message = (
            f"deadlock: KAI's gang needs {needed} replicated Jobs to start, but the pods of {others} are created only "
            f'after others run. Add the annotation {BATCH_MIN_MEMBER}: "{len(first)}" to the JobSet'
        )
        yield _never_starts(_DEADLOCK, workload, (*waiting.path, "dependsOn"), message)
    for job in jobs:
        yield from _dropped_constraints(workload, job.annotations, job.metadata)
        members, path = leaf_members(job)
        if members > job.pods:
            yield _short_job(workload, (*job.path, *path), members, job.pods, job.completions)
        yield from _last_pods(workload, (*job.path, "template", "spec"), members, job.completions)


def _short_job(workload: Workload, path: FieldPath, members: int, pods: int, completions: int | None) -> Finding:
    """Return the error about a gang that needs more pods than the Job runs at the same time."""
    limit = "completions" if pods == completions else "parallelism"
    message = f"must be at most {pods}, the {limit}; got {members}. The gang never has enough pods"
    return _never_starts(_SHORT, workload, path, message)


def _last_pods(workload: Workload, spec: FieldPath, members: int, completions: int | None) -> Iterator[Finding]:
    """Yield a finding if the last pods of a Job are fewer than its gang needs. `spec` is the path of the Job's spec.

    The last pods are the rest of the completions divided by the parallelism. KAI does not count pods that have ended.
    """
    parallelism = integer(mapping(workload.item.get(spec)).get("parallelism"), 1)
    if completions is None or completions <= parallelism or not parallelism:
        return
    rest = completions % parallelism
    if 0 < rest < members:
        message = (
            f"with parallelism {parallelism}, the last round of {completions} completions has "
            f"{count_text(rest, 'pod')}, but the gang needs {members}: KAI does not place the last round. Use a "
            f"multiple of {parallelism}, or lower {BATCH_MIN_MEMBER} to {rest}"
        )
        yield Finding.of(_REST, workload.item, (*spec, "completions"), message)


def _dropped_constraints(workload: Workload, annotations: Mapping[str, str], metadata: FieldPath) -> Iterator[Finding]:
    """Yield a finding about a level without a topology, or a topology without a level. KAI silently ignores both."""
    level = _first_level(annotations)
    if level is not None and not annotations.get(TOPOLOGY):
        also = "; the workload's own topology does not apply here" if workload.owner.annotations.get(TOPOLOGY) else ""
        message = f"KAI ignores the level because the annotation {TOPOLOGY} is not set next to it{also}"
        yield _ignored_finding(workload, annotation_path(metadata, level), message)
    elif level is None and annotations.get(TOPOLOGY):
        message = f"KAI ignores the topology because no level is set next to it; add {REQUIRED} or {PREFERRED}"
        yield _ignored_finding(workload, annotation_path(metadata, TOPOLOGY), message)


def _leader_worker_set(workload: Workload) -> Iterator[Finding]:
    segments, worker, leader = segments_of(workload), worker_template(workload), leader_template(workload)
    if worker is None or leader is None:
        return
    if segments is not None and leader_waits(workload):
        text = (
            f"failed to get sub group policy for LWS {workload.namespace}/{workload.name}: segmentSize "
            f"{segments.size} is greater than replicasSize 1"
        )
        message = (
            "deadlock: KAI counts 1 pod until the leader runs, and refuses to split it into segments. Use "
            "LeaderCreated, or remove the segments"
        )
        yield _never_starts(_DEADLOCK, workload, ("spec", "startupPolicy"), message, text)
    elif leader_waits(workload) and size_of(workload) > 1:
        message = "KAI starts the leader as a group of 1 pod, and counts the workers after the leader is bound"
        yield Finding.of(_ALONE, workload.item, ("spec", "startupPolicy"), message, severity=Severity.INFO)
    if segments is not None and segments.size == size_of(workload) - 1:
        message = (
            f"must be less than {segments.size}, or equal to {size_of(workload)}, the size of the group; got "
            f"{segments.size}. KAI counts the leader among the workers of a single segment, so the gang never has "
            "enough pods"
        )
        yield _never_starts(_SHORT, workload, segments.path, message)
    yield from _segment_levels(workload, worker, has_segments=segments is not None)
    if segments is not None and leader is not worker:
        yield from _unlike_leader(workload, leader, worker)


def _unlike_leader(workload: Workload, leader: Template, worker: Template) -> Iterator[Finding]:
    for key in (*SEGMENT_LEVELS, TOPOLOGY):
        text = leader.annotations.get(key)
        if text and text != worker.annotations.get(key):
            path = annotation_path(leader.metadata, key)
            message = "leader and workers have different values; KAI uses the value of the last pod that it sees"
            yield Finding.of(_DIFFERENT, workload.item, path, message)


def _segment_levels(workload: Workload, worker: Template, *, has_segments: bool) -> Iterator[Finding]:
    level = _first_level(worker.annotations, SEGMENT_LEVELS)
    if level is None:
        return
    if not has_segments:
        message = f"KAI ignores the level because no segments are set; add {SEGMENT_SIZE}"
        yield _ignored_finding(workload, annotation_path(worker.metadata, level), message)
    elif not (worker.annotations.get(TOPOLOGY) or workload.owner.annotations.get(TOPOLOGY)):
        message = f"KAI ignores the level because its topology is not set; add {TOPOLOGY}"
        yield _ignored_finding(workload, annotation_path(worker.metadata, level), message)


def _replica_types(workload: Workload) -> Iterator[Finding]:
    policy: FieldPath = ("spec", "runPolicy", "schedulingPolicy")
    for field, instead in (
        ("queue", "the label kai.scheduler/queue"),
        ("priorityClass", "the label priorityClassName"),
    ):
        written = workload.item.get((*policy, field))
        if written:
            yield _ignored_finding(workload, (*policy, field), f"KAI does not read this field; use {instead}")
    stated, pods = stated_members(workload), created_pods(workload)
    if stated is not None and pods is not None and stated[0] > pods:
        message = f"must be at most {pods}, the pods of all types; got {stated[0]}. The gang never has enough pods"
        yield _never_starts(_SHORT, workload, stated[1], message)
    worker, master = template_of(workload, WORKER), template_of(workload, MASTER)
    if workload.kind is None or workload.kind.name != "PyTorchJob":
        return
    if worker is not None:
        yield from _segment_levels(workload, worker, has_segments=bool(worker.annotations.get(SEGMENT_SIZE)))
    if master is None:
        return
    for key in (SEGMENT_SIZE, *SEGMENT_LEVELS):
        if master.annotations.get(key):
            message = "segments apply only to workers; move the annotation to the template of the workers"
            yield _ignored_finding(workload, annotation_path(master.metadata, key), message)


def _ray(workload: Workload) -> Iterator[Finding]:
    for group in worker_groups(workload):
        if group.is_suspended and group.needed_pods and not group.is_skipped_by_kai:
            message = (
                "the gang never starts: KubeRay creates no pods of this group, but KAI counts its "
                f"{group.needed_pods}. Set its replicas and minReplicas to 0 instead"
            )
            yield _never_starts(_SHORT, workload, (*group.path, "suspend"), message)
        if group.is_skipped_by_kai:
            yield _ignored_finding(
                workload, (*group.path, "suspended"), 'KubeRay does not know this field; did you mean "suspend"?'
            )
        template = group.template
        if template is not None:
            yield from _dropped_constraints(workload, template.annotations, template.metadata)
    for template in workload.templates:
        if "headGroupSpec" in template.path:
            yield from _dropped_constraints(workload, template.annotations, template.metadata)


def _revision(workload: Workload) -> Iterator[Finding]:
    annotations = workload.owner.annotations
    text = annotations.get(MIN_SCALE)
    if text is not None and isinstance(atoi(text), str):
        path = annotation_path(workload.owner.path, MIN_SCALE)
        yield _ignored_finding(workload, path, f'KAI assumes 1: "{text}" is not a whole number')


_CHECKS_OF_ALL: tuple[Callable[[Workload], Iterator[Finding]], ...] = (
    _check_other_schedulers,
    _differences,
    _queue_of_another_scheduler,
    _delays,
)
_CHECKS_BY_GROUPING: Mapping[Grouping, tuple[Callable[[Workload], Iterator[Finding]], ...]] = {
    Grouping.JOB: (_job,),
    Grouping.EACH_POD: (_each_pod,),
    Grouping.OWNER: (_check_single_member,),
    Grouping.REPLICA_SET: (_check_single_member,),
    Grouping.JOB_SET: (_job_set,),
    Grouping.LEADER_WORKER_SET: (_leader_worker_set,),
    Grouping.REPLICA_TYPES: (_replica_types,),
    Grouping.RAY: (_ray,),
    Grouping.REVISION: (_revision,),
}


def scheduler_name_findings(workload: Workload) -> Iterator[Finding]:
    """Yield an error for each `schedulerName` that is not a string. Kubernetes' own kinds have the decoder's text."""
    kind = workload.kind
    for template in workload.templates:
        written = template.spec.get("schedulerName")
        path = (*template.path, "spec", "schedulerName")
        if written is None or isinstance(written, str) or workload.item.get(path) != written:
            continue
        text = None
        if kind is not None and kind.group in BUILT_IN:
            version = workload.item.api_version.rpartition("/")[2]
            dotted = ".".join([step for step in path if isinstance(step, str)])
            error = unmarshal_error(written, "string", f"PodSpec.{dotted}")
            text = f'{kind.name} in version "{version}" cannot be handled as a {kind.name}: {error}'
        message = f"must be a string; got {describe(written)}: the API server refuses the {workload.item.kind}"
        stage = None if text is None else Stage.SCHEMA
        yield Finding.of(SCHEDULER_NAME, workload.item, path, message, operator_message=text, stage=stage)


def pod_findings(workload: Workload) -> Iterator[Finding]:
    """Yield problems of the pods that KAI schedules."""
    for template in workload.scheduled_templates:
        kind = workload.kind if workload.made_from is None else None
        problems = template_problems(kind, workload.grouping, template.path, template.spec)
        for order, (rule, problem) in enumerate(problems):
            path = (*template.path, "spec", *problem.path)
            if workload.grouping is Grouping.WORKFLOW:
                # A template of Argo has its only container in the field `container` or `script`.
                field = "script" if workload.item.get((*template.path, "script")) is not None else "container"
                path = (*template.path, field, *problem.path[2:])
            yield Finding.of(rule, workload.item, problem.replace(path=path).short_form, order=order)
