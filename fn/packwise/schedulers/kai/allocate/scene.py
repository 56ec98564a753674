"""The frozen input of a session: nodes, topologies, queues, and jobs with their pods.

Amounts are whole numbers by Kubernetes' resource name: millicores of `cpu`, bytes of `memory`, else units.
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
"""The name that KAI gives to the pods of a job without subgroups."""

_GPU_MEMORY = "nvidia.com/gpu.memory"
_TIB_IN_MIB = 1 << 20
_MIB = 1 << 20

NOT_PREEMPTIBLE = 100
"""The lowest priority of pods that are not preempted."""

Request = tuple[tuple[str, int], ...]
"""The request of a pod by resource, sorted, with only amounts above 0. The pod also uses one of `pods`."""

CountedRequest = tuple[tuple[str, float], ...]
"""A request that includes shared portions of GPUs."""


class Node(Record):
    """A node. `used` is the sum of its pods with their number. GPUs that pods share are only in `shared`.

    `unready` are KAI's reasons against a node by its conditions. `shared` maps each group of a shared GPU to its used
    memory in KAI's measure. `mig` is the strategy that slices its GPUs: "none" if unnamed, or "" without slices.
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
        """True if a label states the memory of a GPU."""
        return self._labelled_memory is not None

    @property
    def gpu_memory(self) -> int:
        """Return the memory of each GPU that KAI uses to count shares: MiB in hundreds, or 100 without a label."""
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
    """A topology: node label keys, broadest first. `aliases` are other names of levels (v0.17)."""

    name: str
    levels: tuple[str, ...]
    aliases: Mapping[str, str] = {}


class Share(Record):
    """An amount of one resource of a queue, or None if unbounded.

    `quota` applies to non-preemptible pods and `limit` to all pods. `weight` divides the rest.
    """

    quota: float | None = None
    limit: float | None = None
    weight: float = 1.0


class QueueShare(Record):
    """A queue below `parent` with its shares: millicores, bytes and GPUs. Messages use its `title`.

    `pool` is its node pool, or "".

    `used` are the shares of pods in other PodGroups. `kept` are the shares of non-preemptible ones among them.
    """

    name: str
    gpu: Share = Share()
    cpu: Share = Share()
    memory: Share = Share()
    parent: str = ""
    title: str = ""
    priority: int = 100
    used: Mapping[str, float] = {}
    kept: Mapping[str, float] = {}
    pool: str = ""


class LevelConstraint(Record):
    """The topology constraint of a job or a subgroup. A level is "" if not set."""

    topology: str
    required: str = ""
    preferred: str = ""


class SubGroupInfo(Record):
    """A part of a job. A part with pods has `min_members`. A part with subgroups has `min_sub_groups`, or None for
    all.
    """

    name: str
    parent: str | None = None
    min_members: int | None = None
    min_sub_groups: int | None = None
    constraint: LevelConstraint | None = None


class AffinityTerm(Record):
    """A required term about the pods that `selector` selects in `namespaces` ("*" means all).

    `selector` is None if the term selects no pod.
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
    """A pod's constraints on its node: `spec.nodeSelector`, required node affinity, tolerations, ports, other pods.

    One term of `affinity` must hold, with all its requirements. It is None without required affinity. All terms of
    `near` and `apart` must hold: they require or exclude other pods.
    """

    selector: tuple[tuple[str, str], ...] = ()
    affinity: tuple[NodeTerm, ...] | None = None
    tolerations: tuple[Toleration, ...] = ()
    ports: tuple[HostPort, ...] = ()
    near: tuple[AffinityTerm, ...] = ()
    apart: tuple[AffinityTerm, ...] = ()


class GpuPortion(Record):
    """The request for shares of `devices` GPUs: a `portion` of each, or `memory` in MiB unless it is 0."""

    devices: int
    portion: float
    memory: int = 0


class Pod(Record):
    """A pod of a job in the subgroup `sub_group`, or "" without subgroups. `node` is the node on which it runs already.

    A pod with a `share` of GPUs requests no whole one. It `is_gated` by a scheduling gate. `lacks` are KAI's texts
    about missing objects that the pod needs.
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
    """A gang as KAI reads it from a PodGroup. Jobs are listed in order of creation. `pool` is its node pool.

    A job with a `priority` of 100 or more cannot be preempted. With `sub_groups`, `min_members` is ignored.
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
    def is_kept(self) -> bool:
        """True if the job cannot be preempted."""
        return self.priority >= NOT_PREEMPTIBLE

    @property
    def constraints(self) -> list[tuple[str, LevelConstraint]]:
        """Return the constraints with a topology, each with its subgroup or "" for the whole job."""
        parts = [("", self.constraint), *((group.name, group.constraint) for group in self.sub_groups)]
        return [(name, constraint) for name, constraint in parts if constraint is not None and constraint.topology]


class Scene(Record):
    """The complete input of a session.

    `residents` are the pods outside jobs, with their nodes, for their ports and labels. The nodes include their use.
    With `has_all_queues`, a queue outside `queues` does not exist. Otherwise it is unbounded. With `names_taints`,
    messages name the taint, as in KAI before v0.17. `pool_label` is the label of node pools, or "" for a single pool.
    `absent_queues` are queues that do not exist for the pool of the scene. With `has_departments`, queues count as in
    KAI before v0.13.
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
        """The topology of that name."""
        return next((topology for topology in self.topologies if topology.name == name), None)


# Node pools: each has its own scheduler for the nodes, queues and jobs of its pool.
# Source: spec/kai.md#8; KAI Scheduler v0.17.0, pkg/scheduler/conf and cache/cluster_info.


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
