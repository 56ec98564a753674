"""The PodGroup of a gang as Grove's operator, OSMO's service or KAI's own pod-grouper makes it.

Source: spec/grove.md#10, spec/osmo.md#5, spec/kai.md#2, spec/podgrouper.md#3, crds/kai-v0.12.0 to v0.17.0.

All three make the same tree: a subgroup for each leaf, and for each inner set with sets below it. The fields depend on
the component that makes the PodGroup.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.keys import KAI_QUEUE
from packwise.objects.kinds import PODGROUP
from packwise.placement import Grouper
from packwise.revisions.kai import SEGMENT_COUNTS, SUBGROUP_COUNTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from packwise.findings import Origin
    from packwise.placement import Bounds, Gang, PodSet
    from packwise.revisions.kai import Versions


SKIP_PODGROUPER = "kai.scheduler/skip-podgrouper"
"""The annotation that makes KAI's pod-grouper ignore pods that already have a PodGroup."""

DEFAULT_QUEUE = "default-queue"
"""The queue of pods that name no queue."""

QUEUE_LABELS = (KAI_QUEUE, "runai/queue")
"""The labels of pods that name their queue. KAI before v0.6 reads the second one."""

_LEVELS: Mapping[str, FieldPath] = {"required": ("requiredTopologyLevel",), "preferred": ("preferredTopologyLevel",)}

_OWN_FIELDS = ("preemptibility", "preemptionDelay", "stalenessGracePeriod")

_UNNAMED = "topology name cannot be empty when topology constraints are defined"


def podgroup(gang: Gang, supported: Versions, topology: str) -> Mapping[str, Value]:
    """Return the PodGroup of `gang` for all versions of KAI in `supported`. `topology` names its Topology.

    Raise ValueError with KAI's own text if the gang has a constraint but no Topology.
    """
    if gang.grouper is Grouper.OWNER:
        return _own_podgroup(gang, supported)
    is_of_operator, is_of_service = gang.grouper is Grouper.OPERATOR, gang.grouper is Grouper.SERVICE
    queue = gang.queue or DEFAULT_QUEUE
    # Without a constraint, Grove and the pod-grouper write an empty mapping. If packwise did not, a GitOps tool would
    # always report a difference.
    constraint: Value = None if is_of_service else {}
    if gang.bounds is not None and not gang.bounds.is_empty:
        constraint = _constraint(gang.bounds, topology)
    metadata: dict[str, Value] = {
        "labels": {**dict.fromkeys(QUEUE_LABELS, queue), **gang.labels} if is_of_service else gang.labels,
        "annotations": {**gang.annotations, SKIP_PODGROUPER: "true"} if is_of_operator else gang.annotations,
    }
    spec: dict[str, Value] = {
        "minMember": gang.members,
        "queue": queue,
        "priorityClassName": gang.priority_class,
        "topologyConstraint": constraint,
        "subGroups": list(
            _sub_groups(gang, topology, counts_subgroups=is_of_operator and supported.oldest >= SUBGROUP_COUNTS)
        ),
    }
    return _manifest(gang, metadata, spec)


def _own_podgroup(gang: Gang, supported: Versions) -> Mapping[str, Value]:
    """Return the PodGroup that KAI's pod-grouper creates for the owner of pods, before any webhook changes it."""
    owner = gang.made_for
    references: list[Value] = []
    if owner is not None:
        references.append({"apiVersion": owner.api_version, "kind": owner.kind, "name": owner.name, "uid": owner.uid})
    # Earlier releases treat a number of 0 as absent.
    writes_zero = supported.oldest >= SUBGROUP_COUNTS
    metadata: dict[str, Value] = {
        "labels": gang.labels,
        "annotations": gang.annotations,
        "ownerReferences": references,
    }
    spec: dict[str, Value] = {
        "minMember": gang.members if writes_zero else gang.members or None,
        "minSubGroup": gang.needed,
        "queue": gang.queue,
        "priorityClassName": gang.priority_class,
        "preemptibility": gang.preemptibility,
        "preemptionDelay": gang.preemption_delay,
        "stalenessGracePeriod": gang.grace_period,
        "topologyConstraint": _constraint_value(gang.bounds, gang.topology),
        "subGroups": list(_own_sub_groups(gang, supported, writes_zero=writes_zero)),
    }
    return _manifest(gang, metadata, spec)


def _manifest(gang: Gang, metadata: Mapping[str, Value], spec: Mapping[str, Value]) -> Mapping[str, Value]:
    """Return the manifest of the PodGroup, without a status and without empty fields."""
    named: dict[str, Value] = {"name": gang.name, "namespace": gang.namespace}
    named |= {key: part for key, part in metadata.items() if part}
    filled: dict[str, Value] = {key: part for key, part in spec.items() if part not in (None, "", [])}
    return {"apiVersion": PODGROUP.api_version, "kind": PODGROUP.name, "metadata": named, "spec": filled}


def _own_sub_groups(gang: Gang, supported: Versions, *, writes_zero: bool) -> Iterator[Value]:
    """Yield the subgroups of a PodGroup that KAI's pod-grouper creates.

    An inner set has the number of sets that it needs, or the number of pods for releases that do not count sets.
    """
    for pods in listed_sets(gang):
        members, needed = pods.members, pods.needed
        if members is None and supported.oldest < SEGMENT_COUNTS:
            members, needed = _pods_below(gang, pods), None
        members = members if writes_zero else members or None
        yield _sub_group(pods, members, needed, pods.topology or gang.topology)


def _pods_below(gang: Gang, inner: PodSet) -> int:
    """Return the number of pods that the gang needs from the sets below `inner`.

    The topmost sets count first, and the sets below `inner` supply the rest of the gang's minimum.
    """
    below = sum([each.members or 0 for each in gang.sets if each.parent == inner.name])
    topmost = sum([each.members or 0 for each in gang.sets if each.parent is None])
    return below if gang.members is None else max(min(below, gang.members - topmost), 0)


def listed_sets(gang: Gang) -> list[PodSet]:
    """Return the sets of `gang` that become subgroups, in their order.

    An inner set without sets below it becomes no subgroup, unless it has a needed number.
    """
    parents = {pods.parent for pods in gang.sets}
    return [
        pods
        for pods in gang.sets
        if pods.is_named and (pods.members is not None or pods.name in parents or pods.needed is not None)
    ]


def podgroup_origins(gang: Gang) -> Mapping[FieldPath, Origin]:
    """Return the origin of each part of the PodGroup of `gang`, by path."""
    queue = gang.owner.of("queue")
    origins = {**gang.origins(_LEVELS), ("spec", "queue"): queue}
    origins |= {("metadata", "labels", label): queue for label in QUEUE_LABELS}
    for position, pods in enumerate(listed_sets(gang)):
        origins.update(pods.origins(("spec", "subGroups", position), "minMember", _LEVELS))
    if gang.grouper is Grouper.OWNER:
        counted = "minMember" if gang.needed is None else "minSubGroup"
        origins["spec", counted] = gang.origin.of("members")
        if "topology" in gang.owner.fields:
            origins["spec", "topologyConstraint", "topology"] = gang.owner.of("topology")
        origins |= {("spec", field): gang.owner.of(field) for field in _OWN_FIELDS if field in gang.owner.fields}
    return origins


def _sub_groups(gang: Gang, topology: str, *, counts_subgroups: bool) -> Iterator[Value]:
    """Yield the subgroups. With `counts_subgroups`, an inner set has the number of its subgroups as `minSubGroup`.

    If `minSubGroup` is not set, KAI needs all subgroups of the set too. Only leaves have pods, so only leaves have
    `minMember`. From v0.15 on, KAI refuses `minMember` in an inner set. Source: spec/kai.md.
    """
    children: dict[str | None, int] = {}
    for pods in gang.sets:
        children[pods.parent] = children.get(pods.parent, 0) + 1
    for pods in listed_sets(gang):
        count = children.get(pods.name, 0) if counts_subgroups and pods.members is None else None
        yield _sub_group(pods, pods.members, count, topology)


def _sub_group(pods: PodSet, members: int | None, needed: int | None, topology: str) -> Value:
    """Return the entry of `spec.subGroups` for a leaf with pods or an inner set with subgroups."""
    fields: dict[str, Value] = {
        "name": pods.name,
        "parent": pods.parent,
        "minMember": members,
        "minSubGroup": needed,
        "topologyConstraint": _constraint(pods.bounds, topology),
    }
    return {key: part for key, part in fields.items() if part is not None}


def _constraint(bounds: Bounds, topology: str) -> Value:
    """Return the `topologyConstraint` of a gang or a set. Return None if `bounds` has no level.

    Raise ValueError if `bounds` has a level but `topology` is empty.
    """
    if bounds.is_empty:
        return None
    if not topology:
        raise ValueError(_UNNAMED)
    return _constraint_value(bounds, topology)


def _constraint_value(bounds: Bounds | None, topology: str) -> Value:
    """Return the `topologyConstraint` with the node labels of its levels. It is empty without a topology and levels."""
    value: dict[str, Value] = {"topology": topology} if topology else {}
    if bounds is not None and bounds.required is not None:
        value["requiredTopologyLevel"] = bounds.required.key
    if bounds is not None and bounds.preferred is not None:
        value["preferredTopologyLevel"] = bounds.preferred.key
    return value
