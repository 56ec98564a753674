"""Why a gang gets no place, in plain words, beside KAI's own."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.schedulers.kai.allocate.domains import ROOT, add_amounts
from packwise.schedulers.kai.allocate.queues import Queues
from packwise.schedulers.kai.allocate.scene import CPU, DEFAULT_POD_SET, GPU, MEMORY, PODS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from packwise.commands.place.placing import GangAnswer, Placing, Situation
    from packwise.schedulers.kai.allocate.fit_errors import Shortage
    from packwise.schedulers.kai.allocate.scene import Constraint, Job, Node, Scene

__all__ = ["Free", "free_after", "level_word", "quantity", "reasons", "room"]

_SHOWN_NODES = 8
_WORDS = {GPU: "GPU", CPU: "CPU core", PODS: "pod"}
_GIB = 1 << 30

Free = dict[str, dict[str, int]]
"""What nodes have left, by name and resource."""


class _Bound(NamedTuple):
    """A constraint of a job, and the part that it bounds."""

    sub_group: str
    constraint: Constraint

    @property
    def required(self) -> str:
        """The level that must hold the part."""
        return self.constraint.required


def free_after(situation: Situation, placing: Placing) -> Free:
    """What the nodes have left when all gangs have their places."""
    free = {node.name: dict(node.allocatable) for node in situation.scene.nodes}
    for node in situation.scene.nodes:
        add_amounts(free[node.name], node.used.items(), -1)
    for gang in placing.gangs:
        for pod in gang.gang.job.pods:
            node = gang.answer.nodes.get(pod.name)
            if node in free:
                add_amounts(free[node], (*pod.request, (PODS, 1)), -1)
    return free


def reasons(gang: GangAnswer, situation: Situation, free: Free) -> list[str]:
    """Why the gang, or what is left of it, gets no place; nothing where all of it has one."""
    return list(_reasons(gang, situation, free))


def _reasons(gang: GangAnswer, situation: Situation, free: Free) -> Iterator[str]:
    job, answer = gang.gang.job, gang.answer
    if answer.state == "allocated":
        return
    gated = sum(pod.is_gated and not pod.node for pod in job.pods)
    if gated:
        yield f"scheduling gates keep {_count(gated, 'pod')} back, so KAI does not try to place them"
    elif answer.state == "notready":
        yield "there are fewer pods than the gang needs, so KAI does not try to place it"
    yield from _of_queue(job, situation.scene)
    for bound in _bounds(job):
        yield from _mistakes(bound, situation)
    shortage = gang.nearest
    if shortage is None:
        return
    unlabelled = _unlabelled(shortage.topology, situation)
    if len(unlabelled) < len(situation.scene.nodes):
        unlabelled = [node for node in unlabelled if not node.unschedulable and not node.unready]
    if unlabelled:
        yield _without_labels(unlabelled, shortage.topology, situation)
        if _have(unlabelled, shortage.missing, free):
            return
    part = "" if shortage.sub_group in ("", DEFAULT_POD_SET) else f" of {shortage.sub_group}"
    word = level_word(situation, shortage.level)
    where = "the cluster" if shortage.domain == ROOT else f"{word} {shortage.domain}"
    pods = _count(shortage.wanted, "pod")
    if not shortage.is_counted:
        yield (
            f"{pods}{part} must stand in one {word}, and {where} may have room; KAI does not see it, because all nodes "
            f"in question share a level finer than {word}, and KAI counts what is free within that level only: "
            f"add a preferred level, {word} or a finer one"
        )
        return
    is_bound = shortage.level != "" and any(
        bound.sub_group == shortage.sub_group and bound.required == shortage.level for bound in _bounds(job)
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
    nodes = _nodes_of(shortage, situation)
    if nodes and is_bound:
        yield f"free there: {', '.join(room(nodes, free, shortage))}"


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


def _unlabelled(topology: str, situation: Situation) -> list[Node]:
    """The nodes that are in no domain of the topology."""
    levels = next((each.levels for each in situation.scene.topologies if each.name == topology), ())
    return [node for node in situation.scene.nodes if not all(key in node.labels for key in levels)]


def _without_labels(nodes: Sequence[Node], topology: str, situation: Situation) -> str:
    levels = next((each.levels for each in situation.scene.topologies if each.name == topology), ())
    lacking = [key for key in levels if any(key not in node.labels for node in nodes)]
    labels = " or ".join([f'"{key}"' for key in lacking])
    total = len(situation.scene.nodes)
    if len(nodes) == total:
        return f'every node lacks {labels}: KAI sees none in a domain of the topology "{topology}"'
    lack = "lacks" if len(nodes) == 1 else "lack"
    return (
        f"{len(nodes)} of {_count(total, 'node')} {lack} {labels}: KAI sees none of these in a domain of the topology "
        f'"{topology}"'
    )


def _have(nodes: Sequence[Node], missing: Sequence[tuple[str, float]], free: Free) -> bool:
    """Whether the nodes have free what is missing."""
    return all(sum(max(0, free[node.name].get(name, 0)) for node in nodes) >= amount for name, amount in missing)


def _mistakes(bound: _Bound, situation: Situation) -> Iterator[str]:
    """What KAI refuses in a constraint without an error in the status."""
    sub_group, constraint = bound
    part = f"{sub_group}: " if sub_group else ""
    topology = next((each for each in situation.scene.topologies if each.name == constraint.topology), None)
    if topology is None:
        yield f'{part}there is no topology "{constraint.topology}"'
        return
    for kind, level in (("required", constraint.required), ("preferred", constraint.preferred)):
        if level and level not in topology.levels and level not in topology.aliases:
            yield f'{part}the {kind} level "{level}" is no level of the topology "{topology.name}"; KAI only logs that'


def _bounds(job: Job) -> list[_Bound]:
    parts = [("", job.constraint), *((group.name, group.constraint) for group in job.sub_groups)]
    return [_Bound(name, constraint) for name, constraint in parts if constraint is not None and constraint.topology]


def _nodes_of(shortage: Shortage, situation: Situation) -> list[Node]:
    """The nodes of the domain."""
    topology = next((each for each in situation.scene.topologies if each.name == shortage.topology), None)
    if topology is None or shortage.level not in topology.levels:
        return []
    keys = topology.levels[: topology.levels.index(shortage.level) + 1]
    return [
        node
        for node in situation.scene.nodes
        if all(key in node.labels for key in topology.levels)
        and ".".join([node.labels[key] for key in keys]) == shortage.domain
    ]


def room(nodes: Sequence[Node], free: Free, shortage: Shortage) -> list[str]:
    """What nodes have left of the first resource that lacks, the most first."""
    names = [name for name, _ in shortage.missing]
    resource = GPU if GPU in names else next(iter(names), GPU)
    ordered = sorted(nodes, key=lambda node: (-free[node.name].get(resource, 0), node.name))
    shown = [
        f"{quantity(resource, free[node.name].get(resource, 0))} of {node.name}" for node in ordered[:_SHOWN_NODES]
    ]
    return shown + ([f"and {len(ordered) - _SHOWN_NODES} more nodes"] if len(ordered) > _SHOWN_NODES else [])


def level_word(situation: Situation, key: str) -> str:
    """The domain of a level, as `rack`; the label key where no topology has a name for it."""
    return situation.words.get(key) or key


def quantity(resource: str, amount: float) -> str:
    """An amount with its unit: `8 GPUs`, `1.5 CPU cores`, `64 GiB of memory`."""
    if resource == MEMORY:
        return f"{_rounded(amount / _GIB)} GiB of memory"
    if resource == CPU:
        return _count_text(_rounded(amount / 1000), "CPU core")
    word = _WORDS.get(resource)
    return _count_text(_rounded(amount), word) if word is not None else f"{_rounded(amount)} {resource}"


def _amounts(missing: Sequence[tuple[str, float]]) -> str:
    order: Mapping[str, int] = {GPU: 0, CPU: 2, MEMORY: 3, PODS: 4}
    listed = sorted(missing, key=lambda entry: (order.get(entry[0], 1), entry[0]))
    return ", ".join([quantity(name, amount) for name, amount in listed]) or "nothing by KAI's sums"


def _count(number: int, noun: str) -> str:
    return _count_text(str(number), noun)


def _count_text(number: str, noun: str) -> str:
    return f"{number} {noun}" if number == "1" else f"{number} {noun}s"


def _rounded(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")
