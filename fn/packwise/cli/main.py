"""The commands, and the exit code."""

from __future__ import annotations

from importlib import import_module

from krmfn.hints import TYPE_CHECKING
from krmfn.run import NO_MEMORY
from packwise.cli.arguments import (
    Cache,
    Check,
    Comment,
    Completion,
    Diff,
    Doctor,
    Explain,
    Fleet,
    Function,
    ImportTopology,
    Init,
    Migrate,
    PlaceGangs,
    Render,
    Report,
    Rules,
    Schema,
    Topologies,
    UsageError,
    Version,
)
from packwise.cli.parser import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from packwise.cli.arguments import Command

__all__ = ["main"]

_WRONG_USAGE = 2

_COMMANDS = {
    Render: ("render", "render"),
    Report: ("reporting", "report"),
    Check: ("check", "check"),
    Diff: ("diff", "diff"),
    Comment: ("comment", "comment"),
    Explain: ("explain", "explain"),
    Topologies: ("topologies", "topologies"),
    ImportTopology: ("topology", "topology"),
    PlaceGangs: ("place", "place"),
    Fleet: ("fleet.command", "fleet"),
    Cache: ("cache", "cache"),
    Migrate: ("migrate", "migrate"),
    Rules: ("rules", "rules"),
    Completion: ("completion", "completion"),
    Init: ("init", "init"),
    Doctor: ("doctor", "doctor"),
    Schema: ("schema", "schema"),
    Version: ("version", "version"),
}
"""The module and function of each command, by what it was parsed to."""


def main(arguments: Sequence[str]) -> int:
    """Runs the command that `arguments` name. Returns 0, 1 where errors were found, 2 for wrong usage."""
    from packwise.cli.console import say, show

    try:
        command = parse(arguments)
    except SystemExit as stop:
        # The help is on its way only.
        return (stop.code if isinstance(stop.code, int) else 0) if show("") else 1
    try:
        return _run(command)
    except UsageError as error:
        say([f"error: {error}"])
        return _WRONG_USAGE
    except OSError as error:
        say([f'error: {error.filename}: must be a file or folder that can be used; got "{error.strerror}"'])
        return 1
    except MemoryError:
        pass
    # What filled the memory is let go of where the block above ends.
    say([NO_MEMORY])
    return 1


def _run(command: Command) -> int:
    # Help and wrong usage need none of these imports.
    from packwise.account import one_account

    with one_account():
        if isinstance(command, Function):
            from packwise.function import main as run_function

            return run_function(validate=command.validate, verbose=command.verbose)
        module, name = _COMMANDS[type(command)]
        run: Callable[[Command], int] = getattr(import_module(f"packwise.cli.{module}"), name)
        return run(command)
