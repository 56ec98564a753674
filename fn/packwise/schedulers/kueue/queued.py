"""The pod sets of jobs that Kueue queues, with what each asks of the topology. Source: spec/kueue.md#3 and #6."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.objects.place import Place
from packwise.placement import PodSlice, QueuedPods
from packwise.revisions.kueue import kueue_release
from packwise.schedulers.kueue.admission import QUEUE_NAME
from packwise.schedulers.kueue.chain import Chain
from packwise.schedulers.kueue.podsets import jobs_of
from packwise.schedulers.kueue.rendered import rendered_values
from packwise.schedulers.kueue.request import Request, read_request, unparsable
from packwise.schedulers.kueue.scheduler import is_meant

if TYPE_CHECKING:
    from collections.abc import Iterator

    from packwise.objects.inventory import Inventory
    from packwise.revisions.kueue import KueueRelease
    from packwise.schedulers.kueue.podsets import Job, PodSet
    from packwise.settings import TopologyRender
    from packwise.topology.known import KnownTopologies

__all__ = ["queued_pods"]

_NAME = "Kueue"


def queued_pods(inventory: Inventory, topologies: KnownTopologies, settings: TopologyRender) -> Iterator[QueuedPods]:
    """The pod sets of all jobs that name a queue or ask for a topology, in the order of the kinds."""
    if not is_meant(inventory.items):
        return
    release = kueue_release(settings.kueue.version)
    chain = Chain(inventory.items, rendered_values(topologies, settings))
    for job in jobs_of(inventory.items):
        queue = job.item.labels.get(QUEUE_NAME, "")
        requests = [_request(each, release) for each in job.sets]
        if queue or any(request.is_asked for request in requests):
            for each, request in zip(job.sets, requests, strict=True):
                yield _pods(job, each, request, queue, chain)


def _request(each: PodSet, release: KueueRelease) -> Request:
    annotations = each.template.annotations
    request = None if unparsable(annotations, release) else read_request(annotations, release)
    return request or Request()


def _pods(job: Job, each: PodSet, request: Request, queue: str, chain: Chain) -> QueuedPods:
    topologies = chain.topologies(queue, job.item.namespace or "", is_asked=request.is_asked) if queue else ()
    return QueuedPods(
        workload=job.item,
        place=Place(job.item, each.template.annotations_path),
        scheduler=_NAME,
        name=each.name,
        count=each.count,
        queue=queue,
        required=request.required,
        preferred=request.preferred,
        is_unconstrained=request.unconstrained is True,
        slices=tuple([PodSlice(layer.level, layer.size) for layer in request.layers]),
        group=request.group,
        topologies=topologies,
    )
