"""The line of a file that a finding is about, with the line before it and a mark below the node."""

from __future__ import annotations

import re

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.cli.report.lines import FAINT, tinted
from packwise.cli.report.visible import visible, width

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Place", "excerpt"]

_WIDEST = 100
"""How many columns of a line are shown."""

_BEFORE = 40
"""How many of them stand before the node, where the line is longer."""

_TAB = "→   "

# A node as far as one line tells: quoted, a dash, a flow collection without another in it, plain.
_NODE = re.compile(
    r"""
      "(?:\\.|[^"\\])*"? | '(?:''|[^'])*'?
    | -(?=\s|$)
    | \{[^{}\[\]]*\} | \[[^{}\[\]]*\]
    | [^\s"'{}\[\],] (?: [^\s:,{}\[\]] | :(?=\S) | [ ]+(?=[^\s\#:,{}\[\]]) )*
    """,
    re.VERBOSE,
)
_NO_CONTEXT = re.compile(r"\s*|(?:---|\.\.\.)(?:\s.*)?")


class Place(NamedTuple):
    """A line of a file and, where it is known, the column; both 1-based."""

    line: int
    column: int | None = None


def excerpt(lines: Sequence[str], place: Place, colour: int, *, coloured: bool) -> list[str]:
    """The lines of a terminal that show `place` among the `lines` of its file; none where there is no such line."""
    if not 0 < place.line <= len(lines):
        return []
    above, text = lines[place.line - 2 : place.line - 1], lines[place.line - 1].removesuffix("\r")
    gutter = len(str(place.line))
    shown_lines: list[str] = []

    def add(number: int | str, shown: str) -> None:
        shown_lines.append(f"{tinted(f'  {number:>{gutter}} |', FAINT, coloured=coloured)} {shown}".rstrip())

    if above and not _NO_CONTEXT.fullmatch(above[0]):
        add(place.line - 1, _marked(above[0].removesuffix("\r"), None)[0])
    shown, mark = _marked(text, None if place.column is None else min(place.column - 1, len(text)))
    add(place.line, shown)
    if mark:
        add("", mark[: mark.index("^")] + tinted(mark.lstrip(), colour, coloured=coloured))
    return shown_lines


def _marked(text: str, at: int | None) -> tuple[str, str]:
    """The line as a terminal shows it, and the mark below the node that starts at offset `at`.

    Of a line that is too long, what stands around the node is shown.
    """
    start = at or 0
    before, after = _cells(text[max(start - _WIDEST, 0) : start]), _cells(text[start : start + _WIDEST])
    is_long = len(text) > start + _WIDEST or start > _WIDEST or width("".join(before + after)) > _WIDEST
    if is_long:
        before, after = _cut(before, after, ends=start + len(after) == len(text))
    margin = width("".join(before))
    if at is None:
        return "".join(after), ""
    node = _NODE.match(text, at)
    size = width("".join(after[: max(node.end() - at, 1) if node else 1]))
    return "".join(before + after), " " * margin + "^" + "~" * (size - 1)


def _cut(before: list[str], after: list[str], *, ends: bool) -> tuple[list[str], list[str]]:
    """What fits of both; `ends` says whether the line ends with `after`."""
    kept = _fitting(reversed(before), _BEFORE)
    if kept < len(before):
        before = ["…", *before[len(before) - kept :]]
    room = _WIDEST - width("".join(before))
    kept = _fitting(after, room)
    if kept == len(after) and ends:
        return before, after
    return before, [*after[: _fitting(after, room - 1)], "…"]


def _cells(text: str) -> list[str]:
    """Each character as it is shown."""
    return [_TAB if character == "\t" else visible(character) for character in text]


def _fitting(cells: Iterable[str], room: int) -> int:
    """How many of `cells`, from the first, fit into that many columns."""
    fitting = 0
    for cell in cells:
        room -= width(cell)
        if room < 0:
            break
        fitting += 1
    return fitting
