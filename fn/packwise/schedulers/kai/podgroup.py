"""The PodGroup of a gang: as Grove's operator makes it, as OSMO's service does, or as KAI's own pod-grouper does.

Source: spec/grove.md#10, spec/osmo.md#5, spec/kai.md#2, spec/podgrouper.md#3, crds/kai-v0.12.0 to v0.17.0.

All make the same tree: a subgroup for each inner set that has members, and one for each leaf, below that of its
parent. They differ in fields, which follow from who makes the PodGroup.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import Record
from packwise.objects.kinds import PODGROUP
from packwise.placement import Grouper
from packwise.schedulers.kai import SEGMENT_COUNTS, SUBGROUP_COUNTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from packwise.objects import Origin
    from packwise.placement import Bounds, Gang, PodSet
    from packwise.schedulers.kai import Versions


class KaiConstraint(Record):
    """Node label keys of the Topology named `topology`: `required` bounds the pods, `preferred` is a wish within.

    With an empty name there is no constraint, and the mapping is written empty.
    """

    topology: str
    required: str | None = None
    preferred: str | None = None

    def to_value(self) -> Mapping[str, Value]:
        """A PodGroup's or subgroup's `topologyConstraint`."""
        value: dict[str, Value] = {"topology": self.topology} if self.topology else {}
        if self.required is not None:
            value["requiredTopologyLevel"] = self.required
        if self.preferred is not None:
            value["preferredTopologyLevel"] = self.preferred
        return value


class SubGroup(Record):
    """A node of the tree. A leaf holds pods and has `min_member`; an inner node has `min_sub_group` or neither."""

    name: str
    parent: str | None = None
    min_member: int | None = None
    min_sub_group: int | None = None
    topology: KaiConstraint | None = None

    def to_value(self) -> Mapping[str, Value]:
        """The entry of `spec.subGroups`."""
        value: dict[str, Value] = {"name": self.name}
        if self.parent is not None:
            value["parent"] = self.parent
        if self.min_member is not None:
            value["minMember"] = self.min_member
        if self.min_sub_group is not None:
            value["minSubGroup"] = self.min_sub_group
        if self.topology is not None:
            value["topologyConstraint"] = self.topology.to_value()
        return value


class PodGroup(Record):
    """One PodGroup; `sub_groups` stand parents first."""

    name: str
    namespace: str
    queue: str | None = None
    priority_class: str | None = None
    min_member: int | None = None
    topology: KaiConstraint | None = None
    sub_groups: tuple[SubGroup, ...] = ()
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    min_sub_group: int | None = None
    preemptibility: str = ""
    preemption_delay: str = ""
    grace_period: str = ""
    owner: Mapping[str, str] = {}

    def to_value(self) -> Mapping[str, Value]:
        """The manifest, without status."""
        metadata: dict[str, Value] = {"name": self.name, "namespace": self.namespace}
        if self.labels:
            metadata["labels"] = dict(self.labels)
        if self.annotations:
            metadata["annotations"] = dict(self.annotations)
        if self.owner:
            metadata["ownerReferences"] = [dict(self.owner)]
        spec: dict[str, Value] = {}
        if self.min_member is not None:
            spec["minMember"] = self.min_member
        if self.min_sub_group is not None:
            spec["minSubGroup"] = self.min_sub_group
        if self.queue:
            spec["queue"] = self.queue
        if self.priority_class is not None:
            spec["priorityClassName"] = self.priority_class
        for field, text in (
            ("preemptibility", self.preemptibility),
            ("preemptionDelay", self.preemption_delay),
            ("stalenessGracePeriod", self.grace_period),
        ):
            if text:
                spec[field] = text
        if self.topology is not None:
            spec["topologyConstraint"] = self.topology.to_value()
        if self.sub_groups:
            spec["subGroups"] = [group.to_value() for group in self.sub_groups]
        return {"apiVersion": PODGROUP.api_version, "kind": PODGROUP.name, "metadata": metadata, "spec": spec}


SKIP_PODGROUPER = "kai.scheduler/skip-podgrouper"
"""Annotation that keeps KAI's pod-grouper away from pods which have their PodGroup already."""

DEFAULT_QUEUE = "default-queue"
"""The queue of pods that name none."""

QUEUE_LABELS = ("kai.scheduler/queue", "runai/queue")
"""Labels of pods with their queue: the second is read by KAI before v0.6."""

_LEVELS: Mapping[str, FieldPath] = {"required": ("requiredTopologyLevel",), "preferred": ("preferredTopologyLevel",)}

_OWN_FIELDS = ("preemptibility", "preemptionDelay", "stalenessGracePeriod")

_UNNAMED = "topology name cannot be empty when topology constraints are defined"


def podgroup(gang: Gang, suits: Versions, topology: str) -> PodGroup:
    """The PodGroup of `gang`, for the versions of KAI that the output must suit; `topology` names its Topology.

    Raises ValueError, with KAI's own text, for a constraint where nothing names its Topology.
    """
    counts = gang.grouper is Grouper.OPERATOR and suits.first >= SUBGROUP_COUNTS
    if gang.grouper is Grouper.OWNER:
        return _own_podgroup(gang, suits)
    return PodGroup(
        name=gang.name,
        namespace=gang.namespace,
        queue=gang.queue or DEFAULT_QUEUE,
        priority_class=gang.priority_class or None,
        min_member=gang.members,
        topology=_root(gang, topology),
        sub_groups=tuple(_sub_groups(gang, topology, counts_subgroups=counts)),
        labels=_labels(gang),
        annotations={**gang.annotations, SKIP_PODGROUPER: "true"}
        if gang.grouper is Grouper.OPERATOR
        else gang.annotations,
    )


def _own_podgroup(gang: Gang, suits: Versions) -> PodGroup:
    """The PodGroup that KAI's pod-grouper makes of the owner of pods, as the webhooks have not seen it yet."""
    owner = gang.made_for
    reference = (
        {"apiVersion": owner.api_version, "kind": owner.kind, "name": owner.name, "uid": owner.uid}
        if owner is not None
        else {}
    )
    # Before, a zero is as if it was not there.
    writes_zero = suits.first >= SUBGROUP_COUNTS
    bounds = gang.bounds
    root = KaiConstraint(gang.topology, *(_keys(bounds) if bounds is not None else ()))
    return PodGroup(
        name=gang.name,
        namespace=gang.namespace,
        queue=gang.queue,
        priority_class=gang.priority_class or None,
        min_member=gang.members if writes_zero else gang.members or None,
        topology=root,
        sub_groups=tuple(_own_sub_groups(gang, suits, writes_zero=writes_zero)),
        labels=gang.labels,
        annotations=gang.annotations,
        min_sub_group=gang.needed,
        preemptibility=gang.preemptibility,
        preemption_delay=gang.preemption_delay,
        grace_period=gang.grace_period,
        owner=reference,
    )


def _own_sub_groups(gang: Gang, suits: Versions, *, writes_zero: bool) -> Iterator[SubGroup]:
    """Inner sets say how many sets they need; for releases that do not count these, how many pods."""
    for pods in listed_sets(gang):
        members, needed = pods.members, pods.needed
        if members is None and suits.first < SEGMENT_COUNTS:
            members, needed = _pods_below(gang, pods), None
        constraint = _constraint(pods.bounds, pods.topology or gang.topology)
        yield SubGroup(pods.name, pods.parent, members if writes_zero else members or None, needed, constraint)


def _pods_below(gang: Gang, inner: PodSet) -> int:
    """The number of pods that the gang needs of those in sets below an inner one: not more than others leave."""
    below = sum([each.members or 0 for each in gang.sets if each.parent == inner.name])
    beside = sum([each.members or 0 for each in gang.sets if each.parent is None])
    return below if gang.members is None else max(min(below, gang.members - beside), 0)


def listed_sets(gang: Gang) -> list[PodSet]:
    """The sets of `gang` that are subgroups, in their order: inner sets without members or a count are none."""
    parents = {pods.parent for pods in gang.sets}
    return [
        pods
        for pods in gang.sets
        if pods.is_named and (pods.members is not None or pods.name in parents or pods.needed is not None)
    ]


def podgroup_origins(gang: Gang) -> Mapping[FieldPath, Origin]:
    """The origin of each part of the PodGroup of `gang`, by path."""
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


def _root(gang: Gang, topology: str) -> KaiConstraint | None:
    """The gang's own constraint: Grove and the pod-grouper write an empty mapping where there is none.

    A client that did not would see a change for ever.
    """
    if gang.bounds is None or gang.bounds.is_empty:
        return None if gang.grouper is Grouper.SERVICE else KaiConstraint("")
    return _constraint(gang.bounds, topology)


def _labels(gang: Gang) -> Mapping[str, str]:
    if gang.grouper is not Grouper.SERVICE:
        return gang.labels
    return {**dict.fromkeys(QUEUE_LABELS, gang.queue or DEFAULT_QUEUE), **gang.labels}


def _sub_groups(gang: Gang, topology: str, *, counts_subgroups: bool) -> Iterator[SubGroup]:
    """`counts_subgroups`: inner nodes say how many subgroups they need, which KAI takes for granted otherwise.

    Pods are in leaves only, and only leaves say how many: KAI from v0.15 on refuses more. Source: spec/kai.md.
    """
    children: dict[str | None, int] = {}
    for pods in gang.sets:
        children[pods.parent] = children.get(pods.parent, 0) + 1
    for pods in listed_sets(gang):
        count = children.get(pods.name, 0) if counts_subgroups and pods.members is None else None
        yield SubGroup(pods.name, pods.parent, pods.members, count, _constraint(pods.bounds, topology))


def _constraint(bounds: Bounds, topology: str) -> KaiConstraint | None:
    """The constraint of a gang or a set; None where it has none."""
    if bounds.is_empty:
        return None
    if not topology:
        raise ValueError(_UNNAMED)
    return KaiConstraint(topology, *_keys(bounds))


def _keys(bounds: Bounds) -> tuple[str | None, str | None]:
    """The node label keys of the required and the preferred level."""
    required, preferred = bounds.required, bounds.preferred
    return None if required is None else required.key, None if preferred is None else preferred.key
