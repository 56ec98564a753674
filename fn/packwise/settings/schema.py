"""The JSON Schema of a TopologyRender, from the table of its fields."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.fields import Array, Number, Object, Open, Text, TextMap, TextOr
from packwise.revisions.grove import REVISIONS
from packwise.revisions.tags import PATTERN
from packwise.settings import API_VERSION, KIND, SPEC

if TYPE_CHECKING:
    from typing import Any

    from packwise.fields import Field, Kind

_NULL = {"type": "null"}
_REVISION = [{"enum": list(REVISIONS)}, {"pattern": PATTERN, "type": "string"}, _NULL]
"""A known name, or the tag of a release that is newer than all of them."""


def json_schema() -> dict[str, Any]:
    """JSON Schema of a whole TopologyRender, for editors."""
    parts: dict[str, dict[str, Any]] = {}
    spec = _object(SPEC, parts)
    spec["properties"]["revision"]["anyOf"] = _REVISION
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": KIND,
        "description": "The configuration of packwise.",
        "type": "object",
        "required": ["apiVersion", "kind", "spec"],
        "properties": {
            "apiVersion": {"const": API_VERSION},
            "kind": {"const": KIND},
            "metadata": {"type": "object"},
            "spec": spec,
        },
        "$defs": dict(sorted(parts.items())),
    }


def _object(kind: Object, parts: dict[str, dict[str, Any]]) -> dict[str, Any]:
    required = [name for name, field in kind.fields.items() if field.required]
    return {
        "additionalProperties": kind.takes_others,
        "description": kind.summary,
        "properties": {name: _field(name, field, parts) for name, field in kind.fields.items()},
        **({"required": required} if required else {}),
        "title": kind.struct,
        "type": "object",
    }


def _field(name: str, field: Field, parts: dict[str, dict[str, Any]]) -> dict[str, Any]:
    of_kind = _schema(field.kind, parts)
    schema: dict[str, Any] = {"anyOf": [of_kind, _NULL]} if field.nullable else dict(of_kind)
    schema["description"] = field.summary
    if not field.required:
        schema["default"] = field.default
    if not isinstance(field.kind, Object):
        schema["title"] = name.capitalize()
    return dict(sorted(schema.items()))


def _schema(kind: Kind, parts: dict[str, dict[str, Any]]) -> dict[str, Any]:
    if isinstance(kind, Object):
        parts[kind.struct] = _object(kind, parts)
        return {"$ref": f"#/$defs/{kind.struct}"}
    if isinstance(kind, TextOr):
        return {"oneOf": [{"type": "string"}, _schema(kind.mapping, parts)]}
    bounds: dict[str, Any] = {}
    if isinstance(kind, Array):
        bounds = {"items": _schema(kind.item, parts), "minItems": kind.least}
    elif isinstance(kind, Text):
        bounds = {"enum": list(kind.enum), "pattern": kind.pattern}
        bounds |= {"maxLength": kind.max_length, "minLength": kind.min_length}
    elif isinstance(kind, TextMap):
        bounds = {"additionalProperties": {"type": "string"}, "maxProperties": kind.most, "minProperties": kind.least}
    elif isinstance(kind, Open):
        bounds = {"additionalProperties": True}
    elif isinstance(kind, Number):
        bounds = {"maximum": kind.most, "minimum": kind.least}
    schema = {name: bound for name, bound in bounds.items() if bound or (bound == 0 and isinstance(kind, Number))}
    return dict(sorted({**schema, "type": kind.json}.items()))
