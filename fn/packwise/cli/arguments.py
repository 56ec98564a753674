"""What a user may say on the command line, and what each command's help says of it."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, get_args

from packwise.cli import help_texts
from packwise.revisions import REVISIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = [
    "STDIN",
    "Check",
    "Command",
    "Completion",
    "Diff",
    "DiffFormat",
    "Format",
    "Function",
    "ImportTopology",
    "Migrate",
    "Named",
    "PlaceGangs",
    "Render",
    "Rules",
    "Topologies",
    "UsageError",
    "parse",
    "parsers",
]

STDIN = "-"
"""How a path names stdin, or stdout."""

Format = Literal["text", "json", "github", "gitlab", "sarif"]
"""How findings are printed."""

DiffFormat = Literal["text", "json", "patch"]
"""How a comparison is printed."""


@dataclass(frozen=True, slots=True)
class Named:
    """What is read: `paths` of files and folders or `-`, the TopologyRender's file, the state before the change.

    `crds` are files and folders with the cluster's CustomResourceDefinitions; `values` are those of variables in
    templates of OSMO's workflows, each as `NAME=VALUE`.
    """

    paths: tuple[str, ...]
    config: str | None = None
    baseline: str | None = None
    crds: tuple[str, ...] = ()
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Render:
    """`packwise render`; `output` is a folder, None for stdout. To `check` is to write nothing."""

    named: Named
    output: str | None = None
    in_place: bool = False
    check: bool = False


@dataclass(frozen=True, slots=True)
class Check:
    """`packwise check`."""

    named: Named
    output: Format = "text"
    fix: bool = False
    nodes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Diff:
    """`packwise diff`: from `before` to `after`; with `exit_code`, a change counts as an error does."""

    before: str
    after: str
    config: str | None = None
    crds: tuple[str, ...] = ()
    output: DiffFormat = "text"
    exit_code: bool = False


@dataclass(frozen=True, slots=True)
class Topologies:
    """`packwise topologies`."""

    named: Named
    as_json: bool = False


@dataclass(frozen=True, slots=True)
class ImportTopology:
    """`packwise topology import`; `paths` are files with a cluster's nodes."""

    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlaceGangs:
    """`packwise place`; `nodes` are files with a cluster's nodes and pods, empty for a scenario.

    `add_nodes`, `drain` and `replicas` change what is there before anything is placed. `further`: whether to count how
    many more replicas fit; `exact`: whether a solver looks at what does not fit.
    """

    named: Named
    nodes: tuple[str, ...] = ()
    output: Literal["text", "json"] = "text"
    add_nodes: tuple[str, ...] = ()
    drain: tuple[str, ...] = ()
    replicas: tuple[str, ...] = ()
    further: bool = False
    exact: bool = False


@dataclass(frozen=True, slots=True)
class Migrate:
    """`packwise migrate`; `source` is the revision of what `paths` hold, None where that tells itself."""

    paths: tuple[str, ...]
    target: str
    config: str | None = None
    source: str | None = None
    dry_run: bool = False
    keep_pack_domain: bool = False


@dataclass(frozen=True, slots=True)
class Rules:
    """`packwise rules`; without a `name`, all of them."""

    name: str | None = None
    as_json: bool = False


@dataclass(frozen=True, slots=True)
class Completion:
    """`packwise completion`."""

    shell: str


@dataclass(frozen=True, slots=True)
class Function:
    """`packwise fn`."""

    validate: bool = False


class UsageError(Exception):
    """What is named does not exist, or does not go together; the arguments alone do not show it.

    The text says what to give instead.
    """


Command = Render | Check | Diff | Topologies | ImportTopology | PlaceGangs | Migrate | Rules | Completion | Function


def parse(arguments: Sequence[str]) -> Command:
    """The command that `arguments` give. Raises SystemExit after help, the version, or a text about wrong usage."""
    parser, commands = parsers()
    name = arguments[0] if arguments else ""
    if name in commands:
        # Options may stand among the paths.
        parsed = commands[name].parse_intermixed_args(arguments[1:], argparse.Namespace(command=name))
    else:
        parsed = parser.parse_args(arguments)
    if parsed.command == "migrate":
        _refuse_earlier(commands[name], parsed)
    return _COMMANDS[parsed.command](parsed)


_COMMANDS: dict[str, Callable[[argparse.Namespace], Command]] = {
    "render": lambda parsed: Render(
        _named(parsed), None if parsed.output == STDIN else parsed.output, parsed.in_place, parsed.check
    ),
    "check": lambda parsed: Check(_named(parsed), parsed.output, parsed.fix, tuple(parsed.nodes)),
    "diff": lambda parsed: Diff(
        parsed.before, parsed.after, parsed.config, tuple(parsed.crds), parsed.output, parsed.exit_code
    ),
    "topologies": lambda parsed: Topologies(Named(tuple(parsed.paths), parsed.config), parsed.output == "json"),
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
    "migrate": lambda parsed: Migrate(
        tuple(parsed.paths), parsed.to, parsed.config, parsed.source, parsed.dry_run, parsed.keep_pack_domain
    ),
    "rules": lambda parsed: Rules(parsed.name, parsed.output == "json"),
    "completion": lambda parsed: Completion(parsed.shell),
    "fn": lambda parsed: Function(parsed.validate),
}
"""The command of each subcommand's name, made of its parsed arguments."""


def _named(parsed: argparse.Namespace) -> Named:
    return Named(tuple(parsed.paths), parsed.config, parsed.baseline, tuple(parsed.crds), tuple(parsed.set))


class _Parser(argparse.ArgumentParser):
    """A parser whose help looks the same on every terminal."""

    def __init__(self, **options: Any) -> None:
        layout = partial(argparse.RawDescriptionHelpFormatter, width=120, max_help_position=28)
        # A shortened option that works today may be ambiguous tomorrow.
        super().__init__(**options, formatter_class=layout, allow_abbrev=False)


def parsers() -> tuple[argparse.ArgumentParser, dict[str, argparse.ArgumentParser]]:
    """The parser of the whole command line, and those of the commands."""
    parser = _Parser(
        prog="packwise",
        description="Renders topology-aware scheduling in Git, for Grove and the KAI Scheduler.",
        epilog=help_texts.EPILOG,
    )
    parser.add_argument("--version", action=_Version, help="print the version")
    commands: Any = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    _add_render(commands)
    _add_check(commands)
    _add_diff(commands)
    _add_topologies(commands)
    _add_topology(commands)
    _add_place(commands)
    _add_migrate(commands)
    _add_rules(commands)
    _add_completion(commands)
    _add_function(commands)
    return parser, commands.choices


def _add_render(commands: Any) -> None:
    text = "print or write your objects and what follows from them"
    render = commands.add_parser("render", help=text, description=help_texts.RENDER, epilog=help_texts.RENDER_EPILOG)
    _add_paths(render)
    output = render.add_mutually_exclusive_group()
    output.add_argument(
        "-o",
        "--output",
        metavar="DIR",
        help="the folder to write to: your files where they stand in PATH, generated objects below packwise/; "
        '"-", the default, is stdout',
    )
    output.add_argument("--in-place", action="store_true", help="write to PATH itself, which must be one folder")
    render.add_argument(
        "--check",
        action="store_true",
        help="write nothing; exit with 1 where a render would change a file of the folder, for CI",
    )
    _add_context(render)


def _add_check(commands: Any) -> None:
    check = commands.add_parser(
        "check", help="say what is wrong", description=help_texts.CHECK, epilog=help_texts.CHECK_EPILOG
    )
    _add_paths(check)
    check.add_argument(
        "-o",
        "--output",
        choices=get_args(Format),
        default="text",
        help="how to print the findings: text for people, json for scripts, github as workflow commands, gitlab as a "
        "Code Quality report, sarif as SARIF 2.1.0 (default: text)",
    )
    check.add_argument(
        "--fix",
        action="store_true",
        help="first mend the files where that needs no decision: quotes around quantities and words that tools read "
        "differently, fields by their new names; no other byte changes",
    )
    _add_context(check)
    _add_nodes(
        check,
        "a cluster's nodes, as `kubectl get nodes -o json` prints them: topologies are then judged on their labels",
    )


def _add_diff(commands: Any) -> None:
    text = "say what changes for the scheduler from one state to another"
    diff = commands.add_parser("diff", help=text, description=help_texts.DIFF, epilog=help_texts.DIFF_EPILOG)
    about = (
        'a file, a folder, "-" for stdin, or what a path held in a commit: git:COMMIT:PATH; git:COMMIT alone means the '
        "path of the other one, or the current folder"
    )
    diff.add_argument("before", metavar="A", help=f"the state before: {about}")
    diff.add_argument("after", metavar="B", help="the state after, named alike")
    diff.add_argument(
        "-o",
        "--output",
        choices=get_args(DiffFormat),
        default="text",
        help="how to print: text for people, json for scripts, patch for a JSON Patch (RFC 6902) of every object "
        "(default: text)",
    )
    diff.add_argument("--exit-code", action="store_true", help="exit 1 when anything changes, as git diff does")
    _add_config(diff)
    _add_crds(diff)


def _add_topologies(commands: Any) -> None:
    text = "list the topologies and who uses them"
    topologies = commands.add_parser(
        "topologies", help=text, description=help_texts.TOPOLOGIES, epilog=help_texts.TOPOLOGIES_EPILOG
    )
    _add_paths(topologies, "*", ["."])
    topologies.add_argument(
        "-o", "--output", choices=("text", "json"), default="text", help="how to print (default: text)"
    )
    _add_config(topologies)


def _add_topology(commands: Any) -> None:
    text = "propose a configuration from the labels of nodes (import)"
    topology = commands.add_parser(
        "topology", help=text, description=help_texts.TOPOLOGY, epilog=help_texts.TOPOLOGY_EPILOG
    )
    topology.add_argument("action", choices=("import",), help="what to do with the nodes")
    topology.add_argument(
        "paths",
        nargs="+",
        metavar="NODES",
        help='what `kubectl get nodes -o json` prints (or yaml), a folder of such files, or "-" for stdin',
    )


def _add_place(commands: Any) -> None:
    text = "say where the KAI Scheduler puts the gangs, or why it does not"
    place = commands.add_parser("place", help=text, description=help_texts.PLACE, epilog=help_texts.PLACE_EPILOG)
    _add_paths(place)
    _add_nodes(
        place,
        "the cluster: what `kubectl get nodes,pods -A -o json` prints (or yaml), a dump of KAI's snapshot plugin, or a "
        "folder of such files, as often as needed; only a scenario goes without",
    )
    place.add_argument("-o", "--output", choices=("text", "json"), default="text", help="how to print (default: text)")
    _add_context(place)
    place.add_argument(
        "--add-nodes",
        metavar="FILE|NxLABELS",
        action="append",
        default=[],
        help="as if these nodes were there too: a file of them, or 4xexample.com/rack=r9 for four copies of the node "
        "that shares most of these labels",
    )
    place.add_argument(
        "--drain",
        metavar="DOMAIN",
        action="append",
        default=[],
        help="as if a node, or all nodes with LABEL=VALUE, were gone, and their pods with them",
    )
    place.add_argument(
        "--replicas",
        metavar="GROUP=N",
        action="append",
        default=[],
        help="as if a workload (llm=2), or a scaling group or clique of it (llm/prefill=4), had N replicas",
    )
    place.add_argument(
        "--exact",
        action="store_true",
        help="for gangs that do not fit, let a solver say whether there is a packing that KAI does not find, for which "
        "rule, and the smallest change that helps (needs packwise[solver])",
    )
    place.add_argument(
        "--further", action="store_true", help="say how many more replicas of each workload fit beside all gangs"
    )


def _add_migrate(commands: Any) -> None:
    text = "rewrite your objects for a later release of Grove"
    migrate = commands.add_parser(
        "migrate", help=text, description=help_texts.MIGRATE, epilog=help_texts.MIGRATE_EPILOG
    )
    migrate.add_argument("paths", nargs="+", metavar="PATH", help="a file or a folder, configuration and workloads")
    migrate.add_argument(
        "--to", required=True, choices=tuple(REVISIONS), help="the revision to write (packwise's docs compare them)"
    )
    migrate.add_argument(
        "--from",
        dest="source",
        choices=tuple(REVISIONS),
        help="the revision of PATH, where no configuration among it tells",
    )
    _add_config(migrate)
    migrate.add_argument("--dry-run", action="store_true", help="print what would change as a diff, and write nothing")
    migrate.add_argument(
        "--keep-pack-domain",
        action="store_true",
        help="from alpha.10 on: name the topology, and leave packDomain to a later `packwise check --fix`; the webhook "
        "refuses both changes at once for a workload that runs",
    )


def _refuse_earlier(parser: argparse.ArgumentParser, parsed: argparse.Namespace) -> None:
    order = list(REVISIONS)
    if parsed.source is not None and order.index(parsed.source) >= order.index(parsed.to):
        known = ", ".join(order)
        parser.error(f"--to must be later than --from {parsed.source}; got {parsed.to}; their order is {known}")


def _add_rules(commands: Any) -> None:
    text = "list the rules, or explain one"
    rules = commands.add_parser("rules", help=text, description=help_texts.RULES, epilog=help_texts.RULES_EPILOG)
    rules.add_argument("name", nargs="?", metavar="NAME", help="the rule to explain; without it, all are listed")
    rules.add_argument("-o", "--output", choices=("text", "json"), default="text", help="how to print (default: text)")


def _add_completion(commands: Any) -> None:
    text = "print the script of a shell's completion"
    completion = commands.add_parser(
        "completion", help=text, description=help_texts.COMPLETION, epilog=help_texts.COMPLETION_EPILOG
    )
    completion.add_argument("shell", choices=("bash", "zsh", "fish", "tcsh", "powershell"), help="the shell")


def _add_function(commands: Any) -> None:
    text = "run as a KRM function, ResourceList in and out"
    function = commands.add_parser("fn", help=text, description=help_texts.FUNCTION, epilog=help_texts.FUNCTION_EPILOG)
    function.add_argument(
        "--validate",
        action="store_true",
        help="answer with results and without items, as kustomize wants of a validator",
    )


def _add_nodes(command: argparse.ArgumentParser, text: str) -> None:
    command.add_argument("--nodes", metavar="NODES", action="append", default=[], help=text)


def _add_paths(command: argparse.ArgumentParser, number: str = "+", default: Sequence[str] = ()) -> None:
    command.add_argument(
        "paths",
        nargs=number,
        default=default,
        metavar="PATH",
        help='a file; a folder, of which all *.yaml, *.yml and *.json are read; or "-" for stdin (YAML documents or a '
        "ResourceList)",
    )


def _add_context(command: argparse.ArgumentParser) -> None:
    _add_config(command)
    command.add_argument(
        "--baseline",
        metavar="PATH|git:COMMIT",
        help="the objects as they stood before the change, so that the rules for updates hold: a file, a folder, or "
        "what PATH held in a commit (git:main, git:HEAD~1)",
    )
    _add_crds(command)
    command.add_argument(
        "--set",
        metavar="NAME=VALUE",
        action="append",
        type=_assignment,
        default=[],
        help="the value of a variable in the templates of OSMO's workflows, as often as needed, as `osmo workflow "
        "submit --set` has it: a whole number, a number, or a text; it counts before their default-values",
    )


def _assignment(text: str) -> str:
    if not text.partition("=")[0] or "=" not in text:
        raise argparse.ArgumentTypeError(f'must be NAME=VALUE; got "{text}"')
    return text


def _add_config(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--config", metavar="FILE", help="the TopologyRender; by default the one that stands among the input"
    )


def _add_crds(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--crds",
        metavar="DIR",
        action="append",
        default=[],
        help="the CustomResourceDefinitions of your cluster, a file or a folder, as often as needed: objects are then "
        "validated as its API server does it, by schema and rules; by default those that stand among the input",
    )


class _Version(argparse.Action):
    def __init__(self, option_strings: Sequence[str], dest: str, help: str) -> None:  # noqa: A002
        super().__init__(option_strings, dest, nargs=0, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from importlib.metadata import version

        from packwise.cli.console import show

        parser.exit(0 if show(f"packwise {version('packwise')}\n") else 1)
