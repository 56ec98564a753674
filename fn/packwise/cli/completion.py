"""`packwise completion`: what a shell must know to complete a command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import shtab

from packwise.cli.arguments import parsers
from packwise.cli.console import show
from packwise.cli.rules import RULES_BY_NAME

if TYPE_CHECKING:
    from packwise.cli.arguments import Completion

__all__ = ["completion"]

_PATHS = frozenset({"PATH", "A", "B", "FILE", "DIR", "PATH|git:COMMIT"})
"""How the help calls what is a file or a folder."""


def completion(command: Completion) -> int:
    """Prints the script; returns the exit code."""
    parser, commands = parsers()
    for action in [action for each in commands.values() for action in each._actions]:
        if action.metavar in _PATHS:
            action.complete = shtab.FILE  # type: ignore[attr-defined]
        elif action.metavar == "NAME":
            action.choices = sorted(RULES_BY_NAME)
    show(shtab.complete(parser, shell=command.shell))
    return 0
