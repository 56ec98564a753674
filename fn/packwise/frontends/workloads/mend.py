"""KAI's keys that nobody reads as they stand, moved to where KAI reads them, if only one place can be meant."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.frontends.key_rules import FORMS, is_read_at, key_places, parts_of
from packwise.frontends.workloads.keys import WORKLOAD_KEYS, is_scheduled
from packwise.objects.identity import identity
from packwise.objects.workload_kinds import WORKLOAD_KINDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.frontends.key_rules import KeyPlace
    from packwise.frontends.known_keys import Key

__all__ = ["mend"]

_EVERY = "*"


def mend(item: KubeObject) -> KubeObject:
    """A workload with its keys where KAI reads them; itself where there is nothing to mend, or it is none of KAI's.

    Raises FieldError where an anchor or alias is in the way.
    """
    kind = WORKLOAD_KINDS.get(identity(item.value)[:2])
    if kind is None or not is_scheduled(item, kind):
        return item
    for path, target, value in list(_moves(item)):
        if item.get(target) is not None:
            # Whoever wrote it there has decided which value counts.
            continue
        if path[:-1] == target[:-1]:
            item = item.rename(path, str(target[-1]))
        else:
            item = item.set(target, value).remove(path, prune=True, keep_comments=True)
    return item


def _moves(item: KubeObject) -> Iterator[tuple[FieldPath, FieldPath, Value]]:
    """Each key that is to move: where it stands, where it is read, and its value."""
    kind = identity(item.value)[:2]
    for part in WORKLOAD_KEYS.parts:
        if part.kind != kind:
            continue
        for place in key_places(item.value, part):
            for name, value in place.keys.items():
                key = WORKLOAD_KEYS.keys.get(name) or WORKLOAD_KEYS.keys.get(WORKLOAD_KEYS.nearest(name))
                if key is None or key.is_written or key.successor or (key.values and value not in key.values):
                    continue
                target = _target(key, name, place)
                if target is not None:
                    yield (*place.path, name), target, value


def _target(key: Key, name: str, place: KeyPlace) -> FieldPath | None:
    """Where the key is read instead; None where it is read as it stands, or more than one place may be meant."""
    if is_read_at(key, place):
        return None if name == key.name else (*place.path, key.name)
    other = next(form for form in FORMS if form != place.form)
    if place.part in parts_of(key, other) and place.part not in key.only_beside:
        return (*place.path[:-1], other, key.name)
    read = [(part, form) for form in FORMS for part in parts_of(key, form) if part.kind == place.part.kind]
    if len(read) != 1 or _EVERY in place.part.path or _EVERY in read[0][0].path:
        return None
    (part, form) = read[0]
    return (*part.path, form, key.name)
