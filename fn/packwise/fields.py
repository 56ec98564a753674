"""Tables of fields: the fields of a mapping, their types and their meaning. Values are checked against these tables.

The tables describe Grove's PodCliqueSets and OperatorConfigurations, Dynamo's graphs and packwise's own settings. This
module reports problems in packwise's words. `validate.decode` checks the same tables, and reports in the words of Go
and of an API server. A cluster's own CRDs are OpenAPI schemas instead (`validate.structure`). OSMO's documents are
pydantic models with OSMO's texts.
"""

from __future__ import annotations

import re
from types import MappingProxyType

from krmfn.fieldpath import FieldPath, describe, unknown_field
from krmfn.hints import TYPE_CHECKING, Record
from packwise.findings import Problem
from packwise.wording import count_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from krmfn.value import Value
    from packwise.kubernetes import ErrorType

_NO_KEYS: Mapping[str, str | None] = MappingProxyType({})


class Number(Record):
    """An integer between `least` and `most`. `bits` is its size in bits, or 0 for any size. `go` is its Go type.

    With `reads_decimals`, 2.0 is read as 2, as in Kubernetes.
    """

    bits: int = 32
    go: str = "int32"
    json: str = "integer"
    least: int | None = None
    most: int | None = None
    reads_decimals: bool = False


class Text(Record):
    """A string. `enum` lists the allowed values, or `pattern` matches them. `empty_is_absent` is true if Go omits an
    empty string.

    `min_length` and `max_length` count characters, and 0 means no limit. `wrong` returns the error about a text, or "".
    If `wrong` is set, `pattern` appears only in documents. If `reads_numbers` is true, a number such as 0.18 is read as
    a string.
    """

    enum: tuple[str, ...] = ()
    go: str = "string"
    empty_is_absent: bool = False
    json: str = "string"
    pattern: str = ""
    max_length: int = 0
    min_length: int = 0
    wrong: Callable[[str], str] | None = None
    reads_numbers: bool = False


class Flag(Record):
    """true or false."""

    go: str = "bool"
    json: str = "boolean"


class Decimal(Record):
    """A number with a fraction."""

    go: str = "float32"
    json: str = "number"


class Duration(Record):
    """A Go duration such as `4h0m0s`. `is_pointer` is true if Go has a pointer to it. Without a pointer, null is an
    invalid duration.
    """

    go: str = "string"
    json: str = "string"
    is_pointer: bool = True


class Quantity(Record):
    """A Kubernetes quantity, `64Gi`."""

    go: str = "resource.Quantity"
    json: str = "string"


class IntOrString(Record):
    """An integer or a string: the number or name of a port, or a number or a percentage."""

    go: str = "int32"
    json: str = "string"


class Quantities(Record):
    """A mapping of resources to quantities."""

    go: str = "v1.ResourceList"
    json: str = "object"


class TextMap(Record):
    """A mapping of strings to strings. `least` and `most` limit the number of entries, and 0 means no limit."""

    go: str = "map[string]string"
    json: str = "object"
    least: int = 0
    most: int = 0


class ByName(Record):
    """A mapping from names that users choose to values of the kind `item`. A null value counts as absent."""

    item: Kind
    go: str = "map[string]any"
    json: str = "object"


class Open(Record):
    """Any value, in a field of another API that packwise does not read. If `json` is set, the value must have that
    type.
    """

    json: str = ""


class Array(Record):
    """A list of `item`. `keys` are the fields that identify its entries, each with its default.

    The list has at least `least` entries.
    """

    item: Kind
    go: str = ""
    keys: Mapping[str, str | None] = _NO_KEYS
    json: str = "array"
    least: int = 0


class Object(Record):
    """A mapping with known fields and `rules`. `struct` is the name of its Go type.

    If `apart` is true, the API server decodes the object before all others, and names its fields without a parent.
    `summary` describes the object in documents, and `noun` in messages. `takes_others` permits unknown fields.
    """

    struct: str
    fields: Mapping[str, Field]
    package: str = "v1alpha1"
    json: str = "object"
    rules: tuple[ObjectRule, ...] = ()
    apart: bool = False
    summary: str = ""
    takes_others: bool = False
    noun: str = "a mapping"

    @property
    def go(self) -> str:
        """Return the name of the Go type in its decoder's messages."""
        return f"{self.package}.{self.struct}"


class Reference(Record):
    """An object of Kubernetes' own types, named by its Go type. Its fields are in `validate.go_types`."""

    go: str
    json: str = "object"


class TextOr(Record):
    """A string, or a mapping with more details."""

    mapping: Object


Kind = (
    Number
    | Decimal
    | Text
    | Flag
    | Duration
    | Quantity
    | IntOrString
    | TextMap
    | ByName
    | Quantities
    | Open
    | Array
    | Object
    | Reference
    | TextOr
)


class Field(Record):
    """A field of an object. If it is `required`, it must be set, because Go does not add it on a round trip.

    With `zero_when_absent`, an absent value is checked as its zero value. With `nullable`, null counts as absent.
    `default` and `summary` are for documents.
    """

    kind: Kind
    required: bool = False
    zero_when_absent: bool = False
    nullable: bool = False
    default: Value = None
    summary: str = ""


class ObjectRule(Record):
    """A CEL rule of the CRD about a mapping. `at` is the path below the mapping that the error names.

    `breaches` returns the paths that break the rule. Values of a wrong type break no rule, because another problem
    reports them. A rule that is `new_only` applies only to new objects.
    """

    breaches: Callable[[Mapping[str, Value]], Sequence[FieldPath]]
    at: tuple[str, ...]
    type: ErrorType
    detail: str
    message: str
    new_only: bool = False


_NOUNS: Mapping[str, tuple[type, str]] = {
    "array": (list, "a list"),
    "boolean": (bool, "true or false"),
    "integer": (int, "an integer"),
    "number": (float, "a number"),
    "object": (dict, "a mapping"),
    "string": (str, "a string"),
}
"""The types of JSON: the Python type of a value, and its name in messages."""


def field_problems(
    value: Value, kind: Kind, path: FieldPath = (), unknown: Callable[[FieldPath, Object], Problem] | None = None
) -> Iterator[Problem]:
    """Yield problems of `value` in packwise's words: first of known fields in the order of the table, then of unknown
    fields.

    `unknown` returns the problem of an unknown field. A reader with its own text for unknown fields passes it.
    """
    if isinstance(kind, TextOr):
        kind = kind.mapping if isinstance(value, dict) else Text()
    value = _as_text(value, kind)
    if isinstance(kind, Text) and kind.enum:
        if value not in kind.enum:
            known = ", ".join([f'"{choice}"' for choice in kind.enum])
            yield Problem(path, f"must be one of {known}; got {describe(value)}")
    elif kind.json and type(value) is not _NOUNS[kind.json][0] and not _is_whole(value, kind):
        noun = kind.noun if isinstance(kind, Object) else _NOUNS[kind.json][1]
        yield Problem(path, f"must be {noun}; got {describe(value)}")
    elif isinstance(kind, Object) and isinstance(value, dict):
        yield from _object_problems(value, kind, path, unknown or _unknown_field)
    elif isinstance(kind, Array) and isinstance(value, list):
        for index, entry in enumerate(value):
            yield from field_problems(entry, kind.item, (*path, index), unknown)
        if len(value) < kind.least:
            yield Problem(path, f"must have at least {count_text(kind.least, 'item')}; got {len(value)}")
    elif isinstance(kind, ByName) and isinstance(value, dict):
        for name, entry in value.items():
            yield from () if entry is None else field_problems(entry, kind.item, (*path, name), unknown)
    elif isinstance(kind, TextMap) and isinstance(value, dict):
        yield from _map_problems(value, kind, path)
    elif wrong := _wrong_scalar(value, kind):
        yield Problem(path, wrong if "got " in wrong else f"{wrong}; got {describe(value)}")


def _as_text(value: Value, kind: Kind) -> Value:
    """Return the text of a number if the kind accepts numbers as text."""
    is_read = isinstance(kind, Text) and kind.reads_numbers and isinstance(value, float)
    return str(value) if is_read else value


def _is_whole(value: Value, kind: Kind) -> bool:
    return isinstance(kind, Number) and kind.reads_decimals and isinstance(value, float) and value.is_integer()


def _object_problems(
    value: Mapping[str, Value], kind: Object, path: FieldPath, unknown: Callable[[FieldPath, Object], Problem]
) -> Iterator[Problem]:
    for name, field in kind.fields.items():
        if name not in value:
            if field.required:
                yield Problem((*path, name), "must be set")
        elif value[name] is not None or not field.nullable:
            yield from field_problems(value[name], field.kind, (*path, name), unknown)
    if not kind.takes_others:
        yield from (unknown((*path, name), kind) for name in value if name not in kind.fields)


def _unknown_field(path: FieldPath, owner: Object) -> Problem:
    return Problem(path, unknown_field(str(path[-1]), owner.fields), at_key=True)


def _map_problems(values: Mapping[str, Value], kind: TextMap, path: FieldPath) -> Iterator[Problem]:
    wrong = [problem for name, text in values.items() for problem in field_problems(text, Text(), (*path, name))]
    yield from wrong
    if wrong:
        return
    if len(values) < kind.least:
        yield Problem(path, f"must have at least {count_text(kind.least, 'item')}; got {len(values)}")
    elif len(values) > kind.most > 0:
        yield Problem(path, f"must have at most {count_text(kind.most, 'item')}; got {len(values)}")


def _wrong_scalar(value: Value, kind: Kind) -> str:
    """Return the message about a value that has the right type but is not allowed, or ""."""
    if isinstance(kind, Text) and isinstance(value, str):
        return _wrong_text(value, kind)
    if isinstance(kind, Number) and isinstance(value, int):
        if kind.least is not None and value < kind.least:
            return f"must be at least {kind.least}"
        if kind.most is not None and value > kind.most:
            return f"must be at most {kind.most}"
    return ""


def _wrong_text(text: str, kind: Text) -> str:
    if len(text) > kind.max_length > 0:
        return f"must have at most {count_text(kind.max_length, 'character')}"
    if len(text) < kind.min_length:
        return f"must have at least {count_text(kind.min_length, 'character')}"
    if kind.wrong is not None:
        return kind.wrong(text)
    pattern = kind.pattern
    if pattern and re.fullmatch(pattern.removesuffix("$"), text) is None:
        return f"must match pattern '{kind.pattern}'"
    return ""


def kind_at(kind: Kind, path: FieldPath) -> Kind | None:
    """Return the kind of the value at `path` below a value of `kind`. Return None if the table does not describe it."""
    for step in path:
        below: Kind | None = None
        if isinstance(kind, Array) and isinstance(step, int):
            below = kind.item
        elif isinstance(kind, TextMap):
            below = Text()
        else:
            mapping = kind.mapping if isinstance(kind, TextOr) else kind
            if isinstance(mapping, Object) and step in mapping.fields:
                below = mapping.fields[str(step)].kind
        if below is None:
            return None
        kind = below
    return kind
