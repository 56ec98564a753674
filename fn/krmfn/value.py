"""The type of a YAML value once it is read (the JSON types, with string keys)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence  # noqa: TC003 (code that evaluates the alias needs them)

from krmfn.hints import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TypeAlias

__all__ = ["Scalar", "Value"]

Scalar: TypeAlias = str | int | float | bool | None
Value: TypeAlias = "Scalar | Mapping[str, Value] | Sequence[Value]"
