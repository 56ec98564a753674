"""The place of every node of a text, by libyaml's events: for any text."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.yamltext.breaks import unified
from krmfn.yamltext.build import scalar_value
from krmfn.yamltext.events import (
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
    start_of_document,
)
from krmfn.yamltext.lineplaces import Place
from krmfn.yamltext.scalars import key_text
from krmfn.yamltext.spans import Walk

if TYPE_CHECKING:
    from krmfn.yamltext.events import Event

__all__ = ["places_by_events"]


def places_by_events(text: str) -> Place:
    """The document's root. Raises YamlError where the text cannot be read."""
    step, event, skipped = start_of_document(text)
    if type(event) is StreamEndEvent:
        return Place(0)
    walk = Walk(unified(text), step, skipped)
    root = Place(event.start_mark.index + skipped)
    walk.end = root.start
    _fill(walk, event, root)
    return root


def _fill(walk: Walk, event: Event, root: Place) -> None:
    """The parts of the node that begins with `event`. Loops, since a document may nest deeper than calls."""
    open_nodes: list[tuple[Place, bool]] = []
    place: Place | None = root
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


def _next(walk: Walk, parent: Place, is_mapping: bool) -> tuple[Event, Place | None]:
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
    place = Place(event.start_mark.index + walk.skipped, key)
    if name is not None:
        parent.add(name, place)
    return event, place


def _name(event: Event) -> str | None:
    if type(event) is not ScalarEvent:
        return None
    return event.value if event.style and event.tag is None else key_text(scalar_value(event))
