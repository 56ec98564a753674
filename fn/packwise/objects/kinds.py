"""The kinds of objects that packwise reads and writes: one table, in the order in which a reader needs them.

Source: spec/packwise.md#1, spec/gitops.md, spec/kai.md, spec/kueue.md#5, spec/grove.md#9 and #10.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krmfn.value import Value

__all__ = [
    "CLUSTER_SCOPED",
    "CLUSTER_TOPOLOGY",
    "CLUSTER_TOPOLOGY_BINDING",
    "DYNAMO_GRAPH",
    "GENERATED",
    "KINDS",
    "KUEUE_TOPOLOGY",
    "PODGANG",
    "PODGANG_MAP",
    "PODGROUP",
    "POD_CLIQUE_SET",
    "QUEUE",
    "RESOURCE_FLAVOR",
    "TOPOLOGY",
    "VOLCANO_PODGROUP",
    "WORKLOADS",
    "Kind",
    "kind_of",
    "kind_of_object",
]


class Kind(NamedTuple):
    """One kind of object, and everything that depends on nothing but the kind."""

    group: str
    """API group; "" is the core group."""

    name: str
    """`kind` as manifests spell it."""

    version: str = "v1alpha1"
    """The API version that packwise writes."""

    cluster_scoped: bool = False
    """Whether objects have no namespace."""

    write_order: int | None = None
    """Place among the generated objects; None: packwise generates none."""

    before_workloads: bool = False
    """Whether an object must be there before a workload that names it: Grove's webhook and KAI look for it."""

    folder: str = "workloads"
    """Folder of generated objects, below `packwise/`."""

    immutable: bool = False
    """Whether the API server refuses every change of the spec, so that an object is deleted and created instead."""

    server_filled: tuple[tuple[str, ...], ...] = ()
    """Fields below `spec` that controllers fill in; a second step is a field of each entry of a list."""

    checked_by_crd: bool = True
    """Whether the cluster's own CRD, where it is at hand, judges the objects."""

    compared: bool = True
    """Whether `packwise diff` compares the objects: they are what the scheduler reads."""

    title: str = ""
    """What packwise calls the kind in its settings and files, where another one has the same name; else its name."""

    written_with: str = ""
    """The word of `spec.emit` that writes its objects, where that is another kind's."""

    previewed: bool = False
    """Whether what is rendered of an object is for review only: an operator in the cluster makes and owns it."""

    @property
    def api_version(self) -> str:
        """`apiVersion` as manifests spell it."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def word(self) -> str:
        """What packwise calls the kind where names must be unique."""
        return self.title or self.name

    @property
    def emitted(self) -> str:
        """The word of `spec.emit` that writes objects of the kind."""
        return self.written_with or self.word

    @property
    def key(self) -> tuple[str, str]:
        """Group and name, by which objects of all versions are the same kind."""
        return self.group, self.name


CLUSTER_TOPOLOGY = Kind(
    "grove.io", "ClusterTopology", cluster_scoped=True, write_order=0, before_workloads=True, folder="topologies"
)
CLUSTER_TOPOLOGY_BINDING = Kind(
    "grove.io", "ClusterTopologyBinding", cluster_scoped=True, before_workloads=True, folder="topologies"
)
TOPOLOGY = Kind(
    "kai.scheduler",
    "Topology",
    cluster_scoped=True,
    write_order=2,
    before_workloads=True,
    folder="topologies",
    immutable=True,
)
KUEUE_TOPOLOGY = Kind(
    "kueue.x-k8s.io",
    "Topology",
    "v1beta2",
    cluster_scoped=True,
    write_order=TOPOLOGY.write_order,
    before_workloads=True,
    folder="topologies",
    title="KueueTopology",
)
RESOURCE_FLAVOR = Kind(
    "kueue.x-k8s.io",
    "ResourceFlavor",
    "v1beta2",
    cluster_scoped=True,
    write_order=TOPOLOGY.write_order,
    before_workloads=True,
    folder="topologies",
    written_with=KUEUE_TOPOLOGY.word,
)
QUEUE = Kind(
    "scheduling.run.ai",
    "Queue",
    "v2",
    cluster_scoped=True,
    write_order=1,
    before_workloads=True,
    folder="queues",
    checked_by_crd=False,
)
POD_CLIQUE_SET = Kind("grove.io", "PodCliqueSet", write_order=3, compared=False)
PODGANG = Kind("scheduler.grove.io", "PodGang", write_order=4, server_filled=(("podgroups", "podReferences"),))
PODGROUP = Kind(
    "scheduling.run.ai",
    "PodGroup",
    "v2alpha2",
    write_order=5,
    server_filled=(("markUnschedulable",), ("schedulingBackoff",)),
)
VOLCANO_PODGROUP = Kind("scheduling.volcano.sh", "PodGroup", "v1beta1", write_order=PODGROUP.write_order)
POD = Kind("", "Pod", "v1", write_order=6, checked_by_crd=False)
PODGANG_MAP = Kind("grove.io", "PodGangMap", compared=False)
DYNAMO_GRAPH = Kind("nvidia.com", "DynamoGraphDeployment", "v1beta1", compared=False, previewed=True)

KINDS = (
    CLUSTER_TOPOLOGY,
    CLUSTER_TOPOLOGY_BINDING,
    TOPOLOGY,
    KUEUE_TOPOLOGY,
    RESOURCE_FLAVOR,
    QUEUE,
    PODGANG,
    PODGROUP,
    VOLCANO_PODGROUP,
    POD,
    POD_CLIQUE_SET,
    PODGANG_MAP,
    DYNAMO_GRAPH,
)
"""All kinds; what others refer to comes first."""

WORKLOADS = (POD_CLIQUE_SET, DYNAMO_GRAPH)
"""The kinds of users' workloads."""

GENERATED = tuple(kind for kind in KINDS if kind.write_order is not None)
"""The kinds that packwise generates."""

CLUSTER_SCOPED = frozenset([kind.name for kind in KINDS if kind.cluster_scoped])
"""Names of kinds without a namespace; one that a client stamps on their objects does not count."""

_BY_KEY = {kind.key: kind for kind in KINDS}
_BY_NAME = {kind.name: kind for kind in reversed(KINDS)}


def kind_of(name: str) -> Kind:
    """The first kind of that name. Raises KeyError where the table has none."""
    return _BY_NAME[name]


def kind_of_object(value: Mapping[str, Value]) -> Kind:
    """The kind of an object. Raises KeyError where the table has none."""
    group, slash, _ = str(value["apiVersion"]).partition("/")
    return _BY_KEY[group if slash else "", str(value["kind"])]
