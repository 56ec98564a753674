"""Cutting a stream of YAML documents, byte for byte."""

from __future__ import annotations

import re

from krmfn.record import NamedTuple
from krmfn.yamltext.breaks import unified

__all__ = ["Document", "split_documents"]

# A marker counts at the start of a line only, whatever stands around it: YAML forbids it inside any scalar.
_MARKER = re.compile(r"^(?:---|\.\.\.)(?=[ \t\r\n]|\Z)[^\n]*(?:\n|\Z)", re.MULTILINE)
_BARE = re.compile(r"(?:---|\.\.\.)[ \t]*(?:#[^\n]*|\r?)\n?")
_NOTHING = re.compile(r"\ufeff?(?:[ \t\r]*(?:#[^\n]*)?\n)*[ \t\r]*(?:#[^\n]*)?")


class Document(NamedTuple):
    """One document of a stream: its exact text, the line it starts on, and what stands between it and the one before.

    `line` is 1-based. `separator` holds the marker lines (`---`, `...`) and a comment that stands alone before one;
    joining `separator + text` of all documents gives the stream back. A marker line with content on it
    (`--- {a: b}`), and directives (`%YAML`), are part of `text`. A last document may hold nothing but comments.
    """

    text: str
    line: int
    separator: str = ""


def split_documents(text: str) -> tuple[Document, ...]:
    """The documents of the stream `text`, in order; () for a text without any character."""
    if "\n---" not in text and "\n..." not in text and not text.startswith(("---", "...")):
        # Most files hold one document, and no marker.
        return (Document(text, 1),) if text else ()
    lined = unified(text)
    documents: list[Document] = []
    lines = _Lines(text)
    separator_start = start = 0
    for marker in _MARKER.finditer(text):
        at = marker.start()
        if not _NOTHING.fullmatch(lined, start, at) and not _is_directive(text, start, marker[0]):
            documents.append(_document(lines, separator_start, start, at))
            separator_start = start = at
        if _is_directive(text, start, marker[0]):
            continue
        start = marker.end() if _BARE.fullmatch(lined, at, marker.end()) else at
    if separator_start < len(text):
        documents.append(_document(lines, separator_start, start, len(text)))
    return tuple(documents)


def _is_directive(text: str, start: int, marker: str) -> bool:
    return marker.startswith("---") and text.startswith("%", start)


class _Lines:
    """A text, and its lines counted as far as the last place that was asked for."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._line, self._at = 1, 0

    def number(self, start: int) -> int:
        """The line of the character at `start`, which is not before the last one that was asked for."""
        self._line += self.text.count("\n", self._at, start)
        self._at = start
        return self._line


def _document(lines: _Lines, separator_start: int, start: int, end: int) -> Document:
    text = lines.text
    return Document(text[start:end], lines.number(start), text[separator_start:start])
