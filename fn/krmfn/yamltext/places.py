"""The places of values, keys, comments and documents in a text, and edits of keys and scalars in place."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from itertools import accumulate

from krmfn.hints import TYPE_CHECKING, FieldPath, Record
from krmfn.yamltext.reader import YamlError, error_at, find, line_and_column, read, tree_of, unify_breaks
from krmfn.yamltext.writer import double_quote, scalar_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class Span(Record):
    """The place of a value or key. `start` and `end` are offsets of characters, and the character at `end` is not
    included.

    `line` and `column` are the 1-based position of the start.
    """

    start: int
    end: int
    line: int
    column: int


def locate(text: str, path: FieldPath, *, key: bool = False) -> Span | None:
    """Return the place of the value at `path`. Return None if there is none. With `key`, return the place of its key.

    The place of a value includes its anchor and tag. The place of a block value excludes the break and comment after
    it. A value that only a merge (`<<`) provides has no place. Raise YamlError if the text is unreadable up to the
    value.
    """
    nodes = find(text, path)
    if not nodes or len(nodes) <= len(path):
        return None
    node = nodes[-1]
    if key and node.key_start >= 0:
        return Span(node.key_start, node.key_end, *line_and_column(text, node.key_start))
    return Span(node.start, max(node.end, node.start), *line_and_column(text, node.start))


def locate_nearest(text: str, path: FieldPath) -> Span:
    """Return the place of the deepest existing part of `path`, or the start of an empty text."""
    nodes = find(text, path)
    if not nodes:
        return Span(0, 0, 1, 1)
    node = nodes[-1]
    return Span(node.start, max(node.end, node.start), *line_and_column(text, node.start))


def nearest_position(text: str, path: FieldPath, *, key: bool = False) -> tuple[int, int]:
    """Return the 1-based line and column of the deepest existing part of `path`.

    With `key`, return the position of the key if all of `path` exists. Raise YamlError if the text is unreadable up to
    there.
    """
    nodes = find(text, path)
    if not nodes:
        return 1, 1
    node = nodes[-1]
    is_key = key and path and len(nodes) > len(path) and node.key_start >= 0
    return _line_and_column(_line_starts(text), node.key_start if is_key else node.start)


def start_offsets(text: str, paths: Iterable[FieldPath]) -> list[int | None]:
    """Return the start offset in `text` of the value at each of `paths`. An offset is None if the value is missing.

    Raise YamlError if the text is unreadable.
    """
    ways = [(find(text, path), path) for path in paths]
    return [nodes[-1].start if len(nodes) > len(path) else None for nodes, path in ways]


def entry_lines(text: str, path: FieldPath, number: int) -> list[tuple[int, int]]:
    """Return the start and end offset of the lines of each entry in the block list at `path`. `number` is the number of
    entries.

    An entry's lines extend to the next entry. Raise YamlError if entries share lines.
    """
    nodes = [find(text, (*path, index))[-1] for index in range(number)]
    begins = [text.rfind("\n", 0, node.start) + 1 for node in nodes]
    last = text.find("\n", max(nodes[-1].end, nodes[-1].start)) + 1 if nodes else 0
    lines = list(zip(begins, [*begins[1:], last or len(text)], strict=True))
    for node, (begin, end) in zip(nodes, lines, strict=True):
        if begin >= end or node.in_flow or not text[begin : node.start].lstrip(" ").startswith("-"):
            raise error_at(text, node.start, "must be an entry of a list in block style, on lines of its own")
    return lines


@lru_cache(maxsize=4)
def _line_starts(text: str) -> tuple[int, ...]:
    """Return the offsets of the line starts of `text`."""
    return tuple(accumulate([len(line) + 1 for line in text.split("\n")], initial=0))


def _line_and_column(line_starts: tuple[int, ...], offset: int) -> tuple[int, int]:
    # The import of `bisect` takes longer than a thousand of these searches.
    line, end = 0, len(line_starts)
    while line < end:
        middle = (line + end) // 2
        if line_starts[middle] <= offset:
            line = middle + 1
        else:
            end = middle
    return line, offset - line_starts[line - 1] + 1


def quote_scalar(text: str, path: FieldPath) -> str:
    """Return `text` with the plain scalar at `path` quoted as a string, or unchanged if the scalar is already quoted.

    Raise YamlError if there is no scalar on one line, or if the scalar has an anchor or a tag.
    """
    span = locate(text, path)
    scalar = "" if span is None else text[span.start : span.end]
    if span is None or not scalar or "\n" in scalar or scalar[0] in "{[|>&!*":
        raise error_at(text, span.start if span else 0, "only a plain scalar on one line can be put in quotes")
    if scalar[0] in "\"'":
        return text
    return text[: span.start] + double_quote(scalar) + text[span.end :]


def rename_key(text: str, path: FieldPath, name: str) -> str:
    """Return `text` with the last key of `path` renamed to `name`.

    Raise YamlError if the key is missing, or if its mapping already has the key `name`.
    """
    span = locate(text, path, key=True)
    if span is None:
        raise YamlError("there is no key to rename")
    if locate(text, (*path[:-1], name)) is not None:
        raise error_at(text, span.start, f'cannot be renamed to "{name}", because the mapping already has this key')
    old = text[span.start : span.end]
    quoted = old.startswith(('"', "'"))
    return text[: span.start] + (double_quote(name) if quoted else scalar_text(name)) + text[span.end :]


def nest_entry(text: str, path: FieldPath, outer: str) -> str:
    """Return `text` after moving the entry at `path` into a new mapping at its place. The key of the mapping is
    `outer`.

    Raise YamlError if the entry is missing or spans lines, or if its mapping already has the key `outer`.
    """
    key, value = locate(text, path, key=True), locate(text, path)
    if key is None or value is None:
        raise YamlError("there is no entry to move")
    if locate(text, (*path[:-1], outer)) is not None:
        raise error_at(text, key.start, f'cannot be moved into "{outer}", because the mapping already has this key')
    if "\n" in text[key.start : value.end]:
        raise error_at(text, key.start, "an entry on several lines cannot be moved into a mapping")
    name = text[key.start : key.end]
    outer_name = double_quote(outer) if name.startswith(('"', "'")) else scalar_text(outer)
    if find(text, path)[-1].in_flow:
        inner = f"{outer_name}: {{{text[key.start : value.end]}}}"
        return text[: key.start] + inner + text[value.end :]
    newline = "\r\n" if "\r\n" in text else "\n"
    column = key.start - text.rfind("\n", 0, key.start) - 1
    return f"{text[: key.start]}{outer_name}:{newline}{' ' * (column + 2)}{text[key.start :]}"


# An anchor, alias or tag may contain a `#` that begins no comment.
_PROPERTIES = r"(?:[&!]\S*(?:\s|#[^\n]*)+)+"
_PART = r"[&*!][^\s,\[\]{}]*|(#[^\r\n]*)"


def comments(text: str) -> list[str]:
    """Return the comments of the document `text` in order, each from its `#` to the end of its line.

    Raise YamlError if the text is not YAML.
    """
    return [comment for _, comment in placed_comments(text)]


def placed_comments(text: str) -> list[tuple[int, str]]:
    """Return the offset of the `#` and the text of each comment that `comments` returns.

    Raise YamlError as `comments` does.
    """
    placed: list[tuple[int, str]] = []
    at, part = 0, re.compile(_PART)
    for start, end in [*_scalars(text), (len(text), len(text))]:
        placed += [(match.start(1), match[1]) for match in part.finditer(text, at, max(start, at)) if match[1]]
        at = max(end, at)
    return placed


def with_lost_comments(before: str, after: str, line: int) -> str:
    """Return `after` with the comments that it lost, as separate lines. `after` is `before` without one entry.

    The comments are at the place of the entry, which began on the line at offset `line` of `before`. Raise YamlError if
    a comment cannot be kept.
    """
    lost = _missing_comments(comments(before), comments(after))
    if not lost:
        return after
    newline = "\r\n" if "\r\n" in before else "\n"
    indent = _indent(before, line)
    if len(after) < line and before.startswith(after):
        # The last entry is removed together with the line break before it.
        kept = after + "".join([newline + indent + comment for comment in lost])
    else:
        shared = next((n for n, (mine, other) in enumerate(zip(before, after, strict=False)) if mine != other), line)
        at = line
        if shared < line:
            at = after.rfind("\n", 0, shared) + 1
            indent = _indent(after, at)
        kept = after[:at] + "".join([indent + comment + newline for comment in lost]) + after[at:]
    if _reads_alike(kept, after) and not _missing_comments(comments(before), comments(kept)):
        return kept
    raise error_at(before, line, f'the comment "{lost[0]}" would be lost; move it to a separate line')


def _indent(text: str, line: int) -> str:
    return text[line : len(text) - len(text[line:].lstrip(" "))]


def _reads_alike(first: str, other: str) -> bool:
    try:
        return read(first) == read(other)
    except YamlError:
        return False


def _missing_comments(before: list[str], after: list[str]) -> list[str]:
    left = Counter(after)
    missing: list[str] = []
    for comment in before:
        if left[comment]:
            left[comment] -= 1
        else:
            missing.append(comment)
    return missing


def _scalars(text: str) -> list[tuple[int, int]]:
    """Return the start and end of each scalar without its anchor and tag.

    A block scalar starts on the line below its header.
    """
    spans: list[tuple[int, int]] = []
    for first, end, style in tree_of(text).scalars():
        properties = re.compile(_PROPERTIES).match(text, first, end)
        start = properties.end() if properties else first
        if style in ("|", ">"):
            start = text.find("\n", text.index(style, start)) + 1 or end
        spans.append((start, end))
    return spans


# A marker counts only at the start of a line, in any context, because YAML forbids it inside a scalar.
_MARKER = r"^(?:---|\.\.\.)(?=[ \t\r\n]|\Z)[^\n]*(?:\n|\Z)"
_BARE = r"(?:---|\.\.\.)[ \t]*(?:#[^\n]*|\r?)\n?"
_NOTHING = r"\ufeff?(?:[ \t\r]*(?:#[^\n]*)?\n)*[ \t\r]*(?:#[^\n]*)?"


class YamlDocument(Record):
    """One document of a stream: its exact text, its first line, and the text between it and the previous document.

    `line` is 1-based. `separator` holds the marker lines (`---`, `...`) and comments between documents. The stream is
    `separator + text` of all documents joined. A marker line with content (`--- {a: b}`) and directives (`%YAML`) are
    part of `text`. The last document may hold only comments.
    """

    text: str
    line: int
    separator: str = ""


def split_documents(text: str) -> tuple[YamlDocument, ...]:
    """Return the documents of the stream `text` in order, or () for an empty text."""
    return tuple(iterate_documents(text))


def iterate_documents(text: str) -> Iterator[YamlDocument]:
    """Yield the documents of the stream `text` in order. A caller need not keep all of them."""
    if "\n---" not in text and "\n..." not in text and not text.startswith(("---", "...")):
        # Most files hold one document, and no marker.
        if text:
            yield YamlDocument(text, 1)
        return
    lined = unify_breaks(text)
    lines = _Lines(text)
    bare, nothing = re.compile(_BARE), re.compile(_NOTHING)
    separator_start = start = 0
    for marker in re.finditer(_MARKER, text, re.MULTILINE):
        at = marker.start()
        if not nothing.fullmatch(lined, start, at) and not _is_directive(text, start, marker[0]):
            yield _document(lines, separator_start, start, at)
            separator_start = start = at
        if _is_directive(text, start, marker[0]):
            continue
        start = marker.end() if bare.fullmatch(lined, at, marker.end()) else at
    if separator_start < len(text):
        yield _document(lines, separator_start, start, len(text))


def _is_directive(text: str, start: int, marker: str) -> bool:
    return marker.startswith("---") and text.startswith("%", start)


class _Lines:
    """A counter of the lines of a text, which continues at the last requested place."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._line, self._at = 1, 0

    def number(self, start: int) -> int:
        """Return the line of the character at `start`. `start` must not be smaller than in the last call."""
        self._line += self.text.count("\n", self._at, start)
        self._at = start
        return self._line


def _document(lines: _Lines, separator_start: int, start: int, end: int) -> YamlDocument:
    text = lines.text
    return YamlDocument(text[start:end], lines.number(start), text[separator_start:start])
