"""Pods that a scheduler queues and places itself, of workloads that no front end reads.

They are no gangs: what their scheduler makes of them nobody else says.
"""

from __future__ import annotations

from dataclasses import dataclass

from krmfn.hints import TYPE_CHECKING

if TYPE_CHECKING:
    from krmfn.kubeobject import KubeObject
    from packwise.objects.place import Place

__all__ = ["PodSlice", "QueuedPods"]


@dataclass(frozen=True, slots=True)
class PodSlice:
    """Every `size` pods of a set are within one domain of the level, which is a node label."""

    level: str
    size: int


@dataclass(frozen=True, slots=True)
class QueuedPods:
    """A set of pods of one template: how many, in which queue, and within which domains; levels are node labels.

    `place` is where the template says so. `topologies` are the names of those that the flavors of the queue are in,
    none where that is not known. `group` is the name of the sets that are placed together.
    """

    workload: KubeObject
    place: Place
    scheduler: str
    name: str
    count: int
    queue: str = ""
    required: str | None = None
    preferred: str | None = None
    is_unconstrained: bool = False
    slices: tuple[PodSlice, ...] = ()
    group: str | None = None
    topologies: tuple[str, ...] = ()
