"""Edits of an object: the text spliced, and the value copied along the path."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from krmfn.errors import told
from krmfn.fieldpath import format_path

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from krmfn.source import Source
    from krmfn.value import Value

__all__ = ["same", "with_value", "without_value"]

_Edited = tuple["Source | None", "Mapping[str, Value]"]
_ABSENT: Any = object()


def same(one: Value, other: Value) -> bool:
    """Whether two values are the same JSON: 1, 1.0 and true are three, and the order of keys does not count."""
    if isinstance(one, dict):
        mine = one
        if not isinstance(other, dict):
            return False
        theirs = other
        return mine.keys() == theirs.keys() and all(same(mine[key], theirs[key]) for key in mine)
    if isinstance(one, (list, tuple)):
        here = cast("list[Value]", one)
        if not isinstance(other, (list, tuple)):
            return False
        there = cast("list[Value]", other)
        return len(here) == len(there) and all(map(same, here, there))
    return type(one) is type(other) and one == other


def with_value(item: KubeObject, path: FieldPath, value: Value) -> _Edited:
    """The source and value of `item` with `value` at `path`; its own where it is there already."""
    if not path and not isinstance(value, dict):
        raise item.error(path, f"must be a mapping; got {told(value)}")
    if same(item.get(path, _ABSENT), value):
        return item.source if item.written else None, item.value
    changed = cast("Mapping[str, Value]", _with(item, item.value, path, 0, value))
    if not item.written:
        return None, changed
    from krmfn.yamltext import YamlError, set_value

    source = item.source
    try:
        return replace(source, text=set_value(source.text, source.root + path, value)), changed
    except YamlError as error:
        if _needs_others(source):
            return None, changed
        raise item.error(path, error.message) from None


def without_value(item: KubeObject, path: FieldPath, *, prune: bool) -> _Edited:
    """The source and value of `item` without `path`; its own where nothing is there."""
    if not path:
        raise item.error(path, "must name a field to be removed")
    if item.get(path, _ABSENT) is _ABSENT:
        return item.source if item.written else None, item.value
    while prune and len(path) > 1 and len(cast("dict[str, Value]", item.get(path[:-1]))) == 1:
        path = path[:-1]
    changed = cast("Mapping[str, Value]", _without(item.value, path))
    if not item.written:
        return None, changed
    from krmfn.yamltext import YamlError, remove_value

    source = item.source
    try:
        return replace(source, text=remove_value(source.text, source.root + path)), changed
    except YamlError as error:
        if _needs_others(source):
            return None, changed
        raise item.error(path, error.message) from None


def _needs_others(source: Source) -> bool:
    """Whether the text means nothing alone: an alias to another item's anchor, or JSON that is no YAML.

    Such an item is written anew from its value, since there is nothing to splice into.
    """
    from krmfn.yamltext import YamlError, read

    try:
        read(source.text)
    except YamlError:
        return True
    return False


def _with(item: KubeObject, old: Value, path: FieldPath, depth: int, value: Value) -> Value:
    if depth == len(path):
        return value
    step = path[depth]
    if isinstance(step, str) and (old is None or isinstance(old, dict)):
        mapping = dict(old or {})
        mapping[step] = _with(item, mapping.get(step), path, depth + 1, value)
        return mapping
    if isinstance(step, int) and (old is None or isinstance(old, (list, tuple))):
        entries = list(cast("list[Value]", old or []))
        if not 0 <= step <= len(entries):
            raise item.error(path[: depth + 1], f"must be one of the {len(entries)} entries, or the next one")
        new = _with(item, entries[step] if step < len(entries) else None, path, depth + 1, value)
        entries[step : step + 1] = [new]
        return entries
    wanted = "a mapping" if isinstance(step, str) else "a list"
    raise item.error(path[:depth], f"must be {wanted} for {format_path(path)} to be set; got {told(old)}")


def _without(old: Any, path: FieldPath) -> Value:
    step = path[0]
    copy: Any = dict(cast("dict[str, Value]", old)) if isinstance(old, dict) else list(cast("list[Value]", old))
    if len(path) == 1:
        del copy[step]
    else:
        copy[step] = _without(copy[step], path[1:])
    return copy
