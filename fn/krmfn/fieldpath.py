"""Field paths, and the error about one field of one object.

A path is `spec.template.cliques[2].name` as text, and `("spec", "template", "cliques", 2, "name")` as a value.
"""

from __future__ import annotations

import re
from functools import lru_cache

from krmfn.hints import TYPE_CHECKING, FieldPath
from krmfn.result import ResourceRef, Result, ResultField, ResultFile

if TYPE_CHECKING:
    from collections.abc import Iterable

    from krmfn.kubeobject import Location, ObjectId
    from krmfn.value import Value

__all__ = ["NOUNS", "FieldError", "FieldPath", "describe", "format_path", "parse_path", "unknown_field"]

NOUNS: dict[type, str] = {
    str: "a string",
    int: "an integer",
    float: "a number",
    bool: "true or false",
    dict: "a mapping",
    list: "a list",
}
"""The names of value types in error texts."""

_LONGEST = 80
_PLAIN = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$-"
"""The characters of keys that paths show without brackets."""
_STEP = r"(?P<dot>\.?)(?:(?P<key>[^.\[\]]+)|\[(?P<index>\d+)\]|\[(?P<quoted>[^\]]*)\])"


def format_path(path: FieldPath) -> str:
    """Return `path` as Kubernetes prints it. A key with other characters than letters, digits, `_`, `$` and `-` is in
    brackets.

    >>> format_path(("metadata", "annotations", "grove.io/x"))
    'metadata.annotations[grove.io/x]'
    """
    out = ""
    for step in path:
        if isinstance(step, int):
            out += f"[{step}]"
        elif step and not step.strip(_PLAIN):
            out += f".{step}" if out else step
        else:
            out += f"[{step}]"
    return out


@lru_cache(maxsize=1024)
def parse_path(text: str) -> FieldPath:
    """Return the path that `format_path` prints as `text`. Raise ValueError if `text` is not a path.

    Digits in brackets are an index. A key with `]` cannot be written as text: pass the path as a tuple.
    """
    path: list[str | int] = []
    at = 0
    while at < len(text):
        step = re.compile(_STEP).match(text, at)
        # A key begins the path or follows a dot. A bracket follows neither.
        if step is None or bool(step["dot"]) != (step["key"] is not None and at > 0):
            raise ValueError(f'must be a field path such as "spec.items[0].name"; got "{text}"')
        at = step.end()
        if step["index"] is not None:
            path.append(int(step["index"]))
        else:
            path.append(step["key"] if step["key"] is not None else step["quoted"])
    return tuple(path)


class FieldError(ValueError):
    """Raised for an invalid field. It has the object's id, the field's path, the message and the location.

    `id` is None if the object is unreadable.
    """

    def __init__(self, object_id: ObjectId | None, path: FieldPath, message: str, location: Location) -> None:
        super().__init__(message)
        self.id = object_id
        self.path = path
        self.message = message
        self.location = location

    def __str__(self) -> str:
        who = f" {self.id.short_text}:" if self.id is not None else ""
        field = f" {format_path(self.path)}" if self.path else ""
        return f"{self.location}:{who}{field} {self.message}"

    def __reduce__(self) -> tuple[type[FieldError], tuple[ObjectId | None, FieldPath, str, Location]]:
        return type(self), (self.id, self.path, self.message, self.location)

    def to_result(self) -> Result:
        """Return the error as a result of severity error."""
        ref = None if self.id is None else ResourceRef.of(self.id)
        field = ResultField(format_path(self.path)) if self.path else None
        file = None if self.location.file is None else ResultFile(self.location.file)
        tags = {"line": str(self.location.line), "column": str(self.location.column)}
        return Result(self.message, resource_ref=ref, field=field, file=file, tags=tags)


def describe(value: Value) -> str:
    """Return `value` as an error text quotes it.

    Strings are quoted and shortened, mappings and lists are named by their type.
    """
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
    """Return the message about the unknown field `name`, with the nearest known name and all known names."""
    from difflib import get_close_matches

    names = sorted(known)
    near = get_close_matches(name, names, n=1, cutoff=0.6)
    listed = ", ".join(f'"{each}"' for each in names)
    hint = f'; did you mean "{near[0]}"?' if near else ""
    return f'must be a known field; got "{name}"{hint}{" known: " if hint else "; known: "}{listed}'
