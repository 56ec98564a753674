"""The requests of a PodCliqueSet that its PodGangs lack, with the reason and the remedy. Source: spec/grove.md#7."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.findings import Origin, Place
from packwise.frontends.grove.build_gangs import is_mirrored
from packwise.frontends.grove.default import default
from packwise.frontends.grove.frontend import lost_domains
from packwise.frontends.grove.podcliqueset import TEMPLATE, PodCliqueSet, resolve_topology
from packwise.objects.index import identity
from packwise.objects.kinds import POD_CLIQUE_SET
from packwise.placement import Omission
from packwise.revisions.grove import RECORDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from packwise.frontends.grove.podcliqueset import ScalingGroup
    from packwise.objects.index import Inventory
    from packwise.placement import Cluster, WorkloadPlan
    from packwise.revisions.grove import Revision
    from packwise.settings.topologyrender import TopologyRender

_CONSTRAINT = "spec/grove.md#tc-translation"
_MAPS = "spec/grove-releases.md#3.3"


def omissions(
    plans: Sequence[WorkloadPlan],
    inventory: Inventory,  # noqa: ARG001
    cluster: Cluster,
    settings: TopologyRender,  # noqa: ARG001
) -> Iterator[tuple[WorkloadPlan, Omission]]:
    """Yield the requests of PodCliqueSets that the operator omits from PodGangs, each with its plan."""
    for plan in plans:
        if identity(plan.workload.value)[:2] == POD_CLIQUE_SET.key:
            yield from ((plan, omission) for omission in _omissions(plan.workload, cluster))


def _omissions(workload: KubeObject, cluster: Cluster) -> Iterator[Omission]:
    pcs = PodCliqueSet.read(default(workload.value, cluster.revision, create=False))
    for path, domain, why, remedy in lost_domains(pcs, cluster):
        yield Omission(Origin(Place(workload, path), _CONSTRAINT), f'domain "{domain}"', why, remedy)
    for position, group in enumerate(pcs.groups):
        if group.topology is not None:
            place = Place(workload, (*TEMPLATE, "podCliqueScalingGroups", position, "topologyConstraint"))
            yield from _group_omissions(place, pcs, group, cluster)
    yield from _members(workload, pcs)
    yield from _metadata(workload, pcs, cluster.revision)


def _group_omissions(place: Place, pcs: PodCliqueSet, group: ScalingGroup, cluster: Cluster) -> Iterator[Omission]:
    """Yield the omissions of a scaling group with a constraint.

    A release may omit its group configs. In some PodGangs, its constraint replaces the constraint of the workload.
    """
    constraint, revision = group.topology, cluster.revision
    resolved = resolve_topology(pcs, revision)
    topology = cluster.topologies.get(resolved) if resolved is not None and cluster.enabled else None
    domains = () if constraint is None else constraint.domains
    has_level = topology is not None and any(topology.level_of(domain) is not None for domain in domains)
    asked = f'topologyConstraintGroupConfigs of scaling group "{group.name}"'
    if not cluster.enabled and not revision.keeps_preferred:
        why = "while topology-aware scheduling is disabled, PodGangs have no group configs"
        yield Omission(Origin(place, "spec/grove.md#group-configs"), asked, why, "enable it")
    elif cluster.enabled and revision.podgang_maps and not has_level:
        why = "this release omits group configs without a level"
        yield Omission(Origin(place, _MAPS), asked, why, "name a level that the topology has")
    beyond = group.replicas > group.min_available
    if beyond and domains and pcs.topology is not None and pcs.topology.domains and not revision.podgang_maps:
        own = ", ".join(pcs.topology.domains)
        asked = f'the workload\'s constraint "{own}" on PodGangs of scaling group "{group.name}" beyond minAvailable'
        why = "the group's constraint replaces it"
        if not has_level:
            why += ", even if its level no longer exists"
        remedy = f"{'remove' if revision.mutable_constraints else 'create the workload without'} the group's constraint"
        yield Omission(Origin(place, "spec/grove.md#scaled-gang"), asked, why, remedy)


def _members(workload: KubeObject, pcs: PodCliqueSet) -> Iterator[Omission]:
    """Yield an omission for each clique with more replicas than minAvailable. No gang waits for the additional pods."""
    for position, clique in enumerate(pcs.cliques):
        if clique.replicas > clique.min_available:
            place = Place(workload, (*TEMPLATE, "cliques", position, "spec", "replicas"))
            asked = f'replicas {clique.replicas} of clique "{clique.name}"'
            why = f"a PodGang has the minAvailable ({clique.min_available}) pods that must start together"
            remedy = f"set minAvailable to {clique.replicas} if all of them must start together"
            yield Omission(Origin(place, "spec/grove.md#podgroups"), asked, why, remedy)


def _metadata(workload: KubeObject, pcs: PodCliqueSet, revision: Revision) -> Iterator[Omission]:
    """Yield the labels and annotations that PodGangs do not copy."""
    for part, entries in (("labels", pcs.labels), ("annotations", pcs.annotations)):
        for key in sorted(entries):
            path: FieldPath = ("metadata", part, key)
            if key.startswith("packwise.dev/") or workload.get(path) is None:
                continue
            if not revision.mirrors_metadata:
                why = f"PodGangs of this release have only the operator's own {part}"
                remedy = _mirroring()
            elif not is_mirrored(part, key):
                why = "PodGangs do not repeat Grove's own keys, or records of other tools about the workload"
                remedy = ""
            else:
                continue
            rule = f"spec/grove.md#{part}"
            yield Omission(Origin(Place(workload, path), rule), f"{part[:-1]} {key}", why, remedy)


def _mirroring() -> str:
    """Return a sentence with the first release that copies labels and annotations of a workload to its PodGangs."""
    first = next(record for record in RECORDS if record.mirrors_metadata)
    return f"{first.releases[0] if first.releases else first.name} is the first release that repeats them"
