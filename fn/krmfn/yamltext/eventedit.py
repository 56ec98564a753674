"""Splicing by the events of a parser: a value set or removed, with no other byte touched."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING, cast
from krmfn.yamltext.breaks import restored
from krmfn.yamltext.build import read_libyaml, scalar_value
from krmfn.yamltext.error import YamlError, error_at
from krmfn.yamltext.events import (
    AliasEvent,
    DocumentEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceStartEvent,
    StreamEndEvent,
    start_of_document,
)
from krmfn.yamltext.lastline import with_last_break
from krmfn.yamltext.spans import Node, Walk, find
from krmfn.yamltext.splice import (
    insert_entry,
    insert_item,
    remove_entry,
    remove_item,
    replace,
)
from krmfn.yamltext.writer import write

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value

__all__ = ["remove_by_events", "set_by_events"]


def set_by_events(text: str, path: FieldPath, value: Value) -> str:
    """`set_value`, for any text."""
    walk = find(text, path)
    if walk is None:
        return with_last_break(text) + write(_nested(path, value))
    node = walk.nodes[-1]
    exists = len(walk.nodes) > len(path)
    if exists and _is_already(text, node, path, value):
        return text
    _refuse_shared(walk, path)
    edited = replace(walk.text, walk, value) if exists else _insert(text, walk, path, value)
    return restored(text, walk.text, edited)


def remove_by_events(text: str, path: FieldPath, *, prune: bool = False) -> str:
    """`remove_value`, for any text."""
    if not path:
        raise YamlError("the whole document must not be removed; name a field of it")
    walk = find(text, path, rest=True)
    if walk is None:
        return text
    _refuse_shared(walk, path)
    if len(walk.nodes) <= len(path):
        return restored(text, walk.text, _without_in_alias(text, walk, path))
    if _is_only_entry(walk):
        if prune and len(path) > 1:
            return remove_by_events(text, path[:-1], prune=True)
        last = path[len(path) - 1]
        kept: Value = {} if isinstance(last, str) else []
        walk.nodes.pop()
        return restored(text, walk.text, replace(walk.text, walk, kept))
    edited = (remove_entry if isinstance(path[-1], str) else remove_item)(walk.text, walk)
    return restored(text, walk.text, edited)


def _insert(text: str, walk: Walk, path: FieldPath, value: Value) -> str:
    """The walk's text with `value` at a path of which only the nodes of `walk` exist."""
    lined = walk.text
    node = walk.nodes[-1]
    depth = len(walk.nodes) - 1
    kind = type(node.event)
    if kind is MappingStartEvent and isinstance(path[depth], str):
        name = cast("str", path[depth])
        if node.merge:
            value = _over_merged(text, path[: depth + 1], path[depth + 1 :], value)
        else:
            value = _nested(path[depth + 1 :], value)
        return insert_entry(lined, walk, name, value)
    if kind is SequenceStartEvent and path[depth] == node.count:
        return insert_item(lined, walk, _nested(path[depth + 1 :], value))
    if kind is AliasEvent:
        whole = _value_at(read_libyaml(text), path[:depth])
        return replace(lined, walk, _with(whole, path[depth:], value))
    if kind is ScalarEvent and scalar_value(node.event) is None:
        return replace(lined, walk, _nested(path[depth:], value))
    raise error_at(text, node.start, _mismatch(path, depth, node))


def _is_only_entry(walk: Walk) -> bool:
    parent, node = walk.nodes[-2:]
    return parent.count == 0 and node.next_start < 0


def _without_in_alias(text: str, walk: Walk, path: FieldPath) -> str:
    node = walk.nodes[-1]
    depth = len(walk.nodes) - 1
    if type(node.event) is not AliasEvent and not node.merge:
        return walk.text
    whole = read_libyaml(text)
    try:
        _value_at(whole, path)
    except (KeyError, IndexError, TypeError):
        return walk.text
    if node.merge:
        raise error_at(
            text, node.start, f'"{path[depth]}" comes from a merge (<<); it must be removed where it is written'
        )
    return replace(walk.text, walk, _without(_value_at(whole, path[:depth]), path[depth:]))


def _is_already(text: str, node: Node, path: FieldPath, value: Value) -> bool:
    kind = type(node.event)
    if kind is ScalarEvent:
        if isinstance(value, (dict, list, tuple)):
            return False
        try:
            return _same(scalar_value(node.event), value)
        except ValueError:
            return False
    if kind is not AliasEvent and not isinstance(value, (dict, list, tuple)):
        return False
    return _same(_value_at(read_libyaml(text), path), value)


def _same(first: Value, other: Value) -> bool:
    """Equal, types included: 1, 1.0 and true differ. Keys of mappings must stand in the same order."""
    if isinstance(first, dict) and isinstance(other, dict):
        return list(first) == list(other) and all(_same(v, other[k]) for k, v in first.items())
    if isinstance(first, (list, tuple)) and isinstance(other, (list, tuple)):
        pairs = zip(cast("Sequence[Value]", first), cast("Sequence[Value]", other), strict=False)
        return len(first) == len(other) and all(_same(a, b) for a, b in pairs)
    return type(first) is type(other) and first == other


def _refuse_shared(walk: Walk, path: FieldPath) -> None:
    """Raises where the edit would show in another place, or take away an anchor that another place needs."""
    text = walk.text
    if "&" not in text or "*" not in text:
        return
    starts = {node.start for node in walk.nodes}
    target = walk.nodes[-1] if len(walk.nodes) > len(path) else None
    for start, anchor in _shared_anchors(text):
        if start in starts or (target is not None and target.start <= start < target.end):
            name = path[len(path) - 1] if path else ""
            raise error_at(
                text,
                start,
                f'anchor "{anchor}" shares this value with other places; write it out where it is used, '
                f'so that "{name}" can be changed here alone',
            )


def _shared_anchors(text: str) -> list[tuple[int, str]]:
    """Where each anchor stands that an alias repeats, and its name."""
    step, event, skipped = start_of_document(text)
    anchors: list[tuple[int, str]] = []
    repeated: set[str] = set()
    while type(event) is not DocumentEndEvent and type(event) is not StreamEndEvent:
        name = getattr(event, "anchor", None)
        if name and type(event) is AliasEvent:
            repeated.add(name)
        elif name:
            anchors.append((event.start_mark.index + skipped, name))
        event = step()
    return [(start, name) for start, name in anchors if name in repeated]


def _nested(path: FieldPath, value: Value) -> Value:
    """`value` inside the mappings and lists that `path` names."""
    for step in reversed(path):
        if isinstance(step, int):
            if step:
                raise YamlError(f"the first index of a new list must be 0; got {step}")
            value = [value]
        else:
            value = {step: value}
    return value


def _value_at(value: Value, path: FieldPath) -> Value:
    for step in path:
        value = cast("Mapping[str, Value]", value)[cast("str", step)]
    return value


def _with(value: Value, path: FieldPath, new: Value) -> Value:
    """`value` (nothing when None) with `new` at `path`; what is on the way is copied, not changed."""
    if not path:
        return new
    step = path[0]
    if value is None:
        return _nested(path, new)
    if isinstance(value, dict) and isinstance(step, str):
        return {**value, step: _with(value.get(step), path[1:], new)}
    if isinstance(value, list) and isinstance(step, int) and step <= len(value):
        return [*value[:step], _with(value[step] if step < len(value) else None, path[1:], new), *value[step + 1 :]]
    raise YamlError(f'"{step}" cannot be set inside {_kind_name(value)}')


def _without(value: Value, path: FieldPath) -> Value:
    step = path[0]
    inner = _value_at(value, path[:1])
    if len(path) > 1:
        return _with(value, path[:1], _without(inner, path[1:]))
    if isinstance(value, dict):
        return {k: v for k, v in value.items() if k != step}
    return [v for i, v in enumerate(cast("list[Value]", value)) if i != step]


def _over_merged(text: str, at: FieldPath, rest: FieldPath, value: Value) -> Value:
    """What an explicit key must hold that hides a merged one: the merged value, with `value` at `rest`."""
    try:
        merged = _value_at(read_libyaml(text), at)
    except KeyError:
        merged = None
    return _with(merged, rest, value)


def _mismatch(path: FieldPath, depth: int, node: Node) -> str:
    step = path[depth]
    parent = f'"{path[depth - 1]}"' if depth else "the document"
    if type(node.event) is SequenceStartEvent and isinstance(step, int):
        return f"{parent} has {node.count} items; the index to set must be at most {node.count}; got {step}"
    needed = "a list" if isinstance(step, int) else "a mapping"
    names = {MappingStartEvent: "a mapping", SequenceStartEvent: "a list"}
    got = names.get(type(node.event)) or f'"{node.event.value}"'
    return f'{parent} must be {needed} to hold "{step}"; got {got}'


def _kind_name(value: Value) -> str:
    if isinstance(value, dict):
        return "a mapping"
    return "a list" if isinstance(value, list) else f'"{value}"'
