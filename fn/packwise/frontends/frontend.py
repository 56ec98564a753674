"""The protocol between the pipeline and a front end, the reader of one workload API."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.objects.index import Inventory
    from packwise.placement import Cluster, Omission, WorkloadPlan
    from packwise.revisions.grove import Revision, Step
    from packwise.settings.topologyrender import TopologyRender
    from packwise.topology.known import KnownTopologies, ListedTopology, Use
    from packwise.validate.crds import Definitions


class OmissionsOf(Protocol):
    """Find missing values in the objects of a front end's workloads, with the reason."""

    def __call__(
        self, plans: Sequence[WorkloadPlan], inventory: Inventory, cluster: Cluster, settings: TopologyRender
    ) -> Iterable[tuple[WorkloadPlan, Omission]]:
        """Yield the omissions of the front end's `plans` without errors, each with its plan."""
        ...


class Recognition(Protocol):
    """The module that recognizes the documents of another tool, which are not Kubernetes objects.

    In files, they are documents of their own. In a ResourceList, each is inside a ConfigMap with a label. Source:
    spec/osmo.md#input.
    """

    KEYS: tuple[str, ...]
    """Every document of the front end has one of these keys, at any depth."""

    def is_document(self, value: Value) -> bool:
        """True if a YAML document is one of the tool's."""
        ...

    def may_be_document(self, text: str) -> bool:
        """Return True if a text that is not valid YAML may still be a document of this front end."""
        ...

    def document_places(self, inventory: Inventory) -> Sequence[object]:
        """Return the places of the documents in the input."""
        ...


class FrontEnd(Protocol):
    """A front end reads its own kinds of workloads: read → default → rules → placement.

    The methods here are defaults for front ends without fixes, without release differences or without topologies.
    """

    def plans(
        self, inventory: Inventory, cluster: Cluster, settings: TopologyRender, definitions: Definitions
    ) -> Iterable[WorkloadPlan]:
        """The plan of each of its workloads, in order of namespace and name."""
        ...

    def fix(self, item: KubeObject, revision: Revision, settings: TopologyRender) -> KubeObject:  # noqa: ARG002
        """Return a workload with safe fixes applied, or `item` itself if there are none.

        Raise FieldError if an anchor or alias prevents a fix.
        """
        return item

    def migrate(self, item: KubeObject, step: Step) -> KubeObject:  # noqa: ARG002
        """Return one of its workloads in the step's later revision. Other objects are returned unchanged.

        Raise FieldError if an anchor or alias prevents it or a comment cannot be kept.
        """
        return item

    def uses(self, inventory: Inventory, settings: TopologyRender, revision: Revision) -> Iterable[Use]:
        """Return the topology of each of its workloads: a named one, the default, or none."""
        ...

    def topologies(
        self,
        inventory: Inventory,  # noqa: ARG002
        settings: TopologyRender,  # noqa: ARG002
        revision: Revision,  # noqa: ARG002
        known: KnownTopologies,  # noqa: ARG002
    ) -> Iterable[ListedTopology]:
        """Return the topologies that its workloads choose from, by name. It includes invalid topologies."""
        return ()
