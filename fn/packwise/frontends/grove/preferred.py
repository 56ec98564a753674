"""What PodGangs preferred before TAS was disabled, for a revision that lets them keep it.

Source: spec/designs.md#1.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.objects.kinds import PODGANG
from packwise.placement import Bounds
from packwise.topology.levels import Level

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krmfn.value import Value
    from packwise.objects.index import Inventory
    from packwise.objects.place import Origin
    from packwise.placement import Gang, PodSet

__all__ = ["earlier_podgangs", "keep_preferred"]


def earlier_podgangs(inventory: Inventory) -> dict[tuple[str, str], Mapping[str, Value]]:
    """The PodGangs of before by namespace and name.

    Those of an earlier render in the input count before the baseline's, which the operator may have made.
    """
    baseline = inventory.baseline
    before = () if baseline is None else (*baseline.users.items(), *baseline.generated.items())
    return {
        (namespace, name): item.value
        for (group, kind, namespace, name), item in (*before, *inventory.items.generated.items())
        if (group, kind) == PODGANG.key
    }


def keep_preferred(gang: Gang, earlier: Mapping[str, Value] | None) -> Gang:
    """`gang`, which is built without a topology, with what `earlier` (None: unknown) preferred at the same places.

    Nothing is required there any more, and an inner set that prefers nothing goes.
    """
    spec = _mapping(earlier, "spec")
    leaves, groups = _by_name(spec, "podgroups"), _by_name(spec, "topologyConstraintGroupConfigs")
    sets = [_preferring(pods, groups if pods.members is None else leaves) for pods in gang.sets]
    kept = [pods for pods in sets if pods.members is not None or not pods.bounds.is_empty]
    parents = {pods.name for pods in kept if pods.members is None}
    return gang._replace(
        bounds=_preferred(spec, gang.origin),
        sets=tuple([pods if pods.parent in parents else pods._replace(parent=None) for pods in kept]),
    )


def _preferring(pods: PodSet, earlier: Mapping[str, Mapping[str, Value]]) -> PodSet:
    return pods._replace(bounds=_preferred(earlier.get(pods.name), pods.origin))


def _preferred(value: Mapping[str, Value] | None, origin: Origin) -> Bounds:
    key = _mapping(_mapping(value, "topologyConstraint"), "packConstraint").get("preferred")
    # Which domain the label key was of is not recorded.
    return Bounds(None, Level("", key), origin._replace(rule="spec/designs.md#1")) if isinstance(key, str) else Bounds()


def _by_name(spec: Mapping[str, Value], key: str) -> dict[str, Mapping[str, Value]]:
    listed = spec.get(key)
    entries = [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
    return {name: entry for entry in entries if isinstance(name := entry.get("name"), str)}


def _mapping(value: Mapping[str, Value] | None, key: str) -> Mapping[str, Value]:
    part = None if value is None else value.get(key)
    return part if isinstance(part, dict) else {}
