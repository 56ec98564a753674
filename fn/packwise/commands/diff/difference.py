"""Two states compared: everything that a report says, and the JSON Patch (RFC 6902) of one change.

Source: spec/grove-releases.md#upgrade.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.commands.diff.change import changes, with_counted, word_of
from packwise.commands.diff.consequences import dropped_constraints, leaves, with_meaning
from packwise.objects.identity import PART_OF, has_epoch

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from krmfn.kubeobject import KubeObject
    from krmfn.result import Result
    from krmfn.value import Value
    from packwise.commands.diff.change import Change
    from packwise.commands.diff.consequences import Dropped
    from packwise.commands.diff.state import State
    from packwise.objects.identity import Identity

_PART_OF = ("metadata", "labels", PART_OF)

_Pods = tuple[str, str, str, str, frozenset[str]]
"""Group, kind, namespace and workload of a gang, and its sets of pods: they have the same names in all releases."""


def rekeyed(
    objects: Mapping[Identity, KubeObject], others: Mapping[Identity, KubeObject]
) -> Mapping[Identity, KubeObject]:
    """`objects`, each gang without an epoch under the identity of the one among `others` that has its pods."""
    keys = {_pods(key, item): key for key, item in others.items() if has_epoch(item.value)}
    if not keys:
        return objects
    return {key if has_epoch(item.value) else keys.get(_pods(key, item), key): item for key, item in objects.items()}


def _pods(key: Identity, item: KubeObject) -> _Pods:
    group, kind, namespace, name = key
    pods = leaves(item.value)
    # Of a gang without pods nothing but its name tells which it is.
    return group, kind, namespace, str(item.get(_PART_OF)), pods or frozenset([f"\0{name}"])


class Difference(NamedTuple):
    """What changes between two states, in order of kind, namespace and name.

    `refusals` are what the operator or an API server would refuse in the state after, `unreadable` the errors of the
    state before; `compared` is whether both states have objects at all. `only_…` are kinds that were left out since the
    other state, a rendered one, never holds them; `missing_…` are kinds that a found state lacks altogether. `unjudged`
    are workloads whose updates could not be judged.
    """

    changes: tuple[Change, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    refusals: tuple[Result, ...] = ()
    unreadable: tuple[Result, ...] = ()
    compared: bool = True
    only_before: tuple[str, ...] = ()
    only_after: tuple[str, ...] = ()
    missing_before: tuple[str, ...] = ()
    missing_after: tuple[str, ...] = ()
    unjudged: tuple[str, ...] = ()


def diff(before: State, after: State) -> Difference:
    """What changes for the scheduler from `before` to `after`."""
    refused = Difference(refusals=after.results, unreadable=before.results, unjudged=after.unjudged)
    if before.objects is None or after.objects is None:
        return refused._replace(compared=False)
    only_before, only_after = _foreign(before, after), _foreign(after, before)
    old, new = _without(before.objects, only_before), _without(after.objects, only_after)
    old, new = rekeyed(old, new), rekeyed(new, old)
    changed = [with_meaning(change, new.values()) for change in changes(old, new)]
    dropped = dropped_constraints(changed, before, after)
    return refused._replace(
        changes=tuple(changed),
        dropped=tuple(dropped),
        only_before=only_before,
        only_after=only_after,
        missing_before=_missing(before, after),
        missing_after=_missing(after, before),
    )


def _foreign(state: State, other: State) -> tuple[str, ...]:
    """Kinds of a found state that the other, rendered one says nothing of."""
    return tuple(sorted(state.kinds - other.kinds)) if other.rendered and not state.rendered else ()


def _missing(state: State, other: State) -> tuple[str, ...]:
    """Kinds of which a found state has no object at all, though the other has: an export may have left them out."""
    if state.rendered or not state.objects or not other.objects:
        return ()
    return tuple(sorted({word_of(key) for key in other.objects} - state.kinds))


def _without(objects: Mapping[Identity, KubeObject], kinds: tuple[str, ...]) -> Mapping[Identity, KubeObject]:
    return {key: item for key, item in objects.items() if word_of(key) not in kinds}


def json_patch(before: Mapping[str, Value], after: Mapping[str, Value]) -> list[dict[str, Any]]:
    """The operations that give the object `before` what counts of `after`, and leave alone what does not count."""
    # Costs as much at start as the rest of a comparison's imports.
    from jsonpatch import make_patch

    target = with_counted(before, after)
    return list(make_patch(dict(before), target))
