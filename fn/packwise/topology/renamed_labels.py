"""Labels of nodes that topograph has renamed: levels by the old ones match no node, in silence.

Topograph 1.0 writes `fabric.topograph.run/tier-N`, tier 0 next to the node, and `accelerator.topograph.run/domain`.
Source: topograph's changelog, 1.0.0; its reference of node labels.
"""

from __future__ import annotations

import re

from krmfn.hints import TYPE_CHECKING
from packwise.findings.finding import Finding, Rule, Severity
from packwise.objects.identity import identity, is_generated
from packwise.objects.kinds import CLUSTER_TOPOLOGY, CLUSTER_TOPOLOGY_BINDING, TOPOLOGY

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from packwise.objects.index import Index

__all__ = ["RULES", "check_labels", "new_label", "with_new_labels"]

RENAMED = Rule(
    "label-renamed", "Levels are of labels that nodes still carry.", "spec/kubernetes.md#4.1", Severity.WARNING
)
RULES = (RENAMED,)
"""Rules of labels of nodes."""

_OLD = "network.topology.nvidia.com/"
_FABRIC = "fabric.topograph.run/tier-"
_NEW = {
    "accelerator": "accelerator.topograph.run/domain",
    "leaf": f"{_FABRIC}0",
    "block": f"{_FABRIC}0",
    "spine": f"{_FABRIC}1",
    "core": f"{_FABRIC}2",
    "datacenter": f"{_FABRIC}2",
}
"""What the old labels are now; `block` and `datacenter` are topograph's oldest words for leaf and core."""

_TIER = re.compile(r"tier-(\d+)")

_SECTIONS = ("topologyAwareScheduling", "clusterTopology", "topology")
_LEVELS: dict[tuple[str, str], tuple[tuple[FieldPath, str], ...]] = {
    ("packwise.dev", "TopologyRender"): tuple((("spec", section, "levels"), "key") for section in _SECTIONS),
    ("operator.config.grove.io", "OperatorConfiguration"): tuple(((section, "levels"), "key") for section in _SECTIONS),
    CLUSTER_TOPOLOGY.key: ((("spec", "levels"), "key"),),
    CLUSTER_TOPOLOGY_BINDING.key: ((("spec", "levels"), "key"),),
    TOPOLOGY.key: ((("spec", "levels"), "nodeLabel"),),
}
"""Where objects list levels, and the field of a level that is the label's key."""


def new_label(key: str) -> str | None:
    """What topograph calls the label `key` now; None where it did not rename it."""
    if not key.startswith(_OLD):
        return None
    word = key.removeprefix(_OLD)
    tier = _TIER.fullmatch(word)
    return f"{_FABRIC}{tier[1]}" if tier is not None else _NEW.get(word)


def check_labels(index: Index, settings: KubeObject | None) -> Iterator[Finding]:
    """A warning for each level of a renamed label, in the users' objects and in packwise's own settings."""
    listed = [item for key in _LEVELS for item in index.of_kind(*key)]
    # kpt lists the function's configuration among the items too.
    is_listed = settings is None or any(identity(item.value) == identity(settings.value) for item in listed)
    for item in listed if settings is None or is_listed else (settings, *listed):
        for path, old, new in _renamed(item):
            message = (
                f'"{old}" is a label that topograph writes as "{new}" since its version 1.0: nodes that lost the old '
                "one are placed by no level; look whether your nodes carry the new one, and write that here"
            )
            yield Finding.of(RENAMED, item, path, message, proposed=new)


def with_new_labels(item: KubeObject) -> KubeObject:
    """`item` with the new names of labels, but for those that another level of the same list has already.

    Raises FieldError where an anchor or alias is in the way.
    """
    for path, _, new in () if is_generated(item.value) else list(_renamed(item)):
        levels = item.get(path[:-2])
        others = range(len(levels) if isinstance(levels, list) else 0)
        if all(item.get((*path[:-2], place, path[-1])) != new for place in others):
            item = item.set(path, new)
    return item


def _renamed(item: KubeObject) -> Iterator[tuple[FieldPath, str, str]]:
    """The path of each renamed label of the levels of `item`, the label, and its new name."""
    for path, field in _places(identity(item.value)[:2]):
        levels = item.get(path)
        for place, level in enumerate(levels if isinstance(levels, list) else ()):
            key = level.get(field) if isinstance(level, dict) else None
            new = new_label(key) if isinstance(key, str) else None
            if isinstance(key, str) and new is not None:
                yield (*path, place, field), key, new


def _places(kind: tuple[str, ...]) -> Iterable[tuple[FieldPath, str]]:
    return next((places for key, places in _LEVELS.items() if key == kind), ())
