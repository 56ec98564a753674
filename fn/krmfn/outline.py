"""A large list by its lines, before its items are read: several processes can then read some items each."""

from __future__ import annotations

from itertools import accumulate, chain

from krmfn.assemble import around, emptied, entries_of, entries_of_results, opened_tail
from krmfn.envelope import Cut, Envelope, config_of, cut_by_lines, fields_of, is_json, item_of
from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from krmfn.resourcelist import ResourceListError, version_of
from krmfn.yamltext import YamlError
from krmfn.yamltext.bounds import check_nodes
from krmfn.yamltext.breaks import BREAKS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from krmfn.kubeobject import KubeObject
    from krmfn.result import Result
    from krmfn.value import Value

__all__ = ["Answer", "Outline"]

_PIECE = 1 << 20
_RESULTS = 1000
"""How many results are in memory as a text at a time."""


class Outline(NamedTuple):
    """A list of block style in YAML, whose items are known by the lines that they start at, and not read.

    Each line that starts an item can be one of a scalar, too: what proves the cut is that every item can be read alone.
    """

    text: str
    cut: Cut
    envelope: Envelope
    lines: list[int]
    """The 1-based line of each edge of the cut."""

    @classmethod
    def of(cls, text: str) -> Outline | None:
        """The outline of a ResourceList; None where it is of another style, empty, holds results, or may be wrong."""
        if is_json(text):
            return None
        try:
            cut = cut_by_lines(text)
            if cut is None or len(cut.edges) < 2 or not text.endswith("\n", 0, cut.edges[-1]):
                return None
            tail = text[cut.edges[-1] :]
            rest = fields_of(cut.head, tail)
            if rest is None or "results" in rest:
                return None
            version_of(text, rest)
        except (YamlError, ResourceListError):
            return None
        edges = cut.edges
        breaks = [text.count("\n", start, end) for start, end in zip([0, *edges], edges, strict=False)]
        lines = list(accumulate(breaks, initial=1))[1:]
        config = config_of(cut.head, tail, lines[-1], rest)
        if config is None and rest.get("functionConfig") is not None:
            return None
        return cls(
            text, cut, Envelope("", cut.head, tail, cut.indent, cut.newline, (), rest, config, simple=True), lines
        )

    @property
    def function_config(self) -> KubeObject | None:
        """The functionConfig, where there is one."""
        return self.envelope.function_config

    def __len__(self) -> int:
        return len(self.cut.edges) - 1

    def entry(self, place: int) -> str:
        """The text of the item at `place`, with its dash."""
        edges = self.cut.edges
        return self.text[edges[place] : edges[place + 1]]

    def read_entries(self) -> Iterator[bytes]:
        """The bytes of all items, as they came in."""
        text, edges = self.text, self.cut.edges
        for start in range(edges[0], edges[-1], _PIECE):
            yield text[start : min(start + _PIECE, edges[-1])].encode()

    def places_of(self, field: str) -> list[int]:
        """The places of items that seem to have the line `field` at their own column, as `kind: Pod`."""
        text, edges = self.text, self.cut.edges
        mark, places = f"\n{self.cut.indent}  {field}", list[int]()
        for place, start in enumerate(edges[:-1]):
            if text.find(mark, start, edges[place + 1]) >= 0:
                places.append(place)
        return places

    def items(self, places: Sequence[int]) -> list[KubeObject] | None:
        """The items at these places, which ascend; None where the text of an item is not all of it.

        Raises YamlError where an item cannot be read alone, or they are more than a list may hold.
        """
        text, edges = self.text, self.cut.edges
        if not places:
            return []
        check_nodes("".join([self.entry(place) for place in places]))
        items: list[KubeObject] = []
        for place in places:
            item = item_of(text[edges[place] : edges[place + 1]], self.lines[place])
            if item is None:
                return None
            items.append(item)
        return items

    def entries_of(self, read: Iterable[KubeObject], items: Sequence[KubeObject]) -> list[str]:
        """The text of each of `items` as an entry of the list; those among `read` are as they were read.

        Raises FieldError where an item has no written form.
        """
        return entries_of(self.envelope._replace(items=tuple(read)), items)


class Answer(NamedTuple):
    """What a function answers to the list of `outline`, with the items as texts in the style of that list.

    `entries` are the bytes of the items in their order, each whole lines. They are not written where there is an error
    among `results`: then the items are those that came in.
    """

    outline: Outline
    entries: Iterable[bytes]
    results: tuple[Result, ...] = ()

    def pieces(self, *, is_error: bool, with_items: bool) -> Iterable[bytes]:
        """The bytes of the list with the results; with the items that came in, where there is an error."""
        envelope = self.outline.envelope
        head, tail = self._around()
        if with_items:
            yield (head if head.endswith(BREAKS) else head + envelope.newline).encode()
            yield from self.outline.read_entries() if is_error else self.entries
        else:
            yield emptied(head, envelope.newline).encode()
        for text in tail:
            yield text.encode()

    def _around(self) -> tuple[str, Iterable[str]]:
        """What comes ahead of the items, and the texts behind them."""
        envelope, results = self.outline.envelope, self.results
        opened = opened_tail(envelope) if results else None
        if opened is not None:
            return envelope.head, chain([opened], self._texts_of_results())
        head, tail = around(envelope, [result.to_value() for result in results] or None)
        return head, [tail]

    def _texts_of_results(self) -> Iterator[str]:
        for start in range(0, len(self.results), _RESULTS):
            values: list[Value] = [result.to_value() for result in self.results[start : start + _RESULTS]]
            yield entries_of_results(values, self.outline.envelope.newline)
