"""How far a run is, on stderr: on a terminal only, and gone at the end."""

from __future__ import annotations

import sys
from time import monotonic

from krmfn.hints import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from packwise.cli.input_paths import InputPath

__all__ = ["Meter", "draw_line", "meter_text", "tracked"]

_MANY = 100
_WIDTH = 40
_BETWEEN = 0.1
"""Seconds between two drawings."""


def tracked(files: Sequence[InputPath]) -> Iterator[InputPath]:
    """`files` one by one, as they are read; where there are many, a bar says how far that is."""
    if len(files) < _MANY or not sys.stderr.isatty():
        yield from files
        return
    step = len(files) // _WIDTH
    try:
        for at, file in enumerate(files):
            if at % step == 0:
                draw_line(f"reading [{'#' * (at * _WIDTH // len(files)):{_WIDTH}}] {at} of {len(files)} files")
            yield file
    finally:
        draw_line(" " * (_WIDTH + 38))


class Meter:
    """A bar with the rate and the time that is left, of `total` packages. Nothing but a terminal ever sees it."""

    __slots__ = ("_done", "_drawn", "_is_shown", "_start", "_total", "_width")

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0
        self._is_shown = total > 1 and sys.stderr.isatty()
        self._start = self._drawn = monotonic()
        self._width = 0

    def advance(self) -> None:
        """One package more is done."""
        self._done += 1
        now = monotonic()
        if self._is_shown and now - self._drawn >= _BETWEEN:
            self._drawn = now
            text = meter_text(self._done, self._total, now - self._start)
            draw_line(f"{text:{self._width}}")
            self._width = max(self._width, len(text))

    def clear(self) -> None:
        """Takes the bar away."""
        if self._width:
            draw_line(" " * self._width)


def meter_text(done: int, total: int, seconds: float) -> str:
    """`[####    ] 812 of 2000 packages, 14.2 a second, 1:24 left`."""
    rate = done / seconds if seconds > 0 else 0.0
    left = round((total - done) / rate) if rate else 0
    bar = "#" * (done * _WIDTH // total)
    return f"[{bar:{_WIDTH}}] {done} of {total} packages, {rate:.1f} a second, {left // 60}:{left % 60:02} left"


def draw_line(text: str) -> None:
    """Writes `text` over the line on stderr where the cursor is."""
    sys.stderr.write(f"\r{text}\r")
    sys.stderr.flush()
