"""The JSON Schema of a PodCliqueSet in the API of a revision, from the tables by which packwise itself judges it.

It says what a schema can: names, types, choices, patterns. What the CRD says in CEL, and what the webhooks add, only
`packwise check` knows.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.fields import (
    Array,
    Duration,
    Flag,
    IntOrString,
    Number,
    Object,
    Open,
    Quantities,
    Quantity,
    Reference,
    Text,
    TextMap,
)
from packwise.frontends.grove.schema.table import podcliqueset
from packwise.objects.kinds import POD_CLIQUE_SET
from packwise.validate.decode import kubernetes_struct

if TYPE_CHECKING:
    from typing import Any

    from packwise.fields import Field, Kind
    from packwise.revisions.grove import Revision

_QUANTITY = {"type": ["string", "number", "null"]}
_SCALARS: dict[type, dict[str, Any]] = {
    Flag: {"type": ["boolean", "null"]},
    Duration: {"type": ["string", "null"], "pattern": r"^[-+]?(0|([0-9]*\.?[0-9]+(ns|us|µs|μs|ms|s|m|h))+)$"},
    Quantity: _QUANTITY,
    IntOrString: {"type": ["integer", "string", "null"]},
    Quantities: {"type": ["object", "null"], "additionalProperties": _QUANTITY},
    TextMap: {"type": ["object", "null"], "additionalProperties": {"type": ["string", "null"]}},
    Open: {},
}
"""Schemas of the kinds without parts. The API server takes null for an absent field."""


def json_schema(revision: Revision) -> dict[str, Any]:
    """The schema, of draft 2020-12; types of Kubernetes' own stand in `$defs`, by their Go names."""
    types: dict[str, dict[str, Any]] = {}
    whole = _object(podcliqueset(revision), types)
    group, kind = POD_CLIQUE_SET.key
    whole["properties"] |= {"apiVersion": {"const": f"{group}/v1alpha1"}, "kind": {"const": kind}}
    whole["required"] = sorted({*whole.get("required", ()), "apiVersion", "kind", "metadata", "spec"})
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **whole,
        "title": kind,
        "description": f"A PodCliqueSet of Grove, in the API of {revision.name}.",
        "$defs": dict(sorted(types.items())),
    }


def _schema(kind: Kind, types: dict[str, dict[str, Any]]) -> dict[str, Any]:
    if isinstance(kind, Number):
        most = 1 << (kind.bits - 1)
        return {"type": ["integer", "null"], "minimum": -most, "maximum": most - 1}
    if isinstance(kind, Text):
        return _text(kind)
    if isinstance(kind, Array):
        return {"type": ["array", "null"], "items": _schema(kind.item, types)}
    if isinstance(kind, Object):
        return _object(kind, types)
    if isinstance(kind, Reference):
        if kind.go not in types:
            # Before its fields are looked at, which may lead back to it.
            types[kind.go] = {}
            types[kind.go].update(_object(kubernetes_struct(kind.go), types))
        return {"$ref": f"#/$defs/{kind.go}"}
    return dict(_SCALARS[type(kind)])


def _text(kind: Text) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": ["string", "null"]}
    if kind.enum:
        schema["enum"] = [*kind.enum, *([""] if kind.empty_is_absent else []), None]
    if kind.pattern:
        schema["pattern"] = kind.pattern
    if kind.min_length:
        schema["minLength"] = kind.min_length
    if kind.max_length:
        schema["maxLength"] = kind.max_length
    return schema


def _object(kind: Object, types: dict[str, dict[str, Any]]) -> dict[str, Any]:
    schema: dict[str, Any] = {
        "title": kind.struct,
        "type": ["object", "null"],
        "properties": {name: _schema(field.kind, types) for name, field in kind.fields.items()},
        "additionalProperties": False,
    }
    required = [name for name, field in kind.fields.items() if _is_required(field)]
    return {**schema, "required": required} if required else schema


def _is_required(field: Field) -> bool:
    """True if an object without the field is refused: Go fills in a zero value, which may be none of the choices."""
    return field.required or (field.zero_when_absent and _refuses_zero(field.kind))


def _refuses_zero(kind: Kind) -> bool:
    if isinstance(kind, Text):
        return not kind.empty_is_absent and (bool(kind.enum) or kind.min_length > 0)
    part = kubernetes_struct(kind.go) if isinstance(kind, Reference) else kind
    return isinstance(part, Object) and any(_is_required(field) for field in part.fields.values())
