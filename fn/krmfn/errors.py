"""The error about one field of one object, and how its text quotes a value."""

from __future__ import annotations

from krmfn.fieldpath import format_path
from krmfn.hints import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from krmfn.fieldpath import FieldPath
    from krmfn.result import Result
    from krmfn.source import Location, ObjectId
    from krmfn.value import Value

__all__ = ["FieldError", "describe", "unknown_field"]

_LONGEST = 80


class FieldError(ValueError):
    """A field that is not what it must be: of which object, where, and what it must be.

    `id` is None where the object could not be read at all.
    """

    def __init__(self, object_id: ObjectId | None, path: FieldPath, message: str, location: Location) -> None:
        super().__init__(message)
        self.id = object_id
        self.path = path
        self.message = message
        self.location = location

    def __str__(self) -> str:
        who = f" {self.id.short}:" if self.id is not None else ""
        field = f" {format_path(self.path)}" if self.path else ""
        return f"{self.location}:{who}{field} {self.message}"

    def __reduce__(self) -> tuple[type[FieldError], tuple[ObjectId | None, FieldPath, str, Location]]:
        return type(self), (self.id, self.path, self.message, self.location)

    def to_result(self) -> Result:
        """The same as a result of severity error."""
        from krmfn.result import ResourceRef, Result, ResultField, ResultFile

        ref = None if self.id is None else ResourceRef.of(self.id)
        field = ResultField(format_path(self.path)) if self.path else None
        file = None if self.location.file is None else ResultFile(self.location.file)
        tags = {"line": str(self.location.line), "column": str(self.location.column)}
        return Result(self.message, resource_ref=ref, field=field, file=file, tags=tags)


def describe(value: Value) -> str:
    """`value` as an error text quotes it: strings in quotes, mappings and lists by their kind, all of it short."""
    if isinstance(value, str):
        return f'"{value if len(value) <= _LONGEST else value[:_LONGEST] + "…"}"'
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return str(value)
    return "a list" if isinstance(value, (list, tuple)) else "a mapping"


def unknown_field(name: str, known: Iterable[str]) -> str:
    """The message about a field that nobody knows: the nearest known name, and all of them."""
    from difflib import get_close_matches

    names = sorted(known)
    near = get_close_matches(name, names, n=1, cutoff=0.6)
    listed = ", ".join(f'"{each}"' for each in names)
    hint = f'; did you mean "{near[0]}"?' if near else ""
    return f'must be a known field; got "{name}"{hint}{" known: " if hint else "; known: "}{listed}'
