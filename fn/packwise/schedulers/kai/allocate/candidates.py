"""The sets of nodes that KAI tries for a job or subgroup with a topology constraint, and its choice of a node in a set.

Source: spec/placement.md#4, #4c to #4f, #5.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from heapq import heapify, heappop, heappush
from itertools import chain

from krmfn.hints import TYPE_CHECKING, Record
from packwise.schedulers.kai.allocate.fit_errors import (
    DomainErrors,
    PartErrors,
    Shortage,
    constraint_error,
    insufficient_resources,
    node_shortages,
    too_few_pods,
    unschedulable_error,
)
from packwise.schedulers.kai.allocate.scene import CPU, GPU, MEMORY, PODS
from packwise.schedulers.kai.allocate.state import (
    MIG,
    ROOT,
    Levels,
    SilentMistake,
    depth_of,
    is_gpu_pod,
    joins_shared_gpu,
    levels_of,
    no_such_topology,
    portion_of,
)
from packwise.schedulers.node_selection import repelling_taint, selects_node

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from packwise.schedulers.kai.allocate.fit_errors import FitError
    from packwise.schedulers.kai.allocate.scene import (
        CountedRequest,
        Job,
        LevelConstraint,
        Node,
        Pod,
        PodRules,
        Request,
    )
    from packwise.schedulers.kai.allocate.state import Capacities, ClusterState, Domain, DomainTree, NodeState


_ABSENT = 1000.0
"""KAI's ratio of request to free amount if a domain has nothing left of a resource."""


class Accounting:
    """KAI's count of the room for one group of pods within the domain `start`. Domains outside it have no room.

    If all pods request the same kinds of resources, KAI counts them as equal pods with the largest request of each
    resource. Otherwise, KAI compares the sum of the requests with the free resources.
    """

    def __init__(self, cluster: ClusterState, tree: DomainTree, start: Domain, pods: Sequence[Pod]) -> None:
        self.start = start
        self._tree = tree
        self._topology = tree.topology.name
        self._levels = tree.topology.levels
        self._pods = len(pods)
        self.total = _total(pods)
        self.largest: CountedRequest | None = _largest_request(pods) if _is_uniform(pods) else None
        self._asked = [
            (name, -(-amount // 1000) if name == CPU else amount) for name, amount in self.total.items() if name != PODS
        ]
        self._asks_nothing = not self._asked
        self._holds: Capacities | None = (
            cluster.capacities(tree, self.largest) if self.largest is not None and not self._asks_nothing else None
        )
        # The cached errors contain the name of the topology and exact amounts, so both are in the key.
        self._orders = cluster.orders(tree, (self._topology, tuple(self.total.items()), self.largest))

    def pods_that_fit(self, domain: Domain) -> int | None:
        """Return the number of pods for which the domain has room.

        Return None if the domain is outside `start`, or if KAI compares sums of resources instead.
        """
        return self._pods_that_fit(domain) if domain.is_within(self.start) else None

    def _pods_that_fit(self, domain: Domain) -> int | None:
        if self.largest is None:
            return None
        return self._holds[domain] if self._holds is not None else len(domain.nodes) * self._pods

    def fits(self, domain: Domain) -> bool:
        """Return True if the pods fit into the domain by KAI's count."""
        return self.fits_below(domain) if domain.is_within(self.start) else self._asks_nothing

    def fits_below(self, domain: Domain) -> bool:
        """Return True if the pods fit into a domain within `start` by KAI's count."""
        held = self._pods_that_fit(domain)
        return held >= self._pods if held is not None else self._ratio(domain.idle) <= 1

    def errors(self, depth: int, among: Iterable[Domain] | None) -> DomainErrors:
        """Return the errors of the domains `among`, or of all domains of the level `depth` if `among` is None.

        The pods fit into none of these domains.
        """
        if among is not None:
            listed = sorted(among, key=lambda domain: domain.id)
            within = [domain for domain in listed if domain.is_within(self.start)]
            return self._domain_errors(depth, within, [domain.id for domain in listed])
        known = self._orders.errors_below.setdefault(self.start, {})
        if depth not in known:
            within = self._tree.domains_below(self.start, depth)
            known[depth] = self._domain_errors(depth, within, self._tree.ids_at(depth))
        return known[depth]

    def _domain_errors(self, depth: int, within: Iterable[Domain], ids: Sequence[str]) -> DomainErrors:
        """Return the errors of the domains `ids`. Domains not in `within` count as having no free resources."""
        known = self._orders.errors
        counted = [known[domain] if domain in known else self._error(domain) for domain in within]
        empty = self._shortage("", depth, None, self.total.items(), "").replace(is_counted=False)
        return DomainErrors(counted, ids, self.total, empty)

    def _error(self, domain: Domain) -> FitError:
        """Return the error of a domain within `start` into which the pods do not fit."""
        held = self._pods_that_fit(domain)
        error = (
            too_few_pods(domain.id, held, self._pods)
            if held is not None
            else insufficient_resources(domain.id, domain.idle, self.total)
        )
        self._orders.errors[domain] = error = error.replace(shortage=self.shortage(domain, ""))
        return error

    def shortage(self, domain: Domain, sub_group: str) -> Shortage:
        """Return the shortage of the domain: the resources that it lacks by KAI's count."""
        held = self.pods_that_fit(domain)
        if held is not None and self.largest is not None:
            missing = [(name, amount * (self._pods - held)) for name, amount in self.largest]
        else:
            idle = self._idle_amounts(domain)
            missing = [(name, amount - idle.get(name, 0)) for name, amount in self.total.items()]
        shortage = self._shortage(domain.id, domain.depth, held, missing, sub_group)
        return shortage if domain.is_within(self.start) else shortage.replace(is_counted=False)

    def _shortage(
        self, domain: str, depth: int, held: int | None, missing: Iterable[tuple[str, float]], sub_group: str
    ) -> Shortage:
        return Shortage(
            sub_group=sub_group,
            topology=self._topology,
            domain=domain,
            level=self._levels[depth] if depth >= 0 else "",
            fitting_pods=held,
            requested_pods=self._pods,
            missing=tuple(sorted((name, amount) for name, amount in missing if amount > 0)),
            is_counted=True,
        )

    def ratio(self, domain: Domain) -> float:
        """Return the largest ratio of request to free amount over all resources. Above 1, the pods do not fit."""
        return self._ratio(self._idle_amounts(domain))

    def _ratio(self, idle: Mapping[str, int]) -> float:
        largest = 0.0
        for name, asked in self._asked:
            left = idle.get(name, 0)
            if name == CPU:
                # KAI compares whole cores, rounded up.
                left = -(-left // 1000)
            share = asked / left if left > 0 else _ABSENT
            largest = max(largest, share)
        return largest

    def _idle_amounts(self, domain: Domain) -> Mapping[str, int]:
        return domain.idle if domain.is_within(self.start) else {}

    def levels(self, deepest: int) -> dict[int, list[Domain]]:
        """Return the domains within `start` by depth, down to the level `deepest`.

        Parents keep their order. The children of a parent are ordered by free room, least first.
        """
        levels = {self.start.depth: [self.start]}
        known = self._orders.children
        for depth in range(self.start.depth + 1, deepest + 1):
            ordered = [known.get(domain) or self._order_children(domain) for domain in levels[depth - 1]]
            levels[depth] = list(chain.from_iterable(ordered))
        return levels

    def fitting_domains(self, levels: Mapping[int, Sequence[Domain]], depth: int) -> list[Domain]:
        """Return the domains of the level `depth` into which the pods fit by KAI's count, in KAI's order."""
        if depth == self.start.depth:
            return [self.start] if self.fits_below(self.start) else []
        known = self._orders.fitting
        fitting = [known[domain] if domain in known else self._fitting_domains(domain) for domain in levels[depth - 1]]
        return list(chain.from_iterable(fitting))

    def _order_children(self, domain: Domain) -> list[Domain]:
        # The children are sorted by id, and the sort keeps this order for equal ratios.
        ordered = sorted(domain.children, key=lambda child: -self._ratio(child.idle))
        self._orders.children[domain] = ordered
        return ordered

    def _fitting_domains(self, domain: Domain) -> list[Domain]:
        ordered = self._orders.children.get(domain) or self._order_children(domain)
        fitting = self._orders.fitting[domain] = [child for child in ordered if self.fits_below(child)]
        return fitting


def _counted_request(pod: Pod) -> CountedRequest:
    """Return the request of the pod, with the portions of GPUs that it shares."""
    if pod.share is None or not portion_of(pod.share):
        return pod.request
    return (*pod.request, (GPU, portion_of(pod.share)))


def _total(pods: Sequence[Pod]) -> dict[str, float]:
    total: dict[str, float] = {}
    for pod in pods:
        for name, amount in _counted_request(pod):
            total[name] = total.get(name, 0) + amount
    total[PODS] = len(pods)
    return total


def _largest_request(pods: Sequence[Pod]) -> CountedRequest:
    largest: dict[str, float] = {}
    for pod in pods:
        for name, amount in _counted_request(pod):
            largest[name] = max(largest.get(name, 0), amount)
    return tuple(sorted(largest.items()))


def _is_uniform(pods: Sequence[Pod]) -> bool:
    """Return True if each resource except CPU and memory is requested by all pods or by none."""
    asked: dict[str, int] = {}
    for pod in pods:
        for name, _ in _counted_request(pod):
            if name not in (CPU, MEMORY):
                asked[name] = asked.get(name, 0) + 1
    return all(count == len(pods) for count in asked.values())


_SCORES = 10
_SCORE = 100_000


class Scores:
    """The scores of nodes by their domain at the preferred level. A later domain in KAI's order scores higher.

    The later domains have more free room.

    Source: spec/placement.md#4h.
    """

    def __init__(self, tree: DomainTree, depth: int, domains: Sequence[Domain]) -> None:
        self._paths = tree.paths
        self._depth = depth
        self._by_domain = dict(zip(domains, _scores(len(domains)), strict=True))

    def score(self, node: NodeState) -> int | None:
        """Return the score of a node. Return None if it is outside the domains."""
        path = self._paths.get(node.name)
        return None if path is None else self._by_domain.get(path[self._depth + 1])


@lru_cache(maxsize=16)
def _scores(count: int) -> tuple[int, ...]:
    """Return the scores of `count` domains, in the order of the domains."""
    # Compute in floats as KAI does, because an inexact quotient of whole numbers would differ.
    # With more than ten domains, neighbours have equal scores. Source: spec/placement.md#4h.
    return tuple(int(((index + 1) / count) * _SCORES) * _SCORE for index in range(count))


class Candidates(Record):
    """The sets of nodes to try under a constraint. Without sets, there are `errors` or a mistake that KAI only logs.

    `scores` are the scores of nodes if the constraint has a preferred level.
    """

    sets: Iterable[Sequence[NodeState]] = ()
    scores: Scores | None = None
    errors: tuple[FitError | PartErrors, ...] = ()
    silent_mistake: SilentMistake | None = None


class PodDemand(Record):
    """The pods to place: `pods` of `sub_group` under `constraint`.

    `running` are the nodes of pods that run already. The new pods must use the same domain at the required level.
    """

    job: Job
    sub_group: str
    constraint: LevelConstraint | None
    pods: Sequence[Pod]
    running: Sequence[str]


def candidates(cluster: ClusterState, wanted: PodDemand, nodes: Sequence[NodeState]) -> Candidates:
    """Return the sets of `nodes` to try. Without a constraint, all `nodes` are one set."""
    constraint = wanted.constraint
    if constraint is None or not constraint.topology:
        return Candidates((nodes,))
    tree = cluster.trees.get(constraint.topology)
    if tree is None:
        missing = unschedulable_error(no_such_topology(constraint.topology))
        return Candidates(errors=(missing,))
    return _candidates_within(cluster, tree, wanted, constraint, nodes) if wanted.pods else Candidates((nodes,))


def _candidates_within(
    cluster: ClusterState, tree: DomainTree, wanted: PodDemand, constraint: LevelConstraint, nodes: Sequence[NodeState]
) -> Candidates:
    job, sub_group = wanted.job, wanted.sub_group
    preferred = depth_of(tree.topology, constraint.preferred) if constraint.preferred else None
    valid = tree.root.nodes if nodes is cluster.nodes else [node for node in nodes if node.name in tree.paths]
    # KAI's search for the start stops at the preferred level, but not at the required one. If all nodes share a domain
    # below the required level, KAI counts no room at the required level. This is a bug of KAI.
    # Source: spec/placement.md#4b.
    start = tree.common_domain(valid, len(tree.by_depth) - 1 if preferred is None else preferred)
    accounting = Accounting(cluster, tree, start, wanted.pods)
    levels = levels_of(tree.topology, constraint, sub_group)
    if not accounting.fits(start):
        where = "the cluster" if start.id == ROOT else start.id
        error = constraint_error(job, sub_group, constraint, where)
        return Candidates(errors=(error.replace(shortage=_nearest_shortage(accounting, tree, levels, sub_group)),))
    if isinstance(levels, SilentMistake):
        return Candidates(silent_mistake=levels)
    ordered = accounting.levels(levels.finest)
    pinned = _pinned_domains(tree, levels, wanted.running)
    fitting = _fitting_domains(accounting, tree, levels, ordered, pinned)
    if not fitting:
        too_small = PartErrors(sub_group, accounting.errors(levels.coarsest, pinned))
        return Candidates(errors=(too_small, constraint_error(job, sub_group, constraint)))
    scores = None if levels.preferred is None else Scores(tree, levels.preferred, ordered.get(levels.preferred, ()))
    return Candidates(_nodes_by_domain(fitting, tree, valid), scores)


def _nodes_by_domain(
    domains: Iterable[Domain], tree: DomainTree, valid: Sequence[NodeState]
) -> Iterator[Sequence[NodeState]]:
    """For each domain, yield its nodes that are in `valid`. Usually only the first set of nodes is tried."""
    if valid is tree.root.nodes:
        for domain in domains:
            yield domain.nodes
        return
    among = {node.name for node in valid}
    for domain in domains:
        yield [node for node in domain.nodes if node.name in among]


def _nearest_shortage(
    accounting: Accounting, tree: DomainTree, levels: Levels | SilentMistake, sub_group: str
) -> Shortage:
    """Return the shortage of the domain that comes nearest to holding the pods.

    The pods do not fit into the domain `accounting.start`. Only the domains of the coarsest level within that domain
    are compared. If there are none, return the shortage of `accounting.start` itself.
    """
    depth = -1 if isinstance(levels, SilentMistake) else levels.coarsest
    below = [domain for domain in tree.domains_at(depth) if domain.is_within(accounting.start)]
    nearest = min(below or [accounting.start], key=lambda domain: (accounting.ratio(domain), domain.id))
    if accounting.largest is not None and below:
        nearest = min(below, key=lambda domain: (-(accounting.pods_that_fit(domain) or 0), domain.id))
    return accounting.shortage(nearest, sub_group)


def _pinned_domains(tree: DomainTree, levels: Levels, running: Iterable[str]) -> set[Domain] | None:
    """Return the domains of the required level that have running pods.

    Return None if there are no running pods, or if no level is required.
    """
    if levels.required is None:
        return None
    names = list(running)
    if not names:
        return None
    return {tree.paths[name][levels.required + 1] for name in names if name in tree.paths}


def _fitting_domains(
    accounting: Accounting,
    tree: DomainTree,
    levels: Levels,
    ordered: Mapping[int, Sequence[Domain]],
    pinned: set[Domain] | None,
) -> list[Domain]:
    """Return the domains into which the pods fit, the finest level first."""
    fitting: list[Domain] = []
    for depth in range(levels.finest, levels.coarsest - 1, -1):
        if depth in ordered:
            fitting += accounting.fitting_domains(ordered, depth)
        else:
            # KAI counts no room above the start, so only pods without requests fit there.
            above = sorted(tree.domains_at(depth), key=lambda domain: domain.id)
            fitting += [domain for domain in above if accounting.fits(domain)]
    if pinned is None:
        return fitting
    return [domain for domain in fitting if any(domain.is_within(bound) for bound in pinned)]


# The reasons why a node refuses a pod regardless of its free amounts, and KAI's choice of a node from a set. The texts
# are KAI's, copied from Kubernetes' plugins. KAI scores every node of the set again for each pod. Its order equals the
# order by the free amount of the pod's main resource, least first. A node that gets a pod only moves forward in this
# order, so it stays first until it is full. If GPUs are shared or other pods affect the choice, packwise scores every
# node again too. Source: spec/placement.md#5, KAI Scheduler, predicates plugin.


_NO_MATCH = "node(s) didn't match Pod's node affinity/selector"
_UNTOLERATED = "node(s) had untolerated taint(s)"


def refusals(pod: Pod, node: Node, *, names_taints: bool = False) -> tuple[str, ...]:
    """Return the reasons why the node refuses the pod, as KAI counts them, or () if it accepts the pod.

    With `names_taints`, the text names the taint, as in KAI before v0.17.
    """
    wants_slices = any(name.startswith(MIG) for name, _ in pod.request)
    if node.mig or wants_slices or pod.share is not None:
        kind = _wrong_kind(pod, node, wants_slices=wants_slices)
        if kind:
            return (kind,)
    if node.unschedulable or node.unready:
        return (("node is unschedulable",) if node.unschedulable else ()) + node.unready
    if not node.taints and not pod.rules.selector and pod.rules.node_affinity is None:
        return ()
    rules = pod.rules
    # If a node fails both checks, the taint counts, as in all recorded answers of KAI. Source: spec/placement.md#9.6.
    taint = repelling_taint(node.taints, rules.tolerations)
    if taint is None:
        return () if selects_node(rules.selector, rules.node_affinity, node.labels, node.name) else (_NO_MATCH,)
    return (f"node(s) had untolerated taint {{{taint.key}: {taint.value}}}" if names_taints else _UNTOLERATED,)


def _wrong_kind(pod: Pod, node: Node, *, wants_slices: bool) -> str:
    """Return the reason why the node has the wrong kind of GPUs for the pod (whole, shared or sliced), or ""."""
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


class Reasons:
    """The reasons why each node refuses plain pods (`Rankings.is_plain`) with the same request and rules.

    The reasons of a node are computed again only if its free amounts changed.
    """

    def __init__(self, pod: Pod, *, names_taints: bool) -> None:
        self._pod = pod
        self._names_taints = names_taints
        self._known: dict[int, tuple[int, tuple[str, ...]]] = {}

    def accepting(self, nodes: Iterable[NodeState]) -> list[NodeState]:
        """Return the nodes that accept a pod with this request and these rules."""
        return [node for node in nodes if not self._find_reasons(node)]

    def count(self, nodes: Iterable[NodeState]) -> Counter[str]:
        """Return the number of nodes with each reason."""
        counts: Counter[str] = Counter()
        for reasons, number in Counter(map(self._find_reasons, nodes)).items():
            for reason in reasons:
                counts[reason] += number
        return counts

    def _find_reasons(self, node: NodeState) -> tuple[str, ...]:
        known = self._known.get(node.rank)
        if known is None or known[0] != node.changes:
            known = self._known[node.rank] = node.changes, self._examine(node)
        return known[1]

    def _examine(self, node: NodeState) -> tuple[str, ...]:
        if not node.fits(self._pod):
            return tuple(node_shortages(self._pod, node.node, node.idle) or ())
        return refusals(self._pod, node.node, names_taints=self._names_taints)


_Entry = tuple[int, int, int, int, "NodeState"]


class Rankings:
    """The rankings of a session. Rankings of the whole cluster are cached, because many jobs have equal requests."""

    def __init__(self, cluster: ClusterState) -> None:
        self._cluster = cluster
        self._cached: dict[tuple[Request, PodRules], Ranking] = {}
        self._reasons: dict[tuple[Request, PodRules], Reasons] = {}

    def best_node(self, pod: Pod, nodes: Sequence[NodeState], scores: Scores | None) -> NodeState | None:
        """Return the best node for a pod that is not plain. Return None if no node accepts it."""
        refusal = self._cluster.neighbours.node_check(pod)
        taking = [
            node
            for node in scored_nodes(nodes, scores)
            if node.fits(pod) and not refusals(pod, node.node) and not refusal(node.node)
        ]
        return min(taking, key=_Order(pod, scored_nodes(nodes, scores), scores).key, default=None)

    def is_plain(self, pod: Pod) -> bool:
        """Return True if neither other pods nor shared GPUs affect the choice of a node."""
        if pod.share is not None or self._cluster.neighbours.affect(pod):
            return False
        return not self._cluster.shares_gpus or any(name == GPU for name, _ in pod.request)

    def reasons(self, pod: Pod) -> Reasons:
        """Return the reasons why nodes refuse a plain pod."""
        key = (pod.request, pod.rules)
        reasons = self._reasons.pop(key, None) or Reasons(pod, names_taints=self._cluster.names_taints)
        self._reasons[key] = reasons
        if len(self._reasons) > _CACHE_SIZE:
            self._reasons.pop(next(iter(self._reasons)))
        return reasons

    def ranking(self, pod: Pod, nodes: Sequence[NodeState], scores: Scores | None) -> Ranking:
        """Return the ranking of `nodes` for a plain pod."""
        asked = dict(pod.request)
        reasons = self.reasons(pod)
        if nodes is not self._cluster.nodes or scores is not None or not (asked.get(GPU) or asked.get(CPU)):
            return Ranking(pod, nodes, scores, reasons)
        key = (pod.request, pod.rules)
        ranking = self._cached.get(key)
        if ranking is None:
            if len(self._cached) >= _CACHE_SIZE:
                self._cached.pop(next(iter(self._cached)))
            ranking = self._cached[key] = Ranking(pod, nodes, None, reasons, is_cached=True)
        else:
            ranking.update(self._cluster.changed_since(ranking.seen))
        ranking.seen = self._cluster.changes
        return ranking


_CACHE_SIZE = 16


def scored_nodes(nodes: Sequence[NodeState], scores: Scores | None) -> Sequence[NodeState]:
    """Return the nodes that KAI considers. If nodes have scores, KAI ignores the nodes without one."""
    return nodes if scores is None else [node for node in nodes if scores.score(node) is not None]


def nodes_before(pod: Pod, nodes: Sequence[NodeState], scores: Scores | None, taker: NodeState) -> Iterator[NodeState]:
    """Yield the nodes that KAI tried for the pod before the node `taker`, which accepted it."""
    scored = scored_nodes(nodes, scores)
    key = _Order(pod, scored, scores).key
    last = key(taker)
    return (node for node in scored if key(node) < last)


class _Order:
    """KAI's order of nodes for one pod: by the free amount of its `main` resource. `most` is the largest amount."""

    def __init__(self, pod: Pod, nodes: Sequence[NodeState], scores: Scores | None) -> None:
        self._pod = pod
        self._scores = scores
        self.main = GPU if is_gpu_pod(pod) else CPU
        idle = [node.idle.get(self.main, 0) for node in nodes if node.node.allocatable.get(self.main, 0)]
        self.most = max(idle, default=0)
        # A node without the resource scores like the node with the most of it, or worse if all others are equal.
        self._bare = self.most + (bool(idle) and min(idle) == self.most > 0)

    def key(self, node: NodeState) -> tuple[int, int, int, int, int, int]:
        """Return the sort key of a node: KAI's scores, the most important score first."""
        score, is_bare, left, rank = self.plain_key(node)
        shares = bool(node.shared) and joins_shared_gpu(self._pod, node.node, node.shared)
        return score, -shares, -node.fits(self._pod), is_bare, left, rank

    def plain_key(self, node: NodeState) -> tuple[int, int, int, int]:
        """Return the sort key of a node among nodes that have room for the pod and no shared GPUs."""
        has = node.node.allocatable.get
        score = 0 if self._scores is None else self._scores.score(node) or 0
        is_cpu_node = self.main == CPU and not has(GPU, 0)
        left = self._bare
        if has(self.main, 0):
            left = node.idle.get(self.main, 0) if self.most > 0 else 0
        return -score, -is_cpu_node, left, node.rank


class Ranking:
    """The nodes of a set that have room for pods with the same request and rules, best first."""

    def __init__(
        self,
        pod: Pod,
        nodes: Sequence[NodeState],
        scores: Scores | None,
        reasons: Reasons,
        *,
        is_cached: bool = False,
    ) -> None:
        self._pod = pod
        self._reasons = reasons
        self.nodes = scored_nodes(nodes, scores)
        accepting = reasons.accepting(self.nodes)
        # On a full cluster, most sets accept no pod. Such a set needs no order, unless nodes are added later.
        self._order = _Order(pod, self.nodes if accepting or is_cached else (), scores)
        self._heap = [self._entry(node) for node in accepting]
        heapify(self._heap)
        self.seen = 0

    def _entry(self, node: NodeState) -> _Entry:
        return (*self._order.plain_key(node), node)

    def applies_to(self, pod: Pod) -> bool:
        """Return True if the ranking also applies to the pod, because it has the same request and rules."""
        return pod.request == self._pod.request and pod.rules == self._pod.rules

    def update(self, changed: Sequence[NodeState]) -> None:
        """Update the ranking after changes of the free amounts of these nodes."""
        nodes = dict.fromkeys(changed)
        for node in nodes:
            self._order.most = max(self._order.most, node.idle.get(self._order.main, 0))
        for node in self._reasons.accepting(nodes):
            heappush(self._heap, self._entry(node))

    def best_node(self) -> NodeState | None:
        """Return the best node with room, or None."""
        while self._heap:
            entry = self._heap[0]
            node = entry[-1]
            if node.fits(self._pod) and node.idle.get(self._order.main, 0) <= entry[2]:
                return node
            # The node is full, or has more free than this entry says. In the second case, a later entry lists it.
            heappop(self._heap)
        return None
