"""A value set or removed in a text, with no other byte touched."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING, cast
from krmfn.yamltext.breaks import restored, unified
from krmfn.yamltext.error import YamlError, error_at
from krmfn.yamltext.lastline import with_last_break
from krmfn.yamltext.reader import read
from krmfn.yamltext.scalars import scalar_value
from krmfn.yamltext.splice import insert_entry, insert_item, remove_entry, remove_item, replace
from krmfn.yamltext.tree import find, tree_of
from krmfn.yamltext.writer import write

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from krmfn.yamltext.tree import Node

__all__ = ["remove_value", "set_value"]


def set_value(text: str, path: FieldPath, value: Value) -> str:
    """`text` with `value` at `path`: replaced where there is one, else inserted, its parents too.

    Nothing else changes: comments, indentation, flow style, line ends. A text that holds the value already comes back
    as it is. An index one past the end of a list appends. An alias on the way is written out in its place.

    Raises YamlError: the text cannot be read up to the value, a parent is of another type, an index is out of range,
    or an anchor on the way is used elsewhere, where the edit would show too.
    """
    nodes = find(text, path)
    if not nodes:
        return with_last_break(text) + write(_nested(path, value))
    exists = len(nodes) > len(path)
    if exists and _is_already(text, nodes[-1], path, value):
        return text
    _refuse_shared(text, nodes, path)
    lined = unified(text)
    edited = replace(lined, nodes, value) if exists else _insert(text, lined, nodes, path, value)
    return restored(text, lined, edited)


def remove_value(text: str, path: FieldPath, *, prune: bool = False, keep_comments: bool = False) -> str:
    """`text` without the value at `path` and its key; unchanged where there is none.

    Its lines go, comments of others stay; with `keep_comments` its own stay too, as lines in its place. A parent left
    without entries becomes `{}` or `[]`; with `prune` it goes too, and its parents likewise, the root excepted. Raises
    YamlError as `set_value` does, and where a comment could not stay.
    """
    removed = _without_value(text, path, prune=prune)
    if not keep_comments or removed == text or "#" not in text:
        return removed
    from krmfn.yamltext.comments import with_lost_comments
    from krmfn.yamltext.spans import locate

    span = locate(text, path, key=True)
    return with_lost_comments(text, removed, text.rfind("\n", 0, span.start if span else 0) + 1)


def _without_value(text: str, path: FieldPath, *, prune: bool) -> str:
    if not path:
        raise YamlError("the whole document must not be removed; name a field of it")
    nodes = find(text, path, rest=True)
    if not nodes:
        return text
    _refuse_shared(text, nodes, path)
    lined = unified(text)
    if len(nodes) <= len(path):
        return restored(text, lined, _without_in_alias(text, lined, nodes, path))
    if nodes[-2].count == 0 and nodes[-1].next_start < 0:
        # The only entry of its parent.
        if prune and len(path) > 1:
            return _without_value(text, path[:-1], prune=True)
        kept: Value = {} if nodes[-2].kind == "mapping" else []
        return restored(text, lined, replace(lined, nodes[:-1], kept))
    edited = (remove_entry if nodes[-2].kind == "mapping" else remove_item)(lined, nodes)
    return restored(text, lined, edited)


def _insert(text: str, lined: str, nodes: Sequence[Node], path: FieldPath, value: Value) -> str:
    """`lined` with `value` at a path of which only `nodes` exist."""
    node = nodes[-1]
    depth = len(nodes) - 1
    step = path[depth]
    if node.kind == "mapping" and isinstance(step, str):
        if node.merges:
            value = _over_merged(text, path[: depth + 1], path[depth + 1 :], value)
        else:
            value = _nested(path[depth + 1 :], value)
        return insert_entry(lined, nodes, step, value)
    if node.kind == "list" and step == node.count:
        return insert_item(lined, nodes, _nested(path[depth + 1 :], value))
    if node.kind == "alias":
        whole = _value_at(read(text), path[:depth])
        return replace(lined, nodes, _with(whole, path[depth:], value))
    if node.kind == "scalar" and scalar_value(node.value, node.tag, is_plain=not node.style) is None:
        return replace(lined, nodes, _nested(path[depth:], value))
    raise error_at(text, node.start, _mismatch(path, depth, node))


def _without_in_alias(text: str, lined: str, nodes: Sequence[Node], path: FieldPath) -> str:
    """`lined` without what only an alias or a merge brings to `path`."""
    node = nodes[-1]
    depth = len(nodes) - 1
    if node.kind != "alias" and not node.merges:
        return lined
    whole = read(text)
    try:
        _value_at(whole, path)
    except (KeyError, IndexError, TypeError):
        return lined
    if node.merges:
        raise error_at(
            text, node.start, f'"{path[depth]}" comes from a merge (<<); it must be removed where it is written'
        )
    return replace(lined, nodes, _without(_value_at(whole, path[:depth]), path[depth:]))


def _is_already(text: str, node: Node, path: FieldPath, value: Value) -> bool:
    is_collection = isinstance(value, (dict, list, tuple))
    if node.kind == "scalar":
        if is_collection:
            return False
        try:
            return _same(scalar_value(node.value, node.tag, is_plain=not node.style), value)
        except ValueError:
            return False
    if node.kind != "alias" and not is_collection:
        return False
    return _same(_value_at(read(text), path), value)


def _same(first: Value, other: Value) -> bool:
    """Equal, types included: 1, 1.0 and true differ. Keys of mappings must stand in the same order."""
    if isinstance(first, dict) and isinstance(other, dict):
        return list(first) == list(other) and all(_same(v, other[k]) for k, v in first.items())
    if isinstance(first, (list, tuple)) and isinstance(other, (list, tuple)):
        pairs = zip(cast("Sequence[Value]", first), cast("Sequence[Value]", other), strict=False)
        return len(first) == len(other) and all(_same(a, b) for a, b in pairs)
    return type(first) is type(other) and first == other


def _refuse_shared(text: str, nodes: Sequence[Node], path: FieldPath) -> None:
    """Raises where the edit would show in another place, or take away an anchor that another place needs."""
    if "&" not in text or "*" not in text:
        return
    starts = {node.start for node in nodes}
    target = nodes[-1] if len(nodes) > len(path) else None
    for start, anchor in tree_of(text).shared_anchors():
        if start in starts or (target is not None and target.start <= start < target.end):
            name = path[len(path) - 1] if path else ""
            raise error_at(
                text,
                start,
                f'anchor "{anchor}" shares this value with other places; write it out where it is used, '
                f'so that "{name}" can be changed here alone',
            )


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
        merged = _value_at(read(text), at)
    except KeyError:
        merged = None
    return _with(merged, rest, value)


def _mismatch(path: FieldPath, depth: int, node: Node) -> str:
    step = path[depth]
    parent = f'"{path[depth - 1]}"' if depth else "the document"
    if node.kind == "list" and isinstance(step, int):
        return f"{parent} has {node.count} items; the index to set must be at most {node.count}; got {step}"
    needed = "a list" if isinstance(step, int) else "a mapping"
    got = f"a {node.kind}" if node.kind in ("mapping", "list") else f'"{node.value}"'
    return f'{parent} must be {needed} to hold "{step}"; got {got}'


def _kind_name(value: Value) -> str:
    if isinstance(value, dict):
        return "a mapping"
    return "a list" if isinstance(value, list) else f'"{value}"'
