"""Values that the steps of a render hand to each other: the cluster, what becomes of a workload, objects to write."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.findings import Finding
    from packwise.objects.generated import Generated
    from packwise.placement.model import Node
    from packwise.revisions import Revision
    from packwise.topology import ClusterTopology
    from packwise.topology.status import Condition

__all__ = [
    "Cluster",
    "Placement",
    "Schedulers",
    "WorkloadPlan",
]


class Schedulers(NamedTuple):
    """The schedulers that Grove's operator is configured for, and the one of pods that name none."""

    names: tuple[str, ...]
    default: str


class Cluster(NamedTuple):
    """What is known of the cluster that is rendered for.

    `enabled`: whether TAS is. `domains`: the configuration's domains, in its own order. `topologies`: every
    topology by name. `auto_mnnvl`: the operator's network.autoMNNVLEnabled; `knows_mnnvl`: whether anything says so.
    `schedulers`: where the revision has them.
    `makes_topologies`: whether the operator makes the scheduler's topology objects. `revision_before`: the one that the
    baseline was written for, None where it is not known to be another. `nodes` are the Node objects that are known.
    """

    revision: Revision
    enabled: bool = False
    domains: tuple[str, ...] = ()
    topologies: Mapping[str, ClusterTopology] = {}
    auto_mnnvl: bool = False
    knows_mnnvl: bool = True
    schedulers: Schedulers | None = None
    makes_topologies: bool = True
    revision_before: Revision | None = None
    nodes: tuple[Mapping[str, Value], ...] = ()


class Placement(NamedTuple):
    """One node of the model, handed to the schedulers.

    `source` says in words what the node is made from, `subject` is that object; `notes` are annotations of the objects
    written for it, their keys without the prefix `packwise.dev/`. `emit_by_default`: the objects are written where
    `spec.emit` is not set, whatever kinds are the default.
    """

    node: Node
    source: str
    subject: KubeObject
    notes: Mapping[str, str] = {}
    emit_by_default: bool = False


class WorkloadPlan(NamedTuple):
    """What becomes of one workload. With an error among `findings` there is nothing to write.

    `topology` is the name of the ClusterTopology that it is placed by, None where it asks for no place. `notes` are
    annotations of the workload itself, their keys without the prefix `packwise.dev/`; None: it has none of that key.
    `entries` is how much the placements count towards the run's limit, None where the front end did not count them.
    `previews` are objects that another operator makes of the workload, for review.
    """

    workload: KubeObject
    findings: tuple[Finding, ...] = ()
    placements: tuple[Placement, ...] = ()
    conditions: tuple[Condition, ...] = ()
    topology: str | None = None
    notes: Mapping[str, str | None] = {}
    entries: int | None = None
    previews: tuple[Generated, ...] = ()
