"""What live objects among the input tell: replicas that an autoscaler set, pods that are scheduled.

Source: operator.md 7 (replica counts), revisions.md `grep-244-multi` rule 2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from packwise.select.index import Index

__all__ = ["GROUP", "live_replicas", "scheduled_pods"]

GROUP = "grove.io"
_PART_OF = "app.kubernetes.io/part-of"

Named = tuple[str, str]
"""Namespace and name."""


def live_replicas(index: Index) -> dict[Named, int]:
    """`spec.replicas` of every PodCliqueScalingGroup, by namespace and name."""
    found: dict[Named, int] = {}
    for item in index.of_kind(GROUP, "PodCliqueScalingGroup"):
        replicas = item.integer("spec.replicas")
        if replicas is not None:
            found[item.namespace or "default", item.name] = replicas
    return found


def scheduled_pods(index: Index | None) -> dict[Named, int]:
    """`status.scheduledReplicas` of all PodCliques of each PodCliqueSet, by its namespace and name."""
    found: dict[Named, int] = {}
    for item in index.of_kind(GROUP, "PodClique") if index is not None else ():
        workload = item.labels.get(_PART_OF)
        if workload is not None:
            at = (item.namespace or "default", workload)
            found[at] = found.get(at, 0) + (item.integer("status.scheduledReplicas") or 0)
    return found
