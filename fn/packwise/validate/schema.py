"""Schemas of CRDs, read from YAML. A CustomResourceDefinition is untrusted, so every part of it is checked.

Source: apiextensions.k8s.io/v1.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from krmfn.fieldpath import FieldPath, describe
from krmfn.fields import Fields
from krmfn.hints import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import NoReturn

    from krmfn.value import Value


@dataclass(frozen=True, slots=True)
class ValidationRule:
    """One entry of x-kubernetes-validations. `path` is the path of its `rule` in the CRD."""

    rule: str
    message: str = ""
    message_expression: str = ""
    reason: str = ""
    field_path: FieldPath = ()
    optional_old_self: bool = False
    path: FieldPath = ()

    @property
    def text(self) -> str:
        """Return the text by which the API server names the rule in errors."""
        return self.message or self.rule


@dataclass(frozen=True, slots=True)
class ValueBounds:
    """The limits of a number, text, list or mapping. None means no limit."""

    minimum: float | None = None
    maximum: float | None = None
    exclusive_minimum: bool = False
    exclusive_maximum: bool = False
    multiple_of: float | None = None
    min_length: int | None = None
    max_length: int | None = None
    min_items: int | None = None
    max_items: int | None = None
    min_properties: int | None = None
    max_properties: int | None = None


NO_BOUNDS = ValueBounds()


@dataclass(frozen=True, slots=True)
class Schema:
    """A node of the schema."""

    type: str = ""
    """The JSON type, or "" if the node has no type."""
    nullable: bool = False
    properties: Mapping[str, Schema] = field(default_factory=dict[str, "Schema"])
    additional: Schema | bool = False
    """The schema of keys that are not in `properties`, or True if they may have any value."""
    items: Schema | None = None
    required: tuple[str, ...] = ()
    enum: tuple[Value, ...] = ()
    pattern: str = ""
    pattern_path: FieldPath = ()
    """The path of `pattern` in the CRD."""
    format: str = ""
    bounds: ValueBounds = NO_BOUNDS
    unique_items: bool = False
    int_or_string: bool = False
    preserves_unknown: bool = False
    embedded: bool = False
    list_type: str = ""
    keys: tuple[str, ...] = ()
    """The fields that identify an entry of a list with the `list_type` "map"."""
    default: Value = None
    """The default. It is valid only if `has_default` is true."""
    has_default: bool = False
    alternatives: Mapping[str, tuple[Schema, ...]] = field(default_factory=dict[str, "tuple[Schema, ...]"])
    """The schemas of anyOf, oneOf and allOf, by this keyword."""
    forbidden: Schema | None = None
    rules: tuple[ValidationRule, ...] = ()

    @property
    def types(self) -> tuple[str, ...]:
        """Return the JSON types that a value may have. If there are none, a value may have any type."""
        if self.int_or_string:
            return "integer", "string"
        return (self.type,) if self.type else ()

    @property
    def has_expressions(self) -> bool:
        """Return True if this schema or a schema within it has a CEL rule or a pattern."""
        return any(schema.pattern or schema.rules for schema in self.nodes())

    def nodes(self) -> Iterator[Schema]:
        """Yield this schema and all schemas within it."""
        yield self
        below = [*self.properties.values(), *(each for schemas in self.alternatives.values() for each in schemas)]
        below += [schema for schema in (self.additional, self.items, self.forbidden) if isinstance(schema, Schema)]
        for schema in below:
            yield from schema.nodes()

    def of_key(self, key: str) -> Schema | None:
        """Return the schema of the field `key` of a mapping. Return None if the schema has no such field."""
        schema = self.properties.get(key)
        if schema is None and isinstance(self.additional, Schema):
            return self.additional
        return schema


MAX_DEPTH = 100
"""The largest depth of a schema. Kubernetes' own schemas have less than 30."""

_MAX_INTEGER = 1 << 63
_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_LIST_TYPES = ("atomic", "map", "set")
_ALTERNATIVES = ("allOf", "anyOf", "oneOf")
_FIELD_STEP = re.compile(r"\.(?P<name>[^.\[\]]+)|\['(?P<key>(?:[^'\\]|\\.)*)'\]")


class SchemaError(ValueError):
    """Raised for an invalid part of a schema. `path` is the path of this part. `message` describes valid content."""

    def __init__(self, path: FieldPath, message: str) -> None:
        super().__init__(message)
        self.path = path
        self.message = message


def read_schema(value: Value, path: FieldPath) -> Schema:
    """Return the schema in `value`, found at `path` of its CRD. Raise SchemaError if it is invalid."""
    if not isinstance(value, dict):
        _refuse(path, f"must be a mapping; got {describe(value)}")
    return _schema(Fields(value, path, refuse=_refuse), 0)


def _refuse(path: FieldPath, message: str) -> NoReturn:
    raise SchemaError(path, message)


def _schema(node: Fields, depth: int) -> Schema:
    if depth > MAX_DEPTH:
        _refuse(node.path, f"must not be nested deeper than {MAX_DEPTH} levels")
    if "$ref" in node:
        node.refuse("$ref", "must not be used: the schema of a CRD must be complete, without references")
    default = node.value.get("default")
    return Schema(
        type=_choice(node, "type", _TYPES),
        nullable=bool(node.flag("nullable")),
        properties={name: _schema(part, depth + 1) for name, part in node.mapping("properties").mappings()},
        additional=_additional(node, depth),
        items=_part(node, "items", depth),
        required=node.texts("required"),
        enum=node.list("enum"),
        pattern=node.text("pattern") or "",
        pattern_path=(*node.path, "pattern"),
        format=node.text("format") or "",
        bounds=_bounds(node),
        unique_items=bool(node.flag("uniqueItems")),
        int_or_string=bool(node.flag("x-kubernetes-int-or-string")),
        preserves_unknown=bool(node.flag("x-kubernetes-preserve-unknown-fields")),
        embedded=bool(node.flag("x-kubernetes-embedded-resource")),
        list_type=_choice(node, "x-kubernetes-list-type", _LIST_TYPES),
        keys=node.texts("x-kubernetes-list-map-keys"),
        default=default,
        has_default=default is not None,
        alternatives={
            name: value
            for name in _ALTERNATIVES
            if (value := tuple(_schema(entry, depth + 1) for entry in node.entries(name)))
        },
        forbidden=_part(node, "not", depth),
        rules=tuple(_rule(entry) for entry in node.entries("x-kubernetes-validations")),
    )


def _choice(node: Fields, name: str, known: tuple[str, ...]) -> str:
    """Return the field `name`, one of the `known` texts. Return "" if the field is absent or empty."""
    return "" if node.value.get(name) == "" else node.text(name, known=known) or ""


def _part(node: Fields, name: str, depth: int) -> Schema | None:
    return _schema(node.mapping(name), depth + 1) if name in node else None


def _additional(node: Fields, depth: int) -> Schema | bool:
    written = node.value.get("additionalProperties")
    return written if isinstance(written, bool) else _part(node, "additionalProperties", depth) or False


def _bounds(node: Fields) -> ValueBounds:
    return ValueBounds(
        minimum=_number(node, "minimum"),
        maximum=_number(node, "maximum"),
        exclusive_minimum=bool(node.flag("exclusiveMinimum")),
        exclusive_maximum=bool(node.flag("exclusiveMaximum")),
        multiple_of=_number(node, "multipleOf"),
        min_length=_count(node, "minLength"),
        max_length=_count(node, "maxLength"),
        min_items=_count(node, "minItems"),
        max_items=_count(node, "maxItems"),
        min_properties=_count(node, "minProperties"),
        max_properties=_count(node, "maxProperties"),
    )


def _number(node: Fields, name: str) -> float | None:
    value = node.number(name)
    if isinstance(value, int) and abs(value) > _MAX_INTEGER:
        node.refuse(name, "must be a number of 64 bits")
    return value


def _count(node: Fields, name: str) -> int | None:
    value = _number(node, name)
    return node.integer(name) if isinstance(value, float) else value


def _rule(node: Fields) -> ValidationRule:
    return ValidationRule(
        rule=(node.text("rule") or "").strip(),
        message=(node.text("message") or "").strip(),
        message_expression=(node.text("messageExpression") or "").strip(),
        reason=node.text("reason") or "",
        field_path=_field_path(node),
        optional_old_self=bool(node.flag("optionalOldSelf")),
        path=(*node.path, "rule"),
    )


def _field_path(node: Fields) -> FieldPath:
    """Return the steps of `fieldPath`, such as `.spec.replicas` or `['a-b']`."""
    text = node.text("fieldPath") or ""
    steps: list[str] = []
    at = 0
    while at < len(text):
        step = _FIELD_STEP.match(text, at)
        if step is None:
            node.refuse("fieldPath", f"must be a path such as .spec.replicas; got {describe(text)}")
            break
        steps.append(step["name"] or step["key"].replace("\\'", "'").replace("\\\\", "\\"))
        at = step.end()
    return tuple(steps)
