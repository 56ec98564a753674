"""The simulation of Kueue for `place` and `report`: the jobs of a render on a cluster, and Kueue's answers.

Source: spec/kueue.md#9.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.findings import Place
from packwise.lenient import mappings, text_at, value_at
from packwise.revisions.kueue import kueue_release
from packwise.schedulers.kueue.allocate.scene import with_pod
from packwise.schedulers.kueue.allocate.session import admit_jobs
from packwise.schedulers.kueue.cluster import KueueObjects, is_waiting, objects_by_kind, read_scene
from packwise.schedulers.kueue.inactive import KINDS, MULTIKUEUE, lacks_multikueue, named_checks, read_checks
from packwise.schedulers.kueue.jobs import JobPriorities, Obstacle, name_of, queued_jobs, unread_jobs
from packwise.schedulers.kueue.pod_resources import KINDS as RESOURCE_KINDS
from packwise.schedulers.kueue.pod_resources import read_rules
from packwise.schedulers.kueue.reasons import Advisor, NodeSearch, notes_of
from packwise.schedulers.simulation import (
    ALLOCATED,
    NOT_READY,
    PARTIAL,
    PENDING,
    GangAnswer,
    GangOutline,
    GangPart,
    LaterAnswer,
    Levels,
    NearestDomain,
    NodeShare,
    NodeUse,
)
from packwise.schedulers.wording import level_word
from packwise.wording import count_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.schedulers import SchedulerInput
    from packwise.schedulers.kueue.allocate.scene import Job, Node, Path, PodRequest, Workload
    from packwise.schedulers.kueue.allocate.session import JobAnswer, Session, SetAnswer
    from packwise.schedulers.kueue.jobs import QueuedJob
    from packwise.schedulers.simulation import HasObjects, Spread

SCHEDULER = "kueue"

_GPUS = ("nvidia.com/gpu", "amd.com/gpu")
_KINDS = ("Namespace", "PriorityClass", "WorkloadPriorityClass", "Topology", "ResourceFlavor", "ClusterQueue",
          "LocalQueue", "Cohort", "AdmissionCheck", *[kind for _, kind in (*KINDS, *RESOURCE_KINDS)])  # fmt: skip
"""The kinds of objects other than jobs that the simulation reads from the input."""

_MAX_REPLICAS = 100
"""The largest number of additional replicas of a job that are tried."""


class KueueSimulation:
    """Kueue's scheduling cycles for the jobs of a render that name a queue."""

    scheduler = SCHEDULER

    def __init__(self, source: SchedulerInput, generated: Iterable[KubeObject], cluster: HasObjects) -> None:
        items = source.inventory.items
        own = [item.value for item in (*generated, *items.users.values()) if item.kind in _KINDS]
        self._known = objects_by_kind([*cluster.objects, *own])
        self._release = kueue_release(source.settings.kueue.version)
        self._words = {
            level.key: level.domain
            for topology in source.topologies.by_name.values()
            for level in topology.topology.levels
        }
        self.scene = read_scene(self._known)
        self._search = NodeSearch(self.scene)
        checks = read_checks(self._known.by_name)
        self._local = {
            name
            for name, value in self._known.by_name("ClusterQueue").items()
            if lacks_multikueue(named_checks(value.get("spec")), checks)
        }
        self._cluster_queues = {(each.namespace, each.name): each.cluster_queue for each in self.scene.local_queues}
        rules = read_rules([value for _, kind in RESOURCE_KINDS for value in self._known.by_kind.get(kind, ())])
        jobs = queued_jobs(items, self._release, _priorities(self._known), rules)
        self.jobs = [self._with_manager(self._with_namespace(job)) for job in jobs]
        self._unwritten = sum(bool(job.job.namespace and not job.item.namespace) for job in self.jobs)
        self._running = {
            index: workload for index, job in enumerate(self.jobs) if (workload := self._workload_of(job)) is not None
        }
        self.gangs = tuple(self._outline(job) for job in self.jobs)
        self.topologies = self._levels()
        self._waiting = [
            index for index, job in enumerate(self.jobs) if index not in self._running and job.obstacle is None
        ]
        self.notes = (*self._order_note(), *self._unplaced_notes(items.users.values()))
        self._uses: tuple[NodeUse, ...] = ()

    def _with_namespace(self, job: QueuedJob) -> QueuedJob:
        """Return the job. If it has no namespace and only one namespace has its LocalQueue, set that namespace.

        `kubectl apply -n` and GitOps tools set the namespace of such a job.
        """
        namespaces = {each.namespace for each in self.scene.local_queues if each.name == job.job.queue}
        if job.job.namespace or len(namespaces) != 1:
            return job
        return job.replace(job=job.job.replace(namespace=namespaces.pop()))

    def _with_manager(self, job: QueuedJob) -> QueuedJob:
        """Return the job. Add an obstacle if it is for MultiKueue and its ClusterQueue has no check of MultiKueue."""
        queue = self._cluster_queues.get((job.job.namespace, job.job.queue))
        if job.manager != MULTIKUEUE or queue not in self._local:
            return job
        reason = (
            "managedBy leaves the job to MultiKueue, but the job's ClusterQueue has no AdmissionCheck of MultiKueue"
        )
        return job.replace(obstacle=job.obstacle or Obstacle(reason))

    def _workload_of(self, job: QueuedJob) -> Workload | None:
        """Return the Workload of the job in the cluster. Return None if Kueue has not admitted the job."""
        owner = (job.item.kind, job.item.name)
        return next(
            (each for each in self.scene.workloads if owner in each.owners and each.namespace == job.job.namespace),
            None,
        )

    def _levels(self) -> tuple[Levels, ...]:
        queues = self._cluster_queues
        named: set[str] = set()
        for job in self.jobs:
            name = queues.get((job.job.namespace, job.job.queue)) or queues.get(("", job.job.queue), "")
            queue = self.scene.cluster_queues.get(name)
            flavors = () if queue is None else queue.flavors
            named |= {self.scene.flavors[flavor].topology for flavor in flavors if flavor in self.scene.flavors}
        return tuple(
            Levels(name, levels, is_named=name in named) for name, levels in sorted(self.scene.topologies.items())
        )

    def _order_note(self) -> Iterator[str]:
        if len(self._waiting) > 1:
            yield (
                f"{len(self._waiting)} jobs are placed in Kueue's order: by priority, then by time of creation; new "
                "jobs in the order of the files"
            )

    def _unplaced_notes(self, items: Iterable[KubeObject]) -> Iterator[str]:
        """Yield notes on other Workloads that wait in the cluster, jobs without a namespace, and unread workloads."""
        own = {(job.item.kind, job.item.name) for job in self.jobs}
        waiting = [
            value for value in self._known.by_kind.get("Workload", ()) if is_waiting(value) and not own & _owners(value)
        ]
        if waiting and self.jobs:
            yield (
                f"{count_text(len(waiting), 'other Workload')} of the cluster wait for Kueue; packwise ignores "
                "that Kueue "
                "may admit them first"
            )
        if self._unwritten:
            verb = "is" if self._unwritten == 1 else "are"
            yield (
                f"{count_text(self._unwritten, 'job')} without a namespace {verb} placed in the namespace of the "
                "LocalQueue"
            )
        unread = unread_jobs(items, {id(item) for job in self.jobs for item in (job.item, *job.other_objects)})
        if unread:
            yield (
                f"{count_text(unread, 'workload')} of Kueue {'is' if unread == 1 else 'are'} not placed: the pod sets "
                "are unknown"
            )

    def _outline(self, job: QueuedJob) -> GangOutline:
        place = Place(job.item, ("metadata", "name"))
        pods = sum(each.count for each in job.job.sets)
        whole = GangPart(job.job.name, place, pods=pods, members=pods)
        parts = [
            GangPart(
                each.name,
                Place(
                    job.item, source.template.annotations_path if source.template.annotations else ("metadata", "name")
                ),
                self._level(each.topology.required),
                self._level(each.topology.preferred),
                1,
                each.count,
                each.count if each.min_count is None else each.min_count,
            )
            for each, source in zip(job.job.sets, job.sets, strict=True)
        ]
        return GangOutline(
            scheduler=SCHEDULER,
            scheduler_title="Kueue",
            namespace=job.job.namespace,
            name=job.job.name,
            workload=name_of(job.item),
            queue=job.job.queue,
            pods=pods,
            gpus=sum(gpus_of(each.request) * each.count for each in job.job.sets),
            parts=(whole, *parts),
            title=job.job.name,
        )

    def _level(self, key: str | None) -> str:
        return "" if key is None else level_word(self._words, key)

    def place(self, other_uses: Sequence[NodeUse]) -> tuple[GangAnswer, ...]:
        """Return Kueue's answer for each job. Running jobs keep their places. Kueue tries the others in its order."""
        bound = [(use.node, use.request) for use in other_uses]
        self.scene = self.scene.replace(bound_pods=(*self.scene.bound_pods, *bound))
        scene = self.scene.replace(jobs=tuple(self.jobs[index].job for index in self._waiting))
        session = admit_jobs(scene)
        answers = dict(zip(self._waiting, session.answers, strict=True))
        advisor = Advisor(session, self._words)
        hosts = _Hosts(session.session)
        listed: list[GangAnswer] = []
        uses: list[NodeUse] = []
        places = {index: place for place, index in enumerate(self._waiting, start=1)}
        for index, job in enumerate(self.jobs):
            known = answers.get(index)
            if known is not None:
                turn = () if known.turn == places[index] else (f"number {known.turn} in Kueue's order",)
                answer = self._answer(job, self.gangs[index], known, advisor, hosts)
                answer = answer.replace(notes=(*turn, *answer.notes))
                uses += hosts.uses(known, job.job)
            else:
                answer = self._answer_now(job, self.gangs[index], self._running.get(index))
            listed.append(answer)
        self._uses = tuple(uses)
        self._admitted = session
        return tuple(listed)

    def uses(self) -> tuple[NodeUse, ...]:
        """Return the resources that admitted pods use on nodes of their domains. Call `place` first."""
        return self._uses

    def _answer(
        self, job: QueuedJob, outline: GangOutline, answer: JobAnswer, advisor: Advisor, hosts: _Hosts
    ) -> GangAnswer:
        notes = tuple(notes_of(job, answer, self.scene, self._release))
        if not answer.is_admitted:
            return GangAnswer(
                gang=outline,
                state=PENDING,
                placed_pods=0,
                nearest_domain=self._nearest_domain(job.job, answer, advisor),
                reasons=tuple(advisor.reasons(job.job, answer)),
                message=answer.message,
                notes=notes,
                later_answer=self._later_answer(advisor.answer_when_empty(job.job), hosts),
            )
        refusal = self._search.refusal(job.job, answer)
        if refusal:
            return GangAnswer(outline, PENDING, 0, reasons=(refusal,), notes=notes)
        shares = hosts.shares(answer, job.job)
        placed = sum([pods for each in answer.sets for pods in _pods_of(each)])
        is_whole = all(
            each.admitted_count == wanted.count for each, wanted in zip(answer.sets, job.job.sets, strict=True)
        )
        return GangAnswer(
            gang=outline,
            state=ALLOCATED if is_whole else PARTIAL,
            placed_pods=placed,
            spread=hosts.spread(answer.sets),
            shares=shares,
            added_gpus=sum(
                gpus_of(wanted.request) * sum(_pods_of(each))
                for each, wanted in zip(answer.sets, job.job.sets, strict=True)
            ),
            domain=_common_domain([path for each in answer.sets for path, _ in each.domains or ()]),
            notes=notes,
            flavors=tuple(
                (each.name, flavor) for each in answer.sets for flavor in dict.fromkeys(each.flavors.values())
            ),
        )

    def _answer_now(self, job: QueuedJob, outline: GangOutline, running: Workload | None) -> GangAnswer:
        """Return the answer for a job that Kueue does not try: the job runs already, or has an obstacle."""
        if running is None:
            why = job.obstacle or Obstacle("")
            return GangAnswer(outline, NOT_READY, 0, reasons=(why.reason,), message=why.message)
        spread = tuple(
            (name, tuple(("/".join(path), count) for path, count in domains)) for name, domains in running.sets
        )
        placed = sum(count for _, domains in running.sets for _, count in domains)
        return GangAnswer(
            outline,
            ALLOCATED,
            placed or outline.pods,
            spread=spread,
            notes=(
                "Kueue has already admitted the job, on the nodes in its Workload; a changed job gets a new Workload",
            ),
        )

    def _nearest_domain(self, job: Job, answer: JobAnswer, advisor: Advisor) -> NearestDomain | None:
        failure, nearest = answer.failure, answer.nearest_domain
        if failure is None or nearest is None:
            return None
        key = self.scene.topologies[failure.topology][nearest.level]
        return NearestDomain(
            pod_set=failure.pod_set,
            level=level_word(self._words, key),
            domain="/".join(nearest.path),
            fitting_pods=nearest.room * nearest.size,
            requested_pods=nearest.requested * nearest.size,
            missing=advisor.missing_amounts(job, failure),
        )

    def _later_answer(self, answer: JobAnswer | None, hosts: _Hosts) -> LaterAnswer | None:
        if answer is None:
            return None
        if answer.is_admitted:
            return LaterAnswer(ALLOCATED, hosts.spread(answer.sets))
        return LaterAnswer(PENDING, message=answer.message)

    def count_more(self) -> dict[tuple[str, str], int]:
        """Return how many more copies of each job Kueue admits together with all jobs, at most 100."""
        counts: dict[tuple[str, str], int] = {}
        for index in self._waiting:
            job = self.jobs[index]
            key = (job.job.namespace, name_of(job.item))
            if key not in counts:
                counts[key] = self._admitted.count_more(job.job, _MAX_REPLICAS)
        return counts


class _Hosts:
    """The nodes of the domains that Kueue chooses.

    Kueue chooses a node only if the last level is the hostname. In other domains, kube-scheduler chooses the node. For
    the report and for later schedulers, packwise fills the nodes of such a domain in the order of their names.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._left: dict[str, dict[str, int]] = {}
        self._chosen: dict[int, list[tuple[str, int, int]]] = {}
        self._bound: dict[str, list[PodRequest]] = {}
        for node, request in session.scene.bound_pods:
            self._bound.setdefault(node, []).append(request)

    def spread(self, sets: Sequence[SetAnswer]) -> Spread:
        """Return the number of pods of each pod set, by host or domain as Kueue names it."""
        return tuple(
            (each.name, tuple((self._session.trees[each.flavor].name(path), count) for path, count in each.domains))
            for each in sets
            if each.domains is not None
        )

    def shares(self, answer: JobAnswer, job: Job) -> tuple[NodeShare, ...]:
        """Return the number of pods and GPUs of a job on each node."""
        pods: dict[str, int] = {}
        gpus: dict[str, int] = {}
        for node, position, count in self._nodes(answer, job):
            pods[node] = pods.get(node, 0) + count
            gpus[node] = gpus.get(node, 0) + count * gpus_of(job.sets[position].request)
        return tuple(NodeShare(node, pods[node], gpus[node]) for node in pods)

    def uses(self, answer: JobAnswer, job: Job) -> list[NodeUse]:
        """Return the resources that each pod set of a job uses on each node."""
        return [
            NodeUse(node, tuple((name, amount * count) for name, amount in with_pod(job.sets[position].request)))
            for node, position, count in self._nodes(answer, job)
        ]

    def _nodes(self, answer: JobAnswer, job: Job) -> list[tuple[str, int, int]]:
        """Return the nodes of a job's pods, each with the position of a pod set and the number of its pods there."""
        known = self._chosen.get(id(answer))
        if known is None:
            known = self._chosen[id(answer)] = list(self._choose(answer, job))
        return known

    def _choose(self, answer: JobAnswer, job: Job) -> Iterator[tuple[str, int, int]]:
        for position, each in enumerate(answer.sets):
            request = with_pod(job.sets[position].request)
            for path, count in each.domains or ():
                yield from ((node, position, pods) for node, pods in self._fill(each.flavor, path, request, count))

    def _fill(self, flavor: str, path: Path, request: PodRequest, count: int) -> Iterator[tuple[str, int]]:
        tree = self._session.trees[flavor]
        members = tree.nodes_of(path)
        if tree.is_by_host:
            if members:
                yield members[0].name, count
            return
        for node in sorted(members, key=lambda each: each.name):
            left = self._left.setdefault(node.name, dict(self._free_amounts(node)))
            room = min(count, *[left.get(name, 0) // amount for name, amount in request])
            if room > 0:
                for name, amount in request:
                    left[name] -= amount * room
                count -= room
                yield node.name, room
            if not count:
                return

    def _free_amounts(self, node: Node) -> Mapping[str, int]:
        """Return the amounts of a node that pods outside Kueue leave free."""
        left = dict(node.allocatable)
        for request in self._bound.get(node.name, ()):
            for resource, amount in request:
                left[resource] = left.get(resource, 0) - amount
        return left


def _pods_of(each: SetAnswer) -> list[int]:
    """Return the number of pods in each domain of a pod set, or one number if the set has no domains."""
    return [each.admitted_count] if each.domains is None else [count for _, count in each.domains]


def _common_domain(paths: Sequence[Path]) -> str:
    """Return the narrowest domain that contains all `paths`, as label values joined by "/", or ""."""
    shared: list[str] = []
    for values in zip(*paths, strict=False):
        if len(set(values)) > 1:
            break
        shared.append(values[0])
    return "/".join(shared)


def gpus_of(request: PodRequest) -> int:
    """Return the number of whole GPUs that a pod requests."""
    return sum(amount for name, amount in request if name in _GPUS)


def _owners(value: Mapping[str, Value]) -> set[tuple[str, str]]:
    owners = mappings(value_at(value, "metadata", "ownerReferences"))
    return {(text_at(owner, "kind"), text_at(owner, "name")) for owner in owners}


def _priorities(known: KueueObjects) -> JobPriorities:
    def values(kind: str) -> dict[str, int]:
        return {
            name: number for name, value in known.by_name(kind).items() if type(number := value.get("value")) is int
        }

    of_pods = values("PriorityClass")
    default = [name for name, value in known.by_name("PriorityClass").items() if value.get("globalDefault") is True]
    return JobPriorities(values("WorkloadPriorityClass"), of_pods, of_pods.get(default[0], 0) if default else 0)


def simulate(source: SchedulerInput, generated: Iterable[KubeObject], snapshot: HasObjects) -> KueueSimulation:
    """Return Kueue's simulation of a render on a cluster."""
    return KueueSimulation(source, generated, snapshot)
