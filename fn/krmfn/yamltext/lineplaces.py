"""The place of every node of a text, by its lines: for usual lines, block scalars, and flow collections on one line.

Such a line is a key, a value or a comment that is whole by itself; indentation and dashes tell which node it is in.
"""

from __future__ import annotations

import re

from krmfn.hints import TYPE_CHECKING, cast
from krmfn.record import NamedTuple
from krmfn.yamltext.plainlines import ITEM, KEY, VALUE, is_printable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krmfn.fieldpath import FieldPath

__all__ = ["LinePlaces", "Place"]

_SOME = 16
_REST = r"(?: +#[^\n]*|)\n"
_LINE = re.compile(
    rf"( *)(- (?:- |)|)(?:({KEY}):(?=[ \n])|(?<=- )(?=[^ \n])) *"
    rf"(?:({VALUE}|[|>][-+]?(?=[ \n])|){_REST}|(?=[\[{{]))"
)
_NO_NODE = re.compile(r" *(?:#[^\n]*)?\n")
_ITEM = re.compile(ITEM)
_FLAT = re.compile(rf"\{{ *{KEY}: {ITEM}(?:, +{KEY}: {ITEM})* *\}}{_REST}")
_PAIR = re.compile(rf"[{{,] *({KEY}): ({ITEM})")
# A quote starts a text only where an item can start.
_TOKEN = re.compile(r"""[\[{]|([\]}])|(?<=[\[{,: ])(?:"[^"\\\n]*"|'[^'\n]*')|[^\[\]{}"'#\n]+""")
_END = re.compile(_REST)


_NO_PARTS: Mapping[str | int, Place] = {}


class Place:
    """The offsets at which a node's value and its key start, and the nodes within; a key of -1: it has none.

    `is_closed`: the nodes within are not known.
    """

    __slots__ = ("is_closed", "key", "parts", "start")

    def __init__(self, start: int, key: int = -1) -> None:
        self.start, self.key, self.is_closed = start, key, False
        self.parts: Mapping[str | int, Place] = _NO_PARTS

    def add(self, step: str | int, part: Place) -> None:
        """Adds the node of a key or item; of two keys of one name the first counts."""
        if self.parts is _NO_PARTS:
            self.parts = {step: part}
        else:
            cast("dict[str | int, Place]", self.parts).setdefault(step, part)

    def deepest(self, path: FieldPath) -> tuple[Place, int]:
        """The deepest part of `path` that exists, and how many steps it lacks."""
        place = self
        for depth, step in enumerate(path):
            part = place.parts.get(step)
            if part is None:
                return place, len(path) - depth
            place = part
        return place, 0


class _Open(NamedTuple):
    """A mapping or list that lines can still add to; `column` is that of its keys or dashes, from 0."""

    column: int
    is_list: bool
    place: Place


class LinePlaces:
    """The places in a text, of which lines are read as far as an answer needs them."""

    __slots__ = ("_at", "_awaiting", "_block", "_end", "_open", "_text", "root")

    def __init__(self, text: str) -> None:
        self.root: Place | None = None
        self._text = text if text.endswith("\n") else f"{text}\n"
        self._at, self._end = 0, len(text) if is_printable(text) else -1
        self._open: list[_Open] = []
        # The node whose value is still to come.
        self._awaiting: Place | None = None
        # The column that the lines of a block scalar are beyond; -1: there is none.
        self._block = -1

    def deepest(self, path: FieldPath) -> tuple[Place, int] | None:
        """The deepest part of `path` that exists, and how many steps it lacks.

        None where it takes libyaml to know, and where the text is no YAML.
        """
        while self._at < self._end:
            if self.root is not None:
                place, missing = self.root.deepest(path)
                if self._is_settled(place, missing):
                    return place, missing
            if not self._take_some():
                self._end = -1
        return None if self._end < 0 or self.root is None else self.root.deepest(path)

    def _is_settled(self, place: Place, missing: int) -> bool:
        """Whether no further line tells more of `place`, below which so many steps of a path are missing."""
        if place is self._awaiting:
            return False
        return not missing or all(each.place is not place for each in self._open)

    def _take_some(self) -> bool:
        """Whether the next lines are such that need no libyaml."""
        text = self._text
        for _ in range(_SOME):
            if self._at >= self._end:
                break
            if self._block >= 0 and self._skips(text, self._at):
                continue
            line = _LINE.match(text, self._at)
            if line is not None:
                if not self._take(text, self._at, line):
                    return False
                self._at = line.end() if line[4] is not None else text.index("\n", self._at) + 1
                continue
            line = _NO_NODE.match(text, self._at)
            if line is None:
                return False
            self._at = line.end()
        return True

    def _skips(self, text: str, start: int) -> bool:
        """Whether the line at `start` is one of the block scalar, and passed over."""
        stop = text.index("\n", start)
        if text[start : min(start + self._block + 1, stop)].strip(" "):
            self._block = -1
            return False
        self._at = stop + 1
        return True

    def _take(self, text: str, start: int, line: re.Match[str]) -> bool:
        """Whether the line at `start` can be where it is, and holds all of its value."""
        indent, dashes, key, value = line.groups()
        column, node = len(indent), None
        for _ in range(len(dashes) // 2):
            node = self._entry(start, column)
            column += 2
        if key is not None and (node is not None or not dashes):
            node = self._field(start, column, key)
        if node is None:
            return False
        if value:
            self._awaiting = None
            node.start = line.start(4)
            if value[0] in "|>":
                self._block = column if key is not None else column - 2
            elif value[0] == "[":
                _add_items(node, text)
            return True
        if value is None:
            self._awaiting = None
            node.start = line.end()
            return _add_flow(node, text)
        self._awaiting = node
        return True

    def _entry(self, start: int, column: int) -> Place | None:
        """A further entry of the list with dashes at `column`; None where there can be none."""
        parent = self._container(start, column, is_list=True)
        if parent is None:
            return None
        node = self._awaiting = Place(start + column + 2)
        parent.add(len(parent.parts), node)
        return node

    def _field(self, start: int, column: int, key: str) -> Place | None:
        """The value of `key` in the mapping with keys at `column`; None where there can be none."""
        parent = self._container(start, column, is_list=False)
        if parent is None:
            return None
        node = Place(start + column + len(key) + 1, start + column)
        parent.add(key[1:-1] if key[0] in "\"'" else key, node)
        return node

    def _container(self, start: int, column: int, *, is_list: bool) -> Place | None:
        """The open mapping or list at `column`, or a new one that is the value still to come."""
        opened = self._open
        while opened:
            at, has_dashes, place = opened[-1]
            if at == column and has_dashes == is_list:
                self._awaiting = None
                return place
            if at < column or (at == column and is_list):
                break
            opened.pop()
            self._awaiting = None
        if self.root is None:
            place = self.root = Place(start + column)
        else:
            # What is open ends before `column`, or is a mapping with a list at the column of its keys.
            place = self._awaiting
        if place is not None:
            place.start = start + column
            self._awaiting = None
            opened.append(_Open(column, is_list, place))
        return place


def _add_items(node: Place, text: str) -> None:
    """The items of the usual list in brackets at `node`."""
    item = _ITEM.match(text, node.start + 1)
    while item is not None:
        node.add(len(node.parts), Place(item.start()))
        item = _ITEM.match(text, item.end() + 2) if text[item.end()] == "," else None


def _add_flow(node: Place, text: str) -> bool:
    """Whether the flow collection at `node` ends on its line; the entries of a flat mapping are its parts."""
    if _FLAT.match(text, node.start) is not None:
        pair = _PAIR.match(text, node.start)
        while pair is not None:
            key = pair[1]
            node.add(key[1:-1] if key[0] in "\"'" else key, Place(pair.start(2), pair.start(1)))
            pair = _PAIR.match(text, pair.end())
        return True
    node.is_closed = True
    depth, at = 0, node.start
    while token := _TOKEN.match(text, at):
        at = token.end()
        if token[0] in ("[", "{"):
            depth += 1
        elif token[1]:
            depth -= 1
            if not depth:
                return _END.match(text, at) is not None
    return False
