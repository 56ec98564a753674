"""The protocol between the pipeline and a front end: an API of workloads."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from krmfn.kubeobject import KubeObject
    from packwise.objects import Inventory
    from packwise.placement import Cluster, Omission, WorkloadPlan
    from packwise.revisions.grove import Revision, Step
    from packwise.settings import TopologyRender
    from packwise.topology.known import KnownTopologies, ListedTopology, Use
    from packwise.validate import Definitions

__all__ = ["FrontEnd", "OmissionsOf"]


class OmissionsOf(Protocol):
    """Finds values that are missing in the objects of a front end's workloads, and says why."""

    def __call__(
        self, plans: Sequence[WorkloadPlan], inventory: Inventory, cluster: Cluster, settings: TopologyRender
    ) -> Iterable[tuple[WorkloadPlan, Omission]]:
        """The omissions of those of `plans`, which have no error, that are the front end's; each with its plan."""
        ...


class FrontEnd(Protocol):
    """A front end reads its own kinds of workloads: read → default → rules → placement."""

    def plans(
        self, inventory: Inventory, cluster: Cluster, settings: TopologyRender, definitions: Definitions
    ) -> Iterable[WorkloadPlan]:
        """The plan of each of its workloads, in order of namespace and name."""
        ...

    def mend(self, item: KubeObject, revision: Revision, settings: TopologyRender) -> KubeObject:
        """One of its workloads with what can be mended without a decision; anything else as it is.

        Raises FieldError where an anchor or alias is in the way.
        """
        ...

    def migrate(self, item: KubeObject, step: Step) -> KubeObject:
        """One of its workloads in the words of the step's later revision; anything else as it is.

        Raises FieldError where an anchor or alias is in the way, or a comment could not stay.
        """
        ...

    def uses(self, inventory: Inventory, settings: TopologyRender, revision: Revision) -> Iterable[Use]:
        """The topology that each of its workloads uses: named, by default, or none."""
        ...

    def topologies(
        self, inventory: Inventory, settings: TopologyRender, revision: Revision, known: KnownTopologies
    ) -> Iterable[ListedTopology]:
        """The topologies that its workloads choose from, in order of name; also those that a render would refuse."""
        ...
