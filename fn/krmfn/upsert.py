"""One object in the place of another: the old text is spliced towards the new value, so that its comments stay."""

from __future__ import annotations

from krmfn.clientmeta import is_client_key
from krmfn.edit import same
from krmfn.errors import FieldError
from krmfn.hints import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value

__all__ = ["identity", "replaced"]

_ANNOTATIONS = ("metadata", "annotations")


def identity(item: KubeObject) -> tuple[str, str, str, str]:
    """What an API server tells objects apart by: group, kind, namespace and name; not the version."""
    group, slash, _ = item.api_version.rpartition("/")
    return group if slash else "", item.kind, item.namespace, item.name


def replaced(old: KubeObject, new: KubeObject) -> KubeObject:
    """`new` with the comments, the order of fields and the spelling of `old`, and where a client has it from.

    `old` itself where the values are the same; `new` in its own text where that of `old` takes no such edit.
    """
    wanted = _with_client_annotations(new, old)
    try:
        spliced = _towards(old, (), old.value, wanted.value)
    except FieldError:
        return wanted
    return spliced if same(spliced.value, wanted.value) else wanted


def _with_client_annotations(new: KubeObject, old: KubeObject) -> KubeObject:
    """`new` with the path and index of `old`, unless it has such annotations of its own."""
    if any(is_client_key(key) for key in new.annotations):
        return new
    for key, value in old.annotations.items():
        if is_client_key(key):
            new = new.with_annotation(key, value)
    return new


def _towards(item: KubeObject, path: FieldPath, before: Value, after: Value) -> KubeObject:
    """`item` with `after` at `path`, where `before` is: only what differs is set or removed."""
    if same(before, after):
        return item
    if isinstance(before, dict) and isinstance(after, dict) and before and after:
        return _mapping(item, path, before, after)
    if isinstance(before, list) and isinstance(after, (list, tuple)) and before and after:
        return _list(item, path, before, cast("Sequence[Value]", after))
    return item.set(path, after)


def _mapping(item: KubeObject, path: FieldPath, before: Mapping[str, Value], after: Mapping[str, Value]) -> KubeObject:
    for name, value in after.items():
        item = _towards(item, (*path, name), before[name], value) if name in before else item.set((*path, name), value)
    for name in before:
        if name not in after:
            item = item.remove((*path, name))
    return item


def _list(item: KubeObject, path: FieldPath, before: Sequence[Value], after: Sequence[Value]) -> KubeObject:
    for index in range(len(before) - 1, len(after) - 1, -1):
        item = item.remove((*path, index))
    for index, value in enumerate(after):
        at = (*path, index)
        item = _towards(item, at, before[index], value) if index < len(before) else item.set(at, value)
    return item
