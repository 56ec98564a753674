"""What a user may say on the command line, and what each command's help says of it."""

from __future__ import annotations

import argparse
import re
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NoReturn, cast, get_args

from packwise.cli import help_texts
from packwise.revisions import REVISIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = [
    "STDIN",
    "Check",
    "Choice",
    "Command",
    "Completion",
    "Diff",
    "DiffFormat",
    "Doctor",
    "Explain",
    "Fix",
    "Format",
    "Function",
    "ImportTopology",
    "Init",
    "Migrate",
    "Named",
    "Output",
    "PlaceGangs",
    "Render",
    "Rules",
    "Schema",
    "Target",
    "Topologies",
    "UsageError",
    "Verbosity",
    "Version",
    "parse",
    "parsers",
]

STDIN = "-"
"""How a path names stdin, or stdout."""

Format = Literal["text", "json", "github", "gitlab", "sarif", "junit", "markdown"]
"""How findings are printed."""

DiffFormat = Literal["text", "json", "patch", "markdown"]
"""How a comparison is printed."""

Target = Literal["kustomize", "kpt", "argocd", "flux", "github", "gitlab", "pre-commit"]
"""What `packwise init` writes a package for: who renders it, or who checks it."""


@dataclass(frozen=True, slots=True)
class Named:
    """What is read: `paths` of files and folders or `-`, the TopologyRender's file, the state before the change.

    `crds` are files and folders with the cluster's CustomResourceDefinitions; `values` are those of variables in
    templates of OSMO's workflows, each as `NAME=VALUE`; `exclude` are globs of files that are left out of folders;
    with `force_exclude`, a file that is named is left out as one of a folder is.
    """

    paths: tuple[str, ...]
    config: str | None = None
    baseline: str | None = None
    crds: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    force_exclude: bool = False


class Verbosity(IntEnum):
    """How much people are told: programs are given everything in any case."""

    QUIET = -1
    """No line at the end, and nothing that asks for nothing."""
    NORMAL = 0
    """Of findings of one form the first few; infos are counted."""
    VERBOSE = 1
    """Every finding."""


@dataclass(frozen=True, slots=True)
class Render:
    """`packwise render`; `output` is a folder, None for stdout. To `check` is to write nothing."""

    named: Named
    output: str | None = None
    in_place: bool = False
    check: bool = False
    verbosity: Verbosity = Verbosity.NORMAL


@dataclass(frozen=True, slots=True)
class Output:
    """Findings in a format, and the file that gets them; None: stdout."""

    format: Format = "text"
    file: str | None = None


@dataclass(frozen=True, slots=True)
class Fix:
    """What `--fix` does: `unsafe` fixes change what is meant; to `show` is to print a diff, and write nothing."""

    unsafe: bool = False
    show: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    """Which findings a check reports, and when warnings fail it.

    `selected` are the only rules that are, where there are any. `known` is the file of findings that were there before,
    `written` the one to write them to.
    """

    ignored: tuple[str, ...] = ()
    selected: tuple[str, ...] = ()
    known: str | None = None
    written: str | None = None
    max_warnings: int | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """`packwise check`; `fix` is None where nothing is mended."""

    named: Named
    outputs: tuple[Output, ...] = (Output(),)
    fix: Fix | None = None
    choice: Choice = Choice()
    verbosity: Verbosity = Verbosity.NORMAL
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
    exclude: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Explain:
    """`packwise explain`; `target` is an object, a line of a file, or one more path: the command looks which."""

    named: Named
    target: str | None = None
    as_json: bool = False


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
    exclude: tuple[str, ...] = ()


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
class Init:
    """`packwise init`: a package in `folder` for `targets`, by what `sources` tell of the cluster.

    `levels` are pairs of domain and node label, broadest first. `apply` is whether generated objects are applied; None:
    not where an operator was seen.
    """

    folder: str
    targets: tuple[Target, ...] = ()
    sources: tuple[str, ...] = ()
    levels: tuple[tuple[str, str], ...] = ()
    revision: str | None = None
    apply: bool | None = None


@dataclass(frozen=True, slots=True)
class Doctor:
    """`packwise doctor`."""

    named: Named
    as_json: bool = False


@dataclass(frozen=True, slots=True)
class Schema:
    """`packwise schema`; without a `name`, which there are. `revision` is that of a PodCliqueSet."""

    name: str | None = None
    revision: str | None = None


@dataclass(frozen=True, slots=True)
class Version:
    """`packwise version`; `libraries`: with what packwise stands on."""

    libraries: bool = False


@dataclass(frozen=True, slots=True)
class Function:
    """`packwise fn`."""

    validate: bool = False
    verbose: bool = False


class UsageError(Exception):
    """What is named does not exist, or does not go together; the arguments alone do not show it.

    The text says what to give instead.
    """


Command = (
    Render
    | Check
    | Diff
    | Explain
    | Topologies
    | ImportTopology
    | PlaceGangs
    | Migrate
    | Rules
    | Completion
    | Init
    | Doctor
    | Schema
    | Version
    | Function
)


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
        _refuse_earlier(commands[name], parsed)
    if parsed.command == "check":
        _refuse_unlike(commands[name], parsed)
    return _COMMANDS[parsed.command](parsed)


_COMMANDS: dict[str, Callable[[argparse.Namespace], Command]] = {
    "render": lambda parsed: Render(
        _named(parsed),
        None if parsed.output == STDIN else parsed.output,
        parsed.in_place,
        parsed.check,
        Verbosity(parsed.verbosity),
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
    _add_render(commands)
    _add_check(commands)
    _add_diff(commands)
    _add_explain(commands)
    _add_topologies(commands)
    _add_topology(commands)
    _add_place(commands)
    _add_migrate(commands)
    _add_rules(commands)
    _add_init(commands)
    _add_doctor(commands)
    _add_schema(commands)
    _add_completion(commands)
    _add_version(commands)
    _add_help(commands)
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
    _add_verbosity(render)


def _add_check(commands: Any) -> None:
    check = commands.add_parser(
        "check", help="say what is wrong", description=help_texts.CHECK, epilog=help_texts.CHECK_EPILOG
    )
    _add_paths(check, "*", ["."])
    check.add_argument(
        "-o",
        "--output",
        metavar="FORMAT[=FILE]",
        type=_output,
        action="append",
        help="how to print the findings, and the file to write that to; as often as needed, but for stdout once: text "
        "for people, json for scripts, github as workflow commands, gitlab as a Code Quality report, sarif as SARIF "
        "2.1.0, junit as JUnit XML, markdown as a comment on a pull request (default: text)",
    )
    _add_fixes(check)
    _add_choice(check)
    _add_context(check)
    _add_verbosity(check)


def _output(text: str) -> Output:
    name, equals, file = text.partition("=")
    if name not in get_args(Format):
        known = ", ".join(get_args(Format))
        raise argparse.ArgumentTypeError(
            f'must be one of {known}, or one with a file (sarif=packwise.sarif); got "{name}"'
        )
    if equals and not file:
        raise argparse.ArgumentTypeError(f'"{text}" must name a file after the equals sign')
    return Output(cast("Format", name), file if equals and file != STDIN else None)


def _add_fixes(check: argparse.ArgumentParser) -> None:
    check.add_argument(
        "--fix",
        action="store_true",
        help="first mend the files where that changes no meaning: quotes around quantities and words that tools read "
        "differently, fields by their new names; no other byte changes",
    )
    check.add_argument(
        "--unsafe-fixes",
        action="store_true",
        help="with --fix: mend also where the change is a decision: labels that topograph renamed, the topology that a "
        "binding lists",
    )
    check.add_argument(
        "--diff",
        action="store_true",
        help="with --fix: print what would change as a diff, write nothing, and exit with 1 where anything would",
    )
    check.add_argument(
        "--force-exclude",
        action="store_true",
        help="leave out a file that is named itself as its folder's files are: for pre-commit and others that name "
        "changed files",
    )
    _add_nodes(
        check,
        "a cluster's nodes, as `kubectl get nodes -o json` prints them: topologies are then judged on their labels",
    )


def _add_choice(check: argparse.ArgumentParser) -> None:
    check.add_argument(
        "--ignore",
        metavar="RULE",
        action="append",
        default=[],
        help="report nothing of this rule, a warning or an info; several with commas, or as often as needed",
    )
    check.add_argument(
        "--select", metavar="RULE", action="append", default=[], help="report this rule only; several likewise"
    )
    check.add_argument(
        "--max-warnings", metavar="N", type=_number, help="exit with 1 where there are more warnings than that"
    )
    check.add_argument(
        "--write-findings", metavar="FILE", help="write all findings to this file, for --known; the exit code is 0"
    )
    check.add_argument(
        "--known", metavar="FILE", help="report only findings that are not in this file, which --write-findings wrote"
    )


def _number(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise argparse.ArgumentTypeError(f'must be a number from 0 on; got "{text}"')
    return int(text)


def _refuse_unlike(parser: argparse.ArgumentParser, parsed: argparse.Namespace) -> None:
    if not parsed.fix and (parsed.diff or parsed.unsafe_fixes):
        parser.error(f"{'--diff' if parsed.diff else '--unsafe-fixes'} must go with --fix")
    if parsed.known is not None and parsed.write_findings is not None:
        parser.error("--write-findings must not go with --known: it writes all findings there are")
    outputs: list[Output] = parsed.output or []
    files = [output.file for output in outputs]
    twice = [file for file in files if files.count(file) > 1]
    if twice:
        to = "stdout" if twice[0] is None else f'"{twice[0]}"'
        parser.error(f"-o must name {to} once; give the others a file each (sarif=packwise.sarif)")


def _add_verbosity(command: argparse.ArgumentParser) -> None:
    verbosity = command.add_mutually_exclusive_group()
    verbosity.add_argument(
        "-v",
        "--verbose",
        dest="verbosity",
        action="store_const",
        const=int(Verbosity.VERBOSE),
        default=int(Verbosity.NORMAL),
        help="print every finding: also more of the same form, and infos, which ask for nothing",
    )
    verbosity.add_argument(
        "-q",
        "--quiet",
        dest="verbosity",
        action="store_const",
        const=int(Verbosity.QUIET),
        help="print errors and warnings only, without the line at the end",
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
        help="how to print: text for people, json for scripts, patch for a JSON Patch (RFC 6902) of every object, "
        "markdown as a comment on a pull request (default: text)",
    )
    diff.add_argument("--exit-code", action="store_true", help="exit 1 when anything changes, as git diff does")
    _add_config(diff)
    _add_crds(diff)


def _add_explain(commands: Any) -> None:
    text = "say why a value is there, or missing"
    explain = commands.add_parser(
        "explain", help=text, description=help_texts.EXPLAIN, epilog=help_texts.EXPLAIN_EPILOG
    )
    explain.add_argument(
        "target",
        nargs="?",
        metavar="OBJECT|FILE:LINE",
        help="a workload or a generated object, as Kind/namespace/name or Kind/name; or a line of a file, which an "
        "earlier render may have written; without it, the trees of all workloads",
    )
    _add_paths(explain, "*")
    explain.add_argument(
        "-o", "--output", choices=("text", "json"), default="text", help="how to print (default: text)"
    )
    _add_context(explain)


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


def _add_init(commands: Any) -> None:
    text = "write a package to begin with"
    init = commands.add_parser("init", help=text, description=help_texts.INIT, epilog=help_texts.INIT_EPILOG)
    init.add_argument("folder", nargs="?", default=".", metavar="DIR", help="the folder of the package (default: .)")
    init.add_argument(
        "--for",
        dest="targets",
        action="append",
        default=[],
        choices=get_args(Target),
        help="who renders the package, or checks it; as often as needed",
    )
    init.add_argument(
        "--from",
        dest="sources",
        action="append",
        default=[],
        metavar="FILE",
        help="what `kubectl get -o yaml` printed of the cluster: the operator's ConfigMap, ClusterTopologies or "
        'ClusterTopologyBindings, nodes, deployments; "-" is stdin; as often as needed',
    )
    init.add_argument(
        "--level",
        dest="levels",
        action="append",
        default=[],
        type=_level,
        metavar="DOMAIN=LABEL",
        help="a topology level, broadest first, as often as needed: rack=example.com/rack",
    )
    init.add_argument("--revision", choices=tuple(REVISIONS), help="the release of Grove that the cluster runs")
    init.add_argument(
        "--apply",
        action=argparse.BooleanOptionalAction,
        help="whether generated objects are applied from Git; by default not where --from shows an operator",
    )


def _level(text: str) -> tuple[str, str]:
    domain, equals, key = text.partition("=")
    if not (domain and equals and key):
        raise argparse.ArgumentTypeError(f'must be DOMAIN=LABEL, as in rack=example.com/rack; got "{text}"')
    return domain, key


def _add_doctor(commands: Any) -> None:
    text = "say what packwise sees in a folder, and who would run it"
    doctor = commands.add_parser("doctor", help=text, description=help_texts.DOCTOR, epilog=help_texts.DOCTOR_EPILOG)
    _add_paths(doctor, "*", ["."])
    doctor.add_argument("-o", "--output", choices=("text", "json"), default="text", help="how to print (default: text)")
    _add_config(doctor)


def _add_schema(commands: Any) -> None:
    text = "print a JSON Schema, for editors"
    schema = commands.add_parser("schema", help=text, description=help_texts.SCHEMA, epilog=help_texts.SCHEMA_EPILOG)
    schema.add_argument(
        "name", nargs="?", metavar="KIND", help="TopologyRender or PodCliqueSet; without it, which there are"
    )
    schema.add_argument(
        "--revision",
        choices=tuple(REVISIONS),
        help="the release of Grove whose PodCliqueSet it is (default: the newest)",
    )


def _add_version(commands: Any) -> None:
    text = "print the version"
    version = commands.add_parser(
        "version", help=text, description=help_texts.VERSION, epilog=help_texts.VERSION_EPILOG
    )
    version.add_argument(
        "-v",
        "--verbose",
        dest="libraries",
        action="store_true",
        help="with the versions of Python and of the libraries",
    )


def _add_help(commands: Any) -> None:
    text = "print this text, or that of a command"
    shown = commands.add_parser("help", help=text, description=help_texts.HELP, epilog=help_texts.HELP_EPILOG)
    shown.add_argument("command", nargs="?", metavar="COMMAND", help="the command; without it, all of them")


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
    function.add_argument(
        "-v",
        "--verbose",
        action="store_true",
        help="list every finding on stderr, as the results do: also more of the same form, and infos",
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
        "--config",
        metavar="FILE",
        help="the TopologyRender or Grove's OperatorConfiguration, also in a ConfigMap; by default the nearest one, "
        "among the input or above it in the repository",
    )
    command.add_argument(
        "--exclude",
        metavar="GLOB",
        action="append",
        default=[],
        help="leave out the files and folders that this names, spelt as in .gitignore, as often as needed; a file "
        "that is named itself is read always",
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
        from packwise.cli.version import version

        parser.exit(version(Version()))
