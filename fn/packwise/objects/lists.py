"""Lists of Kubernetes: their entries as items of their own, and the whole put back together."""

from __future__ import annotations

from krmfn.envelope import cut
from krmfn.hints import TYPE_CHECKING
from krmfn.kubeobject import KubeObject, Source, text_location
from packwise.objects.index import is_generated

if TYPE_CHECKING:
    from collections.abc import Iterable

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value


def taken_apart(items: Iterable[KubeObject]) -> tuple[KubeObject, ...]:
    """Return the objects with Lists replaced by their entries."""
    return tuple(entry for item in items for entry in (entries_of(item) or (item,)))


def put_back(items: Iterable[KubeObject], kept: Iterable[KubeObject]) -> tuple[KubeObject, ...]:
    """Return `items` with each List as it is and other items replaced by the render's `kept` objects.

    A render drops the objects of an earlier one.
    """
    answers = iter([item for item in kept if not item.source.entry])
    return tuple(item if entries_of(item) else next(answers) for item in items if not is_generated(item.value))


def entries_of(item: KubeObject) -> tuple[KubeObject, ...]:
    """Return the objects in a List, also in a List within it, or none for other objects.

    Entries of a list of one kind need not state their kind.
    """
    kind = item.value.get("kind")
    if not isinstance(kind, str) or not kind.endswith("List"):
        return ()
    entries = item.value.get("items")
    if not isinstance(entries, list):
        return ()
    own: dict[str, Value] = {}
    if kind != "List":
        own = {"apiVersion": item.value.get("apiVersion"), "kind": kind.removesuffix("List")}
    sources = _sources(item, len(entries))
    return taken_apart(
        [
            KubeObject.cut(source, {**own, **entry})
            for source, entry in zip(sources, entries, strict=True)
            if isinstance(entry, dict)
        ]
    )


def _sources(item: KubeObject, number: int) -> list[Source]:
    """Return the source of each entry of a List. Each gets its own text if the list can be cut, so that no lookup
    reads it all.
    """
    source = item.source
    places: list[FieldPath] = [(*source.entry, "items", index) for index in range(number)]
    pieces = _pieces(item.text)
    if not pieces or len(pieces) != number:
        return [source.replace(root=(*source.root, *place[-2:]), entry=place) for place in places]
    # The text around the list moves all of its lines down and to the right by the same amount.
    known, cut_at = item.location(("items", 0)), text_location(pieces[0], ())
    lines, margin = known.line - cut_at.line, " " * (known.column - cut_at.column)
    return [
        Source(margin + piece.text.replace("\n", f"\n{margin}"), (0,), piece.line + lines, 1, known.file, place)
        for piece, place in zip(pieces, places, strict=True)
    ]


def _pieces(text: str) -> list[Source]:
    """Return the lines of each entry of the List in `text`, or none if they cannot be separated."""
    try:
        pieces = [piece.source for piece in cut(text).items]
    except ValueError:
        return []
    return pieces if all(piece.root == (0,) and piece.column == 1 for piece in pieces) else []
