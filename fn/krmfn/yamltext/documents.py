"""Cutting a stream of YAML documents, byte for byte."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["Document", "split_documents"]

# A marker counts at the start of a line only, whatever stands around it: YAML forbids it inside any scalar.
_MARKER = re.compile(r"^(?:---|\.\.\.)(?=[ \t\r\n]|\Z)[^\n]*(?:\n|\Z)", re.MULTILINE)
_BARE = re.compile(r"(?:---|\.\.\.)[ \t]*(?:#[^\n]*|\r?)\n?")
_NOTHING = re.compile(r"\ufeff?(?:[ \t\r]*(?:#[^\n]*)?\n)*[ \t\r]*(?:#[^\n]*)?")


@dataclass(frozen=True, slots=True)
class Document:
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
    documents: list[Document] = []
    separator_start = start = 0
    for marker in _MARKER.finditer(text):
        at = marker.start()
        if not _NOTHING.fullmatch(text, start, at) and not _is_directive(text, start, marker[0]):
            documents.append(_document(text, separator_start, start, at))
            separator_start = start = at
        if _is_directive(text, start, marker[0]):
            continue
        start = marker.end() if _BARE.fullmatch(marker[0]) else at
    if separator_start < len(text):
        documents.append(_document(text, separator_start, start, len(text)))
    return tuple(documents)


def _is_directive(text: str, start: int, marker: str) -> bool:
    return marker.startswith("---") and text.startswith("%", start)


def _document(text: str, separator_start: int, start: int, end: int) -> Document:
    return Document(text[start:end], text.count("\n", 0, start) + 1, text[separator_start:start])
