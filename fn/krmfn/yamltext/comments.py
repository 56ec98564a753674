"""The comments of a text: what no reader sees, and no edit may lose."""

from __future__ import annotations

import re

from krmfn.yamltext.error import YamlError, error_at
from krmfn.yamltext.reader import read
from krmfn.yamltext.tree import tree_of

__all__ = ["comments", "placed_comments", "with_lost_comments"]

# An anchor, alias or tag may hold a `#` that starts no comment.
_PROPERTIES = re.compile(r"(?:[&!]\S*(?:\s|#[^\n]*)+)+")
_PART = re.compile(r"[&*!][^\s,\[\]{}]*|(#[^\r\n]*)")


def comments(text: str) -> list[str]:
    """The comments of the document `text`, in order, each from its `#` to the end of its line.

    Raises YamlError where the text is no YAML.
    """
    return [comment for _, comment in placed_comments(text)]


def placed_comments(text: str) -> list[tuple[int, str]]:
    """The comments as above, each with the offset of its `#`. Raises YamlError where the text is no YAML."""
    placed: list[tuple[int, str]] = []
    at = 0
    for start, end in [*_scalars(text), (len(text), len(text))]:
        placed += [(match.start(1), match[1]) for match in _PART.finditer(text, at, max(start, at)) if match[1]]
        at = max(end, at)
    return placed


def with_lost_comments(before: str, after: str, line: int) -> str:
    """`after`, which lacks an entry of `before`, with the comments that went with it, as lines of their own.

    They stand where the entry was, whose line begins at offset `line` of `before`. Raises YamlError where they cannot
    stand there.
    """
    lost = _missing(comments(before), comments(after))
    if not lost:
        return after
    newline = "\r\n" if "\r\n" in before else "\n"
    indent = _indent(before, line)
    if len(after) < line and before.startswith(after):
        # The last entry is gone, and with it the break before it.
        kept = after + "".join([newline + indent + comment for comment in lost])
    else:
        shared = next((n for n, (mine, other) in enumerate(zip(before, after, strict=False)) if mine != other), line)
        at = line
        if shared < line:
            at = after.rfind("\n", 0, shared) + 1
            indent = _indent(after, at)
        kept = after[:at] + "".join([indent + comment + newline for comment in lost]) + after[at:]
    if _reads_alike(kept, after) and not _missing(comments(before), comments(kept)):
        return kept
    raise error_at(before, line, f'"{lost[0]}" within would be lost; move it to a line of its own')


def _indent(text: str, line: int) -> str:
    return text[line : len(text) - len(text[line:].lstrip(" "))]


def _reads_alike(first: str, other: str) -> bool:
    try:
        return read(first) == read(other)
    except YamlError:
        return False


def _missing(before: list[str], after: list[str]) -> list[str]:
    left = list(after)
    missing: list[str] = []
    for comment in before:
        if comment in left:
            left.remove(comment)
        else:
            missing.append(comment)
    return missing


def _scalars(text: str) -> list[tuple[int, int]]:
    """Where the scalars stand, of block scalars the lines below the header."""
    spans: list[tuple[int, int]] = []
    for first, end, style in tree_of(text).scalars():
        properties = _PROPERTIES.match(text, first, end)
        start = properties.end() if properties else first
        if style in ("|", ">"):
            start = text.find("\n", text.index(style, start)) + 1 or end
        spans.append((start, end))
    return spans
