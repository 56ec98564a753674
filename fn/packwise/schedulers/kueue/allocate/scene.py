"""The frozen input of Kueue's scheduler: nodes, flavors, queues, running Workloads, and the jobs to admit.

Amounts are whole numbers by Kubernetes' resource name: millicores of `cpu`, bytes of `memory`, else units.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING, Record
from packwise.schedulers.kueue.request import TopologyRequest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from packwise.schedulers.node_selection import LabelRequirement, NodeTerm, Taint, Toleration

CPU = "cpu"
PODS = "pods"

PodRequest = tuple[tuple[str, int], ...]
"""The request of one pod by resource, sorted, with only amounts above 0."""

Path = tuple[str, ...]
"""A domain, as the values of its levels from the top."""

FlavorResource = tuple[str, str]
"""A flavor and one of its resources with a quota."""


class Node(Record):
    """A node that Kueue counts: it is ready, and not cordoned."""

    name: str
    labels: Mapping[str, str]
    allocatable: Mapping[str, int]
    taints: tuple[Taint, ...] = ()


class NodeRules(Record):
    """A pod's rules for its node: the node selector, the terms of required node affinity, and tolerations."""

    selector: tuple[tuple[str, str], ...] = ()
    terms: tuple[NodeTerm, ...] | None = None
    tolerations: tuple[Toleration, ...] = ()


class Flavor(Record):
    """A ResourceFlavor. `topology` is "" if not set."""

    name: str
    labels: Mapping[str, str] = {}
    taints: tuple[Taint, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    topology: str = ""


class Quota(Record):
    """The quota of a flavor's resource. None means no limit."""

    nominal: int = 0
    borrowing: int | None = None
    lending: int | None = None


class ResourceGroup(Record):
    """Resources and their flavors, in the order of Kueue's attempts."""

    covered_resources: tuple[str, ...]
    flavors: tuple[str, ...]


class ClusterQueue(Record):
    """A ClusterQueue. `cohort` is "" if it has none.

    `selector` are the requirements on labels of a namespace, or None to select none. It is `is_stopped` if on hold.
    `faults` of its admission checks make it inactive. The `checks` place the pods later or elsewhere. `notes` are
    settings that are not simulated.
    """

    name: str
    groups: tuple[ResourceGroup, ...] = ()
    quotas: Mapping[FlavorResource, Quota] = {}
    cohort: str = ""
    selector: tuple[LabelRequirement, ...] | None = None
    is_stopped: bool = False
    faults: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def group_of(self, resource: str) -> ResourceGroup | None:
        """The resource group that covers a resource."""
        return next((group for group in self.groups if resource in group.covered_resources), None)

    @property
    def flavors(self) -> tuple[str, ...]:
        """The names of all flavors, each once."""
        return tuple(dict.fromkeys([flavor for group in self.groups for flavor in group.flavors]))


class Cohort(Record):
    """A cohort with its own quotas below `parent`, or "" for the root."""

    name: str
    parent: str = ""
    quotas: Mapping[FlavorResource, Quota] = {}


class LocalQueue(Record):
    """A LocalQueue. An empty `namespace` stands for any."""

    namespace: str
    name: str
    cluster_queue: str
    is_stopped: bool = False


class PodSet(Record):
    """Pods of one template: `count` of them, or at least `min_count` if the job may be admitted with fewer.

    `request` is the request of one pod. `notes` name the facts that Kueue ignores.
    """

    name: str
    count: int  # pyright: ignore[reportIncompatibleMethodOverride]
    request: PodRequest
    topology: TopologyRequest = TopologyRequest()
    rules: NodeRules = NodeRules()
    min_count: int | None = None
    notes: tuple[str, ...] = ()


class Job(Record):
    """A job with one Workload. `created` is "" if it is not in the cluster yet."""

    namespace: str
    name: str
    queue: str
    sets: tuple[PodSet, ...]
    priority: int = 0
    created: str = ""


class PlacedPods(Record):
    """Pods with one request in one leaf domain. `path` names its host alone, or the values of all levels."""

    path: Path
    request: PodRequest
    count: int  # pyright: ignore[reportIncompatibleMethodOverride]


class Workload(Record):
    """A Workload with quota: its use of flavors, and its pods by flavor. `owners` are the kinds and names of its
    owners.

    `sets` has the pods of each pod set by domain.
    """

    namespace: str
    name: str
    cluster_queue: str
    usage: Mapping[FlavorResource, int] = {}
    placed: tuple[tuple[str, PlacedPods], ...] = ()
    owners: tuple[tuple[str, str], ...] = ()
    sets: tuple[tuple[str, tuple[tuple[Path, int], ...]], ...] = ()


class Scene(Record):
    """The complete input of Kueue. `topologies` are the levels of each Topology.

    `bound_pods` are the requests of pods that Kueue does not place, with their number and node. `namespaces` are their
    known labels.
    """

    nodes: tuple[Node, ...]
    topologies: Mapping[str, tuple[str, ...]]
    flavors: Mapping[str, Flavor]
    local_queues: tuple[LocalQueue, ...]
    cluster_queues: Mapping[str, ClusterQueue]
    cohorts: Mapping[str, Cohort]
    namespaces: Mapping[str, Mapping[str, str]]
    jobs: tuple[Job, ...]
    workloads: tuple[Workload, ...] = ()
    bound_pods: tuple[tuple[str, PodRequest], ...] = ()


def with_pod(request: PodRequest) -> PodRequest:
    """Return the request with the pod slot that each pod uses on its node."""
    return tuple(sorted((*((name, amount) for name, amount in request if name != PODS), (PODS, 1))))
