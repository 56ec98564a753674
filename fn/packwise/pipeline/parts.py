"""A large list in parts that are read and rendered apart, and the parts put together to the bytes of one render.

Each part is a portion of the workloads, with everything else. Where something is about several portions, nothing is put
together, and the list has to be rendered whole.
"""

from __future__ import annotations

from functools import partial

from krmfn.errors import FieldError
from krmfn.hints import TYPE_CHECKING
from krmfn.outline import Answer, Outline
from krmfn.record import NamedTuple
from krmfn.result import exit_code
from krmfn.yamltext import YamlError
from krmfn.yamltext.breaks import BREAKS
from packwise.objects.identity import identity, is_generated
from packwise.objects.kinds import POD_CLIQUE_SET
from packwise.objects.lists import is_list
from packwise.pipeline.portions import (
    MOST_OTHERS,
    are_in_order,
    by_portions,
    is_divisible,
    owners_of,
    place_of,
    portion_of,
    together,
)
from packwise.pipeline.steps import render
from packwise.processes import answers
from packwise.select import Package
from packwise.spool import Spool

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from krmfn.kubeobject import KubeObject
    from packwise.pipeline.portions import Place, Portion
    from packwise.pipeline.steps import Rendered
    from packwise.spool import Entry

__all__ = ["rendered_in_parts"]

_HOST_SHARE = 0.02
"""What the first part's process does beside it, reading and writing, in units of what all workloads take."""
_ROUND = 1000
"""How many workloads of a round are for each process: what the others take in memory is given back after it."""


class _Written(NamedTuple):
    """A generated object as an entry of the list."""

    place: Place
    version: str
    text: str


class _Piece(NamedTuple):
    """What becomes of some workloads: `kept` are their entries that changed, by place, `others` those of other items.

    `generated` follow from workloads, `topologies` from none. With an error there is nothing of these.
    """

    portion: Portion
    is_error: bool
    kept: tuple[tuple[int, str], ...] = ()
    others: tuple[tuple[int, str], ...] = ()
    generated: tuple[_Written, ...] = ()
    topologies: tuple[_Written, ...] = ()


class _Frame(NamedTuple):
    """What all parts have in common: the list, and its items that are no workloads, by place."""

    outline: Outline
    others: Mapping[int, KubeObject]


def rendered_in_parts(text: str, processes: int) -> Answer | None:
    """What the render of the ResourceList `text` gives; None where it has to be rendered whole.

    So many processes have a part each at the same time; a large list is more than one part for each.
    """
    if "packwise:" in text:
        return None
    outline = Outline.of(text)
    if outline is None:
        return None
    own = outline.places_of(f"kind: {POD_CLIQUE_SET.name}")
    frame = _frame(outline, own)
    if frame is None or len(own) < processes:
        return None
    parts = list(_shares(own, processes))
    joined = _Joined(frame)
    for start in range(0, len(parts), processes):
        answered = answers(partial(_pieces, frame), parts[start : start + processes])
        if answered is None or not all(joined.add(piece) for pieces in answered for piece in pieces):
            return None
    return joined.answer()


def _frame(outline: Outline, own: Sequence[int]) -> _Frame | None:
    """The list without its workloads, at the places `own`; None where other items are about workloads, too."""
    workloads = set(own)
    places = [place for place in range(len(outline)) if place not in workloads]
    if len(places) > MOST_OTHERS:
        return None
    try:
        items = outline.items(places)
    except YamlError:
        return None
    if items is None or any(is_list(item) for item in items):
        return None
    if not is_divisible(Package(tuple(items), outline.function_config)):
        return None
    return _Frame(outline, dict(zip(places, items, strict=True)))


def _shares(places: Sequence[int], number: int) -> Iterator[Sequence[int]]:
    """`places` in slices for so many processes, round by round: the first slice of each is smaller than the others."""
    rounds = -(-len(places) // (number * _ROUND))
    for at in range(rounds):
        own = places[len(places) * at // rounds : len(places) * (at + 1) // rounds]
        first = max(int(len(own) * (1 - (number - 1) * _HOST_SHARE) / number), 1)
        yield own[:first]
        size = -(-(len(own) - first) // max(number - 1, 1)) or 1
        for start in range(first, len(own), size):
            yield own[start : start + size]


def _pieces(frame: _Frame, places: Sequence[int]) -> list[_Piece] | None:
    """What becomes of a part; None where something is about several workloads."""
    return by_portions(partial(_piece, frame), places, len(frame.others))


def _piece(frame: _Frame, places: Sequence[int]) -> _Piece | None:
    """What becomes of the workloads at `places`; None where something is about several workloads."""
    try:
        own = frame.outline.items(places)
        if own is None or any(is_generated(item.value) for item in own):
            return None
        if {identity(item.value)[:2] for item in own} != {POD_CLIQUE_SET.key}:
            return None
        read = {**dict(zip(places, own, strict=True)), **frame.others}
        package = Package(tuple([read[place] for place in sorted(read)]), frame.outline.function_config)
        rendered = render(package, writes=True)
        portion = portion_of(package, rendered, own)
        if portion is None:
            return None
        if exit_code(rendered.results):
            return _Piece(portion, is_error=True)
        return _texts_of(frame.outline, portion, rendered, package.items, sorted(read))
    except (YamlError, FieldError):
        return None


def _texts_of(
    outline: Outline, portion: Portion, rendered: Rendered, items: tuple[KubeObject, ...], places: Sequence[int]
) -> _Piece | None:
    """A piece without errors. None where an entry is not whole lines; raises FieldError where there is none of it."""
    texts = outline.entries_of(items, rendered.items)
    if not all(text.endswith(BREAKS) for text in texts):
        return None
    owners = owners_of(rendered)
    kept: tuple[list[tuple[int, str]], ...] = [], []
    for place, before, after, text in zip(places, items, rendered.kept, texts, strict=False):
        if after is not before:
            kept[id(before) not in owners].append((place, text))
    generated: tuple[list[_Written], ...] = [], []
    for source, text in zip(rendered.sources, texts[len(items) :], strict=True):
        owner = owners.get(id(source.subject))
        entry = _Written(place_of(source, owner), str(source.value["apiVersion"]), text)
        generated[owner is None].append(entry)
    own, others = kept
    return _Piece(portion, False, tuple(own), tuple(others), tuple(generated[0]), tuple(generated[1]))


class _Joined:
    """The pieces so far: what they report, and where their texts are."""

    def __init__(self, frame: _Frame) -> None:
        self._frame = frame
        self._spool = Spool()
        self._first: _Piece | None = None
        self._portions: list[Portion] = []
        self._changed: dict[int, Entry] = {}
        self._generated: list[tuple[Place, Entry]] = []
        self._versions: set[tuple[int, str]] = set()
        self._entries = 0
        self._has_errors = False

    def add(self, piece: _Piece) -> bool:
        """Whether the pieces so far, and this one, agree on what follows from no workload."""
        portion = piece.portion
        self._portions.append(portion)
        self._entries += portion.entries
        if self._entries > portion.most_entries:
            # What the parts to come would add needs memory for nothing.
            return False
        if piece.is_error or self._has_errors:
            self._has_errors = True
            return True
        first = self._first = self._first or piece
        if (piece.others, piece.topologies) != (first.others, first.topologies):
            return False
        put = self._spool.put
        self._changed.update([(place, put(text)) for place, text in piece.kept])
        self._generated += [(each.place, put(each.text)) for each in piece.generated]
        self._versions.update([(each.place[0], each.version) for each in piece.generated])
        return True

    def answer(self) -> Answer | None:
        """The list with all pieces; None where something is about workloads of several."""
        results = together(self._portions)
        if results is None:
            return None
        first = self._first
        if first is None or exit_code(results):
            return Answer(self._frame.outline, (), results)
        if not are_in_order(self._versions, [each.place for each in first.topologies]):
            return None
        put = self._spool.put
        self._changed.update([(place, put(text)) for place, text in first.others])
        generated = [*self._generated, *[(each.place, put(each.text)) for each in first.topologies]]
        # Stable: what one workload becomes is in the operator's own order.
        generated.sort(key=lambda each: each[0])
        return Answer(self._frame.outline, self._texts([entry for _, entry in generated]), results)

    def _texts(self, generated: Sequence[Entry]) -> Iterator[bytes]:
        outline, changed, spool = self._frame.outline, self._changed, self._spool
        run: list[Entry] = []
        for place in range(len(outline)):
            if place in changed:
                run.append(changed[place])
                continue
            yield from spool.read(run)
            run = []
            yield outline.entry(place).encode()
        yield from spool.read([*run, *generated])
