"""Edits of a text that set or remove a value and preserve every other byte."""

from __future__ import annotations

import re

from krmfn.hints import TYPE_CHECKING, FieldPath, cast
from krmfn.yamltext.reader import (
    MAX_DEPTH,
    YamlError,
    ends_in_block_scalar,
    error_at,
    find,
    most_nodes,
    read,
    restore_breaks,
    skip_gap,
    strip_header,
    tree_of,
    unify_breaks,
    with_last_break,
)
from krmfn.yamltext.writer import block_lines, double_quote, flow_key, flow_text, literal_lines, write

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from krmfn.value import Scalar, Value
    from krmfn.yamltext.reader import YamlNode

# One anchor or tag, and the white space and comments after it.
_PROPERTY = r"[&!][^ \t\r\n]*(?:[ \t\r\n]|#[^\n]*)+"
_EXPLICIT = ("? ", "?\t", "?\n", "?\r")
_TAG_LAST = r"[ \t\n:,\[{]![^ \t\r\n,\[\]{}]*\Z"
_LONGEST_TAG = 1000
_BLANK = " \t\r\n"
_DEEP_COMMENT = re.compile(r"(?:[ \t\r]*\n)* +#")


def insert_entry(text: str, nodes: Sequence[YamlNode], name: str, value: Value) -> str:
    """Return `text` with the key `name` and `value` at the end of the mapping `nodes[-1]`."""
    node = nodes[-1]
    if node.is_flow:
        if _opens_up(text, node):
            return replace(text, nodes, {name: value})
        quoted = _quotes_keys(text, nodes)
        spelled = double_quote(name) if quoted else flow_key(name)
        entry = f"{spelled}: {flow_text(value, quoted_keys=quoted)}"
        if text[_own_start(text, node)] != "{":
            # A single pair in a list, `[a: b]`, needs braces before it can hold two.
            return f"{text[: node.start]}{{{text[node.start : node.end]}, {entry}}}{text[node.end :]}"
        return _insert_in_flow(text, node, entry)
    return _insert_lines(text, node.previous_end, {name: value}, _column(text, _own_start(text, node)))


def insert_item(text: str, nodes: Sequence[YamlNode], value: Value) -> str:
    """Return `text` with the item `value` at the end of the list `nodes[-1]`."""
    node = nodes[-1]
    if node.is_flow:
        if _opens_up(text, node):
            return replace(text, nodes, [value])
        return _insert_in_flow(text, node, flow_text(value, quoted_keys=_quotes_keys(text, nodes)))
    return _insert_lines(text, node.previous_end, [value], _column(text, _own_start(text, node)))


def replace(text: str, nodes: Sequence[YamlNode], value: Value) -> str:
    """Return `text` with `value` instead of the node `nodes[-1]`."""
    node = nodes[-1]
    if node.in_flow:
        new = flow_text(value, quoted_keys=_quotes_keys(text, nodes))
        colon = "" if node.start < node.end else " " if text[node.start - 1] == ":" else ": "
        return text[: node.start] + colon + new + text[max(node.start, node.end) :]
    if len(nodes) > 1 and nodes[-2].kind == "mapping":
        return _replace_entry(text, nodes, value)
    return _replace_in_place(text, nodes, value)


def remove_entry(text: str, nodes: Sequence[YamlNode]) -> str:
    """Return `text` without the node `nodes[-1]` and its key. The mapping must have another entry."""
    parent, node = nodes[-2:]
    if parent.is_flow:
        return _remove_in_flow(text, parent, node, _entry_start(text, parent, node))
    return _remove_lines(text, _entry_start(text, parent, node), node)


def remove_item(text: str, nodes: Sequence[YamlNode]) -> str:
    """Return `text` without the list item `nodes[-1]`. The list must have another item."""
    parent, node = nodes[-2:]
    if parent.is_flow:
        return _remove_in_flow(text, parent, node, node.start)
    return _remove_lines(text, skip_gap(text, parent.previous_end) if parent.count else _own_start(text, parent), node)


def _opens_up(text: str, node: YamlNode) -> bool:
    """Return True if an empty `{}` or `[]` may become a block: it has no comment and is in no flow collection."""
    return not node.count and not node.in_flow and not text[_own_start(text, node) + 1 : node.end - 1].strip(_BLANK)


def _insert_in_flow(text: str, node: YamlNode, entry: str) -> str:
    if not node.count:
        at = _own_start(text, node) + 1
        return text[:at] + entry + (" " if text[at] == "#" else "") + text[at:]
    at = node.previous_end
    line = text.rfind("\n", 0, node.first) + 1
    lead = text[line : node.first]
    comma = "," + _line_end(text) + lead if line > node.start and not lead.strip(" \t") else ", "
    # After an empty value, the comma must not touch the colon or the tag, because older readers read `:,` as text.
    empty = text[at - 1] == ":" or re.compile(_TAG_LAST).search(text, max(node.start, at - _LONGEST_TAG), at)
    return text[:at] + (" " if empty else "") + comma + entry + text[at:]


def _insert_lines(text: str, after: int, entry: Value, column: int) -> str:
    """Return `text` with the lines of `entry` at `column`, below the line with the offset `after`."""
    at = _end_of_line(text, after)
    lines = block_lines(entry, " " * column, literals=_takes_literals(text, at))
    end = _line_end(text)
    kept = text[:at] if at < len(text) else strip_header(text)
    return kept + end + end.join(lines) + text[at:]


def _replace_entry(text: str, nodes: Sequence[YamlNode], value: Value) -> str:
    """Return `text` with `value` instead of the value of a key in a block mapping."""
    node = nodes[-1]
    colon = skip_gap(text, node.key_end) + 1
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
    # Only comments can be between the key and its value. They stay.
    between = text[colon:line].removesuffix("\n").removesuffix("\r")
    return text[:colon] + (" " + inline if inline else "") + between + added + tail


def _takes_literals(text: str, at: int) -> bool:
    """Return True if lines inserted at `at`, the end of a line, may end with a block scalar.

    A line break must follow. An indented comment must not follow, because it would become part of the scalar.
    """
    return at < len(text) and not _DEEP_COMMENT.match(text, at)


def _space(text: str, colon: int, start: int, inline: str) -> str:
    return (text[colon:start] or " ") if inline else ""


def _entry_text(
    text: str, nodes: Sequence[YamlNode], value: Value, at: int, *, allow_literal: bool
) -> tuple[str, list[str]]:
    """Return the text of `value` on the line of its key, and the lines below that line."""
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


def _replace_in_place(text: str, nodes: Sequence[YamlNode], value: Value) -> str:
    """Return `text` with `value` instead of an item of a block list, or of the whole document."""
    node = nodes[-1]
    start, end = node.start, max(node.start, node.end)
    at = _end_of_line(text, end)
    space = " " if start == end and text[start - 1 : start] == "-" else ""
    column = _column(text, start) + len(space)
    marker = text[start - column : start].startswith("---")
    if marker or text[end:at].strip(_BLANK) or not isinstance(value, (dict, list, tuple)) or not value:
        new = (
            flow_text(value) if isinstance(value, (dict, list, tuple)) else block_lines([value], literals=False)[0][2:]
        )
        return text[:start] + (" " if marker and start == end else space) + new + text[end:]
    lines = block_lines(value, " " * column, literals=_takes_literals(text, at))
    return text[:start] + space + _line_end(text).join(lines).lstrip(" ") + text[end:]


def _remove_lines(text: str, start: int, node: YamlNode) -> str:
    line = text.rfind("\n", 0, start) + 1
    at = _end_of_line(text, max(start, node.key_end, node.end))
    if not text[line:start].strip(_BLANK):
        after = text.find("\n", at) + 1
        if after:
            return text[:line] + text[after:]
        kept = text[:line]
        return kept if ends_in_block_scalar(kept) else kept.removesuffix("\n").removesuffix("\r")
    # The entry shares its line with the dash of its list. Move the next entry up to the dash.
    following = skip_gap(text, at)
    if node.next_start >= 0 and not text[at:following].strip(_BLANK):
        return text[:start] + text[following:]
    return text[:start].rstrip(" ") + text[at:]


def _remove_in_flow(text: str, parent: YamlNode, node: YamlNode, start: int) -> str:
    end = max(node.start, node.end) if node.end > start else node.key_end
    if parent.count:
        between = text[parent.previous_end : start]
        if "#" not in between:
            return text[: parent.previous_end] + text[end:]
        comma = skip_gap(text, parent.previous_end)
        return text[:comma] + text[comma + 1 : start] + text[end:]
    if "#" not in text[end : node.next_start]:
        return text[:start] + text[node.next_start :]
    return text[:start] + text[skip_gap(text, end) + 1 :]


def _quotes_keys(text: str, nodes: Sequence[YamlNode]) -> bool:
    """Return True if the keys around `nodes[-1]` are in double quotes, as in JSON."""
    if nodes[-1].last_key is not None:
        return nodes[-1].last_key == '"'
    keys = [node.key_start for node in nodes if node.key_start >= 0]
    return bool(keys) and text[keys[-1]] == '"'


def _indent_step(text: str, nodes: Sequence[YamlNode]) -> int:
    """Return the number of columns that indent a nested mapping in the document, or 2 if no nested mapping shows it."""
    columns = [_column(text, _own_start(text, node)) for node in nodes[:-1] if node.kind == "mapping"]
    if len(columns) < 2 or nodes[-3].kind != "mapping":
        return 2
    step = columns[-1] - columns[-2]
    return step if 1 <= step <= 8 else 2


def _own_start(text: str, node: YamlNode) -> int:
    """Return the start of a collection after its anchor and tag. A block mapping starts at its first key or its `?`."""
    at = node.start
    for each in (node.anchor, node.tag):
        match = None if each is None else re.compile(_PROPERTY).match(text, at)
        at = at if match is None else match.end()
    return at


def _entry_start(text: str, parent: YamlNode, node: YamlNode) -> int:
    """Return the start of a mapping's entry: its key or the `?` before it."""
    at = parent.previous_end if parent.count else _own_start(text, parent)
    if parent.is_flow:
        at = skip_gap(text, at) + 1 if parent.count or text[at] == "{" else at
    at = skip_gap(text, at)
    return at if text.startswith(_EXPLICIT, at) else node.key_start


def _column(text: str, offset: int) -> int:
    line = text.rfind("\n", 0, offset) + 1
    # A byte order mark takes no column.
    return offset - line - (line == 0 and text.startswith("\ufeff"))


def _end_of_line(text: str, offset: int) -> int:
    """Return the end of the line at `offset`, before its break."""
    at = text.find("\n", offset)
    if at < 0:
        return len(text)
    return at - 1 if at > offset and text[at - 1] == "\r" else at


def _line_end(text: str) -> str:
    at = text.find("\n")
    return "\r\n" if at > 0 and text[at - 1] == "\r" else "\n"


def set_value(text: str, path: FieldPath, value: Value) -> str:
    """Return `text` with `value` at `path`. An existing value is replaced. A new one is inserted with its parents.

    Comments, indentation, flow style and line ends are preserved. A text that already has this value is returned
    unchanged. An index one past the end of a list appends. An alias on the path is expanded in place.

    Raise YamlError if the text is unreadable up to the value, a parent has another type, or an index is out of range.
    Also raise it if an alias repeats an anchor on the path, because the edit would appear there too.
    """
    nodes = find(text, path)
    if not nodes:
        return with_last_break(text) + write(_nest(path, value))
    exists = len(nodes) > len(path)
    if exists and _is_already(text, nodes[-1], path, value):
        return text
    _refuse_shared(text, nodes, path)
    lined = unify_breaks(text)
    edited = replace(lined, nodes, value) if exists else _insert(text, lined, nodes, path, value)
    return restore_breaks(text, lined, edited)


def remove_value(text: str, path: FieldPath, *, prune: bool = False, keep_comments: bool = False) -> str:
    """Return `text` without the value at `path` and its key, or unchanged if there is none.

    The lines of the entry are removed. With `keep_comments`, its comments stay there as separate lines. A parent that
    becomes empty is written as `{}` or `[]`. With `prune`, this parent is removed too, and so is each parent above that
    becomes empty, except the root. Raise YamlError as `set_value` does, and if a comment cannot be kept.
    """
    removed = _without_value(text, path, prune=prune)
    if not keep_comments or removed == text or "#" not in text:
        return removed
    from krmfn.yamltext.places import locate, with_lost_comments

    span = locate(text, path, key=True)
    return with_lost_comments(text, removed, text.rfind("\n", 0, span.start if span else 0) + 1)


def _without_value(text: str, path: FieldPath, *, prune: bool) -> str:
    if not path:
        raise YamlError("the whole document must not be removed; name a field of it")
    nodes = find(text, path, rest=True)
    if not nodes:
        return text
    _refuse_shared(text, nodes, path)
    lined = unify_breaks(text)
    if len(nodes) <= len(path):
        return restore_breaks(text, lined, _without_in_alias(text, lined, nodes, path))
    if nodes[-2].count == 0 and nodes[-1].next_start < 0:
        # The only entry of its parent.
        if prune and len(path) > 1:
            return _without_value(text, path[:-1], prune=True)
        kept: Value = {} if nodes[-2].kind == "mapping" else []
        return restore_breaks(text, lined, replace(lined, nodes[:-1], kept))
    edited = (remove_entry if nodes[-2].kind == "mapping" else remove_item)(lined, nodes)
    return restore_breaks(text, lined, edited)


def changed_entry(text: str, edited: str, path: FieldPath, above: int) -> tuple[str, int]:
    """Find the smallest entry on `path` that contains all differences between `text` and `edited`.

    Return the entry's lines in `edited`, and the number of steps to the entry, which is greater than `above`. Return ""
    and 0 without such an entry. The entry is in a block mapping, and a key follows in the same column. This key
    always ends the entry. Therefore `edited` has the expected value if the lines read alone have it. Raise YamlError if
    `text` is unreadable.
    """
    nodes = find(text, path, rest=True)
    if "%TAG" in text or _shared_anchors(text):
        return "", 0
    for depth in range(len(nodes) - 1, above, -1):
        node = nodes[depth]
        if node.in_flow or node.key_start < 0 or node.next_start < 0:
            continue
        start, stop = (text.rfind("\n", 0, at) + 1 for at in (node.key_start, node.next_start))
        if text[start : node.key_start].strip(" ") or text[stop : node.next_start].strip(" "):
            continue
        end = len(edited) - (len(text) - stop)
        if end > node.key_end and edited.startswith(text[: node.key_end]) and edited.endswith(text[stop:]):
            lines = edited[start:end]
            # The lines read alone are nested less deeply than in the text.
            return (lines, depth) if most_nodes(lines) + depth < MAX_DEPTH else ("", 0)
    return "", 0


def _insert(text: str, lined: str, nodes: Sequence[YamlNode], path: FieldPath, value: Value) -> str:
    """Return `lined` with `value` at `path`. `nodes` are the existing nodes on the path."""
    node = nodes[-1]
    depth = len(nodes) - 1
    step = path[depth]
    if node.kind == "mapping" and isinstance(step, str):
        if node.merges:
            value = _override_merged(text, path[: depth + 1], path[depth + 1 :], value)
        else:
            value = _nest(path[depth + 1 :], value)
        return insert_entry(lined, nodes, step, value)
    if node.kind == "list" and step == node.count:
        return insert_item(lined, nodes, _nest(path[depth + 1 :], value))
    if node.kind == "alias":
        whole = _value_at(read(text), path[:depth])
        return replace(lined, nodes, _set_in(whole, path[depth:], value))
    if node.kind == "scalar" and _scalar_value(node) is None:
        return replace(lined, nodes, _nest(path[depth:], value))
    raise error_at(text, node.start, _mismatch(path, depth, node))


def _without_in_alias(text: str, lined: str, nodes: Sequence[YamlNode], path: FieldPath) -> str:
    """Return `lined` without the value at `path` that an alias provides. The alias is replaced by the rest of its
    value.

    Return `lined` unchanged if there is no such value. Raise YamlError if a merge provides the value.
    """
    node = nodes[-1]
    depth = len(nodes) - 1
    if node.kind != "alias" and not node.merges:
        return lined
    whole = read(text)
    try:
        _value_at(whole, path)
    except (KeyError, IndexError, TypeError):
        return lined
    if node.merges:
        raise error_at(text, node.start, f'"{path[depth]}" comes from a merge (<<); remove it where it is written')
    return replace(lined, nodes, remove_from(_value_at(whole, path[:depth]), path[depth:]))


def _scalar_value(node: YamlNode) -> Scalar:
    # The module is imported here, because few edits replace a scalar.
    from krmfn.yamltext.scalars import scalar_value

    return scalar_value(node.value, node.tag, is_plain=not node.style)


def _is_already(text: str, node: YamlNode, path: FieldPath, value: Value) -> bool:
    is_collection = isinstance(value, (dict, list, tuple))
    if node.kind == "scalar":
        if is_collection:
            return False
        try:
            return _is_same(_scalar_value(node), value)
        except ValueError:
            return False
    if node.kind != "alias" and not is_collection:
        return False
    return _is_same(_value_at(read(text), path), value)


def _is_same(first: Value, other: Value) -> bool:
    """Return True if values and types are equal. 1, 1.0 and true differ. Keys of mappings must have the same order."""
    if isinstance(first, dict) and isinstance(other, dict):
        return list(first) == list(other) and all(_is_same(v, other[k]) for k, v in first.items())
    if isinstance(first, (list, tuple)) and isinstance(other, (list, tuple)):
        pairs = zip(cast("Sequence[Value]", first), cast("Sequence[Value]", other), strict=False)
        return len(first) == len(other) and all(_is_same(a, b) for a, b in pairs)
    return type(first) is type(other) and first == other


def _refuse_shared(text: str, nodes: Sequence[YamlNode], path: FieldPath) -> None:
    """Raise YamlError if an alias repeats a node on the path or in the old value.

    The edit would change that place too.
    """
    starts = {node.start for node in nodes}
    target = nodes[-1] if len(nodes) > len(path) else None
    for start, anchor in _shared_anchors(text):
        if start in starts or (target is not None and target.start <= start < target.end):
            name = path[len(path) - 1] if path else ""
            raise error_at(
                text,
                start,
                f'anchor "{anchor}" shares this value with other places; to change only "{name}", '
                "write the value out where the anchor is used",
            )


def _shared_anchors(text: str) -> Sequence[tuple[int, str]]:
    """Return the place and name of each anchor that an alias repeats. Raise YamlError if `text` is unreadable."""
    return tree_of(text).shared_anchors() if "&" in text and "*" in text else ()


def _nest(path: FieldPath, value: Value) -> Value:
    """Return `value` inside the mappings and lists of `path`."""
    for step in reversed(path):
        if isinstance(step, int):
            if step:
                raise YamlError(f"the first index of a new list must be 0; got {step}")
            value = [value]
        else:
            value = {step: value}
    return value


def _value_at(value: Value, path: FieldPath) -> Value:
    for step in path:
        value = cast("Mapping[str, Value]", value)[cast("str", step)]
    return value


def _set_in(value: Value, path: FieldPath, new: Value) -> Value:
    """Return `value` with `new` at `path`. Parents are copied. None becomes a mapping or a list."""
    if not path:
        return new
    step = path[0]
    if value is None:
        return _nest(path, new)
    if isinstance(value, dict) and isinstance(step, str):
        return {**value, step: _set_in(value.get(step), path[1:], new)}
    if isinstance(value, list) and isinstance(step, int) and step <= len(value):
        return [*value[:step], _set_in(value[step] if step < len(value) else None, path[1:], new), *value[step + 1 :]]
    raise YamlError(f'"{step}" cannot be set inside {_kind_name(value)}')


def remove_from(value: Any, path: FieldPath) -> Any:
    """Return `value` without the part at `path`. Parents are copied."""
    step = path[0]
    copy: Any = dict(cast("dict[str, Value]", value)) if isinstance(value, dict) else list(cast("list[Value]", value))
    if len(path) == 1:
        del copy[step]
    else:
        copy[step] = remove_from(copy[step], path[1:])
    return copy


def _override_merged(text: str, at: FieldPath, rest: FieldPath, value: Value) -> Value:
    """Return the value of a new key at `at` that overrides a key from a merge: the merged value, with `value` at
    `rest`.
    """
    try:
        merged = _value_at(read(text), at)
    except KeyError:
        merged = None
    return _set_in(merged, rest, value)


def _mismatch(path: FieldPath, depth: int, node: YamlNode) -> str:
    step = path[depth]
    parent = f'"{path[depth - 1]}"' if depth else "the document"
    if node.kind == "list" and isinstance(step, int):
        return f"{parent} has {node.count} items; the index to set must be at most {node.count}; got {step}"
    needed = "a list" if isinstance(step, int) else "a mapping"
    got = f"a {node.kind}" if node.kind in ("mapping", "list") else f'"{node.value}"'
    return f'{parent} must be {needed} to hold "{step}"; got {got}'


def _kind_name(value: Value) -> str:
    if isinstance(value, dict):
        return "a mapping"
    return "a list" if isinstance(value, list) else f'"{value}"'
