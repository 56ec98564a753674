"""A comparison, as every format is given it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from packwise.diff import Difference

__all__ = ["Compared", "notes"]


class Compared(NamedTuple):
    """What changes from the state that the user calls `before` to the one called `after`.

    The two `…_rendered` tell which of them was rendered from sources; `coloured` asks for the colours of a terminal.
    """

    difference: Difference
    before: str
    after: str
    before_rendered: bool = True
    after_rendered: bool = True
    coloured: bool = False


def notes(compared: Compared) -> list[str]:
    """What a reader must know of kinds that only one side can have."""
    found = compared.difference
    told: list[str] = []
    for name, kinds in ((compared.before, found.only_before), (compared.after, found.only_after)):
        if kinds:
            told.append(f"{', '.join(kinds)} of {name}: not compared, since the other side renders none")
    for name, kinds in ((compared.before, found.missing_before), (compared.after, found.missing_after)):
        if kinds:
            told.append(f"{name} holds no {' and no '.join(kinds)} at all: an export must name every kind")
    if found.unjudged:
        told.append(
            f"{compared.before} holds gangs of {', '.join(found.unjudged)} and not the workload itself: whether the "
            "operator refuses an update of it is not known"
        )
    return told
