"""Schedulers: the objects that each reads and writes from the placement model, and its refusals."""

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
    """The input of a scheduler's objects: the placements of all workloads, and the topologies that there are.

    `inventory` has the users' own objects of the scheduler's kinds, `definitions` their CRDs.
    """

    placements: tuple[Placement, ...]
    topologies: KnownTopologies
    cluster: Cluster
    inventory: Inventory
    definitions: Definitions
    settings: TopologyRender


class SchedulerObjects(Record):
    """The objects of a scheduler and its findings.

    `refusals` maps refused topologies to the answer of its API server. `conditions` are for users' objects with
    topologies, if the revision has any besides Ready. `workloads` are the workloads that the scheduler checks without a
    front end.
    """

    generated: tuple[Generated, ...] = ()
    findings: tuple[Finding, ...] = ()
    refusals: Mapping[str, str] = {}
    conditions: Mapping[KubeObject, tuple[Condition, ...]] = {}
    workloads: tuple[KubeObject, ...] = ()


class Scheduler(Protocol):
    """A scheduler writes objects of its own kinds from the placement model.

    The methods here are defaults for schedulers without fixes or older versions.
    """

    def objects(self, source: SchedulerInput) -> SchedulerObjects:
        """Return its objects for every placement and topology, with its refusals of these and of users' objects."""
        ...

    def fix(self, item: KubeObject, cluster: Cluster, settings: TopologyRender) -> KubeObject:  # noqa: ARG002
        """Return `item` with the changes that the scheduler's rendered objects need, or `item` itself.

        Raise FieldError if an anchor or alias prevents a change.
        """
        return item

    def migrate(self, item: KubeObject) -> KubeObject:
        """Return one of its own objects in the API version that every known release serves, or another object
        unchanged.

        Raise FieldError if an anchor or alias prevents it.
        """
        return item


class QueuedPodsOf(Protocol):
    """Finds the pods that a scheduler queues and places itself, of workloads that no front end hands to it."""

    def __call__(
        self, inventory: Inventory, topologies: KnownTopologies, settings: TopologyRender
    ) -> Iterable[QueuedPods]:
        """Yield the sets of pods. `topologies` are all that workloads can name, and are rendered for this scheduler
        too.
        """
        ...


class NodePoolsOf(Protocol):
    """Finds the node pools of a scheduler that runs once for each of them."""

    def __call__(self, index: Index, placements: Iterable[Placement]) -> tuple[NodePool, ...]:
        """Return the node pools, the default one first, or () if nothing in the input is in a pool."""
        ...
