"""The reasons why KAI does not place a job, in packwise's words.

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


class JobContext(Record):
    """The context of a job.

    `whole_scene` is the start of KAI's session. `scene` is the part of it for the job's node pool, and `queues` are the
    queues there. `final_nodes` are the pool's nodes after all gangs are placed. `words` maps the node labels of levels
    to domains such as `rack`.
    """

    scene: Scene
    words: Mapping[str, str]
    final_nodes: FinalNodes
    whole_scene: Scene
    queues: Queues


class FinalNodes:
    """The nodes of a pool after all gangs are placed.

    Many gangs lack room in the same domains, so each result is kept for the next gang.
    """

    def __init__(self, nodes: Iterable[Node]) -> None:
        self._nodes = tuple(nodes)
        self._outside: dict[str, Outside] = {}
        self._domains: dict[tuple[str, str], dict[str, list[Node]]] = {}
        self._room: dict[tuple[str, str, str, str], str] = {}

    def outside(self, topology: KaiTopology) -> Outside:
        """Return the nodes that lack a label of the topology.

        Nodes that are cordoned or not ready count only if every node lacks a label.
        """
        if topology.name not in self._outside:
            nodes = [node for node in self._nodes if not _has_levels(node, topology)]
            if len(nodes) < len(self._nodes):
                nodes = [node for node in nodes if not node.unschedulable and not node.unready]
            self._outside[topology.name] = Outside(nodes, topology, len(self._nodes))
        return self._outside[topology.name]

    def in_domain(self, topology: KaiTopology, shortage: Shortage) -> Sequence[Node]:
        """Return the nodes of the shortage's domain."""
        key = topology.name, shortage.level
        if key not in self._domains:
            self._domains[key] = _nodes_by_domain(self._nodes, topology, shortage.level)
        return self._domains[key].get(shortage.domain, ())

    def free_room(self, topology: KaiTopology, shortage: Shortage) -> str:
        """Return a text that lists the nodes of the shortage's domain with free GPUs. Return "" if no GPU is free.

        If GPUs are not missing, the text is about the first missing resource.
        """
        names = [name for name, _ in shortage.missing]
        resource = GPU if GPU in names else next(iter(names), GPU)
        key = topology.name, shortage.level, shortage.domain, resource
        if key not in self._room:
            self._room[key] = _free_room(self.in_domain(topology, shortage), resource)
        return self._room[key]


class Outside:
    """The `nodes` that lack a label of a topology. `total` is the number of all nodes."""

    def __init__(self, nodes: Sequence[Node], topology: KaiTopology, total: int) -> None:
        self._nodes = nodes
        self.reason = _unlabelled_nodes(nodes, topology, total) if nodes else ""
        self._free: dict[str, int] = {}

    def have_free(self, missing: Sequence[tuple[str, float]]) -> bool:
        """Return True if the nodes have the missing amounts free."""
        return all(self._free_amount(name) >= amount for name, amount in missing)

    def _free_amount(self, resource: str) -> int:
        if resource not in self._free:
            self._free[resource] = sum(max(0, _free_amount(node, resource)) for node in self._nodes)
        return self._free[resource]


def reasons_of(job: Job, answer: JobAnswer, shortage: Shortage | None, context: JobContext) -> Iterator[str]:
    """Yield the reasons why pods of the job are not placed, or nothing if all are placed."""
    if answer.state == "allocated":
        return
    gated = sum(pod.is_gated and not pod.node for pod in job.pods)
    if gated:
        yield f"scheduling gates hold {count_text(gated, 'pod')} back, and KAI does not try to place them"
    elif answer.state == "notready":
        yield "the gang needs more pods than exist, and KAI does not try to place it"
    yield from _queue_reasons(job, context)
    for name, constraint in job.constraints:
        yield from _logged_mistakes(name, constraint, context.scene)
    if shortage is not None:
        yield from _shortage_reasons(job, shortage, context)


def _shortage_reasons(job: Job, shortage: Shortage, context: JobContext) -> Iterator[str]:
    """Yield the reasons for a shortage: unlabelled nodes, the missing resources, the free resources in its domain."""
    words, final_nodes = context.words, context.final_nodes
    topology = context.scene.topology(shortage.topology)
    outside = None if topology is None else final_nodes.outside(topology)
    if outside is not None and outside.reason:
        yield outside.reason
        if outside.have_free(shortage.missing):
            return
    part = "" if shortage.sub_group in ("", DEFAULT_POD_SET) else f" of {shortage.sub_group}"
    word = level_word(words, shortage.level)
    where = "the cluster" if shortage.domain == ROOT else f"{word} {shortage.domain}"
    pods = count_text(shortage.requested_pods, "pod")
    if not shortage.is_counted:
        yield (
            f"{pods}{part} must be in one {word}, and {where} may have room. KAI counts free resources only "
            "within the smallest domain that holds all candidate nodes, and does not see the room. Add a preferred "
            f"level: {word}, or a finer one"
        )
        return
    is_bound = shortage.level != "" and any(
        name == shortage.sub_group and constraint.required == shortage.level for name, constraint in job.constraints
    )
    need = (
        f"{pods}{part} must be in one {word}; the closest fit, {shortage.domain},"
        if is_bound
        else (f"{pods}{part} need room; the cluster")
    )
    lacking = amount_list(shortage.missing) or "nothing by KAI's sums"
    if shortage.fitting_pods is None:
        yield f"{need} lacks {lacking} for all of them together"
    else:
        yield f"{need} has room for {shortage.fitting_pods or 'none'}: it lacks {lacking}"
    if topology is not None and is_bound and final_nodes.in_domain(topology, shortage):
        free = final_nodes.free_room(topology, shortage)
        if free:
            yield free
        elif shortage.fitting_pods:
            yield "gangs that are placed later fill this room"


def _pool_text(pool: str) -> str:
    return f'the node pool "{pool}"' if pool else "the default node pool"


def _queue_reasons(job: Job, context: JobContext) -> Iterator[str]:
    """Yield the reasons why KAI does not try the job: its node pool or its queue prevents it."""
    scene, every, queues = context.scene, context.whole_scene, context.queues
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
    """Return True if the node has a label for each level of the topology."""
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


def _logged_mistakes(name: str, constraint: LevelConstraint, scene: Scene) -> Iterator[str]:
    """Yield a text about each unknown topology or level in the constraint of the part `name`.

    KAI only logs an unknown level.
    """
    part = f"{name}: " if name else ""
    topology = scene.topology(constraint.topology)
    if topology is None:
        yield f'{part}the topology "{constraint.topology}" does not exist'
        return
    for kind, level in (("required", constraint.required), ("preferred", constraint.preferred)):
        if level and level not in topology.levels and level not in topology.aliases:
            yield f'{part}the topology "{topology.name}" does not have the {kind} level "{level}"; KAI only logs that'


def _nodes_by_domain(nodes: Iterable[Node], topology: KaiTopology, level: str) -> dict[str, list[Node]]:
    """Map the id of each domain of `level` to its nodes. Return {} if the topology has no such level."""
    if level not in topology.levels:
        return {}
    keys = topology.levels[: topology.levels.index(level) + 1]
    by_domain: dict[str, list[Node]] = {}
    for node in nodes:
        if _has_levels(node, topology):
            by_domain.setdefault(".".join([node.labels[key] for key in keys]), []).append(node)
    return by_domain


def _free_room(nodes: Iterable[Node], resource: str) -> str:
    """Return a text that lists the nodes with a free amount of a resource, the largest first, or "" without one."""
    ordered = sorted(nodes, key=lambda node: (-_free_amount(node, resource), node.name))
    free = [node for node in ordered if _free_amount(node, resource) > 0]
    if not free:
        return ""
    shown = [f"{amount_text(resource, _free_amount(node, resource))} of {node.name}" for node in free[:SHOWN_NODES]]
    if len(free) > SHOWN_NODES:
        shown.append(f"and {count_text(len(free) - SHOWN_NODES, 'more node')}")
    full = len(ordered) - len(free)
    rest = f"; {count_text(full, 'node')} {'is' if full == 1 else 'are'} full" if full else ""
    return f"free there: {', '.join(shown)}{rest}"
