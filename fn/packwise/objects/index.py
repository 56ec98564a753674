"""The items of an input by kind and identity, and the baseline's items."""

from __future__ import annotations

from krmfn.fieldpath import FieldError
from krmfn.hints import TYPE_CHECKING
from krmfn.record import Record
from packwise.findings import Finding, Rule, from_field_error
from packwise.objects.identity import Identity, has_epoch, identity, is_generated, is_placeholder, stable_identities
from packwise.objects.kinds import CLUSTER_TOPOLOGY, CLUSTER_TOPOLOGY_BINDING, GANGS, WORKLOADS
from packwise.objects.place import place_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value


READABLE = Rule(
    "readable", "A document is not a Kubernetes object, or tools would read it in different ways.", "spec/clients.md#4"
)


ONCE = Rule("object-once", "Two workloads or topologies of the input have the same name.", "spec/packwise.md#1.4")


RULES = (READABLE, ONCE)
"""Rules of every item."""


_NOTHING: Mapping[str, Value] = {}
_TEXTS = ("name", "namespace", "generateName")
_MAPPINGS = ("labels", "annotations")


_DECODED = frozenset(
    [
        *[kind.key for kind in (*WORKLOADS, CLUSTER_TOPOLOGY, CLUSTER_TOPOLOGY_BINDING)],
        ("packwise.dev", "TopologyRender"),
        ("operator.config.grove.io", "OperatorConfiguration"),
    ]
)
"""Kinds whose own decoders report every field of a wrong type."""

_GANG_KINDS = frozenset(kind.name for kind in GANGS)


class Index(Record):
    """`users` are the users' own objects and `generated` the objects of an earlier render.

    `findings` are about unreadable items, which are in neither. `gangs` are gangs with an epoch by their identity in
    all epochs. Generated ones win. `malformed` are users' objects with names, labels or annotations that are not
    strings. `by_kind` lacks these, so that no step reads them, unless a decoder of their kind reports them field by
    field.
    """

    users: Mapping[Identity, KubeObject] = {}
    generated: Mapping[Identity, KubeObject] = {}
    by_kind: Mapping[tuple[str, str], tuple[KubeObject, ...]] = {}
    findings: tuple[Finding, ...] = ()
    gangs: Mapping[Identity, KubeObject] = {}
    malformed: tuple[KubeObject, ...] = ()

    @classmethod
    def of(cls, items: Iterable[KubeObject]) -> Index:
        """Return the index of `items`. The first of two with one identity counts."""
        users: dict[Identity, KubeObject] = {}
        generated: dict[Identity, KubeObject] = {}
        by_kind: dict[tuple[str, str], list[KubeObject]] = {}
        findings: list[Finding] = []
        malformed: list[KubeObject] = []
        for item in items:
            try:
                value = item.value
            except FieldError as error:
                findings.append(from_field_error(error, item, READABLE.name))
                continue
            key = identity(value)
            if is_generated(value):
                generated.setdefault(key, item)
                continue
            users.setdefault(key, item)
            metadata = value.get("metadata") or _NOTHING
            is_malformed = not isinstance(metadata, dict) or not are_strings(metadata)
            if is_malformed:
                malformed.append(item)
            if not is_malformed or key[:2] in _DECODED:
                by_kind.setdefault(key[:2], []).append(item)
        grouped = {kind: tuple(members) for kind, members in by_kind.items()}
        gangs = {**_gangs(users), **_gangs(generated)}
        return cls(users, generated, grouped, tuple(findings), gangs, tuple(malformed))

    def of_kind(self, group: str, kind: str) -> tuple[KubeObject, ...]:
        """The users' own objects of this kind, in their order."""
        return self.by_kind.get((group, kind), ())

    def has_word(self, word: str) -> bool:
        """Return True if the word is in a text of the users' objects."""
        # Entries of one list share its text.
        texts = {item.source.text for item in self.users.values() if item.has_source}
        return any(word in text for text in texts)


def _gangs(items: Mapping[Identity, KubeObject]) -> dict[Identity, KubeObject]:
    """Return the gangs with an epoch, by their identity without it."""
    gangs = [item for key, item in items.items() if key[1] in _GANG_KINDS and has_epoch(item.value)]
    return dict(zip(stable_identities([item.value for item in gangs]), gangs, strict=True))


def are_strings(metadata: Mapping[str, Value]) -> bool:
    """Return True if names, labels and annotations are strings. The API server decodes them in every kind alike."""
    texts = [metadata.get(name) for name in _TEXTS]
    for name in _MAPPINGS:
        entries = metadata.get(name)
        texts += entries.values() if isinstance(entries, dict) else [] if entries is None else [0]
    return all(text is None or isinstance(text, str) for text in texts)


def repetitions(items: Iterable[KubeObject]) -> list[Finding]:
    """Return an error for each of `items` with the identity of an earlier one. Placeholders in names are skipped."""
    first: dict[Identity, KubeObject] = {}
    findings: list[Finding] = []
    for item in items:
        before = first.setdefault(identity(item.value), item)
        if before is not item and not is_placeholder("".join(identity(item.value)[2:])):
            message = (
                f"the input has this object twice; the other one is {place_text(before)}. Remove or rename one of them"
            )
            findings.append(Finding.of(ONCE, item, ("metadata", "name"), message))
    return findings


class Inventory(Record):
    """The items of the input. `baseline` are the items before the change, or None without a baseline.

    `documents` are other tools' documents and not Kubernetes objects. `documents_before` are the baseline's.
    """

    items: Index
    baseline: Index | None = None
    documents: tuple[KubeObject, ...] = ()
    documents_before: tuple[KubeObject, ...] = ()

    def before(self, value: Mapping[str, Value]) -> Mapping[str, Value] | None:
        """Return the object in the baseline with any author and epoch, or None."""
        if self.baseline is None:
            return None
        key = identity(value)
        item = self.baseline.users.get(key) or self.baseline.generated.get(key)
        if item is None and self.baseline.gangs:
            (stable,) = stable_identities([value])
            item = self.baseline.gangs.get(stable)
        return None if item is None else item.value
