"""Kubernetes objects: places within them, their identity, and the items of an input by kind.

Those of the baseline stand beside them, and the entries of Lists are items of their own.
"""

from __future__ import annotations

import re

from krmfn.envelope import cut
from krmfn.fieldpath import FieldError, FieldPath, format_path
from krmfn.hints import TYPE_CHECKING
from krmfn.kubeobject import KubeObject, Location, ObjectId, Source, text_location
from krmfn.record import Record
from krmfn.result import ResourceRef
from krmfn.yamltext import YamlError
from packwise.findings.finding import Finding, Problem, Rule, from_field_error
from packwise.objects.kinds import CLUSTER_SCOPED, GANGS, GENERATED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from krmfn.result import Severity
    from krmfn.value import Value
    from packwise.findings.finding import Stage


# Places in objects, the origin of what is made from one, and the objects that a render makes.


def place_text(item: KubeObject) -> str:
    """Where the object stands as a message names it; a line of stdin, of which nobody has the text, with the object."""
    return _with_object(item.location(), item)


def _with_object(at: Location, item: KubeObject) -> str:
    return str(at) if at.file is not None or not item.kind else f"{at} {ResourceRef.of(item.id)}"


class Derived(Record):
    """A text made from the document that stands in the file, as a filled-in template is.

    `lines` are, for each line of `text`, the 1-based line of the document that it comes from; none: the same one.
    """

    text: str
    lines: tuple[int, ...] = ()


class Place(Record):
    """A mapping in `item` at `path`. With `embedded`, the text at `path` is a YAML document that is, or holds, it.

    `inner` is the path of the mapping within that document. With `texts`, each entry of the mapping at `path` is such a
    text: the data of a ConfigMap. Where the document is read from a text made of it, that is `derived`.
    """

    item: KubeObject
    path: FieldPath = ()
    embedded: bool = False
    inner: FieldPath = ()
    texts: bool = False
    derived: Derived | None = None

    def below(self, *steps: str | int) -> Place:
        """The place of a part of the mapping."""
        if self.embedded:
            return self.replace(inner=(*self.inner, *steps))
        if self.texts:
            long = f"spec.{steps[0]}"
            key = steps[0] if self.item.get((*self.path, long)) is None else long
            return Place(self.item, (*self.path, key), True, steps[1:])
        return Place(self.item, (*self.path, *steps), inner=self.inner, derived=self.derived)

    @property
    def description(self) -> str:
        """The place as a message names it: file, line, column and field; in stdin the object too."""
        return f"{_with_object(self.location(), self.item)} {self.field}".rstrip()

    @property
    def field(self) -> str:
        """The path in the object, and that within an embedded document."""
        return format_path(self.path) + (f" ({format_path(self.inner)})" if self.inner else "")

    def finding(
        self,
        rule: Rule,
        message: str,
        *,
        severity: Severity | None = None,
        operator_message: str | None = None,
        stage: Stage | None = None,
        order: int = 0,
        at_key: bool = False,
    ) -> Finding:
        """A finding of `rule` about this place."""
        problem = Problem((), message, operator_message, stage, at_key=at_key)
        return self.about(problem, rule, severity=severity, order=order)

    def about(self, problem: Problem, rule: Rule, *, severity: Severity | None = None, order: int = 0) -> Finding:
        """`problem`, whose path is below this place, as a finding by `rule`."""
        place, message = self.below(*problem.path) if problem.path else self, problem.message
        if place.embedded and place.inner:
            message = f"{format_path(place.inner)} {message}"
        return Finding.about(
            problem.replace(path=place.path, message=message),
            place.item,
            rule,
            severity=severity,
            order=order,
            location=place.location(key=problem.at_key) if place.embedded or place.derived is not None else None,
        )

    def location(self, *, key: bool = False) -> Location:
        """Where the place is, or with `key` its key; within an embedded document, where that can be told."""
        if not self.embedded and self.derived is None:
            return self.item.location(self.path)
        from krmfn.yamltext.places import nearest

        text = self.item.get(self.path) if self.derived is None else self.derived.text
        inner = self.inner if self.embedded else self.path
        try:
            line, column = nearest(text, inner, key=key and not self.embedded) if isinstance(text, str) else (0, 0)
        except YamlError:
            line, column = 0, 0
        if self.derived is not None and self.derived.lines and line:
            line = self.derived.lines[line - 1]
        return self.location_of(line, column)

    def location_of(self, line: int, column: int = 1) -> Location:
        """Where that line of the document stands in the file; the text that holds it where no line of it stands alone.

        Line and column are 1-based.
        """
        origin = self.item.origin
        if not self.embedded:
            return Location(origin.file, origin.line + max(line, 1) - 1, max(column, 1))
        from krmfn.yamltext.places import starts

        outer = self.item.location(self.path)
        try:
            (start,) = starts(origin.text, [(*origin.root, *self.path)])
        except YamlError:
            return outer
        # Only in a literal block does a line of the document stand on a line of its own.
        if start is None or line < 1 or not origin.text.startswith("|", start):
            return outer
        first = _first_line(origin.text, start)
        name = self.item.location(self.path, key=True)
        before = origin.text[origin.text.rfind("\n", 0, start) + 1 : start]
        indent = len(first) - len(first.lstrip()) - (len(before) - len(before.lstrip(" -")))
        return Location(outer.file, outer.line + line, name.column + max(indent, 0) + column - 1)


_LINE = re.compile(r"\n([^\S\n]*+\S.*)")


def _first_line(text: str, start: int) -> str:
    """The first line after that of `start` which is not blank; "" where there is none."""
    line = _LINE.search(text, start)
    return line[1] if line else ""


class Origin(Record):
    """Where in the input a node is written, and the rule that makes the node from it.

    `rule` names a section of the operator's specification. `fields` maps a field of the node to the path, below the
    place, of the field it is read from; or to the place of that field, where it stands elsewhere.
    """

    place: Place
    rule: str
    fields: Mapping[str, FieldPath | Place] = {}

    def of(self, field: str) -> Origin:
        """The origin of one field of the node; the node's own where no field is named for it."""
        steps = self.fields.get(field)
        if steps is None:
            return self
        return Origin(steps if isinstance(steps, Place) else self.place.below(*steps), self.rule)


class Generated(Record):
    """An object to write: `value` is the manifest without packwise's own annotations.

    `source` says in words what it is rendered from, `subject` is that object (None: the configuration has none);
    `notes` are further annotations, their keys without the prefix `packwise.dev/`. `recreate`: the API server changes
    no such object, deleting and creating it is the only way, and this one keeps every rule of its CRD.
    `emit_by_default`: written where `spec.emit` is not set, whatever kinds are the default. `judged`: the cluster's CRD
    has judged it already. `preview`: for review only, since somebody in the cluster makes and owns it. `origins`
    computes the origin of each part of the manifest.
    """

    value: Mapping[str, Value]
    source: str
    subject: KubeObject | None
    origins: Callable[[], Mapping[FieldPath, Origin]]
    notes: Mapping[str, str] = {}
    recreate: bool = False
    emit_by_default: bool = False
    judged: bool = False
    preview: bool = False


# Group, kind, namespace and name of an object, who generated it, and the key of a gang whatever its epoch is.

Identity = tuple[str, str, str, str]
"""API group, kind, namespace and name, whatever the version."""

RENDERED_FROM = "packwise.dev/rendered-from"
"""Annotation of every generated object; an object of a generated kind with it is packwise's to change and remove."""

_GENERATED = frozenset(kind.key for kind in GENERATED)

_NO_FIELDS: Mapping[str, Value] = {}


def identity(value: Mapping[str, Value]) -> Identity:
    """The identity of an object; parts that are absent or no strings are "", a blank namespace is "default"."""
    metadata = value.get("metadata")
    names = metadata if isinstance(metadata, dict) else _NO_FIELDS
    kind, version, name = value.get("kind"), value.get("apiVersion"), names.get("name")
    known = kind if isinstance(kind, str) else ""
    namespace = names.get("namespace")
    group, slash, _ = version.partition("/") if isinstance(version, str) else ("", "", "")
    return (
        group if slash else "",
        known,
        "" if known in CLUSTER_SCOPED else _namespace(namespace),
        name if isinstance(name, str) else "",
    )


def is_placeholder(text: str) -> bool:
    """True if the text, or a part of it, is still to be filled in: `${NAME}`, `{{ name }}`, `<your-name>`."""
    return "${" in text or "{{" in text or ("<" in text and _has_words_in_angles(text))


def _has_words_in_angles(text: str) -> bool:
    """True if the text asks its reader to replace something, as in `<your-namespace>`."""
    words = text.partition("<")[2].partition(">")
    return bool(words[1]) and words[0][:1].isalpha() and all(each.isalnum() or each in " _.-" for each in words[0])


def format_identity(key: Identity) -> str:
    """`PodGang team-a/a-0`: the identity as messages name it."""
    _, kind, namespace, name = key
    return ObjectId("", kind, namespace, name).short


def is_generated(value: Mapping[str, Value]) -> bool:
    """True if an earlier render generated this object."""
    metadata = value.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    return isinstance(annotations, dict) and RENDERED_FROM in annotations and identity(value)[:2] in _GENERATED


def _namespace(namespace: Value) -> str:
    return namespace if isinstance(namespace, str) and namespace.strip() else "default"


# What tells a PodGang of a workload from the others whatever its epoch is. Source: spec/grove-releases.md#3.4. The
# epoch in a name is the moment at which the operator made the gang, so two renders, or a render and a cluster, agree
# in what a gang is and not in its name. A PodGroup of a PodGang has its labels, and the same key.

EPOCH = "grove.io/epoch"
"""Label of PodGangs from PodGangMaps on: the epoch of their entry."""

GENERATION = "grove.io/podcliqueset-generation-hash"
"""Label: the generation of the PodCliqueSet."""

REPLICA = "grove.io/podcliqueset-replica-index"
"""Label: the replica of the PodCliqueSet."""

ROLE = "grove.io/podgang-role"
"""Label: the role of the entry."""

PART_OF = "app.kubernetes.io/part-of"
"""Label of what belongs to a PodCliqueSet: its name."""

PLACEHOLDER = "spec/grove-releases.md#placeholder"
"""The rule of an epoch that nothing tells yet."""

_ANCHOR = "Anchor"
_LONGEST_LABEL = 63
_NO_LABELS: Mapping[str, Value] = {}
_KINDS = frozenset(kind.key for kind in GANGS)


def stable_identities(values: Iterable[Mapping[str, Value]]) -> list[Identity]:
    """The identities; those of gangs with an epoch under a name without it, which no object has.

    Several anchors of one replica are numbered in the order of their epochs.
    """
    values = list(values)
    if not any(map(has_epoch, values)):
        return [identity(value) for value in values]
    listed = [(value, _labels(value)) if has_epoch(value) else (value, None) for value in values]
    keys = [identity(value) if labels is None else _stable(value, labels) for value, labels in listed]
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
    """The identities without an epoch of gangs, of which namespace, name and labels are given."""
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
    """The name of a gang without the epoch in it; the name itself where there is none."""
    epoch = labels.get(EPOCH, "")
    before = f"{labels.get(PART_OF, '')}-{labels.get(REPLICA, '')}-"
    if not epoch or not f"{name}-".startswith(f"{before}{epoch}-"):
        return name
    return f"{before}{name.removeprefix(before).removeprefix(epoch).removeprefix('-')}".rstrip("-")


def has_epoch(value: Mapping[str, Value]) -> bool:
    """True if the object is a gang with an epoch in its name: others are never parsed as one."""
    # Nearly every object is done with after this look.
    if EPOCH not in _written_labels(value) or identity(value)[:2] not in _KINDS:
        return False
    labels = _labels(value)
    if not all(labels.get(key) for key in (EPOCH, REPLICA, ROLE, PART_OF)):
        return False
    epoch = labels[EPOCH]
    is_number = len(epoch) <= _LONGEST_LABEL and epoch.isascii() and epoch.isdecimal()
    return is_number and f"{identity(value)[3]}-".startswith(_prefix(labels))


def _stable(value: Mapping[str, Value], labels: Mapping[str, str]) -> Identity:
    group, kind, namespace, name = identity(value)
    part = "anchor" if labels[ROLE] == _ANCHOR else name.removeprefix(_prefix(labels))
    return group, kind, namespace, f"{labels[PART_OF]}-{labels[REPLICA]}_{part}"


def _add_number(key: Identity, number: int) -> Identity:
    return (*key[:3], f"{key[3]}_{number}") if number else key


def _prefix(labels: Mapping[str, str]) -> str:
    return f"{labels[PART_OF]}-{labels[REPLICA]}-{labels[EPOCH]}-"


def _labels(value: Mapping[str, Value]) -> Mapping[str, str]:
    """The labels that are texts."""
    return {key: text for key, text in _written_labels(value).items() if isinstance(text, str)}


def _written_labels(value: Mapping[str, Value]) -> Mapping[str, Value]:
    metadata = value.get("metadata")
    labels = metadata.get("labels") if isinstance(metadata, dict) else None
    return labels if isinstance(labels, dict) else _NO_LABELS


READABLE = Rule("readable", "Every item is an object that Kubernetes tools read.", "spec/clients.md#4")
ONCE = Rule("object-once", "A workload or topology stands in the input once.", "spec/packwise.md#1.4")
RULES = (READABLE, ONCE)
"""Rules of every item."""

_GANG_KINDS = frozenset(kind.name for kind in GANGS)


class Index(Record):
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

    def has_word(self, word: str) -> bool:
        """True if the word stands in a text of the users' objects."""
        # Entries of one list share its text.
        texts = {item.source.text for item in self.users.values() if item.written}
        return any(word in text for text in texts)


def _gangs(items: Mapping[Identity, KubeObject]) -> dict[Identity, KubeObject]:
    """The gangs with an epoch, by the identity that they have without it."""
    gangs = [item for key, item in items.items() if key[1] in _GANG_KINDS and has_epoch(item.value)]
    return dict(zip(stable_identities([item.value for item in gangs]), gangs, strict=True))


def repetitions(items: Iterable[KubeObject]) -> list[Finding]:
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


class Inventory(Record):
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
    return tuple(item if entries_of(item) else next(answers) for item in items if not is_generated(item.value))


def is_list(item: KubeObject) -> bool:
    """True if the kind is that of a List."""
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
        return [source.replace(root=(*source.root, *place[-2:]), entry=place) for place in places]
    # What stands around the list moves its lines down and to the right, all alike.
    known, cut_at = item.location(("items", 0)), text_location(pieces[0], ())
    lines, margin = known.line - cut_at.line, " " * (known.column - cut_at.column)
    return [
        Source(margin + piece.text.replace("\n", f"\n{margin}"), (0,), piece.line + lines, 1, known.file, place)
        for piece, place in zip(pieces, places, strict=True)
    ]


def _pieces(text: str) -> list[Source]:
    """The lines of each entry of the List that `text` is; nothing where they cannot be cut."""
    try:
        pieces = [piece.source for piece in cut(text).items]
    except ValueError:
        return []
    return pieces if all(piece.root == (0,) and piece.column == 1 for piece in pieces) else []


# Compact JSON for annotations, without the import of a JSON library where the texts are plain.


def json_string(text: str) -> str:
    """`text` as a JSON string."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    import json

    return json.dumps(text, ensure_ascii=False)


def json_object(fields: Mapping[str, str]) -> str:
    """A JSON object of these fields, in their order; the values are JSON already."""
    return "{" + ",".join([f"{json_string(name)}:{value}" for name, value in fields.items()]) + "}"


def json_list(entries: Iterable[str]) -> str:
    """A JSON array of these entries, which are JSON already."""
    return "[" + ",".join(entries) + "]"
