"""Gangs that another release of the operator calls otherwise: the same pods, one name with an epoch and one without.

Source: spec/grove-releases.md#upgrade.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.commands.diff.members import leaves
from packwise.objects.identity import PART_OF, has_epoch

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krmfn.kubeobject import KubeObject
    from packwise.objects.identity import Identity

__all__ = ["rekeyed"]

_PART_OF = ("metadata", "labels", PART_OF)

_Pods = tuple[str, str, str, str, frozenset[str]]
"""Group, kind, namespace and workload of a gang, and its sets of pods: they have the same names in all releases."""


def rekeyed(
    objects: Mapping[Identity, KubeObject], others: Mapping[Identity, KubeObject]
) -> Mapping[Identity, KubeObject]:
    """`objects`, each gang without an epoch under the identity of the one among `others` that has its pods."""
    keys = {_pods(key, item): key for key, item in others.items() if has_epoch(item.value)}
    if not keys:
        return objects
    return {key if has_epoch(item.value) else keys.get(_pods(key, item), key): item for key, item in objects.items()}


def _pods(key: Identity, item: KubeObject) -> _Pods:
    group, kind, namespace, name = key
    pods = leaves(item.value)
    # Of a gang without pods nothing but its name tells which it is.
    return group, kind, namespace, str(item.get(_PART_OF)), pods or frozenset([f"\0{name}"])
