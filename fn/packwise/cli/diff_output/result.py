"""The result of a comparison, which every format prints, and its notes."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.cli.coverage import Coverage

if TYPE_CHECKING:
    from packwise.commands.diff import Difference

__all__ = ["Compared", "notes"]


class Compared(NamedTuple):
    """What changes from the state that the user calls `before` to the one called `after`.

    The two `…_rendered` tell which of them was rendered from sources; `coloured` asks for the colours of a terminal.
    `coverage` is what was read of both.
    """

    difference: Difference
    before: str
    after: str
    before_rendered: bool = True
    after_rendered: bool = True
    coloured: bool = False
    coverage: tuple[Coverage, Coverage] = (Coverage(), Coverage())


def notes(compared: Compared) -> list[str]:
    """What a reader must know of kinds that only one side can have."""
    difference = compared.difference
    texts: list[str] = []
    for name, kinds in ((compared.before, difference.only_before), (compared.after, difference.only_after)):
        if kinds:
            texts.append(f"{', '.join(kinds)} of {name}: not compared, since the other side renders none")
    for name, kinds in ((compared.before, difference.missing_before), (compared.after, difference.missing_after)):
        if kinds:
            texts.append(f"{name} holds no {' and no '.join(kinds)} at all: an export must name every kind")
    if difference.unjudged:
        texts.append(
            f"{compared.before} holds gangs of {', '.join(difference.unjudged)} and not the workload itself: whether "
            "the operator refuses an update of it is not known"
        )
    return texts
