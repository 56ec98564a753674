"""The answer of a command as a value: texts for stdout and files, lines for stderr, the exit code.

Engines return an answer and print nothing. The command line delivers it. A program may call an engine itself.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Iterable


class Styled(str):
    """A line that is safe to print unchanged: its only unprintable characters are packwise's own colours."""

    __slots__ = ()


class Terminal(Record):
    """The streams that an answer is for: colours on stdout and on stderr, and the width of stdout in columns."""

    is_coloured: bool = False
    is_stderr_coloured: bool = False
    columns: int | None = None


PLAIN = Terminal()
"""Streams that are not terminals. They have no colours, and no limit of their width."""


class Text(Record):
    """A text in pieces for one file. `file` is None for stdout.

    If `is_data` is true, the text is for programs and is written unchanged: users' objects, or commands to a CI runner.
    """

    pieces: Iterable[str]
    file: str | None = None
    is_data: bool = False


class Answer(Record):
    """The answer of a command.

    `before` and `after` are the lines for stderr before and after the texts. If `needs_texts` is true and a text cannot
    be written, the exit code is 1, and the lines in `after` are not printed.
    """

    texts: tuple[Text, ...] = ()
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    code: int = 0
    needs_texts: bool = True
