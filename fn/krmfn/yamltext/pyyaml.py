"""A reader of YAML that uses libyaml through PyYAML. It returns events, nodes, and the value as kyaml reads it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from yaml import _yaml  # pyright: ignore[reportMissingTypeStubs, reportAttributeAccessIssue, reportUnknownVariableType]
from yaml import events as _events
from yaml.error import MarkedYAMLError
from yaml.reader import ReaderError

from krmfn.hints import TYPE_CHECKING, FieldPath, Protocol, cast
from krmfn.yamltext import reader
from krmfn.yamltext.reader import MAX_DEPTH, YamlError, error_at, skip_gap, unify_breaks
from krmfn.yamltext.scalars import key_name, key_text, scalar_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from krmfn.value import Scalar, Value
    from krmfn.yamltext.reader import Row

_BOM = "\ufeff"


class Mark(Protocol):
    """A place in the text. `index` counts characters (not bytes) from 0."""

    index: int
    column: int


class Event(Protocol):
    """The attributes of PyYAML's events that are used here. Each class of events has some of them."""

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
    """Return a function that returns the next event of `text`. This function and the returned one raise YamlError.

    libyaml skips a byte order mark at the start, and its indices do not count the mark. Strip it first, as
    `start_of_document` does.
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
            raise _translate(text, error) from None

    return step


def start_of_document(text: str) -> tuple[Callable[[], Event], Event, int]:
    """Return the function for the next event, the event of the first node, and the offset of index 0.

    The event is a StreamEndEvent if there is no node.
    """
    skipped = 1 if text.startswith(_BOM) else 0
    step = event_source(text[1:] if skipped else text)
    step()
    event = step()
    if type(event) is DocumentStartEvent:
        event = step()
    return step, event, skipped


def count_nodes(text: str) -> None:
    """Raise YamlError if `text` has more nodes than `reader.MAX_NODES`, or is unreadable before that many."""
    starts = (ScalarEvent, MappingStartEvent, SequenceStartEvent, AliasEvent)
    step, event, skipped = start_of_document(text)
    nodes = 0
    while type(event) is not StreamEndEvent:
        if type(event) in starts:
            nodes += 1
            if nodes > reader.MAX_NODES:
                raise error_at(text, event.start_mark.index + skipped, reader.too_many_nodes())
        event = step()


def _translate(text: str, error: MarkedYAMLError | ReaderError) -> YamlError:
    if isinstance(error, ReaderError):
        # The position of a reader's error counts bytes.
        before = text.encode("utf-8", "replace")[: int(error.position)].decode("utf-8", "ignore")
        return error_at(text, len(before), f"must contain only printable characters; {error.reason}")
    mark = error.problem_mark or error.context_mark
    message = error.problem or error.context or "is not YAML"
    if error.context and error.problem:
        message = f"{error.problem} ({error.context})"
    return YamlError(message) if mark is None else error_at(text, mark.index, message)


# The code below makes the value of a document from the events of libyaml, with kyaml's meaning of scalars, aliases and
# merges. It differs from go yaml.v3 (3.0.5) in these points. libyaml accepts a `%YAML 1.2` directive and the escape
# `\/`, and yaml.v3 refuses them. Dates stay text, as in kyaml's nodes, although yaml.v3 decodes them into a time. A
# null key and a second document are errors here. Both read integers beyond 64 bits as floats.

MAX_NODES = 1_000_000
"""The largest number of nodes in a document with aliases, after each alias is expanded."""

_TAG = "tag:yaml.org,2002:"


def read_libyaml(text: str, source: tuple[Callable[[], Event], Event, int] | None = None) -> Value:
    """Return the value of `text` as `read` does, from libyaml's events through PyYAML.

    `source` is the result of `start_of_document`.
    """
    step, event, skipped = source or start_of_document(text)
    if type(event) is StreamEndEvent:
        return None
    value = _ValueBuilder(text, step, skipped).build(event)
    step()
    after = step()
    if type(after) is DocumentStartEvent:
        raise error_at(
            text, after.start_mark.index + skipped, "a second YAML document starts here; only one is allowed"
        )
    return value


class _Frame:
    """A mapping or list that is still being read."""

    __slots__ = ("anchor", "is_flow", "items", "key", "nodes")

    def __init__(self, event: Event, nodes: int) -> None:
        self.items: dict[str, Value] | list[Value] = {} if type(event) is MappingStartEvent else []
        self.anchor = event.anchor
        self.nodes = nodes
        self.key: str | None = None
        self.is_flow = event.flow_style


_TAG_AND_COMMA = re.compile(r"(?:&[^\s,\[\]{}]*\s+)?!(?!<)[^\s,\[\]{}]*,")
# The key of a merge in a mapping that is being read. It begins with half of a surrogate pair, which no text can
# contain.
_MERGE_KEY = "\ud800<<"
_MERGE = "<<"


def _is_merge(key: Event | _EventNode) -> bool:
    """Return True if the scalar `key` is a merge key."""
    is_plain = not key.style and key.tag in (None, "!")
    return key.value == _MERGE and (is_plain or key.tag == _TAG + "merge")


class _ValueBuilder:
    """A builder of one document's value. It does not recurse, so a deep document needs no stack."""

    def __init__(self, text: str, step: Callable[[], Event], skipped: int) -> None:
        self._text = text
        self._step = step
        self._skipped = skipped
        # For each anchor, the value of its last node and the number of nodes in it. While the node is being read, its
        # frame. As in kyaml, a node has its anchor from its start, so a node inside it may replace the anchor.
        self._anchors: dict[str, tuple[Value, int] | _Frame] = {}
        self._read = 0
        self._nodes = 0

    def build(self, event: Event) -> Value:
        """Return the value of the node that starts with `event`. Raise YamlError if the text is invalid."""
        stack: list[_Frame] = []
        while True:
            kind = type(event)
            if kind is not MappingEndEvent and kind is not SequenceEndEvent:
                self._read += 1
                if self._read > reader.MAX_NODES:
                    raise self._error(event, reader.too_many_nodes())
            if kind is ScalarEvent:
                if self._takes_key(stack, event):
                    event = self._step()
                    continue
                value: Value = self._scalar(stack, event)
            elif kind is MappingStartEvent or kind is SequenceStartEvent:
                self._open(stack, event)
                event = self._step()
                continue
            elif kind is AliasEvent:
                value = self._alias(event)
                if stack and stack[-1].key is None and isinstance(stack[-1].items, dict):
                    self._put_key(stack[-1], self._alias_key(event, value), event)
                    event = self._step()
                    continue
            else:
                value = self._close(stack.pop(), event)
            if not stack:
                return value
            self._put(stack[-1], value, event)
            event = self._step()

    def _error(self, event: Event, message: str) -> YamlError:
        return error_at(self._text, event.start_mark.index + self._skipped, message)

    def _scalar_of(self, stack: list[_Frame], event: Event) -> Scalar:
        if not event.style and "?" in event.value and stack and stack[-1].is_flow:
            # libyaml reads `?` as a character, and kyaml as the mark of a key.
            raise self._error(event, 'a text with "?" within brackets must be in quotes')
        if event.tag is not None and not event.value and not event.style:
            start = event.start_mark.index + self._skipped
            if _TAG_AND_COMMA.match(self._text, start):
                # libyaml ends the tag at the comma, and kyaml includes the comma in the tag.
                raise error_at(self._text, start, "a tag and a comma must have a space between them")
        try:
            return scalar_value(event.value, event.tag, is_plain=not event.style)
        except ValueError as error:
            raise self._error(event, str(error)) from None

    def _takes_key(self, stack: list[_Frame], event: Event) -> bool:
        if not stack:
            return False
        frame = stack[-1]
        if frame.key is not None or type(frame.items) is list:
            return False
        scalar = self._scalar(stack, event)
        key = _MERGE_KEY if _is_merge(event) else scalar if isinstance(scalar, str) else key_text(scalar)
        if key is None:
            raise self._error(event, f'a key must be a string, a number or a boolean; got "{event.value}"')
        self._put_key(frame, key, event)
        return True

    def _put_key(self, frame: _Frame, key: str, event: Event) -> None:
        items = cast("dict[str, Value]", frame.items)
        # To kyaml, a merge key `<<` and a string key `<<` are the same.
        if key in items or (key == _MERGE and _MERGE_KEY in items) or (key == _MERGE_KEY and _MERGE in items):
            raise self._error(event, f'duplicate key "{key if key != _MERGE_KEY else _MERGE}"')
        items[key] = None
        frame.key = key

    def _alias_key(self, event: Event, value: Value) -> str:
        key = None if isinstance(value, (dict, list)) else key_text(cast("Scalar", value))
        if key is None:
            raise self._error(event, f'a key must be a string, a number or a boolean; got "*{event.anchor}"')
        return key

    def _put(self, frame: _Frame, value: Value, event: Event) -> None:
        items = frame.items
        if type(items) is list:
            items.append(value)
            return
        key = cast("str", frame.key)
        frame.key = None
        cast("dict[str, Value]", items)[key] = value
        if key == _MERGE_KEY:
            self._check_merge(value, event)

    def _check_merge(self, value: Value, event: Event) -> None:
        sources = value if isinstance(value, list) and type(event) is not AliasEvent else [value]
        if not all(isinstance(source, dict) for source in sources):
            raise self._error(event, '"<<" must merge a mapping or a list of mappings')

    def _scalar(self, stack: list[_Frame], event: Event) -> Scalar:
        self._nodes += 1
        value = self._scalar_of(stack, event)
        if event.anchor is not None:
            self._anchors[event.anchor] = (value, 1)
        return value

    def _open(self, stack: list[_Frame], event: Event) -> None:
        if len(stack) >= MAX_DEPTH:
            raise self._error(event, f"nested deeper than {MAX_DEPTH} levels")
        if stack and stack[-1].key is None and isinstance(stack[-1].items, dict):
            raise self._error(event, "a key must be a string, a number or a boolean; got a mapping or a list")
        frame = _Frame(event, self._nodes)
        self._nodes += 1
        if event.anchor is not None:
            self._anchors[event.anchor] = frame
        stack.append(frame)

    def _close(self, frame: _Frame, event: Event) -> Value:
        items = frame.items
        if isinstance(items, dict) and _MERGE_KEY in items:
            merged = items.pop(_MERGE_KEY)
            for source in merged if isinstance(merged, list) else [merged]:
                mapping = cast("dict[str, Value]", source)
                self._count(len(mapping), event)
                for key, value in mapping.items():
                    # To kyaml, the merge key is itself a field `<<` of this mapping.
                    if key != _MERGE:
                        items.setdefault(key, value)
        if frame.anchor is not None and self._anchors[frame.anchor] is frame:
            self._anchors[frame.anchor] = (items, self._nodes - frame.nodes)
        return items

    def _alias(self, event: Event) -> Value:
        name = cast("str", event.anchor)
        if name not in self._anchors:
            raise self._error(event, f'anchor "{name}" must be defined before it is used')
        anchored = self._anchors[name]
        if isinstance(anchored, _Frame):
            raise self._error(event, f'anchor "{name}" must not contain itself')
        self._count(anchored[1], event)
        return anchored[0]

    def _count(self, nodes: int, event: Event) -> None:
        self._nodes += nodes
        if self._nodes > MAX_NODES:
            raise self._error(event, f"aliases expand to more than {MAX_NODES} nodes")


@dataclass(slots=True)
class _EventNode:
    """A node of the text, with the fields of `YamlNode`.

    `next` is the number of the node after this one and its content, or -1 if the text ends within it.
    """

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
    """A node on a path, and the data about its entries before the next step of the path."""

    number: int
    key: _EventNode | None = None
    in_flow: bool = False
    first: int = -1
    previous_end: int = -1
    last_key: str | None = None
    merges: bool = False
    count: int = 0
    next_start: int = -1


@dataclass(slots=True)
class _Index:
    """The entries of a mapping or a list. Each entry has the numbers of two nodes: its key and its value.

    In a list, both are the number of the value. `names` has the place of each key among the entries.
    """

    entries: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    names: dict[str, int] = field(default_factory=dict[str, int])
    merge: int = -1
    """The index of the first key `<<`, or -1."""


@dataclass(frozen=True, slots=True)
class _EntryNodes:
    """The nodes of an entry's lines, as if they were read alone: a list, and the `nodes` from `first` to before `stop`.

    In the whole text, the lines begin at `start` and the dash is at `dash`. The lines have `length` characters. Nodes
    are made on demand, so that the whole text's nodes are kept once.
    """

    nodes: list[_EventNode]
    first: int
    stop: int
    start: int
    dash: int
    length: int

    def __len__(self) -> int:
        return self.stop - self.first + 1

    def __iter__(self) -> Iterator[_EventNode]:
        return (self[number] for number in range(len(self)))

    def __getitem__(self, number: int) -> _EventNode:
        if not number:
            end = self._place_within(self.nodes[self.first].end)
            return _EventNode(
                "list", "block", "", None, None, self._place_within(self.dash), end, self.length, len(self)
            )
        node = self.nodes[self.first + number - 1]
        start, end, mark_end = (
            self._place_within(node.start),
            self._place_within(node.end),
            self._place_within(node.mark_end),
        )
        following = node.next - self.first + 1
        return _EventNode(node.kind, node.style, node.value, node.anchor, node.tag, start, end, mark_end, following)

    def _place_within(self, at: int) -> int:
        """Return the offset within the lines for the offset `at` of the whole text.

        It is at most the length of the lines, because libyaml may put an end at the next token after them.
        """
        return min(at - self.start, self.length)


@dataclass(slots=True)
class EventTree:
    """The nodes of the first document of a text, as far as it can be read."""

    text: str
    _nodes: list[_EventNode] | _EntryNodes = field(default_factory=list[_EventNode])
    _error: YamlError | None = None
    _is_filled: bool = False
    _indexes: dict[int, _Index] = field(default_factory=dict[int, _Index])

    def value(self) -> Value:
        """Return the value of the document. See `krmfn.yamltext.reader.Tree`."""
        from krmfn.yamltext.reader import SHORT

        if self._is_filled or len(self.text) <= SHORT:
            return read_libyaml(self.text)
        # Keep the nodes of a long text, because the items of a list are searched next. A second walk would take a third
        # more time.
        filler = _Filler(self.text, [])
        value = read_libyaml(self.text, filler.start())
        self._nodes, self._is_filled = filler.nodes, True
        return value

    def words(self, wanted: tuple[str, ...]) -> list[str] | None:  # noqa: ARG002 (only the native core uses it)
        """Return None: only the value shows which words the document has. See `krmfn.yamltext.reader.Tree`."""
        # A search through the events takes as long as building a value from them.
        return None

    def _fill(self) -> None:
        """Read the nodes at their first use."""
        if self._is_filled:
            return
        self._is_filled = True
        self._nodes = nodes = list[_EventNode]()
        try:
            _Filler(self.text, nodes).fill()
        except YamlError as error:
            self._error = error

    def find(self, path: FieldPath, rest: bool) -> list[Row]:
        """Return the nodes along `path`. See `krmfn.yamltext.reader.Tree`."""
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
        """Return the entries of a list. See `krmfn.yamltext.reader.Tree`."""
        spans: list[tuple[int, int, int]] = []
        at = node + 1
        while at < self._end(node):
            entry = self._nodes[at]
            spans.append((at, entry.start, max(entry.start, entry.end)))
            at = self._end(at)
        return spans

    def part(self, text: str, entry: int, start: int, dash: int) -> EventTree:
        """Return the nodes of one entry. See `krmfn.yamltext.reader.Tree`."""
        nodes = cast("list[_EventNode]", self._nodes)
        return EventTree(text, _EntryNodes(nodes, entry, self._end(entry), start, dash, len(text)), _is_filled=True)

    def scalars(self) -> list[tuple[int, int, str]]:
        """Return start, end and style of each scalar. See `krmfn.yamltext.reader.Tree`."""
        self._fill()
        self._check(holds=self._error is None)
        return [(node.start, node.mark_end, node.style) for node in self._nodes if node.kind == "scalar"]

    def shared_anchors(self) -> list[tuple[int, str]]:
        """Return the anchors that aliases repeat. See `krmfn.yamltext.reader.Tree`."""
        self._fill()
        self._check(holds=self._error is None)
        repeated = {node.value for node in self._nodes if node.kind == "alias"}
        return [(n.start, n.anchor) for n in self._nodes if n.anchor in repeated and n.anchor and n.kind != "alias"]

    def _check(self, *, holds: bool) -> None:
        """Raise the error of the text, if it has one, unless the caller's condition `holds`."""
        if self._error is not None and not holds:
            raise self._error

    def _end(self, number: int) -> int:
        """Return the number of the node after the node at `number` and its content."""
        following = self._nodes[number].next
        return len(self._nodes) if following < 0 else following

    def _child(self, step: _Step, wanted: str | int) -> _Step | None:
        """Return the child of `step` with the key or index `wanted`, or None.

        Record in `step` the entries before the child.
        """
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
            if is_mapping and index.merge < 0 and key.kind == "scalar" and _is_merge(key):
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


def _name(key: _EventNode) -> str | None:
    """Return the name of a key. Return None if it cannot be one."""
    if key.kind != "scalar":
        return None
    return key.value if key.style and key.tag is None else key_name(key.value, key.tag, not key.style)


class _Filler:
    """A reader that adds a node to `nodes` for each event of a text."""

    def __init__(self, text: str, nodes: list[_EventNode]) -> None:
        self._text = unify_breaks(text)
        self._next, self._first, self._skipped = start_of_document(text)
        self.nodes = nodes
        self._opened = list[_EventNode]()
        self._end = 0

    def start(self) -> tuple[Callable[[], Event], Event, int]:
        """Return the result of `start_of_document`. Its function also adds a node for each event.

        This function and the returned one raise YamlError.
        """
        self._take(self._first)
        return self._step, self._first, self._skipped

    def fill(self) -> None:
        """Add the nodes of the first document.

        If the text is unreadable, add the nodes before that place and raise YamlError.
        """
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

    def _open(self, opened: list[_EventNode], event: Event) -> None:
        kind = type(event)
        start, mark_end = event.start_mark.index + self._skipped, event.end_mark.index + self._skipped
        if len(self.nodes) >= reader.MAX_NODES:
            raise error_at(self._text, start, reader.too_many_nodes())
        if kind is MappingStartEvent or kind is SequenceStartEvent:
            if len(opened) >= MAX_DEPTH:
                raise error_at(self._text, start, f"nested deeper than {MAX_DEPTH} levels")
            self._end = max(self._end, start)
            name = "mapping" if kind is MappingStartEvent else "list"
            style = "flow" if event.flow_style else "block"
            node = _EventNode(
                kind=name,
                style=style,
                value="",
                anchor=event.anchor,
                tag=event.tag,
                start=start,
                end=self._end,
                mark_end=mark_end,
            )
            opened.append(node)
        elif kind is AliasEvent:
            self._end = max(self._end, mark_end)
            node = _EventNode(
                kind="alias",
                style="",
                value=event.anchor or "",
                anchor=event.anchor,
                tag=None,
                start=start,
                end=self._end,
                mark_end=mark_end,
            )
        else:
            style = event.style or ""
            self._end = max(self._end, self._scalar_end(style, start, mark_end))
            node = _EventNode(
                kind="scalar",
                style=style,
                value=event.value,
                anchor=event.anchor,
                tag=event.tag,
                start=start,
                end=self._end,
                mark_end=mark_end,
            )
        self.nodes.append(node)
        if kind is ScalarEvent or kind is AliasEvent:
            node.next = len(self.nodes)

    def _close(self, node: _EventNode, event: Event) -> None:
        # A single pair in a list, `[a: b]`, has no brackets of its own.
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
        """Return the end of an empty scalar: the place after its colon or dash. libyaml may report the place of the
        next token.
        """
        if self._text[mark - 1 : mark] in (":", "-"):
            return mark
        colon = skip_gap(self._text, self._end)
        return colon + 1 if colon < mark and self._text[colon] == ":" else self._end


def _block_scalar_end(text: str, start: int, end: int) -> int:
    """Return the end of a block scalar without the break after its last line.

    Blank lines at the end are included only if they are part of the value.
    """
    header, *lines = text[start:end].split("\n")
    if lines and not lines[-1].strip(" "):
        lines.pop()
    keeps = "+" in header.partition("#")[0].rpartition("|" if "|" in header else ">")[2]
    if not keeps:
        first = next((line for line in lines if line.strip(" \r")), "")
        indent = len(first) - len(first.lstrip(" "))
        # A blank line is part of the value only if it is longer than the indentation.
        while lines and not lines[-1].strip(" \r") and len(lines[-1].rstrip("\r")) <= indent:
            lines.pop()
    return start + len("\n".join([header, *lines]).removesuffix("\r"))
