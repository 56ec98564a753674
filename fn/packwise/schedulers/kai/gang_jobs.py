"""The jobs, topologies and queues of KAI's session, from the gangs of a render and the cluster.

Source: spec/placement.md#1, spec/grove.md#10.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING, Record
from packwise.keys import KAI_QUEUE
from packwise.lenient import mapping_at, text_at
from packwise.objects.kinds import QUEUE, TOPOLOGY
from packwise.placement import Gang, GangPod, Grouper, NodeTopology, Queue
from packwise.schedulers.kai.allocate.scene import Job, KaiTopology, LevelConstraint, QueueShare, Share, SubGroupInfo
from packwise.schedulers.kai.installation import installation_of
from packwise.schedulers.kai.podgroup import DEFAULT_QUEUE, listed_sets
from packwise.schedulers.kai.podgroup_rules import read_topology
from packwise.schedulers.kai.pods import Manifest, read_pod, texts_at, with_objects
from packwise.schedulers.kai.snapshot import Priorities, priorities, queue_share
from packwise.schedulers.kai.topology import MissingBindingError, topology_names
from packwise.schedulers.simulation import TooManyPodsError
from packwise.settings.topologyrender import KAI_PROFILE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from krmfn.kubeobject import KubeObject
    from packwise.placement import Bounds, Placement, PodSet
    from packwise.schedulers import SchedulerInput
    from packwise.schedulers.kai.allocate.scene import Pod
    from packwise.schedulers.kai.snapshot import BoundPod, Snapshot

MAX_PODS = 500_000
"""The largest number of pods that a simulation places."""

_NEEDED = (
    ("", "ConfigMap"),
    ("", "PersistentVolumeClaim"),
    ("", "Namespace"),
    ("node.k8s.io", "RuntimeClass"),
)
"""The kinds of objects that pods need. They are read from the input too."""

_PRIORITY = 50
"""The priority of a gang if neither its PriorityClass nor a default class is known."""

CHART_CLASSES = {"inference": 125, "build": 100, "build-preemptible": 75, "train": 50}
"""The PriorityClasses of KAI's chart. Source: KAI Scheduler, deployments/kai-scheduler."""

_UNNAMED_CLASS = "train"
"""The PriorityClass that KAI's pod-grouper gives a PodGroup if the workload names none."""


class GangJob(Record):
    """A gang and its job in KAI's session. `notes` name the facts that the answer ignores."""

    gang: Gang
    job: Job
    notes: tuple[str, ...] = ()

    def with_number(self, number: int) -> GangJob:
        """Return one of the gangs that `gang.alike` counts, with its job. Both names end with `number`."""
        name = f"{self.gang.name}-{number}"
        return self.replace(gang=self.gang.replace(name=name, alike=1), job=self.job.replace(name=name))


def is_of_kai(gang: Gang) -> bool:
    """Return True if KAI schedules the gang."""
    return gang.scheduler in ("", KAI_PROFILE)


def gang_jobs(source: SchedulerInput, snapshot: Snapshot) -> tuple[GangJob, ...]:
    """Return the jobs of all gangs that KAI schedules, in the order of creation.

    Raise TooManyPodsError if the gangs have more than MAX_PODS pods together.
    """
    topology_of = topology_names(source)
    manifests: dict[str, list[GangPod]] = {}
    for placement in source.placements:
        if isinstance(placement.node, GangPod):
            manifests.setdefault(placement.node.gang, []).append(placement.node)
    running: dict[tuple[str, str, str], list[BoundPod]] = {}
    for bound in snapshot.pods:
        if bound.gang and not bound.is_ending:
            running.setdefault((bound.pod.namespace, bound.gang, bound.pod_set), []).append(bound)
    make = _Jobs(source, snapshot, running)
    pool_label = installation_of(source.inventory.items).pool_label
    jobs: list[GangJob] = []
    total = 0
    for placement in source.placements:
        gang = placement.node
        if not isinstance(gang, Gang) or not is_of_kai(gang):
            continue
        total += gang.alike * sum(_size(pods) for pods in gang.leaves)
        if total > MAX_PODS:
            raise TooManyPodsError(f"the gangs have more than {MAX_PODS} pods together")
        try:
            topology = topology_of(gang)
        except MissingBindingError:
            topology = gang.topology
        job = make.job(gang, topology, manifests.get(gang.name, []))
        job = job.replace(job=job.job.replace(pool=pool_of(placement, gang, pool_label)))
        jobs += [job] if gang.alike == 1 else [job.with_number(number) for number in range(gang.alike)]
    return tuple(jobs)


def pool_of(placement: Placement, gang: Gang, pool_label: str) -> str:
    """Return the node pool of a gang's PodGroup, or "".

    A label of the gang names the pool. If KAI makes the PodGroup, a label of the workload or of its pods may also name
    it.
    """
    own = gang.labels.get(pool_label)
    if own is not None or gang.grouper in (Grouper.OPERATOR, Grouper.SERVICE):
        return own or ""
    # KAI's pod-grouper gives the PodGroup of a PodGang the labels of the workload, and then the labels of a pod.
    of_owner = texts_at(placement.subject.value, "metadata", "labels") if gang.grouper is Grouper.SCHEDULER else {}
    labels = [of_owner, *[leaf.labels for leaf in gang.leaves]]
    return next((each[pool_label] for each in labels if pool_label in each), "")


class _Jobs:
    """Makes the jobs of all gangs from the input and the cluster."""

    def __init__(
        self, source: SchedulerInput, snapshot: Snapshot, running: Mapping[tuple[str, str, str], Sequence[BoundPod]]
    ) -> None:
        items = source.inventory.items
        self._running = running
        self._known = with_objects(
            snapshot.known_objects,
            {kind: [item.value for item in items.of_kind(group, kind)] for group, kind in _NEEDED},
        )
        written = priorities([item.value for item in items.of_kind("scheduling.k8s.io", "PriorityClass")])
        existing = snapshot.priorities
        self._has_all_classes = existing is not None
        existing = Priorities(CHART_CLASSES) if existing is None else existing
        self._classes = {**existing.by_name, **written.by_name}
        default = existing.default if written.default is None else written.default
        self._default = _PRIORITY if default is None else default

    def job(self, gang: Gang, topology: str, manifests: Sequence[GangPod]) -> GangJob:
        """Return the job of a gang. `manifests` are its pods if a service submits them itself."""
        notes: dict[str, None] = {}
        pods: list[Pod] = []
        for manifest in manifests:
            value = manifest.value
            labels, annotations = texts_at(value, "metadata", "labels"), texts_at(value, "metadata", "annotations")
            template = Manifest(gang.namespace, mapping_at(value, "spec"), labels, annotations)
            pod, ignored = read_pod(text_at(value, "metadata", "name"), template, self._known)
            pods.append(pod.replace(sub_group=manifest.pod_set or ""))
            notes |= {f"its pods {note}": None for note in ignored}
        for leaf in gang.leaves if not manifests else ():
            here = self._running.get((gang.namespace, gang.name, leaf.name), ())[: _size(leaf)]
            pods += [bound.pod.replace(sub_group=leaf.name) for bound in here]
            template = Manifest(gang.namespace, leaf.pod_spec or {}, _labels(gang, leaf), leaf.annotations)
            pod, ignored = read_pod("", template, self._known)
            fresh = pod.replace(sub_group=leaf.name if leaf.is_named else "")
            # KAI orders pods by UID, and UIDs are random. Pods of one set are equal, so the order does not matter.
            pods += [fresh.replace(name=f"{leaf.name}-{index:06}") for index in range(len(here), _size(leaf))]
            notes |= {f'pods of "{leaf.name}" {note}': None for note in ignored}
        name = gang.priority_class or (_UNNAMED_CLASS if gang.grouper is Grouper.SCHEDULER else "")
        if gang.priority_class and not self._has_all_classes and gang.priority_class not in self._classes:
            notes[
                f'the PriorityClass "{gang.priority_class}" is not in the cluster\'s objects; packwise assumes the '
                f"value {self._default}"
            ] = None
        job = Job(
            name=gang.name,
            queue=gang.queue or DEFAULT_QUEUE,
            priority=self._classes.get(name, self._default),
            pods=tuple(pods),
            sub_groups=tuple(_sub_groups(gang, topology)),
            min_members=gang.members or 1,
            min_sub_groups=gang.needed,
            constraint=_constraint(gang.bounds, topology),
            namespace=gang.namespace,
        )
        return GangJob(gang, job, tuple(notes))


def _size(leaf: PodSet) -> int:
    return (leaf.members or 0) if leaf.replicas is None else leaf.replicas


def _labels(gang: Gang, leaf: PodSet) -> Mapping[str, str]:
    """Return the labels of the pods of a leaf, with the labels that Grove adds. Source: Grove, podclique/pod.go."""
    if not gang.is_of_operator:
        return leaf.labels
    replica = leaf.name.removeprefix(f"{gang.workload}-").partition("-")[0]
    return {
        **leaf.labels,
        "app.kubernetes.io/managed-by": "grove-operator",
        "app.kubernetes.io/name": leaf.name,
        "app.kubernetes.io/part-of": gang.workload,
        "grove.io/podclique": leaf.name,
        "grove.io/podcliqueset-replica-index": replica,
        "grove.io/podgang": gang.name,
        KAI_QUEUE: gang.queue or DEFAULT_QUEUE,
    }


def _sub_groups(gang: Gang, topology: str) -> Iterator[SubGroupInfo]:
    for pods in listed_sets(gang):
        constraint = _constraint(pods.bounds, pods.topology or topology)
        yield SubGroupInfo(pods.name, pods.parent, pods.members, pods.needed, constraint)


def _constraint(bounds: Bounds | None, topology: str) -> LevelConstraint | None:
    if bounds is None or bounds.is_empty or not topology:
        return None
    required, preferred = bounds.required, bounds.preferred
    return LevelConstraint(
        topology, "" if required is None else required.key, "" if preferred is None else preferred.key
    )


def topologies(source: SchedulerInput, generated: Iterable[KubeObject], snapshot: Snapshot) -> tuple[KaiTopology, ...]:
    """Return the topologies, sorted by name.

    They are the Topologies of the cluster, the topologies that workloads can name, services' topologies, rendered
    Topologies and users' Topologies. If two have the same name, the later one in this list counts.
    """
    by_name = {topology.name: topology for topology in snapshot.topologies}
    for name, known in source.topologies.by_name.items():
        by_name[name] = KaiTopology(name, tuple(level.key for level in known.topology.levels))
    for placement in source.placements:
        if isinstance(placement.node, NodeTopology):
            by_name[placement.node.name] = KaiTopology(placement.node.name, placement.node.keys)
    users = source.inventory.items.of_kind(*TOPOLOGY.key)
    for item in (*(item for item in generated if item.kind == TOPOLOGY.name), *users):
        by_name[item.name] = read_topology(item.value)
    return tuple(by_name[name] for name in sorted(by_name))


def queues(source: SchedulerInput, existing: Iterable[QueueShare] = ()) -> tuple[QueueShare, ...]:
    """Return the queues, sorted by name.

    They are the `existing` queues of the cluster, the Queues of the input, and the queues of services. If two have the
    same name, the later one in this list counts.
    """
    by_name = {queue.name: queue for queue in existing}
    pool_label = installation_of(source.inventory.items).pool_label
    for item in source.inventory.items.of_kind(*QUEUE.key):
        written = queue_share(item.value, pool_label)
        by_name[written.name] = written
    for placement in source.placements:
        node = placement.node
        if isinstance(node, Queue):
            quota, limit = node.gpu.quota, node.gpu.limit
            gpu = Share(None if quota < 0 else float(quota), None if limit < 0 else float(limit), node.gpu.weight)
            pool = node.labels.get(pool_label, "")
            by_name[node.name] = QueueShare(node.name, gpu=gpu, parent=node.parent or "", pool=pool)
    return tuple(by_name[name] for name in sorted(by_name))
