"""Reasons why KAI gives a job no place, in plain words beside KAI's own.

Source: spec/placement.md#4, #5 and #7.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING, Record
from packwise.schedulers.kai.allocate.scene import DEFAULT_POD_SET, GPU
from packwise.schedulers.kai.allocate.session import lineage
from packwise.schedulers.kai.allocate.state import ROOT
from packwise.schedulers.wording import SHOWN_NODES, amount_list, amount_text, level_word
from packwise.wording import count_text, list_known

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from packwise.schedulers.kai.allocate.fit_errors import Shortage
    from packwise.schedulers.kai.allocate.scene import Job, KaiTopology, LevelConstraint, Node, Scene
    from packwise.schedulers.kai.allocate.session import JobAnswer, Queues


class Surroundings(Record):
    """The context of a job: its scene, the words of levels by node label, and the nodes after all gangs are placed.

    `scene` is the part of `whole_scene` for the job's node pool, with the nodes `final_nodes` and the queues `queues`.
    """

    scene: Scene
    words: Mapping[str, str]
    final_nodes: Mapping[str, Node]
    whole_scene: Scene
    queues: Queues


def reasons_of(job: Job, answer: JobAnswer, shortage: Shortage | None, around: Surroundings) -> Iterator[str]:
    """Yield the reasons for unplaced pods of the job, or nothing if all are placed."""
    scene, words, then = around.scene, around.words, around.final_nodes
    if answer.state == "allocated":
        return
    gated = sum(pod.is_gated and not pod.node for pod in job.pods)
    if gated:
        yield f"scheduling gates hold {count_text(gated, 'pod')} back, and KAI does not try to place them"
    elif answer.state == "notready":
        yield "the gang needs more pods than exist, and KAI does not try to place it"
    yield from _queue_reasons(job, around)
    for name, constraint in job.constraints:
        yield from _logged_mistakes(name, constraint, scene)
    if shortage is None:
        return
    topology = scene.topology(shortage.topology)
    unlabelled = [node for node in then.values() if topology is not None and not _has_levels(node, topology)]
    if len(unlabelled) < len(then):
        unlabelled = [node for node in unlabelled if not node.unschedulable and not node.unready]
    if topology is not None and unlabelled:
        yield _unlabelled_nodes(unlabelled, topology, len(then))
        if _have_free(unlabelled, shortage.missing):
            return
    part = "" if shortage.sub_group in ("", DEFAULT_POD_SET) else f" of {shortage.sub_group}"
    word = level_word(words, shortage.level)
    where = "the cluster" if shortage.domain == ROOT else f"{word} {shortage.domain}"
    pods = count_text(shortage.requested_pods, "pod")
    if not shortage.is_counted:
        yield (
            f"{pods}{part} must be in one {word}, and {where} may have room. KAI does not see it: all nodes in "
            f"question share a level finer than {word}, and KAI counts free resources only within that level. Add a "
            f"preferred level, {word} or a finer one"
        )
        return
    is_bound = shortage.level != "" and any(
        name == shortage.sub_group and constraint.required == shortage.level for name, constraint in job.constraints
    )
    need = (
        f"{pods}{part} must be in one {word}; the nearest, {shortage.domain},"
        if is_bound
        else (f"{pods}{part} need room; the cluster")
    )
    lacking = amount_list(shortage.missing) or "nothing by KAI's sums"
    if shortage.fitting_pods is None:
        yield f"{need} lacks {lacking} for all of them together"
    else:
        yield f"{need} has room for {shortage.fitting_pods or 'none'}: it lacks {lacking}"
    nodes = [] if topology is None else _nodes_of(shortage, topology, then.values())
    if nodes and is_bound:
        yield from _free_room(nodes, shortage)


def _pool_text(pool: str) -> str:
    return f'the node pool "{pool}"' if pool else "the default node pool"


def _queue_reasons(job: Job, around: Surroundings) -> Iterator[str]:
    """Yield the reasons why its node pool or queue prevents KAI from trying the job."""
    scene, every, queues = around.scene, around.whole_scene, around.queues
    if not scene.nodes:
        yield f"KAI looks for nodes in {_pool_text(job.pool)}, which has none"
    if job.queue in scene.absent_queues:
        line = list(lineage(job.queue, {queue.name: queue for queue in every.queues}))
        other = next((queue for queue in line if queue.pool != job.pool), line[0])
        above = "" if other.name == job.queue else f', an ancestor of "{job.queue}",'
        yield (
            f'the queue "{other.name}"{above} is in {_pool_text(other.pool)}, but the pods are in '
            f"{_pool_text(job.pool)}, and their scheduler does not see the queue"
        )
    elif queues.missing_queue_error(job.queue) is not None:
        yield queues.reason_missing(job.queue)
    elif queues.is_skipped(job.queue) and scene.has_departments:
        yield f'the queue "{job.queue}" has no parent, and KAI before v0.13 silently skips its gangs'
    elif queues.is_skipped(job.queue):
        below = list_known(queues.child_queues(job.queue))
        yield f'the queue "{job.queue}" has child queues ({below}), and KAI silently skips its gangs'


def _has_levels(node: Node, topology: KaiTopology) -> bool:
    """True if the node is in a domain of the topology."""
    return all(key in node.labels for key in topology.levels)


def _free_amount(node: Node, resource: str) -> int:
    return node.allocatable.get(resource, 0) - node.used.get(resource, 0)


def _unlabelled_nodes(nodes: Sequence[Node], topology: KaiTopology, total: int) -> str:
    lacking = [key for key in topology.levels if any(key not in node.labels for node in nodes)]
    labels = " or ".join([f'"{key}"' for key in lacking])
    if len(nodes) == total:
        return f'every node lacks {labels}: KAI sees none in a domain of the topology "{topology.name}"'
    lack = "lacks" if len(nodes) == 1 else "lack"
    return (
        f"{len(nodes)} of {count_text(total, 'node')} {lack} {labels}: KAI sees none of these in a domain of the "
        f'topology "{topology.name}"'
    )


def _have_free(nodes: Sequence[Node], missing: Sequence[tuple[str, float]]) -> bool:
    """Return True if the nodes have the missing amounts free."""
    return all(sum(max(0, _free_amount(node, name)) for node in nodes) >= amount for name, amount in missing)


def _logged_mistakes(name: str, constraint: LevelConstraint, scene: Scene) -> Iterator[str]:
    """Yield KAI's refusals of a constraint of the part `name` that are no error in the status."""
    part = f"{name}: " if name else ""
    topology = scene.topology(constraint.topology)
    if topology is None:
        yield f'{part}the topology "{constraint.topology}" does not exist'
        return
    for kind, level in (("required", constraint.required), ("preferred", constraint.preferred)):
        if level and level not in topology.levels and level not in topology.aliases:
            yield f'{part}the topology "{topology.name}" does not have the {kind} level "{level}"; KAI only logs that'


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


def _free_room(nodes: Sequence[Node], shortage: Shortage) -> Iterator[str]:
    """Yield the free amounts of the first resource that lacks, the largest first, after all gangs are placed."""
    names = [name for name, _ in shortage.missing]
    resource = GPU if GPU in names else next(iter(names), GPU)
    ordered = sorted(nodes, key=lambda node: (-_free_amount(node, resource), node.name))
    free = [node for node in ordered if _free_amount(node, resource) > 0]
    shown = [f"{amount_text(resource, _free_amount(node, resource))} of {node.name}" for node in free[:SHOWN_NODES]]
    if len(free) > SHOWN_NODES:
        shown.append(f"and {count_text(len(free) - SHOWN_NODES, 'more node')}")
    full = len(ordered) - len(free)
    if free:
        rest = f"; {count_text(full, 'node')} {'is' if full == 1 else 'are'} full" if full else ""
        yield f"free there: {', '.join(shown)}{rest}"
    elif shortage.fitting_pods:
        yield "gangs that are placed after it fill this room"
