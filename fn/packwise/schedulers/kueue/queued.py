"""The pods that Kueue queues and places itself, for the commands that show them. Source: spec/kueue.md#3 and #6."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.findings import Place
from packwise.lenient import mappings_by_place
from packwise.placement import PodSlice, QueuedPods
from packwise.revisions.kueue import kueue_release
from packwise.schedulers.kueue.chain import Chain
from packwise.schedulers.kueue.objects import rendered_values
from packwise.schedulers.kueue.podsets import jobs_of, owners_of_queued
from packwise.schedulers.kueue.request import TOPOLOGY_KEYS, TopologyRequest, read_request, unread_annotation

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from packwise.objects.index import Inventory
    from packwise.revisions.kueue import KueueRelease
    from packwise.schedulers.kueue.podsets import KueueJob, KueuePodSet
    from packwise.settings.topologyrender import TopologyRender
    from packwise.topology.known import KnownTopologies

_NAME = "Kueue"
_WORD = "kueue"
"""Every text that concerns Kueue contains this word."""


def queued_pods(inventory: Inventory, topologies: KnownTopologies, settings: TopologyRender) -> Iterator[QueuedPods]:
    """Yield the pod sets of all jobs that name a queue or request a topology, in the order of the kinds."""
    if not inventory.items.has_word(_WORD):
        return
    release = kueue_release(settings.kueue.version)
    chain = Chain(inventory.items, rendered_values(topologies, settings))
    for job in (*jobs_of(inventory.items), *owners_of_queued(inventory.items)):
        queue = job.queue
        requests = [_request(each, release) for each in job.sets]
        if queue or any(request.is_asked for request in requests):
            for each, request in zip(job.sets, requests, strict=True):
                yield _pods(job, each, request, topologies, chain)


def _request(each: KueuePodSet, release: KueueRelease) -> TopologyRequest:
    annotations = each.template.annotations
    request = None if unread_annotation(annotations, release) else read_request(annotations, release)
    return request or TopologyRequest()


def _pods(
    job: KueueJob, each: KueuePodSet, request: TopologyRequest, known: KnownTopologies, chain: Chain
) -> QueuedPods:
    queue = job.queue
    topologies = chain.topologies(queue, job.item.namespace or "", is_asked=request.is_asked) if queue else ()
    part = job.wrapper
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
        origins=(
            *_request_origins(job, each, place, queue),
            *(chain.origins(queue, job.item.namespace or "") if queue else ()),
            *_level_origins(request, topologies, known, chain),
        ),
    )


def _request_origins(job: KueueJob, each: KueuePodSet, place: Place, queue: str) -> Iterator[tuple[str, Place]]:
    """Yield the places of the topology annotations and of the queue label, each with a text."""
    for key in TOPOLOGY_KEYS:
        if key in each.template.annotations:
            yield f"annotation {key}", place.child(key)
    if queue and job.wrapper is None:
        yield f"queue {queue}", Place(job.item, job.queue_path)


def _level_origins(
    request: TopologyRequest, topologies: Sequence[str], known: KnownTopologies, chain: Chain
) -> Iterator[tuple[str, Place]]:
    """Yield the places of the requested levels, each with a text.

    A level is in a Topology of the input, or else in the settings.
    """
    asked = {request.required, request.preferred, *(layer.level for layer in request.layers)}
    for name in topologies:
        item, settings = chain.topology_objects.get(name), known.by_name.get(name)
        if item is not None:
            levels = mappings_by_place(item.get("spec.levels"))
            places = [(each.get("nodeLabel"), Place(item, ("spec", "levels", at, "nodeLabel"))) for at, each in levels]
        elif settings is not None:
            pairs = zip(settings.topology.levels, settings.places, strict=True)
            places = [(level.key, place.child("key")) for level, place in pairs]
        else:
            continue
        yield from ((f"level {key} of {name}", place) for key, place in places if key in asked)
