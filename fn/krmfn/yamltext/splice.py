"""The text surgery of edits: one entry inserted, replaced or removed, given where things stand."""

from __future__ import annotations

import re

from krmfn.hints import TYPE_CHECKING
from krmfn.yamltext.breaks import after_gap
from krmfn.yamltext.error import error_at
from krmfn.yamltext.lastline import ends_in_block_scalar, stripped
from krmfn.yamltext.quote import double_quoted, flow_key, literal_lines
from krmfn.yamltext.writer import block_lines, flow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from krmfn.value import Value
    from krmfn.yamltext.tree import Node

__all__ = ["insert_entry", "insert_item", "remove_entry", "remove_item", "replace"]

# One anchor or tag, and what stands behind it.
_PROPERTY = re.compile(r"[&!][^ \t\r\n]*(?:[ \t\r\n]|#[^\n]*)+")
_EXPLICIT = ("? ", "?\t", "?\n", "?\r")
_TAG_LAST = re.compile(r"[ \t\n:,\[{]![^ \t\r\n,\[\]{}]*\Z")
_LONGEST_TAG = 1000
_BLANK = " \t\r\n"
_DEEP_COMMENT = re.compile(r"(?:[ \t\r]*\n)* +#")


def insert_entry(text: str, nodes: Sequence[Node], name: str, value: Value) -> str:
    """A new key at the end of the last node, which is a mapping."""
    node = nodes[-1]
    if node.is_flow:
        if _opens_up(text, node):
            return replace(text, nodes, {name: value})
        quoted = _quotes_keys(text, nodes)
        spelled = double_quoted(name) if quoted else flow_key(name)
        entry = f"{spelled}: {flow(value, quoted_keys=quoted)}"
        if text[_own_start(text, node)] != "{":
            # A lone pair in a list, `[a: b]`, needs braces to hold two.
            return f"{text[: node.start]}{{{text[node.start : node.end]}, {entry}}}{text[node.end :]}"
        return _insert_in_flow(text, node, entry)
    return _insert_lines(text, node.previous_end, {name: value}, _column(text, _own_start(text, node)))


def insert_item(text: str, nodes: Sequence[Node], value: Value) -> str:
    """A new item at the end of the last node, which is a list."""
    node = nodes[-1]
    if node.is_flow:
        if _opens_up(text, node):
            return replace(text, nodes, [value])
        return _insert_in_flow(text, node, flow(value, quoted_keys=_quotes_keys(text, nodes)))
    return _insert_lines(text, node.previous_end, [value], _column(text, _own_start(text, node)))


def replace(text: str, nodes: Sequence[Node], value: Value) -> str:
    """`value` in the place of the last node."""
    node = nodes[-1]
    if node.in_flow:
        new = flow(value, quoted_keys=_quotes_keys(text, nodes))
        colon = "" if node.start < node.end else " " if text[node.start - 1] == ":" else ": "
        return text[: node.start] + colon + new + text[max(node.start, node.end) :]
    if len(nodes) > 1 and nodes[-2].kind == "mapping":
        return _replace_entry(text, nodes, value)
    return _replace_in_place(text, nodes, value)


def remove_entry(text: str, nodes: Sequence[Node]) -> str:
    """The text without the last node and its key; another entry stands beside it."""
    parent, node = nodes[-2:]
    if parent.is_flow:
        return _remove_in_flow(text, parent, node, _entry_start(text, parent, node))
    return _remove_lines(text, _entry_start(text, parent, node), node)


def remove_item(text: str, nodes: Sequence[Node]) -> str:
    """The text without the last node, an item of a list that has others."""
    parent, node = nodes[-2:]
    if parent.is_flow:
        return _remove_in_flow(text, parent, node, node.start)
    return _remove_lines(text, after_gap(text, parent.previous_end) if parent.count else _own_start(text, parent), node)


def _opens_up(text: str, node: Node) -> bool:
    """Whether an empty `{}` or `[]` may become a block: nothing stands in it, and no flow collection holds it."""
    return not node.count and not node.in_flow and not text[_own_start(text, node) + 1 : node.end - 1].strip(_BLANK)


def _insert_in_flow(text: str, node: Node, entry: str) -> str:
    if not node.count:
        at = _own_start(text, node) + 1
        return text[:at] + entry + (" " if text[at] == "#" else "") + text[at:]
    at = node.previous_end
    line = text.rfind("\n", 0, node.first) + 1
    lead = text[line : node.first]
    comma = "," + _line_end(text) + lead if line > node.start and not lead.strip(" \t") else ", "
    # After an empty value the comma must not touch the colon, or the tag: older readers take `:,` for text.
    empty = text[at - 1] == ":" or _TAG_LAST.search(text, max(node.start, at - _LONGEST_TAG), at)
    return text[:at] + (" " if empty else "") + comma + entry + text[at:]


def _insert_lines(text: str, after: int, entry: Value, column: int) -> str:
    """The lines of `entry` after the line that holds the last character before `after`."""
    at = _end_of_line(text, after)
    lines = block_lines(entry, " " * column, literals=_takes_literals(text, at))
    end = _line_end(text)
    kept = text[:at] if at < len(text) else stripped(text)
    return kept + end + end.join(lines) + text[at:]


def _replace_entry(text: str, nodes: Sequence[Node], value: Value) -> str:
    """A new value for a key of a block mapping."""
    node = nodes[-1]
    colon = after_gap(text, node.key_end) + 1
    if text[colon - 1 : colon] != ":":
        raise error_at(text, node.key_start, 'a key without ":" cannot be given a value; write ":" after it')
    start = colon if node.start == node.end else node.start
    end = max(node.end, start)
    at = _end_of_line(text, end)
    line = text.rfind("\n", 0, start) + 1
    below = line > colon
    inline, lines = _entry_text(text, nodes, value, at, allow_literal=text.count("\n", colon, line) < 2)
    tail = text[at:]
    added = "".join([_line_end(text) + each for each in lines])
    if not below:
        return text[:colon] + _space(text, colon, start, inline) + inline + text[end:at] + added + tail
    # What stands between the key and its value are comments; they stay.
    between = text[colon:line].removesuffix("\n").removesuffix("\r")
    return text[:colon] + (" " + inline if inline else "") + between + added + tail


def _takes_literals(text: str, at: int) -> bool:
    """Whether lines put before the end of line `at` may end with a block scalar: it needs a break, and no comment."""
    return at < len(text) and not _DEEP_COMMENT.match(text, at)


def _space(text: str, colon: int, start: int, inline: str) -> str:
    return (text[colon:start] or " ") if inline else ""


def _entry_text(
    text: str, nodes: Sequence[Node], value: Value, at: int, *, allow_literal: bool
) -> tuple[str, list[str]]:
    """What stands on the key's line, and the lines below it."""
    parent, node = nodes[-2:]
    column = _column(text, _own_start(text, parent))
    literals = allow_literal and _takes_literals(text, at)
    if isinstance(value, str):
        body = literal_lines(value) if literals else None
        if body is not None:
            indent = " " * (column + 2)
            return ("|" if value.endswith("\n") else "|-"), [indent + each if each else "" for each in body]
    if not isinstance(value, (dict, list, tuple)) or not value:
        return block_lines([value], literals=False)[0].removeprefix("- "), []
    same_kind = node.kind == ("mapping" if isinstance(value, dict) else "list")
    if same_kind and not node.is_flow:
        column = _column(text, _own_start(text, node))
    elif isinstance(value, dict):
        column += _indent_step(text, nodes)
    return "", block_lines(value, " " * column, literals=literals)


def _replace_in_place(text: str, nodes: Sequence[Node], value: Value) -> str:
    """A new value for an item of a block list, or for the whole document."""
    node = nodes[-1]
    start, end = node.start, max(node.start, node.end)
    at = _end_of_line(text, end)
    space = " " if start == end and text[start - 1 : start] == "-" else ""
    column = _column(text, start) + len(space)
    marker = text[start - column : start].startswith("---")
    if marker or text[end:at].strip(_BLANK) or not isinstance(value, (dict, list, tuple)) or not value:
        new = flow(value) if isinstance(value, (dict, list, tuple)) else block_lines([value], literals=False)[0][2:]
        return text[:start] + (" " if marker and start == end else space) + new + text[end:]
    lines = block_lines(value, " " * column, literals=_takes_literals(text, at))
    return text[:start] + space + _line_end(text).join(lines).lstrip(" ") + text[end:]


def _remove_lines(text: str, start: int, node: Node) -> str:
    line = text.rfind("\n", 0, start) + 1
    at = _end_of_line(text, max(start, node.key_end, node.end))
    if not text[line:start].strip(_BLANK):
        after = text.find("\n", at) + 1
        if after:
            return text[:line] + text[after:]
        kept = text[:line]
        return kept if ends_in_block_scalar(kept) else kept.removesuffix("\n").removesuffix("\r")
    # It shares its line with the dash of the list that holds it; the next entry moves up to the dash.
    following = after_gap(text, at)
    if node.next_start >= 0 and not text[at:following].strip(_BLANK):
        return text[:start] + text[following:]
    return text[:start].rstrip(" ") + text[at:]


def _remove_in_flow(text: str, parent: Node, node: Node, start: int) -> str:
    end = max(node.start, node.end) if node.end > start else node.key_end
    if parent.count:
        between = text[parent.previous_end : start]
        if "#" not in between:
            return text[: parent.previous_end] + text[end:]
        comma = after_gap(text, parent.previous_end)
        return text[:comma] + text[comma + 1 : start] + text[end:]
    if "#" not in text[end : node.next_start]:
        return text[:start] + text[node.next_start :]
    return text[:start] + text[after_gap(text, end) + 1 :]


def _quotes_keys(text: str, nodes: Sequence[Node]) -> bool:
    """Whether the keys around the last node are in double quotes, as in JSON."""
    if nodes[-1].last_key is not None:
        return nodes[-1].last_key == '"'
    keys = [node.key_start for node in nodes if node.key_start >= 0]
    return bool(keys) and text[keys[-1]] == '"'


def _indent_step(text: str, nodes: Sequence[Node]) -> int:
    """How much deeper the document indents a mapping inside a mapping; 2 where it does not show."""
    columns = [_column(text, _own_start(text, node)) for node in nodes[:-1] if node.kind == "mapping"]
    if len(columns) < 2 or nodes[-3].kind != "mapping":
        return 2
    step = columns[-1] - columns[-2]
    return step if 1 <= step <= 8 else 2


def _own_start(text: str, node: Node) -> int:
    """Where a collection itself starts, after its anchor and tag: a block mapping at its first key or the `?` of it."""
    at = node.start
    for each in (node.anchor, node.tag):
        match = None if each is None else _PROPERTY.match(text, at)
        at = at if match is None else match.end()
    return at


def _entry_start(text: str, parent: Node, node: Node) -> int:
    """Where the entry of a mapping starts: at its key, or at the `?` that may stand before it."""
    at = parent.previous_end if parent.count else _own_start(text, parent)
    if parent.is_flow:
        at = after_gap(text, at) + 1 if parent.count or text[at] == "{" else at
    at = after_gap(text, at)
    return at if text.startswith(_EXPLICIT, at) else node.key_start


def _column(text: str, offset: int) -> int:
    line = text.rfind("\n", 0, offset) + 1
    # A byte order mark takes no column.
    return offset - line - (line == 0 and text.startswith("\ufeff"))


def _end_of_line(text: str, offset: int) -> int:
    """Where the line that holds `offset` ends, before its break."""
    at = text.find("\n", offset)
    if at < 0:
        return len(text)
    return at - 1 if at > offset and text[at - 1] == "\r" else at


def _line_end(text: str) -> str:
    at = text.find("\n")
    return "\r\n" if at > 0 and text[at - 1] == "\r" else "\n"
