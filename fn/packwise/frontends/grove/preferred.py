"""What PodGangs preferred before TAS was disabled, for a revision that lets them keep it.

Source: revisions.md, "TAS disabled, existing workload" of design-1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from packwise.frontends.grove.podgang import GROUP, KIND, PackConstraint

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krmfn.value import Value
    from packwise.frontends.grove.podgang import PodGang
    from packwise.select.selection import Selection

__all__ = ["earlier_podgangs", "keep_preferred"]


def earlier_podgangs(selection: Selection) -> dict[tuple[str, str], Mapping[str, Value]]:
    """The PodGangs there were by namespace and name, where something of them is kept.

    Those of an earlier render in the input count before the baseline's, which the operator may have made.
    """
    if selection.enabled or not selection.revision.keeps_preferred:
        return {}
    baseline = selection.baseline
    before = () if baseline is None else (*baseline.others.items(), *baseline.earlier.items())
    return {
        (namespace, name): item.value
        for (group, kind, namespace, name), item in (*before, *selection.index.earlier.items())
        if (group, kind) == (GROUP, KIND)
    }


def keep_preferred(gang: PodGang, earlier: Mapping[str, Value] | None) -> PodGang:
    """`gang`, which is made without a topology, with what `earlier` (None: unknown) preferred at the same places.

    Nothing is required there any more, and a group config that prefers nothing is none.
    """
    spec = _mapping(earlier, "spec")
    groups = _by_name(spec, "podgroups")
    configs = _by_name(spec, "topologyConstraintGroupConfigs")
    named = [config._replace(pack=_preferred(configs.get(config.name))) for config in gang.group_configs]
    return gang._replace(
        pack=_preferred(spec),
        pod_groups=tuple([group._replace(pack=_preferred(groups.get(group.name))) for group in gang.pod_groups]),
        group_configs=tuple([config for config in named if config.pack is not None]),
    )


def _preferred(value: Mapping[str, Value] | None) -> PackConstraint | None:
    found = _mapping(_mapping(value, "topologyConstraint"), "packConstraint").get("preferred")
    return PackConstraint(preferred=found) if isinstance(found, str) else None


def _by_name(spec: Mapping[str, Value], key: str) -> dict[str, Mapping[str, Value]]:
    found = spec.get(key)
    entries = [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []
    return {name: entry for entry in entries if isinstance(name := entry.get("name"), str)}


def _mapping(value: Mapping[str, Value] | None, key: str) -> Mapping[str, Value]:
    found = None if value is None else value.get(key)
    return found if isinstance(found, dict) else {}
