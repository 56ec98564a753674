"""Why a node refuses a pod whatever room it has, and which node of a set KAI gives a pod.

Source: spec/placement.md#5, KAI Scheduler, predicates plugin.

The texts are KAI's, which takes those of Kubernetes' plugins.

KAI scores every node of the set anew for each pod. The order is the same as that by what a node has left of the
pod's main resource, least first: a node that takes a pod only moves forward, so that it stays the first until
it is full. Where it depends on other pods whether a node takes the pod, or GPUs are shared, the nodes are
looked at one by one.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush

from krmfn.hints import TYPE_CHECKING
from packwise.schedulers.kai.allocate.scene import CPU, GPU
from packwise.schedulers.kai.allocate.state import MIG, is_gpu_pod, joins_shared_gpu

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from packwise.schedulers.kai.allocate.candidates import Scores
    from packwise.schedulers.kai.allocate.scene import Node, Pod, PodRules, Request, Taint, Toleration
    from packwise.schedulers.kai.allocate.state import ClusterState, NodeState

_NO_MATCH = "node(s) didn't match Pod's node affinity/selector"
_UNTOLERATED = "node(s) had untolerated taint(s)"


def refusals(pod: Pod, node: Node, *, names_taints: bool = False) -> tuple[str, ...]:
    """The reasons of the node against the pod, as KAI counts them; none where it takes it.

    `names_taints`: the text names the taint, as that of KAI before v0.17 does.
    """
    wants_slices = any(name.startswith(MIG) for name, _ in pod.request)
    if node.mig or wants_slices or pod.share is not None:
        kind = _wrong_kind(pod, node, wants_slices=wants_slices)
        if kind:
            return (kind,)
    if node.unschedulable or node.unready:
        return (("node is unschedulable",) if node.unschedulable else ()) + node.unready
    if not node.taints and not pod.rules.selector and pod.rules.affinity is None:
        return ()
    taint = next((taint for taint in node.taints if not _is_tolerated(taint, pod.rules.tolerations)), None)
    if taint is None:
        return () if selects(pod.rules, node.labels, node.name) else (_NO_MATCH,)
    return (f"node(s) had untolerated taint {{{taint.key}: {taint.value}}}" if names_taints else _UNTOLERATED,)


def _wrong_kind(pod: Pod, node: Node, *, wants_slices: bool) -> str:
    """Why the GPUs of the node are of the wrong kind for the pod: whole ones, shares, slices. "" where they are not."""
    if not is_gpu_pod(pod):
        return ""
    if node.mig:
        if node.mig == "single" and (wants_slices or pod.share is not None):
            return "only whole gpu jobs can run on a node with MigStrategy='single'"
        if node.mig == "mixed" and not wants_slices:
            return "non MIG jobs cant run on a node with MigStrategy='mixed'"
    elif wants_slices:
        return "MIG job cannot be scheduled on non-MIG node"
    if pod.share is not None and pod.share.memory and not node.has_gpu_memory:
        return (
            "node is not a gpu node or the gpu memory count on the node was not synced yet, "
            f"task: <{pod.namespace}/{pod.name}>, node: <{node.name}>"
        )
    return ""


def selects(rules: PodRules, labels: Mapping[str, str], name: str) -> bool:
    """True if the pod's node selector and affinity allow a node with these labels."""
    if any(labels.get(key) != value for key, value in rules.selector):
        return False
    if rules.affinity is None:
        return True
    return any(bool(term) and all(_holds(expression, labels, name) for expression in term) for term in rules.affinity)


def _holds(expression: tuple[str, str, tuple[str, ...]], labels: Mapping[str, str], name: str) -> bool:
    key, operator, values = expression
    value = name if key == "metadata.name" else labels.get(key)
    match operator:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt":
            return _compares(operator, value, values)
        case _:
            return False


def _compares(operator: str, value: str | None, values: tuple[str, ...]) -> bool:
    try:
        left, right = int(value or ""), int(values[0]) if values else 0
    except ValueError:
        return False
    return left > right if operator == "Gt" else left < right


def _is_tolerated(taint: Taint, tolerations: tuple[Toleration, ...]) -> bool:
    if taint.effect not in ("NoSchedule", "NoExecute"):
        return True
    return any(
        (not toleration.effect or toleration.effect == taint.effect)
        and (not toleration.key or toleration.key == taint.key)
        and (toleration.operator == "Exists" or (bool(toleration.key) and toleration.value == taint.value))
        for toleration in tolerations
    )


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
        """True if no other pod and no shared GPU decides which node the pod goes to."""
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


def nodes_before(pod: Pod, nodes: Sequence[NodeState], scores: Scores | None, taker: NodeState) -> Iterator[NodeState]:
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
        """True if the ranking holds for the pod too: it has the same request and rules."""
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
