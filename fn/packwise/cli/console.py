"""What stdin gives, and what goes to stdout and stderr: always UTF-8, whatever the locale says."""

from __future__ import annotations

import os
import sys
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["cannot_write", "encoded", "is_coloured", "say", "show"]


def encoded(text: str) -> bytes:
    """`text` as UTF-8; half a surrogate pair, which has no bytes, as the escape that YAML and JSON read."""
    return text.encode("utf-8", "backslashreplace")


def show(text: str) -> bool:
    """Writes `text` to stdout; False where the reader has closed it."""
    return _written(sys.stdout, text)


def say(lines: Iterable[str]) -> None:
    """Writes `lines` to stderr."""
    _written(sys.stderr, "".join([f"{line}\n" for line in lines]))


def cannot_write(error: OSError) -> str:
    """The line that says which file the disk refuses, and why."""
    return f'error: {error.filename}: must be a file that can be written; got "{error.strerror}"'


def is_coloured(stream: IO[str]) -> bool:
    """Whether `stream` is a terminal whose user has nothing against colours. Source: no-color.org."""
    return stream.isatty() and not os.environ.get("NO_COLOR")


def _written(stream: IO[str], text: str) -> bool:
    try:
        stream.flush()
        stream.buffer.write(encoded(text))  # type: ignore[attr-defined]
        stream.buffer.flush()  # type: ignore[attr-defined]
    except BrokenPipeError:
        # The interpreter flushes once more at its end, and would complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return False
    return True
