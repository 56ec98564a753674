"""The places of the gangs of a render on the nodes of a cluster, or why they get none, in plain words beside KAI's own.

The moves are those by which two placings differ.
"""

from __future__ import annotations

from collections import Counter
from enum import StrEnum

from krmfn.hints import TYPE_CHECKING
from krmfn.record import Record
from packwise.objects.epochs import gang_identities
from packwise.pipeline.registry import queued_sources
from packwise.placement import Gang
from packwise.schedulers.kai.allocate.scene import CPU, DEFAULT_POD_SET, GPU, MEMORY, PODS, Job, Scene
from packwise.schedulers.kai.allocate.session import FITS, Queues, allocate, usage_of
from packwise.schedulers.kai.allocate.state import ROOT, add_amounts
from packwise.schedulers.kai.gang_jobs import gang_jobs, is_of_kai, queues, topologies
from packwise.schedulers.kai.snapshot import add_notes, evictable, eviction_notes, with_use
from packwise.schedulers.kai.versions import NO_TAINT_NAMES
from packwise.wording import count_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from krmfn.kubeobject import KubeObject
    from packwise.objects.identity import Identity
    from packwise.pipeline.steps import Rendered
    from packwise.schedulers.kai.allocate.fit_errors import Shortage
    from packwise.schedulers.kai.allocate.scene import Job, KaiTopology, LevelConstraint, Node, Pod, QueueShare
    from packwise.schedulers.kai.allocate.session import JobAnswer, SessionAnswer
    from packwise.schedulers.kai.gang_jobs import GangJob
    from packwise.schedulers.kai.snapshot import Snapshot

_MOST = 100
"""Further replicas of a workload that are tried at most."""


class Situation(Record):
    """Gangs, and the cluster that they come to.

    `words` are the domains of levels by node label, as workloads name them. `evictable` is how many other PodGroups
    run that KAI may evict.
    """

    gangs: tuple[GangJob, ...]
    scene: Scene
    words: Mapping[str, str] = {}
    evictable: int = 0


class GangAnswer(Record):
    """The outcome of a gang.

    `spread` has the pods of each pod set by node; `domain` is the one that all these nodes share, "" where they share
    none. `nearest` is the domain that lacks least; `reasons` say why the gang, or what is left of it, gets no place.
    `notes` are what the answer leaves out of account.
    """

    gang: GangJob
    answer: JobAnswer
    spread: tuple[tuple[str, tuple[tuple[str, int], ...]], ...]
    domain: str
    nearest: Shortage | None
    reasons: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def fits(self) -> bool:
        """True if the gang runs."""
        return self.answer.state in FITS

    @property
    def placed_pods(self) -> int:
        """The number of pods that have a node."""
        return sum(bool(node) for node in self.answer.nodes.values())


class Placing(Record):
    """The answers in queue order of creation, and the GPUs of the cluster: all, in use before, in use then."""

    gangs: tuple[GangAnswer, ...]
    gpus: tuple[int, int, int]
    nodes: int
    session: SessionAnswer

    @property
    def fits(self) -> bool:
        """True if every gang runs."""
        return all(gang.fits for gang in self.gangs)


def situation(rendered: Rendered, snapshot: Snapshot) -> Situation:
    """The gangs of the render on the nodes of the snapshot, whose pods count as they are bound.

    Raises TooManyPodsError.
    """
    source = rendered.scheduled
    gangs = () if source is None else gang_jobs(source, snapshot)
    own = {(gang.job.namespace, pod.name) for gang in gangs for pod in gang.job.pods if pod.node}
    others = [bound for bound in snapshot.pods if (bound.pod.namespace, bound.pod.name) not in own]
    known = () if source is None else topologies(source, rendered.generated, snapshot)
    shares = () if source is None else with_use(queues(source, snapshot.queues or ()), others, snapshot)
    words = {
        level.key: level.domain
        for topology in (source.topologies.by_name.values() if source is not None else ())
        for level in topology.topology.levels
    }
    scene = Scene(
        _with_pods(snapshot.nodes, [(bound.pod, bound.node) for bound in others]),
        known,
        shares,
        tuple(gang.job for gang in gangs),
        tuple(bound.pod for bound in others),
        has_all_queues=snapshot.queues is not None,
        names_taints=snapshot.kai is not None and snapshot.kai < NO_TAINT_NAMES,
    )
    return Situation(add_notes(gangs, scene, snapshot), scene, words, evictable(others, snapshot))


def not_placed(rendered: Rendered) -> list[str]:
    """Notes on the gangs and workloads that other schedulers place, whose algorithms are not simulated."""
    source = rendered.scheduled
    if source is None:
        return []
    of_others: Counter[str] = Counter()
    for placement in source.placements:
        if isinstance(placement.node, Gang) and not is_of_kai(placement.node):
            of_others[placement.node.scheduler] += placement.node.alike
    queued: dict[str, set[KubeObject]] = {}
    for queued_pods in queued_sources():
        for pods in queued_pods(source.inventory, source.topologies, source.settings):
            queued.setdefault(pods.scheduler, set()).add(pods.workload)
    counts = [(count, "gang", f"{scheduler} schedules") for scheduler, count in of_others.items()]
    counts += [(len(workloads), "workload", f"{scheduler} queues") for scheduler, workloads in queued.items()]
    because = "not placed: its algorithm is not simulated"
    return [
        f"{count_text(count, noun)} that {who} {'is' if count == 1 else 'are'} {because}" for count, noun, who in counts
    ]


def place_gangs(situation: Situation) -> Placing:
    """KAI's answer for every gang."""
    session, nodes = allocate(situation.scene), situation.scene.nodes
    placed = _placed_pods(situation.scene, session)
    then = {node.name: node for node in _with_pods(nodes, placed)}
    answers = tuple(
        _gang_answer(gang, answer, situation, then) for gang, answer in zip(situation.gangs, session.jobs, strict=True)
    )
    before = _gpus(node.used for node in nodes)
    running = sum(gpus_of(pod) for gang in situation.gangs for pod in gang.job.pods if pod.node)
    taken = sum(gpus_of(pod) for pod, _ in placed)
    return Placing(
        answers, (_gpus(node.allocatable for node in nodes), before + running, before + taken), len(nodes), session
    )


def _gang_answer(gang: GangJob, answer: JobAnswer, situation: Situation, then: Mapping[str, Node]) -> GangAnswer:
    """The outcome of a gang; `then` are the nodes by name, when all gangs have their places."""
    nearest = _nearest(answer)
    return GangAnswer(
        gang=gang,
        answer=answer,
        spread=_spread(gang.job, answer.nodes),
        domain=_common_domain(
            _topology_of(gang.job, situation.scene), [then[name] for name in answer.nodes.values() if name]
        ),
        nearest=nearest,
        reasons=tuple(_reasons(gang.job, answer, nearest, situation, then)),
        notes=(*gang.notes, *eviction_notes(answer, situation.evictable)),
    )


def _placed_pods(scene: Scene, session: SessionAnswer) -> list[tuple[Pod, str]]:
    """The pods of all jobs that have a node, with its name."""
    return [
        (pod, node)
        for job, answer in zip(scene.jobs, session.jobs, strict=True)
        for pod in job.pods
        if (node := answer.nodes.get(pod.name))
    ]


def turn_of(scene: Scene, session: SessionAnswer, index: int) -> Scene:
    """KAI's last try of the job at `index`: that job alone, beside all that was placed before."""
    job = scene.jobs[index]
    others = [(pod, pod.node) for other in scene.jobs for pod in other.pods if other is not job and pod.node]
    placed = (*others, *session.placed[: session.jobs[index].before])
    return scene.replace(
        nodes=_with_pods(scene.nodes, placed),
        jobs=(job,),
        queues=(),
        residents=(*scene.residents, *(pod.replace(node=node) for pod, node in placed)),
        has_all_queues=False,
    )


def _with_pods(nodes: Iterable[Node], placed: Iterable[tuple[Pod, str]]) -> tuple[Node, ...]:
    """The nodes, with what these pods use of them."""
    listed = list(nodes)
    used = {node.name: dict(node.used) for node in listed}
    for pod, node in placed:
        if node in used:
            add_amounts(used[node], (*pod.request, (PODS, 1)))
    return tuple(node.replace(used=used[node.name]) for node in listed)


def more_replicas(situation: Situation, placing: Placing) -> dict[tuple[str, str], int]:
    """The number of further replicas of each workload that fit beside all gangs, up to a hundred; by namespace and
    name.
    """
    scene = situation.scene
    placed = _placed_pods(scene, placing.session)
    left = scene.replace(
        nodes=_with_pods(scene.nodes, placed),
        queues=tuple(_used_queues(scene, placing.session.jobs)),
        jobs=(),
        residents=(*scene.residents, *(pod.replace(node=node) for pod, node in placed)),
    )
    counts: dict[tuple[str, str], int] = {}
    for gang in situation.gangs:
        key = (gang.gang.namespace, gang.gang.workload)
        if key not in counts:
            counts[key] = _further(left, _replica(situation, key))
    return counts


def _used_queues(scene: Scene, answers: Iterable[JobAnswer]) -> Iterator[QueueShare]:
    """The queues, with what their jobs use then."""
    used: dict[str, dict[str, float]] = {}
    kept: dict[str, dict[str, float]] = {}
    nodes = {node.name: node for node in scene.nodes}
    for job, answer in zip(scene.jobs, answers, strict=True):
        asked = usage_of([(pod, nodes[node]) for pod in job.pods if (node := answer.nodes.get(pod.name)) in nodes])
        for total in (used, kept) if job.is_kept else (used,):
            own = total.setdefault(job.queue, {})
            for name, amount in asked.items():
                own[name] = own.get(name, 0) + amount
    for queue in scene.queues:
        yield queue.replace(
            used=_sum_amounts(queue.used, used.get(queue.name, {})),
            kept=_sum_amounts(queue.kept, kept.get(queue.name, {})),
        )


def _sum_amounts(amounts: Mapping[str, float], others: Mapping[str, float]) -> Mapping[str, float]:
    return {name: amounts.get(name, 0) + others.get(name, 0) for name in {**amounts, **others}}


def _replica(situation: Situation, key: tuple[str, str]) -> list[Job]:
    """The jobs of the first replica of a workload; of a workload without replicas, all of its jobs."""
    jobs = [gang.job for gang in situation.gangs if (gang.gang.namespace, gang.gang.workload) == key]
    first = f"{key[1]}-0"
    return [job for job in jobs if job.name == first or job.name.startswith(f"{first}-")] or jobs


def _further(left: Scene, replica: list[Job]) -> int:
    asked = sum(gpus_of(pod) for job in replica for pod in job.pods)
    free = sum(max(0, node.allocatable.get(GPU, 0) - node.used.get(GPU, 0)) for node in left.nodes)
    most = min(_MOST, free // asked if asked else _MOST)
    copies = tuple(_copy(job, number) for number in range(most) for job in replica)
    states = [answer.state in FITS for answer in allocate(left.replace(jobs=copies)).jobs]
    size = len(replica)
    fitting = [all(states[start : start + size]) for start in range(0, len(states), size)]
    return fitting.index(False) if False in fitting else len(fitting)


def _copy(job: Job, number: int) -> Job:
    """A further replica of the job."""
    pods = tuple(pod.replace(name=f"{pod.name}+{number}", node="") for pod in job.pods)
    return job.replace(name=f"{job.name}+{number}", pods=pods)


def _spread(job: Job, nodes: Mapping[str, str]) -> tuple[tuple[str, tuple[tuple[str, int], ...]], ...]:
    counted: dict[str, Counter[str]] = {}
    for pod in job.pods:
        if nodes.get(pod.name):
            counted.setdefault(pod.sub_group or DEFAULT_POD_SET, Counter())[nodes[pod.name]] += 1
    return tuple((name, tuple(sorted(counts.items()))) for name, counts in counted.items())


def _nearest(answer: JobAnswer) -> Shortage | None:
    """Of the domains that are too small, that which comes nearest; the first by name among equals."""
    short = [error.shortage for error in answer.errors if error.shortage is not None]
    if answer.state == "allocated" or not short:
        return None
    return min(
        short,
        key=lambda each: (
            not each.is_counted,
            -(each.held or 0) / max(each.wanted, 1),
            sum(amount for name, amount in each.missing if name == GPU),
            each.domain,
        ),
    )


def _topology_of(job: Job, scene: Scene) -> KaiTopology | None:
    """The topology that the job, or a part of it, names; without that, the only one there is."""
    if job.constraints:
        return scene.topology(job.constraints[0][1].topology)
    return scene.topologies[0] if len(scene.topologies) == 1 else None


def _common_domain(topology: KaiTopology | None, nodes: Sequence[Node]) -> str:
    """The domain that the nodes share, as its values joined by "/"; "" where they share none."""
    shared: list[str] = []
    for key in topology.levels if topology is not None else ():
        values = {node.labels.get(key) for node in nodes}
        value = next(iter(values), None)
        if len(values) != 1 or not value:
            break
        shared.append(value)
    return "/".join(shared)


def _gpus(amounts: Iterable[Mapping[str, int]]) -> int:
    return sum(each.get(GPU, 0) for each in amounts)


def gpus_of(pod: Pod) -> int:
    """The whole GPUs that a pod asks for."""
    return sum(amount for name, amount in pod.request if name == GPU)


class Fate(StrEnum):
    """The outcome of a change for one gang."""

    NO_LONGER_FITS = "noLongerFits"
    FITS_NOW = "fitsNow"
    LOSES_PODS = "losesPods"
    """It runs, but fewer of the pods beyond its minimum do."""
    MOVES = "moves"
    ADDED = "added"
    REMOVED = "removed"


class Move(Record):
    """A gang whose place the change decides: its answers, None in the state that does not have the gang.

    `pods` is how many pods stand on another node, or wait that had one.
    """

    fate: Fate
    before: GangAnswer | None
    after: GangAnswer | None
    pods: int = 0


def moves(before: Placing, after: Placing) -> tuple[Move, ...]:
    """The moves between two placings on the same nodes; nothing of a gang that stays where it is.

    In the order of the gangs after the change; those that go follow.
    """
    old, new = _by_key(before), _by_key(after)
    listed = [_move(old.get(key), gang) for key, gang in new.items()]
    removed = [Move(Fate.REMOVED, gang, None) for key, gang in old.items() if key not in new]
    return (*(move for move in listed if move is not None), *removed)


def _by_key(placing: Placing) -> dict[Identity, GangAnswer]:
    """The answers by what a gang is, whatever its epoch."""
    gangs = [answer.gang.gang for answer in placing.gangs]
    keys = gang_identities([(gang.namespace, gang.name, gang.labels) for gang in gangs])
    return dict(zip(keys, placing.gangs, strict=True))


def _move(before: GangAnswer | None, after: GangAnswer) -> Move | None:
    if before is None:
        return Move(Fate.ADDED, None, after)
    if before.fits != after.fits:
        return Move(Fate.FITS_NOW if after.fits else Fate.NO_LONGER_FITS, before, after)
    if after.fits and _waiting(after) > _waiting(before):
        return Move(Fate.LOSES_PODS, before, after, _waiting(after) - _waiting(before))
    elsewhere = _elsewhere(before, after)
    return Move(Fate.MOVES, before, after, elsewhere) if elsewhere else None


def _waiting(gang: GangAnswer) -> int:
    return len(gang.gang.job.pods) - gang.placed_pods


def _elsewhere(before: GangAnswer, after: GangAnswer) -> int:
    """The number of pods that stand on another node; further pods, and those that are no more, do not count.

    Pod sets are told by their names, which no epoch changes.
    """
    new = {name: Counter(dict(spread)) for name, spread in after.spread}
    number = 0
    for name, spread in before.spread:
        old = Counter(dict(spread))
        here = new.get(name, Counter())
        number += min(sum((old - here).values()), sum((here - old).values()))
    return number


_SHOWN_NODES = 8
_WORDS = {GPU: "GPU", CPU: "CPU core", PODS: "pod"}
_GIB = 1 << 30


def _reasons(
    job: Job, answer: JobAnswer, shortage: Shortage | None, situation: Situation, then: Mapping[str, Node]
) -> Iterator[str]:
    """Why the job, or what is left of it, gets no place; nothing where all of it has one."""
    if answer.state == "allocated":
        return
    gated = sum(pod.is_gated and not pod.node for pod in job.pods)
    if gated:
        yield f"scheduling gates keep {count_text(gated, 'pod')} back, so KAI does not try to place them"
    elif answer.state == "notready":
        yield "there are fewer pods than the gang needs, so KAI does not try to place it"
    yield from _of_queue(job, situation.scene)
    for name, constraint in job.constraints:
        yield from _mistakes(name, constraint, situation.scene)
    if shortage is None:
        return
    topology = situation.scene.topology(shortage.topology)
    unlabelled = [node for node in then.values() if topology is not None and not _has_levels(node, topology)]
    if len(unlabelled) < len(then):
        unlabelled = [node for node in unlabelled if not node.unschedulable and not node.unready]
    if topology is not None and unlabelled:
        yield _without_labels(unlabelled, topology, len(then))
        if _have(unlabelled, shortage.missing):
            return
    part = "" if shortage.sub_group in ("", DEFAULT_POD_SET) else f" of {shortage.sub_group}"
    word = level_word(situation.words, shortage.level)
    where = "the cluster" if shortage.domain == ROOT else f"{word} {shortage.domain}"
    pods = count_text(shortage.wanted, "pod")
    if not shortage.is_counted:
        yield (
            f"{pods}{part} must stand in one {word}, and {where} may have room; KAI does not see it, because all nodes "
            f"in question share a level finer than {word}, and KAI counts what is free within that level only: "
            f"add a preferred level, {word} or a finer one"
        )
        return
    is_bound = shortage.level != "" and any(
        name == shortage.sub_group and constraint.required == shortage.level for name, constraint in job.constraints
    )
    need = (
        f"{pods}{part} must stand in one {word}; the nearest, {shortage.domain},"
        if is_bound
        else (f"{pods}{part} need room; the cluster")
    )
    lacking = _amounts(shortage.missing)
    if shortage.held is None:
        yield f"{need} lacks {lacking} for all of them together"
    else:
        yield f"{need} has room for {shortage.held or 'none'}: it lacks {lacking}"
    nodes = [] if topology is None else _nodes_of(shortage, topology, then.values())
    if nodes and is_bound:
        yield f"free there: {', '.join(_room(nodes, shortage))}"


def _of_queue(job: Job, scene: Scene) -> Iterator[str]:
    """Why the queue keeps KAI from trying the job."""
    known = {queue.name: queue for queue in scene.queues}
    queues = Queues(scene)
    if queues.missing(job.queue) is not None:
        above = known[job.queue].parent if job.queue in known else ""
        while above in known:
            above = known[above].parent
        yield (
            f'the queue "{job.queue}" does not count, since "{above}" above it does not exist'
            if above
            else f'there is no queue "{job.queue}"'
        )
    elif not queues.is_tried(job.queue):
        below = ", ".join([f'"{queue.name}"' for queue in scene.queues if queue.parent == job.queue])
        yield f'the queue "{job.queue}" has queues below it ({below}); KAI skips its gangs without a word'


def _has_levels(node: Node, topology: KaiTopology) -> bool:
    """True if the node is in a domain of the topology."""
    return all(key in node.labels for key in topology.levels)


def _free(node: Node, resource: str) -> int:
    return node.allocatable.get(resource, 0) - node.used.get(resource, 0)


def _without_labels(nodes: Sequence[Node], topology: KaiTopology, total: int) -> str:
    lacking = [key for key in topology.levels if any(key not in node.labels for node in nodes)]
    labels = " or ".join([f'"{key}"' for key in lacking])
    if len(nodes) == total:
        return f'every node lacks {labels}: KAI sees none in a domain of the topology "{topology.name}"'
    lack = "lacks" if len(nodes) == 1 else "lack"
    return (
        f"{len(nodes)} of {count_text(total, 'node')} {lack} {labels}: KAI sees none of these in a domain of the "
        f'topology "{topology.name}"'
    )


def _have(nodes: Sequence[Node], missing: Sequence[tuple[str, float]]) -> bool:
    """True if the nodes have free what is missing."""
    return all(sum(max(0, _free(node, name)) for node in nodes) >= amount for name, amount in missing)


def _mistakes(name: str, constraint: LevelConstraint, scene: Scene) -> Iterator[str]:
    """KAI's refusals, without an error in the status, of a constraint of the part `name`."""
    part = f"{name}: " if name else ""
    topology = scene.topology(constraint.topology)
    if topology is None:
        yield f'{part}there is no topology "{constraint.topology}"'
        return
    for kind, level in (("required", constraint.required), ("preferred", constraint.preferred)):
        if level and level not in topology.levels and level not in topology.aliases:
            yield f'{part}the {kind} level "{level}" is no level of the topology "{topology.name}"; KAI only logs that'


def _nodes_of(shortage: Shortage, topology: KaiTopology, nodes: Iterable[Node]) -> list[Node]:
    """The nodes of the domain."""
    if shortage.level not in topology.levels:
        return []
    keys = topology.levels[: topology.levels.index(shortage.level) + 1]
    return [
        node
        for node in nodes
        if _has_levels(node, topology) and ".".join([node.labels[key] for key in keys]) == shortage.domain
    ]


def _room(nodes: Sequence[Node], shortage: Shortage) -> list[str]:
    """The free amounts of the first resource that lacks, the largest first."""
    names = [name for name, _ in shortage.missing]
    resource = GPU if GPU in names else next(iter(names), GPU)
    ordered = sorted(nodes, key=lambda node: (-_free(node, resource), node.name))
    shown = [f"{_quantity(resource, _free(node, resource))} of {node.name}" for node in ordered[:_SHOWN_NODES]]
    return shown + ([f"and {len(ordered) - _SHOWN_NODES} more nodes"] if len(ordered) > _SHOWN_NODES else [])


def level_word(words: Mapping[str, str], key: str) -> str:
    """The domain of a level, as `rack`; the label key where no topology has a name for it."""
    return words.get(key) or key


def _quantity(resource: str, amount: float) -> str:
    """An amount with its unit: `8 GPUs`, `1.5 CPU cores`, `64 GiB of memory`."""
    if resource == MEMORY:
        return f"{_round(amount / _GIB)} GiB of memory"
    number = _round(amount / 1000 if resource == CPU else amount)
    word = _WORDS.get(resource)
    if word is None:
        return f"{number} {resource}"
    return f"{number} {word}" if number == "1" else f"{number} {word}s"


def _amounts(missing: Sequence[tuple[str, float]]) -> str:
    order: Mapping[str, int] = {GPU: 0, CPU: 2, MEMORY: 3, PODS: 4}
    listed = sorted(missing, key=lambda entry: (order.get(entry[0], 1), entry[0]))
    return ", ".join([_quantity(name, amount) for name, amount in listed]) or "nothing by KAI's sums"


def _round(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")
