"""The simulation of KAI for `place` and `report`: the gangs of a render on a cluster, and KAI's answers.

Source: spec/placement.md#9.
"""

from __future__ import annotations

from collections import Counter

from krmfn.hints import TYPE_CHECKING
from packwise.objects.index import PLACEHOLDER, without_epoch
from packwise.revisions.kai import NO_DEPARTMENTS, NO_TAINT_NAMES, minor_of
from packwise.schedulers.kai.allocate.scene import DEFAULT_POD_SET, GPU, PODS, Scene, scene_in_pool
from packwise.schedulers.kai.allocate.session import Queues, allocate, usage_of
from packwise.schedulers.kai.allocate.state import add_amounts
from packwise.schedulers.kai.gang_jobs import gang_jobs, queues, topologies
from packwise.schedulers.kai.installation import installation_of
from packwise.schedulers.kai.pod_places import written_podgroups
from packwise.schedulers.kai.reasons import FinalNodes, JobContext, reasons_of
from packwise.schedulers.kai.snapshot import add_notes, count_evictable, eviction_notes, with_use
from packwise.schedulers.simulation import (
    FITS,
    GangAnswer,
    GangOutline,
    GangPart,
    Levels,
    NearestDomain,
    NodeShare,
    NodeUse,
)
from packwise.schedulers.wording import level_word
from packwise.settings.topologyrender import KAI_PROFILE
from packwise.wording import count_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from krmfn.kubeobject import KubeObject
    from packwise.findings import Origin
    from packwise.objects.index import Index
    from packwise.placement import Bounds, Gang
    from packwise.schedulers import SchedulerInput
    from packwise.schedulers.kai.allocate.fit_errors import Shortage
    from packwise.schedulers.kai.allocate.scene import Job, KaiTopology, Node, Pod, QueueShare
    from packwise.schedulers.kai.allocate.session import JobAnswer, SessionAnswer
    from packwise.schedulers.kai.gang_jobs import GangJob
    from packwise.schedulers.kai.snapshot import Snapshot

SCHEDULER = KAI_PROFILE

_MAX_REPLICAS = 100
"""The largest number of additional replicas of a workload that are tried."""


class KaiSimulation:
    """KAI's `allocate` action for the gangs of a render.

    `words` maps the node labels of levels to domains such as `rack`.
    """

    scheduler = SCHEDULER

    def __init__(self, source: SchedulerInput, generated: Iterable[KubeObject], snapshot: Snapshot) -> None:
        jobs = gang_jobs(source, snapshot)
        own = {(gang.job.namespace, pod.name) for gang in jobs for pod in gang.job.pods if pod.node}
        others = [bound for bound in snapshot.pods if (bound.pod.namespace, bound.pod.name) not in own]
        known = topologies(source, generated, snapshot)
        minor = minor_of(source.settings.kai_version) if snapshot.kai is None else snapshot.kai
        self.words = level_words(source)
        self.scene = Scene(
            _with_pods(snapshot.nodes, [(bound.pod, bound.node) for bound in others]),
            known,
            with_use(queues(source, snapshot.queues or ()), others, snapshot),
            tuple(gang.job for gang in jobs),
            tuple(bound.pod for bound in others),
            has_all_queues=snapshot.queues is not None,
            # `kai.version` is a lower bound. If the cluster's version is unknown, the messages of the newest KAI apply.
            names_taints=snapshot.kai is not None and snapshot.kai < NO_TAINT_NAMES,
            has_departments=minor < NO_DEPARTMENTS,
            pool_label=installation_of(source.inventory.items).pool_label,
        )
        self.notes = tuple(_about_podgroups(source.inventory.items))
        self._evictable = count_evictable(others, snapshot)
        self.jobs = add_notes(jobs, self.scene, snapshot)
        self.gangs = tuple(_outline(gang) for gang in self.jobs)
        named = {constraint.topology for job in self.scene.jobs for _, constraint in job.constraints}
        self.topologies = tuple(
            Levels(topology.name, topology.levels, is_named=topology.name in named) for topology in known
        )
        self.session: SessionAnswer | None = None

    def place(self, other_uses: Sequence[NodeUse]) -> tuple[GangAnswer, ...]:
        """Return KAI's answer for each gang. `other_uses` are the resources of pods that other schedulers placed."""
        self.scene = self.scene.replace(nodes=_with_uses(self.scene.nodes, other_uses))
        self.session = allocate(self.scene)
        final_nodes = {node.name: node for node in _with_pods(self.scene.nodes, self._placed_pods())}
        contexts = {pool: self._job_context(pool, final_nodes) for pool in {gang.job.pool for gang in self.jobs}}
        return tuple(
            self._answer(gang, outline, answer, final_nodes, contexts[gang.job.pool])
            for gang, outline, answer in zip(self.jobs, self.gangs, self.session.jobs, strict=True)
        )

    def _placed_pods(self) -> list[tuple[Pod, str]]:
        """Return each pod that has a node, with the name of the node."""
        answers = () if self.session is None else self.session.jobs
        return [
            (pod, node)
            for job, answer in zip(self.scene.jobs, answers, strict=True)
            for pod in job.pods
            if (node := answer.nodes.get(pod.name))
        ]

    def uses(self) -> tuple[NodeUse, ...]:
        """Return the resources of each pod that KAI newly places, with the node of the pod."""
        return tuple(NodeUse(node, (*pod.request, (PODS, 1))) for pod, node in self._placed_pods() if not pod.node)

    def _job_context(self, pool: str, final_nodes: Mapping[str, Node]) -> JobContext:
        """Return the context of a pool's jobs. `final_nodes` are the nodes by name after all gangs are placed."""
        scene = scene_in_pool(self.scene, pool)
        in_pool = FinalNodes([final_nodes[node.name] for node in scene.nodes])
        return JobContext(scene, self.words, in_pool, self.scene, Queues(scene))

    def _answer(
        self,
        gang: GangJob,
        outline: GangOutline,
        answer: JobAnswer,
        final_nodes: Mapping[str, Node],
        context: JobContext,
    ) -> GangAnswer:
        """Return the outcome of a gang. `final_nodes` are the nodes by name after all gangs are placed."""
        shortage = answer.nearest_shortage
        placed = [(pod, node) for pod in gang.job.pods if (node := answer.nodes.get(pod.name))]
        nodes = [final_nodes[node] for node in answer.nodes.values() if node]
        return GangAnswer(
            gang=outline,
            state=answer.state,
            placed_pods=len([node for node in answer.nodes.values() if node]),
            spread=_spread(gang.job, answer.nodes),
            shares=tuple(_shares(placed)),
            added_gpus=sum(gpus_of(pod) for pod, _ in placed if not pod.node),
            domain=_common_domain(_topology_of(gang.job, self.scene), nodes),
            nearest_domain=None if shortage is None else self._nearest_domain(shortage),
            reasons=tuple(reasons_of(gang.job, answer, shortage, context)),
            message=answer.message,
            notes=(*gang.notes, *eviction_notes(answer, self._evictable)),
        )

    def _nearest_domain(self, shortage: Shortage) -> NearestDomain:
        return NearestDomain(
            pod_set=shortage.sub_group,
            level=level_word(self.words, shortage.level),
            domain=shortage.domain,
            fitting_pods=shortage.fitting_pods,
            requested_pods=shortage.requested_pods,
            missing=shortage.missing,
            is_counted=shortage.is_counted,
        )

    def count_more(self) -> dict[tuple[str, str], int]:
        """Return how many more replicas of each workload fit together with all gangs, at most 100."""
        answers = () if self.session is None else self.session.jobs
        placed = self._placed_pods()
        left = self.scene.replace(
            nodes=_with_pods(self.scene.nodes, placed),
            queues=tuple(_used_queues(self.scene, answers)),
            jobs=(),
            residents=(*self.scene.residents, *(pod.replace(node=node) for pod, node in placed)),
        )
        counts: dict[tuple[str, str], int] = {}
        for gang in self.jobs:
            key = (gang.gang.namespace, gang.gang.workload)
            if key not in counts:
                counts[key] = _count_further(left, _replica(self.jobs, key))
        return counts


def turn_of(scene: Scene, session: SessionAnswer, index: int) -> Scene:
    """Return the scene of KAI's last attempt at the job at `index`.

    It has only this job, and the pods that were placed before it.
    """
    job = scene.jobs[index]
    others = [(pod, pod.node) for other in scene.jobs for pod in other.pods if other is not job and pod.node]
    placed = (*others, *session.placements[: session.jobs[index].placed_before])
    return scene.replace(
        nodes=_with_pods(scene.nodes, placed),
        jobs=(job,),
        queues=(),
        residents=(*scene.residents, *(pod.replace(node=node) for pod, node in placed)),
        has_all_queues=False,
    )


def simulate(source: SchedulerInput, generated: Iterable[KubeObject], snapshot: Snapshot) -> KaiSimulation:
    """Return KAI's simulation of a render on a cluster. Raise TooManyPodsError if the gangs have too many pods."""
    return KaiSimulation(source, generated, snapshot)


def level_words(source: SchedulerInput) -> dict[str, str]:
    """Map the node label of each level to its domain, such as `rack`."""
    return {
        level.key: level.domain for topology in source.topologies.by_name.values() for level in topology.topology.levels
    }


def _about_podgroups(index: Index) -> Iterator[str]:
    """Yield a note if the input has PodGroups that users write. packwise derives no gang from these."""
    number = len(list(written_podgroups(index)))
    if number:
        yield (
            f"did not place the pods of {count_text(number, 'PodGroup')} in the input: packwise places only gangs that "
            "it derives from workloads"
        )


def _outline(gang: GangJob) -> GangOutline:
    model, job = gang.gang, gang.job
    return GangOutline(
        scheduler=SCHEDULER,
        scheduler_title="KAI",
        namespace=job.namespace,
        name=job.name,
        workload=model.workload,
        queue=job.queue,
        pods=len(job.pods),
        gpus=sum(map(gpus_of, job.pods)),
        parts=tuple(_parts(gang)),
        title=_title(model),
        labels=model.labels,
        notes=gang.notes,
    )


def _title(gang: Gang) -> str:
    """Return the name of a gang. Return the name without the epoch if its epoch is unknown."""
    if gang.naming is None or gang.naming.rule != PLACEHOLDER:
        return gang.name
    return without_epoch(gang.name, gang.labels)


def _parts(gang: GangJob) -> Iterator[GangPart]:
    model = gang.gang
    pods = Counter(pod.sub_group or DEFAULT_POD_SET for pod in gang.job.pods)
    whole = _part(model.name, model.bounds, model.origin)
    yield whole.replace(pods=len(gang.job.pods), members=model.members or 0)
    inner: dict[str, int] = {}
    for each in model.sets:
        # Parents are listed first. A clique and a replica of its group may have the same name.
        depth = 1 if each.parent is None else inner.get(each.parent, 0) + 1
        is_leaf = each.members is not None
        if not is_leaf:
            inner[each.name] = depth
        number = pods[each.name] if is_leaf else 0
        part = _part(each.name, each.bounds, each.origin)
        yield part.replace(depth=depth, pods=number, members=each.members or 0)


def _part(name: str, bounds: Bounds | None, origin: Origin) -> GangPart:
    if bounds is None:
        return GangPart(name, origin.place)
    return GangPart(
        name,
        (bounds.origin or origin).place,
        "" if bounds.required is None else bounds.required.domain,
        "" if bounds.preferred is None else bounds.preferred.domain,
    )


def _shares(placed: Iterable[tuple[Pod, str]]) -> Iterator[NodeShare]:
    """Yield the pods and GPUs of a gang on each node."""
    taken: dict[str, list[int]] = {}
    for pod, node in placed:
        taken.setdefault(node, []).append(gpus_of(pod))
    for node, gpus in taken.items():
        yield NodeShare(node, len(gpus), sum(gpus))


def _with_uses(nodes: Iterable[Node], uses: Sequence[NodeUse]) -> tuple[Node, ...]:
    """Return the nodes, with `uses` added to their used resources."""
    by_node: dict[str, dict[str, int]] = {}
    for use in uses:
        add_amounts(by_node.setdefault(use.node, {}), use.request)
    listed = tuple(nodes)
    if not by_node:
        return listed
    return tuple(
        node.replace(used=_sum_used(node.used, by_node[node.name])) if node.name in by_node else node for node in listed
    )


def _sum_used(used: Mapping[str, int], added: Mapping[str, int]) -> dict[str, int]:
    total = dict(used)
    add_amounts(total, added.items())
    return total


def _with_pods(nodes: Iterable[Node], placed: Iterable[tuple[Pod, str]]) -> tuple[Node, ...]:
    """Return the nodes, with the requests of the pods `placed` added to their used resources."""
    listed = list(nodes)
    used = {node.name: dict(node.used) for node in listed}
    for pod, node in placed:
        if node in used:
            add_amounts(used[node], (*pod.request, (PODS, 1)))
    return tuple(node.replace(used=used[node.name]) for node in listed)


def _used_queues(scene: Scene, answers: Iterable[JobAnswer]) -> Iterator[QueueShare]:
    """Yield the queues, with the requests of their jobs' placed pods added to their used resources."""
    used: dict[str, dict[str, float]] = {}
    non_preemptible: dict[str, dict[str, float]] = {}
    nodes = {node.name: node for node in scene.nodes}
    for job, answer in zip(scene.jobs, answers, strict=True):
        asked = usage_of([(pod, nodes[node]) for pod in job.pods if (node := answer.nodes.get(pod.name)) in nodes])
        for total in (used, non_preemptible) if job.is_non_preemptible else (used,):
            own = total.setdefault(job.queue, {})
            for name, amount in asked.items():
                own[name] = own.get(name, 0) + amount
    for queue in scene.queues:
        yield queue.replace(
            used=_sum_amounts(queue.used, used.get(queue.name, {})),
            non_preemptible=_sum_amounts(queue.non_preemptible, non_preemptible.get(queue.name, {})),
        )


def _sum_amounts(amounts: Mapping[str, float], others: Mapping[str, float]) -> Mapping[str, float]:
    return {name: amounts.get(name, 0) + others.get(name, 0) for name in {**amounts, **others}}


def _replica(gangs: Iterable[GangJob], key: tuple[str, str]) -> list[Job]:
    """Return the jobs of the first replica of the workload `key`, or all its jobs if it has no replicas."""
    jobs = [gang.job for gang in gangs if (gang.gang.namespace, gang.gang.workload) == key]
    first = f"{key[1]}-0"
    return [job for job in jobs if job.name == first or job.name.startswith(f"{first}-")] or jobs


def _count_further(left: Scene, replica: list[Job]) -> int:
    asked = sum(gpus_of(pod) for job in replica for pod in job.pods)
    free = sum(max(0, node.allocatable.get(GPU, 0) - node.used.get(GPU, 0)) for node in left.nodes)
    most = min(_MAX_REPLICAS, free // asked if asked else _MAX_REPLICAS)
    copies = tuple(_copy(job, number) for number in range(most) for job in replica)
    states = [answer.state in FITS for answer in allocate(left.replace(jobs=copies)).jobs]
    size = len(replica)
    fitting = [all(states[start : start + size]) for start in range(0, len(states), size)]
    return fitting.index(False) if False in fitting else len(fitting)


def _copy(job: Job, number: int) -> Job:
    """Return a copy of the job for an additional replica. Its pods have their own names and no nodes."""
    pods = tuple(pod.replace(name=f"{pod.name}+{number}", node="") for pod in job.pods)
    return job.replace(name=f"{job.name}+{number}", pods=pods)


def _spread(job: Job, nodes: Mapping[str, str]) -> tuple[tuple[str, tuple[tuple[str, int], ...]], ...]:
    counted: dict[str, Counter[str]] = {}
    for pod in job.pods:
        if nodes.get(pod.name):
            counted.setdefault(pod.sub_group or DEFAULT_POD_SET, Counter())[nodes[pod.name]] += 1
    return tuple((name, tuple(sorted(counts.items()))) for name, counts in counted.items())


def _topology_of(job: Job, scene: Scene) -> KaiTopology | None:
    """Return the topology of the job's first constraint.

    If the job has no constraint, return the only topology of the scene, or None if there is not exactly one.
    """
    if job.constraints:
        return scene.topology(job.constraints[0][1].topology)
    return scene.topologies[0] if len(scene.topologies) == 1 else None


def _common_domain(topology: KaiTopology | None, nodes: Sequence[Node]) -> str:
    """Return the narrowest domain that contains all nodes, as label values joined by "/", or ""."""
    shared: list[str] = []
    for key in topology.levels if topology is not None else ():
        values = {node.labels.get(key) for node in nodes}
        value = next(iter(values), None)
        if len(values) != 1 or not value:
            break
        shared.append(value)
    return "/".join(shared)


def gpus_of(pod: Pod) -> int:
    """Return the number of whole GPUs that a pod requests."""
    return sum(amount for name, amount in pod.request if name == GPU)
