"""What stdin gives, and what goes to stdout and stderr: always UTF-8, whatever the locale says."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager

from krmfn.hints import TYPE_CHECKING
from packwise.cli.report.visible import visible

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable
    from pathlib import Path
    from typing import IO

__all__ = ["cannot_write", "encoded", "is_coloured", "naming", "open_closed", "say", "show"]


def encoded(text: str) -> bytes:
    """`text` as UTF-8; half a surrogate pair, which has no bytes, as the escape that YAML and JSON read."""
    return text.encode("utf-8", "backslashreplace")


def show(text: str) -> bool:
    """Writes `text` to stdout; False where that takes no more, which stderr says unless its reader went away."""
    error = _write(sys.stdout, text)
    if error is not None and not isinstance(error, BrokenPipeError):
        say([f'error: <stdout>: must be a stream that can be written; got "{error.strerror}"'])
    return error is None


def say(lines: Iterable[str], *, as_they_are: bool = False) -> None:
    """Writes `lines` to stderr, where that takes them; what does not print as escapes, unless they hold colours."""
    _write(sys.stderr, "".join([f"{line if as_they_are else visible(line)}\n" for line in lines]))


def open_closed() -> None:
    """Opens the standard streams that the process was started without.

    Else the next file that is opened would take their place. Stdin is empty then, writes to stdout fail.
    """
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, os.O_WRONLY if name == "stderr" else os.O_RDONLY)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115


def cannot_write(error: OSError) -> str:
    """The line that says which file the disk refuses, and why."""
    return f'error: {error.filename}: must be a file that can be written; got "{error.strerror}"'


@contextmanager
def naming(path: Path) -> Generator[None]:
    """Errors of the disk name `path`: not a file beside it that users never see, and not nothing."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, path.as_posix()) from error


def is_coloured(stream: IO[str]) -> bool:
    """Whether `stream` is a terminal whose user has nothing against colours. Source: no-color.org."""
    return stream.isatty() and not os.environ.get("NO_COLOR")


def _write(stream: IO[str], text: str) -> OSError | None:
    """Writes all of `text`; why the stream did not take it, else."""
    try:
        stream.flush()
        stream.buffer.write(encoded(text))  # type: ignore[attr-defined]
        stream.buffer.flush()  # type: ignore[attr-defined]
    except OSError as error:
        # The interpreter flushes once more at its end, and would complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return error
    return None
