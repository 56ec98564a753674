"""Kueue's scheduling cycles for the jobs of a scene: the admitted jobs, and the domains of their pods.

Each cycle takes the first waiting job of each ClusterQueue and computes its flavors and domains. It then admits the
jobs that fit together. Source: spec/kueue.md#9.7 to #9.11; Kueue, scheduler.go and podset_reducer.go.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING, Record
from packwise.schedulers.kueue.allocate.domains import DomainTree
from packwise.schedulers.kueue.allocate.quota import FlavorChoice, Mode, Quotas, group_sets, pod_set_text
from packwise.schedulers.kueue.allocate.scene import PlacedPods, with_pod
from packwise.schedulers.kueue.allocate.search import Question, find_domains
from packwise.schedulers.node_selection import selects_labels

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from packwise.schedulers.kueue.allocate.quota import Assignment
    from packwise.schedulers.kueue.allocate.scene import (
        ClusterQueue,
        FlavorResource,
        Job,
        Path,
        PodSet,
        Scene,
    )
    from packwise.schedulers.kueue.allocate.search import NearestDomain, SearchAnswer

_NAMESPACE_LABEL = "kubernetes.io/metadata.name"


class SetAnswer(Record):
    """The outcome of a pod set: its flavors by resource and its numbers of pods by leaf domain.

    `domains` is None if Kueue assigns no topology. Otherwise, `flavor` is the flavor with the `topology` of the
    domains. `admitted_count` is the number of pods that Kueue admits.
    """

    name: str
    flavors: Mapping[str, str] = {}
    flavor: str = ""
    topology: str = ""
    domains: tuple[tuple[Path, int], ...] | None = None
    admitted_count: int = 0


class Failure(Record):
    """A failed search for the domains of a pod set in the `topology` of a `flavor`.

    `pod_set` is the name in Kueue's message. `worker` is the position of the pod set, or of the workers in a group.
    `leader` is the position of the leader in a group, or None.
    """

    pod_set: str
    worker: int
    leader: int | None
    flavor: str
    topology: str
    search: SearchAnswer


class JobAnswer(Record):
    """The outcome of a job. If it waits, `message` is the text of the condition QuotaReserved.

    `turn` is its position in Kueue's order, from 1. `is_short_of_quota` is true if running Workloads hold the quota.
    `is_delayed` is true if admission checks decide after the quota.
    """

    is_admitted: bool
    sets: tuple[SetAnswer, ...] = ()
    message: str = ""
    failure: Failure | None = None
    is_short_of_quota: bool = False
    is_delayed: bool = False
    turn: int = 0

    @property
    def nearest_domain(self) -> NearestDomain | None:
        """Return the domain that comes nearest to holding the pods. Return None if the search did not fail."""
        return None if self.failure is None else self.failure.search.nearest


class Plan(Record):
    """The outcome of a job before its admission, with the use of quotas and domains if the job fits."""

    answer: JobAnswer
    queue: str = ""
    usage: Mapping[FlavorResource, int] = {}
    placed: tuple[tuple[str, PlacedPods], ...] = ()


class Session:
    """The cluster while Kueue admits jobs: the quotas and domains, and their use.

    With `is_empty`, the Workloads of the scene do not run.
    """

    def __init__(self, scene: Scene, *, is_empty: bool = False) -> None:
        self.scene = scene
        self._quotas = Quotas(scene)
        self._choice = FlavorChoice(scene, self._quotas)
        self._queues = {(queue.namespace, queue.name): queue for queue in scene.local_queues}
        self.trees = {
            flavor.name: DomainTree(
                scene.topologies[flavor.topology],
                [
                    node
                    for node in scene.nodes
                    if flavor.labels.items() <= node.labels.items()
                    and all(level in node.labels for level in scene.topologies[flavor.topology])
                ],
                flavor.tolerations,
            )
            for flavor in scene.flavors.values()
            if scene.topologies.get(flavor.topology)
        }
        for tree in self.trees.values():
            for node, request in scene.bound_pods:
                tree.subtract_node(node, request)
        for workload in () if is_empty else scene.workloads:
            self._add_usage(workload.cluster_queue, workload.usage, workload.placed)

    def _add_usage(
        self, queue: str, usage: Mapping[FlavorResource, int], placed: Iterable[tuple[str, PlacedPods]], sign: int = 1
    ) -> None:
        self._quotas.add_usage(queue, usage, sign)
        for flavor, pods in placed:
            self._take(flavor, pods, sign)

    def _take(self, flavor: str, pods: PlacedPods, sign: int = 1) -> None:
        """Count pods in the tree of the flavor, and in all other trees with the same host."""
        own = self.trees.get(flavor)
        for name, tree in self.trees.items():
            # Kueue counts the use of a host by other flavors (TASHandleOverlappingFlavors).
            if name == flavor or (tree.is_by_host and (own is None or own.is_by_host)):
                tree.take(pods, sign)

    def admit(self, plan: Plan, sign: int = 1) -> None:
        """Add the use of a planned job to the cluster, or remove it if `sign` is -1."""
        self._add_usage(plan.queue, plan.usage, plan.placed, sign)

    def still_fits(self, plan: Plan) -> bool:
        """Return True if a plan of this cycle still fits after the jobs that Kueue has admitted since."""
        if any(amount > self._quotas.available_quota(plan.queue, key) for key, amount in plan.usage.items()):
            return False
        by_flavor: dict[str, list[PlacedPods]] = {}
        for flavor, pods in plan.placed:
            by_flavor.setdefault(flavor, []).append(pods)
        return all(self.trees[flavor].fits(placed) for flavor, placed in by_flavor.items())

    def cluster_queue(self, job: Job) -> ClusterQueue | str:
        """Return the ClusterQueue of a job, or Kueue's text if no active ClusterQueue accepts the job."""
        local = self._queues.get((job.namespace, job.queue)) or self._queues.get(("", job.queue))
        if local is None:
            return f"LocalQueue {job.queue} doesn't exist"
        if local.is_stopped:
            return f"LocalQueue {job.queue} is inactive"
        queue = self.scene.cluster_queues.get(local.cluster_queue)
        if queue is None:
            return f"ClusterQueue {local.cluster_queue} doesn't exist"
        if queue.is_stopped or queue.faults or self.missing_objects(queue):
            return f"ClusterQueue {queue.name} is inactive"
        labels = {_NAMESPACE_LABEL: job.namespace, **self.scene.namespaces.get(job.namespace, {})}
        if queue.selector is None or not selects_labels(queue.selector, labels):
            return "workload namespace doesn't match ClusterQueue selector"
        return queue

    def missing_objects(self, queue: ClusterQueue) -> list[str]:
        """Return the ResourceFlavors and Topologies that a ClusterQueue needs and that do not exist."""
        missing = [f'ResourceFlavor "{name}"' for name in queue.flavors if name not in self.scene.flavors]
        named = [self.scene.flavors[name].topology for name in queue.flavors if name in self.scene.flavors]
        missing += [f'Topology "{name}"' for name in dict.fromkeys(named) if name and name not in self.scene.topologies]
        return missing

    def plan(self, job: Job) -> Plan:
        """Return the plan for a job: with all pods, or with as many as fit if the job accepts fewer pods."""
        queue = self.cluster_queue(job)
        if isinstance(queue, str):
            return Plan(JobAnswer(is_admitted=False, message=queue))
        whole = self.plan_sets(job.sets, queue)
        if whole.answer.is_admitted or all(each.min_count is None for each in job.sets):
            return whole
        # Kueue assumes that if fewer pods do not fit, more do not either.
        most = sum([each.count - each.min_count for each in job.sets if each.min_count is not None])
        low, high, best = 0, most + 1, None
        while low < high:
            middle = (low + high) // 2
            fewer = self.plan_sets(_reduce(job.sets, middle, most), queue)
            if fewer.answer.is_admitted:
                high, best = middle, (middle, fewer)
            else:
                low = middle + 1
        return best[1] if best is not None and best[0] == low else whole

    def plan_sets(self, sets: Sequence[PodSet], queue: ClusterQueue) -> Plan:
        """Return the plan for pod sets in a ClusterQueue, with all pods."""
        assignment = self._choice.assign(queue, sets)
        if assignment.mode is not Mode.FIT:
            short = assignment.mode is Mode.SHORT
            answer = JobAnswer(is_admitted=False, message=assignment.message, is_short_of_quota=short)
            return Plan(answer, queue.name)
        is_tas_only = self._choice.is_tas_only(queue)
        answers = [
            SetAnswer(each.name, flavors, admitted_count=each.count)
            for each, flavors in zip(sets, assignment.flavors, strict=True)
        ]
        placed: list[tuple[str, PlacedPods]] = []
        try:
            for members in self._by_flavor(sets, assignment, is_tas_only=is_tas_only):
                flavor = self._tas_flavor(sets[members[0]], assignment.flavors[members[0]])
                failure = self._place(sets, members, flavor, placed, answers, is_tas_only=is_tas_only)
                if failure is not None:
                    message = pod_set_text(failure.pod_set, [failure.search.message])
                    return Plan(JobAnswer(is_admitted=False, message=message, failure=failure), queue.name)
        except _NoSingleFlavorError as error:
            return Plan(JobAnswer(is_admitted=False, message=str(error)), queue.name)
        finally:
            for flavor, pods in placed:
                self._take(flavor, pods, -1)
        answer = JobAnswer(is_admitted=True, sets=tuple(answers), is_delayed=bool(queue.checks))
        return Plan(answer, queue.name, assignment.usage, tuple(placed))

    def _by_flavor(self, sets: Sequence[PodSet], assignment: Assignment, *, is_tas_only: bool) -> list[list[int]]:
        """Return the groups of pod sets that Kueue places by topology, ordered by flavor.

        Pod sets without pods are skipped.
        """
        groups: dict[str, list[list[int]]] = {}
        for members in group_sets(sets):
            asking = [
                index for index in members if (sets[index].topology.is_asked or is_tas_only) and sets[index].count > 0
            ]
            if asking:
                flavor = self._tas_flavor(sets[asking[0]], assignment.flavors[asking[0]])
                groups.setdefault(flavor, []).append(asking)
        return [members for listed in groups.values() for members in listed]

    def _tas_flavor(self, each: PodSet, flavors: Mapping[str, str]) -> str:
        """Return the only one of a pod set's flavors that has a topology.

        Raise _NoSingleFlavorError if there is none, or if there are several.
        """
        names = sorted({flavor for flavor in flavors.values() if flavor in self.trees})
        if len(names) == 1:
            return names[0]
        reason = f"more than one TAS flavor assigned: {', '.join(names)}" if names else "no TAS flavor assigned"
        raise _NoSingleFlavorError(f"failed to assign flavors to pod set {each.name}: {reason}")

    def _place(
        self,
        sets: Sequence[PodSet],
        members: Sequence[int],
        flavor: str,
        placed: list[tuple[str, PlacedPods]],
        answers: list[SetAnswer],
        *,
        is_tas_only: bool,
    ) -> Failure | None:
        """Place one pod set, or a leader and its workers, and count the use. Return the failure if they do not fit.

        Add the pods to `placed` and the domains to `answers`.
        """
        worker, leader = members[0], members[1] if len(members) > 1 else None
        if leader is not None and sets[leader].count > sets[worker].count:
            worker, leader = leader, worker
        tree, topology = self.trees[flavor], self.scene.flavors[flavor].topology
        own = sets[worker]
        question = Question(
            count=own.count,
            request=with_pod(own.request),
            leader=None if leader is None else with_pod(sets[leader].request),
            topology=own.topology,
            rules=own.rules,
            is_implied=is_tas_only and not own.topology.is_asked,
        )
        search = find_domains(tree, question, topology)
        if search.message:
            return Failure(sets[members[0]].name, worker, leader, flavor, topology, search)
        for index, domains in ((worker, search.workers), (leader, search.leader)):
            if index is None:
                continue
            answers[index] = answers[index].replace(flavor=flavor, topology=topology, domains=domains)
            for path, count in domains:
                pods = PlacedPods(path, with_pod(sets[index].request), count)
                placed.append((flavor, pods))
                self._take(flavor, pods)
        return None


class _NoSingleFlavorError(Exception):
    """Raised if a pod set has no flavor with a topology, or several. The text is Kueue's."""


def _reduce(sets: Sequence[PodSet], reduction: int, most: int) -> list[PodSet]:
    """Return the pod sets with `reduction` fewer pods in total.

    Each pod set loses pods in proportion to the number that it can lose. `most` is the sum of these numbers.
    """
    return [
        each
        if each.min_count is None
        else each.replace(count=each.count - (each.count - each.min_count) * reduction // most)
        for each in sets
    ]


class Admitted(Record):
    """The answers for the jobs of a scene, in the order of the jobs, and the cluster with the admitted jobs."""

    session: Session
    answers: tuple[JobAnswer, ...]

    def count_more(self, job: Job, most: int) -> int:
        """Return how many more copies of the job fit, at most `most`. The cluster does not change."""
        plans: list[Plan] = []
        while len(plans) < most and (plan := self.session.plan(job)).answer.is_admitted:
            self.session.admit(plan)
            plans.append(plan)
        for plan in plans:
            self.session.admit(plan, -1)
        return len(plans)


def admit_jobs(scene: Scene) -> Admitted:
    """Return Kueue's answers for the jobs of the scene. Kueue admits them in cycles."""
    session = Session(scene)
    answers: dict[int, JobAnswer] = {}
    waiting: dict[str, list[int]] = {}
    for index, job in enumerate(scene.jobs):
        queue = session.cluster_queue(job)
        waiting.setdefault("" if isinstance(queue, str) else queue.name, []).append(index)
    for listed in waiting.values():
        listed.sort(key=lambda index: _rank(scene.jobs[index], index), reverse=True)
    while waiting:
        taken = [(listed.pop(), name) for name, listed in waiting.items()]
        heads = sorted(taken, key=lambda head: _rank(scene.jobs[head[0]], head[0]))
        plans = [(index, name, session.plan(scene.jobs[index])) for index, name in heads]
        for index, name, plan in plans:
            if plan.answer.is_admitted and not session.still_fits(plan):
                # Another job of the cycle uses what this job needs, so this job waits for the next cycle.
                waiting[name].append(index)
                continue
            if plan.answer.is_admitted:
                session.admit(plan)
            answers[index] = plan.answer.replace(turn=len(answers) + 1)
        waiting = {name: listed for name, listed in waiting.items() if listed}
    return Admitted(session, tuple(answers[index] for index in range(len(scene.jobs))))


def _rank(job: Job, index: int) -> tuple[int, bool, str, int]:
    """Return the sort key of Kueue's order: priority, then time of creation.

    Jobs that are not in the cluster yet follow in the order of the input.
    """
    return -job.priority, not job.created, job.created, index
