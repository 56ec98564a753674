"""How a field is described: its type, what it holds, what it may be. The vocabulary of `table.py`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "INT32",
    "INT64",
    "Array",
    "Duration",
    "Field",
    "Flag",
    "Kind",
    "Number",
    "Object",
    "Open",
    "Text",
    "TextMap",
]


@dataclass(frozen=True, slots=True)
class Number:
    """An integer of `bits` bits; `go` is its Go type."""

    bits: int = 32
    go: str = "int32"
    json: str = "integer"


@dataclass(frozen=True, slots=True)
class Text:
    """A string; `enum` is what it may be. `empty_is_absent`: Go leaves an empty one out."""

    enum: tuple[str, ...] = ()
    go: str = "string"
    empty_is_absent: bool = False
    json: str = "string"


@dataclass(frozen=True, slots=True)
class Flag:
    """true or false."""

    go: str = "bool"
    json: str = "boolean"


@dataclass(frozen=True, slots=True)
class Duration:
    """A Go duration, `4h0m0s`."""

    go: str = "string"
    json: str = "string"


@dataclass(frozen=True, slots=True)
class TextMap:
    """A mapping of strings to strings."""

    go: str = "map[string]string"
    json: str = "object"


@dataclass(frozen=True, slots=True)
class Open:
    """Anything: another API's field that packwise does not read."""


@dataclass(frozen=True, slots=True)
class Array:
    """A list of `item`; `keys` are the fields that tell its entries apart, with the default of each."""

    item: Kind
    go: str
    keys: Mapping[str, str | None] = field(default_factory=dict[str, "str | None"])
    json: str = "array"


@dataclass(frozen=True, slots=True)
class Object:
    """A mapping with known fields. `struct` is its Go type's name. `closed`: packwise knows all of its fields."""

    struct: str
    fields: Mapping[str, Field]
    closed: bool = True
    package: str = "v1alpha1"
    json: str = "object"

    @property
    def go(self) -> str:
        """The Go type as its decoder names it."""
        return f"{self.package}.{self.struct}"


Kind = Number | Text | Flag | Duration | TextMap | Open | Array | Object


@dataclass(frozen=True, slots=True)
class Field:
    """A field of an object. `required` fields are those whose absence the round trip through Go does not heal.

    `zero_when_absent`: an absent value is checked as its zero value.
    """

    kind: Kind
    required: bool = False
    zero_when_absent: bool = False


INT32 = Number()
INT64 = Number(64, "int64")
