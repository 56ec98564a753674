"""Finding a field in a text: libyaml's events along a path, and no further."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from krmfn.hints import TYPE_CHECKING
from krmfn.yamltext.breaks import unified
from krmfn.yamltext.build import scalar_value
from krmfn.yamltext.error import error_at, line_and_column
from krmfn.yamltext.events import (
    MAX_DEPTH,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
    start_of_document,
)
from krmfn.yamltext.scalars import key_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from krmfn.fieldpath import FieldPath
    from krmfn.yamltext.events import Event

_GAP = re.compile(r"(?:[ \t\r\n\ufeff]|#[^\n]*)*")

__all__ = ["Node", "Span", "Walk", "after_gap", "find", "locate", "locate_nearest"]


@dataclass(frozen=True, slots=True)
class Span:
    """Where a value or key stands: character offsets [start, end) in the text, and 1-based line and column of start."""

    start: int
    end: int
    line: int
    column: int


@dataclass(slots=True)
class Node:
    """What the walk knows of the node at one step of a path. Offsets count characters of the whole text."""

    event: Event
    start: int
    in_flow: bool
    key_start: int = -1
    key_end: int = -1
    end: int = -1
    """Where its last character stands, plus one; -1 until the walk has gone past it."""
    first: int = -1
    """Start of its first key or item."""
    previous_end: int = -1
    """End of the entry before the one that was looked for; of the last entry when it was not found."""
    last_key: Event | None = None
    merge: bool = False
    count: int = 0
    next_start: int = -1
    """Start of the entry (key or item) after it in its parent, where the walk was asked for it."""


@dataclass(slots=True)
class Walk:
    """A walk over the events of a text, along a path."""

    text: str
    """The text with LF for its odd line breaks, in which all offsets count."""
    step: Callable[[], Event]
    skipped: int
    end: int = 0
    nodes: list[Node] = field(default_factory=list[Node])
    """The nodes along the path, the document's root first."""

    def content_end(self, event: Event) -> None:
        """Moves `end` to the end of a scalar, an alias or a flow collection."""
        end = event.end_mark.index + self.skipped
        if type(event) is ScalarEvent:
            style = event.style
            if style in ("|", ">"):
                end = _block_scalar_end(self.text, event.start_mark.index + self.skipped, end)
            elif not style and event.start_mark.index == event.end_mark.index:
                end = self._empty_end(end)
        self.end = max(self.end, end)

    def _empty_end(self, mark: int) -> int:
        """The end of an empty scalar: after the indicator that announces it; libyaml may put it at the next token."""
        if self.text[mark - 1 : mark] in (":", "-"):
            return mark
        colon = after_gap(self.text, self.end)
        return colon + 1 if colon < mark and self.text[colon] == ":" else self.end

    def flow_end(self, event: Event) -> None:
        """Moves `end` past the bracket of a flow collection; a lone pair in a list (`[a: b]`) has none."""
        if event.start_mark.index != event.end_mark.index:
            self.end = event.end_mark.index + self.skipped

    def skip(self, event: Event) -> None:
        """Goes past the node that starts with `event`."""
        depth = 0
        flows: list[bool] = []
        while True:
            kind = type(event)
            if kind is MappingStartEvent or kind is SequenceStartEvent:
                depth += 1
                flows.append(event.flow_style)
                if depth > MAX_DEPTH:
                    raise error_at(self.text, event.start_mark.index, f"nested deeper than {MAX_DEPTH} levels")
            elif kind is MappingEndEvent or kind is SequenceEndEvent:
                depth -= 1
                if flows.pop():
                    self.flow_end(event)
            else:
                self.content_end(event)
            if not depth:
                return
            event = self.step()


def _block_scalar_end(text: str, start: int, end: int) -> int:
    """The end of a block scalar, without the break after its last line; blank lines after it only when they count."""
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


def after_gap(text: str, offset: int) -> int:
    """The offset of the first character from `offset` on that is neither white space nor in a comment."""
    match = _GAP.match(text, offset)
    return match.end() if match else offset


def find(text: str, path: FieldPath, *, whole: bool = True, rest: bool = False) -> Walk | None:
    """The nodes along `path`, as far as they exist (`len(nodes) - 1` steps did); None for an empty document.

    With `whole`, the walk goes on to the end of the last node, so that its `end` is known; with `rest`, one event
    more, which tells the entry after it or its parent's end.
    """
    step, event, skipped = start_of_document(text)
    if type(event) is StreamEndEvent:
        return None
    walk = Walk(unified(text), step, skipped)
    node = Node(event, event.start_mark.index + skipped, in_flow=False)
    walk.end = node.start
    walk.nodes.append(node)
    for wanted in path:
        child = _child(walk, node, wanted)
        if child is None:
            return walk
        walk.nodes.append(child)
        node = child
    if whole:
        _finish(walk, node)
    if rest and path:
        after = step()
        if type(after) is not MappingEndEvent and type(after) is not SequenceEndEvent:
            node.next_start = after.start_mark.index + skipped
        else:
            parent = walk.nodes[-2]
            if parent.event.flow_style:
                walk.flow_end(after)
            parent.end = walk.end
    return walk


def _finish(walk: Walk, node: Node) -> None:
    walk.skip(node.event)
    node.end = walk.end
    # An empty scalar's mark can stand at the token after it.
    node.start = min(node.start, node.end)


def _child(walk: Walk, node: Node, wanted: str | int) -> Node | None:
    kind = type(node.event)
    if kind is MappingStartEvent and isinstance(wanted, str):
        child = _entry(walk, node, wanted)
    elif kind is SequenceStartEvent and isinstance(wanted, int):
        child = _item(walk, node, wanted)
    else:
        _finish(walk, node)
        return None
    if child is None and node.event.flow_style:
        node.end = walk.end
    elif child is None:
        node.end = node.previous_end
    return child


def _entry(walk: Walk, node: Node, wanted: str) -> Node | None:
    step = walk.step
    skipped = walk.skipped
    flow = node.event.flow_style
    walk.end = node.start
    while True:
        key = step()
        if type(key) is MappingEndEvent:
            if flow:
                walk.flow_end(key)
            return None
        start = key.start_mark.index + skipped
        if node.first < 0:
            node.first = start
            node.previous_end = -1
        matches = type(key) is ScalarEvent and _key_is(key, wanted)
        walk.skip(key)
        key_end = walk.end
        node.merge = node.merge or (type(key) is ScalarEvent and key.value == "<<" and not key.style)
        value = step()
        if matches:
            return Node(value, value.start_mark.index + skipped, flow or node.in_flow, start, key_end)
        walk.skip(value)
        node.previous_end = walk.end
        node.last_key = key
        node.count += 1


def _key_is(key: Event, wanted: str) -> bool:
    if key.value == wanted and key.style and key.tag is None:
        return True
    if key.value == wanted or key.tag is not None:
        scalar = scalar_value(key)
        return scalar == wanted or key_text(scalar) == wanted
    if not key.style and key.value[:1] in "+-.0123456789TFNtfn~":
        return key_text(scalar_value(key)) == wanted
    return False


def _item(walk: Walk, node: Node, wanted: int) -> Node | None:
    walk.end = node.start
    while True:
        item = walk.step()
        if type(item) is SequenceEndEvent:
            if node.event.flow_style:
                walk.flow_end(item)
            return None
        start = item.start_mark.index + walk.skipped
        if node.first < 0:
            node.first = start
        if node.count == wanted:
            return Node(item, start, node.event.flow_style or node.in_flow)
        walk.skip(item)
        node.previous_end = walk.end
        node.count += 1


def locate(text: str, path: FieldPath, *, key: bool = False) -> Span | None:
    """Where the value at `path` stands (with `key`, the key that holds it); None where there is none.

    A value's span holds its anchor and tag, and for a block value neither the break nor the comment after it. A key
    that only a merge (`<<`) brings has no span. Raises YamlError where the text cannot be read up to the value.
    """
    walk = find(text, path, whole=not key)
    if walk is None or len(walk.nodes) <= len(path):
        return None
    node = walk.nodes[-1]
    if key and node.key_start >= 0:
        return Span(node.key_start, node.key_end, *line_and_column(text, node.key_start))
    return Span(node.start, max(node.end, node.start), *line_and_column(text, node.start))


def locate_nearest(text: str, path: FieldPath) -> Span:
    """Where the deepest part of `path` that exists stands; the start of the text when it holds nothing."""
    walk = find(text, path)
    if walk is None:
        return Span(0, 0, 1, 1)
    node = walk.nodes[-1]
    return Span(node.start, max(node.end, node.start), *line_and_column(text, node.start))
