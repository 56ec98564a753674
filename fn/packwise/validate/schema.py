"""Schemas of CRDs, read from YAML: what a value must be, and what becomes of it. Source: apiextensions.k8s.io/v1.

A CustomResourceDefinition can be anyone's: nothing in it is taken for granted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from krmfn.errors import describe
from krmfn.hints import TYPE_CHECKING
from packwise.wording import list_known

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value


@dataclass(frozen=True, slots=True)
class ValidationRule:
    """One entry of x-kubernetes-validations; `path` is its place in the CRD."""

    rule: str
    message: str = ""
    message_expression: str = ""
    reason: str = ""
    field_path: FieldPath = ()
    optional_old_self: bool = False
    path: FieldPath = ()

    @property
    def text(self) -> str:
        """The API server's name of the rule."""
        return self.message or self.rule


@dataclass(frozen=True, slots=True)
class Bounds:
    """The limits of numbers, texts, lists and mappings; None: no limit."""

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


NO_BOUNDS = Bounds()


@dataclass(frozen=True, slots=True)
class Schema:
    """A node of the schema. `additional` is the schema of keys that are no property, or whether there may be any.

    `type` is "" where the node names none; `keys` are those of a list of `list_type` "map". `default` counts where
    `has_default`; `pattern_path` is the place of `pattern` in the CRD. `alternatives` are anyOf, oneOf and allOf, by
    that name.
    """

    type: str = ""
    nullable: bool = False
    properties: Mapping[str, Schema] = field(default_factory=dict[str, "Schema"])
    additional: Schema | bool = False
    items: Schema | None = None
    required: tuple[str, ...] = ()
    enum: tuple[Value, ...] = ()
    pattern: str = ""
    pattern_path: FieldPath = ()
    format: str = ""
    bounds: Bounds = NO_BOUNDS
    unique_items: bool = False
    int_or_string: bool = False
    preserves_unknown: bool = False
    embedded: bool = False
    list_type: str = ""
    keys: tuple[str, ...] = ()
    default: Value = None
    has_default: bool = False
    alternatives: Mapping[str, tuple[Schema, ...]] = field(default_factory=dict[str, "tuple[Schema, ...]"])
    forbidden: Schema | None = None
    rules: tuple[ValidationRule, ...] = ()

    @property
    def types(self) -> tuple[str, ...]:
        """The JSON types that a value may have; none: any."""
        if self.int_or_string:
            return "integer", "string"
        return (self.type,) if self.type else ()

    @property
    def has_expressions(self) -> bool:
        """True if a rule in CEL or a pattern stands anywhere in it."""
        return any(schema.pattern or schema.rules for schema in self.nodes())

    def nodes(self) -> Iterator[Schema]:
        """Itself and all schemas below it."""
        yield self
        below = [*self.properties.values(), *(each for schemas in self.alternatives.values() for each in schemas)]
        below += [schema for schema in (self.additional, self.items, self.forbidden) if isinstance(schema, Schema)]
        for schema in below:
            yield from schema.nodes()

    def of_key(self, key: str) -> Schema | None:
        """The schema of the field `key` of a mapping; None where it has none."""
        schema = self.properties.get(key)
        if schema is None and isinstance(self.additional, Schema):
            return self.additional
        return schema


MAX_DEPTH = 100
"""The greatest depth of a schema; Kubernetes' own are below 30."""

_LARGEST = 1 << 63
_TYPES = ("", "array", "boolean", "integer", "number", "object", "string")
_LIST_TYPES = ("", "atomic", "map", "set")
_ALTERNATIVES = ("allOf", "anyOf", "oneOf")
_FIELD_STEP = re.compile(r"\.(?P<name>[^.\[\]]+)|\['(?P<key>(?:[^'\\]|\\.)*)'\]")


class SchemaError(ValueError):
    """Something in a schema that is not what it must be: where, and what it must be."""

    def __init__(self, path: FieldPath, message: str) -> None:
        super().__init__(message)
        self.path = path
        self.message = message


def read_schema(value: Value, path: FieldPath) -> Schema:
    """The schema at `path` of its CRD. Raises SchemaError."""
    return _schema(_Node(value, path), 0)


class _Node:
    """A mapping of the schema, with typed access to its fields."""

    __slots__ = ("_value", "path")

    def __init__(self, value: Value, path: FieldPath) -> None:
        if not isinstance(value, dict):
            raise SchemaError(path, f"must be a mapping; got {describe(value)}")
        self._value: Mapping[str, Value] = value
        self.path = path

    def text(self, name: str, known: tuple[str, ...] = ()) -> str:
        """A text, "" where there is none."""
        value = self._value.get(name)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise SchemaError((*self.path, name), f"must be a string; got {describe(value)}")
        if known and value not in known:
            raise SchemaError((*self.path, name), f"must be one of {list_known(known[1:])}; got {describe(value)}")
        return value

    def flag(self, name: str) -> bool:
        """True if a flag is set."""
        value = self._value.get(name)
        if value is not None and not isinstance(value, bool):
            raise SchemaError((*self.path, name), f"must be true or false; got {describe(value)}")
        return bool(value)

    def number(self, name: str) -> float | None:
        """A number, None where there is none."""
        value = self._value.get(name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise SchemaError((*self.path, name), f"must be a number; got {describe(value)}")
        if isinstance(value, int) and abs(value) > _LARGEST:
            raise SchemaError((*self.path, name), "must be a number of 64 bits")
        return value

    def count(self, name: str) -> int | None:
        """An integer, None where there is none."""
        value = self.number(name)
        if isinstance(value, float):
            raise SchemaError((*self.path, name), f"must be an integer; got {describe(value)}")
        return value

    def list(self, name: str) -> tuple[Value, ...]:
        """The entries of a list, none where there is none."""
        value = self._value.get(name)
        if value is None:
            return ()
        if not isinstance(value, list):
            raise SchemaError((*self.path, name), f"must be a list; got {describe(value)}")
        return tuple(value)

    def texts(self, name: str) -> tuple[str, ...]:
        """The entries of a list of texts."""
        values = self.list(name)
        for index, entry in enumerate(values):
            if not isinstance(entry, str):
                raise SchemaError((*self.path, name, index), f"must be a string; got {describe(entry)}")
        return tuple(str(entry) for entry in values)

    def nodes(self, name: str) -> Iterator[_Node]:
        """The entries of a list of mappings."""
        for index, entry in enumerate(self.list(name)):
            yield _Node(entry, (*self.path, name, index))

    def node(self, name: str) -> _Node | None:
        """A mapping within this one."""
        value = self._value.get(name)
        return None if value is None else _Node(value, (*self.path, name))

    def children(self) -> Iterator[tuple[str, _Node]]:
        """The fields of this mapping, each a mapping itself."""
        for name, value in self._value.items():
            yield name, _Node(value, (*self.path, name))

    def raw(self, name: str) -> Value:
        """A field as it is written."""
        return self._value.get(name)


def _schema(node: _Node, depth: int) -> Schema:
    if depth > MAX_DEPTH:
        raise SchemaError(node.path, f"must not be nested deeper than {MAX_DEPTH} levels")
    if node.raw("$ref") is not None:
        raise SchemaError((*node.path, "$ref"), "must not be used: the schema of a CRD stands in one piece")
    properties, items, forbidden = node.node("properties"), node.node("items"), node.node("not")
    default = node.raw("default")
    return Schema(
        type=node.text("type", _TYPES),
        nullable=node.flag("nullable"),
        properties={} if properties is None else {name: _schema(it, depth + 1) for name, it in properties.children()},
        additional=_additional(node, depth),
        items=None if items is None else _schema(items, depth + 1),
        required=node.texts("required"),
        enum=node.list("enum"),
        pattern=node.text("pattern"),
        pattern_path=(*node.path, "pattern"),
        format=node.text("format"),
        bounds=_bounds(node),
        unique_items=node.flag("uniqueItems"),
        int_or_string=node.flag("x-kubernetes-int-or-string"),
        preserves_unknown=node.flag("x-kubernetes-preserve-unknown-fields"),
        embedded=node.flag("x-kubernetes-embedded-resource"),
        list_type=node.text("x-kubernetes-list-type", _LIST_TYPES),
        keys=node.texts("x-kubernetes-list-map-keys"),
        default=default,
        has_default=default is not None,
        alternatives={
            name: value
            for name in _ALTERNATIVES
            if (value := tuple(_schema(entry, depth + 1) for entry in node.nodes(name)))
        },
        forbidden=None if forbidden is None else _schema(forbidden, depth + 1),
        rules=tuple(_rule(entry) for entry in node.nodes("x-kubernetes-validations")),
    )


def _additional(node: _Node, depth: int) -> Schema | bool:
    if isinstance(node.raw("additionalProperties"), bool):
        return node.flag("additionalProperties")
    additional = node.node("additionalProperties")
    return False if additional is None else _schema(additional, depth + 1)


def _bounds(node: _Node) -> Bounds:
    return Bounds(
        node.number("minimum"),
        node.number("maximum"),
        node.flag("exclusiveMinimum"),
        node.flag("exclusiveMaximum"),
        node.number("multipleOf"),
        node.count("minLength"),
        node.count("maxLength"),
        node.count("minItems"),
        node.count("maxItems"),
        node.count("minProperties"),
        node.count("maxProperties"),
    )


def _rule(node: _Node) -> ValidationRule:
    return ValidationRule(
        node.text("rule").strip(),
        node.text("message").strip(),
        node.text("messageExpression").strip(),
        node.text("reason"),
        _field_path(node),
        node.flag("optionalOldSelf"),
        (*node.path, "rule"),
    )


def _field_path(node: _Node) -> FieldPath:
    """`.spec.replicas` or `['a-b']`, as steps."""
    text = node.text("fieldPath")
    steps: list[str] = []
    at = 0
    while at < len(text):
        step = _FIELD_STEP.match(text, at)
        if step is None:
            raise SchemaError((*node.path, "fieldPath"), f"must be a path such as .spec.replicas; got {describe(text)}")
        steps.append(step["name"] or step["key"].replace("\\'", "'").replace("\\\\", "\\"))
        at = step.end()
    return tuple(steps)
