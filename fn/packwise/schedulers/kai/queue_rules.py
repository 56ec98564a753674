"""Queues and PriorityClasses that workloads and Queues name, and what becomes of the pods where they are not there.

KAI says none of it where the object is applied: the pods wait. Source: spec/placement.md#9, spec/kai.md.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.findings.finding import Finding, Rule, Severity
from packwise.objects.identity import is_placeholder
from packwise.objects.kinds import DYNAMO_GRAPH, POD_CLIQUE_SET
from packwise.objects.kinds import QUEUE as QUEUE_KIND
from packwise.placement import Gang, Grouper
from packwise.schedulers.kai.allocate.queues import existing_queues
from packwise.schedulers.kai.gang_jobs import CHART_CLASSES, queues
from packwise.schedulers.kai.gang_podgroup import DEFAULT_QUEUE, QUEUE_LABELS
from packwise.schedulers.kai.topology_manifest import NAME, PROFILE
from packwise.wording import closest, near_miss

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from packwise.objects.place import Place
    from packwise.placement import Placement
    from packwise.schedulers.kai.allocate.scene import QueueShare
    from packwise.schedulers.scheduler import SchedulerInput

__all__ = ["RULES", "check_queues"]

_PARENT = Rule("queue-parent", "The parent of a Queue is there.", "spec/placement.md#9", Severity.WARNING)
_KNOWN = Rule("queue-known", "The queue of a workload is there.", "spec/placement.md#9", Severity.WARNING)
_LEAF = Rule("queue-leaf", "A workload is in a queue that has none below it.", "spec/placement.md#9", Severity.WARNING)
_CLASS = Rule(
    "priority-class-known", "The PriorityClass of a workload is there.", "spec/podgrouper.md#3", Severity.WARNING
)
RULES = (_PARENT, _KNOWN, _LEAF, _CLASS)
"""Rules of what workloads and Queues name."""

_PRIORITY_CLASS = ("scheduling.k8s.io", "PriorityClass")

_BUILT_IN = ("system-cluster-critical", "system-node-critical")
_OF_CHART = (DEFAULT_QUEUE, "default-parent-queue")
"""The queues that KAI's chart makes."""

_OTHERS = (None, "", PROFILE)
"""How gangs that KAI schedules name their scheduler."""


def check_queues(source: SchedulerInput) -> Iterator[Finding]:
    """The queues and PriorityClasses that are named and are not among the input, where it has any of the kind."""
    gangs = _gangs(source.placements)
    shares = queues(source)
    if shares:
        yield from _parents(source, shares)
        yield from _of_workloads(gangs, shares)
    classes = [item.name for item in source.inventory.items.of_kind(*_PRIORITY_CLASS)]
    if classes:
        yield from _classes(gangs, sorted({*classes, *_BUILT_IN, *CHART_CLASSES}))


def _gangs(placements: Sequence[Placement]) -> list[tuple[Placement, Gang]]:
    """The first gang of each workload that names a queue and a PriorityClass of its own."""
    first: dict[tuple[int, str, str], tuple[Placement, Gang]] = {}
    for placement in placements:
        node = placement.node
        if isinstance(node, Gang) and node.grouper is not Grouper.SERVICE:
            first.setdefault((id(placement.subject), node.queue or "", node.priority_class), (placement, node))
    return list(first.values())


def _parents(source: SchedulerInput, shares: Sequence[QueueShare]) -> Iterator[Finding]:
    """Queues below one that is not there: KAI drops them, with all that is below them."""
    names = [*(share.name for share in shares), *_OF_CHART]
    for item in source.inventory.items.of_kind(*QUEUE_KIND.key):
        parent = item.get(("spec", "parentQueue"))
        if not isinstance(parent, str) or not parent or parent in names or is_placeholder(parent):
            continue
        near = near_miss(parent, [name for name in names if name != item.name])
        if near or _has_roots(shares):
            message = (
                f'names the parent "{parent}", which is not among the Queues of the input{near}: while there is none, '
                f"{NAME} passes over this queue and those below it"
            )
            yield Finding.of(_PARENT, item, ("spec", "parentQueue"), message)


def _has_roots(shares: Sequence[QueueShare]) -> bool:
    """Whether the tops of the tree are among the input, so that its queues may be all that there are."""
    return any(not share.parent for share in shares)


def _of_workloads(gangs: Sequence[tuple[Placement, Gang]], shares: Sequence[QueueShare]) -> Iterator[Finding]:
    names = [*(share.name for share in shares), *_OF_CHART]
    parents = {share.parent for share in existing_queues(shares).values()}
    for placement, gang in gangs:
        queue = gang.queue or ""
        if gang.scheduler not in _OTHERS or not queue or is_placeholder(queue):
            continue
        if queue in parents:
            below = ", ".join([f'"{share.name}"' for share in shares if share.parent == queue])
            message = (
                f'is in the queue "{queue}", which has queues below it ({below}): {NAME} passes over its pods in '
                "silence; name one of these"
            )
            yield _queue_place(gang).finding(_LEAF, message)
        # Another rule says it of graphs.
        elif queue not in names and placement.subject.kind != DYNAMO_GRAPH.name:
            near = closest(queue, names)
            if near_miss(queue, names) or _has_roots(shares):
                message = f'is in the queue "{queue}", which is not among the Queues of the input{near}'
                yield _queue_place(gang).finding(_KNOWN, message)


def _queue_place(gang: Gang) -> Place:
    """Where the workload names its queue, as near as it can be told."""
    place = gang.owner.of("queue").place
    label = place.below(QUEUE_LABELS[0])
    return label if label.item.get(label.path) is not None else place


def _classes(gangs: Sequence[tuple[Placement, Gang]], known: Sequence[str]) -> Iterator[Finding]:
    for placement, gang in gangs:
        named = gang.priority_class
        if _is_missing(named, known):
            message = (
                f'names the PriorityClass "{named}", which is not among those of the input{closest(named, known)}: '
                f"{NAME} gives its pods the default priority while there is none"
            )
            yield gang.owner.of("priorityClassName").place.finding(_CLASS, message)
        for leaf in gang.leaves if placement.subject.kind == POD_CLIQUE_SET.name else ():
            of_pod = (leaf.pod_spec or {}).get("priorityClassName")
            if isinstance(of_pod, str) and _is_missing(of_pod, known):
                message = (
                    f'names the PriorityClass "{of_pod}", which is not among those of the input'
                    f"{closest(of_pod, known)}: the API server refuses the pods while there is none"
                )
                place = leaf.origin.place.below("spec", "podSpec", "priorityClassName")
                yield place.finding(_CLASS, message)


def _is_missing(name: str, known: Sequence[str]) -> bool:
    return bool(name) and name not in known and not is_placeholder(name)
