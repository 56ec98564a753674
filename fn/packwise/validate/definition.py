"""A CustomResourceDefinition, and the problems for which an API server refuses objects by it.

Source: apiextensions-apiserver, registry/customresource.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

from krmfn.fieldpath import describe
from krmfn.hints import TYPE_CHECKING
from packwise.findings import Cause, Effect, Problem, Stage
from packwise.validate.cel import CelRules
from packwise.validate.schema import SchemaError, read_schema
from packwise.validate.structure import ValuePath, duplicates, metadata_problems, unknown_fields, violations_of_object
from packwise.wording import list_known

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.validate.schema import Schema

# Before validation, an API server removes nulls from an object and fills in defaults. Source: apiextensions-apiserver,
# schema/defaulting.


def prepare(value: Value, schema: Schema | None) -> Value:
    """Return `value` without nulls and with the defaults of `schema`. Parts outside the schema are unchanged."""
    if schema is None:
        return value
    if isinstance(value, dict):
        return _mapping(value, schema)
    if isinstance(value, list) and schema.items is not None:
        return [_fill_in(entry, schema.items) for entry in value]
    return value


def _mapping(value: Mapping[str, Value], schema: Schema) -> Mapping[str, Value]:
    out: dict[str, Value] = {}
    for name, entry in value.items():
        inner = schema.of_key(name)
        if entry is None and inner is not None and not inner.nullable and not inner.has_default:
            continue
        out[name] = entry if inner is None else _fill_in(entry, inner)
    for name, inner in schema.properties.items():
        if inner.has_default and name not in out:
            out[name] = prepare(inner.default, inner)
    return out


def _fill_in(value: Value, schema: Schema) -> Value:
    is_default = value is None and schema.has_default and not schema.nullable
    return prepare(schema.default if is_default else value, schema)


MAX_RULES = 2_000
"""The largest number of rules in a schema. Known CRDs have some dozens. Each rule takes a millisecond to compile."""

_ROOT = ValuePath()

_SHARED = 16
"""The number of CRDs whose schemas are cached. All packages of a fleet use the same few CRDs. Without the cache,
reading them would take a third of the time.
"""


@dataclass(frozen=True, slots=True)
class Definition:
    """The CRD `item`, with the schema of each version that it serves."""

    item: KubeObject
    group: str
    kind: str
    schemas: Mapping[str, Schema]
    rules: CelRules = field(default_factory=CelRules)

    def problems(
        self,
        value: Mapping[str, Value],
        old: Mapping[str, Value] | None = None,
        written: Mapping[str, Value] | None = None,
    ) -> list[Problem]:
        """Return the problems for which the API server refuses an object, then its unknown fields and unchecked parts.

        `old` is the earlier object, or None. `written` is the object before a webhook changed it, or None if no webhook
        did. Unknown fields are searched in `written`.
        """
        version = str(value.get("apiVersion")).partition("/")[2]
        schema = self.schemas.get(version)
        if schema is None:
            return [self._not_served(value)]
        unknown = list(unknown_fields(value if written is None else written, schema, _ROOT, is_object=True))
        now = prepare(value, schema)
        metadata = metadata_problems(value.get("metadata", {}), _ROOT.field("metadata"))
        problems = violations_of_object(now, schema, _ROOT)
        refused = [*metadata, *(problem for problem in problems if problem.effect is not Effect.UNCHECKED)]
        wrong = {problem.path for problem in refused if problem.cause is Cause.TYPE}
        refused += [problem for problem in duplicates(now, schema, _ROOT) if problem.path not in wrong]
        if not wrong:
            refused += self._broken_rules(now, None if old is None else prepare(old, schema), schema, refused)
        return [*refused, *unknown, *self.rules.unchecked_once(problems)]

    @property
    def needs_expressions(self) -> bool:
        """Return True if a schema has a CEL rule or a pattern. These need a library that may not be installed."""
        return any(schema.has_expressions for schema in self.schemas.values())

    def _broken_rules(self, value: Value, old: Value, schema: Schema, refused: list[Problem]) -> Iterator[Problem]:
        for problem in self.rules.violations(value, old, schema, _ROOT):
            # The evaluation of a rule may fail only because of another problem, such as a missing required field.
            if problem.cause is not Cause.UNANSWERED or not refused:
                yield problem

    def _not_served(self, value: Mapping[str, Value]) -> Problem:
        known = [f"{self.group}/{version}" for version in self.schemas]
        api_version = value.get("apiVersion")
        message = f"its CRD serves only {list_known(known)}; got {describe(api_version)}"
        text = f'no matches for kind "{self.kind}" in version "{api_version}"'
        return Problem(("apiVersion",), message, text, Stage.SCHEMA, cause=Cause.TYPE)


def read_definition(item: KubeObject) -> Definition:
    """Return the definition in the CustomResourceDefinition `item`. Raise SchemaError if it is invalid."""
    group, kind = item.get("spec.group"), item.get("spec.names.kind")
    if not isinstance(group, str) or not isinstance(kind, str):
        raise SchemaError(("spec",), "must name a group and a kind")
    return Definition(item, group, kind, _schemas(item))


@lru_cache(_SHARED)
def _schemas(item: KubeObject) -> Mapping[str, Schema]:
    """Return the schema of each version that the CRD `item` serves. Raise SchemaError if one is invalid."""
    versions = item.get("spec.versions")
    if not isinstance(versions, list):
        raise SchemaError(("spec", "versions"), f"must be a list; got {describe(versions)}")
    schemas: dict[str, Schema] = {}
    for index, version in enumerate(versions):
        if isinstance(version, dict) and version.get("served") is not False:
            path = ("spec", "versions", index, "schema", "openAPIV3Schema")
            schemas[str(version.get("name"))] = schema = read_schema(item.get(path), path)
            if sum([1 for each in schema.nodes() for _ in each.rules]) > MAX_RULES:
                raise SchemaError(path, f"must have at most {MAX_RULES} rules (x-kubernetes-validations)")
    return schemas
