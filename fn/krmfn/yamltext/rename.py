"""Spelling a part of a text otherwise: a scalar in quotes, a key by another name or one level deeper."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.yamltext.error import YamlError, error_at
from krmfn.yamltext.quote import double_quoted, scalar
from krmfn.yamltext.spans import locate
from krmfn.yamltext.tree import find

if TYPE_CHECKING:
    from krmfn.fieldpath import FieldPath

__all__ = ["nest_entry", "quote_scalar", "rename_key"]


def quote_scalar(text: str, path: FieldPath) -> str:
    """`text` with the plain scalar at `path` in quotes, so that it is a string; unchanged where it is quoted already.

    Raises YamlError where no scalar on one line stands there, or one with an anchor or a tag.
    """
    span = locate(text, path)
    scalar = "" if span is None else text[span.start : span.end]
    if span is None or not scalar or "\n" in scalar or scalar[0] in "{[|>&!*":
        raise error_at(text, span.start if span else 0, "must be a plain scalar on one line to be put in quotes")
    if scalar[0] in "\"'":
        return text
    return text[: span.start] + double_quoted(scalar) + text[span.end :]


def rename_key(text: str, path: FieldPath, name: str) -> str:
    """`text` with the last key of `path` spelt `name`. Raises YamlError: there is no such key, or `name` is one."""
    span = locate(text, path, key=True)
    if span is None:
        raise YamlError("must be a key to be renamed")
    if locate(text, (*path[:-1], name)) is not None:
        raise error_at(text, span.start, f'must not be renamed to "{name}", which stands beside it')
    old = text[span.start : span.end]
    quoted = old.startswith(('"', "'"))
    return text[: span.start] + (double_quoted(name) if quoted else scalar(name)) + text[span.end :]


def nest_entry(text: str, path: FieldPath, outer: str) -> str:
    """`text` with the entry at `path` as the only one of a new mapping `outer`, which stands in its place.

    Raises YamlError: there is no such entry, it spans lines, or `outer` is a key beside it.
    """
    key, value = locate(text, path, key=True), locate(text, path)
    if key is None or value is None:
        raise YamlError("must be an entry to be moved into a mapping")
    if locate(text, (*path[:-1], outer)) is not None:
        raise error_at(text, key.start, f'must not be moved into "{outer}", which stands beside it')
    if "\n" in text[key.start : value.end]:
        raise error_at(text, key.start, "must stand on one line to be moved into a mapping")
    name = text[key.start : key.end]
    outer_name = double_quoted(outer) if name.startswith(('"', "'")) else scalar(outer)
    if find(text, path)[-1].in_flow:
        inner = f"{outer_name}: {{{text[key.start : value.end]}}}"
        return text[: key.start] + inner + text[value.end :]
    newline = "\r\n" if "\r\n" in text else "\n"
    column = key.start - text.rfind("\n", 0, key.start) - 1
    return f"{text[: key.start]}{outer_name}:{newline}{' ' * (column + 2)}{text[key.start :]}"
