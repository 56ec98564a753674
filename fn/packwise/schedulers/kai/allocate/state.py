"""The cluster while a session places pods: what each node and each domain has left, and how to take a step back."""

from __future__ import annotations

from collections import OrderedDict

from krmfn.hints import TYPE_CHECKING, TypeVar
from packwise.schedulers.kai.allocate.domains import DomainTree, add_amounts
from packwise.schedulers.kai.allocate.gpu_sharing import fitting_gpus, free_portions, memory_of
from packwise.schedulers.kai.allocate.neighbours import Neighbours
from packwise.schedulers.kai.allocate.scene import GPU, PODS

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping

    from packwise.schedulers.kai.allocate.domains import Domain
    from packwise.schedulers.kai.allocate.scene import CountedRequest, GpuShare, Node, Pod, Scene

__all__ = ["ClusterState", "Holds", "NodeState", "Orders"]

_KEPT_SHAPES = 16
"""Requests of which it is remembered how many pods each node holds."""


class NodeState:
    """A node and what it has `idle`; `shared` is what pods take of the GPUs that they share, by group.

    `rank` is its place in the order of names.
    """

    __slots__ = ("idle", "labels", "name", "node", "rank", "shared")

    def __init__(self, node: Node, rank: int) -> None:
        self.node = node
        self.name = node.name
        self.labels = node.labels
        self.rank = rank
        self.idle = {name: amount - node.used.get(name, 0) for name, amount in node.allocatable.items()}
        self.shared = dict(node.shared)
        if self.shared:
            self.idle[GPU] = self.idle.get(GPU, 0) - sum(used > 0 for used in self.shared.values())

    def fits(self, pod: Pod) -> bool:
        """Whether the node has all that the pod asks for left, the place of the pod itself included."""
        idle = self.idle
        if idle.get(PODS, 0) < 1:
            return False
        if not all(idle.get(name, 0) >= amount for name, amount in pod.request):
            return False
        return pod.share is None or self.gpus_for(pod.share) is not None

    def gpus_for(self, share: GpuShare) -> list[str] | None:
        """The GPUs that a pod with the share gets here; None where there are too few."""
        return fitting_gpus(share, self.node, self.shared, self.idle.get(GPU, 0))

    def holds(self, request: CountedRequest) -> int:
        """How many pods of `request` the node has room for."""
        idle = self.idle
        counts = [idle.get(PODS, 0)]
        for name, amount in request:
            left: float = idle.get(name, 0)
            if name == GPU and amount < 1:
                left += free_portions(self.node, self.shared)
            counts.append(int(left / amount) if isinstance(amount, float) else int(left) // amount)
        return max(0, min(counts))


class Holds:
    """How many pods of one request each domain of a tree has room for: the sum over its nodes."""

    def __init__(self, tree: DomainTree, request: CountedRequest) -> None:
        self._tree = tree
        self._request = request
        self._by_node = {node.name: node.holds(request) for node in tree.root.nodes}
        self._by_domain: dict[Domain, int] = {
            domain: sum(self._by_node[node.name] for node in domain.nodes) for domain in tree.domains()
        }
        self.seen = 0

    def update(self, node: NodeState) -> None:
        """Takes in that the node has more or less left."""
        path = self._tree.paths.get(node.name)
        if path is None:
            return
        now = node.holds(self._request)
        change = now - self._by_node[node.name]
        if change:
            self._by_node[node.name] = now
            for domain in path:
                self._by_domain[domain] += change

    def __getitem__(self, domain: Domain) -> int:
        return self._by_domain[domain]


class Orders:
    """The children of each domain of a tree as one group of pods looks at them, and those that it fits in.

    Both are remembered until a node below changes.
    """

    def __init__(self, tree: DomainTree) -> None:
        self._tree = tree
        self.children: dict[Domain, list[Domain]] = {}
        self.fitting: dict[Domain, list[Domain]] = {}
        self.seen = 0

    def update(self, node: NodeState) -> None:
        """Takes in that the node has more or less left."""
        if self._tree.is_crossed:
            self.children.clear()
            self.fitting.clear()
        for domain in self._tree.paths.get(node.name, ()):
            self.children.pop(domain, None)
            self.fitting.pop(domain, None)


_Known = TypeVar("_Known", Holds, Orders)


class ClusterState:
    """Nodes in order of their names, the trees of their topologies, and the pods placed so far, in order."""

    def __init__(self, scene: Scene) -> None:
        ordered = sorted(scene.nodes, key=lambda node: node.name)
        self.nodes = [NodeState(node, rank) for rank, node in enumerate(ordered)]
        self.by_name = {node.name: node for node in self.nodes}
        self.names_taints = scene.names_taints
        self.shares_gpus = any(node.shared for node in scene.nodes) or any(
            pod.share is not None for job in scene.jobs for pod in job.pods
        )
        running = [pod for job in scene.jobs for pod in job.pods if pod.node in self.by_name]
        for pod in running:
            add_amounts(self.by_name[pod.node].idle, (*pod.request, (PODS, 1)), -1)
        self.neighbours = Neighbours(scene.nodes, (*scene.residents, *running))
        self.trees = {topology.name: DomainTree(topology, self.nodes) for topology in scene.topologies}
        self.largest = _largest(scene.nodes)
        self.placed: list[tuple[Pod, NodeState]] = []
        self._shared: list[list[tuple[str, int]]] = []
        self._changed: list[NodeState] = []
        self._holds: OrderedDict[Hashable, Holds] = OrderedDict()
        self._orders: OrderedDict[Hashable, Orders] = OrderedDict()

    def total(self) -> Mapping[str, int]:
        """What all nodes have together, whether in use or not."""
        total: dict[str, int] = {}
        for node in self.nodes:
            add_amounts(total, node.node.allocatable.items())
        return total

    def place(self, pod: Pod, node: NodeState) -> None:
        """Puts the pod on the node."""
        self.placed.append((pod, node))
        taken: list[tuple[str, int]] = []
        if pod.share is not None:
            memory = memory_of(pod.share, node.node)
            for number, group in enumerate(node.gpus_for(pod.share) or ()):
                # A GPU that nobody uses yet becomes a group of its own.
                taken.append((group or f"new-{len(self.placed)}-{number}", memory))
        self._shared.append(taken)
        self._change(pod, node, taken, -1)

    def roll_back(self, mark: int) -> None:
        """Takes away the pods placed since there were `mark` of them, the last one first."""
        while len(self.placed) > mark:
            pod, node = self.placed.pop()
            self._change(pod, node, self._shared.pop(), 1)

    def _change(self, pod: Pod, node: NodeState, taken: Iterable[tuple[str, int]], sign: int) -> None:
        whole = 0
        for group, memory in taken:
            used = node.shared.get(group, 0) - sign * memory
            whole += (used > 0) != (node.shared.get(group, 0) > 0)
            node.shared[group] = used
        amounts = (*pod.request, (PODS, 1), (GPU, whole)) if whole else (*pod.request, (PODS, 1))
        add_amounts(node.idle, amounts, sign)
        for tree in self.trees.values():
            for domain in tree.paths.get(node.name, ()):
                add_amounts(domain.idle, amounts, sign)
        self.neighbours.change(pod, node.name, -sign)
        self._changed.append(node)

    @property
    def changes(self) -> int:
        """How many changes there were."""
        return len(self._changed)

    def changed_since(self, seen: int) -> list[NodeState]:
        """The nodes that changed since there were `seen` changes."""
        return self._changed[seen:]

    def holds(self, tree: DomainTree, request: CountedRequest) -> Holds:
        """How many pods of `request` each domain of the tree has room for."""
        return self._kept(self._holds, (tree.topology.name, request), lambda: Holds(tree, request))

    def orders(self, tree: DomainTree, group: Hashable) -> Orders:
        """The orders of the tree's domains for pods; `group` is all by which they depend on the pods."""
        return self._kept(self._orders, (tree.topology.name, group), lambda: Orders(tree))

    def _kept(self, kept: OrderedDict[Hashable, _Known], key: Hashable, make: Callable[[], _Known]) -> _Known:
        """What is kept by that key, the last few that were asked for, with all changes since."""
        known = kept.pop(key, None)
        if known is None:
            known = make()
        else:
            for node in dict.fromkeys(self._changed[known.seen :]):
                known.update(node)
        known.seen = len(self._changed)
        kept[key] = known
        if len(kept) > _KEPT_SHAPES:
            kept.popitem(last=False)
        return known


def _largest(nodes: tuple[Node, ...]) -> Mapping[str, int]:
    """The most that any node has of each resource."""
    largest: dict[str, int] = {}
    for node in nodes:
        for name, amount in node.allocatable.items():
            largest[name] = max(largest.get(name, 0), amount)
    return largest
