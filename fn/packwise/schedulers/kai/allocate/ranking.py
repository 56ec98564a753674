"""Which node of a set KAI gives a pod.

KAI scores every node of the set anew for each pod. The order is the same as that by what a node has left of the pod's
main resource, least first: a node that takes a pod only moves forward, so that it stays the first until it is full.
Where it depends on other pods whether a node takes the pod, or GPUs are shared, the nodes are looked at one by one.
Source: spec/placement.md#5.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush

from krmfn.hints import TYPE_CHECKING
from packwise.schedulers.kai.allocate.gpu_sharing import is_gpu_pod, joins_shared_gpu
from packwise.schedulers.kai.allocate.predicates import refusals
from packwise.schedulers.kai.allocate.scene import CPU, GPU

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from packwise.schedulers.kai.allocate.candidates import Scores
    from packwise.schedulers.kai.allocate.scene import Pod, PodRules, Request
    from packwise.schedulers.kai.allocate.state import ClusterState, NodeState

__all__ = ["Ranking", "Rankings", "scored_nodes", "visited_before"]

_Entry = tuple[int, int, int, int, "NodeState"]


class Rankings:
    """The rankings of a session. Those of the whole cluster are kept, since many jobs ask for the same."""

    def __init__(self, cluster: ClusterState) -> None:
        self._cluster = cluster
        self._kept: dict[tuple[Request, PodRules], Ranking] = {}

    def best(self, pod: Pod, nodes: Sequence[NodeState], scores: Scores | None) -> NodeState | None:
        """The best of `nodes` for a pod that others concern, or that shares GPUs; None where none takes it."""
        refusal = self._cluster.neighbours.judge(pod)
        taking = [
            node
            for node in scored_nodes(nodes, scores)
            if node.fits(pod) and not refusals(pod, node.node) and not refusal(node.node)
        ]
        return min(taking, key=_Order(pod, scored_nodes(nodes, scores), scores).key, default=None)

    def is_plain(self, pod: Pod) -> bool:
        """Whether no other pod, and no shared GPU, has a say in which node the pod goes to."""
        if pod.share is not None or self._cluster.neighbours.concern(pod):
            return False
        return not self._cluster.shares_gpus or any(name == GPU for name, _ in pod.request)

    def of(self, pod: Pod, nodes: Sequence[NodeState], scores: Scores | None) -> Ranking:
        """The ranking of `nodes` for a plain pod."""
        asked = dict(pod.request)
        if nodes is not self._cluster.nodes or scores is not None or not (asked.get(GPU) or asked.get(CPU)):
            return Ranking(pod, nodes, scores)
        key = (pod.request, pod.rules)
        ranking = self._kept.get(key)
        if ranking is None:
            if len(self._kept) >= _KEPT:
                self._kept.pop(next(iter(self._kept)))
            ranking = self._kept[key] = Ranking(pod, nodes, None)
        else:
            ranking.update(self._cluster.changed_since(ranking.seen))
        ranking.seen = self._cluster.changes
        return ranking


_KEPT = 16


def scored_nodes(nodes: Sequence[NodeState], scores: Scores | None) -> Sequence[NodeState]:
    """The nodes that KAI looks at: one without a score drops out of its list."""
    return nodes if scores is None else [node for node in nodes if scores.of(node) is not None]


def visited_before(
    pod: Pod, nodes: Sequence[NodeState], scores: Scores | None, taker: NodeState
) -> Iterator[NodeState]:
    """The nodes that KAI looked at for the pod before the one that took it."""
    scored = scored_nodes(nodes, scores)
    key = _Order(pod, scored, scores).key
    last = key(taker)
    return (node for node in scored if key(node) < last)


class _Order:
    """KAI's order of nodes for one pod, by what they have left now."""

    def __init__(self, pod: Pod, nodes: Sequence[NodeState], scores: Scores | None) -> None:
        self._pod = pod
        self._scores = scores
        self._main = GPU if is_gpu_pod(pod) else CPU
        idle = [node.idle.get(self._main, 0) for node in nodes if node.node.allocatable.get(self._main, 0)]
        self._most = max(idle, default=0)
        self._bare = self._most + (bool(idle) and min(idle) == self._most > 0)

    def key(self, node: NodeState) -> tuple[int, int, int, int, int, int]:
        """The place of a node in the order, by KAI's scores from the weightiest on."""
        pod, has = self._pod, node.node.allocatable.get
        shares = joins_shared_gpu(pod, node.node, node.shared)
        left = node.idle.get(self._main, 0) if self._most > 0 else 0
        return (
            -(0 if self._scores is None else self._scores.of(node) or 0),
            -shares,
            -node.fits(pod),
            -(self._main == CPU and not has(GPU, 0)),
            left if has(self._main, 0) else self._bare,
            node.rank,
        )


class Ranking:
    """The nodes of a set that a pod, and others that ask for the same, fit on, the best first."""

    def __init__(self, pod: Pod, nodes: Sequence[NodeState], scores: Scores | None) -> None:
        self._pod = pod
        self.nodes = scored_nodes(nodes, scores)
        self._scores = scores
        self._main = GPU if is_gpu_pod(pod) else CPU
        idle = [node.idle.get(self._main, 0) for node in self.nodes if node.node.allocatable.get(self._main, 0)]
        self._most = max(idle, default=0)
        # A node without the resource scores as the emptiest one does, or worse where all others are alike.
        self._bare = self._most + (bool(idle) and min(idle) == self._most > 0)
        self._heap = [self._entry(node) for node in self.nodes if node.fits(pod) and not refusals(pod, node.node)]
        heapify(self._heap)
        self.seen = 0

    def _entry(self, node: NodeState) -> _Entry:
        score = 0 if self._scores is None else self._scores.of(node) or 0
        is_cpu_node = self._main == CPU and not node.node.allocatable.get(GPU, 0)
        left = node.idle.get(self._main, 0) if self._most > 0 else 0
        if not node.node.allocatable.get(self._main, 0):
            left = self._bare
        return (-score, -is_cpu_node, left, node.rank, node)

    def serves(self, pod: Pod) -> bool:
        """Whether the ranking is that of the pod too."""
        return pod.request == self._pod.request and pod.rules == self._pod.rules

    def update(self, changed: Sequence[NodeState]) -> None:
        """Takes in that nodes have more or less left."""
        for node in dict.fromkeys(changed):
            self._most = max(self._most, node.idle.get(self._main, 0))
            if node.fits(self._pod) and not refusals(self._pod, node.node):
                heappush(self._heap, self._entry(node))

    def best(self) -> NodeState | None:
        """The best node that has room; None where none has."""
        while self._heap:
            entry = self._heap[0]
            node = entry[-1]
            if node.fits(self._pod) and node.idle.get(self._main, 0) <= entry[2]:
                return node
            # What it has left is more than when it was listed: another entry lists it, after others.
            heappop(self._heap)
        return None
