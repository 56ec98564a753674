"""`packwise completion`: what a shell must know to complete a command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from packwise.cli.arguments import FORMATS, UsageError
from packwise.cli.console import show
from packwise.cli.parser import parsers
from packwise.cli.rules import RULES_BY_NAME
from packwise.cli.schema import SCHEMAS
from packwise.extras import COMPLETION

if TYPE_CHECKING:
    from packwise.cli.arguments import Completion

__all__ = ["completion"]

_PATHS = frozenset({"PATH", "A", "B", "OBJECT|FILE:LINE", "FILE", "DIR", "PATH|git:COMMIT"})
"""How the help calls what is a file or a folder."""


def completion(command: Completion) -> int:
    """Prints the script; returns the exit code. Raises UsageError where the library for it is not installed."""
    if not COMPLETION.installed:
        raise UsageError(f"completion must have its library: {COMPLETION.advice}")
    import shtab

    parser, commands = parsers()
    for action in [action for each in commands.values() for action in each._actions]:
        if action.metavar in _PATHS:
            action.complete = shtab.FILE  # type: ignore[attr-defined]
        elif action.metavar in ("NAME", "RULE"):
            action.choices = sorted(RULES_BY_NAME)
        elif action.metavar == "FORMAT[=FILE]":
            action.choices = FORMATS
        elif action.metavar == "KIND":
            action.choices = sorted(SCHEMAS)
        elif action.metavar == "COMMAND":
            action.choices = sorted(commands)
    return 0 if show(shtab.complete(parser, shell=command.shell)) else 1
