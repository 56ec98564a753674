"""KAI's PodGroup: pods that are scheduled together, and the tree of subgroups they are packed by.

Source: spec/kai.md#2, crds/kai-v0.12.0 to v0.17.0.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.objects.kinds import PODGROUP

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krmfn.value import Value

__all__ = ["PodGroup", "SubGroup", "TopologyConstraint"]


class TopologyConstraint(NamedTuple):
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


class SubGroup(NamedTuple):
    """A node of the tree. A leaf holds pods and has `min_member`; an inner node has `min_sub_group` or neither."""

    name: str
    parent: str | None = None
    min_member: int | None = None
    min_sub_group: int | None = None
    topology: TopologyConstraint | None = None

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


class PodGroup(NamedTuple):
    """One PodGroup; `sub_groups` stand parents first."""

    name: str
    namespace: str
    queue: str | None = None
    priority_class: str | None = None
    min_member: int | None = None
    topology: TopologyConstraint | None = None
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
