"""`packwise completion`: the data that a shell needs to complete a command line."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING, Record
from packwise.cli.arguments import Command
from packwise.cli.command_line import parsers
from packwise.console import show
from packwise.extras import COMPLETION
from packwise.inputs.request import UsageError

if TYPE_CHECKING:
    import argparse

_DESCRIPTION = """\
Prints a script with which a shell completes commands, options, rules and paths."""


_EPILOG = """\
examples:
  packwise completion bash > ~/.local/share/bash-completion/completions/packwise
  packwise completion zsh > "${fpath[1]}/_packwise"
  packwise completion fish > ~/.config/fish/completions/packwise.fish

exit codes: 0 no error, 2 wrong usage"""


class Completion(Record):
    """`packwise completion`."""

    shell: str


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish", "tcsh", "powershell"), help="the shell")


def _read(parsed: argparse.Namespace) -> Completion:
    return Completion(parsed.shell)


_PATHS = frozenset({"PATH", "A", "B", "OBJECT|FILE:LINE", "FILE", "DIR", "PATH|git:COMMIT"})
"""Words in the help that mean a file or a folder."""


def completion(command: Completion) -> int:
    """Print the script and return the exit code. Raise UsageError if its library is not installed."""
    if not COMPLETION.is_installed:
        raise UsageError(f"cannot print completions: {COMPLETION.advice}")
    import shtab

    # The imports are here because the help does not need these names.
    from packwise.check.options import FORMATS
    from packwise.rules.run import RULES_BY_NAME
    from packwise.schema.options import SCHEMAS

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


COMMAND = Command(_DESCRIPTION, _EPILOG, _add_arguments, _read, completion)
