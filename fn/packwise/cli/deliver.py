"""Answers on the standard streams and in files."""

from __future__ import annotations

import os
import sys

from krmfn.hints import TYPE_CHECKING
from packwise.answer import Terminal
from packwise.console import is_coloured, say, show

if TYPE_CHECKING:
    from packwise.answer import Answer, Text


_MAX_COLUMNS = 10_000


def terminal() -> Terminal:
    """Return the colours and the width of this process's standard streams."""
    return Terminal(is_coloured(sys.stdout), is_coloured(sys.stderr), _columns())


def _columns() -> int | None:
    """Return the width of the terminal on stdout. COLUMNS overrides it. Return None if stdout is not a terminal."""
    try:
        columns = os.get_terminal_size(sys.stdout.fileno()).columns
    except (OSError, ValueError):
        # If stdout is a pipe or a file, the output does not depend on the environment.
        return None
    chosen = os.environ.get("COLUMNS", "")
    return int(chosen) if chosen.isdecimal() and 0 < int(chosen) < _MAX_COLUMNS else columns or None


def deliver(answer: Answer) -> int:
    """Print and write `answer`. Return its exit code, or at least 1 if a text cannot be written."""
    say(answer.before)
    # Write the other texts even if one cannot be written.
    written = [_write(text) for text in answer.texts]
    is_written = all(written)
    if answer.needs_texts and not is_written:
        return 1
    say(answer.after)
    return answer.code if is_written else max(answer.code, 1)


def _write(text: Text) -> bool:
    if text.file is None:
        return all(show(piece, is_data=text.is_data) for piece in text.pieces)
    # The import is here because most runs write no file.
    from packwise.output.write import write_text

    return write_text(text.file, "".join(text.pieces), is_data=text.is_data)
