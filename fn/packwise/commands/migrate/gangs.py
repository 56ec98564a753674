"""PodGangs compared as the scheduler reads them, whatever their names are and wherever a constraint stands in them.

From alpha.12 on names hold the time of their making; pod groups keep theirs, and each is in one gang. There a gang
beyond minAvailable has the PodCliqueSet's constraint and its group's as a group config; before, the group's alone.
Source: spec/grove-releases.md#3.3.
"""

from __future__ import annotations

from krmfn.edit import same
from krmfn.hints import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from krmfn.value import Value

__all__ = ["added_bounds", "gang_key", "normalized"]

_ROOT, _CONFIGS = "topologyConstraint", "topologyConstraintGroupConfigs"


def gang_key(spec: Value) -> tuple[str, ...]:
    """What a gang is known by: its pod groups."""
    return tuple(sorted(_names(spec)))


def normalized(spec: Value) -> Value:
    """`spec` without group configs that demand nothing."""
    if not isinstance(spec, dict) or not isinstance(spec.get(_CONFIGS), list):
        return spec
    configs = [config for config in _configs(spec) if config.get(_ROOT) is not None]
    kept = {key: value for key, value in spec.items() if key != _CONFIGS}
    return {**kept, _CONFIGS: cast("Value", configs)} if configs else kept


def added_bounds(old: Value, new: Value) -> Value:
    """What `new` demands of all its pods that `old` does not, where that is the only difference; else None.

    Empty where the demands are the same ones, written elsewhere, or follow from those that stay.
    """
    (rest, demands), (rest_after, demands_after) = _apart(old), _apart(new)
    if not same(rest, rest_after) or not all(any(same(each, other) for other in demands_after) for each in demands):
        return None
    known = {key for demand in demands for key in demand}
    return {key: level for demand in demands_after for key, level in demand.items() if key not in known}


def _apart(spec: Value) -> tuple[Value, list[dict[str, Value]]]:
    """The spec without what holds all its pods, and that: the root's constraint, and that of a config of them all."""
    if not isinstance(spec, dict):
        return spec, []
    configs = _configs(spec)
    whole = [config for config in configs if same(_sorted(config.get("podGroupNames")), list(gang_key(spec)))]
    constraints = [spec.get(_ROOT), *(config.get(_ROOT) for config in whole)]
    demands = [c["packConstraint"] for c in constraints if isinstance(c, dict) and c.get("packConstraint")]
    rest = {key: value for key, value in spec.items() if key not in (_ROOT, _CONFIGS)}
    parts = [config for config in configs if config not in whole]
    return {**rest, _CONFIGS: cast("Value", parts)}, cast("list[dict[str, Value]]", demands)


def _names(spec: Value) -> list[str]:
    podgroups = spec.get("podgroups") if isinstance(spec, dict) else None
    return [
        str(podgroup.get("name")) for podgroup in (podgroups if isinstance(podgroups, list) else ())
        if isinstance(podgroup, dict)
    ]  # fmt: skip


def _configs(spec: dict[str, Value]) -> list[dict[str, Value]]:
    configs = spec.get(_CONFIGS)
    return [config for config in (configs if isinstance(configs, list) else ()) if isinstance(config, dict)]


def _sorted(names: Value) -> Value:
    return cast("Value", sorted([str(name) for name in names])) if isinstance(names, list) else names
