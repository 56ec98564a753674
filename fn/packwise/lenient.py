"""Read fields of objects before validation. Values of a wrong type count as absent.

A schema reports wrong types. Callers that read an object after validation use its values directly.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeVar

    from krmfn.value import Value

    _Default = TypeVar("_Default")

_EMPTY: Mapping[str, Value] = {}


def mapping(value: Value) -> Mapping[str, Value]:
    """Return `value` if it is a mapping, else an empty one."""
    return value if isinstance(value, dict) else _EMPTY


def value_at(value: Value, *steps: str | int) -> Value:
    """Return the value at the path `steps`, which are keys of nested mappings, or None."""
    for step in steps:
        value = value.get(str(step)) if isinstance(value, dict) else None
    return value


# A render reads dozens of fields of each workload with the next two functions. Each walks the path in one call.


def mapping_at(value: Value, *steps: str) -> Mapping[str, Value]:
    """Return the mapping at the path `steps`, else an empty one."""
    for step in steps:
        value = value.get(step) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else _EMPTY


def text_at(value: Value, *steps: str) -> str:
    """Return the string at the path `steps`, else ""."""
    for step in steps:
        value = value.get(step) if isinstance(value, dict) else None
    return value if isinstance(value, str) else ""


def entries(value: Value) -> list[Value]:
    """Return the entries of a list, or none for another value."""
    return value if isinstance(value, list) else []


def mappings(value: Value) -> list[Mapping[str, Value]]:
    """Return the mappings in a list."""
    return [cast("Mapping[str, Value]", entry) for entry in entries(value) if isinstance(entry, dict)]


def mappings_in_place(value: Value) -> list[Mapping[str, Value]]:
    """Return the entries of a list, with an empty mapping in place of each entry that is not a mapping."""
    return [entry if isinstance(entry, dict) else _EMPTY for entry in value] if isinstance(value, list) else []


def mappings_by_place(value: Value) -> list[tuple[int, Mapping[str, Value]]]:
    """Return the mappings in a list, each with its index."""
    return [(place, entry) for place, entry in enumerate(entries(value)) if isinstance(entry, dict)]


def text(value: Value) -> str:
    """Return `value` if it is a string, else ""."""
    return value if isinstance(value, str) else ""


def strings(value: Value) -> list[str]:
    """Return the strings in a list."""
    return [entry for entry in entries(value) if isinstance(entry, str)]


def integer(value: Value, default: _Default) -> int | _Default:
    """Return `value` if it is an integer, else `default`."""
    return value if type(value) is int else default


def whole_number(value: Value, default: _Default) -> int | _Default:
    """Return the integer that Kubernetes tools read from `value`, else `default`. They read 2.0 as 2."""
    if type(value) is float and value.is_integer():
        return int(value)
    return integer(value, default)


def texts(value: Value) -> Mapping[str, str]:
    """Return the strings in a mapping, by their keys."""
    return {key: entry for key, entry in mapping(value).items() if isinstance(entry, str)}
