"""JSON as the operator writes it into annotations: without spaces, keys in their order."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def json_string(text: str) -> str:
    """`text` as a JSON string."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    import json

    return json.dumps(text, ensure_ascii=False)


def json_object(fields: Mapping[str, str]) -> str:
    """A JSON object of these fields, in their order; the values are JSON already."""
    return "{" + ",".join([f"{json_string(name)}:{value}" for name, value in fields.items()]) + "}"


def json_list(entries: Iterable[str]) -> str:
    """Return a JSON array of entries in JSON."""
    return "[" + ",".join(entries) + "]"
