"""Lists of Kubernetes, such as `kind: List`: replace them by their entries, and restore them after a render."""

from __future__ import annotations

from krmfn.envelope import cut
from krmfn.hints import TYPE_CHECKING
from krmfn.kubeobject import KubeObject, Source, text_location
from packwise.objects.index import is_generated

if TYPE_CHECKING:
    from collections.abc import Iterable

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value


def expand_lists(items: Iterable[KubeObject]) -> tuple[KubeObject, ...]:
    """Return `items` with each List replaced by its entries."""
    return tuple(entry for item in items for entry in (entries_of(item) or (item,)))


def restore_lists(items: Iterable[KubeObject], kept: Iterable[KubeObject]) -> tuple[KubeObject, ...]:
    """Return `items`, with each item that is not a List replaced by its object in `kept`, the output of a render.

    A render drops the objects of an earlier render, so they are not returned.
    """
    answers = iter([item for item in kept if not item.source.entry])
    return tuple(item if entries_of(item) else next(answers) for item in items if not is_generated(item.value))


def entries_of(item: KubeObject) -> tuple[KubeObject, ...]:
    """Return the objects in a List and in the Lists within it. Other objects have no entries.

    An entry without a kind gets its kind from the List. For example, entries of a `PodList` are Pods.
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
    return expand_lists(
        [
            KubeObject.cut(source, {**own, **entry})
            for source, entry in zip(sources, entries, strict=True)
            if isinstance(entry, dict)
        ]
    )


def _sources(item: KubeObject, number: int) -> list[Source]:
    """Return the source of each entry of a List.

    If the text can be cut, each entry gets only its own part. Looking up a place is then faster.
    """
    source = item.source
    places: list[FieldPath] = [(*source.entry, "items", index) for index in range(number)]
    pieces = _pieces(item.text)
    if not pieces or len(pieces) != number:
        return [source.replace(root=(*source.root, *place[-2:]), entry=place) for place in places]
    # The lines of the list lie at the same distance below, and to the right of, their places in the file.
    known, cut_at = item.location(("items", 0)), text_location(pieces[0], ())
    lines, margin = known.line - cut_at.line, " " * (known.column - cut_at.column)
    return [
        Source(margin + piece.text.replace("\n", f"\n{margin}"), (0,), piece.line + lines, 1, known.file, place)
        for piece, place in zip(pieces, places, strict=True)
    ]


def _pieces(text: str) -> list[Source]:
    """Return the text of each entry of the List in `text`. Return no text if the entries cannot be separated."""
    try:
        pieces = [piece.source for piece in cut(text).items]
    except ValueError:
        return []
    return pieces if all(piece.root == (0,) and piece.column == 1 for piece in pieces) else []
