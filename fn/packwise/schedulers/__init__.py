"""The interface of a scheduler: it makes its objects and findings from the placement model."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING, Protocol, Record

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from krmfn.kubeobject import KubeObject
    from packwise.findings import Finding
    from packwise.objects.index import Generated, Index, Inventory
    from packwise.placement import Cluster, NodePool, Placement, QueuedPods
    from packwise.settings.topologyrender import TopologyRender
    from packwise.topology.known import Condition, KnownTopologies
    from packwise.validate.crds import Definitions


class SchedulerInput(Record):
    """The input from which a scheduler makes its objects and findings.

    `placements` are the placements of all workloads. `topologies` are the topologies that workloads can name.
    `inventory` holds the objects of the input, and `definitions` holds its CRDs. If `checks_pods` is false, a scheduler
    does not check the pods of workloads without a front end.
    """

    placements: tuple[Placement, ...]
    topologies: KnownTopologies
    cluster: Cluster
    inventory: Inventory
    definitions: Definitions
    settings: TopologyRender
    checks_pods: bool = True


class SchedulerObjects(Record):
    """The objects that a scheduler writes, and its findings.

    `refusals` maps the name of each refused topology to the API server's error. `conditions` maps users' objects with a
    topology to their conditions other than Ready, if the revision has such conditions. `workloads` are the workloads
    that the scheduler checks itself, because no front end reads them.
    """

    generated: tuple[Generated, ...] = ()
    findings: tuple[Finding, ...] = ()
    refusals: Mapping[str, str] = {}
    conditions: Mapping[KubeObject, tuple[Condition, ...]] = {}
    workloads: tuple[KubeObject, ...] = ()


class Scheduler(Protocol):
    """A scheduler writes objects of its own kinds from the placement model.

    By default, `fix` and `migrate` return the object unchanged.
    """

    def objects(self, source: SchedulerInput) -> SchedulerObjects:
        """Return the scheduler's objects for all placements and topologies.

        The findings are about these objects and about users' objects.
        """
        ...

    def fix(self, item: KubeObject, cluster: Cluster, settings: TopologyRender) -> KubeObject:  # noqa: ARG002
        """Return `item` with the changes that the scheduler's rendered objects need, or `item` itself.

        Raise FieldError if an anchor or alias prevents a change.
        """
        return item

    def migrate(self, item: KubeObject) -> KubeObject:
        """Return an object of the scheduler's kinds in the API version that every known release serves.

        Return any other object unchanged. Raise FieldError if an anchor or alias prevents the change.
        """
        return item


class QueuedPodsOf(Protocol):
    """Finds the pods that a scheduler queues and places itself. No front end reads their workloads."""

    def __call__(
        self, inventory: Inventory, topologies: KnownTopologies, settings: TopologyRender
    ) -> Iterable[QueuedPods]:
        """Return the sets of pods. `topologies` are the topologies that workloads can name."""
        ...


class NodePoolsOf(Protocol):
    """Finds the node pools of a scheduler. One instance of the scheduler runs for each pool."""

    def __call__(self, index: Index, placements: Iterable[Placement]) -> tuple[NodePool, ...]:
        """Return the node pools, the default pool first. Return () if no object of the input is in a pool."""
        ...
