"""The PodGroup of a PodGang: as Grove's operator makes it, or KAI's own pod-grouper. Source: operator.md 10.

Both make the same tree: a subgroup for each group config that has podgroups, then one for each podgroup, below that of
its group config. Name, labels and annotations are the PodGang's, the queue is the workload's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from packwise.schedulers.kai.podgroup import PodGroup, SubGroup, TopologyConstraint

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from krmfn.value import Value

__all__ = ["SKIP_PODGROUPER", "podgroup"]

SKIP_PODGROUPER = "kai.scheduler/skip-podgrouper"
"""Annotation that keeps KAI's pod-grouper away from pods which have their PodGroup already."""

_TOPOLOGY_NAMES = ("grove.io/topology-name", "kai.scheduler/topology")
"""Annotations that name the Topology, the first one first."""

_UNNAMED = "topology name cannot be empty when topology constraints are defined"


def podgroup(
    podgang: Mapping[str, Value], queue: str, topology: str | None, *, by_operator: bool, counts_subgroups: bool
) -> PodGroup:
    """The PodGroup of `podgang`, in `queue`. `topology` is the Topology of a PodGang that names none.

    Raises ValueError for a constraint where nothing names its Topology.

    `by_operator`: as Grove's operator makes it, which tells the pod-grouper so. `counts_subgroups`: inner nodes say how
    many subgroups they need, which is what KAI takes for granted where they do not.
    """
    metadata = cast("Mapping[str, Value]", podgang["metadata"])
    spec = cast("Mapping[str, Value]", podgang["spec"])
    annotations = cast("Mapping[str, str]", metadata.get("annotations", {}))
    named = next((annotations[name] for name in _TOPOLOGY_NAMES if annotations.get(name)), topology or "")
    podgroups = cast("Sequence[Mapping[str, Value]]", spec["podgroups"])
    configs = cast("Sequence[Mapping[str, Value]]", spec.get("topologyConstraintGroupConfigs", ()))
    parents: dict[str, str] = {}
    groups = list(_inner(configs, named, parents, counts_subgroups=counts_subgroups))
    for entry in podgroups:
        name = str(entry["name"])
        members = cast("int", entry["minReplicas"])
        groups.append(SubGroup(name, parents.get(name), members, None, _constraint(entry, named)))
    return PodGroup(
        str(metadata["name"]),
        str(metadata["namespace"]),
        queue,
        cast("str | None", spec.get("priorityClassName")),
        sum([cast("int", entry["minReplicas"]) for entry in podgroups]),
        # Both write an empty mapping where there is none: a client that did not would see a change for ever.
        _constraint(spec, named) or TopologyConstraint(""),
        tuple(groups),
        cast("Mapping[str, str]", metadata["labels"]),
        {**annotations, SKIP_PODGROUPER: "true"} if by_operator else annotations,
    )


def _inner(
    configs: Sequence[Mapping[str, Value]], topology: str, parents: dict[str, str], *, counts_subgroups: bool
) -> Iterator[SubGroup]:
    """The subgroups of the group configs that have podgroups; `parents` gets the group config of each of these."""
    for config in configs:
        members = cast("Sequence[str]", config["podGroupNames"])
        if members:
            name = str(config["name"])
            parents.update(dict.fromkeys(members, name))
            count = len(members) if counts_subgroups else None
            yield SubGroup(name, None, None, count, _constraint(config, topology))


def _constraint(holder: Mapping[str, Value], topology: str) -> TopologyConstraint | None:
    """The constraint of a PodGang, a podgroup or a group config; None where it has none."""
    found = cast("Mapping[str, Mapping[str, str]] | None", holder.get("topologyConstraint"))
    if found is None:
        return None
    if not topology:
        raise ValueError(_UNNAMED)
    pack = found["packConstraint"]
    return TopologyConstraint(topology, pack.get("required"), pack.get("preferred"))
