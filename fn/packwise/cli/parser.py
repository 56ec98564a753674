"""The command line read: which command it gives, and what is wrong with it."""

from __future__ import annotations

import argparse
import re
from functools import partial
from importlib import import_module

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

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any, NoReturn

__all__ = ["parse", "parsers"]


def parse(arguments: Sequence[str]) -> Command:
    """The command that `arguments` give. Raises SystemExit after help, the version, or a text about wrong usage."""
    if arguments and arguments[0] == "help":
        arguments = [*arguments[1:], "--help"]
    arguments = _divided(arguments)
    name = arguments[0] if arguments else ""
    parser, commands = parsers([name] if name in _OPTIONS else None)
    if name in commands:
        # Options may stand among the paths.
        parsed = commands[name].parse_intermixed_args(arguments[1:], argparse.Namespace(command=name))
    else:
        parsed = parser.parse_args(arguments)
    if parsed.command in _REFUSALS:
        _option(_OPTIONS[parsed.command][0], _REFUSALS[parsed.command])(commands[parsed.command], parsed)
    return _COMMANDS[parsed.command](parsed)


def _divided(arguments: Sequence[str]) -> Sequence[str]:
    """The arguments without `--`, after which nothing is an option: a path there that looks like one does no longer.

    argparse forgets `--` where options may stand among the paths.
    """
    if "--" not in arguments:
        return arguments
    at = arguments.index("--")
    paths = [f"./{word}" if word.startswith("-") and word != STDIN else word for word in arguments[at + 1 :]]
    return [*arguments[:at], *paths]


_COMMANDS: dict[str, Callable[[argparse.Namespace], Command]] = {
    "render": lambda parsed: Render(
        _named(parsed),
        None if parsed.output == STDIN else parsed.output,
        parsed.in_place,
        parsed.check,
        Verbosity(parsed.verbosity),
    ),
    "check": lambda parsed: Check(
        _named(parsed)._replace(force_exclude=parsed.force_exclude),
        tuple(parsed.output or [Output()]),
        Fix(parsed.unsafe_fixes, parsed.diff) if parsed.fix else None,
        Choice(
            _listed(parsed.ignore), _listed(parsed.select), parsed.known, parsed.write_findings, parsed.max_warnings
        ),
        Verbosity(parsed.verbosity),
        tuple(parsed.nodes),
        parsed.changed_since,
        parsed.requires_workloads,
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
        parsed.prunes,
        tuple(parsed.crds),
        tuple(parsed.set),
        parsed.requires_workloads,
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
        parsed.folder,
        tuple(parsed.targets),
        tuple(parsed.sources),
        tuple(parsed.levels),
        parsed.revision,
        parsed.apply,
        parsed.without_grove,
    ),
    "doctor": lambda parsed: Doctor(
        Named(tuple(parsed.paths), parsed.config, exclude=tuple(parsed.exclude)), parsed.output == "json"
    ),
    "schema": lambda parsed: Schema(parsed.name, parsed.revision),
    "version": lambda parsed: Version(parsed.libraries),
    "fn": lambda parsed: Function(parsed.validate, parsed.verbose),
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
    return tuple(stripped for text in names for name in text.split(",") if (stripped := name.strip()))


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
        if unknown is not None and unknown[1] == "--jobs":
            return "; leave it out: one process works on a package, and packwise fleet alone has --jobs"
        if unknown is not None:
            return closest(unknown[1], [name for name in self._option_string_actions if name.startswith("--")])
        chosen = re.search(r"invalid choice: '([^']*)'", message)
        lists = [list(action.choices) for action in self._actions if action.choices]
        near = [closest(chosen[1], choices) for choices in lists] if chosen is not None else []
        return next((each for each in near if each), "")


_OPTIONS = {
    "render": ("judging", "add_render"),
    "check": ("judging", "add_check"),
    "diff": ("questions", "add_diff"),
    "comment": ("questions", "add_comment"),
    "explain": ("questions", "add_explain"),
    "topologies": ("questions", "add_topologies"),
    "topology": ("questions", "add_topology"),
    "place": ("questions", "add_place"),
    "report": ("drawing", "add_report"),
    "fleet": ("fleet", "add_fleet"),
    "cache": ("caching", "add_cache"),
    "migrate": ("packages", "add_migrate"),
    "rules": ("about", "add_rules"),
    "init": ("packages", "add_init"),
    "doctor": ("about", "add_doctor"),
    "schema": ("about", "add_schema"),
    "completion": ("about", "add_completion"),
    "version": ("about", "add_version"),
    "help": ("about", "add_help"),
    "fn": ("about", "add_function"),
}
"""The module of `options/` that has those of each command, and its function that adds the command."""

_REFUSALS = {
    "check": "refuse_unlike",
    "report": "refuse_twice",
    "fleet": "refuse_unlike_verb",
    "cache": "refuse_without_prune",
    "migrate": "refuse_earlier",
}
"""The function of that module that refuses options which do not go together."""


def _option(module: str, name: str) -> Callable[..., None]:
    # A run takes the options of one command, and imports no others.
    return getattr(import_module(f"packwise.cli.options.{module}"), name)


def parsers(names: Iterable[str] | None = None) -> tuple[argparse.ArgumentParser, dict[str, argparse.ArgumentParser]]:
    """The parser of the command line, and those of the commands of these `names`, of all without any."""
    parser = _Parser(
        prog="packwise",
        description="Renders topology-aware scheduling in Git, for Grove and the KAI Scheduler.",
        epilog=help_texts.EPILOG,
    )
    parser.add_argument("--version", action=_Version, help="print the version")
    commands: Any = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name in _OPTIONS if names is None else names:
        _option(*_OPTIONS[name])(commands)
    return parser, commands.choices


class _Version(argparse.Action):
    def __init__(self, option_strings: Sequence[str], dest: str, help: str) -> None:  # noqa: A002
        super().__init__(option_strings, dest, nargs=0, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from packwise.cli.version import version

        parser.exit(version(Version()))
