"""Why a value is missing, and what would change it: what front ends leave out, and what is not written at all."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.commands.explain.emitted import value_of
from packwise.findings.finding import has_errors
from packwise.objects.kinds import POD, PODGANG, PODGROUP, QUEUE, TOPOLOGY
from packwise.objects.place import Origin
from packwise.pipeline.registry import omission_sources
from packwise.placement import Gang, Grouper, NodeTopology, Omission, Queue
from packwise.select import cluster_of
from packwise.settings import settings_place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from packwise.objects.index import Inventory
    from packwise.objects.kinds import Kind
    from packwise.pipeline import Rendered
    from packwise.placement import Node, Placement

__all__ = ["omissions_of", "unwritten"]

_EMIT = "spec/packwise.md#emit"


def omissions_of(rendered: Rendered, inventory: Inventory) -> Mapping[int, list[Omission]]:
    """What each workload without an error asks for and no object says, by the identity of its plan in memory."""
    if rendered.selection is None or rendered.known is None:
        return {}
    cluster = cluster_of(rendered.selection, rendered.known)
    plans = [plan for plan in rendered.plans if value_of(plan.workload) and not has_errors(plan.findings)]
    by_plan: dict[int, list[Omission]] = {}
    for omissions in omission_sources(inventory):
        for plan, omission in omissions(plans, inventory, cluster, rendered.selection.settings):
            by_plan.setdefault(id(plan), []).append(omission)
    return by_plan


def unwritten(placements: Iterable[Placement], rendered: Rendered) -> Iterator[Omission]:
    """The kinds of objects that could be written for a workload and are not, each once."""
    selection = rendered.selection
    if selection is None:
        return
    settings, reported = selection.settings, set[str]()
    place = None if settings.item is None else settings_place(settings).below("emit")
    for placement in placements:
        for kind in _kinds(placement.node):
            if settings.emits(kind.name, by_default=placement.emit_by_default) or kind.name in reported:
                continue
            reported.add(kind.name)
            origin = Origin(place or placement.node.origin.place, _EMIT)
            why = f"spec.emit has no {kind.name}{_maker(placement.node, kind)}"
            yield Omission(origin, f"{kind.name} objects", why, f"add {kind.name} to spec.emit")


def _kinds(node: Node) -> tuple[Kind, ...]:
    """The kinds of objects that schedulers write for a node."""
    if isinstance(node, Gang):
        return (PODGROUP,) if node.grouper in (Grouper.SERVICE, Grouper.OWNER) else (PODGANG, PODGROUP)
    if isinstance(node, NodeTopology):
        return (TOPOLOGY,)
    return (QUEUE,) if isinstance(node, Queue) else (POD,)


def _maker(node: Node, kind: Kind) -> str:
    """Who makes the object in a cluster, where that is known."""
    if not isinstance(node, Gang) or kind is not PODGROUP:
        return ""
    makers = {
        Grouper.OPERATOR: "; the workload's operator makes it in the cluster",
        Grouper.SCHEDULER: "; the scheduler makes it in the cluster, of the PodGang",
        Grouper.SERVICE: "; the service makes it in the cluster",
        Grouper.OWNER: "; the scheduler makes it in the cluster, of the workload",
    }
    return makers[node.grouper]
