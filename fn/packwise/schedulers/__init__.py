"""Schedulers: the objects that each reads, written from the placement model, and what each refuses."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING, Protocol
from krmfn.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from krmfn.kubeobject import KubeObject
    from packwise.findings.finding import Finding
    from packwise.objects.index import Inventory
    from packwise.objects.place import Generated
    from packwise.placement import Cluster, Placement, QueuedPods
    from packwise.schedulers.kai.snapshot import Snapshot
    from packwise.schedulers.simulation import Simulation
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
    """The objects of a scheduler and what is wrong with them.

    `refusals` holds the answer of its API server by name of the topology it refuses. `conditions` are those of the
    users' objects that hold topologies, where the revision has any but Ready. `workloads` are those that the scheduler
    judges itself, without a plan of a front end.
    """

    generated: tuple[Generated, ...] = ()
    findings: tuple[Finding, ...] = ()
    refusals: Mapping[str, str] = {}
    conditions: Mapping[KubeObject, tuple[Condition, ...]] = {}
    workloads: tuple[KubeObject, ...] = ()


class Scheduler(Protocol):
    """A scheduler writes objects of its own kinds from the placement model.

    One whose objects need nothing of users' objects, or that serves one version of them, takes these methods from here.
    """

    def objects(self, source: SchedulerInput) -> SchedulerObjects:
        """Its objects for every placement and topology, and what it refuses in them and in users' own objects."""
        ...

    def mend(self, item: KubeObject, cluster: Cluster, settings: TopologyRender) -> KubeObject:  # noqa: ARG002
        """`item` with what the scheduler's rendered objects need of it; itself where they need nothing.

        Raises FieldError where an anchor or alias is in the way.
        """
        return item

    def migrate(self, item: KubeObject) -> KubeObject:
        """One of its own objects in the API version that every known release serves; anything else as it is.

        Raises FieldError where an anchor or alias is in the way.
        """
        return item


class QueuedPodsOf(Protocol):
    """Finds the pods that a scheduler queues and places itself, of workloads that no front end hands to it."""

    def __call__(
        self, inventory: Inventory, topologies: KnownTopologies, settings: TopologyRender
    ) -> Iterable[QueuedPods]:
        """The sets of pods; `topologies` are those that workloads can name, which are rendered for it too."""
        ...


class SimulationOf(Protocol):
    """Makes the simulation of a scheduler for the gangs of a render on a cluster."""

    def __call__(self, source: SchedulerInput, generated: Iterable[KubeObject], snapshot: Snapshot) -> Simulation:
        """The simulation; `generated` are the objects that the render writes. Raises TooManyPodsError."""
        ...
