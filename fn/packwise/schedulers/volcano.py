"""The PodGroups that Grove's operator makes for Volcano. Source: spec/grove-releases.md#2.3."""

from __future__ import annotations

from functools import partial

from krmfn.hints import TYPE_CHECKING
from packwise.objects.index import Generated
from packwise.objects.kinds import VOLCANO_PODGROUP
from packwise.placement import Gang
from packwise.schedulers import Scheduler, SchedulerInput, SchedulerObjects

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeGuard

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from packwise.findings import Origin
    from packwise.placement import Node, PodSet

DEFAULT_QUEUE = "default"
"""The queue of workloads that name no queue."""

_CLIQUE = "grove.io/podclique"


class _Volcano(Scheduler):
    def objects(self, source: SchedulerInput) -> SchedulerObjects:
        """Return a PodGroup for each gang that Volcano schedules."""
        return SchedulerObjects(
            tuple(
                Generated(podgroup_value(gang), placement.source, placement.subject, partial(_origins, gang))
                for placement in source.placements
                if _is_scheduled(gang := placement.node)
            )
        )  # fmt: skip


def podgroup_value(gang: Gang) -> Mapping[str, Value]:
    """Return the manifest of a gang's PodGroup.

    It has no status, and no owner reference because a render knows no UID. `minMember` is at least 1, as Volcano needs.
    """
    metadata: dict[str, Value] = {"name": gang.name, "namespace": gang.namespace, "labels": gang.labels}
    spec: dict[str, Value] = {"minMember": gang.members or 1, "queue": gang.queue or DEFAULT_QUEUE}
    if gang.priority_class:
        spec["priorityClassName"] = gang.priority_class
    spec["subGroupPolicy"] = [_policy(pods) for pods in gang.leaves]
    kind = VOLCANO_PODGROUP
    return {"apiVersion": kind.api_version, "kind": kind.name, "metadata": metadata, "spec": spec}


def _policy(pods: PodSet) -> Mapping[str, Value]:
    """Return the entry of `spec.subGroupPolicy` for the pods of one PodClique."""
    return {
        "name": pods.name,
        "labelSelector": {"matchLabels": {_CLIQUE: pods.name}},
        "matchLabelKeys": [_CLIQUE],
        "subGroupSize": pods.members or 1,
        "minSubGroups": 1,
    }


def _origins(gang: Gang) -> Mapping[FieldPath, Origin]:
    origins = {**gang.origins(), ("spec", "queue"): gang.owner.of("queue")}
    for position, pods in enumerate(gang.leaves):
        origins.update(pods.origins(("spec", "subGroupPolicy", position), "subGroupSize"))
    return origins


def _is_scheduled(node: Node) -> TypeGuard[Gang]:
    return isinstance(node, Gang) and node.is_of_operator and node.scheduler == VOLCANO_PODGROUP.gang.scheduler


VOLCANO: Scheduler = _Volcano()
"""Volcano."""
