"""A large list in parts that are read and rendered apart, and the parts put together to the bytes of one render.

PodCliqueSets do not see each other: what becomes of one follows from itself and from what is no workload. So each part
has some of the workloads, and everything else. Where something is about several workloads at once, as two gangs of one
name are, nothing is put together, and the list has to be rendered whole.
"""

from __future__ import annotations

from functools import partial

from krmfn.errors import FieldError
from krmfn.hints import TYPE_CHECKING, cast
from krmfn.outline import Answer, Outline
from krmfn.record import NamedTuple
from krmfn.result import ResourceRef, exit_code
from krmfn.yamltext import YamlError
from krmfn.yamltext.breaks import BREAKS
from packwise.findings.finding import has_errors
from packwise.objects.identity import identity, is_generated
from packwise.objects.index import ONCE
from packwise.objects.kinds import GENERATED, KINDS, POD_CLIQUE_SET
from packwise.objects.lists import is_list
from packwise.pipeline.registry import FRONT_ENDS
from packwise.pipeline.steps import render
from packwise.placement.limit import LIMIT
from packwise.processes import answers
from packwise.render.render import RULES as RULES_OF_NAMES
from packwise.select import Package, index_package
from packwise.spool import Spool

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from krmfn.kubeobject import KubeObject
    from krmfn.result import Result
    from krmfn.value import Value
    from packwise.objects.generated import Generated
    from packwise.pipeline.steps import Rendered
    from packwise.select import Selection
    from packwise.spool import Entry

__all__ = ["rendered_in_parts"]

_ORDER = {kind.name: kind.write_order for kind in GENERATED}
_FOREIGN_KINDS = frozenset([kind.key for kind in KINDS if kind is not POD_CLIQUE_SET])
_OF_SEVERAL = frozenset([rule.name for rule in (ONCE, LIMIT, *RULES_OF_NAMES)])
"""Rules about several workloads at once."""
_HOST_SHARE = 0.02
"""What the first part's process does beside it, reading and writing, in units of what all workloads take."""
_ROUND = 1000
"""How many workloads of a round are for each process: what they take in memory is given back after it."""
_MOST_OTHERS = 1000
"""Each part has all items that are no workloads: more of them are not worth it."""

Key = tuple[int, str, str]
"""The place of a generated object: by its kind, then by namespace and name of its workload."""


class _Written(NamedTuple):
    """A generated object as an entry of the list: `key` is its place, `name` tells it from others."""

    key: Key
    name: str
    version: str
    text: str


class _Piece(NamedTuple):
    """What becomes of a part: `kept` are the workloads' entries that changed, by place, `others` the other items'.

    `results` are about workloads, `shared` are the other ones; of both, `notices` and `shared_notices` are reported
    only where there is no error. `generated` follow from workloads, `topologies` from none. With an error, nothing is
    kept, and the generated objects have no text.
    """

    names: tuple[str, ...]
    kept: tuple[tuple[int, str], ...]
    others: tuple[tuple[int, str], ...]
    generated: tuple[_Written, ...]
    topologies: tuple[_Written, ...]
    results: tuple[Result, ...]
    shared: tuple[Result, ...]
    notices: tuple[Result, ...]
    shared_notices: tuple[Result, ...]
    entries: int
    most_entries: int


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
        pieces = answers(partial(_piece, frame), parts[start : start + processes])
        if pieces is None or not all(joined.add(piece) for piece in pieces):
            return None
    return joined.answer()


def _frame(outline: Outline, own: Sequence[int]) -> _Frame | None:
    """The list without its workloads, at the places `own`; None where other items are about workloads, too."""
    workloads = set(own)
    places = [place for place in range(len(outline)) if place not in workloads]
    if len(places) > _MOST_OTHERS:
        return None
    try:
        items = outline.items(places)
    except YamlError:
        return None
    if items is None or any(is_list(item) for item in items):
        return None
    inventory = index_package(Package(tuple(items), outline.function_config))
    index = inventory.items
    of_grove = [entry.has_workloads(inventory) for entry in FRONT_ENDS].count(True) == 1
    kinds = {*_FOREIGN_KINDS, POD_CLIQUE_SET.key}
    if not of_grove or index.generated or index.findings or kinds & index.by_kind.keys():
        return None
    return _Frame(outline, dict(zip(places, items, strict=True)))


def _shares(places: Sequence[int], number: int) -> Iterator[Sequence[int]]:
    """`places` in slices for so many processes, round by round: the first slice of each is smaller than the others."""
    rounds = -(-len(places) // (number * _ROUND))
    for at in range(rounds):
        own = places[len(places) * at // rounds : len(places) * (at + 1) // rounds]
        first = max(int(len(own) * (1 - (number - 1) * _HOST_SHARE) / number), 1)
        yield own[:first]
        size = -(-(len(own) - first) // (number - 1))
        for start in range(first, len(own), size):
            yield own[start : start + size]


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
        return _piece_of(frame, rendered, package.items, sorted(read))
    except (YamlError, FieldError):
        return None


def _piece_of(frame: _Frame, rendered: Rendered, items: tuple[KubeObject, ...], places: Sequence[int]) -> _Piece | None:
    is_error = bool(exit_code(rendered.results))
    selection = rendered.selection
    if selection is None or not _is_of_single_workloads(selection) or _is_of_several(rendered.results):
        return None
    if len(rendered.kept) != len(items):
        return None
    plans, sources = rendered.plans, rendered.refused if is_error else rendered.sources
    written = [""] * len(sources) if is_error else frame.outline.entries_of(items, rendered.items)
    workloads = {id(plan.workload) for plan in plans}
    texts = [] if is_error else written[: len(items)]
    changed = [
        (place, text, id(before) in workloads)
        for place, before, after, text in zip(places, items, rendered.kept, texts, strict=False)
        if after is not before
    ]
    generated = [
        (_written(source, text), id(source.subject) in workloads)
        for source, text in zip(sources, written if is_error else written[len(items) :], strict=True)
    ]
    if not all(text.endswith(BREAKS) or is_error for text in written):
        return None
    refs = {ResourceRef.of(plan.workload.id) for plan in plans} if rendered.results else set[ResourceRef]()
    number = len(rendered.results) - len(rendered.notices)
    results, shared = _divided(rendered.results[:number], refs)
    notices, shared_notices = _divided(rendered.notices, refs)
    return _Piece(
        tuple(["/".join(identity(plan.workload.value)[2:]) for plan in plans]),
        tuple([(place, text) for place, text, is_workload in changed if is_workload]),
        tuple([(place, text) for place, text, is_workload in changed if not is_workload]),
        tuple([each for each, is_own in generated if is_own]),
        tuple([each for each, is_own in generated if not is_own]),
        results,
        shared,
        notices,
        shared_notices,
        sum([plan.entries or 0 for plan in plans]),
        selection.settings.limits.gangs,
    )


def _is_of_single_workloads(selection: Selection) -> bool:
    """Whether what is reported of a workload is about it alone, whatever others there are."""
    if selection.results or has_errors(selection.findings) or selection.absent is not None:
        return False
    if selection.evidence is not None and (selection.evidence.findings or selection.evidence.scopes):
        return False
    return not selection.revision.podgang_maps and not selection.settings.rules


def _is_of_several(results: Iterable[Result]) -> bool:
    return any(result.tags.get("rule") in _OF_SEVERAL for result in results)


def _divided(results: Iterable[Result], refs: set[ResourceRef]) -> tuple[tuple[Result, ...], tuple[Result, ...]]:
    """The results about the workloads `refs`, and the other ones."""
    own = tuple([result for result in results if result.resource_ref in refs])
    return own, tuple([result for result in results if result.resource_ref not in refs])


def _written(source: Generated, text: str) -> _Written:
    value, subject = source.value, source.subject
    kind, metadata = str(value["kind"]), cast("Mapping[str, Value]", value["metadata"])
    _, _, namespace, workload = ("", "", "", "") if subject is None else identity(subject.value)
    name = f"{kind} {metadata.get('namespace', '')}/{metadata['name']}"
    return _Written((_ORDER[kind] or 0, namespace, workload), name, str(value["apiVersion"]), text)


class _Joined:
    """The pieces so far: what they say, and where their texts are."""

    def __init__(self, frame: _Frame) -> None:
        self._frame = frame
        self._spool = Spool()
        self._first: _Piece | None = None
        self._names: set[str] = set()
        self._versions: dict[int, str] = {}
        self._changed: dict[int, Entry] = {}
        self._generated: list[tuple[Key, Entry]] = []
        self._results: list[Result] = []
        self._notices: list[Result] = []
        self._entries = 0
        self._has_errors = False

    def add(self, piece: _Piece) -> bool:
        """Whether the pieces so far, and this one, are all that there is to their workloads."""
        first = self._first = self._first or piece
        is_error = bool(exit_code((*piece.results, *piece.shared)))
        self._entries += piece.entries
        if piece.shared != first.shared or self._entries > piece.most_entries:
            return False
        if not self._add_names([*piece.names, *[each.name for each in piece.generated]]):
            return False
        for each in (*piece.generated, *piece.topologies):
            if self._versions.setdefault(each.key[0], each.version) != each.version:
                return False
        self._results += piece.results
        if is_error or self._has_errors:
            self._has_errors = True
            return True
        if (piece.others, piece.topologies, piece.shared_notices) != (
            first.others, first.topologies, first.shared_notices,
        ):  # fmt: skip
            return False
        self._notices += piece.notices
        put = self._spool.put
        self._changed.update([(place, put(text)) for place, text in piece.kept])
        self._generated += [(each.key, put(each.text)) for each in piece.generated]
        return True

    def _add_names(self, names: Sequence[str]) -> bool:
        before = len(self._names)
        self._names.update(names)
        return len(self._names) == before + len(names)

    def answer(self) -> Answer | None:
        """The list with all pieces; None where generated objects of a kind are both workloads' and the topology's."""
        first = cast("_Piece", self._first)
        own = list(self._generated)
        if {key[0] for key, _ in own} & {each.key[0] for each in first.topologies}:
            return None
        results = (*first.shared, *self._results)
        if self._has_errors:
            return Answer(self._frame.outline, (), results)
        put = self._spool.put
        self._changed.update([(place, put(text)) for place, text in first.others])
        own += [(each.key, put(each.text)) for each in first.topologies]
        # Stable: what one workload becomes is in the operator's own order.
        own.sort(key=lambda each: each[0])
        return Answer(
            self._frame.outline,
            self._texts([entry for _, entry in own]),
            (*results, *first.shared_notices, *self._notices),
        )

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
