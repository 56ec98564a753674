"""libyaml's events over a text, with errors as `YamlError`; PyYAML is imported here and nowhere else."""

from __future__ import annotations

from yaml import _yaml  # pyright: ignore[reportMissingTypeStubs, reportAttributeAccessIssue, reportUnknownVariableType]
from yaml import events as _events
from yaml.error import MarkedYAMLError
from yaml.reader import ReaderError

from krmfn.hints import TYPE_CHECKING, Protocol, cast
from krmfn.yamltext import bounds
from krmfn.yamltext.error import YamlError, error_at

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "MAX_DEPTH",
    "AliasEvent",
    "DocumentEndEvent",
    "DocumentStartEvent",
    "Event",
    "MappingEndEvent",
    "MappingStartEvent",
    "ScalarEvent",
    "SequenceEndEvent",
    "SequenceStartEvent",
    "StreamEndEvent",
    "count_nodes",
    "event_source",
    "start_of_document",
]

MAX_DEPTH = 500
"""How many levels of mappings and lists a document may nest; more is an error."""

_BOM = "\ufeff"


class Mark(Protocol):
    """A place in the text; `index` counts characters (not bytes) from 0."""

    index: int
    column: int


class Event(Protocol):
    """The parts of a PyYAML event that are read here; which ones exist depends on the event's class."""

    start_mark: Mark
    end_mark: Mark
    value: str
    anchor: str | None
    tag: str | None
    style: str
    flow_style: bool


def _kind(name: str) -> type[Event]:
    return cast("type[Event]", getattr(_events, name))


AliasEvent = _kind("AliasEvent")
DocumentEndEvent = _kind("DocumentEndEvent")
DocumentStartEvent = _kind("DocumentStartEvent")
MappingEndEvent = _kind("MappingEndEvent")
MappingStartEvent = _kind("MappingStartEvent")
ScalarEvent = _kind("ScalarEvent")
SequenceEndEvent = _kind("SequenceEndEvent")
SequenceStartEvent = _kind("SequenceStartEvent")
StreamEndEvent = _kind("StreamEndEvent")


def event_source(text: str) -> Callable[[], Event]:
    """A function that gives the next event of `text`. Raises YamlError, from here or from that function.

    A byte order mark at the start is libyaml's, and its indices do not count it: strip it first (`start_of_document`).
    """
    parser_class = cast("Callable[[str], object]", _yaml.CParser)  # pyright: ignore[reportUnknownMemberType]
    try:
        next_event = cast("Callable[[], Event]", parser_class(text).get_event)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    except UnicodeEncodeError as error:
        raise error_at(text, error.start, "must be Unicode text; got half of a surrogate pair") from None

    def step() -> Event:
        try:
            return next_event()
        except (MarkedYAMLError, ReaderError) as error:
            raise _translated(text, error) from None

    return step


def start_of_document(text: str) -> tuple[Callable[[], Event], Event, int]:
    """The event source, the first node's event (StreamEndEvent when there is none) and the offset of index 0."""
    skipped = 1 if text.startswith(_BOM) else 0
    step = event_source(text[1:] if skipped else text)
    step()
    event = step()
    if type(event) is DocumentStartEvent:
        event = step()
    return step, event, skipped


def count_nodes(text: str) -> None:
    """Raises YamlError where `text` holds more nodes than `bounds.MAX_NODES`, or cannot be read that far."""
    starts = (ScalarEvent, MappingStartEvent, SequenceStartEvent, AliasEvent)
    step, event, skipped = start_of_document(text)
    nodes = 0
    while type(event) is not StreamEndEvent:
        if type(event) in starts:
            nodes += 1
            if nodes > bounds.MAX_NODES:
                raise error_at(text, event.start_mark.index + skipped, bounds.too_many_nodes())
        event = step()


def _translated(text: str, error: MarkedYAMLError | ReaderError) -> YamlError:
    if isinstance(error, ReaderError):
        # The position of a reader's error counts bytes.
        before = text.encode("utf-8", "replace")[: int(error.position)].decode("utf-8", "ignore")
        return error_at(text, len(before), f"must hold printable characters only; {error.reason}")
    mark = error.problem_mark or error.context_mark
    message = error.problem or error.context or "is not YAML"
    if error.context and error.problem:
        message = f"{error.problem} ({error.context})"
    return YamlError(message) if mark is None else error_at(text, mark.index, message)
