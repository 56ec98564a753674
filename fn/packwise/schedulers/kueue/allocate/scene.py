"""The frozen input of Kueue's scheduler: nodes, flavors, queues, running Workloads, and the jobs to admit.

Amounts are whole numbers by Kubernetes' resource name: millicores of `cpu`, bytes of `memory`, units of all others.
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
"""The request of one pod: the amounts above 0 by resource, sorted."""

Path = tuple[str, ...]
"""A domain: the label values of its levels, broadest first."""

FlavorResource = tuple[str, str]
"""The names of a flavor and of one of its resources."""


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
    """A ResourceFlavor. `topology` is the name of its Topology, or ""."""

    name: str
    labels: Mapping[str, str] = {}
    taints: tuple[Taint, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    topology: str = ""


class Quota(Record):
    """The quota of a resource in a flavor. A limit of None means no limit."""

    nominal: int = 0
    borrowing: int | None = None
    lending: int | None = None


class ResourceGroup(Record):
    """The resources of a resource group, and its flavors in the order in which Kueue tries them."""

    covered_resources: tuple[str, ...]
    flavors: tuple[str, ...]


class ClusterQueue(Record):
    """A ClusterQueue. `cohort` is the name of its Cohort, or "".

    `selector` are the requirements for the labels of a namespace, or None if no namespace is selected. `is_stopped` is
    true if its `stopPolicy` stops it. `faults` are the reasons why its checks or cohorts make it inactive. `checks` are
    the AdmissionChecks that place pods later or in another cluster. `notes` are about settings that are not simulated.
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
        """Return the resource group that covers a resource, or None."""
        return next((group for group in self.groups if resource in group.covered_resources), None)

    @property
    def flavors(self) -> tuple[str, ...]:
        """Return the names of all flavors, each once."""
        return tuple(dict.fromkeys([flavor for group in self.groups for flavor in group.flavors]))


class Cohort(Record):
    """A Cohort with its own quotas. `parent` is the Cohort above it, or ""."""

    name: str
    parent: str = ""
    quotas: Mapping[FlavorResource, Quota] = {}


class LocalQueue(Record):
    """A LocalQueue. If `namespace` is empty, it may be any namespace."""

    namespace: str
    name: str
    cluster_queue: str
    is_stopped: bool = False


class PodSet(Record):
    """Pods of one template. `count` is their number, and `min_count` the minimum if Kueue may admit fewer, or None.

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
    """A job with one Workload. `created` is the time of creation, or "" if the job is not in the cluster yet."""

    namespace: str
    name: str
    queue: str
    sets: tuple[PodSet, ...]
    priority: int = 0
    created: str = ""


class PlacedPods(Record):
    """Pods with one request in one leaf domain. `path` has only the host, or the values of all levels."""

    path: Path
    request: PodRequest
    count: int  # pyright: ignore[reportIncompatibleMethodOverride]


class Workload(Record):
    """A Workload that has quota. `usage` is its use of quotas, and `placed` are its pods with a domain, by flavor.

    `owners` are the kinds and names of its owners. `sets` lists the domains of each pod set with their numbers of pods.
    """

    namespace: str
    name: str
    cluster_queue: str
    usage: Mapping[FlavorResource, int] = {}
    placed: tuple[tuple[str, PlacedPods], ...] = ()
    owners: tuple[tuple[str, str], ...] = ()
    sets: tuple[tuple[str, tuple[tuple[Path, int], ...]], ...] = ()


class Scene(Record):
    """The complete input of Kueue's scheduler. `topologies` maps each Topology to its levels.

    `namespaces` maps each known Namespace to its labels. `bound_pods` are the pods that Kueue does not place, each as
    its node and its request.
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
    """Return the request with 1 of the resource `pods`, which each pod uses on its node."""
    return tuple(sorted((*((name, amount) for name, amount in request if name != PODS), (PODS, 1))))
