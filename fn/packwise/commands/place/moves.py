"""What a change does to the places of gangs: which no longer fit, fit now, or stand elsewhere."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.objects.identity import stable_identities
from packwise.objects.kinds import PODGANG

if TYPE_CHECKING:
    from packwise.commands.place.placing import GangAnswer, Placing
    from packwise.objects.identity import Identity

__all__ = ["Fate", "Move", "moves"]


class Fate(StrEnum):
    """What becomes of a gang by a change."""

    NO_LONGER_FITS = "noLongerFits"
    FITS_NOW = "fitsNow"
    LOSES_PODS = "losesPods"
    """It runs, but fewer of the pods beyond its minimum do."""
    MOVES = "moves"
    ADDED = "added"
    REMOVED = "removed"


class Move(NamedTuple):
    """A gang whose place the change decides: its answers, None in the state that does not have the gang.

    `pods` is how many pods stand on another node, or wait that had one.
    """

    fate: Fate
    before: GangAnswer | None
    after: GangAnswer | None
    pods: int = 0


def moves(before: Placing, after: Placing) -> tuple[Move, ...]:
    """What becomes of each gang of two placings on the same nodes; nothing of one that stays where it is.

    In the order of the gangs after the change; those that go follow.
    """
    old, new = _by_key(before), _by_key(after)
    listed = [_move(old.get(key), gang) for key, gang in new.items()]
    removed = [Move(Fate.REMOVED, gang, None) for key, gang in old.items() if key not in new]
    return (*(move for move in listed if move is not None), *removed)


def _by_key(placing: Placing) -> dict[Identity, GangAnswer]:
    """The answers by what a gang is, whatever its epoch."""
    manifests = [
        {
            "apiVersion": f"{PODGANG.group}/{PODGANG.version}",
            "kind": PODGANG.name,
            "metadata": {"name": gang.name, "namespace": gang.namespace, "labels": dict(gang.labels)},
        }
        for gang in (answer.gang.gang for answer in placing.gangs)
    ]
    return dict(zip(stable_identities(manifests), placing.gangs, strict=True))


def _move(before: GangAnswer | None, after: GangAnswer) -> Move | None:
    if before is None:
        return Move(Fate.ADDED, None, after)
    if before.fits != after.fits:
        return Move(Fate.FITS_NOW if after.fits else Fate.NO_LONGER_FITS, before, after)
    if after.fits and _waiting(after) > _waiting(before):
        return Move(Fate.LOSES_PODS, before, after, _waiting(after) - _waiting(before))
    elsewhere = _elsewhere(before, after)
    return Move(Fate.MOVES, before, after, elsewhere) if elsewhere else None


def _waiting(gang: GangAnswer) -> int:
    return len(gang.gang.job.pods) - gang.placed


def _elsewhere(before: GangAnswer, after: GangAnswer) -> int:
    """How many pods stand on another node; further pods, and those that are no more, do not count.

    Pod sets are told by their names, which no epoch changes.
    """
    new = {name: Counter(dict(spread)) for name, spread in after.spread}
    number = 0
    for name, spread in before.spread:
        old = Counter(dict(spread))
        here = new.get(name, Counter())
        number += min(sum((old - here).values()), sum((here - old).values()))
    return number
