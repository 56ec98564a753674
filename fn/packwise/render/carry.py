"""An object of an earlier render, brought up to date: its bytes where it is the same, else spliced."""

from __future__ import annotations

from krmfn.clientmeta import is_client_key
from krmfn.edit import same
from krmfn.errors import FieldError
from krmfn.hints import TYPE_CHECKING, cast
from krmfn.kubeobject import KubeObject
from packwise.render.mark import LOCAL_CONFIG

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value

__all__ = ["carry"]


def carry(before: KubeObject, value: Mapping[str, Value]) -> KubeObject:
    """`before` with the content of `value`; itself when it has that already.

    Annotations by which clients remember files stay as they are.
    """
    target = _with_bookkeeping(value, before.value)
    if same(before.value, target):
        return before
    if before.text == KubeObject.new(before.value).text:
        # Nobody has touched it since it was written: there is nothing to splice around.
        return KubeObject.new(target)
    try:
        return _spliced(before, (), before.value, target)
    except FieldError:
        # An anchor in the way, for example.
        return KubeObject.new(target)


def _with_bookkeeping(value: Mapping[str, Value], before: Mapping[str, Value]) -> dict[str, Value]:
    """`value` with the client annotations of `before` in the place of its own."""
    metadata = dict(cast("Mapping[str, Value]", value["metadata"]))
    own = cast("Mapping[str, Value]", metadata["annotations"])
    old = cast("Mapping[str, Mapping[str, Value]]", before["metadata"])["annotations"]
    merged = {key: text for key, text in own.items() if not _is_bookkeeping(key)}
    merged.update({key: text for key, text in old.items() if _is_bookkeeping(key)})
    metadata["annotations"] = {key: merged[key] for key in sorted(merged)}
    return {**value, "metadata": metadata}


def _is_bookkeeping(key: str) -> bool:
    return key != LOCAL_CONFIG and is_client_key(key)


def _spliced(item: KubeObject, path: FieldPath, old: Value, new: Value) -> KubeObject:
    """`item` with `new` at `path`, where `old` is: the smallest parts that differ are set or removed."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in old:
            if key not in new:
                item = item.remove((*path, key))
        for key, part in new.items():
            item = _spliced(item, (*path, key), old[key], part) if key in old else item.set((*path, key), part)
        return item
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, part in enumerate(new):
            item = _spliced(item, (*path, index), old[index], part)
        return item
    return item if same(old, new) else item.set(path, new)
