"""Lists whose entries must differ, by keys or as a whole. Source: apiextensions-apiserver, schema/listtype."""

from __future__ import annotations

import json

from krmfn.errors import describe
from krmfn.hints import TYPE_CHECKING
from packwise.kubernetes.validation import ErrorType
from packwise.validate.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from krmfn.value import Value
    from packwise.findings.finding import Problem
    from packwise.validate.valuepath import ValuePath

__all__ = ["duplicates", "identity"]


def duplicates(value: Value, schema: Schema, at: ValuePath) -> Iterator[Problem]:
    """Each entry that repeats another one of its list, once for each value."""
    if isinstance(value, dict):
        for name, entry in value.items():
            if isinstance(schema.additional, Schema):
                yield from duplicates(entry, schema.additional, at.key(name))
            if name in schema.properties:
                yield from duplicates(entry, schema.properties[name], at.field(name))
    elif isinstance(value, list):
        if schema.list_type == "set":
            yield from _repeated(value, value, at)
        elif schema.list_type == "map":
            yield from _of_map(value, schema, at)
        if schema.items is not None:
            for index, entry in enumerate(value):
                yield from duplicates(entry, schema.items, at.entry(index))


def identity(value: Value) -> str:
    """A text that equal values have alike, whatever the order of their fields."""
    return json.dumps(value, sort_keys=True)


def _of_map(value: Sequence[Value], schema: Schema, at: ValuePath) -> Iterator[Problem]:
    keys: list[Value] = []
    for index, entry in enumerate(value):
        if entry is not None and not isinstance(entry, dict):
            detail = "must be an object for an array of list-type map"
            yield at.entry(index).refused(ErrorType.INVALID, f"must be a mapping; got {describe(entry)}", detail, entry)
            return
        keys.append({} if entry is None else {key: entry[key] for key in schema.keys if key in entry})
    yield from _repeated(value, keys, at)


def _repeated(value: Sequence[Value], keys: Sequence[Value], at: ValuePath) -> Iterator[Problem]:
    """The first entry that repeats another, for each that is repeated."""
    seen: dict[str, int] = {}
    for index, key in enumerate(keys):
        text = identity(key)
        seen[text] = seen.get(text, 0) + 1
        if seen[text] == 2:
            yield at.entry(index).refused(ErrorType.DUPLICATE, _message(key, value[index]), value=key)


def _message(key: Value, entry: Value) -> str:
    if not isinstance(key, dict) or key is entry:
        return f"must stand in the list once; got {describe(entry)} again"
    shown = ", ".join([f"{name} {describe(part)}" for name, part in key.items()]) or "none of its keys"
    return f"must be the only entry with {shown}"
