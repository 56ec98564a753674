"""The value of a document, from libyaml's events, with kyaml's meaning of scalars, aliases and merges.

Where it differs from go yaml.v3 (3.0.5): libyaml takes a `%YAML 1.2` directive and the escape `\\/`, which yaml.v3
refuses; dates stay the text that kyaml's nodes hold, where decoding into `any` gives a time; a null key and a second
document are errors here; integers beyond 64 bits are floats in both.
"""

from __future__ import annotations

import re

from krmfn.hints import TYPE_CHECKING, cast
from krmfn.yamltext import bounds
from krmfn.yamltext.error import YamlError, error_at
from krmfn.yamltext.events import (
    MAX_DEPTH,
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
    start_of_document,
)
from krmfn.yamltext.scalars import key_text, scalar_value

if TYPE_CHECKING:
    from collections.abc import Callable

    from krmfn.value import Scalar, Value
    from krmfn.yamltext.events import Event

__all__ = ["MAX_NODES", "read_libyaml"]

MAX_NODES = 1_000_000
"""How many nodes a document with aliases may have once each alias is written out."""

_TAG = "tag:yaml.org,2002:"


def read_libyaml(text: str, source: tuple[Callable[[], Event], Event, int] | None = None) -> Value:
    """`read`, by libyaml's events through PyYAML; they come from `source`, as `start_of_document` gives it."""
    step, event, skipped = source or start_of_document(text)
    if type(event) is StreamEndEvent:
        return None
    value = _Builder(text, step, skipped).build(event)
    step()
    after = step()
    if type(after) is DocumentStartEvent:
        raise error_at(text, after.start_mark.index + skipped, "must be one YAML document; another one starts here")
    return value


class _Frame:
    """A mapping or list that is still being read."""

    __slots__ = ("anchor", "items", "key", "nodes")

    def __init__(self, event: Event, nodes: int) -> None:
        self.items: dict[str, Value] | list[Value] = {} if type(event) is MappingStartEvent else []
        self.anchor = event.anchor
        self.nodes = nodes
        self.key: str | None = None


_TAG_AND_COMMA = re.compile(r"(?:&[^\s,\[\]{}]*\s+)?![^\s,\[\]{}]*,")
# Half of a surrogate pair, which no text can spell.
_MERGE_KEY = "\ud800<<"


class _Builder:
    """Builds one document's value without recursion, so that depth costs no stack."""

    def __init__(self, text: str, step: Callable[[], Event], skipped: int) -> None:
        self._text = text
        self._step = step
        self._skipped = skipped
        self._anchors: dict[str, tuple[Value, int] | None] = {}
        self._read = 0
        self._nodes = 0

    def build(self, event: Event) -> Value:
        """The value of the node that starts with `event`."""
        stack: list[_Frame] = []
        while True:
            kind = type(event)
            if kind is not MappingEndEvent and kind is not SequenceEndEvent:
                self._read += 1
                if self._read > bounds.MAX_NODES:
                    raise self._error(event, bounds.too_many_nodes())
            if kind is ScalarEvent:
                if self._takes_key(stack, event):
                    event = self._step()
                    continue
                value: Value = self._scalar(event)
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

    def _scalar_of(self, event: Event) -> Scalar:
        if event.tag is not None and not event.value and not event.style:
            start = event.start_mark.index + self._skipped
            if _TAG_AND_COMMA.match(self._text, start):
                # libyaml ends the tag at the comma, kyaml takes the comma for a part of it.
                raise error_at(self._text, start, "must have a space between a tag and a comma")
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
        self._nodes += 1
        if event.value == "<<" and ((not event.style and not event.tag) or event.tag == _TAG + "merge"):
            self._put_key(frame, _MERGE_KEY, event)
            return True
        scalar = self._scalar_of(event)
        key = scalar if isinstance(scalar, str) else key_text(scalar)
        if key is None:
            raise self._error(event, f'must be a string, a number or a boolean to be a key; got "{event.value}"')
        if event.anchor is not None:
            self._anchors[event.anchor] = (scalar, 1)
        self._put_key(frame, key, event)
        return True

    def _put_key(self, frame: _Frame, key: str, event: Event) -> None:
        items = cast("dict[str, Value]", frame.items)
        if key in items:
            raise self._error(event, f'key "{key if key != _MERGE_KEY else "<<"}" must stand once in its mapping')
        items[key] = None
        frame.key = key

    def _alias_key(self, event: Event, value: Value) -> str:
        key = None if isinstance(value, (dict, list)) else key_text(cast("Scalar", value))
        if key is None:
            raise self._error(event, f'must be a string, a number or a boolean to be a key; got "*{event.anchor}"')
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
        sources = value if isinstance(value, list) else [value]
        if not all(isinstance(source, dict) for source in sources):
            raise self._error(event, 'what "<<" merges must be a mapping or a list of mappings')

    def _scalar(self, event: Event) -> Scalar:
        self._nodes += 1
        value = self._scalar_of(event)
        if event.anchor is not None:
            self._anchors[event.anchor] = (value, 1)
        return value

    def _open(self, stack: list[_Frame], event: Event) -> None:
        if len(stack) >= MAX_DEPTH:
            raise self._error(event, f"nested deeper than {MAX_DEPTH} levels")
        if stack and stack[-1].key is None and isinstance(stack[-1].items, dict):
            raise self._error(event, "must be a string, a number or a boolean to be a key; got a mapping or a list")
        self._nodes += 1
        if event.anchor is not None:
            self._anchors[event.anchor] = None
        stack.append(_Frame(event, self._nodes - 1))

    def _close(self, frame: _Frame, event: Event) -> Value:
        items = frame.items
        if isinstance(items, dict) and _MERGE_KEY in items:
            merged = items.pop(_MERGE_KEY)
            for source in merged if isinstance(merged, list) else [merged]:
                mapping = cast("dict[str, Value]", source)
                self._count(len(mapping), event)
                for key, value in mapping.items():
                    items.setdefault(key, value)
        if frame.anchor is not None:
            self._anchors[frame.anchor] = (items, self._nodes - frame.nodes)
        return items

    def _alias(self, event: Event) -> Value:
        name = cast("str", event.anchor)
        if name not in self._anchors:
            raise self._error(event, f'anchor "{name}" must be defined before it is used')
        anchored = self._anchors[name]
        if anchored is None:
            raise self._error(event, f'anchor "{name}" must not contain itself')
        self._count(anchored[1], event)
        return anchored[0]

    def _count(self, nodes: int, event: Event) -> None:
        self._nodes += nodes
        if self._nodes > MAX_NODES:
            raise self._error(event, f"aliases expand to more than {MAX_NODES} nodes")
