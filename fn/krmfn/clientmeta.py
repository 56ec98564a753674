"""The annotations by which kustomize and kpt remember which file an item came from.

Source: kyaml kio/kioutil (PathAnnotation, IndexAnnotation and their legacy forms); functions-spec.md.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krmfn.value import Value

__all__ = ["INDEX_KEYS", "PATH_KEYS", "client_index", "client_path", "is_client_key"]

PATH_KEYS = ("internal.config.kubernetes.io/path", "config.kubernetes.io/path", "config.k8s.io/path")
"""Annotations that hold an item's file, slash-separated and relative to the package; the first one present counts."""

INDEX_KEYS = ("internal.config.kubernetes.io/index", "config.kubernetes.io/index", "config.k8s.io/index")
"""Annotations that hold an item's place among the documents of its file, from 0; the first one present counts."""

_PREFIXES = (
    "internal.config.kubernetes.io/",
    "config.kubernetes.io/",
    "config.k8s.io/",
    "kustomize.config.k8s.io/",
    "kpt.dev/",
)


def is_client_key(key: str) -> bool:
    """Whether the annotation `key` is a client's own bookkeeping, which a derived object must not copy."""
    return key.startswith(_PREFIXES)


def client_path(annotations: Mapping[str, Value]) -> str | None:
    """The item's file, or None where no annotation says it."""
    for key in PATH_KEYS:
        path = annotations.get(key)
        if isinstance(path, str) and path:
            return path
    return None


def client_index(annotations: Mapping[str, Value]) -> int | None:
    """The item's place in its file, or None where no annotation says it (or it is not a number)."""
    for key in INDEX_KEYS:
        index = annotations.get(key)
        if isinstance(index, str) and index.isascii() and index.isdigit() and len(index) < 10:
            return int(index)
    return None
