"""The identity of an object, and an index of the input and of its baseline by kind and identity.

Newer releases of Grove write an epoch into the name of a gang. The stable identity of a gang has no epoch. The index
separates generated objects from users' objects.
"""

from __future__ import annotations

import re

from krmfn.fieldpath import FieldError
from krmfn.hints import TYPE_CHECKING, Record
from krmfn.kubeobject import KubeObject, ObjectId
from packwise.findings import Finding, Rule, from_field_error, place_text
from packwise.objects.kinds import (
    CLUSTER_SCOPED,
    CLUSTER_TOPOLOGY,
    CLUSTER_TOPOLOGY_BINDING,
    GANGS,
    GENERATED,
    KINDS,
    POD,
    TRAIN_JOB,
    WORKLOADS,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from packwise.findings import Origin


Identity = tuple[str, str, str, str]
"""API group, kind, namespace and name. The version does not matter."""


RENDERED_FROM = "packwise.dev/rendered-from"
"""Annotation of every generated object. packwise owns an object of a generated kind that has it, and may change or
remove it.
"""


_GENERATED = frozenset(kind.key for kind in GENERATED)


_NO_FIELDS: Mapping[str, Value] = {}


def identity(value: Mapping[str, Value]) -> Identity:
    """Return the identity of an object. A missing or malformed namespace is "default". Other such parts are ""."""
    metadata = value.get("metadata")
    names = metadata if isinstance(metadata, dict) else _NO_FIELDS
    group, kind = group_and_kind(value)
    name = names.get("name")
    namespace = "" if kind in CLUSTER_SCOPED else _namespace(names.get("namespace"))
    return group, kind, namespace, name if isinstance(name, str) else ""


def group_and_kind(value: Mapping[str, Value]) -> tuple[str, str]:
    """Return API group and kind of an object. Missing parts and parts that are not strings are ""."""
    kind, version = value.get("kind"), value.get("apiVersion")
    group, slash, _ = version.partition("/") if isinstance(version, str) else ("", "", "")
    return group if slash else "", kind if isinstance(kind, str) else ""


def shown_name(value: Mapping[str, Value]) -> str:
    """Return the name of an object for messages, or `prefix-*` if the API server generates the name."""
    name = identity(value)[3]
    metadata = value.get("metadata")
    prefix = metadata.get("generateName") if isinstance(metadata, dict) else None
    return f"{prefix}*" if not name and isinstance(prefix, str) and prefix else name


def format_object(value: Mapping[str, Value]) -> str:
    """Return kind, namespace and name of an object as messages show them: `Job team-a/train-*`."""
    _, kind, namespace, _ = identity(value)
    return ObjectId("", kind, namespace, shown_name(value)).short_text


def is_placeholder(text: str) -> bool:
    """Return True if the text contains a placeholder: `${NAME}`, `{{ name }}`, `__NAME__`, `<your-name>`."""
    return (
        "${" in text
        or "{{" in text
        or ("__" in text and re.search(r"__[A-Z][A-Z0-9_]*__", text) is not None)
        or ("<" in text and _has_words_in_angles(text))
    )


def _has_words_in_angles(text: str) -> bool:
    """Return True if the first part in angle brackets is made of words, as in `<your-namespace>`."""
    words = text.partition("<")[2].partition(">")
    return bool(words[1]) and words[0][:1].isalpha() and all(each.isalnum() or each in " _.-" for each in words[0])


def format_identity(key: Identity) -> str:
    """Return kind, namespace and name of an identity as messages show them: `PodGang team-a/a-0`."""
    _, kind, namespace, name = key
    return ObjectId("", kind, namespace, name).short_text


def is_generated(value: Mapping[str, Value]) -> bool:
    """Return True if an earlier render generated this object."""
    metadata = value.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    return isinstance(annotations, dict) and RENDERED_FROM in annotations and group_and_kind(value) in _GENERATED


def _namespace(namespace: Value) -> str:
    return namespace if isinstance(namespace, str) and namespace.strip() else "default"


EPOCH = "grove.io/epoch"
"""Label of a PodGang that is built from an entry of a PodGangMap. The value is the epoch of the entry."""


GENERATION = "grove.io/podcliqueset-generation-hash"
"""Label with the generation hash of the PodCliqueSet."""


REPLICA = "grove.io/podcliqueset-replica-index"
"""Label with the replica index of the PodCliqueSet."""


ROLE = "grove.io/podgang-role"
"""Label with the role of the PodGangMap's entry, for example `Anchor`."""


PART_OF = "app.kubernetes.io/part-of"
"""Label with the name of the PodCliqueSet to which an object belongs."""


PLACEHOLDER = "spec/grove-releases.md#placeholder"
"""The rule of an epoch that is not known yet."""


_ANCHOR = "Anchor"


_MAX_LABEL_LENGTH = 63


_NO_LABELS: Mapping[str, Value] = {}


_KINDS = frozenset(kind.key for kind in GANGS)


def stable_identities(values: Iterable[Mapping[str, Value]]) -> list[Identity]:
    """Return the identity of each object. For a gang with an epoch, the name is replaced by a name without epoch.

    No real object can have that name, because it contains an underscore. If a replica has several anchors, the names
    of the later epochs end with a number.
    """
    values = list(values)
    if not any(map(has_epoch, values)):
        return [identity(value) for value in values]
    listed = [(value, _labels(value)) if has_epoch(value) else (value, None) for value in values]
    keys = [identity(value) if labels is None else _stable_identity(value, labels) for value, labels in listed]
    anchors: dict[Identity, set[int]] = {}
    for key, (_, labels) in zip(keys, listed, strict=True):
        if labels is not None and labels[ROLE] == _ANCHOR:
            anchors.setdefault(key, set()).add(int(labels[EPOCH]))
    return [
        key
        if key not in anchors or labels is None
        else _add_number(key, sorted(anchors[key]).index(int(labels[EPOCH])))
        for key, (_, labels) in zip(keys, listed, strict=True)
    ]


def gang_identities(gangs: Iterable[tuple[str, str, Mapping[str, str]]]) -> list[Identity]:
    """Return the stable identity of each gang. A gang is given by its namespace, name and labels."""
    return stable_identities(
        [
            {
                "apiVersion": GANGS[0].api_version,
                "kind": GANGS[0].name,
                "metadata": {"namespace": namespace, "name": name, "labels": dict(labels)},
            }
            for namespace, name, labels in gangs
        ]
    )


def without_epoch(name: str, labels: Mapping[str, str]) -> str:
    """Return the name of a gang without its epoch. A name without an epoch is returned as it is."""
    epoch = labels.get(EPOCH, "")
    before = f"{labels.get(PART_OF, '')}-{labels.get(REPLICA, '')}-"
    if not epoch or not f"{name}-".startswith(f"{before}{epoch}-"):
        return name
    return f"{before}{name.removeprefix(before).removeprefix(epoch).removeprefix('-')}".rstrip("-")


def has_epoch(value: Mapping[str, Value]) -> bool:
    """Return True if the object is a gang with an epoch in its labels and in its name.

    An object without these labels has no epoch, whatever its name is.
    """
    # Nearly every object fails this first, cheap check.
    if EPOCH not in _written_labels(value) or identity(value)[:2] not in _KINDS:
        return False
    labels = _labels(value)
    if not all(labels.get(key) for key in (EPOCH, REPLICA, ROLE, PART_OF)):
        return False
    epoch = labels[EPOCH]
    is_number = len(epoch) <= _MAX_LABEL_LENGTH and epoch.isascii() and epoch.isdecimal()
    return is_number and f"{identity(value)[3]}-".startswith(_prefix(labels))


def _stable_identity(value: Mapping[str, Value], labels: Mapping[str, str]) -> Identity:
    group, kind, namespace, name = identity(value)
    part = "anchor" if labels[ROLE] == _ANCHOR else name.removeprefix(_prefix(labels))
    return group, kind, namespace, f"{labels[PART_OF]}-{labels[REPLICA]}_{part}"


def _add_number(key: Identity, number: int) -> Identity:
    return (*key[:3], f"{key[3]}_{number}") if number else key


def _prefix(labels: Mapping[str, str]) -> str:
    return f"{labels[PART_OF]}-{labels[REPLICA]}-{labels[EPOCH]}-"


def _labels(value: Mapping[str, Value]) -> Mapping[str, str]:
    """Return the labels with a string value."""
    return {key: text for key, text in _written_labels(value).items() if isinstance(text, str)}


def _written_labels(value: Mapping[str, Value]) -> Mapping[str, Value]:
    metadata = value.get("metadata")
    labels = metadata.get("labels") if isinstance(metadata, dict) else None
    return labels if isinstance(labels, dict) else _NO_LABELS


READABLE = Rule(
    "readable",
    "A document is not a Kubernetes object, or different tools would read different values.",
    "spec/clients.md#4",
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
    """The objects of an input. Generated objects are separate from users' objects.

    Items that cannot be read are only in `findings`.
    """

    users: Mapping[Identity, KubeObject] = {}
    """The users' objects. If several have one identity, the first counts."""
    generated: Mapping[Identity, KubeObject] = {}
    """The objects of an earlier render."""
    by_kind: Mapping[tuple[str, str], tuple[KubeObject, ...]] = {}
    """Users' objects by API group and kind. A malformed object is included only if its kind has a decoder, because the
    decoder reports each wrong field.
    """
    findings: tuple[Finding, ...] = ()
    """An error for each item that cannot be read."""
    gangs: Mapping[Identity, KubeObject] = {}
    """Gangs with an epoch, by their stable identity. A generated gang replaces a user's gang of the same identity."""
    malformed: tuple[KubeObject, ...] = ()
    """Users' objects with a name, label or annotation that is not a string."""
    repeated: Mapping[Identity, tuple[KubeObject, ...]] = {}
    """All users' objects of each identity that several objects have."""

    @classmethod
    def of(cls, items: Iterable[KubeObject]) -> Index:
        """Return the index of `items`. If two items have the same identity, the first counts."""
        users: dict[Identity, KubeObject] = {}
        generated: dict[Identity, KubeObject] = {}
        by_kind: dict[tuple[str, str], list[KubeObject]] = {}
        findings: list[Finding] = []
        malformed: list[KubeObject] = []
        repeated: dict[Identity, list[KubeObject]] = {}
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
            if users.setdefault(key, item) is not item:
                repeated.setdefault(key, [users[key]]).append(item)
            metadata = value.get("metadata") or _NOTHING
            is_malformed = not isinstance(metadata, dict) or not are_strings(metadata)
            if is_malformed:
                malformed.append(item)
            if not is_malformed or key[:2] in _DECODED:
                by_kind.setdefault(key[:2], []).append(item)
        grouped = {kind: tuple(members) for kind, members in by_kind.items()}
        gangs = {**_gangs(users), **_gangs(generated)}
        together = {key: tuple(members) for key, members in repeated.items()}
        return cls(users, generated, grouped, tuple(findings), gangs, tuple(malformed), together)

    def of_kind(self, group: str, kind: str) -> tuple[KubeObject, ...]:
        """Return the users' objects of this kind, in the order of the input."""
        return self.by_kind.get((group, kind), ())

    def has_word(self, word: str) -> bool:
        """Return True if the text of any user's object contains the word."""
        # All entries of a List share the text of the List.
        texts = {item.source.text for item in self.users.values() if item.has_source}
        return any(word in text for text in texts)


def _gangs(items: Mapping[Identity, KubeObject]) -> dict[Identity, KubeObject]:
    """Return the gangs with an epoch, by their stable identity."""
    gangs = [item for key, item in items.items() if key[1] in _GANG_KINDS and has_epoch(item.value)]
    return dict(zip(stable_identities([item.value for item in gangs]), gangs, strict=True))


def are_strings(metadata: Mapping[str, Value]) -> bool:
    """Return True if names, labels and annotations are strings.

    The API server requires this of every kind of object.
    """
    texts = [metadata.get(name) for name in _TEXTS]
    for name in _MAPPINGS:
        entries = metadata.get(name)
        texts += entries.values() if isinstance(entries, dict) else [] if entries is None else [0]
    return all(text is None or isinstance(text, str) for text in texts)


def repetitions(items: Iterable[KubeObject]) -> list[Finding]:
    """Return an error for each item with the same identity as an earlier item.

    Items with a placeholder in their namespace or name are ignored.
    """
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
    """The items and documents of the input and of its baseline."""

    items: Index
    """The objects of the input."""
    baseline: Index | None = None
    """The objects before the change, or None without a baseline."""
    documents: tuple[KubeObject, ...] = ()
    """Documents of other tools in the input. They are not Kubernetes objects."""
    documents_before: tuple[KubeObject, ...] = ()
    """Documents of other tools in the baseline."""
    pairs: Mapping[int, KubeObject | None] = {}
    """For each object of a repeated identity: its Python `id`, and its counterpart in the baseline or None."""

    @classmethod
    def of(
        cls,
        items: Index,
        baseline: Index | None = None,
        documents: tuple[KubeObject, ...] = (),
        documents_before: tuple[KubeObject, ...] = (),
    ) -> Inventory:
        """Return the inventory of both indices. Objects with a repeated identity are paired by their files."""
        pairs: dict[int, KubeObject | None] = {}
        for key in () if baseline is None else dict.fromkeys([*items.repeated, *baseline.repeated]):
            pairs.update(pair_by_file(_members(items, key), _members(baseline, key)))
        return cls(items, baseline, documents, documents_before, pairs)

    def baseline_object(self, now: KubeObject | Mapping[str, Value]) -> Mapping[str, Value] | None:
        """Return the counterpart of an object in the baseline. Return None if the object is new.

        The counterpart may be a user's object or a generated one. A gang may have another epoch. If several objects
        have this identity, their files decide. An object without a name is always new: the API server generates the
        name.
        """
        if self.baseline is None:
            return None
        value = now.value if isinstance(now, KubeObject) else now
        key = identity(value)
        if not key[3]:
            return None
        if id(now) in self.pairs:
            paired = self.pairs[id(now)]
            return None if paired is None else paired.value
        item = self.baseline.users.get(key) or self.baseline.generated.get(key)
        if item is None and self.baseline.gangs:
            (stable,) = stable_identities([value])
            item = self.baseline.gangs.get(stable)
        return None if item is None else item.value


def _members(index: Index | None, key: Identity) -> tuple[KubeObject, ...]:
    if index is None or key not in index.users:
        return ()
    return index.repeated.get(key, (index.users[key],))


def pair_by_file(after: Iterable[KubeObject], before: Iterable[KubeObject]) -> dict[int, KubeObject | None]:
    """Map the `id` of each object in `after` to its counterpart in `before`, or to None if it has no counterpart.

    Each object of `before` is the counterpart of at most one object. Objects are paired by the longest common end of
    their paths, because a change can move files.
    """
    waiting = [(item, _steps(item.file)) for item in after]
    earlier = [(item, _steps(item.file)) for item in before]
    pairs: dict[int, KubeObject | None] = {id(item): None for item, _ in waiting}
    for length in range(max([len(steps) for _, steps in waiting], default=0), -1, -1):
        by_end: dict[tuple[str, ...], list[KubeObject]] = {}
        for item, steps in reversed(earlier):
            by_end.setdefault(steps[:length], []).append(item)
        for item, steps in waiting:
            if pairs[id(item)] is None and (same := by_end.get(steps[:length])):
                pairs[id(item)] = same.pop()
        taken = {id(item) for item in pairs.values()}
        earlier = [each for each in earlier if id(each[0]) not in taken]
        if not earlier:
            break
    return pairs


def _steps(file: str | None) -> tuple[str, ...]:
    """Return the names of a path, the last one first. A commit before the path is removed."""
    return tuple((file or "").rpartition(":")[2].split("/")[::-1])


_NOT_FOR_KAI = frozenset(kind.key for kind in KINDS if kind is not POD)

KAI_WORDS = ("schedulerName", "kai.scheduler/", "batchScheduler")
"""Every workload with a scheduler or a key of KAI contains one of these texts."""

_TYPED, _TYPES = "kubeflow.org", "ReplicaSpecs"
"""The group of Kubeflow's training jobs, and the suffix of the field with their replicas.

A job without such a field has no pod template.
"""


def kai_candidates(index: Index) -> Iterator[KubeObject]:
    """Yield the users' objects that KAI may group. Only their texts are searched.

    The runtime of a TrainJob names the scheduler. If any object is a candidate, every TrainJob is one.
    """
    seen: dict[str, bool] = {}
    waiting: list[KubeObject] = []
    is_any = False
    for key, items in index.by_kind.items():
        if key in _NOT_FOR_KAI:
            continue
        for item in items:
            if not item.has_source or (key[0] == _TYPED and _TYPES not in item.source.text):
                is_any = True
                yield item
                continue
            # The objects of a file share its text.
            text = item.source.text
            if text not in seen:
                seen[text] = any(word in text for word in KAI_WORDS)
            if seen[text]:
                is_any = True
                yield item
            elif key == TRAIN_JOB:
                waiting.append(item)
    yield from waiting if is_any else ()


def has_kai_candidates(index: Index) -> bool:
    """Return True if KAI may group any of the users' objects."""
    return next(kai_candidates(index), None) is not None


class Generated(Record):
    """An object to write."""

    value: Mapping[str, Value]
    """The manifest without packwise's own annotations."""
    source: str
    """The object from which this one is made, in words."""
    subject: KubeObject | None
    """The object from which this one is made, or None without a configuration."""
    origins: Callable[[], Mapping[FieldPath, Origin]]
    """Compute the origin of each part of the manifest."""
    notes: Mapping[str, str] = {}
    """Further annotations. The keys lack the prefix `packwise.dev/`."""
    recreate: bool = False
    """True if the API server refuses updates, so that the object must be deleted and created again. It is false for an
    object that the CRD may refuse.
    """
    emit_by_default: bool = False
    """True if the object is written even if `spec.emit` is not set."""
    validated: bool = False
    """True if the cluster's CRD has already checked the object."""
    preview: bool = False
    """True if the object is only for review, because a component of the cluster creates and owns the real one."""
