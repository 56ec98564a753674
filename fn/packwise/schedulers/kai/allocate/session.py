"""KAI's `allocate` action, computed offline: the placement of each gang, or KAI's refusal.

One session runs over a scene. Queues limit jobs, and a job is a tree of subgroups. Each attempt places the pods that
the job needs next.
Source: spec/placement.md; KAI Scheduler v0.17.0 with its default plugins.

Not covered: DRA, NUMA, pods that are being deleted, and the actions that evict pods (reclaim, preempt, consolidation).
"""

from __future__ import annotations

from collections import Counter
from heapq import heappop, heappush
from itertools import islice

from krmfn.hints import TYPE_CHECKING, Record
from packwise.schedulers.kai.allocate.candidates import (
    PodDemand,
    Rankings,
    candidates,
    nodes_before,
    refusals,
    scored_nodes,
)
from packwise.schedulers.kai.allocate.fit_errors import (
    JOINT,
    PartErrors,
    missing_queue,
    nearest_shortage,
    node_shortages,
    over_limit,
    over_quota,
    summary,
    unmet_conditions,
    unschedulable_error,
)
from packwise.schedulers.kai.allocate.scene import (
    CPU,
    DEFAULT_POD_SET,
    GPU,
    MEMORY,
    QueueShare,
    has_pools,
    scene_in_pool,
)
from packwise.schedulers.kai.allocate.state import ClusterState, gpus_of, gpus_taken

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from packwise.schedulers.kai.allocate.candidates import Ranking, Scores
    from packwise.schedulers.kai.allocate.fit_errors import FitError, Shortage
    from packwise.schedulers.kai.allocate.scene import Job, LevelConstraint, Node, Pod, Scene, Share, SubGroupInfo
    from packwise.schedulers.kai.allocate.state import NodeState, SilentMistake

# The queues of a session: the resources that the pods of each queue use, and the limits that a job would exceed. The
# use of a queue also counts for all queues above it. Source: spec/placement.md#9; KAI Scheduler, proportion plugin.

MAX_QUEUE_DEPTH = 100
"""The largest depth of the tree of queues. Deeper queues do not count."""

_CHECKED = (CPU, MEMORY, GPU)
"""The resources that a queue limits, in KAI's order."""


class Queues:
    """The queues of a scene. `used` maps each queue to the resources of its pods, and of pods in queues below it."""

    def __init__(self, scene: Scene) -> None:
        self._given = {queue.name: queue for queue in scene.queues}
        self._by_name = existing_queues(scene.queues)
        self._has_all = scene.has_all_queues
        self._absent = scene.absent_queues
        self._has_departments = scene.has_departments
        self._below: dict[str, list[str]] = {}
        for queue in self._by_name.values():
            self._below.setdefault(queue.parent, []).append(queue.name)
        self._nodes = {node.name: node for node in scene.nodes}
        self._memory = max((node.gpu_memory for node in scene.nodes if node.has_gpu_memory), default=0)
        self.used: dict[str, dict[str, float]] = {name: {} for name in self._by_name}
        self._non_preemptible: dict[str, dict[str, float]] = {name: {} for name in self._by_name}
        for queue in self._by_name.values():
            for above in lineage(queue.name, self._by_name):
                add_use(self.used[above.name], queue.used)
                add_use(self._non_preemptible[above.name], queue.non_preemptible)

    def missing_queue_error(self, name: str) -> FitError | None:
        """Return the error of a job with a queue that does not exist, or None."""
        is_gone = name not in self._by_name and (self._has_all or self._is_own_ancestor(name))
        is_missing = name in self._absent or is_gone
        return missing_queue(name) if is_missing else None

    def is_tried(self, name: str) -> bool:
        """Return True if KAI tries the jobs of the queue: the queue exists, and KAI does not skip it."""
        return self.missing_queue_error(name) is None and not self.is_skipped(name)

    def is_skipped(self, name: str) -> bool:
        """Return True if KAI silently skips jobs of the queue, because it has children or, before v0.13, no parent."""
        # Source: spec/placement.md#9.2.
        if self._has_departments:
            queue = self._by_name.get(name)
            return queue is not None and not queue.parent
        return name in self._below

    def child_queues(self, name: str) -> Sequence[str]:
        """Return the names of the queues directly below the queue `name`."""
        return self._below.get(name, ())

    def reason_missing(self, name: str) -> str:
        """Return the reason why KAI does not know the queue `name`."""
        if name not in self._given:
            return f'the queue "{name}" does not exist'
        above = ""
        for queue in islice(lineage(name, self._given), MAX_QUEUE_DEPTH):
            above = queue.parent
        if above not in self._given:
            return f'KAI ignores the queue "{name}": its ancestor "{above}" does not exist'
        return f'KAI ignores the queue "{name}": it is its own ancestor, or has {MAX_QUEUE_DEPTH} ancestors'

    def _is_own_ancestor(self, name: str) -> bool:
        """Return True if the queue or a queue above it is its own ancestor.

        The result is certain even if the scene lacks other queues.
        """
        line = list(islice(lineage(name, self._given), MAX_QUEUE_DEPTH))
        return bool(line) and line[-1].parent in {queue.name for queue in line}

    def refusal(self, job: Job, pods: Sequence[Pod]) -> FitError | None:
        """Return the error if the pods exceed a limit of the job's queue or of a queue above it, or None.

        For a non-preemptible job, the quotas of these queues are limits too.
        """
        asked = requests_of(pods, self._memory)
        queues = list(lineage(job.queue, self._by_name))
        for queue in queues:
            for name in _CHECKED:
                limit, used = _share(queue, name).limit, self.used[queue.name].get(name, 0)
                if asked[name] and limit is not None and used + asked[name] > limit:
                    return over_limit(queue.title or queue.name, name, limit, used, asked[name])
        for queue in queues if job.is_non_preemptible else ():
            for name in _CHECKED:
                quota, allocated = _share(queue, name).quota, self._non_preemptible[queue.name].get(name, 0)
                if asked[name] and quota is not None and allocated + asked[name] > quota:
                    return over_quota(queue.title or queue.name, name, quota, allocated, asked[name])
        return None

    def count(self, job: Job, placed: Iterable[tuple[Pod, str]]) -> None:
        """Add the pods `placed`, each with its node, to the use of the job's queue and of the queues above it."""
        asked = usage_of([(pod, self._nodes[node]) for pod, node in placed if node in self._nodes])
        names = [queue.name for queue in lineage(job.queue, self._by_name)] or [job.queue]
        for name in names:
            add_use(self.used.setdefault(name, {}), asked)
            if job.is_non_preemptible:
                add_use(self._non_preemptible.setdefault(name, {}), asked)


def lineage(name: str, queues: Mapping[str, QueueShare]) -> Iterator[QueueShare]:
    """Yield the queue `name` and the queues above it, or nothing if the queue is unknown."""
    seen: set[str] = set()
    queue = queues.get(name)
    while queue is not None and queue.name not in seen:
        seen.add(queue.name)
        yield queue
        queue = queues.get(queue.parent)


def is_bounded(name: str, queues: Mapping[str, QueueShare]) -> bool:
    """Return True if the queue `name` or a queue above it has a limit or a quota."""
    shares = [share for queue in lineage(name, queues) for share in (queue.gpu, queue.cpu, queue.memory)]
    return any(share.limit is not None or share.quota is not None for share in shares)


def existing_queues(queues: Iterable[QueueShare]) -> dict[str, QueueShare]:
    """Return the queues that KAI knows, by name.

    KAI ignores queues with a missing ancestor, queues in a cycle, and queues with too many ancestors.
    """
    below: dict[str, list[QueueShare]] = {}
    known = {queue.name: queue for queue in queues}
    for queue in known.values():
        below.setdefault(queue.parent, []).append(queue)
    reached: set[str] = set()
    level = below.get("", [])
    for _ in range(MAX_QUEUE_DEPTH):
        reached.update([queue.name for queue in level])
        level = [each for queue in level for each in below.get(queue.name, ()) if queue.name]
    return {name: queue for name, queue in known.items() if name in reached}


def requests_of(pods: Iterable[Pod], gpu_memory: int) -> dict[str, float]:
    """Return the pods' requests of the resources that queues limit. `gpu_memory` is the memory of the largest GPU."""
    return _total((pod, gpus_of(pod, gpu_memory)) for pod in pods)


def usage_of(placed: Iterable[tuple[Pod, Node]]) -> dict[str, float]:
    """Return the amounts that pods use on their nodes, for the resources that queues limit."""
    return _total((pod, gpus_taken(pod, node)) for pod, node in placed)


def _total(pods: Iterable[tuple[Pod, float]]) -> dict[str, float]:
    """Return the sum of the pods' requests. Each pod comes with the number of GPUs that it counts for."""
    total: dict[str, float] = dict.fromkeys(_CHECKED, 0)
    for pod, gpus in pods:
        for name, amount in pod.request:
            if name in (CPU, MEMORY):
                total[name] += amount
        total[GPU] += gpus
    return total


def _share(queue: QueueShare, name: str) -> Share:
    return queue.gpu if name == GPU else queue.cpu if name == CPU else queue.memory


def add_use(total: dict[str, float], amounts: Mapping[str, float]) -> None:
    """Add the amounts to the total, by resource."""
    for name, amount in amounts.items():
        total[name] = total.get(name, 0) + amount


class PodPart:
    """A leaf of a job's tree. `placed` lists the nodes of its placed pods. `waiting` lists its other pods by name.

    Pods with a scheduling gate are in neither list, and `gated` is their number.
    """

    def __init__(self, name: str, minimum: int, constraint: LevelConstraint | None, pods: list[Pod]) -> None:
        self.name = name
        self.minimum = minimum
        self.constraint = constraint
        self.placed: list[str] = [pod.node for pod in pods if pod.node]
        # KAI sorts by UID. Only the cluster knows UIDs, so this sorts by name. Source: spec/placement.md#3.1, #8.2.
        self.waiting = sorted((pod for pod in pods if not pod.node and not pod.is_gated), key=lambda pod: pod.name)
        self.size = len(self.placed) + len(self.waiting)
        self.gated = len(pods) - self.size

    @property
    def is_satisfied(self) -> bool:
        """Return True if at least the minimum of pods runs."""
        return len(self.placed) >= self.minimum

    @property
    def is_beyond(self) -> bool:
        """Return True if more pods run than the minimum."""
        return len(self.placed) > self.minimum

    @property
    def is_ready(self) -> bool:
        """Return True if enough pods for the minimum exist."""
        return self.size >= self.minimum

    @property
    def ratio(self) -> float:
        """Return the number of running pods divided by the minimum."""
        return len(self.placed) / self.minimum if self.minimum else float("inf")

    def next_pods(self) -> list[Pod]:
        """Return the pods to place next: all that the minimum lacks, or one more pod if the minimum runs."""
        return self.waiting[: max(1, self.minimum - len(self.placed))]

    def leaves(self) -> Iterator[PodPart]:
        """Yield the part itself."""
        yield self


class SetPart:
    """An inner subgroup of a job's tree. At least `minimum` of its children must run."""

    def __init__(self, name: str, minimum: int | None, constraint: LevelConstraint | None) -> None:
        self.name = name
        self._minimum = minimum
        self.constraint = constraint
        self.children: list[Part] = []

    @property
    def minimum(self) -> int:
        """Return the number of children that must run."""
        return len(self.children) if self._minimum is None else self._minimum

    @property
    def _satisfied_children(self) -> int:
        return sum(child.is_satisfied for child in self.children)

    @property
    def is_satisfied(self) -> bool:
        """Return True if at least the minimum of children runs."""
        return self._satisfied_children >= self.minimum

    @property
    def is_ready(self) -> bool:
        """Return True if enough children for the minimum have the pods that they need."""
        return sum(child.is_ready for child in self.children) >= self.minimum

    @property
    def ratio(self) -> float:
        """Return the number of running children divided by the minimum."""
        return self._satisfied_children / self.minimum if self.minimum else float("inf")

    def order_children(self) -> list[Part]:
        """Return the children in KAI's order.

        Children below their minimum come first, ordered by name. The other children are ordered by their ratio.
        """
        return sorted(
            self.children,
            key=lambda child: (child.is_satisfied, child.ratio if child.is_satisfied else 0.0, child.name),
        )

    def next_pods(self) -> list[Pod]:
        """Return the pods to place next.

        Take pods from as many children as the minimum lacks, or from one child if the minimum runs. Skip children
        without waiting pods, and children with too few pods.
        """
        lacking = self.minimum - self._satisfied_children
        due: list[Pod] = []
        taken = 0
        for child in self.order_children():
            pods = child.next_pods()
            if not pods or not child.is_ready:
                continue
            due += pods
            taken += 1
            if taken >= lacking:
                break
        return due

    def leaves(self) -> Iterator[PodPart]:
        """Yield all leaves below the subgroup."""
        for child in self.children:
            yield from child.leaves()


Part = SetPart | PodPart
"""A node of a job's tree."""


class JobTree:
    """A job and the tree of its subgroups. `index` is the position of the job in the order of creation."""

    def __init__(self, job: Job, index: int) -> None:
        self.job = job
        self.index = index
        # KAI ignores a level without a topology. If there are subgroups, it also ignores the PodGroup's own minimum.
        # Source: spec/placement.md#1.1.
        constraint = job.constraint if job.constraint is not None and job.constraint.topology else None
        self.root = SetPart("", job.min_sub_groups, constraint)
        if job.sub_groups:
            self._grow(job.sub_groups)
        else:
            self.root.children.append(PodPart(DEFAULT_POD_SET, max(job.min_members, 1), None, list(job.pods)))
        self.leaves = {leaf.name: leaf for leaf in self.root.leaves()}

    def _grow(self, sub_groups: tuple[SubGroupInfo, ...]) -> None:
        parents = {group.parent for group in sub_groups if group.parent}
        pods: dict[str, list[Pod]] = {}
        for pod in self.job.pods:
            pods.setdefault(pod.sub_group, []).append(pod)
        sets = {
            group.name: SetPart(group.name, group.min_sub_groups, group.constraint)
            for group in sub_groups
            if group.name in parents
        }
        for group in sub_groups:
            part: Part = sets.get(group.name) or PodPart(
                group.name, group.min_members or 0, group.constraint, pods.get(group.name, [])
            )
            (sets[group.parent] if group.parent else self.root).children.append(part)

    @property
    def has_waiting_pods(self) -> bool:
        """Return True if pods wait for a node."""
        return any(leaf.waiting for leaf in self.leaves.values())

    @property
    def is_gated(self) -> bool:
        """Return True if pods have a scheduling gate."""
        return any(leaf.gated for leaf in self.leaves.values())

    @property
    def is_gang(self) -> bool:
        """Return True if a leaf needs more than one pod."""
        return any(leaf.minimum > 1 for leaf in self.leaves.values())

    @property
    def minimum_rank(self) -> int:
        """Return 0 if a leaf is below its minimum, 2 if none is below and one is above it, and 1 otherwise.

        KAI tries jobs with a lower value first.
        """
        leaves = self.leaves.values()
        if not all(leaf.is_satisfied for leaf in leaves):
            return 0
        return 2 if any(leaf.is_beyond for leaf in leaves) else 1


_NO_ROOM = "no nodes with enough resources were found"
_NO_REASON = "Unable to schedule pod"


class Attempt:
    """One attempt to place pods of a job. `errors` are KAI's errors, and `silent` the mistakes that KAI only logs.

    `rejections` counts the nodes that refuse each pod, by reason. KAI adds up the counts of all attempts of a job.
    """

    def __init__(
        self,
        cluster: ClusterState,
        rankings: Rankings,
        tree: JobTree,
        rejections: dict[str, Counter[str]],
    ) -> None:
        self._cluster = cluster
        self._rankings = rankings
        self._tree = tree
        self._job = tree.job
        self._rejections = rejections
        self._scores: dict[str, Scores] = {}
        self._visits: list[tuple[Sequence[NodeState], Scores | None]] = []
        self.errors: list[FitError | PartErrors] = []
        self.silent: list[SilentMistake] = []

    def place(self, pods: Sequence[Pod]) -> bool:
        """Place the pods and return True, or return False and leave the cluster unchanged if a pod finds no node."""
        return self._place(self._tree.root, pods, self._cluster.nodes, (), is_tried_again=False)

    def _place(
        self,
        part: Part,
        pods: Sequence[Pod],
        nodes: Sequence[NodeState],
        above: tuple[str, ...],
        *,
        is_tried_again: bool,
    ) -> bool:
        """Place the `pods` of the part on the first of its sets of nodes that holds them. Return False if none does.

        `above` are the names of the subgroups above the part, nearest first. `is_tried_again` is true if another set of
        nodes is left to try.
        """
        own = {leaf.name: leaf for leaf in part.leaves()}
        due = [pod for pod in pods if self._leaf_name(pod) in own]
        wanted = {self._leaf_name(pod) for pod in due}
        # Running pods of other leaves do not bind the new pods to their domain, even if a common parent has the
        # required level. This is a bug of KAI since v0.16.8. Source: spec/placement.md#4g.
        running = [node for name in wanted for node in own[name].placed]
        answer = candidates(self._cluster, PodDemand(self._job, part.name, part.constraint, due, running), nodes)
        self.errors += answer.errors
        if answer.silent_mistake is not None and answer.silent_mistake not in self.silent:
            self.silent.append(answer.silent_mistake)
        if answer.scores is not None:
            self._scores[part.name] = answer.scores
        lineage = (part.name, *above)
        for among, is_last in _mark_last(answer.sets):
            mark = len(self._cluster.placed)
            is_repeated = is_tried_again or not is_last
            if self._place_among(part, due, among, lineage, is_tried_again=is_repeated):
                return True
            self._roll_back(mark, is_counted=is_repeated)
        return False

    def _place_among(
        self,
        part: Part,
        pods: Sequence[Pod],
        nodes: Sequence[NodeState],
        lineage: tuple[str, ...],
        *,
        is_tried_again: bool,
    ) -> bool:
        if isinstance(part, SetPart):
            return all(
                self._place(child, pods, nodes, lineage, is_tried_again=is_tried_again)
                for child in part.order_children()
            )
        scores = next((self._scores[name] for name in lineage if name in self._scores), None)
        ranking: Ranking | None = None
        for index, pod in enumerate(pods):
            text = unmet_conditions(self._job, pod, self._cluster.largest)
            if text is None:
                if not self._rankings.is_plain(pod):
                    node = self._rankings.best_node(pod, nodes, scores)
                else:
                    if ranking is None or not ranking.applies_to(pod):
                        ranking = self._rankings.ranking(pod, nodes, scores)
                    node = ranking.best_node()
                if node is not None:
                    self._cluster.place(pod, node)
                    self._visits.append((nodes, scores))
                    continue
                text = self._refusal_text(pod, scored_nodes(nodes, scores))
            self.errors.append(self._pod_error(part, pod, index, text))
            return False
        return True

    def _roll_back(self, mark: int, *, is_counted: bool) -> None:
        """Remove all placed pods except the first `mark`.

        With `is_counted`, count the nodes that rejected each pod before its node accepted it, for KAI's messages.
        """
        while len(self._cluster.placed) > mark:
            pod, node = self._cluster.placed[-1]
            nodes, scores = self._visits.pop()
            self._cluster.remove_last_pod()
            if is_counted:
                self._reject(pod, nodes_before(pod, nodes, scores, node))

    def _leaf_name(self, pod: Pod) -> str:
        return pod.sub_group if self._job.sub_groups else next(iter(self._tree.leaves))

    def _refusal_text(self, pod: Pod, nodes: Iterable[NodeState]) -> str:
        """Return KAI's text about a pod that none of the nodes accepts."""
        self._reject(pod, nodes)
        counted = self._rejections.get(pod.name)
        if counted is None:
            return _NO_REASON
        lines = sorted(f"{count} {reason}" for reason, count in counted.items())
        return _NO_ROOM + (f": {JOINT.join(lines)}." if lines else "")

    def _reject(self, pod: Pod, nodes: Iterable[NodeState]) -> None:
        """Count the reasons why the nodes refuse the pod now."""
        if self._rankings.is_plain(pod):
            nodes = list(nodes)
            if nodes:
                self._rejections.setdefault(pod.name, Counter()).update(self._rankings.reasons(pod).count(nodes))
            return
        refusal = self._cluster.neighbours.node_check(pod)
        for node in nodes:
            reasons = node_shortages(pod, node.node, node.idle) if not node.fits(pod) else None
            if reasons is None and node.fits(pod):
                reasons = refusals(pod, node.node, names_taints=self._cluster.names_taints)
                reasons = reasons or tuple(filter(None, (refusal(node.node),)))
            if reasons is not None:
                self._rejections.setdefault(pod.name, Counter()).update(reasons)

    def _pod_error(self, part: PodPart, pod: Pod, index: int, text: str) -> FitError:
        if not self._tree.is_gang or part.is_satisfied:
            return unschedulable_error(
                f"Resources were not found for pod {self._job.namespace}/{pod.name} due to: {text}"
            )
        if not self._job.sub_groups:
            return unschedulable_error(
                f"Resources were found for {index} pods while {part.minimum} are required for gang scheduling. "
                f"Additional pods cannot be scheduled due to: {text}"
            )
        return unschedulable_error(
            f"Resources were found for {index} pods from all sub-groups while sub-group {part.name} requires "
            f"{part.minimum} pods for gang scheduling. "
            f"Additional pods cannot be scheduled in this sub-group due to: {text}"
        )


def _mark_last(sets: Iterable[Sequence[NodeState]]) -> Iterator[tuple[Sequence[NodeState], bool]]:
    """Yield each set with a flag, which is true for the last set."""
    remaining = iter(sets)
    following = next(remaining, None)
    while following is not None:
        current, following = following, next(remaining, None)
        yield current, following is None


FITS = ("allocated", "partial")
"""The states of a running job."""


class JobAnswer(Record):
    """The result for one job. `nodes` maps each pod to its node, or to "".

    `state` is `allocated`, `partial` (enough pods run, but not all), `pending` (too few pods run), or `notready` (too
    few pods exist). KAI does not try a job that is not ready.

    `refusals` are KAI's errors in their order. The errors of all domains of a level are one entry. `silent_mistakes`
    are mistakes that KAI only logs. `placed_before` is the number of pods that the session had placed before the last
    attempt at this job.
    """

    name: str
    state: str
    nodes: Mapping[str, str]
    refusals: tuple[FitError | PartErrors, ...] = ()
    silent_mistakes: tuple[SilentMistake, ...] = ()
    placed_before: int = 0

    @property
    def message(self) -> str:
        """Return the message in the status of the PodGroup."""
        return summary(self.refusals)

    @property
    def errors(self) -> list[FitError]:
        """Return all errors, one for each domain."""
        return [
            error
            for refusal in self.refusals
            for error in (refusal.errors() if isinstance(refusal, PartErrors) else (refusal,))
        ]

    @property
    def nearest_shortage(self) -> Shortage | None:
        """Return the shortage of the domain that comes nearest to holding the pods.

        Return None if all pods are placed, or if no error is about a domain.
        """
        short = [each.shortage for each in self.refusals if each.shortage is not None]
        return None if self.state == "allocated" else nearest_shortage(short)


class SessionAnswer(Record):
    """The answers for the jobs, in the order of creation.

    `attempts` are the names of the jobs in the order in which KAI tried them. `placements` are the placed pods with
    their nodes, in the order in which KAI placed them.
    """

    jobs: tuple[JobAnswer, ...]
    attempts: tuple[str, ...]
    placements: tuple[tuple[Pod, str], ...] = ()


def allocate(scene: Scene) -> SessionAnswer:
    """Return KAI's answers for all jobs of the scene. Each node pool has its own session."""
    if not has_pools(scene):
        return _Session(scene).run()
    answers: dict[int, JobAnswer] = {}
    attempts: list[str] = []
    placed: list[tuple[Pod, str]] = []
    for pool in dict.fromkeys([job.pool for job in scene.jobs]):
        session = _Session(scene_in_pool(scene, pool)).run()
        own = [index for index, job in enumerate(scene.jobs) if job.pool == pool]
        moved = [answer.replace(placed_before=answer.placed_before + len(placed)) for answer in session.jobs]
        answers |= dict(zip(own, moved, strict=True))
        attempts += session.attempts
        placed += session.placements
    return SessionAnswer(tuple(answers[index] for index in range(len(scene.jobs))), tuple(attempts), tuple(placed))


class _Session:
    def __init__(self, scene: Scene) -> None:
        self._cluster = ClusterState(scene)
        self._rankings = Rankings(self._cluster)
        self._trees = [JobTree(job, index) for index, job in enumerate(scene.jobs)]
        self._queues = Queues(scene)
        self._nodes: list[dict[str, str]] = [{pod.name: pod.node for pod in job.pods} for job in scene.jobs]
        self._errors: list[list[FitError | PartErrors]] = [[] for _ in scene.jobs]
        self._silent: list[list[SilentMistake]] = [[] for _ in scene.jobs]
        self._rejections: list[dict[str, Counter[str]]] = [{} for _ in scene.jobs]
        self._before = [0] * len(scene.jobs)
        for tree in self._trees:
            self._queues.count(tree.job, [(pod, pod.node) for pod in tree.job.pods if pod.node])
            missing = self._queues.missing_queue_error(tree.job.queue)
            # Before v0.13, KAI ignores the job without an error.
            if missing is not None and not scene.has_departments:
                self._errors[tree.index].append(missing)

    def run(self) -> SessionAnswer:
        """Try the jobs in the order of their queues, and return the answers."""
        attempts: list[str] = []
        tried = [
            tree
            for tree in self._trees
            if tree.has_waiting_pods and tree.root.is_ready and self._queues.is_tried(tree.job.queue)
        ]
        turns = _Turns(tried, self._queues.used, self._cluster.total())
        while (tree := turns.next_job()) is not None:
            attempts.append(tree.job.name)
            # A placed job competes again for one more pod. A failed job is not tried again.
            # Source: spec/placement.md#2.
            if self._try(tree) and tree.has_waiting_pods:
                turns.add(tree)
        placed = tuple((pod, node.name) for pod, node in self._cluster.placed)
        return SessionAnswer(tuple(self._answer(tree) for tree in self._trees), tuple(attempts), placed)

    def _try(self, tree: JobTree) -> bool:
        pods = tree.root.next_pods()
        self._before[tree.index] = len(self._cluster.placed)
        refused = self._queues.refusal(tree.job, pods)
        if refused is not None:
            self._errors[tree.index].append(refused)
            return False
        attempt = Attempt(self._cluster, self._rankings, tree, self._rejections[tree.index])
        mark = len(self._cluster.placed)
        placed = attempt.place(pods)
        self._errors[tree.index] += attempt.errors
        self._silent[tree.index] += attempt.silent
        if placed:
            self._keep(tree, mark)
            self._queues.count(tree.job, [(pod, node.name) for pod, node in self._cluster.placed[mark:]])
        return placed

    def _keep(self, tree: JobTree, mark: int) -> None:
        for pod, node in self._cluster.placed[mark:]:
            leaf = tree.leaves[pod.sub_group] if tree.job.sub_groups else next(iter(tree.leaves.values()))
            leaf.waiting.remove(pod)
            leaf.placed.append(node.name)
            self._nodes[tree.index][pod.name] = node.name

    def _answer(self, tree: JobTree) -> JobAnswer:
        index = tree.index
        if not tree.has_waiting_pods and not tree.is_gated:
            state = "allocated"
        elif not tree.root.is_ready:
            state = "notready"
        else:
            state = "partial" if tree.root.is_satisfied else "pending"
        return JobAnswer(
            tree.job.name,
            state,
            self._nodes[index],
            tuple(self._errors[index]),
            tuple(self._silent[index]),
            self._before[index],
        )


class _Turns:
    """The waiting jobs of each queue.

    The next queue has the smallest dominant share after its next job. The dominant share is the largest of the queue's
    shares of GPUs, CPU and memory. KAI divides it by the fair share of the queue. Queues with equal weight and without
    a quota have equal fair shares.
    """

    def __init__(
        self, trees: Sequence[JobTree], used: Mapping[str, Mapping[str, float]], total: Mapping[str, int]
    ) -> None:
        self._used = used
        self._total = total
        self._order = {name: index for index, name in enumerate(used)}
        self._waiting: dict[str, list[tuple[int, int, int, JobTree]]] = {}
        self._ranks: list[tuple[tuple[float, float, int, str], int]] = []
        # The turn at which the rank of a queue was last computed. Earlier ranks no longer count.
        self._ranked_at: dict[str, int] = {}
        self._turn = 0
        self._changed: set[str] = set()
        for tree in trees:
            self.add(tree)

    def add(self, tree: JobTree) -> None:
        """Add the job to the waiting jobs of its queue."""
        heappush(
            self._waiting.setdefault(tree.job.queue, []), (-tree.job.priority, tree.minimum_rank, tree.index, tree)
        )
        self._changed.add(tree.job.queue)

    def next_job(self) -> JobTree | None:
        """Return the next job. Return None if no job waits."""
        if not self._waiting:
            return None
        queue = self._next_queue() if len(self._waiting) > 1 else next(iter(self._waiting))
        trees = self._waiting[queue]
        tree = heappop(trees)[-1]
        # Jobs wait in leaf queues, so a placed job changes only the rank of the job's own queue.
        self._changed.add(queue)
        if not trees:
            del self._waiting[queue]
        return tree

    def _next_queue(self) -> str:
        """Return the queue with the lowest rank. Only changed ranks are computed again."""
        self._turn += 1
        for queue in self._changed & self._waiting.keys():
            heappush(self._ranks, (self._rank(queue), self._turn))
            self._ranked_at[queue] = self._turn
        self._changed.clear()
        while True:
            (*_, queue), turn = heappop(self._ranks)
            if queue in self._waiting and self._ranked_at[queue] == turn:
                return queue

    def _rank(self, queue: str) -> tuple[float, float, int, str]:
        used = self._used.get(queue, {})
        asked = requests_of(self._waiting[queue][0][-1].root.next_pods(), 0)
        wanted = {name: used.get(name, 0) + amount for name, amount in asked.items()}
        order = self._order.get(queue, len(self._order))
        return self._share(wanted), self._share(used), order, queue

    def _share(self, amounts: Mapping[str, float]) -> float:
        shares = [amounts.get(name, 0) / self._total[name] for name in (GPU, CPU, MEMORY) if self._total.get(name)]
        return max(shares, default=0.0)
