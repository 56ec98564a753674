"""Values as rules see them: only what the schema knows, by names that CEL can write.

Source: apiserver, cel/escaping and cel/common/values.
"""

from __future__ import annotations

import re
from functools import lru_cache

from krmfn.hints import TYPE_CHECKING
from packwise.validate.lists import identity
from packwise.validate.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from krmfn.value import Value

__all__ = ["cel_value", "escaped", "in_order_of", "key_of"]

_RESERVED = frozenset({
    "as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let", "loop",
    "namespace", "null", "package", "return", "true", "var", "void", "while",
})  # fmt: skip
_NAME = re.compile(r"[A-Za-z_./-][A-Za-z0-9_./-]*")
_ESCAPED = re.compile(r"__|[./-]")
_ESCAPES = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}

_OBJECT_FIELDS = ("apiVersion", "kind")
_METADATA_FIELDS = ("name", "generateName")


@lru_cache(maxsize=4096)
def escaped(name: str) -> str | None:
    """The name of a property in a rule; None where a rule cannot name it."""
    if name in _RESERVED:
        return f"__{name}__"
    if not _NAME.fullmatch(name):
        return None
    return _ESCAPED.sub(lambda match: _ESCAPES[match[0]], name)


def cel_value(value: Value, schema: Schema, *, is_object: bool = False) -> Value:
    """`value` as the variable of a rule at its schema. `is_object`: with type and name of the whole object."""
    if isinstance(value, dict):
        return _mapping(value, schema, is_object=is_object or schema.embedded)
    if isinstance(value, list) and schema.items is not None:
        items = schema.items
        return [cel_value(entry, items) for entry in value]
    if schema.type == "number" and type(value) is int:
        return float(value)
    if schema.type == "integer" and isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _mapping(value: Mapping[str, Value], schema: Schema, *, is_object: bool) -> Mapping[str, Value]:
    if isinstance(schema.additional, Schema) and not schema.properties:
        inner = schema.additional
        return {name: cel_value(entry, inner) for name, entry in value.items()}
    if schema.preserves_unknown and not schema.properties and not is_object:
        return value
    out: dict[str, Value] = {}
    for name, schema_of_name in schema.properties.items():
        if name in value and (known := escaped(name)) is not None:
            out[known] = cel_value(value[name], schema_of_name)
    if is_object:
        out.update({name: value[name] for name in _OBJECT_FIELDS if name in value})
        metadata = value.get("metadata")
        if isinstance(metadata, dict):
            out["metadata"] = {name: metadata[name] for name in _METADATA_FIELDS if name in metadata}
    return out


def in_order_of(old: Value, new: Value, schema: Schema) -> Value:
    """`old` with its sets and lists by key in the order of `new`: a comparison ignores the order of those."""
    if isinstance(old, dict) and isinstance(new, dict):
        inner = {name: schema.of_key(name) for name in old}
        return {
            name: entry if (known := inner[name]) is None else in_order_of(entry, new.get(name), known)
            for name, entry in old.items()
        }
    if isinstance(old, list) and isinstance(new, list) and schema.items is not None:
        if schema.list_type not in ("map", "set"):
            pairs = [(entry, new[index] if index < len(new) else None) for index, entry in enumerate(old)]
        else:
            pairs = _paired(old, new, schema)
        return [in_order_of(entry, other, schema.items) for entry, other in pairs]
    return old


def _paired(old: Sequence[Value], new: Sequence[Value], schema: Schema) -> list[tuple[Value, Value]]:
    places = {key_of(entry, schema): place for place, entry in reversed(list(enumerate(new)))}
    ordered = sorted(old, key=lambda entry: places.get(key_of(entry, schema), len(new)))
    pairs = [places.get(key_of(entry, schema)) for entry in ordered]
    return [(entry, None if at is None else new[at]) for entry, at in zip(ordered, pairs, strict=True)]


def key_of(entry: Value, schema: Schema) -> str:
    """What identifies an entry of a set or a list by key: all of it, or its keys."""
    if schema.list_type == "map" and isinstance(entry, dict):
        return identity([entry.get(key) for key in schema.keys])
    return identity(entry)
