"""Node pools: each has its own scheduler for the nodes, queues and jobs of its pool.

Source: spec/kai.md#8; KAI Scheduler v0.17.0, pkg/scheduler/conf and cache/cluster_info.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from packwise.schedulers.kai.allocate.scene import QueueShare, Scene


def has_pools(scene: Scene) -> bool:
    """Return True if anything of the scene is in a node pool."""
    key = scene.pool_label
    return bool(key) and (
        any(job.pool for job in scene.jobs)
        or any(queue.pool for queue in scene.queues)
        or any(key in node.labels for node in scene.nodes)
    )


def scene_in_pool(scene: Scene, pool: str) -> Scene:
    """Return the part of the scene that the scheduler of a pool sees. "" is the pool of objects without a label."""
    if not has_pools(scene):
        return scene
    wanted = pool or None
    nodes = tuple(node for node in scene.nodes if node.labels.get(scene.pool_label) == wanted)
    names = {node.name for node in nodes}
    absent = absent_queues(scene.queues, pool)
    return scene.replace(
        nodes=nodes,
        queues=tuple(queue for queue in scene.queues if queue.name not in absent),
        jobs=tuple(job for job in scene.jobs if job.pool == pool),
        residents=tuple(pod for pod in scene.residents if pod.node in names),
        absent_queues=absent,
    )


def absent_queues(queues: Iterable[QueueShare], pool: str) -> frozenset[str]:
    """Return the names of queues that do not exist for a pool: queues of other pools and queues below them."""
    listed = list(queues)
    absent = {queue.name for queue in listed if queue.pool != pool}
    while below := {queue.name for queue in listed if queue.parent in absent} - absent:
        absent |= below
    return frozenset(absent)
