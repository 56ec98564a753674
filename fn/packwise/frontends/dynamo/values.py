"""Values that no schema has looked at, read as the type they are to have: one of another type reads as absent."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krmfn.value import Value

__all__ = ["mapping", "mappings", "text", "texts", "whole"]

_EMPTY: Mapping[str, Value] = {}


def mapping(value: Value) -> Mapping[str, Value]:
    """`value` where it is a mapping, else an empty one."""
    return value if isinstance(value, dict) else _EMPTY


def mappings(value: Value) -> list[Mapping[str, Value]]:
    """The entries of a list; an empty mapping in the place of each that is none."""
    return [mapping(entry) for entry in value] if isinstance(value, list) else []


def text(value: Value) -> str:
    """`value` where it is a string, else ""."""
    return value if isinstance(value, str) else ""


def texts(value: Value) -> Mapping[str, str]:
    """The strings of a mapping."""
    return {key: entry for key, entry in mapping(value).items() if isinstance(entry, str)}


def whole(value: Value, default: int) -> int:
    """The integer that `value` is to Kubernetes, else `default`."""
    if type(value) is float and value.is_integer():
        return int(value)
    return value if type(value) is int else default
