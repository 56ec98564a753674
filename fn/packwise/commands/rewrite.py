"""Objects rewritten in place: mended, or carried to a later revision of the design."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krmfn.errors import FieldError
from packwise.pipeline.registry import schedulers, workload_front_ends
from packwise.pipeline.steps import cluster_of, selected, topologies_of
from packwise.topology.renamed_labels import with_new_labels

if TYPE_CHECKING:
    from krmfn.kubeobject import KubeObject
    from packwise.placement.plan import Cluster
    from packwise.revisions.step import Step
    from packwise.select import Package
    from packwise.settings import TopologyRender

__all__ = ["mend", "migrate_workload"]


def mend(package: Package) -> tuple[KubeObject, ...]:
    """The items with what can be mended without a decision.

    Those that need none come back as they are, and so do those where an anchor or alias is in the way.
    """
    inventory, selection = selected(package)
    cluster = cluster_of(selection, topologies_of(inventory, selection))
    return tuple([_mended(item, cluster, selection.settings) for item in package.items])


def _mended(item: KubeObject, cluster: Cluster, settings: TopologyRender) -> KubeObject:
    try:
        mended = with_new_labels(item)
        for front_end in workload_front_ends():
            mended = front_end.mend(mended, cluster.revision)
        for scheduler in schedulers(cluster.revision):
            mended = scheduler.mend(mended, cluster, settings)
    except FieldError:
        # The finding stays, and says what to mend by hand.
        return item
    return mended


def migrate_workload(item: KubeObject, step: Step) -> KubeObject:
    """`item` in the words of the step's later revision; itself where it is no workload, or says the same in both.

    Raises FieldError where an anchor is in the way, or a comment could not stay.
    """
    for front_end in workload_front_ends():
        item = front_end.migrate(item, step)
    return item
