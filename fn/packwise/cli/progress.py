"""A bar on stderr while many files are read: on a terminal only, and gone at the end."""

from __future__ import annotations

import sys

from krmfn.hints import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from packwise.cli.input_paths import InputPath

__all__ = ["tracked"]

_MANY = 100
_WIDTH = 40


def tracked(files: Sequence[InputPath]) -> Iterator[InputPath]:
    """`files` one by one, as they are read; where there are many, a bar says how far that is."""
    if len(files) < _MANY or not sys.stderr.isatty():
        yield from files
        return
    step = len(files) // _WIDTH
    try:
        for at, file in enumerate(files):
            if at % step == 0:
                _draw(f"reading [{'#' * (at * _WIDTH // len(files)):{_WIDTH}}] {at} of {len(files)} files")
            yield file
    finally:
        _draw(" " * (_WIDTH + 38))


def _draw(text: str) -> None:
    sys.stderr.write(f"\r{text}\r")
    sys.stderr.flush()
