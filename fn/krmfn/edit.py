"""Edits of an object: the text spliced, and the value copied along the path."""

from __future__ import annotations

from contextlib import suppress
from marshal import dumps

from krmfn.errors import describe
from krmfn.fieldpath import format_path
from krmfn.hints import TYPE_CHECKING, cast
from krmfn.source import Source
from krmfn.yamltext import YamlError, read
from krmfn.yamltext.edit import remove_value, set_value

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, TypeAlias

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value

__all__ = ["same", "with_name", "with_nesting", "with_quotes", "with_value", "without_value"]

_Edited: TypeAlias = "tuple[Source | None, Mapping[str, Value]]"
_ABSENT: Any = object()
_NOT_IN_PLACE = (
    "must be written in block style, an entry on each line, without anchors and aliases, to be changed without a "
    "change beside it"
)


def same(first: Value, other: Value) -> bool:
    """True for two values that are the same JSON: 1, 1.0 and true are three, and the order of keys does not count."""
    # Version 2 writes each value by its type, as often as it stands there: a third of the time of a look at each. What
    # a caller made of a type of its own it does not write.
    with suppress(ValueError):
        if dumps(cast("Any", first), 2) == dumps(cast("Any", other), 2):
            return True
    return _are_same(first, other)


def _are_same(first: Value, other: Value) -> bool:
    if isinstance(first, dict):
        mine = first
        if not isinstance(other, dict):
            return False
        theirs = other
        return mine.keys() == theirs.keys() and all(_are_same(mine[key], theirs[key]) for key in mine)
    if isinstance(first, (list, tuple)):
        here = cast("list[Value]", first)
        if not isinstance(other, (list, tuple)):
            return False
        there = cast("list[Value]", other)
        return len(here) == len(there) and all(map(_are_same, here, there))
    # `.nan` is not equal to itself.
    return type(first) is type(other) and (first == other or str(first) == str(other) == "nan")


def with_value(item: KubeObject, path: FieldPath, value: Value) -> _Edited:
    """The source and value of `item` with `value` at `path`; its own where it is there already."""
    if not path and not isinstance(value, dict):
        raise item.error(path, f"must be a mapping; got {describe(value)}")
    if same(item.get(path, _ABSENT), value):
        return item.source if item.written else None, item.value
    changed = cast("Mapping[str, Value]", _with(item, item.value, path, 0, value))
    if not item.written:
        return None, changed
    source = item.source
    try:
        return _set(source, path, value, changed), changed
    except YamlError as error:
        if _needs_others(source):
            return None, changed
        raise item.error(path, error.message) from None


def _set(source: Source, path: FieldPath, value: Value, changed: Mapping[str, Value]) -> Source | None:
    """`source` with `value` at `path`; None where no splice gives a text that means `changed`."""
    text = set_value(source.text, source.root + path, value)
    if not _means(text, source, changed):
        return None
    return _with_text(source, text)


def without_value(item: KubeObject, path: FieldPath, *, prune: bool, keep_comments: bool) -> _Edited:
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
    source = item.source
    try:
        text = remove_value(source.text, source.root + path, keep_comments=keep_comments)
        if _means(text, source, changed):
            return _with_text(source, text), changed
        if keep_comments and "#" in source.text:
            raise item.error(path, _NOT_IN_PLACE)
        return None, changed
    except YamlError as error:
        if _needs_others(source):
            return None, changed
        raise item.error(path, error.message) from None


def with_nesting(item: KubeObject, path: FieldPath, outer: str) -> _Edited:
    """The source and value of `item` with the entry at `path` as the only one of a new mapping `outer` at its place."""
    from krmfn.yamltext.places import nest_entry

    source = item.source
    try:
        text = nest_entry(source.text, source.root + path, outer)
    except YamlError as error:
        raise item.error(path, error.message) from None
    parent = cast("Mapping[str, Value]", item.get(path[:-1]))
    nested = {outer if key == path[-1] else key: {key: e} if key == path[-1] else e for key, e in parent.items()}
    changed = _with(item, item.value, path[:-1], 0, nested) if len(path) > 1 else nested
    return _respelt(item, path, text, changed)


def _with_text(source: Source, text: str) -> Source:
    return Source(text, source.root, source.line, source.column, source.file)


def with_quotes(item: KubeObject, path: FieldPath) -> _Edited:
    """The source and value of `item` with the plain scalar at `path` in quotes."""
    from krmfn.yamltext.places import quote_scalar

    source = item.source
    try:
        text = quote_scalar(source.text, source.root + path)
    except YamlError as error:
        raise item.error(path, error.message) from None
    if text == source.text:
        return source, item.value
    quoted = read(text)
    for step in source.root + path:
        quoted = cast("Any", quoted)[step]
    return _respelt(item, path, text, _with(item, item.value, path, 0, quoted))


def with_name(item: KubeObject, path: FieldPath, name: str) -> _Edited:
    """The source and value of `item` with the key at `path` spelt `name`."""
    from krmfn.yamltext.places import rename_key

    source = item.source
    try:
        text = rename_key(source.text, source.root + path, name)
    except YamlError as error:
        raise item.error(path, error.message) from None
    parent = cast("Mapping[str, Value]", item.get(path[:-1]))
    renamed = {name if key == path[-1] else key: entry for key, entry in parent.items()}
    changed = _with(item, item.value, path[:-1], 0, renamed) if len(path) > 1 else renamed
    return _respelt(item, path, text, changed)


def _respelt(item: KubeObject, path: FieldPath, text: str, changed: Value) -> _Edited:
    """The source with `text`, which must mean `changed`, and that value."""
    if not _means(text, item.source, changed):
        raise item.error(path, _NOT_IN_PLACE)
    return _with_text(item.source, text), cast("Mapping[str, Value]", changed)


def _means(text: str, source: Source, value: Value) -> bool:
    """Whether `text`, put in the place of that of `source`, holds `value` where the object is."""
    try:
        part: Any = read(text, is_kept=False)
        for step in source.root:
            part = part[step]
    except (YamlError, LookupError, TypeError):
        return False
    return same(part, value)


def _needs_others(source: Source) -> bool:
    """Whether the text means nothing alone: an alias to another item's anchor, or JSON that is no YAML.

    Such an item is written anew from its value, since there is nothing to splice into.
    """
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
    raise item.error(path[:depth], f"must be {wanted} for {format_path(path)} to be set; got {describe(old)}")


def _without(old: Any, path: FieldPath) -> Value:
    step = path[0]
    copy: Any = dict(cast("dict[str, Value]", old)) if isinstance(old, dict) else list(cast("list[Value]", old))
    if len(path) == 1:
        del copy[step]
    else:
        copy[step] = _without(copy[step], path[1:])
    return copy
