"""The text around the items of a list. It is cut from the items on input, and joined with them on output.

If the list is JSON, Python's JSON reader returns each value and the place of its end.
"""

from __future__ import annotations

import re
from itertools import pairwise

from krmfn.edit import is_same_json
from krmfn.fieldpath import describe
from krmfn.hints import TYPE_CHECKING, Record, cast
from krmfn.kubeobject import KubeObject, Source
from krmfn.yamltext import YamlError, read
from krmfn.yamltext.edit import set_value
from krmfn.yamltext.reader import MAX_KEPT, YamlNode, keep_tree, line_and_column, read_tree, skip_gap, unify_breaks

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, TypeGuard

    from krmfn.value import Scalar, Value
    from krmfn.yamltext.reader import Tree

__all__ = ["MAX_ITEMS", "Envelope", "cut", "fields_of"]

MAX_ITEMS = 1_000_000
"""The largest number of items in an input. Even a small item needs more memory than its text."""

_SPACE = " \t\r\n"
_MAX_BRACKETS = 500


class Envelope(Record):
    """The text of a list in pieces: `head`, then the items, then `tail`.

    `text` is the whole text. It is None if the joined pieces are the whole text, because a copy would need as much
    memory as the input. `indent` is the text before each dash, or None for a flow list. `seams` are the texts before,
    between and after the entries of a flow list. `simple` is True if every piece has the same meaning alone as in the
    list. Joined pieces then keep their meaning. Any other list is read again after an edit. `rest` has all fields
    except `items`.
    """

    text: str | None
    head: str
    tail: str
    indent: str | None
    newline: str
    items: tuple[KubeObject, ...]
    rest: Mapping[str, Value]
    function_config: KubeObject | None
    simple: bool
    seams: tuple[str, ...] = ()


def cut(text: str) -> Envelope:
    """Return the list in `text`, cut at its items.

    Raise YamlError if `text` is not a mapping in YAML, or if the `items` of a ResourceList are not a list of mappings.
    """
    if text.lstrip("\ufeff \t\r\n").startswith("{"):
        envelope = _cut_json(text)
        if envelope is not None:
            return envelope
    value, tree = read_tree(text)
    if not isinstance(value, dict):
        raise YamlError(f"must be a ResourceList; got {describe(value)}")
    rest = dict(value)
    values = rest.pop("items", None)
    is_of_resources = rest.get("kind") == "ResourceList"
    if values is None and is_of_resources:
        return _without_items(text, missing="items" not in value)
    if not _are_mappings(values):
        if is_of_resources:
            raise _wrong_items(text, values)
        return Envelope(
            text=text,
            head=text,
            tail="",
            indent=None,
            newline="\n",
            items=(),
            rest=rest,
            function_config=None,
            simple=False,
        )
    return _envelope(text, tree, rest, values)


def _are_mappings(values: Value) -> TypeGuard[list[dict[str, Value]]]:
    return isinstance(values, list) and all(isinstance(each, dict) for each in values)


def _wrong_items(text: str, values: Value) -> YamlError:
    if not isinstance(values, list):
        return _error(text, ("items",), f"items must be a list; got {describe(values)}")
    number = next(number for number, value in enumerate(values) if not isinstance(value, dict))
    return _error(text, ("items", number), f"items[{number}] must be a mapping; got {describe(values[number])}")


def _error(text: str, path: tuple[str | int, ...], message: str) -> YamlError:
    from krmfn.yamltext import locate

    span = locate(text, path)
    return YamlError(message) if span is None else YamlError(message, span.line, span.column)


def _without_items(text: str, *, missing: bool) -> Envelope:
    envelope = cut(set_value(text, ("items",), []))
    # Always write `items`, because kustomize reads a list without it as a resource.
    return envelope if missing else envelope.replace(text=text)


def _envelope(text: str, tree: Tree, rest: dict[str, Value], values: Sequence[dict[str, Value]]) -> Envelope:
    nodes = [YamlNode(*row) for row in tree.find(("items",), False)]
    whole = _Whole(text, unify_breaks(text), tree, rest, values, nodes)
    envelope = None
    if len(nodes) == 2 and nodes[-1].kind == "list":
        envelope = _flow(whole) if nodes[-1].is_flow else _block(whole)
    if envelope is not None:
        return envelope
    if len(values) > MAX_ITEMS:
        raise _error(text, ("items", MAX_ITEMS), _too_many_items(text, 0).message)
    # Items from an alias, or on the line of the key `items`, have no separate text that can be preserved.
    items = tuple(KubeObject.new(value) for value in values)
    newline = "\r\n" if "\r\n" in text[:1000] else "\n"
    return Envelope(
        text=text,
        head=text,
        tail="",
        indent=None,
        newline=newline,
        items=items,
        rest=rest,
        function_config=_config(text, rest),
        simple=False,
    )


class _Whole(Record):
    """A list after reading. `lined` is `text` with LF for unusual line breaks.

    `rest` has all fields except `items`, and `values` has the items. `nodes` are the root and the node of `items`.
    """

    text: str
    lined: str
    tree: Tree
    rest: dict[str, Value]
    values: Sequence[dict[str, Value]]
    nodes: Sequence[YamlNode]


class _Cut(Record):
    """The places at which a block list is cut. Item n is the text from `edges[n]` to `edges[n + 1]`, and the tail
    begins at the last edge.

    `indent` is the text before each dash. `entries` has the number of each item's node and the place of its dash.
    """

    head: str
    indent: str
    edges: Sequence[int]
    entries: Sequence[tuple[int, int]]


def _flow(whole: _Whole) -> Envelope:
    text, node = whole.text, whole.nodes[-1]
    empty = _empty_list(whole)
    if empty is not None:
        return empty
    start, stop = text.index("[", node.start) + 1, node.mark_end
    spans = [(first, end) for _, first, end in whole.tree.entries(node.number)]
    if len(spans) > MAX_ITEMS:
        raise _too_many_items(text, spans[MAX_ITEMS][0])
    items, seams = _cut_at(text, (start, stop), spans, whole.values)
    newline = "\r\n" if "\r\n" in text[:1000] else "\n"
    config = _config(text, whole.rest)
    return Envelope(
        text=text,
        head=text[:start],
        tail=text[stop:],
        indent=None,
        newline=newline,
        items=items,
        rest=whole.rest,
        function_config=config,
        simple=False,
        seams=seams,
    )


def _cut_at(
    text: str, within: tuple[int, int], spans: Sequence[tuple[int, int]], values: Sequence[dict[str, Value]]
) -> tuple[tuple[KubeObject, ...], tuple[str, ...]]:
    """Return the items of a flow list, and the texts before, between and after them.

    `spans` are the places of the items, and `within` is the range between the brackets.
    """
    items, seams = list[KubeObject](), list[str]()
    line, line_start, seen, last = 1, 0, 0, within[0]
    for (first, end), value in zip(spans, values, strict=True):
        line += text.count("\n", seen, first)
        line_start = text.rfind("\n", seen, first) + 1 or line_start
        seen = first
        items.append(KubeObject.cut(Source(text[first:end], (), line, first - line_start + 1), value))
        seams.append(text[last:first])
        last = end
    return tuple(items), (*seams, text[last : within[1]])


def _empty_list(whole: _Whole) -> Envelope | None:
    """Return an envelope for items in block style if the list is `[]` on the line of its key, otherwise None."""
    text, node = whole.text, whole.nodes[-1]
    if text[node.start : node.end] != "[]" or "\n" in whole.lined[node.key_end : node.start]:
        return None
    stop = node.next_start if node.next_start >= 0 else skip_gap(whole.lined, node.end)
    if stop < len(text):
        stop = whole.lined.rfind("\n", 0, stop) + 1
    line_end = whole.lined.find("\n", node.end) + 1 or len(text)
    edge = _own_start(whole.lined, max(stop, line_end), line_end, "")
    head = text[: whole.lined.index(":", node.key_end) + 1] + text[node.end : edge]
    return _independent_pieces(whole, _Cut(head, "", [edge], []))


def _block(whole: _Whole) -> Envelope | None:
    """Return a list in block style. Return None if other text precedes a dash on its line."""
    text, lined = whole.text, whole.lined
    spans = whole.tree.entries(whole.nodes[-1].number)
    edges, dashes = list[int](), list[int]()
    dash, low, indent = _first_dash(lined, spans[0][1]), 0, ""
    for _, _, end in spans:
        line = lined.rfind("\n", 0, dash) + 1
        indent = lined[line:dash]
        if dash < 0 or indent.strip(" "):
            return None
        edge = _own_start(lined, line, low, indent)
        if len(edges) == MAX_ITEMS:
            raise _too_many_items(text, edge)
        edges.append(edge)
        dashes.append(dash)
        low = lined.find("\n", end) + 1 or len(text)
        dash = skip_gap(lined, end)
    stop = len(text) if dash == len(text) else lined.rfind("\n", 0, dash) + 1
    edges.append(_own_start(lined, max(stop, low), low, ""))
    entries = [(number, dash) for (number, _, _), dash in zip(spans, dashes, strict=True)]
    cut = _Cut(text[: edges[0]], indent, edges, entries)
    return _independent_pieces(whole, cut) or _pieces(whole, cut, None)


def _independent_pieces(whole: _Whole, cut: _Cut) -> Envelope | None:
    """Return the list in pieces. Return None if a piece has another meaning alone than in the list."""
    node = whole.nodes[-1]
    if not _is_at_margin(whole) or node.anchor is not None or node.tag is not None:
        return None
    if "%TAG" in cut.head and re.search(r"^%TAG", cut.head, re.MULTILINE):
        return None
    try:
        # An alias may be in another piece than its anchor.
        if whole.tree.shared_anchors() and not _are_read_alone(whole, cut):
            return None
        fields = fields_of(cut.head, whole.text[cut.edges[-1] :])
    except YamlError:
        return None
    return _pieces(whole, cut, fields) if is_same_json(fields, whole.rest) else None


def _are_read_alone(whole: _Whole, cut: _Cut) -> bool:
    """Return True if each item's text alone means the same as in the list.

    Raise YamlError if a text is invalid alone.
    """
    pieces = [whole.text[start:end] for start, end in pairwise(cut.edges)]
    return all(is_same_json(read(piece), [value]) for piece, value in zip(pieces, whole.values, strict=True))


def _is_at_margin(whole: _Whole) -> bool:
    """Return True if the list is a block mapping with keys at column 0."""
    start = whole.nodes[-1].key_start
    return not whole.nodes[0].is_flow and (start == 0 or whole.lined[start - 1] == "\n")


def _pieces(whole: _Whole, cut: _Cut, fields: dict[str, Value] | None) -> Envelope:
    """Return the list in pieces. `fields` are the fields around the items, or None if a piece may be invalid alone."""
    text, head, edges, entries = whole.text, cut.head, cut.edges, cut.entries
    tail = text[edges[-1] :]
    items: list[KubeObject] = []
    line, line_start = text.count("\n", 0, edges[0]) + 1, text.rfind("\n", 0, edges[0]) + 1
    is_kept = fields is not None and len(entries) <= MAX_KEPT
    for (number, dash), (start, end), value in zip(entries, pairwise(edges), whole.values, strict=True):
        piece = text[start:end]
        items.append(KubeObject.cut(Source(piece, (0,), line, start - line_start + 1), value))
        if is_kept:
            keep_tree(piece, whole.tree.part(piece, number, start, dash))
        line += piece.count("\n")
        line_start = text.rfind("\n", start, end) + 1 or line_start
    behind = Source(tail, line=line, column=edges[-1] - line_start + 1)
    config = _config(text, whole.rest) if fields is None else _config_of(head, behind, fields)
    key_end = text.find("\n", whole.nodes[-1].key_end)
    newline = "\r\n" if key_end > 0 and text[key_end - 1] == "\r" else "\n"
    return Envelope(
        text=None if items and fields is not None else text,
        head=head,
        tail=tail,
        indent=cut.indent,
        newline=newline,
        items=tuple(items),
        rest=whole.rest,
        function_config=config,
        simple=fields is not None,
    )


def _first_dash(text: str, start: int) -> int:
    """Return the place of the dash before the entry at `start`. The dash is on the same line, or alone on a line above.

    Return -1 if there is no such dash.
    """
    end = start
    while end >= 0:
        line = text.rfind("\n", 0, end) + 1
        first = line
        while first < start and text[first] == " ":
            first += 1
        if first < start and text[first] == "-":
            return first
        if text[line:end].strip(_SPACE) and not text.startswith("#", first) and end != start:
            return -1
        end = line - 1
    return -1


def _config(text: str, rest: dict[str, Value]) -> KubeObject | None:
    config = rest.get("functionConfig")
    return KubeObject.cut(Source(text, ("functionConfig",)), config) if isinstance(config, dict) else None


def _too_many_items(text: str, start: int) -> YamlError:
    """Return the error about too many items. The first item beyond the limit starts at offset `start`."""
    return YamlError(f"must have at most {MAX_ITEMS} items; split the package", *line_and_column(text, start))


def _own_start(text: str, line_start: int, low: int, indent: str) -> int:
    """Return the start of the comment lines directly above `line_start`, or `line_start` if there are none.

    These comments start at column 0 or after `indent`, and not before the offset `low`.
    """
    while line_start > low:
        above = text.rfind("\n", 0, line_start - 1) + 1
        line = text[above:line_start]
        if above < low or not line.startswith(("#", indent + "#")):
            break
        line_start = above
    return line_start


def fields_of(head: str, tail: str) -> dict[str, Value] | None:
    """Return the list's fields except `items`. Return None if `head` and `tail` are not two halves of one mapping."""
    before, after = read(head), read(tail) if tail.strip(_SPACE) else None
    if not isinstance(before, dict) or not (isinstance(after, dict) or (after is None and _has_no_node(tail))):
        return None
    fields, more = dict(before), after or {}
    # `items` must be the last key of the head, without a value: an item before the first edge would belong to no piece.
    if (
        next(reversed(fields), "") != "items"
        or fields.pop("items") is not None
        or fields.keys() & more.keys()
        or "items" in more
    ):
        return None
    return {**fields, **more}


def _has_no_node(tail: str) -> bool:
    """Return True if `tail` has only comments and blank lines.

    A lone `!` also reads as null, but it is not valid YAML after a mapping.
    """
    lines = [line.lstrip(" \t") for line in tail.splitlines()]
    return all(not line or line.startswith("#") for line in lines)


def _config_of(head: str, tail: Source, fields: Mapping[str, Value]) -> KubeObject | None:
    """Return the functionConfig among the fields of a list, located in `head` or in `tail`."""
    config = fields.get("functionConfig")
    if not isinstance(config, dict):
        return None
    in_tail = f"\n{tail.text}".find("\nfunctionConfig:") >= 0
    source = tail if in_tail else Source(head)
    return KubeObject.cut(source.replace(root=("functionConfig",)), config)


def _cut_json(text: str) -> Envelope | None:
    """Return the JSON list in `text`, cut at its items.

    Return None if it is not JSON, or if YAML reads a part differently.
    """
    # json is imported here, because most lists are YAML. It takes 7 of the 273 million instructions of a run of ten
    # workloads.
    from json.decoder import JSONDecodeError, JSONDecoder

    decoder = JSONDecoder(object_pairs_hook=_pairs, parse_int=_number, parse_float=_number, parse_constant=_constant)
    try:
        return _JsonList(text, decoder.raw_decode).cut()
    except (JSONDecodeError, RecursionError, _NotPlainError, IndexError):
        return None


class _NotPlainError(ValueError):
    pass


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise _NotPlainError
    return value


def _number(digits: str) -> Scalar:
    if len(digits) < 18:
        return float(digits) if any(mark in digits for mark in ".eE") else int(digits)
    # The module is imported here, because few numbers are that long.
    from krmfn.yamltext.scalars import resolve

    return resolve(digits)


def _constant(_: str) -> Scalar:
    raise _NotPlainError


class _JsonList:
    """A reader of a JSON list.

    It walks over the outer mapping and the list of items, and `scan` reads their contents.
    """

    def __init__(self, text: str, scan: Callable[[str, int], tuple[Any, int]]) -> None:
        self._text = text
        self._scan = scan
        self._fields: dict[str, Value] = {}
        self._spans: list[tuple[int, int]] = []
        self._values: list[dict[str, Value]] = []
        self._list = (-1, -1)
        self._config = (-1, -1)

    def cut(self) -> Envelope | None:
        text = self._text
        at = self._expect(1 if text.startswith("\ufeff") else 0, "{")
        while True:
            key, at = self._read(self._skip(at))
            at = self._skip(self._expect(at, ":"))
            if not isinstance(key, str) or key in self._fields or (key == "items" and self._list[0] >= 0):
                return None
            if key == "items":
                at = self._items(at)
            else:
                start = at
                self._fields[key], at = self._read(at)
                if key == "functionConfig":
                    self._config = (start, at)
            at = self._skip(at)
            if text[at] != ",":
                break
            at += 1
        if self._list[0] < 0 or text[self._expect(at, "}") :].strip(_SPACE):
            return None
        return self._envelope()

    def _skip(self, at: int) -> int:
        text = self._text
        while text[at] in _SPACE:
            at += 1
        return at

    def _expect(self, at: int, char: str) -> int:
        at = self._skip(at)
        if self._text[at] != char:
            raise _NotPlainError
        return at + 1

    def _read(self, at: int) -> tuple[Any, int]:
        value, end = self._scan(self._text, at)
        if self._text.count("{", at, end) + self._text.count("[", at, end) > _MAX_BRACKETS:
            raise _NotPlainError
        return value, end

    def _items(self, at: int) -> int:
        text = self._text
        start = self._expect(at, "[")
        at = self._skip(start)
        while text[at] != "]" or self._spans:
            value, end = self._read(at)
            if type(value) is not dict:
                raise _NotPlainError
            if len(self._spans) >= MAX_ITEMS:
                raise _too_many_items(text, at)
            self._spans.append((at, end))
            self._values.append(cast("dict[str, Value]", value))
            at = self._skip(end)
            if text[at] == "]":
                break
            at = self._skip(self._expect(at, ","))
        self._list = (start, at)
        return at + 1

    def _envelope(self) -> Envelope:
        text, (start, end) = self._text, self._list
        items, seams = _cut_at(text, self._list, self._spans, self._values)
        newline = "\r\n" if "\r\n" in text[:200] else "\n"
        return Envelope(
            text=text,
            head=text[:start],
            tail=text[end:],
            indent=None,
            newline=newline,
            items=items,
            rest=self._fields,
            function_config=self._object(),
            simple=True,
            seams=seams,
        )

    def _object(self) -> KubeObject | None:
        (start, end), config = self._config, self._fields.get("functionConfig")
        if not isinstance(config, dict):
            return None
        line, column = self._text.count("\n", 0, start) + 1, start - self._text.rfind("\n", 0, start)
        return KubeObject.cut(Source(self._text[start:end], (), line, column), config)
