"""The sets of pods in a gang, and those that a part of it holds. Source: spec/grove.md#7 and #10."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING, cast
from packwise.commands.diff.fields import Entry
from packwise.objects.kinds import PODGANG, PODGROUP

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from krmfn.value import Value
    from packwise.commands.diff.fields import Steps

__all__ = ["leaves", "members"]


def leaves(value: Mapping[str, Value]) -> frozenset[str]:
    """The names of the sets that hold the pods of a PodGang or PodGroup; empty for any other object."""
    if value.get("kind") == PODGANG.name:
        return frozenset([str(entry.get("name")) for entry in _entries(value, "podgroups")])
    if value.get("kind") == PODGROUP.name:
        groups = [*_entries(value, "subGroups"), *_entries(value, "subGroupPolicy")]
        parents = {str(entry["parent"]) for entry in groups if "parent" in entry}
        return frozenset({str(entry.get("name")) for entry in groups} - parents)
    return frozenset()


def members(value: Mapping[str, Value], holder: Steps) -> frozenset[str]:
    """Those of them that the part at `holder` holds."""
    if len(holder) < 3 or not isinstance(name := holder[2], Entry):
        return leaves(value)
    if holder[1] == "topologyConstraintGroupConfigs":
        configs = _entries(value, "topologyConstraintGroupConfigs")
        listed = [config.get("podGroupNames") for config in configs if config.get("name") == name.name]
        return frozenset([str(each) for part in listed if isinstance(part, list) for each in part])
    children = [entry.get("name") for entry in _entries(value, "subGroups") if entry.get("parent") == name.name]
    return frozenset([str(each) for each in children] or [name.name])


def _entries(value: Mapping[str, Value], field: str) -> Sequence[Mapping[str, Value]]:
    spec = value.get("spec")
    entries = spec.get(field) if isinstance(spec, dict) else None
    listed = entries if isinstance(entries, list) else []
    return [cast("Mapping[str, Value]", entry) for entry in listed if isinstance(entry, dict)]
