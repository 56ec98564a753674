"""The requests of a graph that its PodGangs lack, each with the reason and the remedy.

Source: spec/dynamo.md#2.4, #3.4 and #3.7 to #3.11.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.findings import Origin, Place
from packwise.frontends.dynamo.frontend import derive_set, release_for
from packwise.frontends.dynamo.graph import read_graph
from packwise.frontends.dynamo.shape import QUEUE
from packwise.lenient import mapping
from packwise.objects.index import identity
from packwise.objects.kinds import DYNAMO_GRAPH
from packwise.placement import Omission
from packwise.revisions.dynamo import RELEASES, Known
from packwise.settings.topologyrender import KAI_PROFILE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from packwise.frontends.dynamo.graph import Component
    from packwise.frontends.frontend import FindOmissions
    from packwise.objects.index import Inventory
    from packwise.placement import Cluster, WorkloadPlan
    from packwise.revisions.dynamo import DynamoRelease
    from packwise.settings.topologyrender import TopologyRender

_MEMBERS = "spec/grove.md#podgroups"
"""The rule by which Grove omits replicas beyond minAvailable from a PodGang."""


def omissions(of_sets: FindOmissions) -> FindOmissions:
    """Return the function that finds the omissions of graphs. `of_sets` finds the omissions of PodCliqueSets."""

    def of_graphs(
        plans: Sequence[WorkloadPlan], inventory: Inventory, cluster: Cluster, settings: TopologyRender
    ) -> Iterator[tuple[WorkloadPlan, Omission]]:
        release = release_for(settings)
        for plan in plans:
            if not plan.previews or identity(plan.workload.value)[:2] != DYNAMO_GRAPH.key:
                continue
            requests = _Requests(plan.workload, release, settings, cluster)
            for _, omission in of_sets([plan.replace(workload=requests.derived.item)], inventory, cluster, settings):
                if requests.is_written(omission):
                    yield plan, requests.relocate(omission)
            yield from ((plan, omission) for omission in requests.own_omissions())

    return of_graphs


class _Requests:
    """The requests of one graph that its PodGangs may lack."""

    def __init__(self, item: KubeObject, release: DynamoRelease, settings: TopologyRender, cluster: Cluster) -> None:
        self._item, self._release, self._settings, self._cluster = item, release, settings, cluster
        self._graph, self._written = read_graph(item)
        self.derived = derive_set(item, self._graph, self._written, release, settings)

    def is_written(self, omission: Omission) -> bool:
        """Return True if the user wrote the omitted value. Dynamo adds some labels itself."""
        path = omission.origin.place.path
        return path[0] != "metadata" or self.derived.trace.find(path).path[-1:] == path[-1:]

    def relocate(self, omission: Omission) -> Omission:
        """Return an omission of the PodCliqueSet, moved to the field of the graph, and with the remedy for a graph."""
        remedy = omission.remedy
        if omission.origin.rule == _MEMBERS:
            component = self._component_at(omission.origin.place.path)
            if component is not None and component.is_multinode:
                first = next(release for release in RELEASES if release.multinode_min_available)
                remedy = f"gangs wait for all nodes of a replica only since Dynamo {first.name}"
            elif self._release.min_available is Known.NO:
                remedy = f"a component of Dynamo {self._release.name} has no minAvailable"
        return omission.replace(origin=self.derived.origin(omission.origin), remedy=remedy)

    def own_omissions(self) -> Iterator[Omission]:
        """Yield the requests of the graph that the PodCliqueSet of Dynamo's operator lacks."""
        yield from self._topology_name()
        yield from self._metadata()
        yield from self._queue()
        for component in self._graph.components:
            if component.waits_for_checkpoint and component.replicas:
                path = component.path("replicas") if component.replicas_written else component.path()
                request = f'replicas {component.replicas} of component "{component.name}"'
                why = "they wait for a checkpoint, and a preview does not know its state"
                yield self._omission(path, request, why, "startupPolicy: Immediate", "spec/dynamo.md#3.11")
        policy = mapping(self._graph.experimental_fields.get("kvTransferPolicy"))
        for field in ("domain", "labelKey"):
            if policy.get(field):
                path = ("spec", "experimental", "kvTransferPolicy", field)
                why = "it routes requests and does not place gangs"
                yield self._omission(
                    path, f'{field} "{policy[field]}"', why, "write a topologyConstraint", "spec/dynamo.md#3.7"
                )

    def _topology_name(self) -> Iterator[Omission]:
        name, default = self._graph.topology_name, self._cluster.revision.default_topology
        if self._release.constraint == "pack" or name in ("", default):
            return
        first = next(release for release in RELEASES if release.constraint == "pack")
        why = f'Dynamo {self._release.name} does not pass the name on, and Grove uses its own topology, "{default}"'
        remedy = f"Dynamo {first.name} is the first release that passes it on"
        path = ("spec", "topologyConstraint", "clusterTopologyName")
        yield self._omission(path, f'topology "{name}"', why, remedy, "spec/dynamo.md#3.7")

    def _metadata(self) -> Iterator[Omission]:
        """Yield labels and annotations in the graph's own metadata, because Dynamo does not copy them."""
        metadata = mapping(self._graph.value.get("metadata"))
        for part, own in (("labels", self._graph.own_labels), ("annotations", self._graph.own_annotations)):
            for key in sorted(mapping(metadata.get(part))):
                if key in own or key.startswith(("nvidia.com/", "packwise.dev/")):
                    continue
                why = f"Dynamo copies only spec.{part} into the PodCliqueSet, not the graph's own {part}"
                yield self._omission(
                    ("metadata", part, key), f"{part[:-1]} {key}", why, f"write it to spec.{part}", "spec/dynamo.md#3.9"
                )

    def _queue(self) -> Iterator[Omission]:
        queue = self._graph.annotations.get(QUEUE, "").strip()
        path = ("metadata", "annotations", QUEUE)
        if queue and not self._settings.dynamo.kai_scheduler:
            why = "`dynamo.kaiScheduler` of the TopologyRender is false, and Dynamo does not use KAI"
            yield self._omission(path, f'queue "{queue}"', why, "set it to true", "spec/dynamo.md#3.8")
            return
        for component in self._graph.components if queue else ():
            named = component.pod_spec.get("schedulerName")
            if named and named != KAI_PROFILE:
                request = f'queue "{queue}" of component "{component.name}"'
                why = f'its pods name the scheduler "{named}"'
                yield self._omission(path, request, why, "remove its schedulerName", "spec/dynamo.md#3.8")

    def _component_at(self, path: FieldPath) -> Component | None:
        """Return the component from which the part at `path` of the PodCliqueSet is made, or None."""
        place = self.derived.trace.find(path).path
        return next(
            (
                each
                for each in self._graph.components
                if (at := self._written.find(each.path()).path) and place[: len(at)] == at
            ),
            None,
        )

    def _omission(self, path: FieldPath, request: str, why: str, remedy: str, rule: str) -> Omission:
        return Omission(Origin(Place(self._item, self._written.find(path).path), rule), request, why, remedy)
