"""What KAI passes over in silence where topologies meet the nodes of a cluster. Source: spec/placement.md#4a, #7."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.findings.finding import Rule, Severity
from packwise.objects.kinds import TOPOLOGY
from packwise.objects.place import Place
from packwise.placement import Gang, NodeTopology
from packwise.schedulers.kai.allocate.scene import GPU
from packwise.schedulers.kai.snapshot import SnapshotError, read_snapshot
from packwise.schedulers.kai.topology_names import MissingBindingError, topology_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from packwise.findings.finding import Finding
    from packwise.schedulers.kai.allocate.scene import KaiTopology, Node
    from packwise.schedulers.scheduler import SchedulerInput

__all__ = ["RULES", "check_nodes"]

UNUSED = Rule("level-on-no-node", "Every level is a label that nodes carry.", "spec/placement.md#4a", Severity.WARNING)
OUTSIDE = Rule(
    "node-outside-topology",
    "Nodes carry the labels of all levels of a topology, or of none.",
    "spec/placement.md#4a",
    Severity.WARNING,
)
SPLIT = Rule(
    "domain-in-two-parents",
    "A domain stands within one domain of the level above it.",
    "spec/placement.md#4a",
    Severity.WARNING,
)
STALE = Rule(
    "topology-in-cluster-differs",
    "The cluster's Topology has the levels by which gangs are placed.",
    "spec/placement.md#7",
    Severity.WARNING,
)
RULES = (UNUSED, OUTSIDE, SPLIT, STALE)
"""Rules of topologies on nodes; they are checked where nodes are given."""

_SHOWN = 3


class _Listed(NamedTuple):
    """A topology, and the place of each of its levels."""

    name: str
    keys: tuple[str, ...]
    places: tuple[Place, ...]


def check_nodes(source: SchedulerInput) -> Iterator[Finding]:
    """What the nodes have against the topologies of the render; nothing where no nodes are given."""
    try:
        snapshot = read_snapshot(source.cluster.nodes)
    except SnapshotError:
        return
    for topology in _topologies(source):
        yield from _check(topology, snapshot.nodes)
    yield from _check_gangs(source, {topology.name: topology for topology in snapshot.topologies})


def _topologies(source: SchedulerInput) -> Iterator[_Listed]:
    for name, known in source.topologies.by_name.items():
        if known.valid:
            yield _Listed(name, tuple([level.key for level in known.topology.levels]), known.places)
    for placement in source.placements:
        node = placement.node
        if isinstance(node, NodeTopology):
            places = tuple([node.place.below(index, node.field) for index in range(len(node.keys))])
            yield _Listed(node.name, node.keys, places)
    for item in source.inventory.items.of_kind(*TOPOLOGY.key):
        levels = item.get(("spec", "levels"))
        listed = levels if isinstance(levels, list) else []
        keys = [level.get("nodeLabel") if isinstance(level, dict) else None for level in listed]
        texts = tuple([key for key in keys if isinstance(key, str)])
        if len(texts) == len(keys):
            places = tuple([Place(item, ("spec", "levels", index)) for index in range(len(keys))])
            yield _Listed(str(item.get(("metadata", "name"))), texts, places)


def _check(topology: _Listed, nodes: Sequence[Node]) -> Iterator[Finding]:
    unused = [key for key in topology.keys if not any(key in node.labels for node in nodes)]
    for key, place in zip(topology.keys, topology.places, strict=True):
        if key in unused:
            message = (
                f'must be a label of nodes; none of {len(nodes)} carries "{key}", so that all of them are outside of '
                f'topology "{topology.name}" and KAI places no pod that it bounds: label the nodes, or drop the level'
            )
            yield place.finding(UNUSED, message)
    if unused:
        return
    yield from _outside(topology, nodes)
    inside = [node for node in nodes if all(key in node.labels for key in topology.keys)]
    for index in range(1, len(topology.keys)):
        yield from _split(topology, index, inside)


def _outside(topology: _Listed, nodes: Sequence[Node]) -> Iterator[Finding]:
    """Nodes with some of the labels, and with GPUs where any node has them."""
    useful = [node for node in nodes if node.allocatable.get(GPU)] or list(nodes)
    partly = [node for node in useful if any(key in node.labels for key in topology.keys)]
    for key, place in zip(topology.keys, topology.places, strict=True):
        lacking = [node.name for node in partly if key not in node.labels]
        if lacking:
            message = (
                f'is no label of {len(lacking)} of {len(useful)} nodes: {_few(lacking)} lack "{key}"; KAI places no '
                "pod on them that the topology bounds, not even by a preferred level: label them"
            )
            yield place.finding(OUTSIDE, message)


def _split(topology: _Listed, index: int, nodes: Sequence[Node]) -> Iterator[Finding]:
    """Values of a level that stand in several domains of the level above.

    Where most do, names are used anew in each domain, which is a habit and no mistake.
    """
    above, key = topology.keys[:index], topology.keys[index]
    parents: dict[str, set[tuple[str, ...]]] = {}
    for node in nodes:
        parents.setdefault(node.labels[key], set()).add(tuple([node.labels[other] for other in above]))
    split = sorted(value for value, parents_of in parents.items() if len(parents_of) > 1)
    if not split:
        return
    habit = len(split) * 2 > len(parents)
    shown = "; ".join(
        [f'"{value}" in {_few(sorted(".".join(path) for path in parents[value]))}' for value in split[:_SHOWN]]
    )
    message = (
        f'names domains that stand in several of "{above[-1]}": {shown}'
        + (f", and {len(split) - _SHOWN} more" if len(split) > _SHOWN else "")
        + "; KAI takes each for domains of their own"
        + ("" if habit else ": correct the labels where they are one")
    )
    yield topology.places[index].finding(SPLIT, message, severity=Severity.INFO if habit else None)


def _check_gangs(source: SchedulerInput, known: Mapping[str, KaiTopology]) -> Iterator[Finding]:
    """Bounds of gangs by levels that the Topology in the cluster does not have, each once."""
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
        for place, level in _unknown(gang, topology):
            if (place, level) not in reported:
                reported.add((place, level))
                message = (
                    f'is placed by "{level}", which is no level of the Topology in the cluster, which has '
                    f"{', '.join(topology.levels)}: until that is replaced, KAI leaves the gang "
                    "pending without an error"
                )
                yield place.finding(STALE, message)


def _unknown(gang: Gang, topology: KaiTopology) -> Iterator[tuple[Place, str]]:
    for bounds in (gang.bounds, *(pods.bounds for pods in gang.sets)):
        if bounds is None or bounds.origin is None:
            continue
        for level in (bounds.required, bounds.preferred):
            if level is not None and level.key not in topology.levels and level.key not in topology.aliases:
                yield bounds.origin.place, level.key


def _few(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN} more"
