"""Where every node of a text stands, found in one walk: many findings of one document need no walk each."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from functools import lru_cache
from typing import TYPE_CHECKING

from krmfn.yamltext.breaks import unified
from krmfn.yamltext.build import scalar_value
from krmfn.yamltext.error import YamlError
from krmfn.yamltext.events import (
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
    start_of_document,
)
from krmfn.yamltext.scalars import key_text
from krmfn.yamltext.spans import Walk, locate, locate_nearest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from krmfn.fieldpath import FieldPath
    from krmfn.yamltext.events import Event

__all__ = ["nearest", "starts"]

_LARGEST = 4 << 20
"""Characters of a text that is walked whole; of larger ones, each place is looked for by itself."""


class _Place:
    """A node: where its value and its key start, and the nodes within; -1: it has no key."""

    __slots__ = ("key", "parts", "start")

    def __init__(self, start: int, key: int = -1) -> None:
        self.start, self.key = start, key
        self.parts: dict[str | int, _Place] = {}


def nearest(text: str, path: FieldPath, *, key: bool = False) -> tuple[int, int]:
    """Line and column of the deepest part of `path` that exists, 1-based; with `key`, of its key where all of it does.

    Raises YamlError where the text cannot be read up to there.
    """
    if len(text) > _LARGEST:
        return _by_walking(text, path, key=key)
    line_starts = _line_starts(text)
    try:
        place = _places(text)
    except YamlError:
        # What is wrong may stand behind the place.
        return _by_walking(text, path, key=key)
    for depth, step in enumerate(path):
        part = place.parts.get(step)
        if part is None:
            break
        place = part
        if key and depth == len(path) - 1 and place.key >= 0:
            return _line_and_column(line_starts, place.key)
    return _line_and_column(line_starts, place.start)


def starts(text: str, paths: Iterable[FieldPath]) -> list[int | None]:
    """Where the value at each of `paths` starts, as offsets in `text`; None where there is none.

    Raises YamlError where the text cannot be read.
    """
    root = _places(text) if len(text) <= _LARGEST else _walked(text)
    return [_start(root, path) for path in paths]


def _start(place: _Place, path: FieldPath) -> int | None:
    for step in path:
        part = place.parts.get(step)
        if part is None:
            return None
        place = part
    return place.start


@lru_cache(maxsize=4)
def _line_starts(text: str) -> array[int]:
    """The offsets at which the lines of `text` start."""
    return array("L", [0, *(match.end() for match in re.finditer("\n", text))])


def _line_and_column(line_starts: array[int], offset: int) -> tuple[int, int]:
    line = bisect_right(line_starts, offset)
    return line, offset - line_starts[line - 1] + 1


def _by_walking(text: str, path: FieldPath, *, key: bool) -> tuple[int, int]:
    span = locate(text, path, key=True) if key and path else None
    span = span or locate_nearest(text, path)
    return span.line, span.column


@lru_cache(maxsize=4)
def _places(text: str) -> _Place:
    return _walked(text)


def _walked(text: str) -> _Place:
    step, event, skipped = start_of_document(text)
    if type(event) is StreamEndEvent:
        return _Place(0)
    walk = Walk(unified(text), step, skipped)
    root = _Place(event.start_mark.index + skipped)
    walk.end = root.start
    _fill(walk, event, root)
    return root


def _fill(walk: Walk, event: Event, root: _Place) -> None:
    """The parts of the node that begins with `event`. Loops, since a document may nest deeper than calls."""
    open_nodes: list[tuple[_Place, bool]] = []
    place: _Place | None = root
    while True:
        kind = type(event)
        if place is None:
            open_nodes.pop()
            walk.flow_end(event)
        elif kind is MappingStartEvent or kind is SequenceStartEvent:
            open_nodes.append((place, kind is MappingStartEvent))
        else:
            walk.skip(event)
            # An empty scalar's mark can stand at the token after it.
            place.start = min(place.start, walk.end)
        if not open_nodes:
            return
        event, place = _next(walk, *open_nodes[-1])


def _next(walk: Walk, parent: _Place, is_mapping: bool) -> tuple[Event, _Place | None]:
    """The next value within `parent` and the place it gets; the event of its end, and None."""
    event = walk.step()
    if type(event) is MappingEndEvent or type(event) is SequenceEndEvent:
        return event, None
    name: str | int | None = len(parent.parts)
    key = -1
    if is_mapping:
        key = event.start_mark.index + walk.skipped
        name = _name(event)
        walk.skip(event)
        event = walk.step()
    place = _Place(event.start_mark.index + walk.skipped, key)
    if name is not None:
        # Of two keys of one name the first counts.
        parent.parts.setdefault(name, place)
    return event, place


def _name(event: Event) -> str | None:
    if type(event) is not ScalarEvent:
        return None
    return event.value if event.style and event.tag is None else key_text(scalar_value(event))
