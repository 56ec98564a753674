"""Kueue's Topology for every topology that workloads can name, and the ResourceFlavors that the settings name.

Source: spec/kueue.md#5.
"""

from __future__ import annotations

from functools import partial

from krmfn.hints import TYPE_CHECKING
from packwise.findings.finding import Finding, Rule, Severity
from packwise.objects.generated import Generated
from packwise.objects.kinds import KUEUE_TOPOLOGY, RESOURCE_FLAVOR
from packwise.objects.place import Origin
from packwise.schedulers.kueue.objects import flavor_problems, topology_problems, webhook_problems
from packwise.settings import settings_place
from packwise.validate.judge import judge

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from packwise.findings.finding import Problem
    from packwise.objects.place import Place
    from packwise.revisions.kueue import KueueRelease
    from packwise.schedulers.scheduler import SchedulerInput
    from packwise.settings import TopologyRender
    from packwise.settings.topologyrender import KueueFlavor
    from packwise.topology.known import KnownTopologies, KnownTopology

__all__ = ["RULES", "rendered", "rendered_values"]

REFUSED = Rule("kueue-topology", "Kueue's API server takes what is made of every topology.", "spec/kueue.md#5")
UNUSED = Rule(
    "kueue-flavors", "There is a topology for the flavors of the settings.", "spec/packwise.md#1", Severity.WARNING
)
RULES = (REFUSED, UNUSED)
"""Rules of what is written."""

_SOURCE = "spec/kueue.md#5"


def rendered(source: SchedulerInput, release: KueueRelease) -> tuple[list[Generated], list[Finding]]:
    """The Topologies and ResourceFlavors, and what the API server refuses in them."""
    generated: list[Generated] = []
    findings: list[Finding] = []
    for known in source.topologies.by_name.values():
        if known.valid:
            problems = _judged(_topology(known), source, release)
            findings += [_finding(known, problem) for problem in problems]
            generated.append(_generated(known, recreate=not problems and _is_fixed(known, release)))
    for position, flavor in enumerate(source.settings.kueue.flavors):
        place = settings_place(source.settings).below("kueue", "flavors", position)
        topology = _topology_of_flavors(source.topologies, source.settings)
        if topology is None:
            message = "is not written: the settings have no topology that it could name, or several"
            findings.append(place.finding(UNUSED, message))
            continue
        value = _flavor(flavor, topology.topology.name)
        origins = partial(_flavor_origins, place, topology)
        generated.append(Generated(value, f"ClusterTopology {topology.topology.name}", topology.item, origins))
        before = None if source.settings.gitops else source.inventory.before(value)
        problems = flavor_problems(value, before, release) or list(webhook_problems(value))
        findings += [_at_flavor(place, problem) for problem in problems]
    return generated, findings


def rendered_values(known: KnownTopologies, settings: TopologyRender) -> list[dict[str, Value]]:
    """The Topologies and ResourceFlavors that a render writes; none where they are not asked for."""
    if not settings.emits(KUEUE_TOPOLOGY.emitted):
        return []
    values = [_topology(each) for each in known.by_name.values() if each.valid]
    topology = _topology_of_flavors(known, settings)
    if topology is not None:
        values += [_flavor(flavor, topology.topology.name) for flavor in settings.kueue.flavors]
    return values


def _topology(known: KnownTopology) -> dict[str, Value]:
    levels: list[Value] = [{"nodeLabel": level.key} for level in known.topology.levels]
    return {
        "apiVersion": KUEUE_TOPOLOGY.api_version,
        "kind": KUEUE_TOPOLOGY.name,
        "metadata": {"name": known.topology.name},
        "spec": {"levels": levels},
    }


def _judged(value: Mapping[str, Value], source: SchedulerInput, release: KueueRelease) -> tuple[Problem, ...]:
    # A GitOps tool creates it anew, so that nothing need be the same as before.
    before = None if source.settings.gitops else source.inventory.before(value)
    own = partial(topology_problems, value, before, release)
    return judge(value, source.definitions.of_kind(*KUEUE_TOPOLOGY.key), own, before=before).problems


def _is_fixed(known: KnownTopology, release: KueueRelease) -> bool:
    """Whether the API server lets no level of it change, so that it is deleted and created instead."""
    return not release.mutable_levels or known.topology.levels[-1].key != "kubernetes.io/hostname"


def _finding(known: KnownTopology, problem: Problem) -> Finding:
    position = next((step for step in problem.path if isinstance(step, int)), None)
    place = known.levels if position is None else known.places[position].below("key")
    message = f"{problem.message}: Kueue refuses the Topology that is made of it"
    return place.finding(REFUSED, message, operator_message=problem.operator_message, stage=problem.stage)


def _generated(known: KnownTopology, *, recreate: bool) -> Generated:
    origins = partial(_level_origins, known)
    return Generated(_topology(known), f"ClusterTopology {known.topology.name}", known.item, origins, recreate=recreate)


def _level_origins(known: KnownTopology) -> Mapping[FieldPath, Origin]:
    origins: dict[FieldPath, Origin] = {(): Origin(known.levels, _SOURCE)}
    for position, place in enumerate(known.places):
        origins["spec", "levels", position] = Origin(place, _SOURCE)
        origins["spec", "levels", position, "nodeLabel"] = Origin(place.below("key"), _SOURCE)
    return origins


def _topology_of_flavors(known: KnownTopologies, settings: TopologyRender) -> KnownTopology | None:
    """The topology that the settings state, else the only one that there is."""
    topologies = [each for each in known.by_name.values() if each.valid]
    own = [each for each in topologies if each.item is settings.item]
    chosen = own or topologies
    return chosen[0] if len(chosen) == 1 else None


def _flavor(flavor: KueueFlavor, topology: str) -> dict[str, Value]:
    return {
        "apiVersion": RESOURCE_FLAVOR.api_version,
        "kind": RESOURCE_FLAVOR.name,
        "metadata": {"name": flavor.name},
        "spec": {"nodeLabels": dict(flavor.labels), "topologyName": topology},
    }


def _flavor_origins(place: Place, topology: KnownTopology) -> Mapping[FieldPath, Origin]:
    return {
        (): Origin(place, _SOURCE),
        ("spec", "nodeLabels"): Origin(place.below("nodeLabels"), _SOURCE),
        ("spec", "topologyName"): Origin(topology.levels, _SOURCE),
    }


def _at_flavor(place: Place, problem: Problem) -> Finding:
    at = place.below(*problem.path[1:]) if problem.path[1:2] == ("nodeLabels",) else place
    message = f"{problem.message}: Kueue refuses the ResourceFlavor that is made of it"
    return at.finding(REFUSED, message, operator_message=problem.operator_message, stage=problem.stage)
