"""The domains of one topology over the nodes of one flavor, and how many pods each of them has room for.

Source: spec/kueue.md#9.1 to #9.3; Kueue, tas_flavor_snapshot.go.
"""

from __future__ import annotations

from collections import Counter

from krmfn.hints import TYPE_CHECKING, Record
from packwise.keys import HOSTNAME
from packwise.schedulers.node_selection import repelling_taint, selects_node

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from packwise.schedulers.kueue.allocate.scene import Node, NodeRules, Path, PlacedPods, PodRequest
    from packwise.schedulers.node_selection import Toleration


class Excluded(Record):
    """The number of leaves, and of the excluded ones by reason in Kueue's words."""

    total: int
    reasons: Mapping[str, int]

    @property
    def suffix(self) -> str:
        """Return the end of Kueue's message about them, or ""."""
        if not self.reasons:
            return ""
        listed = ", ".join(sorted([f"{reason}: {count}" for reason, count in self.reasons.items()]))
        return f". Total nodes: {self.total}; excluded: {listed}"


class Leaves(Record):
    """The counts of each leaf: pods, pods beside one leader, and 1 if it has room for the leader."""

    pods: Sequence[int]
    pods_beside: Sequence[int]
    leaders: Sequence[int]


def count_pods(request: PodRequest, free: Mapping[str, int]) -> tuple[int, str]:
    """Return how many pods of `request` fit into `free`, and the resource that limits them.

    The first resource by name wins a tie. An unknown resource counts as 0.
    """
    least: int | None = None
    limit = ""
    for resource, amount in request:
        left = free.get(resource, 0)
        # More can be in use than exists, for example after a GPU has failed.
        count = left // amount if left > 0 else 0
        if least is None or count < least:
            least, limit = count, resource
    return least or 0, limit


class DomainTree:
    """The domains by level, sorted by their values, and the free amounts of each leaf.

    `paths` holds the domains of each level. Children of a domain are neighbours in the next level. `spans` holds the
    range of each. Leaves are single hosts if the last level is the hostname, else sums over nodes.
    """

    def __init__(self, levels: Sequence[str], nodes: Iterable[Node], tolerations: tuple[Toleration, ...] = ()) -> None:
        self.levels = tuple(levels)
        self.is_by_host = bool(self.levels) and self.levels[-1] == HOSTNAME
        self._tolerations = tolerations
        by_path: dict[Path, list[Node]] = {}
        for node in nodes:
            path = tuple([node.labels.get(key, "") for key in self.levels])
            by_path.setdefault(path, []).append(node)
        leaves = sorted(by_path)
        self.paths: list[list[Path]] = [[] for _ in self.levels]
        self.spans: list[list[tuple[int, int]]] = [[] for _ in self.levels]
        if self.levels:
            self.paths[-1] = leaves
        for depth in range(len(self.levels) - 2, -1, -1):
            self._group(depth)
        self._nodes = [by_path[path] for path in leaves]
        self.free = [_sum_allocatable(by_path[path]) for path in leaves]
        self._by_host = {path[-1]: index for index, path in enumerate(leaves)} if self.is_by_host else {}
        self._by_path = {path: index for index, path in enumerate(leaves)}
        self._of_node = {node.name: index for index, members in enumerate(self._nodes) for node in members}
        self._changed: list[int] = []
        self._rooms: dict[object, _Room] = {}

    def _group(self, depth: int) -> None:
        """Fill a level from the level below."""
        start = 0
        below = self.paths[depth + 1]
        for index, path in enumerate(below):
            if index + 1 == len(below) or below[index + 1][: depth + 1] != path[: depth + 1]:
                self.paths[depth].append(path[: depth + 1])
                self.spans[depth].append((start, index + 1))
                start = index + 1

    def name(self, path: Path) -> str:
        """Name a leaf as Kueue's assignments do: by its host, or by the values of all levels."""
        return path[-1] if self.is_by_host else "/".join(path)

    def nodes_of(self, path: Path) -> list[Node]:
        """The nodes of a leaf."""
        index = self._by_path.get(path)
        return [] if index is None else self._nodes[index]

    def free_within(self, path: Path) -> dict[str, int]:
        """Return the free amounts of all leaves below a domain."""
        total: dict[str, int] = {}
        for leaf, free in zip(self.paths[-1], self.free, strict=True):
            if leaf[: len(path)] == path:
                for resource, amount in free.items():
                    total[resource] = total.get(resource, 0) + max(amount, 0)
        return total

    def subtract_node(self, node: str, request: PodRequest) -> None:
        """Count a running pod that Kueue does not place, on the node of that name."""
        index = self._of_node.get(node)
        if index is not None:
            self._add(index, request, -1)

    def take(self, placed: PlacedPods, sign: int = 1) -> None:
        """Count placed pods as use of their leaf. A `sign` of -1 undoes that.

        A host has the same name in every flavor. Other domains belong to one flavor.
        """
        index = self._by_host.get(placed.path[-1]) if self.is_by_host else self._by_path.get(placed.path)
        if index is not None:
            self._add(index, placed.request, -placed.count * sign)

    def fits(self, placed: Iterable[PlacedPods]) -> bool:
        """Return True if the leaves still have room for all of these pods together."""
        asked: dict[int, Counter[str]] = {}
        for pods in placed:
            index = self._by_path.get(pods.path)
            if index is None:
                return False
            total = asked.setdefault(index, Counter())
            for resource, amount in pods.request:
                total[resource] += amount * pods.count
        amounts = ((self.free[index], total) for index, total in asked.items())
        return all(free.get(name, 0) >= amount for free, total in amounts for name, amount in total.items())

    def _add(self, index: int, request: PodRequest, count: int) -> None:
        free = self.free[index]
        for resource, amount in request:
            free[resource] = free.get(resource, 0) + amount * count
        self._changed.append(index)

    def leaves(self, request: PodRequest, leader: PodRequest | None, rules: NodeRules) -> tuple[Leaves, Excluded]:
        """Return the counts of all leaves for pods of `request`, with a leader beside them or without."""
        # Kueue checks taints, selectors and affinity only if leaves are nodes.
        key = (request, leader, rules if self.is_by_host else None)
        room = self._rooms.pop(key, None)
        if room is None:
            room = _Room(self, request, leader, self._refusals(rules))
        else:
            room.update(dict.fromkeys(self._changed[room.seen :]))
        room.seen = len(self._changed)
        self._rooms[key] = room
        if len(self._rooms) > _KEPT_ROOMS:
            del self._rooms[next(iter(self._rooms))]
        reasons = room.refusals + room.short
        return Leaves(room.pods, room.beside, room.leaders), Excluded(len(self.free), +reasons)

    def _refusals(self, rules: NodeRules) -> Mapping[int, str]:
        """Return the leaves that the pod's rules exclude, with Kueue's reasons, if leaves are nodes."""
        if not self.is_by_host:
            return {}
        tolerations = (*rules.tolerations, *self._tolerations)
        refused: dict[int, str] = {}
        for index, (node, *_) in enumerate(self._nodes):
            reason = _refusal(node, rules, tolerations)
            if reason:
                refused[index] = reason
        return refused


def _refusal(node: Node, rules: NodeRules, tolerations: tuple[Toleration, ...]) -> str:
    """Return Kueue's reason against a node, or "": taints come first, then the selector, then affinity."""
    taint = repelling_taint(node.taints, tolerations)
    if taint is not None:
        value = f"={taint.value}" if taint.value else ""
        return f'taint "{taint.key}{value}:{taint.effect}"'
    if any(node.labels.get(key) != value for key, value in rules.selector):
        return "nodeSelector"
    return "" if selects_node((), rules.terms, node.labels, node.name) else "affinity"


def _sum_allocatable(nodes: Sequence[Node]) -> dict[str, int]:
    total: dict[str, int] = {}
    for node in nodes:
        for resource, amount in node.allocatable.items():
            total[resource] = total.get(resource, 0) + amount
    return total


_KEPT_ROOMS = 32
"""The number of requests whose counts are cached."""


class _Room:
    """The number of pods of one request that each leaf has room for, brought up to date as leaves change."""

    def __init__(
        self, tree: DomainTree, request: PodRequest, leader: PodRequest | None, refused: Mapping[int, str]
    ) -> None:
        self._tree = tree
        self._request = request
        self._leader = leader
        self._refused = refused
        self.refusals = Counter(refused.values())
        self.short: Counter[str] = Counter()
        self._limits: dict[int, str] = {}
        size = len(tree.free)
        self.pods = [0] * size
        self.beside = self.pods if leader is None else [0] * size
        self.leaders = [0] * size
        self.seen = 0
        self.update(range(size))

    def update(self, changed: Iterable[int]) -> None:
        """Count these leaves again."""
        for index in changed:
            if index in self._refused:
                continue
            free = self._tree.free[index]
            count, limit = count_pods(self._request, free)
            self.pods[index] = count
            before = self._limits.pop(index, "")
            if before:
                self.short[before] -= 1
            if not count:
                reason = self._limits[index] = f'resource "{limit}"'
                self.short[reason] += 1
            if self._leader is not None:
                self._count_beside(index, free, count, self._leader)

    def _count_beside(self, index: int, free: Mapping[str, int], count: int, leader: PodRequest) -> None:
        """Count the one leader and the workers beside it."""
        if count_pods(leader, free)[0]:
            left = dict(free)
            for resource, amount in leader:
                left[resource] = left.get(resource, 0) - amount
            self.leaders[index], self.beside[index] = 1, count_pods(self._request, left)[0]
        else:
            self.leaders[index], self.beside[index] = 0, count
