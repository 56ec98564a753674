"""What a front end asks of the scheduler, in no scheduler's own words; the scheduler answers with its objects.

A front end whose workloads are a gang with a tree of bounds fills these in; names are those of the objects to come.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.select.place import Place

__all__ = ["Asked", "Bounds", "Gang", "GangPod", "GpuShare", "NodeLevels", "PodSet", "Queue", "Request"]


class NodeLevels(NamedTuple):
    """The node label keys of a topology, broadest first. `place` is the list they are written in, `field` the key's.

    `before` are the keys that it had in the baseline, where what it is made of is there.
    """

    name: str
    keys: tuple[str, ...]
    labels: Mapping[str, str]
    place: Place
    field: str
    before: tuple[str, ...] | None = None


class GpuShare(NamedTuple):
    """GPUs of a queue: what it is sure of, what it may take at most (-1: no bound), its share of what is left."""

    quota: int = -1
    limit: int = -1
    weight: int = 1


class Queue(NamedTuple):
    """A queue below `parent`; everything but GPUs is unbounded."""

    name: str
    parent: str | None = None
    gpu: GpuShare = GpuShare()
    labels: Mapping[str, str] = {}


class Bounds(NamedTuple):
    """Node label keys: pods must stand within one domain of `required`, and do so of `preferred` where they can."""

    required: str | None = None
    preferred: str | None = None


class PodSet(NamedTuple):
    """A node of a gang's tree. A leaf holds `members` pods; an inner node, None, what stands below it."""

    name: str
    parent: str | None
    members: int | None
    bounds: Bounds


class Gang(NamedTuple):
    """Pods that are scheduled together. `sets` stand parents first; without any, the gang has `members` pods itself.

    `topology` names the NodeLevels that all bounds are about.
    """

    name: str
    namespace: str
    queue: str
    priority_class: str
    topology: str
    bounds: Bounds | None
    members: int
    sets: tuple[PodSet, ...]
    labels: Mapping[str, str]


class GangPod(NamedTuple):
    """The manifest of a pod of `gang`, in its leaf `pod_set` where the gang has sets."""

    value: Mapping[str, Value]
    gang: str
    queue: str
    pod_set: str | None


Asked = NodeLevels | Queue | Gang | GangPod


class Request(NamedTuple):
    """An object to be made of what is `asked`; origin and subject as in Generated.

    `unasked`: made also where the user chose no kinds.
    """

    asked: Asked
    origin: str
    subject: KubeObject
    unasked: bool = False
