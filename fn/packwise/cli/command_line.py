"""The command line: the list of commands, the selected one, and the exit code."""

from __future__ import annotations

import argparse
import re
from functools import partial
from importlib import import_module
from itertools import groupby
from shutil import get_terminal_size
from textwrap import wrap

from krmfn import NO_MEMORY
from krmfn.fieldpath import FieldError
from krmfn.hints import TYPE_CHECKING, Record
from krmfn.terminal import escape_commands, escape_line
from packwise.console import say, show
from packwise.inputs.request import STDIN, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any, NoReturn

    from packwise.cli.arguments import Command

_PROGRAM = "packwise"
_WRONG_USAGE = 2


class CommandEntry(Record):
    """A command in the list: the module with its `COMMAND` and its line in `packwise --help`.

    A run imports only the module of its own command. To print the list, none is imported.
    """

    module: str
    summary: str

    @property
    def command(self) -> Command:
        """Import the module, and return its command."""
        return import_module(self.module).COMMAND


COMMANDS = {
    "render": CommandEntry("packwise.commands.render", "generate the scheduler's objects and print them with yours"),
    "check": CommandEntry("packwise.commands.check", "check objects and report problems"),
    "diff": CommandEntry("packwise.commands.diff", "compare two states as the scheduler sees them"),
    "comment": CommandEntry(
        "packwise.commands.comment",
        "combine check, diff and place in one pull request comment",
    ),
    "explain": CommandEntry("packwise.commands.explain", "explain why a value exists or is missing"),
    "topologies": CommandEntry("packwise.commands.topologies", "list the topologies and the workloads that use them"),
    "topology": CommandEntry("packwise.commands.topology", "propose a configuration from node labels (import)"),
    "place": CommandEntry("packwise.commands.place", "show where the scheduler places gangs, or why they do not fit"),
    "report": CommandEntry("packwise.commands.report", "draw gangs on the nodes of a cluster, as a page or a picture"),
    "fleet": CommandEntry("packwise.commands.fleet", "render, check, compare or place packages of many clusters"),
    "cache": CommandEntry("packwise.commands.cache", "show the size of a fleet's cache, or prune it"),
    "migrate": CommandEntry("packwise.commands.migrate", "rewrite objects for a later release of Grove"),
    "rules": CommandEntry("packwise.commands.rules", "list all rules, or explain one"),
    "init": CommandEntry("packwise.commands.init", "create a package"),
    "doctor": CommandEntry("packwise.commands.doctor", "show how packwise reads a folder, and which client runs it"),
    "schema": CommandEntry("packwise.commands.schema", "print a JSON Schema for editors"),
    "completion": CommandEntry("packwise.commands.completion", "print the completion script of a shell"),
    "version": CommandEntry("packwise.commands.version", "print the version"),
    "help": CommandEntry("packwise.commands.help", "print this help, or the help of a command"),
    "fn": CommandEntry("packwise.commands.fn", "run as a KRM function"),
}
"""Every command by its name, in the order of the help."""

_EPILOG = """\
getting started:
  packwise init clusters/west --for kustomize
  packwise doctor clusters/west

commands for people and CI:
  packwise render examples/disaggregated-inference -o rendered
  packwise check clusters/west --baseline ../main/clusters/west -o json
  packwise diff git:origin/main clusters/west
  packwise topologies clusters/west
  packwise explain PodGang/inference/llm-0 clusters/west
  packwise place clusters/west --nodes nodes.json
  packwise report clusters/west --nodes nodes.json -o report.html
  packwise rules topology-hierarchy
  packwise migrate clusters/west --to upstream --dry-run
  packwise fleet diff clusters --changed-since git:origin/main -o markdown

as a KRM function of kustomize and kpt:
  packwise fn

exit codes: 0 no error, 1 errors were found, 2 wrong usage, 70 a bug in packwise (internal error)"""


class Call(Record):
    """A command, and the record that its `read` makes from the arguments."""

    command: Command
    arguments: Any


def main(arguments: Sequence[str]) -> int:
    """Run the command in `arguments`. Return 0, 1 if errors were found, 2 for wrong usage, 70 for a bug."""
    try:
        return _run(parse(arguments))
    except SystemExit as stop:
        # argparse has printed the help or a usage error.
        return (stop.code if isinstance(stop.code, int) else 0) if show("") else 1
    except MemoryError:
        code, line = 1, NO_MEMORY
    except Exception as error:
        code, line = _failure(error)
    # Memory is released at the end of the block above, so the line can be printed.
    say([line])
    return code


def _failure(error: Exception) -> tuple[int, str]:
    """Return the exit code and the line for stderr of a command that ended with `error`.

    An unexpected error has its own exit code and no traceback. Scripts can then distinguish a bug from findings.
    """
    if isinstance(error, UsageError):
        return _WRONG_USAGE, f"error: {error}"
    if isinstance(error, OSError):
        return 1, f"error: {error.filename}: cannot use the file or folder: {error.strerror}"
    if isinstance(error, FieldError):
        return 1, error.to_result().line_of_text()
    from krmfn.run import INTERNAL_ERROR, internal_error

    return INTERNAL_ERROR, f"error: {internal_error(error)}"


def _run(call: Call) -> int:
    # Help and usage errors do not need this import.
    from packwise.frontends.osmo.account import open_account

    with open_account():
        return call.command.run(call.arguments)


def parse(arguments: Sequence[str]) -> Call:
    """Return the call in `arguments`. Raise SystemExit after help, the version, or a usage error."""
    if not arguments:
        arguments = ["--help"]
    if arguments[0] == "help":
        arguments = [*arguments[1:], "--help"]
    arguments = _protect_paths(arguments)
    if arguments[0] in COMMANDS:
        parser = _command_parser(arguments[0])
        # Options may come between the paths.
        parsed = parser.parse_intermixed_args(arguments[1:], argparse.Namespace(command=arguments[0]))
    else:
        # Help, the version and usage errors list every command.
        whole, commands = parsers([word for word in arguments if word in COMMANDS][:1])
        parsed = whole.parse_args(arguments)
        parser = commands[parsed.command]
    command = COMMANDS[parsed.command].command
    if command.refuse is not None:
        command.refuse(parser, parsed)
    return Call(command, command.read(parsed))


def _command_parser(name: str) -> argparse.ArgumentParser:
    """Return the parser of one command, as in `parsers`. A run does not build the parsers of other commands."""
    command = COMMANDS[name].command
    parser = _Parser(prog=f"{_PROGRAM} {name}", description=command.description, epilog=command.epilog)
    command.add_arguments(parser)
    return parser


def _protect_paths(arguments: Sequence[str]) -> Sequence[str]:
    """Return the arguments without `--`. A path after `--` that looks like an option gets the prefix `./`.

    argparse ignores `--` if options may be between the paths.
    """
    if "--" not in arguments:
        return arguments
    at = arguments.index("--")
    paths = [f"./{word}" if word.startswith("-") and word != STDIN else word for word in arguments[at + 1 :]]
    return [*arguments[:at], *paths]


def parsers(names: Iterable[str] = COMMANDS) -> tuple[argparse.ArgumentParser, dict[str, argparse.ArgumentParser]]:
    """Return the parser of the command line and the parsers of all commands. Only commands in `names` have options."""
    parser = _Parser(
        prog=_PROGRAM,
        description="Renders topology-aware scheduling in Git, for Grove and the KAI Scheduler.",
        epilog=_EPILOG,
    )
    parser.add_argument("--version", action=_Version, help="print the version")
    commands: Any = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    full = frozenset(names)
    for name, entry in COMMANDS.items():
        if name in full:
            command = entry.command
            texts = {"description": command.description, "epilog": command.epilog}
            command.add_arguments(commands.add_parser(name, help=entry.summary, **texts))
        else:
            commands.add_parser(name, help=entry.summary)
    return parser, commands.choices


_NARROWEST, _WIDEST = 40, 120


class _Layout(argparse.HelpFormatter):
    """Help with wrapped paragraphs. Users can copy an indented command: if it is too wide, a backslash continues it."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        # A line break within `--max-warnings` or `pre-commit` would hide the name.
        return wrap(" ".join(text.split()), width, break_on_hyphens=False)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        lines: list[str] = []
        for is_command, group in groupby(text.splitlines(), key=lambda line: line.startswith(" ") or not line):
            if not is_command:
                lines += wrap(" ".join(group), width, break_on_hyphens=False)
                continue
            for line in group:
                lines += [line] if len(line) <= width else _fold_command(line, width)
        return "\n".join([indent + line for line in lines])


def _fold_command(line: str, width: int) -> list[str]:
    """Return the lines of an indented command that is too wide. Its comment comes first."""
    start = line[: len(line) - len(line.lstrip())]
    command, _, comment = line.partition(" # ")
    above = wrap(comment, width, initial_indent=f"{start}# ", subsequent_indent=f"{start}# ")
    # Each line but the last ends with a blank and a backslash.
    room = width if len(command.rstrip()) <= width else width - 2
    parts = wrap(command, room, subsequent_indent=f"{start}  ", break_long_words=False, break_on_hyphens=False)
    return [*above, " \\\n".join(parts)]


class _Parser(argparse.ArgumentParser):
    """A parser with help as wide as the terminal. Without a terminal and COLUMNS, the help has 120 columns."""

    def __init__(self, **options: Any) -> None:
        columns = get_terminal_size((_WIDEST, 24)).columns
        width = max(_NARROWEST, min(columns, _WIDEST))
        layout = partial(_Layout, width=width, max_help_position=28)
        # No abbreviations: a shortened option that works today may become ambiguous.
        super().__init__(**options, formatter_class=layout, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        """Exit with the reason, and with the option or choice that is nearest to a misspelt one."""
        super().error(escape_line(message + self._suggest_nearest(message)))

    def _print_message(self, message: str, file: Any = None) -> None:
        """Write help, or a usage error. A usage error may quote a file name from a pull request."""
        super()._print_message(escape_commands(message), file)

    def _suggest_nearest(self, message: str) -> str:
        from packwise.wording import did_you_mean

        unknown = re.match(r"unrecognized arguments: (--[^ =]+)", message)
        if unknown is not None and unknown[1] == "--jobs":
            return "; remove it: only packwise fleet has --jobs, and one process handles a package"
        if unknown is not None:
            return did_you_mean(unknown[1], [name for name in self._option_string_actions if name.startswith("--")])
        chosen = re.search(r"invalid choice: '([^']*)'", message)
        lists = [list(action.choices) for action in self._actions if action.choices]
        near = [did_you_mean(chosen[1], choices) for choices in lists] if chosen is not None else []
        return next((each for each in near if each), "")


class _Version(argparse.Action):
    def __init__(self, option_strings: Sequence[str], dest: str, help: str) -> None:  # noqa: A002
        super().__init__(option_strings, dest, nargs=0, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        command = COMMANDS["version"].command
        parser.exit(command.run(command.read(argparse.Namespace(libraries=False))))
