"""A quick look at a configuration: is it surely what the model takes, so that the model is not needed?"""

from __future__ import annotations

import re

from krmfn.hints import TYPE_CHECKING
from packwise.revisions.records import REVISIONS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krmfn.value import Value

__all__ = ["CHOICES", "KAI_VERSIONS", "KUEUE_VERSIONS", "LISTS", "OSMO_CHOICES", "RULE_LISTS", "is_plain"]

CHOICES: Mapping[str, tuple[str, ...]] = {
    "revision": tuple(REVISIONS),
    "newerRevision": ("Error", "Warn"),
    "unknownFields": ("Error", "Warn"),
    "admission": ("Auto", "New", "Existing"),
}
"""The values that a field may have; the model has them from here."""

LISTS: Mapping[str, tuple[str, ...]] = {
    "emit": ("ClusterTopology", "Topology", "PodGang", "PodGroup", "Queue", "Pod", "PodCliqueSet", "KueueTopology"),
    "gitops": ("argocd", "flux"),
}
"""The values that each entry of a list may have."""

RULE_LISTS = ("ignore", "warn", "error")
"""The lists of `rules`, in the order in which they count."""

OSMO_CHOICES: Mapping[str, tuple[str, ...]] = {"priority": ("LOW", "NORMAL", "HIGH"), "keySets": ("Uniform", "Pad")}
"""The same, of the section `osmo`."""

KAI_VERSIONS = ("v0.12", "v0.13", "v0.14", "v0.15", "v0.16", "v0.17", "v0.18")
"""Versions that `kai.version` may name."""

KUEUE_VERSIONS = ("v0.17", "v0.18", "v0.19", "v0.20")
"""Versions that `kueue.version` may name."""

_VERSIONS = {"kai": KAI_VERSIONS, "kueue": KUEUE_VERSIONS}

_FLAGS = frozenset({"annotate", "apply", "finalizers", "topologyNameAnnotation"})
_SECTIONS = frozenset({"topologyAwareScheduling", "clusterTopology", "topology"})


def is_plain(spec: Value) -> bool:
    """Whether `spec` holds nothing but usual fields of the right type. False: the model has to be asked."""
    return isinstance(spec, dict) and all(_takes(key, value) for key, value in spec.items())


def _takes(key: str, value: Value) -> bool:
    if key in _SECTIONS:
        return _section(value)
    if key == "exclude":
        return isinstance(value, list) and all(isinstance(glob, str) and glob for glob in value)
    if key in ("scheduler", "osmo", "kai", "kueue", "limits", "network", "dynamo", "rules"):
        return isinstance(value, dict) and all(_setting(key, name, entry) for name, entry in value.items())
    if key in CHOICES:
        return isinstance(value, str) and value in CHOICES[key]
    if key in LISTS:
        return _chosen(value, LISTS[key]) and (key != "emit" or value != [])
    return key in _FLAGS and isinstance(value, bool)


def _chosen(value: Value, choices: tuple[str, ...]) -> bool:
    return isinstance(value, list) and all(isinstance(entry, str) and entry in choices for entry in value)


def _rules(value: Value) -> bool:
    """Whether these are rules by their names; those for some paths are for the model."""
    return isinstance(value, list) and all(isinstance(entry, str) for entry in value)


def _setting(section: str, key: str, value: Value) -> bool:
    if section == "rules":
        return key in RULE_LISTS and _rules(value)
    if section == "limits":
        return key == "gangs" and type(value) is int and value >= 1
    if section == "network":
        return key == "autoMNNVLEnabled" and isinstance(value, bool)
    if section in _VERSIONS:
        return key == "version" and isinstance(value, str) and value in _VERSIONS[section]
    if section == "dynamo":
        return (
            key == "release"
            and isinstance(value, str)
            and re.fullmatch(r"[0-9]+\.[0-9]+(\.[0-9]+)?", value) is not None
        )
    return _scheduler(key, value) if section == "scheduler" else _osmo(key, value)


def _osmo(key: str, value: Value) -> bool:
    if key in OSMO_CHOICES:
        return isinstance(value, str) and value in OSMO_CHOICES[key]
    return key == "submittedBy" and isinstance(value, str)


def _section(value: Value) -> bool:
    if not isinstance(value, dict):
        return False
    levels = value.get("levels", [])
    return (
        value.keys() <= {"enabled", "levels", "name"}
        and isinstance(value.get("name", ""), str)
        and isinstance(value.get("enabled", False), bool)
        and isinstance(levels, list)
        and all(
            isinstance(level, dict)
            and level.keys() == {"domain", "key"}
            and all(isinstance(text, str) for text in level.values())
            for level in levels
        )
    )


def _scheduler(key: str, value: Value) -> bool:
    if key != "profiles" or not isinstance(value, list):
        return False
    return all(
        isinstance(profile, dict)
        and profile.keys() <= {"name", "default"}
        and isinstance(profile.get("name"), str)
        and isinstance(profile.get("default", False), bool)
        for profile in value
    )
