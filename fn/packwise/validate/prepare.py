"""What an API server makes of an object before it validates it: nulls dropped, defaults filled in.

Source: apiextensions-apiserver, schema/defaulting.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krmfn.value import Value
    from packwise.validate.schema import Schema

__all__ = ["prepared"]


def prepared(value: Value, schema: Schema | None) -> Value:
    """`value` as it is validated; what the schema does not speak of stays as it is."""
    if schema is None:
        return value
    if isinstance(value, dict):
        return _mapping(value, schema)
    if isinstance(value, list) and schema.items is not None:
        return [_filled(entry, schema.items) for entry in value]
    return value


def _mapping(value: Mapping[str, Value], schema: Schema) -> Mapping[str, Value]:
    out: dict[str, Value] = {}
    for name, entry in value.items():
        inner = schema.of_key(name)
        if entry is None and inner is not None and not inner.nullable and not inner.has_default:
            continue
        out[name] = entry if inner is None else _filled(entry, inner)
    for name, inner in schema.properties.items():
        if inner.has_default and name not in out:
            out[name] = prepared(inner.default, inner)
    return out


def _filled(value: Value, schema: Schema) -> Value:
    is_default = value is None and schema.has_default and not schema.nullable
    return prepared(schema.default if is_default else value, schema)
