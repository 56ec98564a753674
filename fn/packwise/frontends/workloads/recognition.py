"""Workloads that the scheduler may group itself: the candidates among the input. Imported in every run."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.objects.kinds import KINDS, POD

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krmfn.kubeobject import KubeObject
    from packwise.objects.index import Index

__all__ = ["candidates", "has_candidates"]

_OF_OTHERS = frozenset([kind.key for kind in KINDS if kind is not POD])
_WORDS = ("schedulerName", "kai.scheduler/")
"""One of these stands in the text of each workload that names a scheduler, or has a key of KAI's."""
_TYPED, _TYPES = "kubeflow.org", "ReplicaSpecs"
"""The group whose jobs have replicas by type, and what the fields of these end with: without, no pod has a template."""


def candidates(index: Index) -> Iterator[KubeObject]:
    """The users' objects that may be workloads of the scheduler, by their texts alone."""
    seen: dict[str, bool] = {}
    for key, items in index.by_kind.items():
        if key in _OF_OTHERS:
            continue
        for item in items:
            if not item.written or (key[0] == _TYPED and _TYPES not in item.source.text):
                yield item
                continue
            # The objects of a file share its text.
            text = item.source.text
            if text not in seen:
                seen[text] = any(word in text for word in _WORDS)
            if seen[text]:
                yield item


def has_candidates(index: Index) -> bool:
    """True if there is any."""
    return next(candidates(index), None) is not None
