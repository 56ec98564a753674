"""The commands, and the exit code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from packwise.cli.arguments import Check, Diff, Function, Render, Rules, Topologies, parse
from packwise.cli.usage import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from packwise.cli.arguments import Command

__all__ = ["main"]

_WRONG_USAGE = 2


def main(arguments: Sequence[str]) -> int:
    """Runs the command that `arguments` name. Returns 0, 1 where errors were found, 2 for wrong usage."""
    try:
        command = parse(arguments)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 0
    try:
        return _run(command)
    except UsageError as error:
        from packwise.cli.console import say

        say([f"error: {error}"])
        return _WRONG_USAGE


def _run(command: Command) -> int:
    # Help and wrong usage need none of the render's imports.
    match command:
        case Render():
            from packwise.cli.render import render

            return render(command)
        case Check():
            from packwise.cli.check import check

            return check(command)
        case Diff():
            from packwise.cli.diff import diff

            return diff(command)
        case Topologies():
            from packwise.cli.topologies import topologies

            return topologies(command)
        case Rules():
            from packwise.cli.rulebook import rules

            return rules(command)
        case Function():
            from packwise.function import main as run_function

            return run_function(validate=command.validate)
