"""JSON Schemas (draft 2020-12) from the tables of fields with which packwise itself checks a file.

They cover names, types, choices and patterns. Only `packwise check` knows the CEL rules of a CRD and the rules of
webhooks.
"""

from __future__ import annotations

import json
import re

from krmfn.hints import TYPE_CHECKING
from packwise.fields import (
    Array,
    Duration,
    IntOrString,
    Number,
    Object,
    Open,
    Quantities,
    Quantity,
    Reference,
    Text,
    TextMap,
    TextOr,
)
from packwise.frontends.grove.podcliqueset import podcliqueset
from packwise.objects.kinds import POD_CLIQUE_SET
from packwise.revisions.grove import REVISIONS
from packwise.revisions.tags import PATTERN
from packwise.settings.topologyrender import API_VERSION, KIND, SPEC
from packwise.validate.decode import kubernetes_struct

if TYPE_CHECKING:
    from typing import Any

    from packwise.fields import Field, Kind
    from packwise.revisions.grove import Revision

    Schema = dict[str, Any]

_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_NULL = {"type": "null"}
_REVISION = [{"enum": list(REVISIONS)}, {"pattern": PATTERN, "type": "string"}, _NULL]
"""A known name, or the tag of a release that is newer than all known ones."""

_DURATION = r"^[-+]?(0|([0-9]*\.?[0-9]+(ns|us|µs|μs|ms|s|m|h))+)$"
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+")
"""A word in the name of a field. `autoMNNVLEnabled` has three words."""

_TYPES: dict[type, list[str]] = {Quantity: ["string", "number"], IntOrString: ["integer", "string"]}
"""JSON types of the kinds that have several JSON types."""


def schema_text(schema: Schema) -> str:
    """Return the schema as JSON text."""
    return json.dumps(schema, ensure_ascii=False, indent=2) + "\n"


def topologyrender_schema() -> Schema:
    """Return the schema of a whole TopologyRender."""
    writer = _Writer(takes_null=False, sorts_keys=True)
    spec = writer.object(SPEC)
    spec["properties"]["revision"]["anyOf"] = _REVISION
    return {
        "$schema": _DRAFT,
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
        "$defs": dict(sorted(writer.parts.items())),
    }


def podcliqueset_schema(revision: Revision) -> Schema:
    """Return the schema of a PodCliqueSet in the API of `revision`. Kubernetes' own types are in `$defs`."""
    writer = _Writer(takes_null=True, sorts_keys=False)
    whole = writer.object(podcliqueset(revision))
    group, kind = POD_CLIQUE_SET.key
    whole["properties"] |= {"apiVersion": {"const": f"{group}/v1alpha1"}, "kind": {"const": kind}}
    whole["required"] = sorted({*whole.get("required", ()), "apiVersion", "kind", "metadata", "spec"})
    return {
        "$schema": _DRAFT,
        **whole,
        "description": f"A PodCliqueSet of Grove, in the API of {revision.name}.",
        "$defs": dict(sorted(writer.parts.items())),
    }


def _title(field: str) -> str:
    words = [word if word.isupper() else word.lower() for word in _WORD.findall(field)]
    return " ".join([words[0].capitalize(), *words[1:]])


class _Writer:
    """Writes the schemas of one table. `parts` are the schemas that others refer to, by name.

    With `takes_null`, null counts as absent in every field, as in an API server. Otherwise null is allowed only in
    nullable fields. With `sorts_keys`, the keywords of each schema are sorted.
    """

    def __init__(self, *, takes_null: bool, sorts_keys: bool) -> None:
        self.parts: dict[str, Schema] = {}
        self._takes_null = takes_null
        self._sorts_keys = sorts_keys

    def object(self, kind: Object) -> Schema:
        """Return the schema of a mapping, with its fields."""
        return self._arrange(_with_values({
            "title": kind.struct,
            "description": kind.summary or None,
            "type": self._types(["object"]),
            "properties": {name: self._field(name, field) for name, field in kind.fields.items()},
            "additionalProperties": kind.takes_others,
            "required": [name for name, field in kind.fields.items() if _is_required(field)] or None,
        }))  # fmt: skip

    def _field(self, name: str, field: Field) -> Schema:
        of_kind = self._schema(field.kind)
        if not field.summary:
            return of_kind
        schema: Schema = {"anyOf": [of_kind, _NULL]} if field.nullable else of_kind
        schema["description"] = field.summary
        if not field.required:
            schema["default"] = field.default
        if not isinstance(field.kind, Object):
            schema["title"] = _title(name)
        return self._arrange(schema)

    def _schema(self, kind: Kind) -> Schema:
        if isinstance(kind, Reference):
            return self._refer(kind.go, kubernetes_struct(kind.go))
        if isinstance(kind, Object):
            return self._refer(kind.struct, kind) if kind.summary else self.object(kind)
        if isinstance(kind, TextOr):
            return {"oneOf": [self._schema(Text()), self._schema(kind.mapping)]}
        if not kind.json:
            return {}
        reads_numbers = isinstance(kind, Text) and kind.reads_numbers
        types = self._types(["string", "number"] if reads_numbers else _TYPES.get(type(kind), [kind.json]))
        return self._arrange({"type": types, **_with_values(self._bounds(kind))})

    def _refer(self, name: str, kind: Object) -> Schema:
        if name not in self.parts:
            # Register the schema before its fields, because the fields may refer to it again.
            self.parts[name] = {}
            self.parts[name].update(self.object(kind))
        return {"$ref": f"#/$defs/{name}"}

    def _types(self, types: list[str]) -> list[str] | str:
        if self._takes_null:
            return [*types, "null"]
        return types if len(types) > 1 else types[0]

    def _bounds(self, kind: Kind) -> Schema:
        if isinstance(kind, Number):
            end = 1 << (kind.bits - 1) if kind.bits else None
            return {
                "minimum": -end if end and kind.least is None else kind.least,
                "maximum": end - 1 if end and kind.most is None else kind.most,
            }
        if isinstance(kind, Text):
            others = [*([""] if kind.empty_is_absent else []), *([None] if self._takes_null else [])]
            return {
                "enum": [*kind.enum, *others] if kind.enum else None,
                "pattern": kind.pattern or None,
                "minLength": kind.min_length or None,
                "maxLength": kind.max_length or None,
            }
        if isinstance(kind, Array):
            return {"items": self._schema(kind.item), "minItems": kind.least or None}
        if isinstance(kind, TextMap):
            return {
                "additionalProperties": self._schema(Text()),
                "minProperties": kind.least or None,
                "maxProperties": kind.most or None,
            }
        if isinstance(kind, Quantities | Open):
            return {"additionalProperties": isinstance(kind, Open) or self._schema(Quantity())}
        return {"pattern": _DURATION} if isinstance(kind, Duration) else {}

    def _arrange(self, keywords: Schema) -> Schema:
        return dict(sorted(keywords.items())) if self._sorts_keys else keywords


def _with_values(keywords: Schema) -> Schema:
    return {name: value for name, value in keywords.items() if value is not None}


def _is_required(field: Field) -> bool:
    """Return True if an object without the field is refused. Go fills in a zero value, which may be invalid."""
    return field.required or (field.zero_when_absent and _refuses_zero(field.kind))


def _refuses_zero(kind: Kind) -> bool:
    if isinstance(kind, Text):
        return not kind.empty_is_absent and (bool(kind.enum) or kind.min_length > 0)
    part = kubernetes_struct(kind.go) if isinstance(kind, Reference) else kind
    return isinstance(part, Object) and any(_is_required(field) for field in part.fields.values())
