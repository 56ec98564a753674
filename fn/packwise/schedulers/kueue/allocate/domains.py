"""The domains of one topology on the nodes of one flavor, and the number of pods that fit into each domain.

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
    """The number of all leaves, and the number of excluded leaves by reason, in Kueue's words."""

    total: int
    reasons: Mapping[str, int]

    @property
    def suffix(self) -> str:
        """Return the end of Kueue's message, which lists the excluded leaves. Return "" if there are none."""
        if not self.reasons:
            return ""
        listed = ", ".join(sorted([f"{reason}: {count}" for reason, count in self.reasons.items()]))
        return f". Total nodes: {self.total}; excluded: {listed}"


class Leaves(Record):
    """The counts of each leaf: the pods that fit, the pods that fit with one leader, and 1 if the leader fits."""

    pods: Sequence[int]
    pods_with_leader: Sequence[int]
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

    `paths` lists the domains of each level. The children of a domain are neighbours in the next level, and `spans` has
    their range for each domain. Leaves are single hosts if the last level is the hostname, or else groups of nodes.
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
        """Fill `paths` and `spans` of a level from the level below."""
        start = 0
        below = self.paths[depth + 1]
        for index, path in enumerate(below):
            if index + 1 == len(below) or below[index + 1][: depth + 1] != path[: depth + 1]:
                self.paths[depth].append(path[: depth + 1])
                self.spans[depth].append((start, index + 1))
                start = index + 1

    def name(self, path: Path) -> str:
        """Return the name of a leaf: its host, or the values of all levels joined by "/"."""
        return path[-1] if self.is_by_host else "/".join(path)

    def nodes_of(self, path: Path) -> list[Node]:
        """Return the nodes of a leaf."""
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
        """Subtract the request of a running pod that Kueue does not place from the free amounts of its node."""
        index = self._of_node.get(node)
        if index is not None:
            self._add(index, request, -1)

    def take(self, placed: PlacedPods, sign: int = 1) -> None:
        """Subtract placed pods from the free amounts of their leaf, or add them if `sign` is -1.

        A host has the same name in all flavors. Other domains belong to one flavor.
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
        """Return the counts of all leaves for pods with this request and the excluded leaves."""
        # Kueue checks taints, selectors and affinity only if leaves are nodes.
        key = (request, leader, rules if self.is_by_host else None)
        room = self._rooms.pop(key, None)
        if room is None:
            room = _Room(self, request, leader, self._refusals(rules))
        else:
            room.update(dict.fromkeys(self._changed[room.seen :]))
        room.seen = len(self._changed)
        self._rooms[key] = room
        if len(self._rooms) > _CACHE_SIZE:
            del self._rooms[next(iter(self._rooms))]
        reasons = room.refusals + room.short
        return Leaves(room.pods, room.with_leader, room.leaders), Excluded(len(self.free), +reasons)

    def _refusals(self, rules: NodeRules) -> Mapping[int, str]:
        """Return Kueue's reason for each leaf that the rules of the pod exclude. Return {} if leaves are not hosts."""
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
    """Return Kueue's reason why it excludes a node, or "". Taints come first, then the selector, then affinity."""
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


_CACHE_SIZE = 32
"""The number of requests with cached counts."""


class _Room:
    """The number of pods with one request that fit on each leaf. It is updated when leaves change."""

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
        self.with_leader = self.pods if leader is None else [0] * size
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
                self._count_with_leader(index, free, count, self._leader)

    def _count_with_leader(self, index: int, free: Mapping[str, int], count: int, leader: PodRequest) -> None:
        """Count the leader, and the workers that fit on the leaf with it."""
        if count_pods(leader, free)[0]:
            left = dict(free)
            for resource, amount in leader:
                left[resource] = left.get(resource, 0) - amount
            self.leaders[index], self.with_leader[index] = 1, count_pods(self._request, left)[0]
        else:
            self.leaders[index], self.with_leader[index] = 0, count
