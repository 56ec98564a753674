"""A large package in parts that are rendered apart, and the parts put together to the bytes of one render.

PodCliqueSets do not see each other: what becomes of one follows from itself and from what is no workload. So each part
has some of the workloads, and everything else. A package in which something is about several workloads at once is not
divided; where the parts' answers show that, as two gangs of one name do, nothing is put together, and the package is
rendered whole.
"""

from __future__ import annotations

from krmfn.errors import FieldError
from krmfn.hints import TYPE_CHECKING, cast
from krmfn.kubeobject import KubeObject
from krmfn.record import NamedTuple
from krmfn.result import ResourceRef, exit_code
from krmfn.source import Source
from packwise.findings.finding import has_errors
from packwise.objects.identity import identity
from packwise.objects.kinds import GENERATED, KINDS, POD_CLIQUE_SET
from packwise.pipeline.registry import FRONT_ENDS
from packwise.pipeline.steps import render, selected

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from krmfn.resourcelist import ResourceList
    from krmfn.result import Result
    from krmfn.value import Value
    from packwise.objects.generated import Generated
    from packwise.select import Package, Selection

__all__ = ["Part", "Piece", "divided", "joined", "piece_of"]

_ORDER = {kind.name: kind.write_order for kind in GENERATED}
_FOREIGN_KINDS = frozenset([kind.key for kind in KINDS if kind is not POD_CLIQUE_SET])
_HOST_SHARE = 0.25
"""What the first part's process does beside it, reading and writing, in units of what all workloads take."""
_ROUND = 1000
"""How many workloads of a round are for each process: what they take in memory is given back after it."""


class Part(NamedTuple):
    """`package` has the workloads of the part and all that is no workload; `places` are where its items stand."""

    package: Package
    places: tuple[int, ...]
    most_entries: int


class Written(NamedTuple):
    """An object of a render as an entry of the list; `of_workload`: whether it follows from a workload of the part."""

    order: int
    key: str
    of_workload: bool
    text: str


class Piece(NamedTuple):
    """What becomes of a part: `kept` are the entries that changed, by place, `others` those that are no workload's.

    `results` are about workloads, `shared` are the other ones.
    """

    kept: dict[int, str]
    others: dict[int, str]
    generated: tuple[Written, ...]
    results: tuple[Result, ...]
    shared: tuple[Result, ...]
    entries: int


def divided(package: Package, number: int) -> tuple[Part, ...]:
    """The package in parts for so many processes, by namespace and name of workloads; none where it is not divided.

    A large package has several parts for each process.
    """
    try:
        inventory, selection = selected(package)
        index = inventory.items
        workloads = {id(item) for item in index.of_kind(*POD_CLIQUE_SET.key)}
        of_grove = [entry.has_workloads(inventory) for entry in FRONT_ENDS].count(True) == 1
        named = sorted([
            (identity(item.value)[2:], place) for place, item in enumerate(package.items) if id(item) in workloads
        ])  # fmt: skip
    except FieldError:
        return ()
    alone = of_grove and not index.generated and not index.findings and not _FOREIGN_KINDS & index.by_kind.keys()
    is_unique = len({name for name, _ in named}) == len(named)
    number = min(number, len(named))
    if number < 2 or not alone or not is_unique or not _is_of_single_workloads(package, selection):
        return ()
    others = [place for place, item in enumerate(package.items) if id(item) not in workloads]
    return tuple([
        Part(
            package._replace(items=tuple([package.items[place] for place in places])),
            tuple(places),
            selection.settings.limits.gangs,
        )
        for own in _shares([place for _, place in named], number)
        for places in [sorted([*own, *others])]
    ])  # fmt: skip


def _is_of_single_workloads(package: Package, selection: Selection) -> bool:
    """Whether what is reported of a workload is about it alone, whatever others there are."""
    if selection.results or has_errors(selection.findings) or selection.absent is not None:
        return False
    if selection.evidence is not None and (selection.evidence.findings or selection.evidence.scopes):
        return False
    if selection.revision.podgang_maps or selection.settings.rules:
        return False
    return not any("packwise:" in text for text in {item.source.text for item in package.items})


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


def piece_of(read: ResourceList, part: Part) -> Piece | None:
    """What becomes of a part of `read`; None where it has errors, or a list that is not written entry by entry."""
    rendered = render(part.package, writes=True)
    if exit_code(rendered.results) or len(rendered.kept) != len(part.places):
        return None
    entries = read.with_items(rendered.items).entries()
    if entries is None:
        return None
    workloads = {id(plan.workload) for plan in rendered.plans}
    kept: dict[int, str] = {}
    others: dict[int, str] = {}
    for place, before, item, text in zip(part.places, part.package.items, rendered.kept, entries, strict=False):
        if item is not before:
            (kept if id(before) in workloads else others)[place] = text
    generated = tuple(
        [
            _written(source, text, of_workload=id(source.subject) in workloads)
            for source, text in zip(rendered.sources, entries[len(rendered.kept) :], strict=True)
        ]
    )
    refs = {ResourceRef.of(plan.workload.id) for plan in rendered.plans} if rendered.results else set[ResourceRef]()
    return Piece(
        kept,
        others,
        generated,
        tuple([result for result in rendered.results if result.resource_ref in refs]),
        tuple([result for result in rendered.results if result.resource_ref not in refs]),
        sum([plan.entries or 0 for plan in rendered.plans]),
    )


def _written(source: Generated, text: str, *, of_workload: bool) -> Written:
    value = source.value
    kind, metadata = value["kind"], cast("Mapping[str, Value]", value["metadata"])
    key = f"{value['apiVersion']} {kind} {metadata.get('namespace', '')} {metadata['name']}"
    return Written(_ORDER[str(kind)] or 0, key, of_workload, text)


def joined(read: ResourceList, parts: Sequence[Part], pieces: Sequence[Piece]) -> ResourceList | None:
    """The list that a render of the whole package gives; None where the pieces are not all that there is to it."""
    generated, first = _generated(pieces), pieces[0]
    if generated is None or any((each.shared, each.others) != (first.shared, first.others) for each in pieces):
        return None
    if sum([piece.entries for piece in pieces]) > parts[0].most_entries:
        return None
    changed = dict(first.others)
    for piece in pieces:
        changed |= piece.kept
    kept = [_entry(changed[place]) if place in changed else item for place, item in enumerate(read.items)]
    results = [*first.shared, *(result for piece in pieces for result in piece.results)]
    return read.with_items([*kept, *map(_entry, generated)]).with_results(results)


def _generated(pieces: Sequence[Piece]) -> list[str] | None:
    """The texts of the generated objects in their order; None where the parts have made one object twice.

    By kind, and within a kind by workload: the parts are in that order. What follows from no workload is in each part.
    """
    shared = [each for each in pieces[0].generated if not each.of_workload]
    own = [each for piece in pieces for each in piece.generated if each.of_workload]
    if any([each for each in piece.generated if not each.of_workload] != shared for piece in pieces):
        return None
    if len({each.key for each in own}) < len(own) or {each.order for each in own} & {each.order for each in shared}:
        return None
    return [each.text for each in sorted([*shared, *own], key=lambda each: each.order)]


def _entry(text: str) -> KubeObject:
    """The object that `text` is as an entry of a list; it is not read."""
    return KubeObject(Source(text, (0,)))
