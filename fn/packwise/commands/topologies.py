"""`packwise topologies`: which topologies there are and who uses them, without a render."""

from __future__ import annotations

from krmfn.errors import FieldError
from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from krmfn.result import exit_code
from packwise.objects.kinds import KUEUE_TOPOLOGY
from packwise.pipeline.registry import brings_topologies, front_ends, queued_sources
from packwise.pipeline.steps import read_package, results_of, unreadable
from packwise.select import topologies_of
from packwise.topology.known import ListedTopology, Use

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krmfn.result import Result
    from packwise.objects.index import Inventory
    from packwise.select import Package, Selection
    from packwise.topology.known import KnownTopologies

__all__ = ["Overview", "has_sources", "overview"]


def has_sources(package: Package) -> bool:
    """Whether something among the package is to be rendered: a configuration, a topology or a workload."""
    inventory, selection = read_package(package)
    # TAS is enabled by users' topologies alone, too.
    if selection.is_configured or brings_topologies(inventory):
        return True
    settings, revision = selection.settings, selection.revision
    return any(True for front_end in front_ends(inventory) for _ in front_end.uses(inventory, settings, revision))


class Overview(NamedTuple):
    """The topologies there are, by name, and which workload uses which; `enabled`: whether TAS is.

    `results` are about the configuration and the CRDs; `is_known` is whether the rest could be told all the same.
    """

    topologies: tuple[ListedTopology, ...] = ()
    uses: tuple[Use, ...] = ()
    enabled: bool = False
    results: tuple[Result, ...] = ()
    is_known: bool = True


def _queued(inventory: Inventory, known: KnownTopologies, selection: Selection) -> Iterator[Use]:
    """The workloads that a scheduler queues itself, by the topologies of their queues."""
    for queued_pods in queued_sources():
        for pods in queued_pods(inventory, known, selection.settings):
            for name in pods.topologies:
                yield Use(name, pods.workload, explicit=False, queue=pods.queue)


def overview(package: Package) -> Overview:
    """Which topologies the package has, and who uses them."""
    inventory, selection = read_package(package)
    settings, revision = selection.settings, selection.revision
    refusing = results_of(selection.findings, selection.results)
    results = (*refusing, *results_of(selection.definitions.findings))
    if exit_code(refusing):
        return Overview(results=results, is_known=False)
    chosen = front_ends(inventory)
    try:
        known = topologies_of(inventory, selection)
        topologies = tuple(
            topology
            for front_end in chosen
            for topology in front_end.topologies(inventory, settings, revision, known)
        )  # fmt: skip
    except FieldError as error:
        return Overview(results=(*results, unreadable(error)), is_known=False)
    # Nobody but the author makes these; those that are rendered are of the topologies above.
    own = sorted(inventory.items.of_kind(*KUEUE_TOPOLOGY.key), key=lambda item: item.name)
    topologies += tuple([ListedTopology.of_scheduler(KUEUE_TOPOLOGY.word, item) for item in own])
    uses = tuple(use for front_end in chosen for use in front_end.uses(inventory, settings, revision))
    uses += tuple(dict.fromkeys(_queued(inventory, known, selection)))
    if selection.enabled or selection.configuration is not None or not topologies:
        absent = [] if selection.absent is None else [selection.absent]
        return Overview(topologies, uses, selection.enabled, results_of(absent, results))
    # An export of a cluster shows its topologies, and needs no configuration that says so.
    return Overview(topologies, uses, enabled=True, results=results)
