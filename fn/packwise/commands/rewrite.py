"""Objects rewritten in place: mended, or carried to a later revision of the design."""

from __future__ import annotations

from functools import partial

from krmfn.errors import FieldError
from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.pipeline.registry import schedulers, workload_front_ends
from packwise.pipeline.steps import read_package
from packwise.select import cluster_of, topologies_of
from packwise.topology.levels import with_new_labels

if TYPE_CHECKING:
    from collections.abc import Callable

    from krmfn.kubeobject import KubeObject
    from packwise.placement import Cluster
    from packwise.revisions.step import Step
    from packwise.select import Package
    from packwise.settings import TopologyRender

__all__ = ["Mended", "mend", "migrate_workload"]


class Mended(NamedTuple):
    """The items with what can be mended, in their order; `hidden` of them could be mended further by a decision."""

    items: tuple[KubeObject, ...]
    hidden: int


def mend(package: Package, *, unsafe: bool = False) -> Mended:
    """The items, mended where only one thing can be meant; `unsafe`: also where that is a decision.

    Those that need none come back as they are, and so do those where an anchor or alias is in the way.
    """
    inventory, selection = read_package(package)
    try:
        cluster = cluster_of(selection, topologies_of(inventory, selection))
    except FieldError:
        # A topology that cannot be read says what others mean; what is wrong with it is a finding of a check.
        return Mended(package.items, 0)
    safe = [_attempt(item, partial(_mended, cluster=cluster, settings=selection.settings)) for item in package.items]
    decided = [_attempt(item, partial(_decided, cluster=cluster, settings=selection.settings)) for item in safe]
    if unsafe:
        return Mended(tuple(decided), 0)
    return Mended(tuple(safe), sum(before is not after for before, after in zip(safe, decided, strict=True)))


def _attempt(item: KubeObject, change: Callable[[KubeObject], KubeObject]) -> KubeObject:
    try:
        return change(item)
    except FieldError:
        # The finding stays, and says what to mend by hand.
        return item


def _mended(item: KubeObject, cluster: Cluster, settings: TopologyRender) -> KubeObject:
    """The item in other words, which say what its author can only have meant."""
    for front_end in workload_front_ends():
        item = front_end.mend(item, cluster.revision, settings)
    return item


def _decided(item: KubeObject, cluster: Cluster, settings: TopologyRender) -> KubeObject:
    """The item as it must be if the cluster is as its configuration says: labels renamed, topologies listed.

    After this the operator does something else than before: it places by other labels, or makes no KAI Topology.
    """
    item = with_new_labels(item)
    for scheduler in schedulers(cluster.revision):
        item = scheduler.mend(item, cluster, settings)
    return item


def migrate_workload(item: KubeObject, step: Step) -> KubeObject:
    """`item` in the words of the step's later revision; itself where it is no workload, or says the same in both.

    An object of a scheduler is in the version that all its known releases serve.

    Raises FieldError where an anchor is in the way, or a comment could not stay.
    """
    for front_end in workload_front_ends():
        item = front_end.migrate(item, step)
    for scheduler in schedulers(step.target):
        item = scheduler.migrate(item)
    return item
