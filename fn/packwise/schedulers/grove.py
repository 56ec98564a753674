"""The PodGangs that Grove's operator makes for its scheduler backends. Source: spec/grove.md#7."""

from __future__ import annotations

from functools import partial

from krmfn.hints import TYPE_CHECKING
from packwise.objects.index import Generated
from packwise.objects.kinds import PODGANG
from packwise.placement import Gang
from packwise.schedulers import Scheduler, SchedulerInput, SchedulerObjects

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from packwise.findings import Origin
    from packwise.placement import Bounds

_API_VERSION = PODGANG.api_version
_LEVELS: Mapping[str, FieldPath] = {
    "required": ("packConstraint", "required"),
    "preferred": ("packConstraint", "preferred"),
}


class _PodGangs(Scheduler):
    def objects(self, source: SchedulerInput) -> SchedulerObjects:
        """Return a PodGang for each gang that the operator of its workload makes."""
        return SchedulerObjects(
            tuple(
                Generated(
                    value=podgang_value(gang),
                    source=placement.source,
                    subject=placement.subject,
                    origins=partial(podgang_origins, gang),
                    notes=placement.notes,
                    recreate=False,
                    emit_by_default=placement.emit_by_default,
                )
                for placement in source.placements
                if isinstance(gang := placement.node, Gang) and gang.is_of_operator
            )
        )


def podgang_value(gang: Gang) -> Mapping[str, Value]:
    """Return the manifest of a gang's PodGang.

    It has no status, and no owner reference because a render knows no UID.
    """
    metadata: dict[str, Value] = {"name": gang.name, "namespace": gang.namespace, "labels": gang.labels}
    if gang.annotations:
        metadata["annotations"] = gang.annotations
    groups: list[Value] = []
    configs: list[Value] = []
    names: dict[str, list[Value]] = {}
    spec: dict[str, Value] = {"podgroups": groups}
    constraint = None if gang.bounds is None else _constraint(gang.bounds)
    if constraint is not None:
        spec["topologyConstraint"] = constraint
    # The parent of a set precedes the set.
    for pods in gang.sets:
        name = pods.name
        part: dict[str, Value]
        if pods.members is None:
            # Keep the entry even if the topology no longer has its level.
            part = {"name": name, "podGroupNames": names.setdefault(name, [])}
            configs.append(part)
        else:
            part = {"name": name, "podReferences": [], "minReplicas": pods.members}
            groups.append(part)
            if pods.parent is not None:
                names[pods.parent].append(name)
        constraint = _constraint(pods.bounds)
        if constraint is not None:
            part["topologyConstraint"] = constraint
    if configs:
        spec["topologyConstraintGroupConfigs"] = configs
    if gang.priority_class:
        spec["priorityClassName"] = gang.priority_class
    return {"apiVersion": _API_VERSION, "kind": PODGANG.name, "metadata": metadata, "spec": spec}


def podgang_origins(gang: Gang) -> Mapping[FieldPath, Origin]:
    """Return the origin of each part of the PodGang of `gang`, by path."""
    origins = gang.origins(_LEVELS)
    for position, pods in enumerate(gang.leaves):
        origins.update(pods.origins(("spec", "podgroups", position), "minReplicas", _LEVELS))
    for position, pods in enumerate(gang.inner_sets):
        origins.update(pods.origins(("spec", "topologyConstraintGroupConfigs", position), "podGroupNames", _LEVELS))
    return origins


def _constraint(bounds: Bounds) -> Mapping[str, Value] | None:
    """Return the `topologyConstraint` for `bounds`. Return None if they have no level."""
    required, preferred = bounds.required, bounds.preferred
    if required is None and preferred is None:
        return None
    keys: dict[str, Value] = {}
    if required is not None:
        keys["required"] = required.key
    if preferred is not None:
        keys["preferred"] = preferred.key
    return {"packConstraint": keys}


GROVE: Scheduler = _PodGangs()
"""Grove's operator, which passes gangs to a scheduler as PodGangs."""
