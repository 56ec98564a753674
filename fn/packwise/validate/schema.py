"""One node of an openAPIV3Schema: what a value must be, and what becomes of it. Source: apiextensions.k8s.io/v1."""

from __future__ import annotations

from dataclasses import dataclass, field

from krmfn.hints import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value

__all__ = ["Bounds", "Schema", "ValidationRule"]


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
        """What the API server calls the rule."""
        return self.message or self.rule


@dataclass(frozen=True, slots=True)
class Bounds:
    """What numbers, texts, lists and mappings are limited to; None: not at all."""

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
        """Whether a rule in CEL or a pattern stands anywhere in it."""
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
