"""Which Topology the PodGroup of a gang names. Source: spec/grove.md#10, spec/grove-releases.md#4."""

from __future__ import annotations

from functools import partial

from krmfn.hints import TYPE_CHECKING
from packwise.objects.kinds import CLUSTER_TOPOLOGY_BINDING
from packwise.placement import Grouper
from packwise.schedulers.kai.topology_manifest import PROFILE

if TYPE_CHECKING:
    from collections.abc import Callable

    from krmfn.fieldpath import FieldPath
    from packwise.placement import Gang
    from packwise.schedulers.scheduler import SchedulerInput
    from packwise.topology.known import KnownTopologies

__all__ = ["KAI_TOPOLOGY", "MissingBindingError", "annotated_topology", "topology_names"]

KAI_TOPOLOGY = "kai.scheduler/topology"
"""Annotation that names the Topology where Grove's own does not."""

_ANNOTATIONS = ("grove.io/topology-name", KAI_TOPOLOGY)


class MissingBindingError(ValueError):
    """The operator makes no PodGroup, since the binding that an annotation names is not there; the text is its own."""

    def __init__(self, binding: str, annotation: str) -> None:
        kind = CLUSTER_TOPOLOGY_BINDING
        super().__init__(f'get {kind.name} {binding}: {kind.name}.{kind.group} "{binding}" not found')
        self.binding = binding
        self.place: FieldPath = ("metadata", "annotations", annotation)


def topology_names(source: SchedulerInput) -> Callable[[Gang], str]:
    """The name for each gang, "" for none; raises MissingBindingError where the operator has none."""
    if source.cluster.revision.follows_references:
        return partial(_referenced, source.topologies)
    return annotated_topology


def annotated_topology(gang: Gang) -> str:
    """The Topology that the gang's annotations name, else the one of its bounds."""
    if gang.grouper is Grouper.OWNER:
        return gang.topology
    return next((name for annotation in _ANNOTATIONS if (name := gang.annotations.get(annotation))), gang.topology)


def _referenced(topologies: KnownTopologies, gang: Gang) -> str:
    """The Topology that the binding which the gang names refers to for KAI, else the one of the binding's name."""
    annotation = next((annotation for annotation in _ANNOTATIONS if gang.annotations.get(annotation)), None)
    if annotation is None or gang.grouper is not Grouper.OPERATOR:
        return annotated_topology(gang)
    name = gang.annotations[annotation]
    binding = topologies.by_name.get(name)
    if binding is None:
        raise MissingBindingError(name, annotation)
    return binding.references.get(PROFILE) or name
