"""The items by kind, those of the baseline beside them, and the entries of Lists as items of their own."""

from __future__ import annotations

from krmfn.errors import FieldError
from krmfn.hints import TYPE_CHECKING
from krmfn.kubeobject import KubeObject
from krmfn.record import NamedTuple
from krmfn.source import Source, text_location
from packwise.findings.finding import Finding, Rule, from_field_error
from packwise.objects.identity import has_epoch, identity, is_generated, is_placeholder, stable_identities
from packwise.objects.kinds import GANGS
from packwise.objects.place import place_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from packwise.objects.identity import Identity

READABLE = Rule("readable", "Every item is an object that Kubernetes tools read.", "spec/clients.md#4")
ONCE = Rule("object-once", "A workload or topology stands in the input once.", "spec/packwise.md#1.4")
RULES = (READABLE, ONCE)
"""Rules of every item."""

_GANG_KINDS = frozenset([kind.name for kind in GANGS])


class Index(NamedTuple):
    """`users` are the users' own objects, `generated` those that an earlier render wrote.

    `findings` are about the items that could not be read; those are in neither. `gangs` are the gangs with an epoch by
    the identity that they have whatever it is; generated ones count before others.
    """

    users: Mapping[Identity, KubeObject] = {}
    generated: Mapping[Identity, KubeObject] = {}
    by_kind: Mapping[tuple[str, str], tuple[KubeObject, ...]] = {}
    findings: tuple[Finding, ...] = ()
    gangs: Mapping[Identity, KubeObject] = {}

    @classmethod
    def of(cls, items: Iterable[KubeObject]) -> Index:
        """The index of `items`; of two with one identity the first counts."""
        users: dict[Identity, KubeObject] = {}
        generated: dict[Identity, KubeObject] = {}
        by_kind: dict[tuple[str, str], list[KubeObject]] = {}
        findings: list[Finding] = []
        for item in items:
            try:
                value = item.value
            except FieldError as error:
                findings.append(from_field_error(error, item, READABLE.name))
                continue
            key = identity(value)
            if is_generated(value):
                generated.setdefault(key, item)
            else:
                users.setdefault(key, item)
                by_kind.setdefault(key[:2], []).append(item)
        grouped = {kind: tuple(members) for kind, members in by_kind.items()}
        return cls(users, generated, grouped, tuple(findings), {**_gangs(users), **_gangs(generated)})

    def of_kind(self, group: str, kind: str) -> tuple[KubeObject, ...]:
        """The users' own objects of this kind, in their order."""
        return self.by_kind.get((group, kind), ())


def _gangs(items: Mapping[Identity, KubeObject]) -> dict[Identity, KubeObject]:
    """The gangs with an epoch, by the identity that they have without it."""
    gangs = [item for key, item in items.items() if key[1] in _GANG_KINDS and has_epoch(item.value)]
    return dict(zip(stable_identities([item.value for item in gangs]), gangs, strict=True))


def repeated(items: Iterable[KubeObject]) -> list[Finding]:
    """An error for each of `items` that has the identity of one before it; a name to be filled in tells none."""
    first: dict[Identity, KubeObject] = {}
    findings: list[Finding] = []
    for item in items:
        before = first.setdefault(identity(item.value), item)
        if before is not item and not is_placeholder("".join(identity(item.value)[2:])):
            message = (
                f"must stand in the input once; it also stands at {place_text(before)}; remove or rename one of them"
            )
            findings.append(Finding.of(ONCE, item, ("metadata", "name"), message))
    return findings


class Inventory(NamedTuple):
    """The items by what they are; `baseline` those before the change, None where nobody gave any.

    `documents` are documents of other tools, which are no Kubernetes objects, `documents_before` those of the baseline.
    """

    items: Index
    baseline: Index | None = None
    documents: tuple[KubeObject, ...] = ()
    documents_before: tuple[KubeObject, ...] = ()

    def before(self, value: Mapping[str, Value]) -> Mapping[str, Value] | None:
        """The object as it was in the baseline, whoever wrote it and whatever its epoch; None where there is none."""
        if self.baseline is None:
            return None
        key = identity(value)
        item = self.baseline.users.get(key) or self.baseline.generated.get(key)
        if item is None and self.baseline.gangs:
            (stable,) = stable_identities([value])
            item = self.baseline.gangs.get(stable)
        return None if item is None else item.value


# Lists of objects, as kubectl and the API server print several: read as their entries. Source: Kubernetes API
# conventions, "Lists are named by appending List".


def taken_apart(items: Iterable[KubeObject]) -> tuple[KubeObject, ...]:
    """The objects, the entries of Lists in the place of these."""
    return tuple(entry for item in items for entry in (entries_of(item) or (item,)))


def put_back(items: Iterable[KubeObject], kept: Iterable[KubeObject]) -> tuple[KubeObject, ...]:
    """Of `items`, each List as it is, and for the others what a render kept of them, of which `kept` are the answers.

    A render keeps nothing of what an earlier one wrote.
    """
    answers = iter([item for item in kept if not item.source.entry])
    return tuple([item if entries_of(item) else next(answers) for item in items if not is_generated(item.value)])


def is_list(item: KubeObject) -> bool:
    """Whether the kind is that of a List."""
    kind = item.value.get("kind")
    return isinstance(kind, str) and kind.endswith("List")


def entries_of(item: KubeObject) -> tuple[KubeObject, ...]:
    """The objects within a List, also within one that is an entry of it; nothing for anything else.

    Entries of a list of one kind need not repeat what they are.
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
    """Where each entry of a List stands: a text of its own, where the list can be cut, so that no look reads it all."""
    source = item.source
    places: list[FieldPath] = [(*source.entry, "items", index) for index in range(number)]
    pieces = _pieces(item.text)
    if not pieces or len(pieces) != number:
        return [source._replace(root=(*source.root, *place[-2:]), entry=place) for place in places]
    # What stands around the list moves its lines down and to the right, all alike.
    known, cut_at = item.location(("items", 0)), text_location(pieces[0], ())
    lines, margin = known.line - cut_at.line, " " * (known.column - cut_at.column)
    return [
        Source(margin + piece.text.replace("\n", f"\n{margin}"), (0,), piece.line + lines, 1, known.file, place)
        for piece, place in zip(pieces, places, strict=True)
    ]


def _pieces(text: str) -> list[Source]:
    """The lines of each entry of the List that `text` is; nothing where they cannot be cut."""
    from krmfn.envelope import cut

    try:
        pieces = [piece.source for piece in cut(text).items]
    except ValueError:
        return []
    return pieces if all(piece.root == (0,) and piece.column == 1 for piece in pieces) else []
