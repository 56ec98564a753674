"""The difference of two texts, as `git apply` takes it, in time that grows with the texts and not with their square.

difflib alone takes minutes for 20,000 lines of which every fifth one changes.

What both texts start and end with is set aside; lines that stand once in each text divide what is left into pieces.
Short pieces are compared line by line; a long one in which nothing stands once is taken out and put in as a whole.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from difflib import SequenceMatcher
from itertools import pairwise
from operator import attrgetter

from krmfn.hints import TYPE_CHECKING
from krmfn.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["LineChange", "changes", "difference", "unified_diff"]

_CONTEXT = 3
"""The number of lines around a change."""

_SHORT = 1_000
"""Of a piece that is compared line by line: at most so many pairs of lines."""

_DEEPEST = 8
"""The number of times that a piece is divided again. Source: patience diff, which divides as long as it can."""


class LineChange(Record):
    """The lines of the old text from `start` to `end` become those of the new one from `new_start` to `new_end`."""

    start: int
    end: int
    new_start: int
    new_end: int


def unified_diff(name: str, before: str, after: str) -> str:
    """The change of the file `name`, which is a new one where there was no text `before`; "" where nothing changes."""
    return difference(before, after, f"a/{name}" if before else "/dev/null", f"b/{name}")


def difference(before: str, after: str, old_name: str, new_name: str) -> str:
    """The change of a text, under the names of both; "" where they are the same."""
    old, new = _lines(before), _lines(after)
    lines = [line for hunk in _hunks(changes(old, new)) for line in _hunk_lines(hunk, old, new)]
    return "".join([f"--- {old_name}\n", f"+++ {new_name}\n", *lines]) if lines else ""


def changes(old: Sequence[str], new: Sequence[str]) -> list[LineChange]:
    """The changes that make `new` of `old`, in the order of the lines; they need not be the fewest."""
    pieces = [(LineChange(0, len(old), 0, len(new)), 0)]
    changed: list[LineChange] = []
    while pieces:
        piece, depth = pieces.pop()
        piece = _trim(piece, old, new)
        start, end, new_start, new_end = piece.start, piece.end, piece.new_start, piece.new_end
        size, new_size = end - start, new_end - new_start
        anchors: list[tuple[int, int]] = []
        if size * new_size > _SHORT and depth < _DEEPEST:
            anchors = _anchors(old[start:end], new[new_start:new_end])
        if 0 < size * new_size <= _SHORT:
            matcher = SequenceMatcher(None, old[start:end], new[new_start:new_end], autojunk=False)
            opcodes = [opcode for opcode in matcher.get_opcodes() if opcode[0] != "equal"]
            changed += [LineChange(start + a, start + b, new_start + c, new_start + d) for _, a, b, c, d in opcodes]
        elif not anchors:
            changed += [piece] if size or new_size else []
        # An anchor is the first line of the piece behind it.
        edges = [(0, 0), *anchors, (size, new_size)] if anchors else []
        for (a, c), (b, d) in pairwise(edges):
            pieces.append((LineChange(start + a, start + b, new_start + c, new_start + d), depth + 1))
    return sorted(changed, key=attrgetter("start", "end", "new_start", "new_end"))


def _trim(piece: LineChange, old: Sequence[str], new: Sequence[str]) -> LineChange:
    """The piece without the lines that both start with, and those that both end with."""
    start, end, new_start, new_end = piece.start, piece.end, piece.new_start, piece.new_end
    while start < end and new_start < new_end and old[start] == new[new_start]:
        start, new_start = start + 1, new_start + 1
    while start < end and new_start < new_end and old[end - 1] == new[new_end - 1]:
        end, new_end = end - 1, new_end - 1
    return LineChange(start, end, new_start, new_end)


def _anchors(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """The places of lines that stand once in each, as many as are in the same order in both."""
    once, counted = Counter(old), Counter(new)
    places = {line: place for place, line in enumerate(new) if counted[line] == 1}
    pairs = [(place, places[line]) for place, line in enumerate(old) if once[line] == 1 and line in places]
    # The longest rising sequence of places: of each length, the one that ends lowest, and what stands before its end.
    ends: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for number, (_, place) in enumerate(pairs):
        length = bisect_left(ends, place)
        if length == len(ends):
            ends.append(place)
            last.append(number)
        else:
            ends[length], last[length] = place, number
        before.append(last[length - 1] if length else -1)
    chain: list[tuple[int, int]] = []
    number = last[-1] if last else -1
    while number >= 0:
        chain.append(pairs[number])
        number = before[number]
    return chain[::-1]


def _hunks(changed: Sequence[LineChange]) -> list[list[LineChange]]:
    """The changes in groups, each with what is near enough that the lines around them meet."""
    hunks: list[list[LineChange]] = []
    for change in changed:
        if hunks and change.start - hunks[-1][-1].end <= 2 * _CONTEXT:
            hunks[-1].append(change)
        else:
            hunks.append([change])
    return hunks


def _hunk_lines(hunk: Sequence[LineChange], old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    above = min(_CONTEXT, hunk[0].start)
    below = min(_CONTEXT, len(old) - hunk[-1].end)
    start, end = hunk[0].start - above, hunk[-1].end + below
    yield f"@@ -{_range(start, end)} +{_range(hunk[0].new_start - above, hunk[-1].new_end + below)} @@\n"
    for change in hunk:
        yield from (_mark(" ", line) for line in old[start : change.start])
        yield from (_mark("-", line) for line in old[change.start : change.end])
        yield from (_mark("+", line) for line in new[change.new_start : change.new_end])
        start = change.end
    yield from (_mark(" ", line) for line in old[start:end])


def _range(start: int, end: int) -> str:
    """The lines of a hunk: the first, counted from 1, and how many; of none, the line above."""
    if end - start == 1:
        return str(start + 1)
    return f"{start + 1 if end > start else start},{end - start}"


def _mark(mark: str, line: str) -> str:
    return f"{mark}{line}" if line.endswith("\n") else f"{mark}{line}\n\\ No newline at end of file\n"


def _lines(text: str) -> list[str]:
    """The lines with their ends; git knows no other end than `\\n`."""
    lines = text.split("\n")
    return [*[f"{line}\n" for line in lines[:-1]], *([lines[-1]] if lines[-1] else [])]
