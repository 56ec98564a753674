"""What live objects among the input tell: replicas that an autoscaler set, pods that are scheduled.

Source: spec/grove.md#7, spec/grove-releases.md#3.2, spec/designs.md#7.2.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.objects.identity import PART_OF, identity
from packwise.objects.kinds import POD_CLIQUE_SET

if TYPE_CHECKING:
    from collections.abc import Mapping

    from packwise.objects.index import Index

__all__ = ["Replicas", "live_replicas", "scheduled_pods"]

_GROUP = POD_CLIQUE_SET.group

Named = tuple[str, str]
"""Namespace and name."""


class Replicas(NamedTuple):
    """The replicas of live scaling groups and cliques, by namespace and name."""

    groups: Mapping[Named, int] = {}
    cliques: Mapping[Named, int] = {}


def live_replicas(index: Index) -> Replicas:
    """The replicas of every PodCliqueScalingGroup and PodClique."""
    return Replicas(_counts(index, "PodCliqueScalingGroup"), _counts(index, "PodClique"))


def _counts(index: Index, kind: str) -> dict[Named, int]:
    """`spec.replicas` of every object of the kind, by namespace and name."""
    counts: dict[Named, int] = {}
    for item in index.of_kind(_GROUP, kind):
        replicas = item.get("spec.replicas")
        if type(replicas) is int:
            counts[identity(item.value)[2:]] = replicas
    return counts


def scheduled_pods(index: Index | None) -> dict[Named, int]:
    """`status.scheduledReplicas` of all PodCliques of each PodCliqueSet, by its namespace and name."""
    pods: dict[Named, int] = {}
    for item in index.of_kind(_GROUP, "PodClique") if index is not None else ():
        workload, count = item.get(("metadata", "labels", PART_OF)), item.get("status.scheduledReplicas")
        if isinstance(workload, str) and type(count) is int:
            at = (identity(item.value)[2], workload)
            pods[at] = pods.get(at, 0) + count
    return pods
