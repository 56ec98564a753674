"""The checks of Kueue's webhooks on new and updated jobs, in the webhooks' order. Source: spec/kueue.md#2, #3, #4."""

from __future__ import annotations

import re
from dataclasses import dataclass

from krmfn.hints import TYPE_CHECKING
from packwise.findings import Finding, Problem, Rule, Stage
from packwise.kubernetes import ErrorType, OperatorError, TypedText, Unquoted, dns_subdomain, refusal
from packwise.lenient import integer, mapping, mappings_in_place, value_at
from packwise.objects.workload_kinds import QUEUE_NAME, Integration
from packwise.schedulers.kueue.admission_gates import gate_problems
from packwise.schedulers.kueue.podsets import HEAD
from packwise.schedulers.kueue.request import (
    GROUP_NAME,
    PREFERRED,
    PREFIX,
    REQUIRED,
    annotations_of,
    atoi_error,
    bound_problems,
    number_error,
    parse_bool,
    read_request,
    template_problems,
    unread_annotation,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from packwise.objects.index import Inventory
    from packwise.objects.workload_kinds import WorkloadKind
    from packwise.revisions.kueue import KueueRelease
    from packwise.schedulers.kueue.podsets import KueueJob, KueuePodSet

_ELASTIC = f"{PREFIX}elastic-job"
_PRIORITY = f"{PREFIX}priority-class"
_MAX_TIME = f"{PREFIX}max-exec-time-seconds"
_MIN_PARALLELISM = f"{PREFIX}job-min-parallelism"
_SYNC = f"{PREFIX}job-completions-equal-parallelism"
_MANAGED = f"{PREFIX}managed"
_POD_GROUP = f"{PREFIX}pod-group-name"
_POD_COUNT = f"{PREFIX}pod-group-total-count"
_PREBUILT = f"{PREFIX}prebuilt-workload-name"
_RETRIABLE = f"{PREFIX}retriable-in-group"

_IMMUTABLE = "field is immutable"
_MAX_REPLICAS = 1_000_000
_STATEFUL_SET = "StatefulSet"

REFUSED = Rule("kueue-refused", "Kueue's webhook refuses a job.", "spec/kueue.md#2")
RULES = (REFUSED,)
"""Rules about jobs that Kueue's webhooks check."""


@dataclass(frozen=True, slots=True)
class _Review:
    """A job that a webhook reviews. `before` is the job before the change, or None for a new job."""

    job: KueueJob
    before: Mapping[str, Value] | None
    release: KueueRelease

    @property
    def value(self) -> Mapping[str, Value]:
        """Return the manifest of the job."""
        return self.job.item.value

    @property
    def sets(self) -> tuple[KueuePodSet, ...]:
        """Return the pod sets of the job."""
        return self.job.sets


@dataclass(frozen=True, slots=True)
class _Webhook:
    """The webhook of an integration: its rules in their order and the ways in which webhooks differ."""

    rules: tuple[Callable[[_Review], Iterable[Problem]], ...]

    checks_groups: bool = False
    """True if the webhook checks groups of pod sets."""

    builds_first: bool = False
    """True if the webhook builds the pod sets before all checks.

    A value that cannot be parsed then hides all other errors.
    """

    sorts: bool = False
    """True if the webhook sorts its errors on a new object by field."""

    skips_unmanaged: bool = False
    """True if the webhook ignores an update of a job that names no queue before and after."""


def check_jobs(jobs: Iterable[KueueJob], inventory: Inventory, release: KueueRelease) -> Iterator[Finding]:
    """Yield a finding for each error of the webhooks, in the order of the errors."""
    for job in jobs:
        problems = _admission_problems(_Review(job, inventory.baseline_object(job.item), release))
        for order, problem in enumerate(problems):
            yield Finding.of(REFUSED, job.item, problem, order=order)


def checks_groups(kind: WorkloadKind) -> bool:
    """Return True if the webhook of a kind checks groups of pod sets."""
    webhook = _webhook_of(kind)
    return webhook is not None and webhook.checks_groups


def _webhook_of(kind: WorkloadKind) -> _Webhook | None:
    return None if kind.integration is None else _WEBHOOKS.get(kind.integration)


def _admission_problems(review: _Review) -> list[Problem]:
    """Return the errors of the webhook for the job's kind, each text once."""
    webhook = _webhook_of(review.job.kind)
    if webhook is None:
        return []
    hidden = _parse_problem(review) if webhook.builds_first else None
    if hidden is not None:
        return [hidden]
    before = review.before
    if webhook.skips_unmanaged and before is not None and not (_is_managed(review.value) or _is_managed(before)):
        return []
    problems = [problem for rule in webhook.rules for problem in rule(review)]
    if webhook.sorts and before is None:
        problems.sort(key=lambda problem: (problem.operator_message or "").partition(": ")[0])
    first: dict[str, Problem] = {}
    for problem in problems:
        first.setdefault(problem.operator_message or problem.message, problem)
    return list(first.values())


def _parse_problem(review: _Review) -> Problem | None:
    """Return the only error of a webhook that cannot build the pod sets. Return None if it can build them."""
    for each in review.sets:
        unread = unread_annotation(each.template.annotations, review.release)
        if unread is not None:
            message = f"cannot be read, and hides all other errors of this object: {unread.message}"
            return Problem(each.template.key_path(unread.key), message, unread.text, Stage.WEBHOOK)
    return None


def _labels(value: Mapping[str, Value]) -> Mapping[str, str]:
    return annotations_of(value.get("metadata"), "labels")


def _annotations(value: Mapping[str, Value]) -> Mapping[str, str]:
    return annotations_of(value.get("metadata"))


def _is_managed(value: Mapping[str, Value]) -> bool:
    """Return True if the job names a queue. With its default configuration, Kueue then manages the job."""
    return bool(_labels(value).get(QUEUE_NAME))


def _is_elastic(value: Mapping[str, Value], release: KueueRelease) -> bool:
    return release.elastic_jobs and _annotations(value).get(_ELASTIC) == "true"


def _is_suspended(kind: WorkloadKind, value: Mapping[str, Value]) -> bool:
    return value_at(value, *kind.suspended) is True


def _label(key: str, value: Value, message: str, detail: str, kind: ErrorType = ErrorType.INVALID) -> Problem:
    return _meta("labels", key, message, OperatorError("", kind, value, detail))


def _annotation(key: str, value: Value, message: str, detail: str, kind: ErrorType = ErrorType.INVALID) -> Problem:
    return _meta("annotations", key, message, OperatorError("", kind, value, detail))


def _meta(form: str, key: str, message: str, error: OperatorError) -> Problem:
    return refusal(("metadata", form, key), message, error.replace(field=f"metadata.{form}[{key}]"))


def _name_problems(key: str, labels: Mapping[str, str], title: str) -> Iterator[Problem]:
    """Yield a problem if the label `key` is not a valid name of an object. `title` is the noun for the object."""
    if key in labels:
        wrong = ",".join(dns_subdomain(labels[key]))
        if wrong:
            yield _label(key, labels[key], f'must be the name of {title}; got "{labels[key]}"', wrong)


def _creation_problems(review: _Review) -> Iterator[Problem]:
    """Yield the problems of the rules for new objects that most kinds share. These rules apply to updates too."""
    labels = _labels(review.value)
    yield from _name_problems(QUEUE_NAME, labels, "a LocalQueue")
    yield from _prebuilt_problems(review)
    if _MAX_TIME in labels:
        yield from _max_time(labels[_MAX_TIME])
    yield from _elastic_kind(review)
    yield from _gate_problems(review, None)


def _gate_problems(review: _Review, before: Mapping[str, Value] | None) -> Iterator[Problem]:
    """Yield the problems of the annotation that lists admission gates."""
    return gate_problems(review.value, before) if review.release.gates_admission else iter(())


def _prebuilt_problems(review: _Review) -> Iterator[Problem]:
    """Yield the problems of the label that names a prebuilt Workload. Some kinds do not accept the label."""
    kind, labels = review.job.kind, _labels(review.value)
    yield from _name_problems(_PREBUILT, labels, "a Workload")
    if labels.get(_PREBUILT) and kind.key in _WITHOUT_PREBUILT:
        detail = f'Is not supported for "{kind.group}/{kind.versions[0]}, Kind={kind.name}"'
        yield _label(_PREBUILT, None, f"is not supported for a {kind.name}", detail, ErrorType.FORBIDDEN)


def _first_creation_problems(review: _Review) -> Iterator[Problem]:
    """Return the problems of `_creation_problems` if the object is new.

    Some webhooks do not repeat these checks for updates.
    """
    return _creation_problems(review) if review.before is None else iter(())


def _max_time(text: str) -> Iterator[Problem]:
    error = atoi_error(text)
    message = f'must be a number of seconds, at least 1; got "{text}"'
    if error:
        yield _label(_MAX_TIME, text, message, error)
    elif int(text) <= 0:
        yield _label(_MAX_TIME, int(text), message, "should be greater than 0")


def _elastic_kind(review: _Review) -> Iterator[Problem]:
    kind = review.job.kind
    if kind.integration not in _ELASTIC_INTEGRATIONS and _is_elastic(review.value, review.release):
        detail = f'elastic job is not supported for "{kind.group}/{kind.versions[0]}, Kind={kind.name}"'
        yield _annotation(_ELASTIC, None, f"is not supported for a {kind.name}", detail, ErrorType.FORBIDDEN)


def _update_problems(review: _Review) -> list[Problem]:
    """Return the problems of the rules for updates that all kinds share, or [] for a new object."""
    kind, value, before = review.job.kind, review.value, review.before
    if before is None:
        return []
    suspended = _is_suspended(kind, value)
    labels, old = _labels(value), _labels(before)
    problems: list[Problem] = []
    if not suspended:
        problems += _immutable_label(QUEUE_NAME, labels, old)
    # A job without the label has a queue only if its namespace has a default queue.
    if old.get(QUEUE_NAME) and not labels.get(QUEUE_NAME) and review.job.queue:
        detail = "queue-name must not be empty in namespace with default queue"
        error = OperatorError(f"metadata.labels[{QUEUE_NAME}]", ErrorType.INVALID, "", detail)
        message = "must keep its queue, because the namespace has a default queue"
        problems.append(refusal(("metadata", "labels"), message, error))
    if suspended or _is_elastic(before, review.release):
        problems += _prebuilt_problems(review)
    else:
        problems += _immutable_label(_PREBUILT, labels, old)
    if not suspended or not _is_suspended(kind, before):
        problems += _immutable_label(_MAX_TIME, labels, old)
    problems += _priority(labels, old, suspended=suspended)
    elastic = _is_elastic(value, review.release)
    if elastic != _is_elastic(before, review.release):
        problems.append(_annotation(_ELASTIC, elastic, "cannot be added or removed", _IMMUTABLE))
    return [*problems, *_gate_problems(review, before)]


def _immutable_label(key: str, labels: Mapping[str, str], old: Mapping[str, str]) -> Iterator[Problem]:
    now, then = labels.get(key, ""), old.get(key, "")
    if now != then:
        path: FieldPath = ("metadata", "labels", key) if key in labels else ("metadata", "labels")
        message = f'cannot change while the job is not suspended: was "{then}", is "{now}"'
        yield refusal(path, message, OperatorError(f"metadata.labels[{key}]", ErrorType.INVALID, now, _IMMUTABLE))


def _priority(labels: Mapping[str, str], old: Mapping[str, str], *, suspended: bool) -> Iterator[Problem]:
    now, then = labels.get(_PRIORITY, ""), old.get(_PRIORITY, "")
    if now and not then and not suspended:
        detail = "WorkloadPriorityClass cannot be added to a non-suspended workload"
        yield _label(_PRIORITY, now, "cannot be added while the job is not suspended", detail)
    if then and not now:
        detail = "WorkloadPriorityClass cannot be removed from a workload"
        error = OperatorError(f"metadata.labels[{_PRIORITY}]", ErrorType.INVALID, "", detail)
        yield refusal(("metadata", "labels"), f'must keep {_PRIORITY}, which was "{then}"', error)


def _pod_sets(review: _Review) -> list[Problem]:
    """Return the topology problems of all pod sets of a job, and then the problems of its groups.

    If there is no such problem, return the problem of the first template that Kueue cannot read.
    """
    problems: list[Problem] = []
    broken = _is_unread(review)
    for each in review.sets:
        problems += _pod_set_problems(each, review, is_bounded=not broken)
    return [*problems, *_group_problems(review)] or _template_problems(review)


def _ray_job_pod_sets(review: _Review) -> list[Problem]:
    """Return the topology problems of a RayJob. The problems of groups follow the problems of the head."""
    problems: list[Problem] = []
    broken = _is_unread(review)
    for position, each in enumerate(review.sets):
        problems += _pod_set_problems(each, review, is_bounded=not broken)
        problems += _group_problems(review) if position == 0 else ()
    return problems or _template_problems(review)


def _ray_cluster_pod_sets(review: _Review) -> list[Problem]:
    """Return the topology problems of a RayCluster.

    The order is: the head's template, groups, slices that are larger than the head, workers. If Kueue cannot read a
    template, only the problems of the head's template remain.
    """
    if _is_unread(review):
        return _pod_set_problems(review.sets[0], review, is_bounded=False) or _template_problems(review)
    head, *workers = review.sets
    problems = [*template_problems(head.template, review.release), *_group_problems(review)]
    problems += bound_problems(head.template, head.count)
    # Kueue finds pod sets by name. It confuses a worker group that is called `head` with the head.
    for each in workers:
        problems += _pod_set_problems(each, review, is_bounded=True) if each.name != HEAD else ()
    return problems


def _pod_set_problems(each: KueuePodSet, review: _Review, *, is_bounded: bool) -> list[Problem]:
    if not each.is_validated:
        return []
    bounds = bound_problems(each.template, each.count) if is_bounded else ()
    return [*template_problems(each.template, review.release), *bounds]


def _group_problems(review: _Review) -> list[Problem]:
    """Return the problems of groups if the webhook checks groups and Kueue can read all templates, or []."""
    has_none = not checks_groups(review.job.kind) or _is_unread(review)
    return [] if has_none else list(group_problems_of(review.sets, review.release))


def _is_unread(review: _Review) -> bool:
    """Return True if Kueue cannot read the annotations of a template."""
    return any(unread_annotation(each.template.annotations, review.release) for each in review.sets)


def _template_problems(review: _Review) -> list[Problem]:
    """Return the problem of the first template that Kueue cannot read, as a list, or []."""
    for each in review.sets:
        unread = unread_annotation(each.template.annotations, review.release)
        if unread is not None:
            message = f"has a template that cannot be read: {unread.message}"
            return [Problem(each.template.annotations_path, message, unread.text, Stage.WEBHOOK)]
    return []


def group_problems_of(sets: Sequence[KueuePodSet], release: KueueRelease) -> Iterator[Problem]:
    """Yield the problems of groups of pod sets, in the order of the groups."""
    members: dict[str, list[KueuePodSet]] = {}
    for each in sets:
        request = read_request(each.template.annotations, release)
        if request is not None and request.group is not None:
            members.setdefault(request.group, []).append(each)
    for name, group in members.items():
        if len(group) != 2:
            detail = f"can only define groups of exactly 2 pod sets, got: {len(group)} pod set(s)"
            message = f"a group must have exactly two pod sets; this group has {len(group)}"
            yield from (_member(each, name, message, detail) for each in group)
            continue
        first, second = group
        if 1 not in (first.count, second.count):
            detail = (
                "can only define groups where at least one pod set has only 1 replica, "
                f"got: {first.count} replica(s) and {second.count} replica(s) in the group"
            )
            message = (
                f"one of the two pod sets must have exactly one pod; they have {first.count} and {second.count} pods"
            )
            yield from (_member(each, name, message, detail) for each in group)
        if _bounds(first) != _bounds(second):
            yield _unlike_problem(first, second, name)
            yield _unlike_problem(second, first, name)


def _bounds(each: KueuePodSet) -> tuple[str | None, str | None]:
    annotations = each.template.annotations
    required = annotations.get(REQUIRED)
    return required, annotations.get(PREFERRED) if required is None else None


def _member(each: KueuePodSet, name: str, message: str, detail: str) -> Problem:
    error = OperatorError(each.template.key_field(GROUP_NAME), ErrorType.INVALID, name, detail)
    return refusal(each.template.key_path(GROUP_NAME), message, error)


def _unlike_problem(each: KueuePodSet, other: KueuePodSet, name: str) -> Problem:
    detail = (
        f"must specify '{REQUIRED}' or '{PREFERRED}' topology consistent with "
        f"'{other.template.field}.annotations' in group '{name}'"
    )
    error = OperatorError(f"{each.template.field}.annotations", ErrorType.INVALID, Unquoted(detail))
    message = f'must request the same topology as the pod set "{other.name}" of the same group'
    return refusal(each.template.annotations_path, message, error)


def _job_template(review: _Review) -> Iterator[Problem]:
    """Yield the topology problems of a Job. The webhook stops at the first check that fails."""
    (each,) = review.sets
    template = each.template
    problems = template_problems(template, review.release)
    if problems:
        yield from problems
        return
    if _is_elastic(review.value, review.release):
        for key, word in ((REQUIRED, "required"), (PREFERRED, "preferred")):
            if key in template.annotations:
                detail = f"{word} topology is not supported with elastic jobs"
                error = OperatorError(f"{template.field}.annotations.{key}", ErrorType.FORBIDDEN, None, detail)
                yield refusal(template.key_path(key), "conflicts with an elastic job", error, at_key=True)
                return
    yield from bound_problems(template, each.count)


def _partial_admission(review: _Review) -> Iterator[Problem]:
    text, before = _annotations(review.value).get(_MIN_PARALLELISM), review.before
    if text is None or (before is not None and text == _annotations(before).get(_MIN_PARALLELISM)):
        return
    count = review.sets[0].count
    error = atoi_error(text)
    message = f'must be at least 1, and less than the {count} pods of the job; got "{text}"'
    if error:
        yield _annotation(_MIN_PARALLELISM, text, message, error)
    elif int(text) >= count or int(text) <= 0:
        yield _annotation(_MIN_PARALLELISM, int(text), message, f"should be between 0 and {count - 1}")
    if _is_elastic(review.value, review.release):
        detail = "partial admission and elastic job cannot be used together"
        yield _annotation(_MIN_PARALLELISM, text, "conflicts with an elastic job", detail)


def _sync_completions(review: _Review) -> Iterator[Problem]:
    text = _annotations(review.value).get(_SYNC)
    if text is None:
        return
    enabled = parse_bool(text)
    if enabled is None:
        yield _annotation(_SYNC, text, f'must be "true" or "false"; got "{text}"', number_error("ParseBool", text))
    if enabled:
        spec = mapping(review.value.get("spec"))
        if spec.get("completionMode") in (None, "NonIndexed"):
            yield _annotation(_SYNC, text, "needs an indexed Job", "should not be enabled for NonIndexed jobs")
        parallelism, completions = integer(spec.get("parallelism"), 1), integer(spec.get("completions"), 1)
        if parallelism != completions:
            detail = f"should be equal to parallelism when {_SYNC} annotation is true"
            error = OperatorError("spec.completions", ErrorType.INVALID, spec.get("completions"), detail)
            message = f"must be equal to parallelism, {parallelism}; got {completions}"
            yield refusal(("spec", "completions"), message, error)


def _partial_update(review: _Review) -> Iterator[Problem]:
    kind, value, before = review.job.kind, review.value, review.before
    if before is None:
        return
    running = not _is_suspended(kind, before)
    now, then = (integer(value_at(each, "spec", "parallelism"), 1) for each in (value, before))
    if running and _MIN_PARALLELISM in _annotations(before) and now != then:
        detail = "cannot change when partial admission is enabled and the job is not suspended"
        error = OperatorError("spec.parallelism", ErrorType.FORBIDDEN, None, detail)
        yield refusal(("spec", "parallelism"), f"cannot change while the job runs: was {then}, is {now}", error)
    syncs = [parse_bool(_annotations(each).get(_SYNC, "")) is True for each in (value, before)]
    if running and not _is_suspended(kind, value) and syncs[0] != syncs[1]:
        detail = f"{_IMMUTABLE} while the job is not suspended"
        yield _annotation(_SYNC, None, "cannot change while the job runs", detail, ErrorType.FORBIDDEN)


def _leader_worker_set(review: _Review) -> Iterator[Problem]:
    value = review.value
    yield from _name_problems(QUEUE_NAME, _labels(value), "a LocalQueue")
    yield from _elastic_kind(review)
    replicas = integer(value_at(value, "spec", "replicas"), 1)
    if not 0 <= replicas <= _MAX_REPLICAS:
        bound = f"<= {_MAX_REPLICAS}" if replicas > 0 else ">= 0"
        detail = f"invalid LeaderWorkerSet replicas: must be {bound}, got {replicas}"
        error = OperatorError("spec.replicas", ErrorType.INVALID, replicas, detail)
        yield refusal(("spec", "replicas"), f"must be 0 to {_MAX_REPLICAS}; got {replicas}", error)
    yield from _gate_problems(review, None)


def _leader_worker_set_update(review: _Review) -> Iterator[Problem]:
    value, before = review.value, review.before
    if before is None:
        return
    yield from _service_update(review, before)
    if _is_managed(value):
        from packwise.schedulers.kueue.service_changes import leader_worker_set_changes

        yield from leader_worker_set_changes(value, before)


def _service_update(review: _Review, before: Mapping[str, Value]) -> Iterator[Problem]:
    """Yield the problems of an update that LeaderWorkerSets, Deployments and StatefulSets have in common."""
    value = review.value
    labels, old = _labels(value), _labels(before)
    waits = not integer(value_at(before, "status", "readyReplicas"), 0)
    if not waits or not labels.get(QUEUE_NAME):
        yield from _immutable_label(QUEUE_NAME, labels, old)
    yield from _priority(labels, old, suspended=waits)
    yield from _gate_problems(review, before)


def _service(review: _Review) -> Iterator[Problem]:
    """Yield the problems of a Deployment or StatefulSet. Its webhook does not check topology in the pod template."""
    value, before = review.value, review.before
    yield from _name_problems(QUEUE_NAME, _labels(value), "a LocalQueue")
    yield from _elastic_kind(review)
    if before is None:
        yield from _gate_problems(review, None)
        return
    yield from _service_update(review, before)
    if review.job.kind.name == _STATEFUL_SET and _is_managed(value):
        from packwise.schedulers.kueue.service_changes import stateful_set_changes

        yield from stateful_set_changes(value, before)


def _pod(review: _Review) -> Iterator[Problem]:
    labels, annotations, before = _labels(review.value), _annotations(review.value), review.before
    # Kueue overwrites this label of a new pod that names a queue.
    if labels.get(_MANAGED, "true") != "true" and not (before is None and labels.get(QUEUE_NAME)):
        detail = "managed label value can only be 'true'"
        yield _label(_MANAGED, None, f'must be "true"; got "{labels[_MANAGED]}"', detail, ErrorType.FORBIDDEN)
    yield from _pod_group(labels, annotations)
    for each in review.sets:
        yield from template_problems(each.template, review.release)
    group, prebuilt = labels.get(_POD_GROUP, ""), labels.get(_PREBUILT, "")
    if group and prebuilt and prebuilt != group:
        detail = "prebuilt workload and pod group should be equal"
        yield _label(_PREBUILT, prebuilt, f'must be equal to the pod group, "{group}"; got "{prebuilt}"', detail)
    if before is not None:
        was = _annotations(before).get(_RETRIABLE)
        if group and was == "false" and annotations.get(_RETRIABLE) != "false":
            detail = "unretriable pod group can't be converted to retriable"
            error = OperatorError(f"metadata.annotations[{_RETRIABLE}]", ErrorType.FORBIDDEN, None, detail)
            path: FieldPath = ("metadata", "annotations", *((_RETRIABLE,) if _RETRIABLE in annotations else ()))
            yield refusal(path, f'must keep {_RETRIABLE}: "false"', error)
        then = _labels(before).get(_POD_GROUP, "")
        if then and group != then:
            error = OperatorError(f"metadata.labels[{_POD_GROUP}]", ErrorType.INVALID, group, _IMMUTABLE)
            path = ("metadata", "labels", *((_POD_GROUP,) if _POD_GROUP in labels else ()))
            yield refusal(path, f'must keep its pod group, "{then}"; got "{group}"', error)


def _pod_group(labels: Mapping[str, str], annotations: Mapping[str, str]) -> Iterator[Problem]:
    """Yield the problems of the label and the annotation of a pod group. A group needs both."""
    both = f"both the '{_POD_COUNT}' annotation and the '{_POD_GROUP}' label should be set"
    group, total = labels.get(_POD_GROUP, ""), annotations.get(_POD_COUNT)
    if not group:
        if total is not None:
            error = OperatorError(f"metadata.labels[{_POD_GROUP}]", ErrorType.REQUIRED, None, both)
            path: FieldPath = ("metadata", "annotations", _POD_COUNT)
            yield refusal(path, f"needs the label {_POD_GROUP}", error, at_key=True)
        return
    yield from _name_problems(_POD_GROUP, labels, "a group")
    if total is None:
        error = OperatorError(f"metadata.annotations[{_POD_COUNT}]", ErrorType.REQUIRED, None, both)
        path = ("metadata", "labels", _POD_GROUP)
        yield refusal(path, f"needs the annotation {_POD_COUNT}, the number of pods of the group", error)
        return
    detail = atoi_error(total)
    if not detail and int(total) < 1:
        detail = f"incorrect annotation value '{_POD_COUNT}={total}': group total count should be greater than zero"
    if detail:
        yield _annotation(_POD_COUNT, total, f'must be the number of pods, at least 1; got "{total}"', detail)


def _ray_cluster(review: _Review) -> Iterator[Problem]:
    """Yield the problems of a RayCluster that names a queue."""
    value = review.value
    if not _is_managed(value):
        return
    if value_at(value, "spec", "enableInTreeAutoscaling") is True and not _is_elastic(value, review.release):
        detail = (
            "a kueue-managed RayCluster can use autoscaling only as an elastic job: enable the "
            f'ElasticJobsViaWorkloadSlices feature gate and set the "{_ELASTIC}": "true" annotation'
        )
        error = OperatorError("spec.enableInTreeAutoscaling", ErrorType.INVALID, True, detail)
        message = f'must be false, unless {_ELASTIC} is "true": Kueue keeps the resources of a RayCluster fixed'
        yield refusal(("spec", "enableInTreeAutoscaling"), message, error)
    yield from _worker_groups(review, ("spec",), "spec")


def _ray_job(review: _Review) -> Iterator[Problem]:
    """Yield the problems of a RayJob that names a queue."""
    value = review.value
    if _is_managed(value) and value_at(value, "spec", "shutdownAfterJobFinishes") is not True:
        detail = "a kueue managed job should delete the cluster after finishing"
        error = OperatorError("spec.shutdownAfterJobFinishes", ErrorType.INVALID, False, detail)
        yield refusal(("spec", "shutdownAfterJobFinishes"), "must be true for a job with a queue", error)
    yield from _inner_ray_cluster(review)


def _inner_ray_cluster(review: _Review) -> Iterator[Problem]:
    """Yield the problems of the RayCluster within an object that names a queue."""
    value, path = review.value, review.job.kind.body
    if not _is_managed(value):
        return
    if value_at(value, *path, "enableInTreeAutoscaling") is True and not _is_elastic(value, review.release):
        detail = "a kueue managed job should only use autoscaling when workload slicing is enabled"
        error = OperatorError("spec.rayClusterSpec.enableInTreeAutoscaling", ErrorType.INVALID, True, detail)
        yield refusal((*path, "enableInTreeAutoscaling"), f'must be false, unless {_ELASTIC} is "true"', error)
    yield from _worker_groups(review, path, "spec.rayClusterSpec")


def _ray_service(review: _Review) -> Iterator[Problem]:
    """Yield the problems of a RayService that names a queue."""
    yield from _inner_ray_cluster(review)
    strategy = value_at(review.value, "spec", "upgradeStrategy", "type")
    is_managed = _is_managed(review.value) and not _is_elastic(review.value, review.release)
    if is_managed and review.release.refuses_upgrades and strategy in _WITHOUT_DOWNTIME:
        message = (
            f'must be "None", unless {_ELASTIC} is "true": Kueue has no quota for a second cluster; got "{strategy}"'
        )
        # The text of this webhook is not known.
        yield Problem(("spec", "upgradeStrategy", "type"), message)


_WITHOUT_DOWNTIME = ("NewCluster", "NewClusterWithIncrementalUpgrade")
"""The strategies of a RayService that upgrade with a second cluster."""


def _worker_groups(review: _Review, path: tuple[str, ...], field: str) -> Iterator[Problem]:
    groups = mappings_in_place(value_at(review.value, *path, "workerGroupSpecs"))
    most = review.release.most_pod_sets
    if len(groups) + 1 > most:
        detail = f"must have at most {most} items"
        error = OperatorError(f"{field}.workerGroupSpecs", ErrorType.TOO_MANY, len(groups) + 1, detail)
        message = f"must be at most {most - 1} in addition to the head; got {len(groups)}"
        yield refusal((*path, "workerGroupSpecs"), message, error)
    for index, group in enumerate(groups):
        if group.get("groupName") == HEAD:
            at = f"{field}.workerGroupSpecs[{index}].groupName"
            error = OperatorError(at, ErrorType.FORBIDDEN, None, f'"{HEAD}" is reserved for the head group')
            message = f'must not be "{HEAD}", the name of the head group'
            yield refusal((*path, "workerGroupSpecs", index, "groupName"), message, error)


def _spark(review: _Review) -> Iterator[Problem]:
    """Yield the problems of a SparkApplication that names a queue."""
    value = review.value
    if not _is_managed(value):
        return
    mode = value_at(value, "spec", "mode")
    if mode != "cluster":
        text = mode if isinstance(mode, str) else ""
        error = OperatorError(
            "spec.mode", ErrorType.INVALID, TypedText(text), "only Cluster mode is supported for a kueue managed job"
        )
        yield refusal(("spec", "mode"), f'must be "cluster" for a job with a queue; got "{text}"', error)
    if value_at(value, "spec", "dynamicAllocation", "enabled") is True and _annotations(value).get(_ELASTIC) != "true":
        detail = (
            "a kueue managed job can use dynamicAllocation only when the ElasticJobsViaWorkloadSlices feature gate is "
            "on and the job is an elastic job"
        )
        error = OperatorError("spec.dynamicAllocation.enabled", ErrorType.INVALID, True, detail)
        yield refusal(("spec", "dynamicAllocation", "enabled"), "must be false for a job with a queue", error)
    yield from _spark_memory(review)


def _spark_memory(review: _Review) -> Iterator[Problem]:
    """Yield a problem for each amount of memory that Spark cannot read.

    Since v0.20, Kueue computes the requests of the pods from these amounts.
    """
    for role in ("driver", "executor") if review.release.spark_memory else ():
        for field in ("memory", "memoryOverhead"):
            memory = value_at(review.value, "spec", role, field)
            if isinstance(memory, str) and not re.fullmatch(_SPARK_MEMORY, memory.strip().lower()):
                message = f'must be a number with a unit of Spark, such as "512m" or "2g"; got "{memory}"'
                # The text of this webhook is not known.
                yield Problem(("spec", role, field), message)


_SPARK_MEMORY = r"[0-9]+(b|[kmgtp]b?)?"


_COMMON_RULES = (_update_problems, _creation_problems, _pod_sets)
_WEBHOOKS: Mapping[Integration, _Webhook] = {
    Integration.JOB: _Webhook(
        (_creation_problems, _partial_admission, _sync_completions, _update_problems, _partial_update, _job_template)
    ),
    Integration.JOB_SET: _Webhook(_COMMON_RULES, checks_groups=True, builds_first=True),
    Integration.LEADER_WORKER_SET: _Webhook(
        (_leader_worker_set, _pod_sets, _leader_worker_set_update), checks_groups=True
    ),
    Integration.PODS: _Webhook((_service,)),
    Integration.POD: _Webhook((_first_creation_problems, _pod)),
    Integration.KUBEFLOW: _Webhook((_update_problems, _first_creation_problems, _pod_sets)),
    Integration.MPI: _Webhook(_COMMON_RULES, checks_groups=True, builds_first=True, sorts=True),
    Integration.RAY_CLUSTER: _Webhook(
        (_update_problems, _ray_cluster, _creation_problems, _ray_cluster_pod_sets),
        checks_groups=True,
        skips_unmanaged=True,
    ),
    Integration.RAY_JOB: _Webhook(
        (_update_problems, _ray_job, _creation_problems, _ray_job_pod_sets), checks_groups=True, skips_unmanaged=True
    ),
    Integration.RAY_SERVICE: _Webhook(
        (_update_problems, _ray_service, _creation_problems, _ray_job_pod_sets),
        checks_groups=True,
        skips_unmanaged=True,
    ),
    Integration.SPARK: _Webhook(
        (_update_problems, _spark, _creation_problems, _pod_sets), builds_first=True, skips_unmanaged=True
    ),
    Integration.TRAIN_JOB: _Webhook(_COMMON_RULES, builds_first=True),
}
"""The webhook of each integration that has one."""
_WITHOUT_PREBUILT = (("sparkoperator.k8s.io", "SparkApplication"), ("kubeflow.org", "JAXJob"))
"""The kinds that have a webhook and do not accept a prebuilt Workload."""
_ELASTIC_INTEGRATIONS = (Integration.JOB, Integration.RAY_CLUSTER, Integration.RAY_JOB, Integration.RAY_SERVICE)
"""The integrations that accept elastic jobs."""
