"""Gangs for tests of schedulers: gangs from PodGang manifests, and the input of a scheduler."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from krmfn import KubeObject
from packwise.findings import Origin, Place
from packwise.pipeline.selection import Package, cluster_of, topologies_of
from packwise.pipeline.steps import read_package
from packwise.placement import Bounds, Gang, Grouper, Placement, PodSet
from packwise.schedulers import SchedulerInput
from packwise.topology.known import Level

SUBJECT = KubeObject.parse("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: workflow\n")
ORIGIN = Origin(Place(SUBJECT), "test")


def gang_of(podgang: dict[str, Any], grouper: Grouper, queue: str | None = None, topology: str = "") -> Gang:
    """Return the gang from which Grove's operator makes `podgang`, as far as the manifest shows it."""
    metadata, spec = podgang["metadata"], podgang["spec"]
    configs = spec.get("topologyConstraintGroupConfigs", [])
    parents = {member: config["name"] for config in configs for member in config["podGroupNames"]}
    inner = [PodSet(config["name"], None, None, bounds_of(config), ORIGIN) for config in configs]
    leaves = [
        PodSet(entry["name"], parents.get(entry["name"]), entry["minReplicas"], bounds_of(entry), ORIGIN)
        for entry in spec["podgroups"]
    ]
    return Gang(
        name=metadata["name"],
        namespace=metadata["namespace"],
        workload="a",
        sets=(*inner, *leaves),
        bounds=bounds_of(spec),
        members=sum(leaf.members or 0 for leaf in leaves),
        topology=topology,
        grouper=grouper,
        origin=ORIGIN,
        owner=ORIGIN,
        queue=queue,
        priority_class=spec.get("priorityClassName", ""),
        labels=metadata["labels"],
        annotations=metadata.get("annotations", {}),
    )


def bounds_of(holder: dict[str, Any]) -> Bounds:
    """Return the bounds in the constraint of a PodGang, a pod group or a group config."""
    pack = holder.get("topologyConstraint", {}).get("packConstraint", {})
    levels = {strength: Level("", key) for strength, key in pack.items()}
    return Bounds(levels.get("required"), levels.get("preferred"))


def input_of(spec: str, placements: Iterable[Placement] = (), *items: KubeObject) -> SchedulerInput:
    """Return the input of a scheduler for packwise's configuration `spec`, indented by two spaces."""
    head = "apiVersion: packwise.dev/v1alpha1\nkind: TopologyRender\nmetadata:\n  name: topology\nspec:\n"
    package = Package((KubeObject.parse(head + spec), *items))
    inventory, selection = read_package(package)
    known = topologies_of(inventory, selection)
    cluster = cluster_of(selection, known)
    return SchedulerInput(tuple(placements), known, cluster, inventory, selection.definitions, selection.settings)
