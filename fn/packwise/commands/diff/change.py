"""Objects that are there in one state and not in the other, or differ."""

from __future__ import annotations

import re
from enum import StrEnum

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.commands.diff.comparable import counted_both
from packwise.commands.diff.fields import field_changes
from packwise.objects.identity import stable_identities
from packwise.objects.kinds import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from krmfn.kubeobject import KubeObject
    from packwise.commands.diff.fields import FieldChange
    from packwise.objects.identity import Identity

__all__ = ["ORDER", "Action", "Change", "by_identity", "changes", "in_order"]

ORDER = tuple(dict.fromkeys([kind.name for kind in KINDS if kind.compared]))
"""The compared kinds in the order in which a reader needs them: what others refer to comes first."""

_NUMBER = re.compile(r"(\d+)")


class Action(StrEnum):
    """What has to be done to get from one state to the other."""

    CREATE = "create"
    DELETE = "delete"
    CHANGE = "change"
    RECREATE = "recreate"
    """Delete and create: the API server lets no one change the object in place."""


class Change(NamedTuple):
    """One object that differs: `before` is None where it is new, `after` where it goes.

    `fields` are what differs of an object that is in both; `meaning` are sentences on what that is to the scheduler.
    """

    action: Action
    before: KubeObject | None
    after: KubeObject | None
    fields: tuple[FieldChange, ...] = ()
    meaning: tuple[str, ...] = ()

    @property
    def subject(self) -> KubeObject:
        """The object, as it is afterwards where it stays."""
        item = self.after or self.before
        if item is None:
            raise ValueError("a change must have an object before or after it")
        return item


def changes(before: Mapping[Identity, KubeObject], after: Mapping[Identity, KubeObject]) -> Iterator[Change]:
    """The objects that differ in what counts, by kind, namespace and name."""
    for key in in_order({**before, **after}):
        old, new = before.get(key), after.get(key)
        if old is None or new is None:
            yield Change(Action.CREATE if old is None else Action.DELETE, old, new)
            continue
        fields = tuple(field_changes(*counted_both(old.value, new.value)))
        if fields:
            yield Change(Action.CHANGE, old, new, fields)


def in_order(keys: Iterable[Identity]) -> list[Identity]:
    """The identities by kind, namespace and name; numbers within a name count as numbers."""
    return sorted(keys, key=_place)


def _place(key: Identity) -> tuple[object, ...]:
    group, kind, namespace, name = key
    order = ORDER.index(kind) if kind in ORDER else len(ORDER)
    # Digits and other text stand by turns, so that like is compared with like.
    parts = tuple(_size(part) if at % 2 else part for at, part in enumerate(_NUMBER.split(name)))
    return order, kind, group, namespace, parts, name


def _size(digits: str) -> tuple[int, str]:
    """What orders digits by the number they are, however many they are."""
    number = digits.lstrip("0")
    return len(number), number


def by_identity(items: Iterable[KubeObject]) -> dict[Identity, KubeObject]:
    """The objects by identity, gangs with an epoch by one without it; of two the first counts."""
    listed = list(items)
    items_by_identity: dict[Identity, KubeObject] = {}
    for key, item in zip(stable_identities([item.value for item in listed]), listed, strict=True):
        items_by_identity.setdefault(key, item)
    return items_by_identity
