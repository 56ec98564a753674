"""What the pipeline asks of a front end: an API of workloads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable

    from krmfn.kubeobject import KubeObject
    from packwise.migrate.step import Step
    from packwise.plan import Cluster, ListedTopology, Use, WorkloadPlan
    from packwise.revisions import Revision
    from packwise.select.selection import Selection
    from packwise.select.topologies import KnownTopologies

__all__ = ["FrontEnd"]


class FrontEnd(Protocol):
    """A front end reads its own kinds of workloads."""

    def plans(self, selection: Selection, cluster: Cluster) -> Iterable[WorkloadPlan]:
        """What becomes of each of its workloads, in order of namespace and name."""
        ...

    def mend(self, item: KubeObject, revision: Revision) -> KubeObject:
        """One of its workloads with what can be mended without a decision; anything else as it is.

        Raises FieldError where an anchor or alias is in the way.
        """
        ...

    def migrate(self, item: KubeObject, step: Step) -> KubeObject:
        """One of its workloads in the words of the step's later revision; anything else as it is.

        Raises FieldError where an anchor or alias is in the way, or a comment could not stay.
        """
        ...

    def uses(self, selection: Selection) -> Iterable[Use]:
        """Which topology each of its workloads uses: named, by default, or none."""
        ...

    def topologies(self, selection: Selection, known: KnownTopologies) -> Iterable[ListedTopology]:
        """The topologies that its workloads choose from, in order of name; those too that a render would refuse."""
        ...
