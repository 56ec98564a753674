"""The nodes of a text from libyaml's events, through PyYAML: what the native core tells where it is installed."""

from __future__ import annotations

from dataclasses import dataclass, field

from krmfn.hints import TYPE_CHECKING, cast
from krmfn.yamltext import bounds
from krmfn.yamltext.breaks import after_gap, unified
from krmfn.yamltext.error import YamlError, error_at
from krmfn.yamltext.events import (
    MAX_DEPTH,
    AliasEvent,
    DocumentEndEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
    start_of_document,
)
from krmfn.yamltext.scalars import key_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from krmfn.yamltext.events import Event
    from krmfn.yamltext.tree import Row

__all__ = ["EventTree"]


@dataclass(slots=True)
class _Node:
    """A node of the text; see `krmfn.yamltext.tree.Node`. `next` is the number of the node behind it; -1: unknown."""

    kind: str
    style: str
    value: str
    anchor: str | None
    tag: str | None
    start: int
    end: int
    mark_end: int
    next: int = -1


@dataclass(slots=True)
class _Step:
    """A node on a path, and what is known of the entries before the next one."""

    number: int
    key: _Node | None = None
    in_flow: bool = False
    first: int = -1
    previous_end: int = -1
    last_key: str | None = None
    merges: bool = False
    count: int = 0
    next_start: int = -1


@dataclass(slots=True)
class _Index:
    """The entries of a mapping or a list: numbers of key and value (in a list the value twice), and places by name."""

    entries: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    names: dict[str, int] = field(default_factory=dict[str, int])
    merge: int = -1
    """The place of the first key `<<`; -1 where there is none."""


@dataclass(slots=True)
class EventTree:
    """The nodes of the first document of a text, as far as it can be read."""

    text: str
    _nodes: list[_Node] = field(default_factory=list[_Node])
    _error: YamlError | None = None
    _is_filled: bool = False
    _indexes: dict[int, _Index] = field(default_factory=dict[int, _Index])

    def value(self) -> Value:
        """The value: see `krmfn.yamltext.tree.Tree`."""
        from krmfn.yamltext.build import read_libyaml
        from krmfn.yamltext.tree import SHORT

        if self._is_filled or len(self.text) <= SHORT:
            return read_libyaml(self.text)
        # As of a list, whose items are looked for next: a second walk would take a third more time.
        filler = _Filler(self.text, [])
        value = read_libyaml(self.text, filler.start())
        self._nodes, self._is_filled = filler.nodes, True
        return value

    def _fill(self) -> None:
        """Reads the nodes, once somebody asks for some of them."""
        if self._is_filled:
            return
        self._is_filled = True
        try:
            _Filler(self.text, self._nodes).fill()
        except YamlError as error:
            self._error = error

    def find(self, path: FieldPath, rest: bool) -> list[Row]:
        """The nodes along `path`: see `krmfn.yamltext.tree.Tree`."""
        self._fill()
        if not self._nodes:
            self._check(holds=self._error is None)
            return []
        step = _Step(0)
        rows: list[Row] = []
        for wanted in path:
            child = self._child(step, wanted)
            if child is None:
                break
            self._check(holds=not rest or self._nodes[step.number].next >= 0)
            rows.append(self._row(step))
            step = child
        self._check(holds=self._nodes[step.number].next >= 0)
        return [*rows, self._row(step)]

    def entries(self, node: int) -> list[tuple[int, int, int]]:
        """The entries of a list: see `krmfn.yamltext.tree.Tree`."""
        spans: list[tuple[int, int, int]] = []
        at = node + 1
        while at < self._end(node):
            entry = self._nodes[at]
            spans.append((at, entry.start, max(entry.start, entry.end)))
            at = self._end(at)
        return spans

    def part(self, text: str, entry: int, start: int, dash: int) -> EventTree:  # noqa: ARG002
        """The nodes of an entry alone, which are read once somebody asks: see `krmfn.yamltext.tree.Tree`."""
        return EventTree(text)

    def scalars(self) -> list[tuple[int, int, str]]:
        """Start, end and style of each scalar: see `krmfn.yamltext.tree.Tree`."""
        self._fill()
        self._check(holds=self._error is None)
        return [(node.start, node.mark_end, node.style) for node in self._nodes if node.kind == "scalar"]

    def shared_anchors(self) -> list[tuple[int, str]]:
        """The anchors that aliases repeat: see `krmfn.yamltext.tree.Tree`."""
        self._fill()
        self._check(holds=self._error is None)
        repeated = {node.value for node in self._nodes if node.kind == "alias"}
        return [(n.start, n.anchor) for n in self._nodes if n.anchor in repeated and n.anchor and n.kind != "alias"]

    def _check(self, *, holds: bool) -> None:
        """Raises the error of the text unless `holds`."""
        if self._error is not None and not holds:
            raise self._error

    def _end(self, number: int) -> int:
        """The number of the node behind the one at `number` and all within it."""
        following = self._nodes[number].next
        return len(self._nodes) if following < 0 else following

    def _child(self, step: _Step, wanted: str | int) -> _Step | None:
        """The node at `wanted` below that of `step`, which learns what stands before it; None where there is none."""
        nodes, parent = self._nodes, self._nodes[step.number]
        is_mapping = parent.kind == "mapping"
        if parent.kind not in ("mapping", "list") or type(wanted) is not (str if is_mapping else int):
            return None
        index = self._index(step.number)
        entries = index.entries
        place = index.names.get(cast("str", wanted)) if is_mapping else cast("int", wanted)
        if place is None or not 0 <= place < len(entries):
            place = None
        before = len(entries) if place is None else place
        starts = [key if is_mapping else value for key, value in entries[:1]]
        step.first = nodes[starts[0]].start if starts else -1
        step.count = before
        step.merges = 0 <= index.merge <= before - (place is None)
        if before:
            key, value = entries[before - 1]
            step.previous_end = nodes[value].end
            step.last_key = nodes[key].style if is_mapping else None
        if place is None:
            return None
        key, value = entries[place]
        following = [key if is_mapping else value for key, value in entries[place + 1 : place + 2]]
        return _Step(
            value,
            nodes[key] if is_mapping else None,
            step.in_flow or parent.style == "flow",
            next_start=nodes[following[0]].start if following else -1,
        )

    def _index(self, number: int) -> _Index:
        known = self._indexes.get(number)
        if known is not None:
            return known
        is_mapping = self._nodes[number].kind == "mapping"
        index = self._indexes[number] = _Index()
        at, end = number + 1, self._end(number)
        while at < end:
            value = self._end(at) if is_mapping else at
            if value >= end:
                break
            key = self._nodes[at]
            name = _name(key) if is_mapping else None
            if name is not None:
                index.names.setdefault(name, len(index.entries))
            if is_mapping and index.merge < 0 and (key.kind, key.style, key.value) == ("scalar", "", "<<"):
                index.merge = len(index.entries)
            index.entries.append((at, value))
            at = self._end(value)
        return index

    def _row(self, step: _Step) -> Row:
        node, key = self._nodes[step.number], step.key
        is_open = node.next < 0
        key_start, key_end = (-1, -1) if key is None else (key.start, key.end)
        start, end = (node.start, -1) if is_open else (min(node.start, node.end), node.end)
        return (
            *(step.number, node.kind, node.style, node.value, node.anchor, node.tag, start, end, node.mark_end),
            *(int(step.in_flow), key_start, key_end, step.first, step.previous_end, step.last_key),
            *(int(step.merges), step.count, step.next_start),
        )  # fmt: skip


def _name(key: _Node) -> str | None:
    """The name that a key is; None where it can be none."""
    if key.kind != "scalar":
        return None
    return key.value if key.style and key.tag is None else key_name(key.value, key.tag, not key.style)


class _Filler:
    """Reads the events of a text into `nodes`."""

    def __init__(self, text: str, nodes: list[_Node]) -> None:
        self._text = unified(text)
        self._next, self._first, self._skipped = start_of_document(text)
        self.nodes = nodes
        self._opened = list[_Node]()
        self._end = 0

    def start(self) -> tuple[Callable[[], Event], Event, int]:
        """The events as `start_of_document` gives them, each of which adds its node. They raise YamlError."""
        self._take(self._first)
        return self._step, self._first, self._skipped

    def fill(self) -> None:
        """Adds the nodes of the first document. Raises YamlError; the nodes before its place are there then."""
        step, event, _ = self.start()
        while type(event) is not StreamEndEvent and type(event) is not DocumentEndEvent:
            event = step()
        if type(event) is DocumentEndEvent:
            self._next()

    def _step(self) -> Event:
        event = self._next()
        self._take(event)
        return event

    def _take(self, event: Event) -> None:
        kind = type(event)
        if kind is MappingEndEvent or kind is SequenceEndEvent:
            self._close(self._opened.pop(), event)
        elif kind is not StreamEndEvent and kind is not DocumentEndEvent and kind is not DocumentStartEvent:
            self._open(self._opened, event)

    def _open(self, opened: list[_Node], event: Event) -> None:
        kind = type(event)
        start, mark_end = event.start_mark.index + self._skipped, event.end_mark.index + self._skipped
        if len(self.nodes) >= bounds.MAX_NODES:
            raise error_at(self._text, start, bounds.too_many_nodes())
        if kind is MappingStartEvent or kind is SequenceStartEvent:
            if len(opened) >= MAX_DEPTH:
                raise error_at(self._text, start, f"nested deeper than {MAX_DEPTH} levels")
            self._end = max(self._end, start)
            name = "mapping" if kind is MappingStartEvent else "list"
            style = "flow" if event.flow_style else "block"
            node = _Node(name, style, "", event.anchor, event.tag, start, self._end, mark_end)
            opened.append(node)
        elif kind is AliasEvent:
            self._end = max(self._end, mark_end)
            node = _Node("alias", "", event.anchor or "", event.anchor, None, start, self._end, mark_end)
        else:
            style = event.style or ""
            self._end = max(self._end, self._scalar_end(style, start, mark_end))
            node = _Node("scalar", style, event.value, event.anchor, event.tag, start, self._end, mark_end)
        self.nodes.append(node)
        if kind is ScalarEvent or kind is AliasEvent:
            node.next = len(self.nodes)

    def _close(self, node: _Node, event: Event) -> None:
        # A lone pair in a list, `[a: b]`, has no bracket of its own.
        if node.style == "flow" and event.start_mark.index != event.end_mark.index:
            self._end = event.end_mark.index + self._skipped
        node.mark_end = event.start_mark.index + self._skipped
        node.end = self._end
        node.next = len(self.nodes)

    def _scalar_end(self, style: str, start: int, mark_end: int) -> int:
        if style in ("|", ">"):
            return _block_scalar_end(self._text, start, mark_end)
        return self._empty_end(mark_end) if not style and start == mark_end else mark_end

    def _empty_end(self, mark: int) -> int:
        """The end of an empty scalar: after the indicator that announces it; libyaml may put it at the next token."""
        if self._text[mark - 1 : mark] in (":", "-"):
            return mark
        colon = after_gap(self._text, self._end)
        return colon + 1 if colon < mark and self._text[colon] == ":" else self._end


def _block_scalar_end(text: str, start: int, end: int) -> int:
    """The end of a block scalar, without the break after its last line; blank lines after it only where they count."""
    header, *lines = text[start:end].split("\n")
    if lines and not lines[-1].strip(" "):
        lines.pop()
    keeps = "+" in header.partition("#")[0].rpartition("|" if "|" in header else ">")[2]
    if not keeps:
        first = next((line for line in lines if line.strip(" \r")), "")
        indent = len(first) - len(first.lstrip(" "))
        # Blank lines count only where they are longer than the indentation.
        while lines and not lines[-1].strip(" \r") and len(lines[-1].rstrip("\r")) <= indent:
            lines.pop()
    return start + len("\n".join([header, *lines]).removesuffix("\r"))
