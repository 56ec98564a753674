"""The queues of a session: what the pods of each use, and which bound a job would exceed.

A queue's use counts for all queues above it too. Source: spec/placement.md#9; KAI Scheduler, proportion plugin.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.schedulers.kai.allocate.fit_errors import missing_queue, over_limit, over_quota
from packwise.schedulers.kai.allocate.scene import CPU, GPU, MEMORY, QueueShare
from packwise.schedulers.kai.allocate.state import gpus_of, gpus_taken

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from packwise.schedulers.kai.allocate.fit_errors import FitError
    from packwise.schedulers.kai.allocate.scene import Job, Node, Pod, Scene, Share

__all__ = ["Queues", "existing_queues", "requests_of", "usage_of"]

_CHECKED = (CPU, MEMORY, GPU)
"""The resources that a queue bounds, in KAI's order."""


class Queues:
    """The queues of a scene and their use, by resource. `used` is by name of the queue, ancestors included."""

    def __init__(self, scene: Scene) -> None:
        self._by_name = existing_queues(scene.queues)
        self._has_all = scene.has_all_queues
        self._parents = {queue.parent for queue in scene.queues if queue.name in self._by_name}
        self._nodes = {node.name: node for node in scene.nodes}
        self._memory = max((node.gpu_memory for node in scene.nodes if node.has_gpu_memory), default=0)
        self.used: dict[str, dict[str, float]] = {name: {} for name in self._by_name}
        self._kept: dict[str, dict[str, float]] = {name: {} for name in self._by_name}
        for queue in self._by_name.values():
            for above in self._lineage(queue.name):
                _add(self.used[above.name], queue.used)
                _add(self._kept[above.name], queue.kept)

    def missing(self, name: str) -> FitError | None:
        """The error of a job whose queue does not exist."""
        return missing_queue(name) if self._has_all and name not in self._by_name else None

    def is_tried(self, name: str) -> bool:
        """True if KAI tries the jobs of the queue: it exists, and no queue is below it."""
        return self.missing(name) is None and name not in self._parents

    def refusal(self, job: Job, pods: Sequence[Pod]) -> FitError | None:
        """The bound of its queue, or of one above, that the pods of the job would exceed."""
        asked = requests_of(pods, self._memory)
        lineage = list(self._lineage(job.queue))
        for queue in lineage:
            for name in _CHECKED:
                limit, used = _share(queue, name).limit, self.used[queue.name].get(name, 0)
                if asked[name] and limit is not None and used + asked[name] > limit:
                    return over_limit(queue.title or queue.name, name, limit, used, asked[name])
        for queue in lineage if job.is_kept else ():
            for name in _CHECKED:
                quota, kept = _share(queue, name).quota, self._kept[queue.name].get(name, 0)
                if asked[name] and quota is not None and kept + asked[name] > quota:
                    return over_quota(queue.title or queue.name, name, quota, kept, asked[name])
        return None

    def count(self, job: Job, placed: Iterable[tuple[Pod, str]]) -> None:
        """Takes in that the pods of the job run on these nodes."""
        asked = usage_of([(pod, self._nodes[node]) for pod, node in placed if node in self._nodes])
        names = [queue.name for queue in self._lineage(job.queue)] or [job.queue]
        for name in names:
            _add(self.used.setdefault(name, {}), asked)
            if job.is_kept:
                _add(self._kept.setdefault(name, {}), asked)

    def _lineage(self, name: str) -> Iterator[QueueShare]:
        """The queue and those above it; none where nobody knows it."""
        seen: set[str] = set()
        queue = self._by_name.get(name)
        while queue is not None and queue.name not in seen:
            seen.add(queue.name)
            yield queue
            queue = self._by_name.get(queue.parent)


def existing_queues(queues: Iterable[QueueShare]) -> dict[str, QueueShare]:
    """The queues by name, without those below a queue that does not exist: KAI drops them."""
    known = {queue.name: queue for queue in queues}
    while orphans := [queue.name for queue in known.values() if queue.parent and queue.parent not in known]:
        for name in orphans:
            del known[name]
    return known


def requests_of(pods: Iterable[Pod], gpu_memory: int) -> dict[str, float]:
    """The sum of the pods' requests of the resources that queues bound; `gpu_memory` is that of the largest GPU."""
    asked: dict[str, float] = dict.fromkeys(_CHECKED, 0)
    for pod in pods:
        for name, amount in pod.request:
            if name in (CPU, MEMORY):
                asked[name] += amount
        asked[GPU] += gpus_of(pod, gpu_memory)
    return asked


def usage_of(placed: Iterable[tuple[Pod, Node]]) -> dict[str, float]:
    """The sum of what pods use, on their nodes, of the resources that queues bound."""
    taken: dict[str, float] = dict.fromkeys(_CHECKED, 0)
    for pod, node in placed:
        for name, amount in pod.request:
            if name in (CPU, MEMORY):
                taken[name] += amount
        taken[GPU] += gpus_taken(pod, node)
    return taken


def _share(queue: QueueShare, name: str) -> Share:
    return queue.gpu if name == GPU else queue.cpu if name == CPU else queue.memory


def _add(total: dict[str, float], amounts: Mapping[str, float]) -> None:
    for name, amount in amounts.items():
        total[name] = total.get(name, 0) + amount
