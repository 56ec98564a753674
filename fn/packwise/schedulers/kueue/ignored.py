"""Rules about keys and requests that Kueue silently ignores, or that only another scheduler reads.

A misspelt or misplaced key has no effect: the pods run anywhere, or are not queued. Some requests are invalid, but no
webhook checks them. Source: spec/kueue.md#1, #3 and #8.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from krmfn.hints import TYPE_CHECKING
from krmfn.result import Severity
from packwise.findings import Finding, Rule
from packwise.keys import Key, KeyTable, Part, key_places, key_problems, stray_key_problems
from packwise.lenient import mapping, value_at
from packwise.objects.index import identity
from packwise.objects.workload_kinds import QUEUE_NAME, WORKLOAD_KINDS, Integration, Role
from packwise.objects.wrapped import WORKLOAD_SOURCES, unread_keys, unwrap, wrapped_objects
from packwise.revisions.kueue import RELEASES
from packwise.schedulers.kueue.admission import checks_groups, group_problems_of
from packwise.schedulers.kueue.manager import read_manager
from packwise.schedulers.kueue.podsets import POD_COUNT, POD_GROUP, unlike_pods
from packwise.schedulers.kueue.request import (
    PREFIX,
    SPREADING,
    TOPOLOGY_KEYS,
    UNCONSTRAINED,
    PodTemplate,
    annotations_of,
    parse_bool,
    template_problems,
)
from packwise.wording import count_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.objects.index import Index
    from packwise.objects.workload_kinds import Metadata, WorkloadKind
    from packwise.objects.wrapped import Wrapped
    from packwise.revisions.kueue import KueueRelease
    from packwise.schedulers.kueue.podsets import KueueJob

KEY = Rule(
    "kueue-key", "A label or annotation of Kueue is misspelt or misplaced.", "spec/kueue.md#1",
    Severity.WARNING,
)  # fmt: skip
UNCHECKED = Rule(
    "kueue-unchecked", "A job breaks a rule of Kueue that no webhook checks in this object.", "spec/kueue.md#3",
    Severity.WARNING,
)  # fmt: skip
PODS = Rule(
    "kueue-pod-group",
    "Pods of a group have different annotations, or some pods are missing.",
    "spec/kueue.md#3",
    Severity.WARNING,
)
SCHEDULER = Rule(
    "kueue-scheduler", "Pods request a topology that their scheduler does not read.", "spec/kueue.md#8",
    Severity.WARNING,
)  # fmt: skip
RULES = (KEY, UNCHECKED, PODS, SCHEDULER)
"""Rules about errors that no component reports."""

# Kueue's labels and annotations, and the places of each kind of workload in which Kueue reads them.

_KUEUE = "Kueue"
_MAKERS_OF_PODS = (Integration.PODS, Integration.BARE_PODS)
_KINDS = tuple(kind for kind in WORKLOAD_KINDS.values() if kind.integration is not None)


def _part(kind: WorkloadKind, metadata: Metadata) -> Part:
    """Return the part of `kind` with this metadata. Messages show its path, because Kueue has no name for the part."""
    return Part(kind.key, metadata.path, ".".join(metadata.path).replace(".*", "[]"))


_PARTS = tuple(_part(kind, metadata) for kind in _KINDS for metadata in kind.metadata)
_PODS = tuple(_part(kind, each) for kind in _KINDS for each in kind.templates)
_OWNERS = tuple(_part(kind, kind.owner) for kind in _KINDS if kind.integration is not Integration.BARE_PODS)
_PODS_WITH_QUEUES = tuple(
    _part(kind, each) for kind in _KINDS if kind.integration in _MAKERS_OF_PODS for each in kind.templates
)
"""The templates of pods that Kueue queues one by one or as a group."""

_OTHER_KEYS = (
    "admission", "admission-gated-by", "auto-generated", "cluster-queue-name", "component-workload-index",
    "concurrent-admission", "concurrent-admission-parent", "elastic-job", "is-group-workload",
    "job-completions-equal-parallelism", "job-min-parallelism", "job-owner-gvk", "job-owner-name", "job-uid",
    "local-queue-name", "managed", "manager", "max-exec-time-seconds", "multikueue", "multikueue-origin",
    "multikueue-origin-uid", "multikueue-worker-workload-pod", "pod-group-fast-admission", "pod-group-name",
    "pod-group-pod-index", "pod-group-pod-index-label", "pod-group-serving", "pod-group-total-count",
    "pod-index-offset", "pod-suspending-parent", "podset", "podset-replica-sizes",
    "prebuilt-workload-name", "priority-boost", "priority-class", "provisioning-request", "raycluster-generation",
    "raycluster-podset-replica-sizes", "resource-in-use", "retriable-in-group", "role-hash",
    "safe-to-forcefully-delete", "stopping", "topology", "workload", "workload-allowed-resource-flavors",
    "workload-slice-name", "workload-slice-replacement-for", "workloadpriorityclass",
)  # fmt: skip
"""The names of Kueue's other keys: they are not about topology or queues. packwise does not check their place."""

_ROWS = (
    Key(QUEUE_NAME, _KUEUE, labels=(*_OWNERS, *_PODS_WITH_QUEUES)),
    *[
        Key(name, _KUEUE, annotations=_PODS, elsewhere="an annotation of the pod templates of the runtime")
        for name in (*TOPOLOGY_KEYS, SPREADING)
    ],
    *[Key(f"{PREFIX}{name}", _KUEUE, is_written=True) for name in _OTHER_KEYS],
)
_TABLE = KeyTable({key.name: key for key in _ROWS}, _PARTS, word="kueue", stem="podset-", rule=KEY)


def check_keys(index: Index, release: KueueRelease | None) -> Iterator[Finding]:
    """Yield findings about the keys of all workloads of kinds that Kueue knows.

    `release` is the release that the settings name, or None.
    """
    for kind in _KINDS:
        parts = [part for part in _TABLE.parts if part.kind == kind.key]
        for item in index.of_kind(*kind.key):
            yield from _keys_of(item, kind, parts, release)
    for wrapped in wrapped_objects(index):
        yield from _wrapped_keys(wrapped, release)
    for item in (item for kind in WORKLOAD_SOURCES for item in index.of_kind(*kind)):
        for path, message in unread_keys(item, unwrap(item), PREFIX):
            yield Finding.of(KEY, item, path, message, at_key=True)


def _wrapped_keys(wrapped: Wrapped, release: KueueRelease | None) -> Iterator[Finding]:
    """Yield findings about the keys of a workload that is part of another object, at places in the other object."""
    kind = WORKLOAD_KINDS.get(identity(wrapped.item.value)[:2])
    parts = [part for part in _TABLE.parts if kind is not None and part.kind == kind.key]
    if kind is not None and parts:
        yield from wrapped.key_findings(_keys_of(wrapped.item, kind, parts, release))


def _other_releases(key: Key, release: KueueRelease | None) -> str:
    """Return a message if only other releases read the key. Return "" if `release` reads it or is None."""
    if key.name != SPREADING or release is None or release.spreads_topology:
        return ""
    first = next(each.name for each in RELEASES if each.spreads_topology)
    return f"Kueue {release.name} does not read this, and spreads no pods; Kueue {first} does"


def _keys_of(
    item: KubeObject, kind: WorkloadKind, parts: list[Part], release: KueueRelease | None
) -> Iterator[Finding]:
    owner = kind.owner.path
    is_queued = bool(item.get((*owner, "labels", QUEUE_NAME)))
    pods = [each.path for each in kind.templates]
    for part in parts:
        for place in key_places(item.value, part):
            for rule, problem in key_problems(place, _TABLE, lambda key, _place: _other_releases(key, release)):
                if problem.path[-1] != QUEUE_NAME or part.path == owner:
                    yield Finding.of(rule, item, problem)
                # If the workload itself has the label, a copy of it does no harm.
                elif not is_queued:
                    is_read = part.path in pods and problem.path[-2] == "labels"
                    yield Finding.of(rule, item, problem.replace(message=_queued_alone(kind)) if is_read else problem)
        for rule, problem in stray_key_problems(item.value, part, _TABLE):
            yield Finding.of(rule, item, problem)


def _queued_alone(kind: WorkloadKind) -> str:
    return (
        f"because of this label, Kueue queues each pod separately instead of the {kind.name}; move the label to "
        f"{'.'.join(kind.owner.path)}.labels"
    )


# Requests that no component checks, or that another scheduler would read.

_UNCHECKED = tuple(kind for kind in _KINDS if kind.integration in (*_MAKERS_OF_PODS, Integration.JOBS))
"""The kinds with a pod template that no webhook of Kueue checks. Kueue checks the pods or Jobs that they make."""

_KAI_ANNOTATIONS = (
    "kai.scheduler/topology",
    "kai.scheduler/topology-required-placement",
    "kai.scheduler/topology-preferred-placement",
)
_MAX_DIGITS = 8
"""The number of digits from which on a number of pods is not checked."""
_ROLE_FIELDS = (
    "initContainers", "containers", "nodeSelector", "affinity", "tolerations", "runtimeClassName", "priority",
    "topologySpreadConstraints", "overhead", "resourceClaims",
)  # fmt: skip
"""The fields of a pod's spec that decide its role in a group. Annotations do not decide it."""


@dataclass(frozen=True, slots=True)
class _JobPart:
    """The metadata at `path` of an object: of the object itself, of a pod template, or of a level between them."""

    path: FieldPath
    metadata: Mapping[str, Value]
    has_pods: bool = False


@dataclass(frozen=True, slots=True)
class _Owner:
    """An object, with its parts. `pod_specs` are the paths and the specs of its pod templates."""

    item: KubeObject
    parts: tuple[_JobPart, ...]
    pod_specs: tuple[tuple[FieldPath, Mapping[str, Value]], ...]


def check_ignored(index: Index, jobs: Sequence[KueueJob], release: KueueRelease, kai_name: str) -> Iterator[Finding]:
    """Yield findings about requests that Kueue ignores, or that no webhook checks.

    `kai_name` is the scheduler name by which pods select KAI.
    """
    for owner in _owners(index, jobs):
        yield from _schedulers(owner, kai_name)
    for job in jobs:
        if not checks_groups(job.kind):
            yield from _unchecked_groups(job, release)
    for kind in _UNCHECKED:
        for item in index.of_kind(*kind.key):
            yield from _unchecked_template(item, kind, release)
    yield from _pod_groups(index)


def _owners(index: Index, jobs: Sequence[KueueJob]) -> Iterator[_Owner]:
    sets = {id(job.item): job.sets for job in jobs}
    for kind in WORKLOAD_KINDS.values():
        for item in index.of_kind(*kind.key) if kind.integration is not None else ():
            # The pod sets of a TrainJob are in its runtime.
            own = [each.template.path for each in sets.get(id(item), ()) if not each.template.suffix]
            yield _owner(item, kind, [each.path for each in kind.templates] if kind in _UNCHECKED else own)


def _owner(item: KubeObject, kind: WorkloadKind, pods: Sequence[FieldPath]) -> _Owner:
    """Return the object with all metadata on the paths to its pod templates. `pods` are the paths of their metadata."""
    own = [part.path for part in kind.metadata if part.role is not Role.POD and "*" not in part.path]
    paths: dict[FieldPath, None] = dict.fromkeys((("metadata",), *own))
    parts = {path: _JobPart(path, mapping(item.get(path))) for path in paths}
    specs: list[tuple[FieldPath, Mapping[str, Value]]] = []
    for path in pods:
        # The driver and the executor of Spark have their annotations outside the pod template.
        is_metadata = path[-1:] == ("metadata",)
        above = path[:-1] if is_metadata else path
        for length in range(1, len(above)):
            between = (*above[:length], "metadata")
            if isinstance(item.get(between), dict):
                parts.setdefault(between, _JobPart(between, mapping(item.get(between))))
        parts[path] = _JobPart(path, mapping(item.get(path)), has_pods=True)
        spec = (*above, "spec") if above else ("spec",)
        specs.append((spec, mapping(item.get(spec))))
    return _Owner(item, tuple(parts.values()), tuple(specs))


def _schedulers(owner: _Owner, kai_name: str) -> Iterator[Finding]:
    """Yield findings about annotations of the wrong scheduler.

    Either KAI places the pods, but they request a topology of Kueue. Or Kueue queues the job, but it requests a
    topology of KAI.
    """
    is_queued = bool(annotations_of(owner.item.get("metadata"), "labels").get(QUEUE_NAME))
    pods = [part for part in owner.parts if part.has_pods]
    for part, (path, spec) in zip(pods, owner.pod_specs, strict=True):
        asked = next((key for key in TOPOLOGY_KEYS if key in annotations_of(part.metadata)), None)
        if spec.get("schedulerName") == kai_name and asked is not None:
            message = (
                f'"{kai_name}" does not read {asked}: Kueue chooses nodes by this annotation, but KAI places the pods '
                "by KAI's own annotations"
            )
            yield Finding.of(SCHEDULER, owner.item, (*path, "schedulerName"), message)
    if not is_queued or not pods or any(spec.get("schedulerName") for _, spec in owner.pod_specs):
        return
    for part in owner.parts:
        for key in _KAI_ANNOTATIONS:
            if key in annotations_of(part.metadata):
                message = (
                    "has no effect: only KAI reads it, but Kueue queues this job, and its pods do not name KAI. Use an "
                    f"annotation of Kueue, such as {TOPOLOGY_KEYS[0]}"
                )
                yield Finding.of(SCHEDULER, owner.item, (*part.path, "annotations", key), message, at_key=True)


def _unchecked_groups(job: KueueJob, release: KueueRelease) -> Iterator[Finding]:
    """Yield a finding for each invalid group of pod sets, for a kind with a webhook that does not check groups."""
    if job.kind.integration in (Integration.JOB, Integration.POD):
        return
    for problem in group_problems_of(job.sets, release):
        message = f"{problem.message}; Kueue's webhook does not check this for a {job.item.kind}"
        yield Finding.of(UNCHECKED, job.item, problem.path, message)


def _unchecked_template(item: KubeObject, kind: WorkloadKind, release: KueueRelease) -> Iterator[Finding]:
    """Yield the problems for which Kueue refuses each pod or Job of a template, although it accepts the object."""
    (path,) = [each.path for each in kind.templates]
    template = PodTemplate(path, "metadata", mapping(item.get(path)))
    each = "Job" if kind.integration is Integration.JOBS else "pod"
    for problem in template_problems(template, release):
        message = f"{problem.message}; Kueue accepts the {item.kind}, but refuses each {each} of it"
        yield Finding.of(UNCHECKED, item, problem.path, message)
    text = template.annotations.get(UNCONSTRAINED, "")
    if parse_bool(text) is False and not release.refuses_false:
        message = (
            f'must be "true" or unset; with "{text}", each {each} requests a topology without a level, and no flavor '
            "ever matches"
        )
        yield Finding.of(UNCHECKED, item, template.key_path(UNCONSTRAINED), message)


def _pod_groups(index: Index) -> Iterator[Finding]:
    copied = read_manager(index).copied_labels
    groups: dict[tuple[str, str], list[KubeObject]] = {}
    for item in index.of_kind("", "Pod"):
        name = item.labels.get(POD_GROUP)
        if name:
            groups.setdefault((item.namespace or "", name), []).append(item)
    for (_, name), pods in groups.items():
        # A pod with `generateName` has no name in the input.
        unique = {pod.name or position: pod for position, pod in enumerate(pods)}
        yield from _unlike_pods(sorted(unique.values(), key=lambda pod: pod.name), name, copied)


def _unlike_pods(pods: Sequence[KubeObject], name: str, copied_labels: Sequence[str]) -> Iterator[Finding]:
    """Yield findings about the pods of the group `name` that differ, and about a wrong number of pods.

    For each role, Kueue uses the topology that the first pod requests.
    """
    first: dict[str, KubeObject] = {}
    for pod in pods:
        before = first.setdefault(repr([value_at(pod.value, "spec", each) for each in _ROLE_FIELDS]), pod)
        ours, theirs = _topology_annotations(pod), _topology_annotations(before)
        if ours != theirs:
            key = next(key for key in TOPOLOGY_KEYS if ours.get(key) != theirs.get(key))
            message = (
                f'Kueue uses the annotations of the pod "{before.name}" for all similar pods of the group "{name}": '
                f"{key} is {_quote(theirs.get(key))} there and {_quote(ours.get(key))} here"
            )
            path = ("metadata", "annotations", *((key,) if key in ours else ()))
            yield Finding.of(PODS, pod, path, message)
    if unlike := unlike_pods(pods, copied_labels):
        message = f"must be the same for all pods of the group; until then, Kueue makes no Workload: {unlike.text}"
        yield Finding.of(PODS, unlike.pod, unlike.path, message)
        return
    total = pods[0].annotations.get(POD_COUNT, "")
    if not total.isdecimal() or len(total) >= _MAX_DIGITS or int(total) == 0:
        return
    # Unnamed pods in another file may be a variant of these pods.
    most = max(Counter([pod.file for pod in pods]).values())
    message = f"the group needs {total} pods, but the input has {len(pods)}. "
    if len(pods) < int(total):
        message += f"Until more exist, Kueue reports: '{name}' group has fewer runnable pods than expected"
    elif most > int(total):
        message += f"Kueue deletes {count_text(most - int(total), 'pod')} of it: Excess pod deleted"
    else:
        return
    yield Finding.of(PODS, pods[0], ("metadata", "annotations", POD_COUNT), message)


def _topology_annotations(pod: KubeObject) -> dict[str, str]:
    annotations = annotations_of(pod.get("metadata"))
    return {key: annotations[key] for key in TOPOLOGY_KEYS if key in annotations}


def _quote(text: str | None) -> str:
    return "not set" if text is None else f'"{text}"'
