"""An object's text moved between a document of its own and an entry of a block list."""

from __future__ import annotations

import re

from krmfn.hints import TYPE_CHECKING
from krmfn.yamltext import write

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krmfn.source import Source
    from krmfn.value import Value

__all__ = ["document_text", "list_entry"]

_DASH = re.compile(r"( *)-( +)(?=[^\s])", re.ASCII)
# What only stands at the start of a document, or names a line by its column.
_UNMOVABLE = re.compile(r"^(?:---|\.\.\.|%)|\t|\ufeff|[|>][-+]?[0-9]", re.MULTILINE)


def document_text(source: Source, value: Mapping[str, Value]) -> str:
    """The text of a document of its own for an object cut from a list; `value` is written where lines do not move."""
    if source.root != (0,):
        return write(value)
    lines = source.text.split("\n")
    at = next(
        (n for n, line in enumerate(lines) if line.strip(" \t\r") and not line.lstrip(" \t\r").startswith("#")), 0
    )
    dash = _DASH.match(lines[at])
    if dash is None:
        return write(value)
    width = dash.end()
    out: list[str] = []
    for number, line in enumerate(lines):
        if number == at:
            out.append(line[width:])
        elif not line[:width].strip(" \t\r"):
            out.append(line[width:] if line.strip(" \t\r") else line[width:].lstrip(" "))
        elif line.lstrip(" \t\r").startswith("#"):
            out.append(line.lstrip(" \t\r"))
        else:
            return write(value)
    return _checked("\n".join(out), value)


def list_entry(text: str, indent: str, newline: str, value: Mapping[str, Value]) -> str:
    """`text`, a document of its own, as an entry of a block list whose dashes stand at `indent`."""
    if _UNMOVABLE.search(text):
        return _indented(write([value]), indent, newline)
    lines = [line.removesuffix("\r") for line in text.rstrip("\n").split("\n")]
    at = next(
        (n for n, line in enumerate(lines) if line.strip(" \t\r") and not line.lstrip(" \t\r").startswith("#")), 0
    )
    body = [f"{indent}- {lines[at]}", *(f"{indent}  {line}" if line else "" for line in lines[at + 1 :])]
    entry = newline.join([*(f"{indent}{line}" if line else "" for line in lines[:at]), *body]) + newline
    return entry if _reads_as(entry, [value]) else _indented(write([value]), indent, newline)


def _indented(text: str, indent: str, newline: str) -> str:
    if indent:
        text = "".join([f"{indent}{line}\n" if line else "\n" for line in text.removesuffix("\n").split("\n")])
    return text if newline == "\n" else text.replace("\n", newline)


def _checked(text: str, value: Mapping[str, Value]) -> str:
    return text if _reads_as(text, value) else write(value)


def _reads_as(text: str, value: Value) -> bool:
    from krmfn.edit import same
    from krmfn.yamltext import YamlError, read

    try:
        return same(read(text), value)
    except YamlError:
        return False
