"""A session of the scheduler: jobs in their order, each tried once, and again for each pod beyond its minimum.

Source: spec/placement.md#2 and #3.
"""

from __future__ import annotations

from heapq import heappop, heappush

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.schedulers.kai.allocate.fit_errors import summary
from packwise.schedulers.kai.allocate.greedy import Attempt
from packwise.schedulers.kai.allocate.job_tree import JobTree
from packwise.schedulers.kai.allocate.queues import Queues, asked_of
from packwise.schedulers.kai.allocate.ranking import Rankings
from packwise.schedulers.kai.allocate.scene import CPU, GPU, MEMORY
from packwise.schedulers.kai.allocate.state import ClusterState

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Mapping, Sequence

    from packwise.schedulers.kai.allocate.fit_errors import FitError
    from packwise.schedulers.kai.allocate.levels import Silent
    from packwise.schedulers.kai.allocate.scene import Pod, Scene

__all__ = ["FITS", "JobAnswer", "SessionAnswer", "allocate"]

FITS = ("allocated", "partial")
"""The states of a job that runs."""


class JobAnswer(NamedTuple):
    """What becomes of a job. `nodes` is that of each pod by name, "" where there is none.

    `state`: `allocated`, `partial` (the minimum runs, further pods do not), `pending` (nothing new runs) or `notready`
    (KAI does not try it: there are too few pods). `silent` are mistakes that KAI only logs. `before` is how many pods
    had been placed when it was tried last.
    """

    name: str
    state: str
    nodes: Mapping[str, str]
    errors: tuple[FitError, ...] = ()
    silent: tuple[Silent, ...] = ()
    before: int = 0

    @property
    def message(self) -> str:
        """The message that the PodGroup's status gets."""
        return summary(self.errors)


class SessionAnswer(NamedTuple):
    """The answers for the jobs in the order of creation.

    `attempts` are the names of jobs in the order of turns, `placed` the pods with their nodes in the order of placing.
    """

    jobs: tuple[JobAnswer, ...]
    attempts: tuple[str, ...]
    placed: tuple[tuple[Pod, str], ...] = ()


def allocate(scene: Scene) -> SessionAnswer:
    """Where KAI puts the pods of all jobs."""
    return _Session(scene).run()


class _Session:
    def __init__(self, scene: Scene) -> None:
        self._cluster = ClusterState(scene)
        self._rankings = Rankings(self._cluster)
        self._trees = [JobTree(job, index) for index, job in enumerate(scene.jobs)]
        self._queues = Queues(scene)
        self._nodes: list[dict[str, str]] = [{pod.name: pod.node for pod in job.pods} for job in scene.jobs]
        self._errors: list[list[FitError]] = [[] for _ in scene.jobs]
        self._silent: list[list[Silent]] = [[] for _ in scene.jobs]
        self._rejections: list[dict[str, Counter[str]]] = [{} for _ in scene.jobs]
        self._before = [0] * len(scene.jobs)
        for tree in self._trees:
            self._queues.count(tree.job, [(pod, pod.node) for pod in tree.job.pods if pod.node])
            missing = self._queues.missing(tree.job.queue)
            if missing is not None:
                self._errors[tree.index].append(missing)

    def run(self) -> SessionAnswer:
        """Gives the jobs their turns until none is left."""
        attempts: list[str] = []
        tried = [
            tree for tree in self._trees if tree.waits and tree.root.is_ready and self._queues.is_tried(tree.job.queue)
        ]
        turns = _Turns(tried, self._queues.used, self._cluster.total())
        while (tree := turns.next()) is not None:
            attempts.append(tree.job.name)
            if self._try(tree) and tree.waits:
                turns.add(tree)
        placed = tuple([(pod, node.name) for pod, node in self._cluster.placed])
        return SessionAnswer(tuple([self._answer(tree) for tree in self._trees]), tuple(attempts), placed)

    def _try(self, tree: JobTree) -> bool:
        pods = tree.root.due()
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
        if not tree.waits and not tree.is_gated:
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
    """The jobs that wait, by queue.

    The queue is next whose largest share of the cluster's GPUs, CPU or memory is the smallest with its next job. KAI
    divides by what is fair for a queue; that is the same for all queues of equal weight and no quota.
    """

    def __init__(
        self, trees: Sequence[JobTree], used: Mapping[str, Mapping[str, float]], total: Mapping[str, int]
    ) -> None:
        self._used = used
        self._total = total
        self._order = {name: index for index, name in enumerate(used)}
        self._waiting: dict[str, list[tuple[int, int, int, JobTree]]] = {}
        for tree in trees:
            self.add(tree)

    def add(self, tree: JobTree) -> None:
        """Lets the job wait for a turn."""
        heappush(self._waiting.setdefault(tree.job.queue, []), (-tree.job.priority, tree.standing, tree.index, tree))

    def next(self) -> JobTree | None:
        """The job whose turn it is; None where none waits."""
        queues = [queue for queue, trees in self._waiting.items() if trees]
        if not queues:
            return None
        return heappop(self._waiting[min(queues, key=self._rank) if len(queues) > 1 else queues[0]])[-1]

    def _rank(self, queue: str) -> tuple[float, float, int, str]:
        used = self._used.get(queue, {})
        asked = asked_of(self._waiting[queue][0][-1].root.due(), 0)
        wanted = {name: used.get(name, 0) + amount for name, amount in asked.items()}
        order = self._order.get(queue, len(self._order))
        return self._share(wanted), self._share(used), order, queue

    def _share(self, amounts: Mapping[str, float]) -> float:
        shares = [amounts.get(name, 0) / self._total[name] for name in (GPU, CPU, MEMORY) if self._total.get(name)]
        return max(shares, default=0.0)
