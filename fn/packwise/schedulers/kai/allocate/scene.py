"""The frozen input of a session: nodes, topologies, queues, and jobs with their pods.

Amounts are whole numbers by Kubernetes' resource name: millicores of `cpu`, bytes of `memory`, units of all others.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING, Record
from packwise.kubernetes import parse_natural

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from packwise.schedulers.node_selection import LabelRequirement, NodeTerm, Taint, Toleration

GPU = "nvidia.com/gpu"
CPU = "cpu"
MEMORY = "memory"
PODS = "pods"

DEFAULT_POD_SET = "default"
"""The name that KAI gives to the pod set of a job without subgroups."""

_GPU_MEMORY = "nvidia.com/gpu.memory"
_TIB_IN_MIB = 1 << 20
_MIB = 1 << 20

NOT_PREEMPTIBLE = 100
"""The lowest priority of a job that cannot be preempted."""

Request = tuple[tuple[str, int], ...]
"""The request of a pod: the amounts above 0 by resource, sorted. The resource `pods` is not listed, but always 1."""

CountedRequest = tuple[tuple[str, float], ...]
"""A request that includes shared portions of GPUs."""


class Node(Record):
    """A node. `used` is the sum of its pods' requests, and counts the pods as `pods`. It excludes shared GPUs.

    `unready` are the reasons why KAI rejects the node for its conditions. `shared` maps the group of each shared GPU to
    its used memory, in the unit of `gpu_memory`. `mig` is the MIG strategy: "none" if the node has slices but no label
    names the strategy, or "" if it has no slices.
    """

    name: str
    labels: Mapping[str, str]
    allocatable: Mapping[str, int]
    used: Mapping[str, int] = {}
    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()
    unready: tuple[str, ...] = ()
    shared: Mapping[str, int] = {}
    mig: str = ""

    @property
    def has_gpu_memory(self) -> bool:
        """Return True if a label of the node states the memory of a GPU."""
        return self._labelled_memory is not None

    @property
    def gpu_memory(self) -> int:
        """Return the memory of each GPU as KAI counts it for shares.

        It is in MiB, rounded down to hundreds. Without a label it is 100, and a unit is a hundredth of the GPU.
        """
        return 100 if self._labelled_memory is None else self._labelled_memory

    @property
    def _labelled_memory(self) -> int | None:
        memory = parse_natural(self.labels.get(_GPU_MEMORY, ""))
        if memory is None:
            return None
        # GPU feature discovery wrote bytes for a while.
        memory = memory if memory < _TIB_IN_MIB else memory // _MIB
        return memory - memory % 100


class KaiTopology(Record):
    """A topology. `levels` are its node labels, broadest first. `aliases` maps aliases to node labels (v0.17)."""

    name: str
    levels: tuple[str, ...]
    aliases: Mapping[str, str] = {}


class Share(Record):
    """A queue's share of one resource. An amount is None if it is unlimited.

    `quota` applies to non-preemptible pods, and `limit` to all pods. Queues share the resources beyond their quotas in
    proportion to `weight`.
    """

    quota: float | None = None
    limit: float | None = None
    weight: float = 1.0


class QueueShare(Record):
    """A queue below `parent`, with its shares of GPUs, CPU (millicores) and memory (bytes). Messages use its `title`.

    `pool` is its node pool, or "".

    `used` are the resources that pods of other PodGroups use. `non_preemptible` is the part of it for pods that cannot
    be preempted.
    """

    name: str
    gpu: Share = Share()
    cpu: Share = Share()
    memory: Share = Share()
    parent: str = ""
    title: str = ""
    priority: int = 100
    used: Mapping[str, float] = {}
    non_preemptible: Mapping[str, float] = {}
    pool: str = ""


class LevelConstraint(Record):
    """The topology constraint of a job or a subgroup. A level is "" if not set."""

    topology: str
    required: str = ""
    preferred: str = ""


class SubGroupInfo(Record):
    """A subgroup of a job. A leaf needs `min_members` pods.

    An inner subgroup needs `min_sub_groups` of its subgroups, or all of them if the number is None.
    """

    name: str
    parent: str | None = None
    min_members: int | None = None
    min_sub_groups: int | None = None
    constraint: LevelConstraint | None = None


class AffinityTerm(Record):
    """A required term of pod affinity or anti-affinity. It is about the pods that `selector` selects in `namespaces`.

    The namespace "*" stands for all namespaces. `selector` is None if the term selects no pod.
    """

    topology_key: str
    selector: tuple[LabelRequirement, ...] | None
    namespaces: tuple[str, ...]


class HostPort(Record):
    """A host port of a pod. An empty `address` or 0.0.0.0 stands for every address."""

    port: int
    protocol: str
    address: str


class PodRules(Record):
    """A pod's rules for its node. `selector` is its `spec.nodeSelector`.

    A node must match one term of `node_affinity`, unless it is None. All terms of `pod_affinity` and
    `pod_anti_affinity` must hold.
    """

    selector: tuple[tuple[str, str], ...] = ()
    node_affinity: tuple[NodeTerm, ...] | None = None
    tolerations: tuple[Toleration, ...] = ()
    ports: tuple[HostPort, ...] = ()
    pod_affinity: tuple[AffinityTerm, ...] = ()
    pod_anti_affinity: tuple[AffinityTerm, ...] = ()


class GpuPortion(Record):
    """A request for a share of each of `devices` GPUs.

    The share is `memory` in MiB, or the `portion` of the GPU if `memory` is 0.
    """

    devices: int
    portion: float
    memory: int = 0


class Pod(Record):
    """A pod of a job. `sub_group` is its subgroup, or "" for a job without subgroups.

    `node` is the node on which the pod runs already, or "". A pod with a `share` of GPUs requests no whole GPU.
    `is_gated` is true if the pod has a scheduling gate. `lacks` are KAI's texts about missing objects that it needs.
    """

    name: str
    request: Request
    sub_group: str = ""
    node: str = ""
    rules: PodRules = PodRules()
    labels: Mapping[str, str] = {}
    namespace: str = ""
    share: GpuPortion | None = None
    is_gated: bool = False
    lacks: tuple[str, ...] = ()


class Job(Record):
    """A gang, as KAI reads it from a PodGroup. `pool` is its node pool, or "".

    A job with a `priority` of 100 or more cannot be preempted. If there are `sub_groups`, `min_members` is ignored.
    """

    name: str
    queue: str
    priority: int
    pods: tuple[Pod, ...]
    sub_groups: tuple[SubGroupInfo, ...] = ()
    min_members: int = 1
    min_sub_groups: int | None = None
    constraint: LevelConstraint | None = None
    namespace: str = "ns"
    pool: str = ""

    @property
    def is_non_preemptible(self) -> bool:
        """Return True if the job cannot be preempted."""
        return self.priority >= NOT_PREEMPTIBLE

    @property
    def constraints(self) -> list[tuple[str, LevelConstraint]]:
        """Return the constraints that name a topology, each after the name of its subgroup, or "" for the whole job."""
        parts = [("", self.constraint), *((group.name, group.constraint) for group in self.sub_groups)]
        return [(name, constraint) for name, constraint in parts if constraint is not None and constraint.topology]


class Scene(Record):
    """The complete input of a session.

    `jobs` are in the order of creation. `residents` are the running pods outside jobs. The used amounts of the nodes
    already include their requests, but their ports and labels matter too. With `has_all_queues`, a queue that is not in
    `queues` does not exist. Otherwise such a queue has no limits. With `names_taints`, messages name the taint, as in
    KAI before v0.17. `pool_label` is the label of node pools, or "" for a single pool. `absent_queues` are the queues
    that do not exist for the pool of the scene. With `has_departments`, only queues with a parent have jobs, as in KAI
    before v0.13.
    """

    nodes: tuple[Node, ...]
    topologies: tuple[KaiTopology, ...]
    queues: tuple[QueueShare, ...]
    jobs: tuple[Job, ...]
    residents: tuple[Pod, ...] = ()
    has_all_queues: bool = False
    names_taints: bool = False
    has_departments: bool = False
    pool_label: str = ""
    absent_queues: frozenset[str] = frozenset()

    def topology(self, name: str) -> KaiTopology | None:
        """Return the topology `name`. Return None if it does not exist."""
        return next((topology for topology in self.topologies if topology.name == name), None)


# Node pools: each pool has its own scheduler for its nodes, queues and jobs.
# Source: spec/kai.md#8; KAI Scheduler v0.17.0, pkg/scheduler/conf and cache/cluster_info.


def has_pools(scene: Scene) -> bool:
    """Return True if a job, queue or node of the scene is in a node pool."""
    key = scene.pool_label
    return bool(key) and (
        any(job.pool for job in scene.jobs)
        or any(queue.pool for queue in scene.queues)
        or any(key in node.labels for node in scene.nodes)
    )


def scene_in_pool(scene: Scene, pool: str) -> Scene:
    """Return the part of the scene that the scheduler of `pool` sees. The pool "" holds the objects without a label."""
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
