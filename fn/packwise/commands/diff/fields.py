"""The fields in which two values differ, in reading order."""

from __future__ import annotations

from krmfn.edit import same
from krmfn.fieldpath import format_path
from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    from krmfn.value import Value

__all__ = ["Entry", "FieldChange", "Steps", "entries_by_name", "field_changes", "format_steps", "part_at"]


class Entry(NamedTuple):
    """A step into a list: the entry of that name, wherever it stands."""

    name: str


Steps: TypeAlias = "tuple[str | int | Entry, ...]"
"""A field path in which entries of a list may be told by name."""


class FieldChange(NamedTuple):
    """The field at `path` was `before` and is `after`; None where there is no such field."""

    path: Steps
    before: Value
    after: Value


def format_steps(path: Steps) -> str:
    """`spec.podgroups[web-0-router].minReplicas`: the path as people read it; a name stands in brackets."""
    out = ""
    for step in path:
        if isinstance(step, Entry):
            out += f"[{step.name}]"
        else:
            text = format_path((step,))
            out += text if not out or text.startswith("[") else f".{text}"
    return out


def field_changes(before: Value, after: Value, path: Steps = ()) -> Iterator[FieldChange]:
    """What differs between two values without nulls: the smallest parts, but whole entries of lists that come or go.

    Entries of a list are told by their name where all of them have one, and then their order does not count; else by
    their place, or where their number changed, the list is one field.
    """
    if not (path and isinstance(path[-1], Entry)):
        before, after = _beside(before, after), _beside(after, before)
    if isinstance(before, dict) and isinstance(after, dict):
        for key in _merged(list(before), list(after)):
            yield from field_changes(before.get(key), after.get(key), (*path, key))
        return
    if isinstance(before, list) and isinstance(after, list):
        old, new = entries_by_name(before), entries_by_name(after)
        if old is not None and new is not None:
            for name in _merged(list(old), list(new)):
                yield from field_changes(old.get(name), new.get(name), (*path, Entry(name)))
            return
        if len(before) == len(after) and all(isinstance(entry, dict) for entry in (*before, *after)):
            for at, entry in enumerate(before):
                yield from field_changes(entry, after[at], (*path, at))
            return
    if not same(before, after):
        yield FieldChange(path, before, after)


def _beside(value: Value, other: Value) -> Value:
    """`value`; where there is none beside a mapping or a list of named entries, an empty one."""
    if value is not None or not other:
        return value
    if isinstance(other, dict):
        return {}
    return [] if isinstance(other, list) and entries_by_name(other) is not None else None


def part_at(value: Value, step: str | int | Entry) -> Value:
    """The part of `value` that one step of a path leads to; None where there is none."""
    if isinstance(step, str):
        return value.get(step) if isinstance(value, dict) else None
    entries = value if isinstance(value, list) else []
    if isinstance(step, int):
        return entries[step] if step < len(entries) else None
    return (entries_by_name(entries) or {}).get(step.name)


def entries_by_name(entries: Sequence[Value]) -> dict[str, Mapping[str, Value]] | None:
    """The entries of a list by their `name`; None where one has none, or two have the same."""
    by_name: dict[str, Mapping[str, Value]] = {}
    for entry in entries:
        if not isinstance(entry, dict):
            return None
        name = entry.get("name")
        if not isinstance(name, str) or name in by_name:
            return None
        by_name[name] = entry
    return by_name


def _merged(before: Sequence[str], after: Iterable[str]) -> list[str]:
    """Both in one order: that of `after`, and what is gone behind what it stood behind."""
    order = list(after)
    known = set(order)
    place = 0
    for name in before:
        if name in known:
            place = order.index(name) + 1
        else:
            order.insert(place, name)
            place += 1
    return order
