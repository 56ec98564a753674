"""The gangs of a render as the jobs of KAI's session, and the topologies that they name.

Source: placement.md 1, operator.md 10.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.kubernetes.pod_requests import pod_requests
from packwise.objects.kinds import TOPOLOGY
from packwise.placement.model import Gang, GangPod, NodeTopology, Queue
from packwise.schedulers.kai.allocate.scene import Constraint, Job, KaiTopology, Pod, QueueShare, SubGroup
from packwise.schedulers.kai.gang_podgroup import DEFAULT_QUEUE, listed_sets
from packwise.schedulers.kai.snapshot import pod_rules, priorities
from packwise.schedulers.kai.topology_names import MissingBindingError, topology_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.placement.model import Bounds, PodSet
    from packwise.schedulers.kai.snapshot import BoundPod, Snapshot
    from packwise.schedulers.scheduler import SchedulerInput

__all__ = ["MAX_PODS", "GangJob", "TooManyPodsError", "gang_jobs", "queues", "topologies"]

MAX_PODS = 500_000
"""How many pods are placed at most."""

_PREEMPTIBLE = 50
_PRIORITIES = {"inference": 125, "build": 100, "build-preemptible": 75, "train": 50}
"""The PriorityClasses that KAI's chart brings. Source: KAI Scheduler, deployments/kai-scheduler."""


class TooManyPodsError(Exception):
    """The gangs have more pods than are placed."""


class GangJob(NamedTuple):
    """A gang and the job that KAI makes of it; `notes` are what the answer leaves out of account."""

    gang: Gang
    job: Job
    notes: tuple[str, ...] = ()


def gang_jobs(source: SchedulerInput, snapshot: Snapshot) -> tuple[GangJob, ...]:
    """The jobs of all gangs that KAI schedules, in the order of creation. Raises TooManyPodsError."""
    topology_of = topology_names(source)
    manifests: dict[str, list[GangPod]] = {}
    for placement in source.placements:
        if isinstance(placement.node, GangPod):
            manifests.setdefault(placement.node.gang, []).append(placement.node)
    running: dict[tuple[str, str, str], list[BoundPod]] = {}
    for pod in snapshot.pods:
        if pod.gang:
            running.setdefault((pod.namespace, pod.gang, pod.pod_set), []).append(pod)
    classes = {**_PRIORITIES, **snapshot.priorities, **_written_priorities(source)}
    jobs: list[GangJob] = []
    total = 0
    for placement in source.placements:
        gang = placement.node
        if not isinstance(gang, Gang) or gang.scheduler not in ("", "kai-scheduler"):
            continue
        total += sum(_size(pods) for pods in gang.leaves)
        if total > MAX_PODS:
            raise TooManyPodsError(f"the gangs must have at most {MAX_PODS} pods together")
        try:
            topology = topology_of(gang)
        except MissingBindingError:
            topology = gang.topology
        priority = classes.get(gang.priority_class, _PREEMPTIBLE)
        jobs.append(_job(gang, topology, priority, manifests.get(gang.name, []), running))
    return tuple(jobs)


def _written_priorities(source: SchedulerInput) -> dict[str, int]:
    return priorities([item.value for item in source.inventory.items.of_kind("scheduling.k8s.io", "PriorityClass")])


def _job(
    gang: Gang,
    topology: str,
    priority: int,
    manifests: Sequence[GangPod],
    running: Mapping[tuple[str, str, str], list[BoundPod]],
) -> GangJob:
    notes: list[str] = []
    pods: list[Pod] = []
    if manifests:
        for manifest in manifests:
            spec = manifest.value.get("spec")
            pods.append(_pod(_name(manifest.value), spec if isinstance(spec, dict) else {}, manifest.pod_set or ""))
    for leaf in gang.leaves if not manifests else ():
        key = (gang.namespace, gang.name, leaf.name)
        spec = leaf.pod_spec or {}
        if spec.get("resourceClaims"):
            notes.append(f'pods of "{leaf.name}" claim devices, which are not counted')
        here = running.get(key, [])[: _size(leaf)]
        pods += [Pod(pod.name, pod.request, leaf.name, pod.node) for pod in here]
        fresh = _pod("", spec, leaf.name)
        # KAI takes pods by UID, which is random: pods of one set are alike, so any order says the same.
        pods += [fresh._replace(name=f"{leaf.name}-{index:06}") for index in range(len(here), _size(leaf))]
    return GangJob(
        gang,
        Job(
            gang.name,
            gang.queue or DEFAULT_QUEUE,
            priority,
            tuple(pods),
            tuple(_sub_groups(gang, topology)),
            gang.members or 1,
            None,
            _constraint(gang.bounds, topology),
            gang.namespace,
        ),
        tuple(notes),
    )


def _size(leaf: PodSet) -> int:
    return max(leaf.members or 0, leaf.replicas or 0)


def _pod(name: str, spec: Mapping[str, Value], pod_set: str) -> Pod:
    return Pod(name, tuple(pod_requests(spec).items()), pod_set, "", pod_rules(spec))


def _sub_groups(gang: Gang, topology: str) -> Iterator[SubGroup]:
    for pods in listed_sets(gang):
        yield SubGroup(pods.name, pods.parent, pods.members, None, _constraint(pods.bounds, topology))


def _constraint(bounds: Bounds | None, topology: str) -> Constraint | None:
    if bounds is None or bounds.is_empty:
        return None
    required, preferred = bounds.required, bounds.preferred
    return Constraint(topology, "" if required is None else required.key, "" if preferred is None else preferred.key)


def topologies(source: SchedulerInput, generated: Iterable[KubeObject], snapshot: Snapshot) -> tuple[KaiTopology, ...]:
    """The topologies by name: those of the cluster, of Grove's configuration, of services, and KAI's own objects."""
    by_name = {topology.name: topology for topology in snapshot.topologies}
    for name, known in source.topologies.by_name.items():
        by_name[name] = KaiTopology(name, tuple([level.key for level in known.topology.levels]))
    for placement in source.placements:
        if isinstance(placement.node, NodeTopology):
            by_name[placement.node.name] = KaiTopology(placement.node.name, placement.node.keys)
    users = source.inventory.items.of_kind(*TOPOLOGY.key)
    for item in (*(item for item in generated if item.kind == TOPOLOGY.name), *users):
        levels = item.get(("spec", "levels"))
        read = [level for level in levels if isinstance(level, dict)] if isinstance(levels, list) else []
        name = str(item.get(("metadata", "name")))
        by_name[name] = KaiTopology(
            name,
            tuple([str(level.get("nodeLabel")) for level in read]),
            {str(level["alias"]): str(level.get("nodeLabel")) for level in read if level.get("alias")},
        )
    return tuple([by_name[name] for name in sorted(by_name)])


def queues(source: SchedulerInput, snapshot: Snapshot) -> tuple[QueueShare, ...]:
    """The queues of the cluster, and those that a service makes, with their bounds."""
    by_name = {queue.name: queue for queue in snapshot.queues}
    for placement in source.placements:
        node = placement.node
        if isinstance(node, Queue):
            quota, limit = node.gpu.quota, node.gpu.limit
            by_name[node.name] = QueueShare(
                node.name, None if quota < 0 else float(quota), None if limit < 0 else float(limit)
            )
    return tuple([by_name[name] for name in sorted(by_name)])


def _name(value: Mapping[str, Value]) -> str:
    metadata = value.get("metadata")
    return str(metadata.get("name")) if isinstance(metadata, dict) else ""
