"""What a session starts from: nodes, topologies, queues, and jobs with their pods; all frozen.

Amounts are whole numbers by Kubernetes' resource name: millicores of `cpu`, bytes of `memory`, else units.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "CPU",
    "DEFAULT_POD_SET",
    "GPU",
    "MEMORY",
    "PODS",
    "Constraint",
    "Job",
    "KaiTopology",
    "Node",
    "Pod",
    "PodRules",
    "QueueShare",
    "Request",
    "Scene",
    "SubGroup",
    "Taint",
    "Toleration",
]

GPU = "nvidia.com/gpu"
CPU = "cpu"
MEMORY = "memory"
PODS = "pods"

DEFAULT_POD_SET = "default"
"""The name that KAI gives to the pods of a job without subgroups."""

Request = tuple[tuple[str, int], ...]
"""What a pod asks for, by resource, sorted; only amounts above 0. It takes one of `pods` too."""


class Taint(NamedTuple):
    """A taint of a node."""

    key: str
    value: str
    effect: str


class Toleration(NamedTuple):
    """A toleration of a pod; an empty `key` tolerates every key, an empty `effect` every effect."""

    key: str
    operator: str
    value: str
    effect: str


class Node(NamedTuple):
    """A node; `used` is what its pods take, their number included.

    `unready` are KAI's reasons against a node by its conditions.
    """

    name: str
    labels: Mapping[str, str]
    allocatable: Mapping[str, int]
    used: Mapping[str, int] = {}
    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()
    unready: tuple[str, ...] = ()


class KaiTopology(NamedTuple):
    """A topology: node label keys, broadest first. `aliases` are other names of levels (v0.17)."""

    name: str
    levels: tuple[str, ...]
    aliases: Mapping[str, str] = {}


class QueueShare(NamedTuple):
    """GPUs of a queue: those that pods which cannot be preempted may take, and those that all of its pods may."""

    name: str
    gpu_quota: float | None = None
    gpu_limit: float | None = None


class Constraint(NamedTuple):
    """The topology constraint of a job or a subgroup; "" where a level is not given."""

    topology: str
    required: str = ""
    preferred: str = ""


class SubGroup(NamedTuple):
    """A part of a job. That of pods has `min_members`, that of subgroups `min_sub_groups` (None: all of them)."""

    name: str
    parent: str | None = None
    min_members: int | None = None
    min_sub_groups: int | None = None
    constraint: Constraint | None = None


class PodRules(NamedTuple):
    """What else a pod asks of its node: `spec.nodeSelector`, required node affinity, tolerations.

    `affinity` are the terms, of which one must hold; each is a tuple of (key, operator, values), which all must hold.
    None: no affinity is required.
    """

    selector: tuple[tuple[str, str], ...] = ()
    affinity: tuple[tuple[tuple[str, str, tuple[str, ...]], ...], ...] | None = None
    tolerations: tuple[Toleration, ...] = ()


class Pod(NamedTuple):
    """A pod of a job, in the subgroup `sub_group` ("" in a job without any); `node` is where it runs already."""

    name: str
    request: Request
    sub_group: str = ""
    node: str = ""
    rules: PodRules = PodRules()


class Job(NamedTuple):
    """A gang as KAI reads it from a PodGroup. Jobs are listed in order of creation.

    `priority` of 100 and more cannot be preempted. With `sub_groups`, `min_members` means nothing.
    """

    name: str
    queue: str
    priority: int
    pods: tuple[Pod, ...]
    sub_groups: tuple[SubGroup, ...] = ()
    min_members: int = 1
    min_sub_groups: int | None = None
    constraint: Constraint | None = None
    namespace: str = "ns"


class Scene(NamedTuple):
    """All that a session starts from."""

    nodes: tuple[Node, ...]
    topologies: tuple[KaiTopology, ...]
    queues: tuple[QueueShare, ...]
    jobs: tuple[Job, ...]
