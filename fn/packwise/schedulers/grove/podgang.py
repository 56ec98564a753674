"""The PodGang of a gang. Source: operator.md 7."""

from __future__ import annotations

from functools import partial

from krmfn.hints import TYPE_CHECKING
from packwise.objects.generated import Generated
from packwise.objects.kinds import PODGANG
from packwise.placement.model import Gang, Grouper
from packwise.schedulers.scheduler import Scheduler, SchedulerInput, SchedulerObjects

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.objects.place import Origin
    from packwise.placement.model import Bounds, PodSet
    from packwise.placement.plan import Cluster
    from packwise.settings import TopologyRender

__all__ = ["GROVE", "podgang_origins", "podgang_value"]

_LEVELS: Mapping[str, FieldPath] = {
    "required": ("packConstraint", "required"),
    "preferred": ("packConstraint", "preferred"),
}


class _Grove:
    def objects(self, source: SchedulerInput) -> SchedulerObjects:
        """A PodGang for each gang of a workload whose operator makes PodGangs."""
        return SchedulerObjects(
            tuple([
                Generated(
                    podgang_value(gang),
                    placement.source,
                    placement.subject,
                    partial(podgang_origins, gang),
                    placement.notes,
                    emit_by_default=placement.emit_by_default,
                )
                for placement in source.placements
                if isinstance(gang := placement.node, Gang) and gang.grouper is not Grouper.SERVICE
            ])
        )  # fmt: skip

    def mend(self, item: KubeObject, cluster: Cluster, settings: TopologyRender) -> KubeObject:  # noqa: ARG002
        """Itself: PodGangs need nothing of users' objects."""
        return item


def podgang_value(gang: Gang) -> Mapping[str, Value]:
    """The manifest, without owner reference (a render knows no uid) and status."""
    metadata: dict[str, Value] = {"name": gang.name, "namespace": gang.namespace, "labels": gang.labels}
    if gang.annotations:
        metadata["annotations"] = gang.annotations
    spec: dict[str, Value] = {"podgroups": [_podgroup(pods) for pods in gang.leaves]}
    if gang.bounds is not None and not gang.bounds.is_empty:
        spec["topologyConstraint"] = _constraint(gang.bounds)
    inner = gang.inner
    if inner:
        spec["topologyConstraintGroupConfigs"] = _group_configs(inner, gang.leaves)
    if gang.priority_class:
        spec["priorityClassName"] = gang.priority_class
    return {"apiVersion": PODGANG.api_version, "kind": PODGANG.name, "metadata": metadata, "spec": spec}


def podgang_origins(gang: Gang) -> Mapping[FieldPath, Origin]:
    """The origin of each part of the PodGang of `gang`, by path."""
    origins = gang.origins(_LEVELS)
    for position, pods in enumerate(gang.leaves):
        origins.update(pods.origins(("spec", "podgroups", position), "minReplicas", _LEVELS))
    for position, pods in enumerate(gang.inner):
        origins.update(pods.origins(("spec", "topologyConstraintGroupConfigs", position), "podGroupNames", _LEVELS))
    return origins


def _podgroup(pods: PodSet) -> Mapping[str, Value]:
    """The entry of `spec.podgroups`."""
    value: dict[str, Value] = {"name": pods.name, "podReferences": [], "minReplicas": pods.members}
    if not pods.bounds.is_empty:
        value["topologyConstraint"] = _constraint(pods.bounds)
    return value


def _group_configs(inner: list[PodSet], leaves: list[PodSet]) -> list[Value]:
    """`spec.topologyConstraintGroupConfigs`; an entry stays when its level is gone."""
    members: dict[str, list[Value]] = {pods.name: [] for pods in inner}
    for leaf in leaves:
        if leaf.parent is not None:
            members[leaf.parent].append(leaf.name)
    configs: list[Value] = []
    for pods in inner:
        value: dict[str, Value] = {"name": pods.name, "podGroupNames": members[pods.name]}
        if not pods.bounds.is_empty:
            value["topologyConstraint"] = _constraint(pods.bounds)
        configs.append(value)
    return configs


def _constraint(bounds: Bounds) -> Mapping[str, Value]:
    keys: dict[str, Value] = {}
    if bounds.required is not None:
        keys["required"] = bounds.required.key
    if bounds.preferred is not None:
        keys["preferred"] = bounds.preferred.key
    return {"packConstraint": keys}


GROVE: Scheduler = _Grove()
"""Grove's operator, as the one that hands gangs to the scheduler."""
