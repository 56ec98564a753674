"""The state of the cluster while a session places pods: the free amounts of nodes, GPUs and domains.

The pod that was placed last can be removed again. The memory of GPUs is in KAI's unit: MiB, or hundredths of a GPU if
the node does not state its GPU memory.

Source: Kubernetes v1.35, scheduler plugins nodeports and interpodaffinity, which KAI runs for every pod; KAI Scheduler,
api/node_info/gpu_sharing_node_info.go and gpu_sharing.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from copy import copy
from math import ceil

from krmfn.hints import TYPE_CHECKING, Record, TypeVar
from packwise.kubernetes import parse_natural
from packwise.schedulers.kai.allocate.scene import GPU, PODS
from packwise.schedulers.node_selection import selects_labels

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

    from packwise.schedulers.kai.allocate.fit_errors import DomainErrors, FitError
    from packwise.schedulers.kai.allocate.scene import (
        AffinityTerm,
        CountedRequest,
        GpuPortion,
        HostPort,
        KaiTopology,
        LevelConstraint,
        Node,
        Pod,
        Scene,
    )


# The domains of a topology as a tree, and the levels that KAI tries. Only nodes with all labels of the topology count.
# Source: spec/placement.md#4a, #4b, #4, spec/podgrouper.md#9.

ROOT = "root"
"""The domain of all nodes of a topology."""


class Domain:
    """The nodes that have the same values for the labels of a level and of all levels above it.

    `depth` is the index of the level, or -1 for the root. `children` are sorted by id. `idle` is the free amount of
    each resource.
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
        """Return True if the domain is `other` or a domain below it."""
        domain: Domain | None = self
        while domain is not None and domain.depth > other.depth:
            domain = domain.parent
        return domain is other


class DomainTree:
    """The domains of a topology on the nodes of a cluster. `paths` maps each node's name to its domains, root first.

    `is_crossed` is true if a domain has two parents. This is possible because label values may contain dots.
    """

    def __init__(self, topology: KaiTopology, nodes: Iterable[NodeState]) -> None:
        self.topology = topology
        self.root = Domain(ROOT, -1, None)
        self.by_depth: list[dict[str, Domain]] = [{} for _ in topology.levels]
        self.paths: dict[str, tuple[Domain, ...]] = {}
        self.is_crossed = False
        self._common_of_all: dict[int, Domain] = {}
        self._ids: dict[int, list[str]] = {}
        self._below: dict[tuple[int, int], dict[Domain, list[Domain]]] = {}
        self._linked: set[tuple[Domain, Domain]] = set()
        for node in nodes:
            # For KAI, a node that lacks one of the labels is outside the topology, even if a constraint names another
            # level. A label may have an empty value. Source: spec/placement.md#4a.
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
            # Values may contain dots. KAI treats domains with the same id as one, even if their parents differ.
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

    def rename(self, topology: KaiTopology) -> DomainTree:
        """Return the tree of another topology with the same levels. Both trees share their domains."""
        tree = copy(self)
        tree.topology = topology
        return tree

    def domains(self) -> list[Domain]:
        """Return all domains: the root, then level by level."""
        return [self.root, *(domain for level in self.by_depth for domain in level.values())]

    def domains_at(self, depth: int) -> Iterable[Domain]:
        """Return the domains of the level `depth`."""
        return self.by_depth[depth].values() if depth >= 0 else (self.root,)

    def ids_at(self, depth: int) -> list[str]:
        """Return the sorted ids of the domains of a level."""
        if depth not in self._ids:
            self._ids[depth] = sorted(domain.id for domain in self.domains_at(depth))
        return self._ids[depth]

    def domains_below(self, top: Domain, depth: int) -> list[Domain]:
        """Return the domains of a level within the domain `top`, sorted by id."""
        key = top.depth, depth
        if key not in self._below:
            by_top: dict[Domain, list[Domain]] = {}
            for domain in sorted(self.domains_at(depth), key=lambda domain: domain.id):
                above: Domain | None = domain
                while above is not None and above.depth > top.depth:
                    above = above.parent
                if above is not None and above.depth == top.depth:
                    by_top.setdefault(above, []).append(domain)
            self._below[key] = by_top
        return self._below[key].get(top, [])

    def common_domain(self, nodes: Sequence[NodeState], deepest: int) -> Domain:
        """Return the deepest domain that contains all `nodes`, at most at the level `deepest`.

        The search ends above a level with an empty value.
        """
        if nodes is not self.root.nodes:
            return self._common_domain(nodes, deepest)
        if deepest not in self._common_of_all:
            self._common_of_all[deepest] = self._common_domain(nodes, deepest)
        return self._common_of_all[deepest]

    def _common_domain(self, nodes: Sequence[NodeState], deepest: int) -> Domain:
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
    """Add `amounts` to `total`, or subtract them if `sign` is -1."""
    for name, amount in amounts:
        total[name] = total.get(name, 0) + sign * amount


class SilentMistake(Record):
    """A mistake in a constraint that KAI only logs. The job is then pending without an error."""

    text: str


class Levels(Record):
    """The levels of a constraint, as indexes. KAI tries the levels from `finest` up to `coarsest` (-1 for the root).

    `required` and `preferred` are None if the constraint does not name them.
    """

    finest: int
    coarsest: int
    required: int | None
    preferred: int | None


def levels_of(topology: KaiTopology, constraint: LevelConstraint, sub_group: str) -> Levels | SilentMistake:
    """Return the levels of the constraint in the topology, or the mistake in it."""
    depths: dict[str, int | None] = {}
    for kind, level in (("required", constraint.required), ("preferred", constraint.preferred)):
        depths[kind] = depth_of(topology, level) if level else None
        if level and depths[kind] is None:
            return _unknown_level(topology, sub_group, kind, level)
    required, preferred = depths["required"], depths["preferred"]
    if required is not None and preferred is not None and preferred < required:
        # KAI searches from the finest level up to the required one, so it never finds the preferred level above.
        return _unknown_level(topology, sub_group, "preferred", constraint.preferred)
    finest = preferred if preferred is not None else required
    if finest is None:
        return SilentMistake(
            f"no topology constraints were found for subgroup {sub_group}, with topology name {topology.name}"
        )
    return Levels(finest, -1 if required is None else required, required, preferred)


def depth_of(topology: KaiTopology, level: str) -> int | None:
    """Return the index of the level with the node label or alias `level`. Return None if there is none."""
    level = topology.aliases.get(level, level)
    return topology.levels.index(level) if level in topology.levels else None


def no_such_topology(name: str) -> str:
    """Return KAI's text for a constraint that names a missing Topology. KAI reports it on the pods."""
    return f"Requested topology {name} does not exist"


def _unknown_level(topology: KaiTopology, sub_group: str, kind: str, level: str) -> SilentMistake:
    return SilentMistake(
        f"topology constraint error: sub-group {sub_group} specified '{level}' as the {kind} topology constraint "
        f"level, but the topology tree '{topology.name}' does not contain a level with this name"
    )


EVERY_NAMESPACE = "*"

_PORTS = "node(s) didn't have free ports for the requested pod ports"
_AFFINITY = "node(s) didn't match pod affinity rules"
_ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
_EXISTING = "node(s) didn't satisfy existing pods anti-affinity rules"

_Values = Counter[tuple[str, str]]
"""The number of pods that match a term, by the term's topology key and the value of this label on the pods' nodes."""


class Neighbours:
    """The pods on the nodes of a cluster, and their effect on new pods by host ports, affinity and anti-affinity."""

    def __init__(self, nodes: Iterable[Node], pods: Iterable[Pod]) -> None:
        self._nodes = {node.name: node for node in nodes}
        self._pods: Counter[tuple[int, str]] = Counter()
        self._by_id: dict[int, Pod] = {}
        self._ports: dict[str, Counter[HostPort]] = {}
        # Anti-affinity terms of pods on nodes, by namespace. New pods must not match them.
        self._owned: dict[str, dict[AffinityTerm, _Values]] = {}
        # The number of pods that the terms of new pods select: counted for the first new pod, and then updated.
        self._counted: dict[tuple[AffinityTerm, ...], _Values] = {}
        for pod in pods:
            self.change(pod, pod.node, 1)

    def change(self, pod: Pod, node: str, sign: int) -> None:
        """Record that the pod is on the node. If `sign` is -1, record that it is no longer there."""
        place = self._nodes.get(node)
        if place is None:
            return
        key = (id(pod), node)
        self._by_id[id(pod)] = pod
        self._pods[key] += sign
        if not self._pods[key]:
            del self._pods[key]
        for port in pod.rules.ports:
            self._ports.setdefault(node, Counter())[port] += sign
        for term in pod.rules.pod_anti_affinity:
            if term.topology_key in place.labels:
                pair = (term.topology_key, place.labels[term.topology_key])
                for namespace in term.namespaces:
                    self._owned.setdefault(namespace, {}).setdefault(term, Counter())[pair] += sign
        for terms, values in self._counted.items():
            _count(values, terms, pod, place, sign)

    def affect(self, pod: Pod) -> bool:
        """Return True if existing pods affect the choice of a node for the pod."""
        rules = pod.rules
        return bool(rules.ports or rules.pod_affinity or rules.pod_anti_affinity) or any(self._repelling_terms(pod))

    def _repelling_terms(self, pod: Pod) -> list[_Values]:
        if not self._owned:
            return []
        return [
            values
            for namespace in (pod.namespace, EVERY_NAMESPACE)
            for term, values in self._owned.get(namespace, {}).items()
            if +values and _selects(term, pod)
        ]

    def node_check(self, pod: Pod) -> Callable[[Node], str]:
        """Return a function that returns the reason why a node refuses the pod now, or ""."""
        near = self._values(pod.rules.pod_affinity)
        apart = [(term.topology_key, self._values((term,))) for term in pod.rules.pod_anti_affinity]
        keeping_away = self._repelling_terms(pod)
        # The first of several pods with affinity to each other can use any node.
        is_first = (
            not +near and bool(pod.rules.pod_affinity) and all(_selects(term, pod) for term in pod.rules.pod_affinity)
        )

        def refusal(node: Node) -> str:
            if pod.rules.ports and self._takes_a_port(pod, node):
                return _PORTS
            labels = node.labels
            for term in pod.rules.pod_affinity:
                value = labels.get(term.topology_key)
                if value is None or (not is_first and near[term.topology_key, value] <= 0):
                    return _AFFINITY
            if any(key in labels and values[key, labels[key]] > 0 for key, values in apart):
                return _ANTI_AFFINITY
            if any(values[pair] > 0 for values in keeping_away for pair in labels.items()):
                return _EXISTING
            return ""

        return refusal

    def _takes_a_port(self, pod: Pod, node: Node) -> bool:
        taken = self._ports.get(node.name)
        return taken is not None and any(
            count > 0 and _conflict(port, other) for port in pod.rules.ports for other, count in taken.items()
        )

    def _values(self, terms: tuple[AffinityTerm, ...]) -> _Values:
        """Return the number of pods that match all `terms`, for each topology key and value."""
        if not terms:
            return Counter()
        if terms not in self._counted:
            values = self._counted[terms] = Counter()
            for (pod, node), number in self._pods.items():
                _count(values, terms, self._by_id[pod], self._nodes[node], number)
        return self._counted[terms]


def _count(values: _Values, terms: tuple[AffinityTerm, ...], pod: Pod, node: Node, number: int) -> None:
    if all(_selects(term, pod) for term in terms):
        for term in terms:
            if term.topology_key in node.labels:
                values[term.topology_key, node.labels[term.topology_key]] += number


def _selects(term: AffinityTerm, pod: Pod) -> bool:
    if EVERY_NAMESPACE not in term.namespaces and pod.namespace not in term.namespaces:
        return False
    return term.selector is not None and selects_labels(term.selector, pod.labels)


def _conflict(port: HostPort, other: HostPort) -> bool:
    if (port.port, port.protocol) != (other.port, other.protocol):
        return False
    # A port without an address, or with 0.0.0.0, is used at every address.
    is_any = not port.address.strip("0.") or not other.address.strip("0.")
    return is_any or port.address == other.address


MIG = "nvidia.com/mig-"
"""The prefix of resources that are slices of GPUs."""

_MIG_LABEL = "node-role.kubernetes.io/mig-enabled"
_MIG_STRATEGY = "nvidia.com/mig.strategy"


def mig_strategy(labels: Mapping[str, str], allocatable: Mapping[str, int]) -> str:
    """Return the MIG strategy of a node with these labels and resources, as `Node.mig`."""
    label = labels.get(_MIG_LABEL)
    if label is None:
        is_sliced = any(name.startswith(MIG) and amount > 0 for name, amount in allocatable.items())
    else:
        is_sliced = label in ("1", "t", "T", "TRUE", "true", "True")
    return (labels.get(_MIG_STRATEGY) or "none") if is_sliced else ""


def gpus_of(pod: Pod, gpu_memory: int) -> float:
    """Return the GPUs that the pod requests, as queues count them. `gpu_memory` is the memory of the largest GPU."""
    if pod.share is not None:
        if pod.share.memory:
            return pod.share.devices * pod.share.memory / gpu_memory if gpu_memory else 0
        return portion_of(pod.share)
    return sum([
        amount if name == GPU else amount * _slices(name)
        for name, amount in pod.request
        if name == GPU or name.startswith(MIG)
    ])  # fmt: skip


def gpus_taken(pod: Pod, node: Node) -> float:
    """Return the GPUs that the pod uses on its node, as queues count them.

    A share by memory is rounded up to hundredths of a GPU.
    """
    if pod.share is None or not pod.share.memory:
        return gpus_of(pod, 0)
    return pod.share.devices * ceil(pod.share.memory * 100 / node.gpu_memory) / 100


def joins_shared_gpu(pod: Pod, node: Node, shared: Mapping[str, int]) -> bool:
    """Return True if a shared GPU of the node has room for the pod. KAI prefers such a node.

    A pod that requests no GPU fits on any shared GPU.
    """
    if pod.share is None and any(name == GPU for name, _ in pod.request):
        return False
    memory = 0 if pod.share is None else memory_of(pod.share, node)
    return any(used > 0 and used + memory <= node.gpu_memory for used in shared.values())


def _slices(name: str) -> int:
    """Return the number of slices in the MIG profile of a resource: 3 for `nvidia.com/mig-3g.20gb`."""
    return parse_natural(name.removeprefix(MIG).partition("g.")[0]) or 0


def is_gpu_pod(pod: Pod) -> bool:
    """Return True if the pod requests a GPU, a share of a GPU, or a MIG slice."""
    return pod.share is not None or any(name == GPU or name.startswith(MIG) for name, _ in pod.request)


def portion_of(share: GpuPortion) -> float:
    """Return the number of GPUs that KAI counts for the share, or 0 for a share by memory."""
    return round(share.portion * 100) * share.devices / 100


def memory_of(share: GpuPortion, node: Node) -> int:
    """Return the memory that the share uses on each GPU of the node."""
    return share.memory or int(share.portion * node.gpu_memory)


def fitting_gpus(share: GpuPortion, node: Node, shared: Mapping[str, int], idle: int) -> list[str] | None:
    """Return the node's GPUs for the share, the fullest first. Return None if there are too few. "" is an unused GPU.

    `shared` is the used memory of each shared GPU, and `idle` is the number of unused GPUs.
    """
    portion = ceil(share.memory * 100 / node.gpu_memory) / 100 if share.memory else share.portion
    if portion > 1 and portion != int(portion):
        return None
    memory = memory_of(share, node)
    groups = [name for name, used in shared.items() if used and used + memory <= node.gpu_memory]
    groups.sort(key=lambda name: (-shared[name], name))
    chosen = [*groups, *[""] * max(idle, 0)][: share.devices]
    return chosen if len(chosen) == share.devices else None


def free_portions(node: Node, shared: Mapping[str, int]) -> float:
    """Return the free parts of the node's shared GPUs together, as a number of GPUs."""
    return sum([max(0, node.gpu_memory - used) / node.gpu_memory for used in shared.values() if used > 0])


_CACHE_SIZE = 16
"""The number of requests with cached capacities, and of groups of pods with cached orders."""


class NodeState:
    """A node, with its free amounts `idle`. `shared` is the used memory of its shared GPUs, by group.

    `rank` is its position in the order of names. `changes` counts the changes of its free amounts.
    """

    __slots__ = ("changes", "idle", "labels", "name", "node", "rank", "shared")

    def __init__(self, node: Node, rank: int) -> None:
        self.node = node
        self.name = node.name
        self.labels = node.labels
        self.rank = rank
        self.changes = 0
        self.idle = {name: amount - node.used.get(name, 0) for name, amount in node.allocatable.items()}
        self.shared = dict(node.shared)
        if self.shared:
            self.idle[GPU] = self.idle.get(GPU, 0) - sum(used > 0 for used in self.shared.values())

    def fits(self, pod: Pod) -> bool:
        """Return True if the node has room for the pod: for its request, and for one more pod."""
        idle = self.idle
        if idle.get(PODS, 0) < 1:
            return False
        if not all(idle.get(name, 0) >= amount for name, amount in pod.request):
            return False
        return pod.share is None or self.gpus_for(pod.share) is not None

    def gpus_for(self, share: GpuPortion) -> list[str] | None:
        """Return the GPUs for a pod that requests `share`. Return None if the node has too few."""
        return fitting_gpus(share, self.node, self.shared, self.idle.get(GPU, 0))

    def pod_capacity(self, request: CountedRequest) -> int:
        """Return the number of pods with this request for which the node has room."""
        idle = self.idle
        counts = [idle.get(PODS, 0)]
        for name, amount in request:
            left: float = idle.get(name, 0)
            if name == GPU and amount < 1:
                left += free_portions(self.node, self.shared)
            counts.append(int(left / amount) if isinstance(amount, float) else int(left) // amount)
        return max(0, min(counts))


class Capacities:
    """The number of pods with one request for which each domain of a tree has room: the sum over its nodes."""

    def __init__(self, tree: DomainTree, request: CountedRequest) -> None:
        self._tree = tree
        self._request = request
        self._by_node = {node.name: node.pod_capacity(request) for node in tree.root.nodes}
        self._by_domain: dict[Domain, int] = {
            domain: sum(self._by_node[node.name] for node in domain.nodes) for domain in tree.domains()
        }
        self.seen = 0

    def update(self, node: NodeState) -> None:
        """Update the cached values after a change of the node's free amounts."""
        path = self._tree.paths.get(node.name)
        if path is None:
            return
        now = node.pod_capacity(self._request)
        change = now - self._by_node[node.name]
        if change:
            self._by_node[node.name] = now
            for domain in path:
                self._by_domain[domain] += change

    def __getitem__(self, domain: Domain) -> int:
        return self._by_domain[domain]


class Orders:
    """The `children` of each domain in KAI's order for one group of pods, and the `fitting` ones with enough room.

    `errors` are the errors of domains that are too small. `errors_below` are the errors of all domains of a level
    within a domain. The values of a domain are cached until a node in it changes.
    """

    def __init__(self, tree: DomainTree) -> None:
        self._tree = tree
        self.children: dict[Domain, list[Domain]] = {}
        self.fitting: dict[Domain, list[Domain]] = {}
        self.errors: dict[Domain, FitError] = {}
        self.errors_below: dict[Domain, dict[int, DomainErrors]] = {}
        self.seen = 0

    def update(self, node: NodeState) -> None:
        """Update the cached values after a change of the node's free amounts."""
        for known in (self.children, self.fitting, self.errors, self.errors_below):
            if self._tree.is_crossed:
                known.clear()
            for domain in self._tree.paths.get(node.name, ()):
                known.pop(domain, None)


_Known = TypeVar("_Known", Capacities, Orders)


class ClusterState:
    """The nodes sorted by name, the trees of their topologies, and the pods `placed` so far in their order."""

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
        self._trees: dict[tuple[str, ...], DomainTree] = {}
        self.trees = {topology.name: self._tree(topology) for topology in scene.topologies}
        self.largest = _largest_amounts(scene.nodes)
        self.placed: list[tuple[Pod, NodeState]] = []
        self._shared: list[list[tuple[str, int]]] = []
        self._changed: list[NodeState] = []
        self._holds: OrderedDict[Hashable, Capacities] = OrderedDict()
        self._orders: OrderedDict[Hashable, Orders] = OrderedDict()

    def _tree(self, topology: KaiTopology) -> DomainTree:
        """Return the tree of a topology. Topologies with equal levels, as in OSMO's pools, share one tree."""
        known = self._trees.get(topology.levels)
        if known is not None:
            return known.rename(topology)
        return self._trees.setdefault(topology.levels, DomainTree(topology, self.nodes))

    def total(self) -> Mapping[str, int]:
        """Return the sum of all nodes' allocatable amounts."""
        total: dict[str, int] = {}
        for node in self.nodes:
            add_amounts(total, node.node.allocatable.items())
        return total

    def place(self, pod: Pod, node: NodeState) -> None:
        """Put the pod on the node."""
        self.placed.append((pod, node))
        taken: list[tuple[str, int]] = []
        if pod.share is not None:
            memory = memory_of(pod.share, node.node)
            for number, group in enumerate(node.gpus_for(pod.share) or ()):
                # An unused GPU becomes a new group of pods that share it.
                taken.append((group or f"new-{len(self.placed)}-{number}", memory))
        self._shared.append(taken)
        self._change(pod, node, taken, -1)

    def remove_last_pod(self) -> None:
        """Remove the pod that was placed last."""
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
        node.changes += 1
        for tree in self._trees.values():
            for domain in tree.paths.get(node.name, ()):
                add_amounts(domain.idle, amounts, sign)
        self.neighbours.change(pod, node.name, -sign)
        self._changed.append(node)

    @property
    def changes(self) -> int:
        """Return the number of changes of nodes so far."""
        return len(self._changed)

    def changed_since(self, seen: int) -> list[NodeState]:
        """Return the nodes that changed after the first `seen` changes."""
        return self._changed[seen:]

    def capacities(self, tree: DomainTree, request: CountedRequest) -> Capacities:
        """Return the number of pods with this request for which each domain of the tree has room."""
        return self._keep(self._holds, (tree.topology.levels, request), lambda: Capacities(tree, request))

    def orders(self, tree: DomainTree, group: Hashable) -> Orders:
        """Return the orders of the tree's domains for a group of pods. Pods with equal `group` share their orders."""
        return self._keep(self._orders, (tree.topology.levels, group), lambda: Orders(tree))

    def _keep(self, kept: OrderedDict[Hashable, _Known], key: Hashable, make: Callable[[], _Known]) -> _Known:
        """Return the cached value of `key`, updated with all changes of nodes, or a new one.

        Only the keys that were used last are cached.
        """
        known = kept.pop(key, None)
        if known is None:
            known = make()
        else:
            for node in dict.fromkeys(self._changed[known.seen :]):
                known.update(node)
        known.seen = len(self._changed)
        kept[key] = known
        if len(kept) > _CACHE_SIZE:
            kept.popitem(last=False)
        return known


def _largest_amounts(nodes: tuple[Node, ...]) -> Mapping[str, int]:
    """Return the largest amount of each resource on any node."""
    largest: dict[str, int] = {}
    for node in nodes:
        for name, amount in node.allocatable.items():
            largest[name] = max(largest.get(name, 0), amount)
    return largest
