"""The domains of a topology, as a tree over the nodes that have all of its labels, and the levels that KAI tries.

Source: spec/placement.md#4a, #4b, #4, spec/podgrouper.md#9.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from packwise.schedulers.kai.allocate.scene import KaiTopology, LevelConstraint
    from packwise.schedulers.kai.allocate.state import NodeState

ROOT = "root"
"""The domain of all nodes of a topology."""


class Domain:
    """The nodes that have the same labels down to a level; `depth` is the level's index, -1 that of the root.

    `children` are in order of their ids. `idle` is what the nodes have left, by resource.
    """

    __slots__ = ("children", "depth", "id", "idle", "nodes", "parent")

    def __init__(self, identifier: str, depth: int, parent: Domain | None) -> None:
        self.id = identifier
        self.depth = depth
        self.parent = parent
        self.children: list[Domain] = []
        self.nodes: list[NodeState] = []
        self.idle: dict[str, int] = {}

    def is_within(self, other: Domain) -> bool:
        """True if the domain is `other` or below it."""
        domain: Domain | None = self
        while domain is not None and domain.depth > other.depth:
            domain = domain.parent
        return domain is other


class DomainTree:
    """A topology over the nodes of a cluster. `paths` gives each node's domains from the root down.

    `is_crossed`: whether a domain stands below two others, since values hold dots.
    """

    def __init__(self, topology: KaiTopology, nodes: Iterable[NodeState]) -> None:
        self.topology = topology
        self.root = Domain(ROOT, -1, None)
        self.by_depth: list[dict[str, Domain]] = [{} for _ in topology.levels]
        self.paths: dict[str, tuple[Domain, ...]] = {}
        self.is_crossed = False
        self._common_of_all: dict[int, Domain] = {}
        self._linked: set[tuple[Domain, Domain]] = set()
        for node in nodes:
            if all(key in node.labels for key in topology.levels):
                self._add(node)
        for domain in self.domains():
            domain.children.sort(key=lambda child: child.id)
            for node in domain.nodes:
                add_amounts(domain.idle, node.idle.items())

    def _add(self, node: NodeState) -> None:
        path = [self.root]
        identifier = ""
        for depth, key in enumerate(self.topology.levels):
            identifier = f"{identifier}.{node.labels[key]}" if depth else node.labels[key]
            # Values may hold dots: domains of the same id are one domain, whatever stands above them.
            domain = self.by_depth[depth].get(identifier)
            if domain is None:
                domain = self.by_depth[depth][identifier] = Domain(identifier, depth, path[-1])
            if (path[-1], domain) not in self._linked:
                self._linked.add((path[-1], domain))
                self.is_crossed = self.is_crossed or domain.parent is not path[-1]
                path[-1].children.append(domain)
            path.append(domain)
        for domain in path:
            domain.nodes.append(node)
        self.paths[node.name] = tuple(path)

    def domains(self) -> list[Domain]:
        """All domains, the root first, then level by level."""
        return [self.root, *(domain for level in self.by_depth for domain in level.values())]

    def at(self, depth: int) -> Iterable[Domain]:
        """The domains of a level."""
        return self.by_depth[depth].values() if depth >= 0 else (self.root,)

    def common(self, nodes: Sequence[NodeState], deepest: int) -> Domain:
        """The deepest domain that holds all of `nodes`, no deeper than the level `deepest`.

        A label without a value ends the search.
        """
        if nodes is not self.root.nodes:
            return self._common(nodes, deepest)
        if deepest not in self._common_of_all:
            self._common_of_all[deepest] = self._common(nodes, deepest)
        return self._common_of_all[deepest]

    def _common(self, nodes: Sequence[NodeState], deepest: int) -> Domain:
        common = self.root
        if not nodes:
            return common
        first = self.paths[nodes[0].name]
        for depth, key in enumerate(self.topology.levels[: deepest + 1]):
            value = nodes[0].labels[key]
            if not value or any(node.labels[key] != value for node in nodes):
                break
            common = first[depth + 1]
        return common


def add_amounts(total: dict[str, int], amounts: Iterable[tuple[str, int]], sign: int = 1) -> None:
    """Adds `amounts` to `total`, or takes them away."""
    for name, amount in amounts:
        total[name] = total.get(name, 0) + sign * amount


class Silent(NamedTuple):
    """A mistake in a constraint that KAI writes into its log only: the job is pending without any error."""

    text: str


class Levels(NamedTuple):
    """The levels of a constraint as indexes: candidates stand from the `finest` up to the `coarsest` (-1: the root).

    `required` and `preferred` are None where the constraint does not name them.
    """

    finest: int
    coarsest: int
    required: int | None
    preferred: int | None


def levels_of(topology: KaiTopology, constraint: LevelConstraint, sub_group: str) -> Levels | Silent:
    """The levels of the constraint in the topology, or the mistake in it."""
    depths: dict[str, int | None] = {}
    for kind, level in (("required", constraint.required), ("preferred", constraint.preferred)):
        depths[kind] = depth_of(topology, level) if level else None
        if level and depths[kind] is None:
            return _unknown_level(topology, sub_group, kind, level)
    required, preferred = depths["required"], depths["preferred"]
    if required is not None and preferred is not None and preferred < required:
        # The search from the finest level up ends at the required one, and never sees the other.
        return _unknown_level(topology, sub_group, "preferred", constraint.preferred)
    finest = preferred if preferred is not None else required
    if finest is None:
        return Silent(
            f"no topology constraints were found for subgroup {sub_group}, with topology name {topology.name}"
        )
    return Levels(finest, -1 if required is None else required, required, preferred)


def depth_of(topology: KaiTopology, level: str) -> int | None:
    """The index of the level with that node label or alias; None where the topology has none."""
    level = topology.aliases.get(level, level)
    return topology.levels.index(level) if level in topology.levels else None


def no_such_topology(name: str) -> str:
    """KAI's text for a constraint of a Topology that is not there, which the pods see."""
    return f"Requested topology {name} does not exist"


def _unknown_level(topology: KaiTopology, sub_group: str, kind: str, level: str) -> Silent:
    return Silent(
        f"topology constraint error: sub-group {sub_group} specified '{level}' as the {kind} topology constraint "
        f"level, but the topology tree '{topology.name}' does not contain a level with this name"
    )
