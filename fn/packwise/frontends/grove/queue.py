"""The queue of a workload. Source: spec/grove.md#4.4, spec/grove-releases.md#2.3."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from packwise.frontends.grove.podcliqueset import PodCliqueSet

__all__ = ["QUEUE", "VOLCANO", "VOLCANO_QUEUE", "queue_of", "queues_of", "resolve_queue", "volcano_queue"]

QUEUE = "kai.scheduler/queue"
"""Label, or else annotation, of a PodCliqueSet and of its cliques."""


VOLCANO = "volcano"
"""The name of Volcano in pods and in Grove's scheduler profiles."""

VOLCANO_QUEUE = "scheduling.grove.io/volcano-queue"
"""Annotation of a PodCliqueSet and of its cliques: the queue where Volcano schedules them."""


def volcano_queue(pcs: PodCliqueSet) -> str | None:
    """The queue of `pcs` where Volcano schedules it; None where nothing names one."""
    queues = [owner.annotations.get(VOLCANO_QUEUE, "").strip() for owner in (pcs, *pcs.cliques)]
    return next((queue for queue in queues if queue), None)


def resolve_queue(pcs: PodCliqueSet) -> str | None:
    """The queue of `pcs`: its own, else that of the first clique which names one; None where none does."""
    for owner in (pcs, *pcs.cliques):
        queue = queue_of(owner.labels, owner.annotations)
        if queue:
            return queue
    return None


def queues_of(pcs: PodCliqueSet) -> tuple[str, ...]:
    """All queues that `pcs` and its cliques name, each once."""
    queues: dict[str, None] = {}
    for owner in (pcs, *pcs.cliques):
        labels, annotations = owner.labels, owner.annotations
        if QUEUE in labels or QUEUE in annotations:
            queues[queue_of(labels, annotations)] = None
    queues.pop("", None)
    return tuple(queues)


def queue_of(labels: Mapping[str, str], annotations: Mapping[str, str]) -> str:
    """The queue that these labels and annotations name; "" where they name none."""
    return labels.get(QUEUE) or annotations.get(QUEUE, "")
