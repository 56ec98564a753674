"""A placing as a comment on a pull request: what no longer fits, what does not, what moves, then what fits."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.cli.markdown import Part, Section, code, comment
from packwise.cli.place_output.text import further_lines, gang_lines, move_line, moves_summary, summary, where
from packwise.commands.place.placing import Fate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from packwise.cli.place_output.placed import Baseline, Placed
    from packwise.commands.place.placing import Move

__all__ = ["as_markdown", "part"]

_LISTED = {
    Fate.LOSES_PODS: "Runs with fewer pods",
    Fate.FITS_NOW: "Fits now",
    Fate.MOVES: "Moves",
    Fate.ADDED: "Added",
    Fate.REMOVED: "Removed",
}
"""The titles of what the change does otherwise than that a gang no longer fits."""


def as_markdown(placed: Placed, command: str) -> str:
    """The whole comment; `command` prints what has no room in it."""
    return comment("packwise place", [part(placed, command)])


def part(placed: Placed, command: str) -> Part:
    """What the placing is in a comment."""
    fit, cluster = summary(placed)
    lead = ["### Where the scheduler places it", f"{code(fit)} on {code(cluster)}"]
    baseline = placed.baseline
    if baseline is not None:
        lead.append(f"From {code(baseline.name)}: {code(moves_summary(baseline))}")
    return Part(lead, list(_sections(placed, baseline)), command)


def _sections(placed: Placed, baseline: Baseline | None) -> Iterator[Section]:
    gangs = placed.placing.gangs
    moves = baseline.moves if baseline is not None else ()
    lost = {id(move.after): move for move in moves if move.fate is Fate.NO_LONGER_FITS}
    yield _section(
        "No longer fits",
        [_lost(placed, index, lost[id(gang)]) for index, gang in enumerate(gangs) if id(gang) in lost],
        is_open=True,
    )
    pending = [index for index, gang in enumerate(gangs) if not gang.fits and id(gang) not in lost]
    yield _section("Does not fit", [list(gang_lines(placed, index)) for index in pending], is_open=True)
    for fate, title in _LISTED.items():
        yield _section(title, [[move_line(placed, move)] for move in moves if move.fate is fate])
    fitting = [index for index, gang in enumerate(gangs) if gang.fits]
    yield _section("Fits", [list(gang_lines(placed, index)) for index in fitting])
    yield _section("Further replicas that fit beside these", [[line] for line in further_lines(placed)])


def _lost(placed: Placed, index: int, move: Move) -> list[str]:
    """The lines of a gang that no longer fits, and where it was."""
    first, *others = gang_lines(placed, index)
    before = placed.baseline.placed if placed.baseline is not None else placed
    return [first, f"  before: {where(before, move.before)}" if move.before is not None else "", *others]


def _section(title: str, entries: Iterable[list[str]], *, is_open: bool = False) -> Section:
    listed = list(entries)
    return Section(f"{title}: {len(listed)}", listed, is_open)
