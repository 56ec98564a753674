"""The pods that Kueue queues and places itself, for commands that show them. Source: spec/kueue.md#3 and #6."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.objects.place import Place
from packwise.objects.workload_kinds import QUEUE_NAME
from packwise.placement import PodSlice, QueuedPods
from packwise.revisions.kueue import kueue_release
from packwise.schedulers.kueue.chain import Chain
from packwise.schedulers.kueue.objects import rendered_values
from packwise.schedulers.kueue.podsets import jobs_of, owners_of_queued
from packwise.schedulers.kueue.request import TopologyRequest, read_request, unread_annotation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from packwise.objects.index import Inventory
    from packwise.revisions.kueue import KueueRelease
    from packwise.schedulers.kueue.podsets import KueueJob, KueuePodSet
    from packwise.settings.topologyrender import TopologyRender
    from packwise.topology.known import KnownTopologies

_NAME = "Kueue"
_WORD = "kueue"
"""It stands in every text that is Kueue's business."""


def queued_pods(inventory: Inventory, topologies: KnownTopologies, settings: TopologyRender) -> Iterator[QueuedPods]:
    """The pod sets of all jobs that name a queue or ask for a topology, in the order of the kinds."""
    if not inventory.items.has_word(_WORD):
        return
    release = kueue_release(settings.kueue.version)
    chain = Chain(inventory.items, rendered_values(topologies, settings))
    for job in (*jobs_of(inventory.items), *owners_of_queued(inventory.items)):
        queue = job.item.labels.get(QUEUE_NAME, "")
        requests = [_request(each, release) for each in job.sets]
        if queue or any(request.is_asked for request in requests):
            for each, request in zip(job.sets, requests, strict=True):
                yield _pods(job, each, request, queue, chain)


def _request(each: KueuePodSet, release: KueueRelease) -> TopologyRequest:
    annotations = each.template.annotations
    request = None if unread_annotation(annotations, release) else read_request(annotations, release)
    return request or TopologyRequest()


def _pods(job: KueueJob, each: KueuePodSet, request: TopologyRequest, queue: str, chain: Chain) -> QueuedPods:
    topologies = chain.topologies(queue, job.item.namespace or "", is_asked=request.is_asked) if queue else ()
    part = job.wrapped
    place = Place(job.item, each.template.annotations_path)
    if part is not None:
        place = Place(part.outer, part.path_of(each.template.annotations_path))
    return QueuedPods(
        workload=place.item,
        place=place,
        scheduler=_NAME,
        name=each.name if part is None else f"{job.item.name} {each.name}",
        count=each.count,
        queue=queue,
        required=request.required,
        preferred=request.preferred,
        is_unconstrained=request.unconstrained is True,
        slices=tuple(PodSlice(layer.level, layer.size) for layer in request.layers),
        group=request.group,
        topologies=topologies,
        flavors=chain.names_of_flavors(queue, job.item.namespace or "") if queue else (),
    )
