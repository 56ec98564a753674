"""The labels and annotations that KAI reads on workloads that it groups itself, and the check for misplaced ones.

A key at a place where no component reads it is reported there. A fix moves the key if KAI reads it at only one place.
Workloads without pods of KAI are skipped. Source: spec/podgrouper.md#2.
"""

from __future__ import annotations

from functools import lru_cache, partial

from krmfn.hints import TYPE_CHECKING
from packwise.findings import Finding
from packwise.frontends.workloads.rules import batch_scheduler_findings
from packwise.frontends.workloads.train_jobs import derived_job_sets, policy_findings
from packwise.frontends.workloads.workload import LEVELS, SEGMENT_LEVELS, SEGMENT_SIZE
from packwise.keys import (
    FORMS,
    KAI_QUEUE,
    Key,
    KeyTable,
    Part,
    findings_at,
    holders,
    is_read_at,
    key_places,
    parts_of,
    stray_key_problems,
)
from packwise.keys import KEYS as ALL_KEYS
from packwise.keys import PLACE as KEY_PLACE
from packwise.lenient import mapping
from packwise.objects.index import kai_candidates
from packwise.objects.workload_kinds import (
    ANYWHERE,
    WORKLOAD_KINDS,
    Grouping,
    Metadata,
    Role,
    WorkloadKind,
    pod_templates_in,
    workload_kind,
)
from packwise.objects.wrapped import unread_keys, unwrap
from packwise.revisions.kai import release_of
from packwise.settings.topologyrender import KAI_PROFILE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.keys import KeyPlace
    from packwise.objects.index import Index
    from packwise.revisions.kai import KaiRelease

_PLACES: dict[Part, tuple[WorkloadKind, Metadata]] = {
    Part(kind.key, metadata.path, metadata.title): (kind, metadata)
    for kind in WORKLOAD_KINDS.values()
    for metadata in kind.metadata
}


def workload_parts(is_wanted: Callable[[WorkloadKind, Metadata], bool]) -> tuple[Part, ...]:
    """Return the parts of all kinds for which `is_wanted` returns True."""
    return tuple(part for part, place in _PLACES.items() if is_wanted(*place))


_WITH_MIN_MEMBER = (Grouping.JOB, Grouping.JOB_SET, Grouping.RUNTIME, Grouping.TRAIN_JOB)


def is_owner(kind: WorkloadKind, metadata: Metadata) -> bool:
    """Return True if KAI's pod-grouper reads this metadata for the whole PodGroup.

    This is the metadata of the PodGroup's owner. For a Workflow, and for a kind that KAI has no permission to read, it
    is the metadata of the pods.
    """
    if kind.grouping is Grouping.REPLICA_SET:
        return metadata.role is Role.ANCESTOR
    if kind.grouping in (Grouping.NO_ACCESS, Grouping.WORKFLOW) and metadata.role is Role.POD:
        return True
    return kind.grouping is not Grouping.NO_ACCESS and (metadata.role is Role.OWNER or metadata is kind.owner)


def _is_job_of_set(kind: WorkloadKind, metadata: Metadata) -> bool:
    return kind.grouping in (Grouping.JOB_SET, Grouping.RUNTIME) and metadata.role is Role.JOB


def _has_topology(kind: WorkloadKind, metadata: Metadata) -> bool:
    """Return True if KAI reads a topology constraint in this metadata.

    The constraint applies to the whole group, to a subgroup of a JobSet, or to a group of a Ray cluster.
    """
    is_subgroup = _is_job_of_set(kind, metadata) or (
        kind.grouping is Grouping.RAY and "submitter" not in metadata.title
    )
    return kind.grouping is not Grouping.REVISION and (is_owner(kind, metadata) or is_subgroup)


def _has_segments(kind: WorkloadKind, metadata: Metadata) -> bool:
    """Return True if KAI reads the topology levels of segments in this metadata of pods."""
    is_cut = kind.grouping is Grouping.LEADER_WORKER_SET or kind.name == "PyTorchJob"
    return is_cut and metadata.role is Role.POD


def _has_size(kind: WorkloadKind, metadata: Metadata) -> bool:
    """Return True if KAI reads the size of segments in this metadata."""
    if kind.name == "PyTorchJob":
        return metadata.role is Role.POD
    return kind.grouping is Grouping.LEADER_WORKER_SET and "leaderTemplate" not in metadata.path


_OWNERS = workload_parts(is_owner)
_PODS = workload_parts(lambda kind, metadata: metadata.role is Role.POD or kind.grouping is Grouping.POD)
_ANCESTORS = workload_parts(
    lambda kind, metadata: (
        metadata.role is Role.ANCESTOR and kind.grouping not in (Grouping.NO_ACCESS, Grouping.RUNTIME)
    )
)
_JOBS = workload_parts(_is_job_of_set)
_MIN_MEMBER = workload_parts(lambda kind, metadata: metadata.role is Role.OWNER and kind.grouping in _WITH_MIN_MEMBER)
_TOPOLOGIES = workload_parts(_has_topology)
_RAY_GROUPS = workload_parts(lambda kind, metadata: kind.grouping is Grouping.RAY and metadata.role is Role.POD)
_SEGMENTS = workload_parts(_has_segments)
_SIZES = workload_parts(_has_size)
_SETS = workload_parts(lambda kind, metadata: kind.name == "StatefulSet" and metadata.role is Role.OWNER)
_RAY = workload_parts(lambda kind, metadata: kind.grouping is Grouping.RAY and metadata.role is Role.OWNER)
_ANY = tuple(dict.fromkeys([*_OWNERS, *_PODS]))
# A ReplicaSet has the annotations of its owner, such as a Rollout, but the labels of its pods.
_LABELLED = tuple(
    part for part in _ANY if part not in _ANCESTORS or _PLACES[part][0].grouping is not Grouping.REPLICA_SET
)
_PREEMPTIBLE = tuple(part for part in _LABELLED if _PLACES[part][0].grouping is not Grouping.REVISION)

_REVISION_TEXTS = {
    part: "KAI's pod-grouper does not read this key from Knative's revisions"
    for part, (kind, metadata) in _PLACES.items()
    if kind.grouping is Grouping.REVISION and metadata.role is Role.POD
}

_KAI, _GROUPER, _DOMAIN = "KAI", "KAI's pod-grouper", "kai.scheduler"
_BARE_POD = next(part for part in _PODS if part.kind == ("", "Pod"))
_OWNER_ANNOTATION = "an annotation of the object that owns the group, not of its pods"
_POD_ANNOTATION = "an annotation of pods"
_OWNER_OR_POD_LABEL = "a label of the object that owns the group, or of its pods"

_GPU_DOMAINS = ("nvidia.com", "run.ai", "runai")
"""Domains that users wrongly write before the annotations for shared GPUs. These annotations have no domain."""

_ROWS = (
    Key(KAI_QUEUE, _KAI, labels=_LABELLED, elsewhere=_OWNER_OR_POD_LABEL),
    Key("kai.scheduler/node-pool", _KAI, labels=_LABELLED, elsewhere=_OWNER_OR_POD_LABEL),
    Key("runai/queue", "KAI before v0.6", successor=KAI_QUEUE),
    Key("priorityClassName", _GROUPER, labels=_LABELLED, elsewhere=_OWNER_OR_POD_LABEL),
    Key(
        "ray.io/priority-class-name", _GROUPER, labels=_RAY, elsewhere="a label of the kinds of KubeRay",
    ),
    ALL_KEYS["kai.scheduler/preemptibility"].replace(
        labels=_PREEMPTIBLE, annotations=(), releases=None, elsewhere=_OWNER_OR_POD_LABEL,
        otherwise="KAI ignores other values", instead=_REVISION_TEXTS,
    ),
    Key(
        "kai.scheduler/topology", _GROUPER, annotations=(*_TOPOLOGIES, *_SEGMENTS), elsewhere=_OWNER_ANNOTATION,
        only_beside=dict.fromkeys(_SEGMENTS, SEGMENT_LEVELS), since_of=dict.fromkeys(_RAY_GROUPS, 14),
        instead=_REVISION_TEXTS,
    ),
    *[
        Key(
            name, _GROUPER, annotations=_TOPOLOGIES, elsewhere=_OWNER_ANNOTATION,
            since_of=dict.fromkeys(_RAY_GROUPS, 14), instead=_REVISION_TEXTS,
        )
        for name in LEVELS
    ],
    ALL_KEYS["kai.scheduler/skip-podgrouper"].replace(
        annotations=(*_ANY, *_ANCESTORS, *_JOBS), since=15,
    ),
    Key(
        "kai.scheduler/batch-min-member", _GROUPER, annotations=(*_MIN_MEMBER, *_JOBS), since=14,
        since_of=dict.fromkeys(_JOBS, 16), elsewhere="an annotation of Jobs, JobSets and their replicatedJobs",
    ),
    Key(
        "kai.scheduler/min-member", _GROUPER, annotations=_SETS, since=18,
        elsewhere="an annotation of StatefulSets, since v0.18; for Jobs and JobSets it reads "
                  "kai.scheduler/batch-min-member",
    ),
    Key(
        "kai.scheduler/segment-size", _GROUPER, annotations=_SIZES,
        elsewhere="an annotation of LeaderWorkerSets, of their workerTemplate, and of the Worker of a PyTorchJob",
    ),
    *[
        Key(
            name, _GROUPER, annotations=_SEGMENTS,
            elsewhere="an annotation of the templates of a LeaderWorkerSet, and of the Worker of a PyTorchJob",
        )
        for name in SEGMENT_LEVELS
    ],
    *[
        Key(f"kai.scheduler/{name}", _GROUPER, annotations=_ANY, since=17, elsewhere=_POD_ANNOTATION)
        for name in ("preemption-delay", "staleness-grace-period")
    ],
    *[
        Key(
            name, _KAI, annotations=_PODS, elsewhere=_POD_ANNOTATION,
            inventions=tuple(f"{domain}/{name.replace('-', dash)}" for domain in _GPU_DOMAINS for dash in "-."),
        )
        for name in ("gpu-fraction", "gpu-fraction-num-devices", "gpu-fraction-container-name", "gpu-memory")
    ],
    *[key for key in ALL_KEYS.values() if key.is_written and key.reader == _KAI],
)  # fmt: skip

PLACES: dict[str, tuple[Part, ...]] = {
    "the owner or its pods": _ANY,
    "the owner or its pods (for a Rollout only its pods)": _LABELLED,
    "the owner or its pods (for a Rollout only its pods; not Knative's revisions)": _PREEMPTIBLE,
    "the owner (not Knative's revisions)": tuple(part for part in _OWNERS if part not in _REVISION_TEXTS),
    "pods": _PODS,
    "the pods of LeaderWorkerSets and PyTorchJobs": _SEGMENTS,
    "the head and the worker groups of Ray": tuple(part for part in _RAY_GROUPS if part in _TOPOLOGIES),
}
"""Sets of parts in which KAI reads the same keys, each by the name that pages show. The largest set comes first."""

WORKLOAD_KEYS = KeyTable({key.name: key for key in _ROWS}, tuple(_PLACES), closed=_DOMAIN)
"""The table of the keys, and of all parts of workloads in which keys are checked."""


def workload_key_findings(index: Index, kai_version: str | None, kai_name: str = KAI_PROFILE) -> Iterator[Finding]:
    """Yield findings about keys that no component reads at their place in a workload of users.

    `kai_version` is the release of KAI, or None for the newest. `kai_name` is the name of KAI in `schedulerName`.
    """
    releases = partial(_other_releases, release=release_of(kai_version))
    yield from policy_findings(index)
    yield from batch_scheduler_findings(index, kai_name)
    of_jobs = {id(outer): job_set for outer, job_set in derived_job_sets(index)}
    for item in kai_candidates(index):
        yield from _wrapped_findings(item, releases, kai_name)
        kind = workload_kind(item.value)
        # A TrainJob with KAI's keys is meant for KAI, even if its runtime names no scheduler.
        is_meant = kind.grouping is Grouping.TRAIN_JOB and is_scheduled(item, kai_name)
        if is_meant or is_scheduled(of_jobs.get(id(item), item), kai_name):
            table = _table_of(kind)
            for part in [each for each in table.parts if each.kind == kind.key]:
                for place in _places(item, part):
                    yield from findings_at(item, place, table, releases)
                for rule, problem in stray_key_problems(item.value, part, table):
                    yield Finding.of(rule, item, problem)


def _wrapped_findings(item: KubeObject, releases: Callable[[Key, KeyPlace], str], kai_name: str) -> Iterator[Finding]:
    """Yield findings about keys of the workloads in an object, and about keys of the object that no workload gets."""
    scheduled = [wrapped for wrapped in unwrap(item) if is_scheduled(wrapped.item, kai_name)]
    for wrapped in scheduled:
        kind = workload_kind(wrapped.item.value)
        table = _table_of(kind)
        yield from wrapped.key_findings(
            finding
            for part in table.parts
            for place in (_places(wrapped.item, part) if part.kind == kind.key else ())
            for finding in findings_at(wrapped.item, place, table, releases)
        )
    for path, message in unread_keys(item, scheduled, f"{_DOMAIN}/") if scheduled else ():
        yield Finding.of(KEY_PLACE, item, path, message, at_key=True)


def is_scheduled(item: KubeObject, kai_name: str = KAI_PROFILE) -> bool:
    """Return True if a pod of the object names KAI as its scheduler. A TrainJob counts if it has a key of KAI."""
    kind = workload_kind(item.value)
    if kind.grouping is Grouping.TRAIN_JOB:
        written = [mapping(item.get((*part.path, form))) for part in kind.metadata for form in FORMS]
        return any(key.startswith(f"{_DOMAIN}/") for keys in written for key in keys)
    return any(spec.get("schedulerName") == kai_name for spec in kind.pod_specs(item.value))


def metadata_of_workloads(index: Index, kai_name: str) -> Iterator[tuple[KubeObject, FieldPath, Mapping[str, Value]]]:
    """Yield the metadata in workloads of KAI: the workload, the path and the mapping.

    Metadata of pod templates in unknown places is skipped.
    """
    for item in kai_candidates(index):
        if is_scheduled(item, kai_name):
            for part in workload_kind(item.value).metadata:
                for path, metadata in holders(item.value, part.path) if part.path[0] != ANYWHERE else ():
                    yield item, path, metadata


@lru_cache(maxsize=64)
def _table_of(kind: WorkloadKind) -> KeyTable:
    """Return the table of keys for a kind. A kind without a row has the keys of Pods in its pod templates."""
    if kind.key in WORKLOAD_KINDS:
        return WORKLOAD_KEYS
    own, pods = (Part(kind.key, part.path, part.title) for part in kind.metadata)
    keys = {
        key.name: key.replace(
            labels=(pods,) if _BARE_POD in key.labels else (),
            annotations=(pods,) if _BARE_POD in key.annotations else (),
            since_of={},
            only_beside={},
            instead={},
        )
        for key in WORKLOAD_KEYS.keys.values()
    }
    return KeyTable(keys, (own, pods), closed=_DOMAIN)


def _places(item: KubeObject, part: Part) -> Iterator[KeyPlace]:
    """Yield the labels and the annotations at each place of a part of a workload."""
    if part.path[0] != ANYWHERE:
        yield from key_places(item.value, part)
        return
    for path, template in pod_templates_in(item.value):
        for place in key_places(template, part.replace(path=part.path[1:])):
            yield place.replace(part=part, path=(*path, *place.path))


def _other_releases(key: Key, place: KeyPlace, release: KaiRelease) -> str:
    """Return a message if only later releases of KAI read the key at this place, otherwise ""."""
    since = key.since_of.get(place.part, key.since)
    if release.minor >= since:
        return ""
    return f"{release.name} does not read this key here; {key.reader} reads it since v0.{since}"


_WILDCARDS = frozenset({"*", ANYWHERE})
"""Steps of a path that can match several entries."""


def move_keys(item: KubeObject, kai_name: str = KAI_PROFILE) -> KubeObject:
    """Return a workload with its keys moved to the places where KAI reads them. Without a fix, return `item` itself.

    Raise FieldError if an anchor or alias prevents a move.
    """
    return item.edit_all([_edit(*move) for move in _moves(item)]) if is_scheduled(item, kai_name) else item


def _edit(path: FieldPath, target: FieldPath, value: Value) -> tuple[FieldPath, Callable[..., KubeObject]]:
    """Return the place of an edit, and the edit that moves the key at `path` to `target`.

    If both are in one entry of a list, the place is this entry. Otherwise, it is the whole object.
    """
    start = next((at + 1 for at, step in enumerate(path) if isinstance(step, int)), 0)
    start = start if path[:start] == target[:start] else 0
    return path[:start], partial(_move, path=path[start:], target=target[start:], value=value)


def _move(item: KubeObject, at: FieldPath, path: FieldPath, target: FieldPath, value: Value) -> KubeObject:
    if item.get((*at, *target)) is not None:
        # The user also wrote the key at the target. This value counts, so nothing is moved.
        return item
    if path[:-1] == target[:-1]:
        return item.rename((*at, *path), str(target[-1]))
    return item.set((*at, *target), value).remove((*at, *path), prune=True, keep_comments=True)


def _moves(item: KubeObject) -> Iterator[tuple[FieldPath, FieldPath, Value]]:
    """Yield each key to move: its path, the target path and the value."""
    kind = workload_kind(item.value)
    table = _table_of(kind)
    for part in table.parts:
        for place in _places(item, part) if part.kind == kind.key else ():
            for name, value in place.keys.items():
                key = table.keys.get(name) or table.keys.get(table.nearest_key(name))
                if key is None or key.is_written or key.successor or (key.values and value not in key.values):
                    continue
                target = _target(key, name, place) or _worker_target(key, place, item)
                if target is not None and target != (*place.path, name):
                    yield (*place.path, name), target, value


def _target(key: Key, name: str, place: KeyPlace) -> FieldPath | None:
    """Return the only path at which KAI reads the key. Return None if it is there already, or if there are several."""
    if is_read_at(key, place):
        return None if name == key.name else (*place.path, key.name)
    other = next(form for form in FORMS if form != place.form)
    if place.part in parts_of(key, other) and place.part not in key.only_beside:
        return (*place.path[:-1], other, key.name)
    read = [
        (part, form)
        for form in FORMS
        for part in parts_of(key, form)
        # A topology next to a level for the whole group is meant for the whole group.
        if part.kind == place.part.kind and not (part in key.only_beside and _has_level(place))
    ]
    if len(read) != 1 or not _WILDCARDS.isdisjoint((*place.part.path, *read[0][0].path)):
        return None
    (part, form) = read[0]
    return (*part.path, form, key.name)


_WORKERS: Mapping[tuple[str, str], FieldPath] = {
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): ("spec", "leaderWorkerTemplate", "workerTemplate"),
    ("kubeflow.org", "PyTorchJob"): ("spec", "pytorchReplicaSpecs", "Worker", "template"),
}
"""The path to the template of the pods that form segments, by kind."""
_SEGMENT_KEYS = (SEGMENT_SIZE, *SEGMENT_LEVELS)


def _has_level(place: KeyPlace) -> bool:
    return any(place.has_beside(place.form, level) for level in LEVELS)


def _worker_target(key: Key, place: KeyPlace, item: KubeObject) -> FieldPath | None:
    """Return the path in the workers' template to which a segment key without effect is moved, or None.

    A topology next to the key is moved too, unless there is also a level for the whole group. Without such a level, the
    topology has no effect on the whole group.
    """
    path = _WORKERS.get(place.part.kind)
    if path is None or not isinstance(item.get(path), dict):
        return None
    if key.name in _SEGMENT_KEYS:
        is_of_master = place.path[:4] == ("spec", "pytorchReplicaSpecs", "Master", "template")
        moves = is_of_master or not is_read_at(key, place)
    else:
        is_of_owner = key.name == "kai.scheduler/topology" and place.path == ("metadata", "annotations")
        is_of_segments = any(place.has_beside(place.form, level) for level in SEGMENT_LEVELS)
        moves = is_of_owner and is_of_segments and not _has_level(place)
    return (*path, "metadata", "annotations", key.name) if moves else None
