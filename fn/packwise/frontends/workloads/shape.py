"""The shape of a group: its sets of pods and what it needs of them; or why the pod-grouper makes none."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.placement import Bounds, PodSet

if TYPE_CHECKING:
    from krmfn.fieldpath import FieldPath
    from packwise.frontends.workloads.workload import Template, Workload
    from packwise.objects.place import Origin

__all__ = ["RefusedError", "Shape", "pod_set"]


class RefusedError(Exception):
    """The pod-grouper makes no group of a workload, for what stands at `path`.

    `text` is its event, "" where it dies without a word; `message` says it in words that go on after the field.
    """

    def __init__(self, path: FieldPath, message: str, text: str) -> None:
        super().__init__(text or message)
        self.path = path
        self.message = message
        self.text = text


class Shape(NamedTuple):
    """A group of pods. `suffix` is what its name ends with, after that of its owner.

    It needs `members` pods, or `needed` of its topmost sets. So many groups are `alike`, of which it stands for all.
    `each_pod`: each has the name of one pod, and is that pod's.
    """

    sets: tuple[PodSet, ...]
    origin: Origin
    members: int | None = None
    needed: int | None = None
    suffix: str = ""
    alike: int = 1
    each_pod: bool = False


def pod_set(
    workload: Workload,
    template: Template,
    name: str,
    members: int,
    origin: Origin,
    *,
    parent: str | None = None,
    replicas: int | None = None,
    bounds: Bounds | None = None,
    topology: str = "",
    is_named: bool = True,
) -> PodSet:
    """A set of the pods of a template; where it is not `is_named`, the scheduler knows no set of them."""
    scheduler = template.scheduler
    return PodSet(
        name=name,
        parent=parent,
        members=members,
        bounds=bounds or Bounds(),
        origin=origin,
        scheduler="" if scheduler == workload.scheduler else scheduler or "default-scheduler",
        replicas=replicas,
        pod_spec=template.spec,
        labels=template.labels,
        annotations=template.annotations,
        topology=topology,
        is_named=is_named,
    )
