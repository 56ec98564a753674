"""The workloads of a package in portions that are rendered apart, and what is reported of them put together.

PodCliqueSets do not see each other: what becomes of one follows from itself and from what is no workload. So a portion
is some of the workloads beside everything else. Where something is about several workloads at once, as two gangs of
one name are, nothing is put together, and the package has to be rendered whole.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING, cast
from krmfn.record import NamedTuple
from krmfn.result import ResourceRef, exit_code
from packwise.findings.finding import has_errors
from packwise.objects.identity import identity
from packwise.objects.index import ONCE
from packwise.objects.kinds import GENERATED, KINDS
from packwise.pipeline.registry import FRONT_ENDS
from packwise.placement.limit import LIMIT
from packwise.render.render import RULES as RULES_OF_NAMES
from packwise.revisions import REVISIONS, precedes
from packwise.select import index_package
from packwise.select.evidence import RULES as RULES_OF_EVIDENCE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import TypeVar

    from krmfn.kubeobject import KubeObject
    from krmfn.result import Result
    from krmfn.value import Value
    from packwise.objects.generated import Generated
    from packwise.pipeline.steps import Rendered
    from packwise.select import Package, Selection

    In = TypeVar("In")
    Out = TypeVar("Out")

__all__ = [
    "MOST_OTHERS",
    "Owner",
    "Place",
    "Portion",
    "are_in_order",
    "by_portions",
    "is_divisible",
    "owners_of",
    "place_of",
    "portion_of",
    "size_of",
    "together",
]

Owner = tuple[str, str]
"""Namespace and name of a workload."""

Place = tuple[int, str, str]
"""Where a generated object comes: by its kind, then by namespace and name of its workload."""

_ORDER = {kind.name: kind.write_order for kind in GENERATED}
_KINDS = frozenset([kind.key for kind in KINDS])
_OF_SEVERAL = frozenset([rule.name for rule in (ONCE, LIMIT, *RULES_OF_NAMES)])
"""Rules about several workloads at once."""
_OF_EVIDENCE = frozenset([rule.name for rule in RULES_OF_EVIDENCE])
MOST_OTHERS = 1000
"""Each portion has all items that are no workloads: more of them are not worth it."""
_SIZE = 100
"""How many workloads are rendered at a time."""


class Portion(NamedTuple):
    """What is reported of some of the workloads.

    `names` are those of the workloads and of what is generated from them. `results` are about the workloads, `shared`
    are the other ones; of both, `notices` and `shared_notices` are reported only where there is no error. `evidence`
    contradicts the assumed release, by the release that workloads show; "" where they show none. `entries` count
    towards the limit `most_entries`.
    """

    names: tuple[str, ...]
    results: tuple[Result, ...]
    shared: tuple[Result, ...]
    notices: tuple[Result, ...]
    shared_notices: tuple[Result, ...]
    evidence: tuple[Result, ...]
    release: str
    entries: int
    most_entries: int


def is_divisible(package: Package) -> bool:
    """Whether PodCliqueSets that come to the package can be divided, as far as the rest of it tells."""
    rest = (*package.items, *package.context)
    if package.baseline is not None or package.documents or package.nodes or len(rest) > MOST_OTHERS:
        return False
    if _has_comments(rest):
        return False
    inventory = index_package(package)
    index = inventory.items
    if index.generated or index.findings or _KINDS & index.by_kind.keys():
        return False
    return [entry.has_workloads(inventory) for entry in FRONT_ENDS].count(True) == 1


def size_of(others: int) -> int:
    """How many workloads a portion has, where `others` is the number of items beside them.

    Each portion reuses the memory of the one before it.
    """
    return max(_SIZE, others)


def by_portions(
    piece_of: Callable[[Sequence[In]], Out | None], workloads: Sequence[In], others: int
) -> list[Out] | None:
    """The answers of `piece_of` for `workloads`, portion by portion; None as soon as it answers None.

    `others` is the number of items beside the workloads, which each portion has too.
    """
    pieces: list[Out] = []
    size = size_of(others)
    for start in range(0, len(workloads), size):
        piece = piece_of(workloads[start : start + size])
        if piece is None:
            return None
        pieces.append(piece)
    return pieces


def portion_of(package: Package, rendered: Rendered, own: Sequence[KubeObject]) -> Portion | None:
    """What is reported of the workloads `own`, with which a divisible package was rendered.

    None where something is about several workloads.
    """
    selection = rendered.selection
    if selection is None or not _is_of_single_workloads(selection) or _is_of_several(rendered.results):
        return None
    if len(rendered.kept) != len(package.items) or _has_comments(own):
        return None
    plans = rendered.plans
    refs = {ResourceRef.of(plan.workload.id) for plan in plans} if rendered.results else set[ResourceRef]()
    number = len(rendered.results) - len(rendered.notices)
    evidence = [result for result in rendered.results[:number] if result.tags.get("rule") in _OF_EVIDENCE]
    results, shared = _divided([result for result in rendered.results[:number] if result not in evidence], refs)
    notices, shared_notices = _divided(rendered.notices, refs)
    release = None if selection.evidence is None else selection.evidence.release
    workloads = {id(plan.workload) for plan in plans}
    names = ["/".join(identity(plan.workload.value)) for plan in plans]
    names += [_name_of(each.value) for each in rendered.sources or rendered.refused if id(each.subject) in workloads]
    return Portion(
        tuple(names),
        results,
        shared,
        notices,
        shared_notices,
        tuple(evidence),
        "" if release is None else release.name,
        sum([plan.entries or 0 for plan in plans]),
        selection.settings.limits.gangs,
    )


def together(portions: Sequence[Portion]) -> tuple[Result, ...] | None:
    """What a render of all workloads reports; None where something is about workloads of several portions."""
    first = portions[0]
    names = [name for portion in portions for name in portion.names]
    if len(set(names)) < len(names) or sum([portion.entries for portion in portions]) > first.most_entries:
        return None
    if any(portion.shared != first.shared for portion in portions):
        return None
    evidence = _strongest(portions)
    if evidence is None:
        return None
    results = (*first.shared, *[result for portion in portions for result in portion.results], *evidence)
    if exit_code(results):
        return results
    if any(portion.shared_notices != first.shared_notices for portion in portions):
        return None
    return (*results, *first.shared_notices, *[result for portion in portions for result in portion.notices])


def owners_of(rendered: Rendered) -> dict[int, Owner]:
    """Namespace and name of each workload, by the id of its object."""
    return {id(plan.workload): identity(plan.workload.value)[2:] for plan in rendered.plans}


def place_of(source: Generated, owner: Owner | None) -> Place:
    """Where what is generated comes among all that is: what follows from a workload, its `owner`, has its place."""
    if owner is None:
        owner = ("", "") if source.subject is None else identity(source.subject.value)[2:]
    namespace, name = owner
    return _ORDER[str(source.value["kind"])] or 0, namespace, name


def are_in_order(own: Iterable[tuple[int, str]], others: Iterable[Place]) -> bool:
    """Whether places order all that is generated: what follows from workloads, and `others`.

    `own` are the first numbers of the workloads' places, each with an apiVersion. Of two kinds in one place, the
    schedulers' order counts before the workloads'.
    """
    versions = set(own)
    orders = {order for order, _ in versions}
    return len(orders) == len(versions) and orders.isdisjoint([place[0] for place in others])


def _name_of(value: Mapping[str, Value]) -> str:
    """What tells a generated object from others."""
    metadata = cast("Mapping[str, Value]", value["metadata"])
    return f"{value['apiVersion']}/{value['kind']}/{metadata.get('namespace', '')}/{metadata['name']}"


def _strongest(portions: Sequence[Portion]) -> tuple[Result, ...] | None:
    """The evidence of the latest release that workloads show, of the first portion among equals.

    Where they show none, what the rest of the package shows.
    """
    strongest = portions[0]
    for portion in portions:
        if portion.release and (not strongest.release or _precedes(strongest.release, portion.release)):
            strongest = portion
    if not strongest.release and any(portion.evidence != strongest.evidence for portion in portions):
        return None
    return strongest.evidence


def _precedes(release: str, other: str) -> bool:
    return precedes(REVISIONS[release], REVISIONS[other])


def _has_comments(items: Iterable[KubeObject]) -> bool:
    """Whether comments choose among the findings."""
    return any("packwise:" in item.source.text for item in items)


def _is_of_single_workloads(selection: Selection) -> bool:
    """Whether what is reported of a workload is about it alone, whatever others there are."""
    if selection.results or has_errors(selection.findings) or selection.absent is not None:
        return False
    return not selection.revision.podgang_maps and not selection.settings.rules


def _is_of_several(results: Iterable[Result]) -> bool:
    return any(result.tags.get("rule") in _OF_SEVERAL for result in results)


def _divided(results: Iterable[Result], refs: set[ResourceRef]) -> tuple[tuple[Result, ...], tuple[Result, ...]]:
    """The results about the workloads `refs`, and the other ones."""
    own = tuple([result for result in results if result.resource_ref in refs])
    return own, tuple([result for result in results if result.resource_ref not in refs])
