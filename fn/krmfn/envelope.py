"""The text around a list's items: cut apart on the way in, put together again on the way out."""

from __future__ import annotations

import re

from krmfn.hints import TYPE_CHECKING, cast
from krmfn.kubeobject import KubeObject
from krmfn.record import NamedTuple
from krmfn.source import Source
from krmfn.yamltext import YamlError, native, read
from krmfn.yamltext.error import line_and_column

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krmfn.value import Value

__all__ = [
    "MAX_ITEMS",
    "Cut",
    "Envelope",
    "config_of",
    "cut",
    "cut_by_lines",
    "fields_of",
    "is_json",
    "item_of",
    "own_start",
    "too_many_items",
]

MAX_ITEMS = 1_000_000
"""How many items are read; each costs memory beyond its text, however small it is."""

_BLANKS = " \t"
# A dash that is no entry's, a flow collection, what goes before a node, line breaks of some readers, a byte order mark.
_NO_KEY = tuple("-{[!&\x85\u2028\u2029\ufeff")
_SPACE = " \t\r\n"
# A line at column 0 that is no entry, comment or blank; of the lines that start with a dash, those that are no entry.
_MARGIN = re.compile(r"\n(?:[^ \t\r\n#-]|-(?![ \t\r\n]))")


class Envelope(NamedTuple):
    """A list's text in pieces: `head`, then the items, then `tail`.

    `indent` is what stands before each dash, None for a flow list. `seams` are the texts before, between and after the
    entries of a flow list. `simple` says that every item was cut by lines and read alone, so that pieces put together
    again mean what they meant; other lists are read again after an edit. `rest` holds the fields other than `items`.
    """

    text: str
    head: str
    tail: str
    indent: str | None
    newline: str
    items: tuple[KubeObject, ...]
    rest: Mapping[str, Value]
    function_config: KubeObject | None
    simple: bool
    seams: tuple[str, ...] = ()


class Cut(NamedTuple):
    """Where a list of block style is cut: item n is the text from `edges[n]` to `edges[n + 1]`, the tail follows.

    `indent` is what stands before each dash.
    """

    head: str
    indent: str
    newline: str
    edges: list[int]


def cut(text: str) -> Envelope:
    """`text` cut at its items. Raises YamlError where it cannot be read, FieldError where an item is no mapping."""
    if is_json(text):
        from krmfn.jsonlist import cut_json

        envelope = cut_json(text)
    else:
        lines = cut_by_lines(text)
        envelope = None if lines is None else _read_pieces(text, lines)
    if envelope is None:
        from krmfn.slowcut import cut_by_events

        return cut_by_events(text)
    return envelope


def is_json(text: str) -> bool:
    """Whether the list is a flow mapping, as JSON is."""
    return text.lstrip("\ufeff \t\r\n").startswith("{")


def cut_by_lines(text: str) -> Cut | None:
    """The list cut at the lines that start with its dash; None where it has none. Raises YamlError: too many items.

    A line at the dash's column that is no dash can only be inside a quoted or flow scalar. Then the piece before the
    cut is not whole and cannot be read, so reading every piece alone proves the cut.
    """
    line_start = 0 if text.startswith("items:") else text.find("\nitems:") + 1
    if line_start == 0 and not text.startswith("items:"):
        return None
    line_end = text.find("\n", line_start) + 1 or len(text)
    key, after = line_start + 6, text[line_start + 6 : line_end]
    value, _, comment = after.partition("#")
    empty = value.strip(_SPACE) in ("[]", "null", "~")
    if (value.strip(_SPACE) and not empty) or (comment and value[-1:] not in (" ", "\t")):
        return None
    bounds = _bounds(text, line_end)
    if bounds is None or (empty and len(bounds[1]) > 1):
        return None
    indent, edges = bounds
    head = text[:key] + after[len(value.rstrip(_BLANKS)) if empty else 0 :] + text[line_end : edges[0]]
    newline = "\r\n" if text.endswith("\r\n", 0, line_end) else "\n"
    return Cut(head, indent, newline, edges)


def _bounds(text: str, start: int) -> tuple[str, list[int]] | None:
    """The dashes' indentation, and where each item's piece starts; the last edge is where the list ends."""
    at, indent = start, ""
    while at < len(text):
        line_end = text.find("\n", at) + 1 or len(text)
        line = text[at:line_end]
        content = line.lstrip(" ")
        if content[:1] == "-" and content[1:2] in (" ", "\n", "\r"):
            indent = line[: len(line) - len(content)]
            break
        if content.strip(_SPACE) and not content.startswith("#"):
            if content != line:
                return None
            break
        at = line_end
    stop, starts = native.entries(text, at, len(indent)) or _entries(text, at, indent)
    if text[stop : stop + 1] in _NO_KEY:
        return None
    edges: list[int] = []
    low = start
    for line_start in starts:
        edge = line_start
        if text[text.rfind("\n", low - 1, line_start - 1) + 1 : edge].lstrip(" ").startswith("#"):
            edge = own_start(text, edge, low, indent)
        edges.append(edge)
        if len(edges) > MAX_ITEMS:
            raise too_many_items(text, edge)
        low = line_start
    edges.append(own_start(text, stop, low, ""))
    return indent, edges


def _entries(text: str, start: int, indent: str) -> tuple[int, list[int]]:
    """Where the first line after the list starts, and where those of the list that begin with a dash at `indent` do."""
    margin = _MARGIN.search(text, max(start - 1, 0))
    stop = len(text) if margin is None else margin.end() - 1
    starts: list[int] = []
    mark = f"\n{indent}-"
    width = len(mark)
    at = text.find(mark, start - 1, stop)
    while at >= 0:
        if text[at + width : at + width + 1] in (" ", "\n", "\r"):
            starts.append(at + 1)
        at = text.find(mark, at + width, stop)
    return stop, starts


def too_many_items(text: str, start: int) -> YamlError:
    """The error at the first item, which starts at offset `start`, that is one too many."""
    return YamlError(f"must hold at most {MAX_ITEMS} items; split the package", *line_and_column(text, start))


def own_start(text: str, line_start: int, low: int, indent: str) -> int:
    """Where the comment lines that stand directly above `line_start` begin: at column 0 or at `indent`, after `low`."""
    while line_start > low:
        above = text.rfind("\n", 0, line_start - 1) + 1
        line = text[above:line_start]
        if above < low or not line.startswith(("#", indent + "#")):
            break
        line_start = above
    return line_start


def _read_pieces(text: str, lines: Cut) -> Envelope | None:
    head, edges = lines.head, lines.edges
    tail = text[edges[-1] :]
    items: list[KubeObject] = []
    line = text.count("\n", 0, edges[0]) + 1
    start = edges[0]
    try:
        for end in edges[1:]:
            piece = text[start:end]
            item = item_of(piece, line)
            if item is None:
                return None
            items.append(item)
            line += piece.count("\n")
            start = end
        rest = fields_of(head, tail)
    except YamlError:
        return None
    if rest is None:
        return None
    config = config_of(head, tail, line, rest)
    return Envelope(text, head, tail, lines.indent, lines.newline, tuple(items), rest, config, simple=True)


def item_of(piece: str, line: int) -> KubeObject | None:
    """The item that `piece`, which starts at that 1-based line, is the whole text of; None where it is none.

    Raises YamlError where the piece cannot be read alone.
    """
    entries = cast("list[dict[str, Value]]", read(piece))
    if type(entries) is not list or len(entries) != 1 or type(entries[0]) is not dict:
        return None
    return KubeObject.cut(Source(piece, (0,), line), entries[0])


def fields_of(head: str, tail: str) -> dict[str, Value] | None:
    """The fields of the list but `items`; None where head and tail are not the two halves of one mapping."""
    before, after = read(head), read(tail) if tail.strip(_SPACE) else None
    if not isinstance(before, dict) or not (isinstance(after, dict) or (after is None and _has_no_node(tail))):
        return None
    fields, more = dict(before), after or {}
    # Items before the first edge have no piece, and their key must be the last one.
    if (
        next(reversed(fields), "") != "items"
        or fields.pop("items") is not None
        or fields.keys() & more.keys()
        or "items" in more
    ):
        return None
    return {**fields, **more}


def _has_no_node(tail: str) -> bool:
    """Whether there are comments and blank lines only: `!` alone is null too, and no YAML behind a mapping."""
    lines = [line.lstrip(" \t") for line in tail.splitlines()]
    return all(not line or line.startswith("#") for line in lines)


def config_of(head: str, tail: str, tail_line: int, rest: Mapping[str, Value]) -> KubeObject | None:
    """The functionConfig among the fields `rest`; `tail` starts at that 1-based line."""
    config = rest.get("functionConfig")
    if not isinstance(config, dict):
        return None
    in_tail = f"\n{tail}".find("\nfunctionConfig:") >= 0
    source = Source(tail if in_tail else head, ("functionConfig",), tail_line if in_tail else 1)
    return KubeObject.cut(source, config)
