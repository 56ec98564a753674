"""Rules about problems that KAI does not report: topologies, queues and priorities that do not match the cluster.

Source: spec/placement.md#4a, #7, #9, spec/kai.md.

KAI accepts these objects without an error, and the pods wait.
"""

from __future__ import annotations

from itertools import islice

from krmfn.hints import TYPE_CHECKING, Record
from krmfn.result import Severity
from packwise.findings import Finding, Place, Rule, Stage
from packwise.objects.index import is_placeholder
from packwise.objects.kinds import DYNAMO_GRAPH, TOPOLOGY
from packwise.objects.kinds import QUEUE as QUEUE_KIND
from packwise.placement import Gang, Grouper, NodeTopology
from packwise.pod_rules import PRIORITY_CLASS
from packwise.revisions.kai import NO_DEPARTMENTS, minor_of
from packwise.schedulers.kai.allocate.scene import GPU
from packwise.schedulers.kai.allocate.session import MAX_QUEUE_DEPTH, existing_queues, lineage
from packwise.schedulers.kai.gang_jobs import CHART_CLASSES, queues
from packwise.schedulers.kai.pod_places import queue_place, spec_place, written_podgroups
from packwise.schedulers.kai.podgroup import DEFAULT_QUEUE
from packwise.schedulers.kai.snapshot import SnapshotError, read_snapshot
from packwise.schedulers.kai.topology import MissingBindingError, topology_names
from packwise.settings.topologyrender import KAI_PROFILE
from packwise.topology.known import levels_of, node_labels
from packwise.wording import did_you_mean, list_known, near_miss

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from packwise.placement import Placement
    from packwise.schedulers import SchedulerInput
    from packwise.schedulers.kai.allocate.scene import KaiTopology, Node, QueueShare

UNUSED = Rule("level-on-no-node", "A level uses a label that no node has.", "spec/placement.md#4a", Severity.WARNING)
OUTSIDE = Rule(
    "node-outside-topology",
    "A node has only some of the labels of a topology.",
    "spec/placement.md#4a",
    Severity.WARNING,
)
SPLIT = Rule(
    "domain-in-two-parents",
    "A domain belongs to two domains of the level above it.",
    "spec/placement.md#4a",
    Severity.WARNING,
)
STALE = Rule(
    "topology-in-cluster-differs",
    "The Topology in the cluster has other levels than the Topology in the input.",
    "spec/placement.md#7.6",
    Severity.WARNING,
)
NODE_RULES = (UNUSED, OUTSIDE, SPLIT, STALE)
"""Rules about the levels of topologies on nodes. They run only if the nodes of the cluster are known."""

_SHOWN = 3


class _TopologyAt(Record):
    """A topology and the place of each of its levels."""

    name: str
    keys: tuple[str, ...]
    places: tuple[Place, ...]


def check_nodes(source: SchedulerInput) -> Iterator[Finding]:
    """Yield findings about nodes that do not match the topologies of the input, if the nodes are known."""
    try:
        snapshot = read_snapshot(source.cluster.nodes)
    except SnapshotError:
        return
    for topology in _topologies(source):
        yield from _check(topology, snapshot.nodes)
    yield from _check_gangs(source, {topology.name: topology for topology in snapshot.topologies})


def _topologies(source: SchedulerInput) -> Iterator[_TopologyAt]:
    for name, known in source.topologies.by_name.items():
        if known.is_valid:
            yield _TopologyAt(name, tuple(level.key for level in known.topology.levels), known.places)
    for placement in source.placements:
        node = placement.node
        if isinstance(node, NodeTopology):
            places = tuple(node.place.child(index, node.field) for index in range(len(node.keys)))
            yield _TopologyAt(node.name, node.keys, places)
    for item in source.inventory.items.of_kind(*TOPOLOGY.key):
        keys = node_labels(item.value)
        if len(keys) == len(levels_of(item.value)):
            places = tuple(Place(item, ("spec", "levels", index)) for index in range(len(keys)))
            yield _TopologyAt(str(item.get(("metadata", "name"))), tuple(keys), places)


def _check(topology: _TopologyAt, nodes: Sequence[Node]) -> Iterator[Finding]:
    unused = [key for key in topology.keys if not any(key in node.labels for node in nodes)]
    for key, place in zip(topology.keys, topology.places, strict=True):
        if key in unused:
            message = (
                f'none of {len(nodes)} nodes has the label "{key}". They are all outside of topology '
                f'"{topology.name}", and KAI places no pod that the topology constrains. Label the nodes, or remove '
                "the level"
            )
            yield place.finding(UNUSED, message)
    if unused:
        return
    yield from _check_partial_labels(topology, nodes)
    inside = [node for node in nodes if all(key in node.labels for key in topology.keys)]
    for index in range(1, len(topology.keys)):
        yield from _check_split_domains(topology, index, inside)


def _check_partial_labels(topology: _TopologyAt, nodes: Sequence[Node]) -> Iterator[Finding]:
    """Yield a finding for each label of the topology that is missing on nodes with another label of the topology.

    If any node has GPUs, only nodes with GPUs count.
    """
    useful = [node for node in nodes if node.allocatable.get(GPU)] or list(nodes)
    partly = [node for node in useful if any(key in node.labels for key in topology.keys)]
    for key, place in zip(topology.keys, topology.places, strict=True):
        lacking = [node.name for node in partly if key not in node.labels]
        if lacking:
            message = (
                f'{len(lacking)} of {len(useful)} nodes lack the label "{key}": {_short_list(lacking)}. On them, KAI '
                "places no pod with a constraint of this topology, not even with a preferred level. Label these nodes"
            )
            yield place.finding(OUTSIDE, message)


def _check_split_domains(topology: _TopologyAt, index: int, nodes: Sequence[Node]) -> Iterator[Finding]:
    """Yield a finding if a value of a level is in several domains of the level above.

    If this holds for most values, the cluster reuses names in each domain on purpose, and the finding is only
    information.
    """
    above, key = topology.keys[:index], topology.keys[index]
    parents: dict[str, set[tuple[str, ...]]] = {}
    for node in nodes:
        parents.setdefault(node.labels[key], set()).add(tuple(node.labels[other] for other in above))
    split = sorted(value for value, parents_of in parents.items() if len(parents_of) > 1)
    if not split:
        return
    reuses_names = len(split) * 2 > len(parents)
    shown = "; ".join(
        [f'"{value}" in {_short_list(sorted(".".join(path) for path in parents[value]))}' for value in split[:_SHOWN]]
    )
    message = (
        f'the same domain lies in several domains of "{above[-1]}": {shown}'
        + (f", and {len(split) - _SHOWN} more" if len(split) > _SHOWN else "")
        + "; KAI treats them as different domains"
        + ("" if reuses_names else ". Correct the labels if they are one domain")
    )
    yield topology.places[index].finding(SPLIT, message, severity=Severity.INFO if reuses_names else None)


def _check_gangs(source: SchedulerInput, known: Mapping[str, KaiTopology]) -> Iterator[Finding]:
    """Yield a finding for each level that a gang uses and the Topology in the cluster lacks, once per place."""
    if not known:
        return
    topology_of = topology_names(source)
    reported: set[tuple[Place, str]] = set()
    for placement in source.placements:
        gang = placement.node
        if not isinstance(gang, Gang) or not gang.is_bounded:
            continue
        try:
            topology = known.get(topology_of(gang))
        except MissingBindingError:
            continue
        if topology is None:
            continue
        for place, level in _unknown_levels(gang, topology):
            if (place, level) not in reported:
                reported.add((place, level))
                message = (
                    f'the gang uses the level "{level}", but the Topology in the cluster has the levels '
                    f"{', '.join(topology.levels)}. KAI leaves the gang pending without an error until you "
                    "replace that Topology"
                )
                yield place.finding(STALE, message)


def _unknown_levels(gang: Gang, topology: KaiTopology) -> Iterator[tuple[Place, str]]:
    for bounds in (gang.bounds, *(pods.bounds for pods in gang.sets)):
        if bounds is None or bounds.origin is None:
            continue
        for level in (bounds.required, bounds.preferred):
            if level is not None and level.key not in topology.levels and level.key not in topology.aliases:
                yield bounds.origin.place, level.key


def _short_list(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN} more"


_PARENT = Rule(
    "queue-parent",
    "The parent of a Queue does not exist, or is below this Queue.",
    "spec/placement.md#9.2",
    Severity.WARNING,
)
_KNOWN = Rule("queue-known", "The queue of a workload does not exist.", "spec/placement.md#9.2", Severity.WARNING)
_LEAF = Rule(
    "queue-leaf",
    "A workload is in a queue that has child queues or, before KAI v0.13, no parent.",
    "spec/placement.md#9.2",
    Severity.WARNING,
)
_CLASS = Rule(
    "priority-class-known",
    "The PriorityClass of a workload does not exist.",
    "spec/podgrouper.md#2.3",
    Severity.WARNING,
)
QUEUE_RULES = (_PARENT, _KNOWN, _LEAF, _CLASS)
"""Rules about the queues and PriorityClasses that workloads and Queues name."""

_PRIORITY_CLASS = ("scheduling.k8s.io", "PriorityClass")

_CLASS_FIELD = "priorityClassName"
_BUILT_IN = ("system-cluster-critical", "system-node-critical")
_CHART_QUEUES = (DEFAULT_QUEUE, "default-parent-queue")
"""The queues that KAI's chart creates."""

_KAI_NAMES = (None, "", KAI_PROFILE)
"""The scheduler names of gangs that KAI schedules."""


def check_queues(source: SchedulerInput) -> Iterator[Finding]:
    """Yield findings about missing queues, missing PriorityClasses and the tree of queues.

    A queue or PriorityClass is missing if an object names it and the input does not have it. Queues are checked only if
    the input has a Queue, and classes only if it has a PriorityClass.
    """
    gangs = _gangs(source.placements)
    shares = queues(source)
    if shares:
        yield from _parents(source, shares)
        has_departments = minor_of(source.settings.kai_version) < NO_DEPARTMENTS
        named = [*_queues_of_gangs(gangs), *_queues_of_podgroups(source)]
        yield from _check_named_queues(named, shares, has_departments=has_departments)
        from packwise.schedulers.kai.queue_rules import check_queue_tree

        yield from check_queue_tree(source, shares)
    classes = [item.name for item in source.inventory.items.of_kind(*_PRIORITY_CLASS)]
    if classes:
        known = sorted({*classes, *_BUILT_IN, *CHART_CLASSES})
        yield from _classes(gangs, known)
        for item in written_podgroups(source.inventory.items):
            named = item.get(("spec", _CLASS_FIELD))
            if isinstance(named, str) and _is_missing(named, known):
                yield Finding.of(_CLASS, item, ("spec", _CLASS_FIELD), _class_text(named, known))


def _gangs(placements: Sequence[Placement]) -> list[tuple[Placement, Gang]]:
    """Return one gang for each workload, queue and PriorityClass, without gangs of services."""
    first: dict[tuple[KubeObject, str, str], tuple[Placement, Gang]] = {}
    for placement in placements:
        node = placement.node
        if isinstance(node, Gang) and node.grouper is not Grouper.SERVICE:
            first.setdefault((placement.subject, node.queue or "", node.priority_class), (placement, node))
    return list(first.values())


def _parents(source: SchedulerInput, shares: Sequence[QueueShare]) -> Iterator[Finding]:
    """Yield a finding for each cycle of queues, and for each queue with a missing parent.

    KAI ignores a queue with a missing parent, and all queues below it.
    """
    names = [*(share.name for share in shares), *_CHART_QUEUES]
    by_name = {share.name: share for share in shares}
    for item in source.inventory.items.of_kind(*QUEUE_KIND.key):
        parent = item.get(("spec", "parentQueue"))
        line = [share.name for share in islice(lineage(item.name, by_name), MAX_QUEUE_DEPTH)]
        # From each queue of a cycle, the parents lead through the whole cycle. Report it at the first queue by name.
        if line and by_name[line[-1]].parent == item.name == min(line):
            circle = " → ".join([f'"{name}"' for name in (*line, item.name)])
            message = (
                f"the queue is its own ancestor: {circle}. Each of these queues has a child, and KAI silently skips "
                "its pods. Remove the parent of one queue"
            )
            yield Finding.of(_PARENT, item, ("spec", "parentQueue"), message)
            continue
        if not isinstance(parent, str) or not parent or parent in names or is_placeholder(parent):
            continue
        near = near_miss(parent, [name for name in names if name != item.name])
        if near or _has_roots(shares):
            message = (
                f'the parent queue "{parent}" is not in the input. Without it, KAI ignores this queue and '
                f"its children{near}"
            )
            yield Finding.of(_PARENT, item, ("spec", "parentQueue"), message)


def _has_roots(shares: Sequence[QueueShare]) -> bool:
    """Return True if the input has a queue without a parent. The input may then have all queues of the cluster."""
    return any(not share.parent for share in shares)


class _NamedQueue(Record):
    """The queue that an object names at `place`. If `is_reported`, another rule reports a missing queue."""

    name: str
    place: Place
    is_reported: bool = False


def _queues_of_gangs(gangs: Sequence[tuple[Placement, Gang]]) -> Iterator[_NamedQueue]:
    for placement, gang in gangs:
        if gang.scheduler in _KAI_NAMES and gang.queue:
            yield _NamedQueue(gang.queue, queue_place(gang), placement.subject.kind == DYNAMO_GRAPH.name)


def _queues_of_podgroups(source: SchedulerInput) -> Iterator[_NamedQueue]:
    for item in written_podgroups(source.inventory.items):
        name = item.get(("spec", "queue"))
        if isinstance(name, str) and name:
            yield _NamedQueue(name, Place(item, ("spec", "queue")))


def _check_named_queues(
    named: Sequence[_NamedQueue], shares: Sequence[QueueShare], *, has_departments: bool
) -> Iterator[Finding]:
    names = [*(share.name for share in shares), *_CHART_QUEUES]
    known = frozenset(names)
    below: dict[str, list[str]] = {}
    existing = existing_queues(shares)
    for share in existing.values():
        below.setdefault(share.parent, []).append(share.name)
    for each in named:
        queue = each.name
        if is_placeholder(queue):
            continue
        if has_departments and queue in existing and not existing[queue].parent:
            message = (
                f'the queue "{queue}" has no parent, and KAI before v0.{NO_DEPARTMENTS} silently skips its pods. '
                "Give the queue a parent, or name one of its child queues"
            )
            yield each.place.finding(_LEAF, message)
        elif queue in below and not has_departments:
            message = (
                f'the queue "{queue}" has child queues ({list_known(below[queue])}), and KAI silently skips its '
                "pods. Name a child queue"
            )
            yield each.place.finding(_LEAF, message)
        elif queue not in known and not each.is_reported:
            near = did_you_mean(queue, names)
            if near_miss(queue, names) or _has_roots(shares):
                message = f'the queue "{queue}" is not in the input{near}'
                yield each.place.finding(_KNOWN, message)


def _classes(gangs: Sequence[tuple[Placement, Gang]], known: Sequence[str]) -> Iterator[Finding]:
    for _, gang in gangs:
        named = gang.priority_class
        if _is_missing(named, known):
            yield gang.owner.of("priorityClassName").place.finding(_CLASS, _class_text(named, known))
    seen: set[tuple[int, FieldPath]] = set()
    for _, gang in gangs:
        for leaf in gang.leaves:
            named = (leaf.pod_spec or {}).get(_CLASS_FIELD)
            if not isinstance(named, str) or not _is_missing(named, known):
                continue
            place = spec_place(leaf.origin.place, _CLASS_FIELD)
            at = id(place.item), place.path
            if at not in seen:
                seen.add(at)
                message = (
                    f'the PriorityClass "{named}" is not in the input. Without it, the API '
                    f"server refuses the pods{did_you_mean(named, known)}"
                )
                text = f"no PriorityClass with name {named} was found"
                finding = place.finding(PRIORITY_CLASS, message, operator_message=text, stage=Stage.POD)
                # Objects that packwise writes may go to a cluster that has the class.
                yield finding.replace(when_written=Severity.WARNING)


def _class_text(named: str, known: Sequence[str]) -> str:
    near = did_you_mean(named, known)
    return f'the PriorityClass "{named}" is not in the input. Without it, KAI gives the pods the default priority{near}'


def _is_missing(name: str, known: Sequence[str]) -> bool:
    return bool(name) and name not in known and not is_placeholder(name)
