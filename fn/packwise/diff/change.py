"""Objects and fields that differ between two states, compared by their requested values."""

from __future__ import annotations

import re
from enum import StrEnum

from krmfn.edit import is_same_json
from krmfn.fieldpath import format_path
from krmfn.hints import TYPE_CHECKING, Record
from krmfn.kubeobject import KubeObject, is_client_key
from packwise.lenient import entries, mapping, mapping_at, mappings, value_at
from packwise.objects.index import EPOCH, GENERATION, PART_OF, REPLICA, ROLE, has_epoch, identity, stable_identities
from packwise.objects.kinds import GANGS, KINDS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    from krmfn.value import Value
    from packwise.objects.index import Identity


class NamedEntry(Record):
    """A step into a list: the entry with that name, at any position."""

    name: str


Steps: TypeAlias = "tuple[str | int | NamedEntry, ...]"
"""A field path that can identify an entry of a list by its name."""


class FieldChange(Record):
    """The field at `path` changed from `before` to `after`. None means an absent field."""

    path: Steps
    before: Value
    after: Value


def format_steps(path: Steps) -> str:
    """Return the path for people: `spec.podgroups[web-0-router].minReplicas`. A name is in brackets."""
    out = ""
    for step in path:
        if isinstance(step, NamedEntry):
            out += f"[{step.name}]"
        else:
            text = format_path((step,))
            out += text if not out or text.startswith("[") else f".{text}"
    return out


def field_changes(before: Value, after: Value, path: Steps = ()) -> Iterator[FieldChange]:
    """Yield the differences between two values without nulls.

    A difference is a changed part, as small as possible, or a whole entry that is added or removed. If all entries of a
    list have names, they are matched by name in any order. Otherwise they are matched by position, or the list is one
    field if its length changed.
    """
    if not (path and isinstance(path[-1], NamedEntry)):
        before, after = _fill_empty(before, after), _fill_empty(after, before)
    if isinstance(before, dict) and isinstance(after, dict):
        for key in _merge_order(list(before), list(after)):
            yield from field_changes(before.get(key), after.get(key), (*path, key))
        return
    if isinstance(before, list) and isinstance(after, list):
        old, new = entries_by_name(before), entries_by_name(after)
        if old is not None and new is not None:
            for name in _merge_order(list(old), list(new)):
                yield from field_changes(old.get(name), new.get(name), (*path, NamedEntry(name)))
            return
        if len(before) == len(after) and all(isinstance(entry, dict) for entry in (*before, *after)):
            for at, entry in enumerate(before):
                yield from field_changes(entry, after[at], (*path, at))
            return
    if not is_same_json(before, after):
        yield FieldChange(path, before, after)


def _fill_empty(value: Value, other: Value) -> Value:
    """Return `value`. Return an empty value of that type if it is None and `other` is a mapping or a list of named
    entries.
    """
    if value is not None or not other:
        return value
    if isinstance(other, dict):
        return {}
    return [] if isinstance(other, list) and entries_by_name(other) is not None else None


def part_at(value: Value, step: str | int | NamedEntry) -> Value:
    """Return the part of `value` at one step of a path, or None."""
    if isinstance(step, str):
        return mapping(value).get(step)
    listed = entries(value)
    if isinstance(step, int):
        return listed[step] if step < len(listed) else None
    return (entries_by_name(listed) or {}).get(step.name)


def entries_by_name(listed: Sequence[Value]) -> dict[str, Mapping[str, Value]] | None:
    """Return the entries of a list by `name`. Return None if a name is missing or duplicated."""
    by_name: dict[str, Mapping[str, Value]] = {}
    for entry in listed:
        if not isinstance(entry, dict):
            return None
        name = entry.get("name")
        if not isinstance(name, str) or name in by_name:
            return None
        by_name[name] = entry
    return by_name


def _merge_order(before: Sequence[str], after: Iterable[str]) -> list[str]:
    """Return all names in the order of `after`. A name that is only in `before` comes after its predecessor in
    `before`.
    """
    order = list(after)
    known = set(order)
    place = 0
    for name in before:
        if name in known:
            place = order.index(name) + 1
        else:
            order.insert(place, name)
            place += 1
    return order


_METADATA = ("name", "namespace", "labels", "annotations")
"""The compared fields of `metadata`. The API server sets all other fields (uid, resourceVersion, managedFields,
finalizers, …).

Controllers add ownerReferences in the cluster. They are compared if both states have some.
"""

_OWNERS = "ownerReferences"
_OWNER = ("apiVersion", "kind", "name")
"""The fields that name an owner. Its uid differs from cluster to cluster."""

_TOOLS = (
    "packwise.dev/",
    "kubectl.kubernetes.io/",
    "argocd.argoproj.io/",
    "kustomize.toolkit.fluxcd.io/",
    "meta.helm.sh/",
)
"""Prefixes of labels and annotations in which tools record their own state. No scheduler reads them."""

_CLOCK_LABELS = (EPOCH, GENERATION)
_EPOCH_LABELS = (EPOCH, GENERATION, REPLICA, ROLE)

_FILLED = {(kind.key, steps[0]): steps[1] for kind in KINDS for steps in kind.server_filled if len(steps) > 1}
_FILLED_IN_SPEC = {
    kind.key: tuple(steps[0] for steps in kind.server_filled if len(steps) == 1) for kind in KINDS if kind.server_filled
}
_CONSTRAINTS = frozenset(kind.gang.constraint for kind in GANGS if kind.gang.constraint)


def counting_part(value: Mapping[str, Value]) -> dict[str, Value]:
    """Return the comparable part of `value`. A field that is null is absent, as for Kubernetes.

    Entries of lists keep their places.
    """
    parts: dict[str, Value] = {}
    for key, part in value.items():
        if key == "metadata":
            parts[key] = _metadata(part)
        elif key == "spec" and isinstance(part, dict):
            parts[key] = _spec(part, identity(value)[:2])
        elif key != "status" and part is not None:
            parts[key] = _without_nulls(part)
    return parts


def counted_both(value: Mapping[str, Value], other: Mapping[str, Value]) -> tuple[dict[str, Value], dict[str, Value]]:
    """Return the comparable parts of two states of an object.

    If both are gangs with epochs, their names and the labels with epoch and generation are ignored. If only one is such
    a gang, labels that only these gangs have are ignored.
    """
    both = has_epoch(value), has_epoch(other)
    mine, theirs = counting_part(value), counting_part(other)
    if _has_other_owners(value, other):
        mine, theirs = _with_owners(mine, value), _with_owners(theirs, other)
    if both == (True, True):
        return _without_metadata(mine, ("name",), _CLOCK_LABELS), _without_metadata(theirs, ("name",), _CLOCK_LABELS)
    if any(both):
        return _without_metadata(mine, (), _EPOCH_LABELS), _without_metadata(theirs, (), _EPOCH_LABELS)
    return mine, theirs


def with_counted(value: Mapping[str, Value], other: Mapping[str, Value]) -> dict[str, Value]:
    """Return `value` with its comparable part replaced by the comparable part of `other`."""
    theirs = counting_part(other)
    if has_epoch(value) and has_epoch(other):
        theirs["metadata"] = _with_own_epoch(counting_part(value)["metadata"], theirs["metadata"])
    owners = value_at(other, "metadata", _OWNERS) if _has_other_owners(value, other) else None
    result: dict[str, Value] = {key: part for key, part in value.items() if key == "status" or key in theirs}
    kind = identity(theirs)[:2]
    for key, part in theirs.items():
        mine = value.get(key)
        if key == "metadata":
            result[key] = {**_merged_metadata(mine, _metadata(part)), **({_OWNERS: owners} if owners else {})}
        elif key == "spec" and isinstance(part, dict):
            result[key] = _merged_spec(mapping(mine), part, kind)
        else:
            result[key] = part
    return result


def _has_other_owners(value: Mapping[str, Value], other: Mapping[str, Value]) -> bool:
    """Return True if both states have owners, and the owners differ."""
    mine, theirs = _owners(value), _owners(other)
    return bool(mine) and bool(theirs) and mine != theirs


def _owners(value: Mapping[str, Value]) -> list[Value]:
    return [{field: owner.get(field) for field in _OWNER} for owner in mappings(value_at(value, "metadata", _OWNERS))]


def _with_owners(parts: Mapping[str, Value], value: Mapping[str, Value]) -> dict[str, Value]:
    return {**parts, "metadata": {**mapping(parts.get("metadata")), _OWNERS: _owners(value)}}


def is_deeper(value: Value, most: int) -> bool:
    """Return True if mappings and lists are nested deeper than `most` levels."""
    level = [value]
    for _ in range(most):
        level = [
            part
            for each in level
            for part in (each.values() if isinstance(each, dict) else entries(each))
            if isinstance(part, (dict, list))
        ]
        if not level:
            return False
    return True


def _is_tools(key: str) -> bool:
    return key.startswith(_TOOLS) or is_client_key(key)


def _metadata(value: Value) -> dict[str, Value]:
    metadata: dict[str, Value] = {}
    for key in _METADATA:
        part = mapping(value).get(key)
        if key in ("labels", "annotations"):
            part = {name: text for name, text in mapping(part).items() if not _is_tools(name)}
        if part:
            metadata[key] = part
    return metadata


def _without_metadata(parts: dict[str, Value], fields: Collection[str], labels: Collection[str]) -> dict[str, Value]:
    """Return the comparable part of an object, without these fields and labels of its metadata."""
    counted = {**_metadata(parts["metadata"]), _OWNERS: mapping(parts["metadata"]).get(_OWNERS)}
    kept = {key: part for key, part in counted.items() if part is not None and key not in fields}
    own = kept.get("labels")
    if isinstance(own, dict):
        kept["labels"] = {key: text for key, text in own.items() if key not in labels}
    return {**parts, "metadata": kept}


def _with_own_epoch(mine: Value, theirs: Value) -> Value:
    """Return the metadata `theirs` of a gang, with the name, the epoch and the generation of `mine`."""
    own, new = _metadata(mine), _metadata(theirs)
    labels = {key: text for key, text in mapping_at(new, "labels").items() if key not in _CLOCK_LABELS}
    kept = {key: text for key, text in mapping_at(own, "labels").items() if key in _CLOCK_LABELS}
    return {**new, "name": own["name"], "labels": {**labels, **kept}}


def _spec(spec: Mapping[str, Value], kind: tuple[str, str]) -> dict[str, Value]:
    filled = _FILLED_IN_SPEC.get(kind, ())
    parts = _fields_without_nulls({key: part for key, part in spec.items() if key not in filled})
    for key, part in parts.items():
        field = _FILLED.get((kind, key))
        if field is not None and isinstance(part, list):
            parts[key] = [_without_field(entry, field) for entry in part]
    return parts


def _without_field(entry: Value, field: str) -> Value:
    return {key: part for key, part in entry.items() if key != field} if isinstance(entry, dict) else entry


def _without_nulls(value: Value) -> Value:
    if isinstance(value, dict):
        return _fields_without_nulls(value)
    return [_without_nulls(part) for part in value] if isinstance(value, list) else value


def _fields_without_nulls(value: Mapping[str, Value]) -> dict[str, Value]:
    # An empty constraint has no effect. Grove writes one if there is none. Source: spec/grove.md#10.
    return {
        key: _without_nulls(part)
        for key, part in value.items()
        if part is not None and not (key in _CONSTRAINTS and part == {})
    }


def _merged_metadata(mine: Value, theirs: Mapping[str, Value]) -> dict[str, Value]:
    own = mapping(mine)
    merged = {key: part for key, part in own.items() if key not in _METADATA}
    for key in _METADATA:
        part = theirs.get(key)
        if key in ("labels", "annotations"):
            kept = {name: text for name, text in mapping(own.get(key)).items() if _is_tools(name)}
            part = {**mapping(part), **kept}
        if part:
            merged[key] = part
    return merged


def _merged_spec(mine: Mapping[str, Value], theirs: Mapping[str, Value], kind: tuple[str, str]) -> Value:
    filled = _FILLED_IN_SPEC.get(kind, ())
    merged: dict[str, Value] = {**theirs, **{key: part for key, part in mine.items() if key in filled}}
    for key, part in theirs.items():
        field = _FILLED.get((kind, key))
        if field is not None and isinstance(part, list):
            by_name = {str(entry.get("name")): entry for entry in mappings(mine.get(key))}
            merged[key] = [_with_filled(entry, by_name, field) for entry in part]
    return merged


def _with_filled(entry: Value, by_name: Mapping[str, Mapping[str, Value]], field: str) -> Value:
    """Return the entry with the value of `field` from the cluster. A new entry gets the empty list that the CRD
    requires.
    """
    if not isinstance(entry, dict):
        return entry
    before = by_name.get(str(entry.get("name")), {})
    return {**entry, field: before.get(field, [])}


ORDER = tuple(dict.fromkeys([kind.word for kind in KINDS if kind.compared]))
"""The compared kinds in the order of the output. Kinds that others refer to come first."""

_WORDS = {kind.key: kind.word for kind in KINDS}

_NUMBER = re.compile(r"(\d+)")


class Action(StrEnum):
    """The action that leads from one state to the other."""

    CREATE = "create"
    DELETE = "delete"
    CHANGE = "change"
    RECREATE = "recreate"
    """Delete and create. The API server does not allow a change of the object in place."""


class ObjectChange(Record):
    """One object that differs. `before` is None if it is new, and `after` is None if it is removed.

    `fields` are the differences of an object in both states. `meaning` describes the effect on the scheduler in
    sentences.
    """

    action: Action
    before: KubeObject | None
    after: KubeObject | None
    fields: tuple[FieldChange, ...] = ()
    meaning: tuple[str, ...] = ()

    @property
    def subject(self) -> KubeObject:
        """Return the object after the change, or before it if it is removed."""
        item = self.after or self.before
        if item is None:
            raise ValueError("a change must have an object before or after it")
        return item


def changes(before: Mapping[Identity, KubeObject], after: Mapping[Identity, KubeObject]) -> Iterator[ObjectChange]:
    """Yield the objects with relevant differences, by kind, namespace and name."""
    for key in in_order({**before, **after}):
        old, new = before.get(key), after.get(key)
        if old is None or new is None:
            yield ObjectChange(Action.CREATE if old is None else Action.DELETE, old, new)
            continue
        # Most objects of a change are unchanged.
        if is_same_json(old.value, new.value):
            continue
        fields = tuple(field_changes(*counted_both(old.value, new.value)))
        if fields:
            yield ObjectChange(Action.CHANGE, old, new, fields)


def word_of(key: Identity) -> str:
    """Return packwise's name for the kind of an object. Two schedulers may have kinds with the same name."""
    return _WORDS.get(key[:2], key[1])


def kind_of(item: KubeObject) -> str:
    """Return packwise's name for the kind of an object."""
    return word_of(identity(item.value))


def workload_of(item: KubeObject) -> str | None:
    """Return the workload that an operator's object belongs to, by its label, or None."""
    name = item.get(("metadata", "labels", PART_OF))
    return name if isinstance(name, str) else None


def in_order(keys: Iterable[Identity]) -> list[Identity]:
    """Return the identities by kind, namespace and name. Numbers within a name are compared as numbers."""
    return sorted(keys, key=_place)


def _place(key: Identity) -> tuple[object, ...]:
    group, _, namespace, name = key
    kind = word_of(key)
    order = ORDER.index(kind) if kind in ORDER else len(ORDER)
    # Digits and other text alternate, so that numbers are compared with numbers.
    parts = tuple(_size(part) if at % 2 else part for at, part in enumerate(_NUMBER.split(name)))
    return order, kind, group, namespace, parts, name


def _size(digits: str) -> tuple[int, str]:
    """Return a key that sorts texts of digits by their numeric value. Leading zeros do not count."""
    number = digits.lstrip("0")
    return len(number), number


def by_identity(items: Iterable[KubeObject]) -> dict[Identity, KubeObject]:
    """Return the objects by their identity without epochs. If two have the same identity, the first is returned."""
    listed = list(items)
    items_by_identity: dict[Identity, KubeObject] = {}
    for key, item in zip(stable_identities([item.value for item in listed]), listed, strict=True):
        items_by_identity.setdefault(key, item)
    return items_by_identity
