"""The command line read: which command it gives, and what is wrong with it."""

from __future__ import annotations

import argparse
import re
from dataclasses import replace
from functools import partial

from krmfn.hints import TYPE_CHECKING
from packwise.cli import help_texts
from packwise.cli.arguments import (
    STDIN,
    Cache,
    Check,
    Choice,
    Command,
    Comment,
    Completion,
    Diff,
    Doctor,
    Explain,
    Fix,
    Fleet,
    Function,
    ImportTopology,
    Init,
    Migrate,
    Named,
    Output,
    PlaceGangs,
    Render,
    Report,
    Rules,
    Schema,
    Topologies,
    Verbosity,
    Version,
)
from packwise.cli.options.about import (
    add_completion,
    add_doctor,
    add_function,
    add_help,
    add_rules,
    add_schema,
    add_version,
)
from packwise.cli.options.caching import add_cache, refuse_without_prune
from packwise.cli.options.drawing import add_report, refuse_twice
from packwise.cli.options.fleet import add_fleet, refuse_unlike_verb
from packwise.cli.options.judging import add_check, add_render, refuse_unlike
from packwise.cli.options.packages import add_init, add_migrate, refuse_earlier
from packwise.cli.options.questions import add_comment, add_diff, add_explain, add_place, add_topologies, add_topology

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, NoReturn

__all__ = ["parse", "parsers"]


def parse(arguments: Sequence[str]) -> Command:
    """The command that `arguments` give. Raises SystemExit after help, the version, or a text about wrong usage."""
    parser, commands = parsers()
    if arguments and arguments[0] == "help":
        arguments = [*arguments[1:], "--help"]
    name = arguments[0] if arguments else ""
    if name in commands:
        # Options may stand among the paths.
        parsed = commands[name].parse_intermixed_args(arguments[1:], argparse.Namespace(command=name))
    else:
        parsed = parser.parse_args(arguments)
    if parsed.command == "migrate":
        refuse_earlier(commands[name], parsed)
    if parsed.command == "check":
        refuse_unlike(commands[name], parsed)
    if parsed.command == "report":
        refuse_twice(commands[name], parsed)
    if parsed.command == "fleet":
        refuse_unlike_verb(commands[name], parsed)
    if parsed.command == "cache":
        refuse_without_prune(commands[name], parsed)
    return _COMMANDS[parsed.command](parsed)


_COMMANDS: dict[str, Callable[[argparse.Namespace], Command]] = {
    "render": lambda parsed: Render(
        _named(parsed),
        None if parsed.output == STDIN else parsed.output,
        parsed.in_place,
        parsed.check,
        Verbosity(parsed.verbosity),
        parsed.jobs,
    ),
    "check": lambda parsed: Check(
        replace(_named(parsed), force_exclude=parsed.force_exclude),
        tuple(parsed.output or [Output()]),
        Fix(parsed.unsafe_fixes, parsed.diff) if parsed.fix else None,
        Choice(
            _listed(parsed.ignore), _listed(parsed.select), parsed.known, parsed.write_findings, parsed.max_warnings
        ),
        Verbosity(parsed.verbosity),
        tuple(parsed.nodes),
        parsed.jobs,
    ),
    "diff": lambda parsed: Diff(
        parsed.before,
        parsed.after,
        parsed.config,
        tuple(parsed.crds),
        parsed.output,
        parsed.exit_code,
        tuple(parsed.exclude),
    ),
    "comment": lambda parsed: Comment(_named(parsed), tuple(parsed.nodes)),
    "topologies": lambda parsed: Topologies(
        Named(tuple(parsed.paths), parsed.config, exclude=tuple(parsed.exclude)), parsed.output == "json"
    ),
    "explain": lambda parsed: Explain(_named(parsed), parsed.target, parsed.output == "json"),
    "topology": lambda parsed: ImportTopology(tuple(parsed.paths)),
    "place": lambda parsed: PlaceGangs(
        _named(parsed),
        tuple(parsed.nodes),
        parsed.output,
        tuple(parsed.add_nodes),
        tuple(parsed.drain),
        tuple(parsed.replicas),
        parsed.further,
        parsed.exact,
    ),
    "report": lambda parsed: Report(_named(parsed), tuple(parsed.output), tuple(parsed.nodes), parsed.source_url),
    "fleet": lambda parsed: Fleet(
        parsed.verb,
        parsed.root,
        parsed.output if parsed.verb == "render" else None,
        (parsed.report if parsed.verb == "render" else parsed.output) or "text",
        parsed.baseline,
        parsed.changed_since,
        parsed.nodes,
        parsed.jobs,
        parsed.scheduler,
        parsed.cache,
        parsed.is_cached,
        parsed.cache_size,
        parsed.exit_code,
        tuple(parsed.exclude),
        Verbosity(parsed.verbosity),
    ),
    "cache": lambda parsed: Cache(parsed.place, parsed.action == "prune", parsed.max_size),
    "migrate": lambda parsed: Migrate(
        tuple(parsed.paths),
        parsed.to,
        parsed.config,
        parsed.source,
        parsed.dry_run,
        parsed.keep_pack_domain,
        tuple(parsed.exclude),
    ),
    "rules": lambda parsed: Rules(parsed.name, parsed.output == "json"),
    "completion": lambda parsed: Completion(parsed.shell),
    "init": lambda parsed: Init(
        parsed.folder, tuple(parsed.targets), tuple(parsed.sources), tuple(parsed.levels), parsed.revision, parsed.apply
    ),
    "doctor": lambda parsed: Doctor(Named(tuple(parsed.paths), parsed.config), parsed.output == "json"),
    "schema": lambda parsed: Schema(parsed.name, parsed.revision),
    "version": lambda parsed: Version(parsed.libraries),
    "fn": lambda parsed: Function(parsed.validate, parsed.verbose, parsed.jobs),
}
"""The command of each subcommand's name, made of its parsed arguments."""


def _named(parsed: argparse.Namespace) -> Named:
    return Named(
        tuple(parsed.paths),
        parsed.config,
        parsed.baseline,
        tuple(parsed.crds),
        tuple(parsed.set),
        tuple(parsed.exclude),
    )


def _listed(names: Sequence[str]) -> tuple[str, ...]:
    """The names of options that are given once for each, or once with commas between them."""
    return tuple([stripped for text in names for name in text.split(",") if (stripped := name.strip())])


class _Parser(argparse.ArgumentParser):
    """A parser whose help looks the same on every terminal."""

    def __init__(self, **options: Any) -> None:
        layout = partial(argparse.RawDescriptionHelpFormatter, width=120, max_help_position=28)
        # A shortened option that works today may be ambiguous tomorrow.
        super().__init__(**options, formatter_class=layout, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        """Exits with the reason, and the name that a misspelt one is near to."""
        super().error(message + self._nearest(message))

    def _nearest(self, message: str) -> str:
        from packwise.wording import closest

        unknown = re.match(r"unrecognized arguments: (--[^ =]+)", message)
        if unknown is not None:
            return closest(unknown[1], [name for name in self._option_string_actions if name.startswith("--")])
        chosen = re.search(r"invalid choice: '([^']*)'", message)
        lists = [list(action.choices) for action in self._actions if action.choices]
        near = [closest(chosen[1], choices) for choices in lists] if chosen is not None else []
        return next((each for each in near if each), "")


def parsers() -> tuple[argparse.ArgumentParser, dict[str, argparse.ArgumentParser]]:
    """The parser of the whole command line, and those of the commands."""
    parser = _Parser(
        prog="packwise",
        description="Renders topology-aware scheduling in Git, for Grove and the KAI Scheduler.",
        epilog=help_texts.EPILOG,
    )
    parser.add_argument("--version", action=_Version, help="print the version")
    commands: Any = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    add_render(commands)
    add_check(commands)
    add_diff(commands)
    add_comment(commands)
    add_explain(commands)
    add_topologies(commands)
    add_topology(commands)
    add_place(commands)
    add_report(commands)
    add_fleet(commands)
    add_cache(commands)
    add_migrate(commands)
    add_rules(commands)
    add_init(commands)
    add_doctor(commands)
    add_schema(commands)
    add_completion(commands)
    add_version(commands)
    add_help(commands)
    add_function(commands)
    return parser, commands.choices


class _Version(argparse.Action):
    def __init__(self, option_strings: Sequence[str], dest: str, help: str) -> None:  # noqa: A002
        super().__init__(option_strings, dest, nargs=0, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from packwise.cli.version import version

        parser.exit(version(Version()))
