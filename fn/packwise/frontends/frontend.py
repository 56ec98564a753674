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


class FindOmissions(Protocol):
    """A function that finds requests of workloads that no generated object carries, with the reasons."""

    def __call__(
        self, plans: Sequence[WorkloadPlan], inventory: Inventory, cluster: Cluster, settings: TopologyRender
    ) -> Iterable[tuple[WorkloadPlan, Omission]]:
        """Yield each omission of `plans`, with its plan. `plans` are the front end's plans without errors."""
        ...


class Recognition(Protocol):
    """The module that recognizes the documents of another tool, which are not Kubernetes objects.

    In a file, such a document is a whole YAML document. In a ResourceList, it is inside a ConfigMap with a label.
    Source: spec/osmo.md#input.
    """

    KEYS: tuple[str, ...]
    """Every document of the tool has at least one of these keys, at any depth."""

    def is_document(self, value: Value) -> bool:
        """Return True if `value`, a YAML document, is a document of the tool."""
        ...

    def may_be_document(self, text: str) -> bool:
        """Return True if `text` may be a document of the tool although it is not valid YAML."""
        ...

    def document_places(self, inventory: Inventory) -> Sequence[object]:
        """Return the places of the documents in the input."""
        ...


class FrontEnd(Protocol):
    """A front end reads workloads of its own kinds, in four steps: read → default → rules → placement.

    The bodies here are defaults for a front end that has no fixes, no differences between releases or no topologies.
    """

    def plans(
        self, inventory: Inventory, cluster: Cluster, settings: TopologyRender, definitions: Definitions
    ) -> Iterable[WorkloadPlan]:
        """Return the plan of each workload of its kinds, in the order of namespace and name."""
        ...

    def fix(self, item: KubeObject, revision: Revision, settings: TopologyRender) -> KubeObject:  # noqa: ARG002
        """Return a workload with safe fixes applied, or `item` itself if there are none.

        Raise FieldError if an anchor or alias prevents a fix.
        """
        return item

    def migrate(self, item: KubeObject, step: Step) -> KubeObject:  # noqa: ARG002
        """Return a workload in the form of the later revision of `step`. Other objects are returned unchanged.

        Raise FieldError if an anchor or alias prevents the change, or if a comment would be lost.
        """
        return item

    def uses(self, inventory: Inventory, settings: TopologyRender, revision: Revision) -> Iterable[Use]:
        """Return the topology of each workload of its kinds: the topology that it names, the default, or none."""
        ...

    def topologies(
        self,
        inventory: Inventory,  # noqa: ARG002
        settings: TopologyRender,  # noqa: ARG002
        revision: Revision,  # noqa: ARG002
        known: KnownTopologies,  # noqa: ARG002
    ) -> Iterable[ListedTopology]:
        """Return the topologies that workloads of this front end can name, by name. Include invalid topologies."""
        return ()
