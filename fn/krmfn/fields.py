"""Typed access to the fields of an unvalidated mapping. The message about a wrong field names its path."""

from __future__ import annotations

from krmfn.fieldpath import NOUNS, FieldError, FieldPath, describe, unknown_field
from krmfn.hints import TYPE_CHECKING, TypeVar, cast
from krmfn.kubeobject import Location

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any, TypeAlias

    from krmfn.value import Value

__all__ = ["Fields", "Refusal"]

Refusal: TypeAlias = "Callable[[FieldPath, str], object]"
"""A function that is called for a field with a wrong value. Its arguments are the path and a message such as `must be a
string; got 3`. The function raises an exception, or it records the problem and returns. The field then counts as
absent.
"""

_EMPTY: Mapping[str, Value] = {}

T = TypeVar("T")


class Fields:
    """A view of a mapping, with a getter for each type of field. `path` is the place of the mapping in its object.

    A getter returns None, an empty view or an empty tuple if the field is absent or null. `required_…` refuses such a
    field. Every getter refuses a field of a wrong type: true is not an integer, and 1 is not a string. An integer is
    also a number. To refuse a field means to call the function `refuse`, which raises FieldError by default.
    """

    __slots__ = ("_refuse", "path", "value")

    value: Mapping[str, Value]
    path: FieldPath

    def __init__(self, value: Mapping[str, Value], path: FieldPath = (), *, refuse: Refusal | None = None) -> None:
        self.value = value
        self.path = path
        self._refuse: Refusal = _raise if refuse is None else refuse

    def __contains__(self, name: object) -> bool:
        return self.value.get(cast("str", name)) is not None

    def __repr__(self) -> str:
        return f"<Fields {list(self.value)} at {self.path}>"

    def text(self, name: str, *, known: Sequence[str] = ()) -> str | None:
        """Return the string in the field `name`. With `known`, it must be one of these."""
        text: str | None = self._typed_field(name, str)
        if text is not None and known and text not in known:
            quoted = ", ".join(f'"{choice}"' for choice in known)
            self.refuse(name, f"must be one of {quoted}; got {describe(text)}")
            return None
        return text

    def integer(self, name: str) -> int | None:
        """Return the integer in the field `name`."""
        return self._typed_field(name, int)

    def number(self, name: str) -> float | None:
        """Return the integer or float in the field `name`."""
        value = self.value.get(name)
        return value if type(value) is int else self._typed_field(name, float)

    def flag(self, name: str) -> bool | None:
        """Return the boolean in the field `name`."""
        return self._typed_field(name, bool)

    def mapping(self, name: str) -> Fields:
        """Return a view of the mapping in the field `name`, empty if there is none."""
        return self._view(self._typed_field(name, dict) or _EMPTY, name)

    def list(self, name: str) -> tuple[Value, ...]:
        """Return the items of the list in the field `name`. Items may have any type."""
        return tuple(cast("list[Value]", self._typed_field(name, list) or ()))

    def texts(self, name: str) -> tuple[str, ...]:
        """Return the items of the list of strings in the field `name`."""
        return tuple(cast("str", item) for _, item in self._items(name, str))

    def entries(self, name: str) -> tuple[Fields, ...]:
        """Return a view of each item of the list of mappings in the field `name`."""
        items = self._items(name, dict)
        return tuple(self._view(cast("Mapping[str, Value]", item), name, index) for index, item in items)

    def mappings(self) -> Iterator[tuple[str, Fields]]:
        """Yield the name of each field, and a view of the mapping in the field. Refuse a field of another type."""
        for name, value in self.value.items():
            if isinstance(value, dict):
                yield name, self._view(value, name)
            else:
                self.refuse(name, _message(dict, value))

    def required_text(self, name: str, *, known: Sequence[str] = ()) -> str:
        """Return the string in the field `name`. Return "" if it was refused. With `known`, it must be one of these."""
        return self._require(name, self.text(name, known=known), str, "")

    def required_integer(self, name: str) -> int:
        """Return the integer in the field `name`. Return 0 if it was refused."""
        return self._require(name, self.integer(name), int, 0)

    def required_number(self, name: str) -> float:
        """Return the integer or float in the field `name`. Return 0 if it was refused."""
        return self._require(name, self.number(name), float, 0)

    def required_flag(self, name: str) -> bool:
        """Return the boolean in the field `name`, or false if it was refused."""
        return self._require(name, self.flag(name), bool, False)

    def required_mapping(self, name: str) -> Fields:
        """Return a view of the mapping in the field `name`. The mapping may be empty."""
        return self._require(name, self.mapping(name), dict, self._view(_EMPTY, name))

    def required_entries(self, name: str) -> tuple[Fields, ...]:
        """Return a view of each item of the list of mappings in the field `name`. The list may be empty."""
        return self._require(name, self.entries(name), list, ())

    def refuse_unknown(self, *known: str) -> None:
        """Refuse every field that is not in `known`. The message names the nearest known field."""
        for name in self.value:
            if name not in known:
                self.refuse(name, unknown_field(name, known))

    def refuse(self, name: str, message: str) -> None:
        """Refuse the field `name` with the caller's message, such as `must be at least 1; got 0`."""
        self._refuse((*self.path, name), message)

    def _view(self, value: Mapping[str, Value], *steps: str | int) -> Fields:
        return Fields(value, (*self.path, *steps), refuse=self._refuse)

    def _typed_field(self, name: str, kind: type[Any]) -> Any:
        value = self.value.get(name)
        if value is None or type(value) is kind:
            return value
        self.refuse(name, _message(kind, value))
        return None

    def _require(self, name: str, value: T | None, kind: type, instead: T) -> T:
        if self.value.get(name) is None:
            self.refuse(name, f"must be {NOUNS[kind]}; it is not set")
        return instead if value is None else value

    def _items(self, name: str, kind: type) -> Iterator[tuple[int, Value]]:
        for index, item in enumerate(self.list(name)):
            if type(item) is kind:
                yield index, item
            else:
                self._refuse((*self.path, name, index), _message(kind, item))


def _message(kind: type, value: Value) -> str:
    return f"must be {NOUNS[kind]}; got {describe(value)}"


def _raise(path: FieldPath, message: str) -> None:
    raise FieldError(None, path, message, Location(None, 1, 1))
