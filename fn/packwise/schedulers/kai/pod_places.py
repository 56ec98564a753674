"""The places in a workload that set fields and the queue of its pods. Each kind of workload has its own paths."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.findings import Place
from packwise.objects.kinds import PODGROUP
from packwise.schedulers.kai.podgroup import QUEUE_LABELS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krmfn.kubeobject import KubeObject
    from packwise.objects.index import Index
    from packwise.placement import Gang

_SPECS: tuple[tuple[str, ...], ...] = (
    ("spec", "podSpec"), ("podTemplate", "spec"), ("extraPodSpec",), ("template", "spec", "template", "spec"),
    ("template", "spec"), ("spec",), (),
)  # fmt: skip
_METADATA: tuple[tuple[str, ...], ...] = (
    (), ("metadata",), ("template", "metadata"), ("podTemplate", "metadata"),
    ("template", "spec", "template", "metadata"), ("extraPodMetadata",),
)  # fmt: skip


_DYNAMO_QUEUE = "nvidia.com/kai-scheduler-queue"
"""The annotation in which a graph of Dynamo names the queue of its pods."""


def spec_place(place: Place, *steps: str | int) -> Place:
    """Return the place of the field `steps` in the pod spec below `place`, or `place` if the field is not found."""
    return _first_place(place, [(*below, *steps) for below in _SPECS])


def metadata_place(place: Place, form: str, key: str) -> Place:
    """Return the place of a label or annotation of the pods below `place`, or `place` if it is not found.

    `form` is `labels` or `annotations`.
    """
    return _first_place(place, [(*below, form, key) for below in _METADATA])


def queue_place(gang: Gang) -> Place:
    """Return the place of the label or annotation that names the workload's queue, or the nearest known place."""
    place = gang.owner.of("queue").place
    for at in (place.child(QUEUE_LABELS[0]), Place(place.item, ("metadata", "annotations", _DYNAMO_QUEUE))):
        if not at.embedded and at.item.get(at.path) is not None:
            return at
    return place


def written_podgroups(index: Index) -> Iterator[KubeObject]:
    """Yield the PodGroups that users write: the ones without an owner.

    PodGroups of the pod-grouper have an owner, and the owner names the queue.
    """
    for item in index.of_kind(*PODGROUP.key):
        if not item.get(("metadata", "ownerReferences")):
            yield item


def _first_place(place: Place, paths: list[tuple[str | int, ...]]) -> Place:
    for path in paths:
        at = place.child(*path)
        if not at.embedded and at.item.get(at.path) is not None:
            return at
    return place
