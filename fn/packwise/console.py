"""The standard streams in UTF-8 for every locale, and text that is safe to show on a terminal."""

from __future__ import annotations

import os
import re
import sys
from contextlib import contextmanager
from time import monotonic

from krmfn.hints import TYPE_CHECKING
from krmfn.terminal import HASH, escape_commands, escape_line
from packwise.answer import Styled

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Sequence
    from pathlib import Path
    from typing import IO, Any, TypeVar

    T = TypeVar("T")

_NOT_ASCII = re.compile(r"[^\n -~]")


def json_text(value: Any) -> str:
    """Return `value` as JSON text. Unprintable characters and commands to CI runners are escaped. The meaning stays the
    same.
    """
    # The import is here because output for people does not need it.
    import json

    text = json.dumps(value, ensure_ascii=False, indent=2) + "\n"
    text = _NOT_ASCII.sub(lambda match: match[0] if match[0].isprintable() else json.dumps(match[0])[1:-1], text)
    return re.sub(HASH, r"\\u0023", text)


def markup_text(text: str) -> str:
    """Return the XML or HTML `text` with commands to CI runners escaped. The meaning stays the same."""
    return re.sub(HASH, "&#35;", text)


def width(text: str) -> int:
    """Return the number of columns of the printable `text` on a terminal."""
    if text.isascii():
        return len(text)
    return sum(_columns(character) for character in text)


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table. Columns are aligned by the width that cells have on a terminal."""
    widths = [max(map(width, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join([cell + " " * (size - width(cell)) for cell, size in zip(row, widths, strict=True)]).rstrip()
        for row in rows
    ]


def shorten(text: str, most: int) -> str:
    """Return `text`, or its first `most` characters and `…` if it is longer."""
    return text if len(text) <= most else f"{text[:most]}…"


def _columns(character: str) -> int:
    import unicodedata

    if unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def encode_text(text: str) -> bytes:
    """Return `text` as UTF-8. Half a surrogate pair has no UTF-8, so it becomes an escape as in YAML and JSON."""
    return text.encode("utf-8", "backslashreplace")


def show(text: str, *, is_data: bool = False) -> bool:
    """Write `text` to stdout. Return False if that failed. stderr reports the failure unless the reader closed the
    pipe.

    If `is_data` is true, the text is for programs and is written unchanged: users' objects, or commands to a CI runner.
    """
    error = _write(sys.stdout, text if is_data else escape_commands(text))
    if error is not None and not isinstance(error, BrokenPipeError):
        say([f"error: <stdout>: cannot write the output: {error.strerror}"])
    return error is None


def say(lines: Iterable[str]) -> None:
    """Write `lines` to stderr if it is writable. Unprintable characters are escaped, and styled lines keep their
    colours.
    """
    _write(
        sys.stderr,
        escape_commands("".join([f"{line if isinstance(line, Styled) else escape_line(line)}\n" for line in lines])),
    )


def open_closed() -> None:
    """Open the standard streams that the process was started without.

    Otherwise the next opened file would get the number of a missing stream. An opened stdin is empty, and writes to an
    opened stdout fail.
    """
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, os.O_WRONLY if name == "stderr" else os.O_RDONLY)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115


def cannot_write(error: OSError) -> str:
    """Return the message about an error of the disk while a file is written."""
    return f"error: {error.filename}: cannot write the file: {error.strerror}"


@contextmanager
def name_file(path: Path) -> Generator[None]:
    """Raise errors of the disk with the name `path`, instead of the name of a temporary file or no name."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, path.as_posix()) from error


def is_coloured(stream: IO[str]) -> bool:
    """Return True if `stream` is a terminal and the variable NO_COLOR is empty or not set. Source: no-color.org."""
    return stream.isatty() and not os.environ.get("NO_COLOR")


def _write(stream: IO[str], text: str) -> OSError | None:
    """Write all of `text` and return the error of the stream, or None."""
    try:
        stream.flush()
        stream.buffer.write(encode_text(text))  # type: ignore[attr-defined]
        stream.buffer.flush()  # type: ignore[attr-defined]
    except OSError as error:
        # The interpreter flushes stdout again when it exits, and would report the error again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return error
    return None


_MANY = 100
_WIDTH = 40
_BETWEEN = 0.1
"""Seconds between two updates of the progress line."""


def track_files(files: Sequence[T]) -> Iterator[T]:
    """Yield `files` one by one. A bar shows the progress if there are many."""
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
    """A progress bar for `total` packages with the rate and the time left. It is drawn only on a terminal."""

    __slots__ = ("_done", "_drawn", "_is_shown", "_start", "_total", "_width")

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0
        self._is_shown = total > 1 and sys.stderr.isatty()
        self._start = self._drawn = monotonic()
        self._width = 0

    def advance(self) -> None:
        """Count one more finished package."""
        self._done += 1
        now = monotonic()
        if self._is_shown and now - self._drawn >= _BETWEEN:
            self._drawn = now
            text = meter_text(self._done, self._total, now - self._start)
            draw_line(f"{text:{self._width}}")
            self._width = max(self._width, len(text))

    def clear(self) -> None:
        """Remove the bar."""
        if self._width:
            draw_line(" " * self._width)


def meter_text(done: int, total: int, seconds: float) -> str:
    """Return the line `[####    ] 812 of 2000 packages, 14.2 a second, 1:24 left`."""
    rate = done / seconds if seconds > 0 else 0.0
    left = round((total - done) / rate) if rate else 0
    bar = "#" * (done * _WIDTH // total)
    return f"[{bar:{_WIDTH}}] {done} of {total} packages, {rate:.1f} a second, {left // 60}:{left % 60:02} left"


def draw_line(text: str) -> None:
    """Write `text` over the current line of stderr."""
    sys.stderr.write(f"\r{text}\r")
    sys.stderr.flush()
