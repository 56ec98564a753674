"""What runs and waits in a cluster beside the gangs: what it uses of queues, and what of it is not counted.

Source: spec/placement.md#9.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.schedulers.kai.allocate.queues import existing_queues, taken_of
from packwise.schedulers.kai.allocate.scene import NOT_PREEMPTIBLE
from packwise.schedulers.kai.snapshot import Priorities

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from packwise.schedulers.kai.allocate.scene import QueueShare, Scene
    from packwise.schedulers.kai.allocate.session import JobAnswer
    from packwise.schedulers.kai.gang_jobs import GangJob
    from packwise.schedulers.kai.snapshot import BoundPod, Group, Snapshot

__all__ = ["evictable", "eviction_notes", "noted", "with_use"]

_PRIORITY = 50
_NODE_POOL = "kai.scheduler/node-pool"


def with_use(queues: Sequence[QueueShare], others: Iterable[BoundPod], snapshot: Snapshot) -> tuple[QueueShare, ...]:
    """The queues with what pods of other PodGroups use of them."""
    nodes = {node.name: node for node in snapshot.nodes}
    used: dict[str, dict[str, float]] = {}
    kept: dict[str, dict[str, float]] = {}
    for bound in others:
        if not bound.group or bound.is_ending:
            continue
        asked = taken_of([(bound.pod, nodes[bound.node])])
        for total in (used, kept) if _is_kept(bound, snapshot) else (used,):
            own = total.setdefault(_queue(bound, snapshot), {})
            for name, amount in asked.items():
                own[name] = own.get(name, 0) + amount
    return tuple([
        queue._replace(used=used.get(queue.name, {}), kept=kept.get(queue.name, {})) for queue in queues
    ])  # fmt: skip


def evictable(others: Iterable[BoundPod], snapshot: Snapshot) -> int:
    """How many other PodGroups run that KAI may evict."""
    return len({
        (bound.pod.namespace, bound.group)
        for bound in others
        if bound.group and not bound.is_ending and not _is_kept(bound, snapshot)
    })  # fmt: skip


def eviction_notes(answer: JobAnswer, groups: int) -> Iterator[str]:
    """That KAI may make room for a job that does not fit."""
    if answer.state == "pending" and groups:
        yield (
            f"nothing is evicted here; KAI's preempt, reclaim and consolidation may make room: "
            f"{_count(groups, 'running PodGroup')} can be evicted"
        )


def noted(gangs: Sequence[GangJob], scene: Scene, snapshot: Snapshot) -> tuple[GangJob, ...]:
    """The gangs, each with notes about what the cluster decides and the answer leaves out of account."""
    known = existing_queues(scene.queues)
    common = tuple(_common(gangs, snapshot))
    rivals = _rivals(gangs, known)
    return tuple([
        gang._replace(notes=(*gang.notes, *_of_queue(gang, known, rivals, snapshot), *common)) for gang in gangs
    ])  # fmt: skip


def _common(gangs: Sequence[GangJob], snapshot: Snapshot) -> Iterator[str]:
    own = {(gang.job.namespace, gang.job.name) for gang in gangs}
    waiting = {key for key in snapshot.waiting if not any(_is_of(key, gang) for gang in own)}
    if waiting:
        yield (
            f"{_count(len(waiting), 'other PodGroup')} in the cluster has pods that wait; KAI may place them first, "
            "which is not counted"
        )
    ending = sum(pod.is_ending for pod in snapshot.pods)
    if ending:
        yield (
            f"{_count(ending, 'pod')} of the cluster is being deleted and counts as running; KAI counts on its room"
            if ending == 1
            else f"{ending} pods of the cluster are being deleted and count as running; KAI counts on their room"
        )
    if any(_NODE_POOL in node.labels for node in snapshot.nodes):
        yield f"nodes are in node pools ({_NODE_POOL}), which are taken for one"


def _is_of(key: tuple[str, str], gang: tuple[str, str]) -> bool:
    """Whether the PodGroup is that of the gang: KAI's own pod-grouper puts the gang's UID behind its name."""
    namespace, name = gang
    return key == gang or (key[0] == namespace and key[1].startswith(f"pg-{name}-"))


def _of_queue(
    gang: GangJob, known: Mapping[str, QueueShare], rivals: Sequence[str], snapshot: Snapshot
) -> Iterator[str]:
    queue = gang.job.queue
    if snapshot.queues is None and queue not in known:
        yield f'the cluster\'s objects do not show the queue "{queue}": its limits and quotas are not counted'
    elif snapshot.groups is None and any(bound.group for bound in snapshot.pods) and _is_bounded(queue, known):
        yield (
            "the cluster's objects show no PodGroups: running pods count in the queues of their labels, and as pods "
            "that can be preempted"
        )
    if queue in rivals:
        others = ", ".join([f'"{name}"' for name in rivals if name != queue])
        yield (
            f'the queue "{queue}" competes with {others}: KAI decides by fair share who comes first, which is not '
            "counted"
        )


def _rivals(gangs: Iterable[GangJob], known: Mapping[str, QueueShare]) -> list[str]:
    """The queues of gangs that wait, where there are several and these, or queues above them, are not all alike."""
    waiting = sorted({gang.job.queue for gang in gangs if any(not pod.node for pod in gang.job.pods)})
    lineage = [queue for name in waiting for queue in _lineage(name, known)]
    shares = [share for queue in lineage for share in (queue.gpu, queue.cpu, queue.memory)]
    is_alike = (
        all(share.quota is None for share in shares)
        and len({(queue.gpu.weight, queue.cpu.weight, queue.memory.weight, queue.priority) for queue in lineage}) < 2
        and len({queue.parent for queue in lineage if queue.name in waiting}) < 2
    )
    return waiting if len(waiting) > 1 and not is_alike else []


def _is_bounded(name: str, known: Mapping[str, QueueShare]) -> bool:
    shares = [share for queue in _lineage(name, known) for share in (queue.gpu, queue.cpu, queue.memory)]
    return any(share.limit is not None or share.quota is not None for share in shares)


def _lineage(name: str, known: Mapping[str, QueueShare]) -> Iterator[QueueShare]:
    seen: set[str] = set()
    while name in known and name not in seen:
        seen.add(name)
        yield known[name]
        name = known[name].parent


def _of(bound: BoundPod, snapshot: Snapshot) -> Group | None:
    return (snapshot.groups or {}).get((bound.pod.namespace, bound.group))


def _queue(bound: BoundPod, snapshot: Snapshot) -> str:
    group = _of(bound, snapshot)
    return bound.queue if group is None else group.queue


def _is_kept(bound: BoundPod, snapshot: Snapshot) -> bool:
    """Whether the pod cannot be preempted."""
    group = _of(bound, snapshot)
    if group is None:
        return False
    if group.preemptibility:
        return group.preemptibility == "non-preemptible"
    classes = snapshot.priorities or Priorities()
    default = _PRIORITY if classes.default is None else classes.default
    return classes.by_name.get(group.priority_class, default) >= NOT_PREEMPTIBLE


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
