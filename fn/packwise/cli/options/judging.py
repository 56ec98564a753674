"""Options of `render` and `check`."""

from __future__ import annotations

import argparse

from krmfn.hints import TYPE_CHECKING
from packwise.cli import help_texts
from packwise.cli.arguments import (
    FORMATS,
    STDIN,
    Output,
)
from packwise.cli.options.sources import add_context, add_nodes, add_paths, add_verbosity

if TYPE_CHECKING:
    from typing import Any

__all__ = ["add_check", "add_render", "refuse_unlike"]


def add_render(commands: Any) -> None:
    """Adds the command `render`."""
    text = "print or write your objects and what follows from them"
    render = commands.add_parser("render", help=text, description=help_texts.RENDER, epilog=help_texts.RENDER_EPILOG)
    add_paths(render)
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
    add_context(render)
    add_verbosity(render)


def add_check(commands: Any) -> None:
    """Adds the command `check`."""
    check = commands.add_parser(
        "check", help="say what is wrong", description=help_texts.CHECK, epilog=help_texts.CHECK_EPILOG
    )
    add_paths(check, "*", ["."])
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
    check.add_argument(
        "--changed-since",
        metavar="REF",
        help="report only what the change since this commit reaches: files that differ from it in the checkout, and "
        "those that a changed configuration or definition judges; a branch means the commit where HEAD left it",
    )
    _add_fixes(check)
    _add_choice(check)
    add_context(check)
    add_verbosity(check)


def _output(text: str) -> Output:
    name, equals, file = text.partition("=")
    if name not in FORMATS:
        known = ", ".join(FORMATS)
        raise argparse.ArgumentTypeError(
            f'must be one of {known}, or one with a file (sarif=packwise.sarif); got "{name}"'
        )
    if equals and not file:
        raise argparse.ArgumentTypeError(f'"{text}" must name a file after the equals sign')
    return Output(name, file if equals and file != STDIN else None)


def _add_fixes(check: argparse.ArgumentParser) -> None:
    check.add_argument(
        "--fix",
        action="store_true",
        help="first mend the files where only one thing can be meant: quotes around quantities and words that tools "
        "read differently, fields by their new names, keys of KAI's where KAI reads them; no other byte changes",
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
    add_nodes(
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
        "--require-workloads",
        dest="requires_workloads",
        action="store_true",
        help="exit with 1 where no workload was judged, whatever the reason",
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


def refuse_unlike(parser: argparse.ArgumentParser, parsed: argparse.Namespace) -> None:
    """Ends with usage where options of `check` do not go together."""
    if not parsed.fix and (parsed.diff or parsed.unsafe_fixes):
        parser.error(f"{'--diff' if parsed.diff else '--unsafe-fixes'} must go with --fix")
    if parsed.fix and parsed.changed_since is not None:
        parser.error("--fix must not go with --changed-since: it mends every file that is named")
    if parsed.requires_workloads and parsed.changed_since is not None:
        parser.error("--require-workloads must not go with --changed-since: a change may reach no workload")
    if parsed.known is not None and parsed.write_findings is not None:
        parser.error("--write-findings must not go with --known: it writes all findings there are")
    outputs: list[Output] = parsed.output or []
    files = [output.file for output in outputs]
    twice = [file for file in files if files.count(file) > 1]
    if twice:
        to = "stdout" if twice[0] is None else f'"{twice[0]}"'
        parser.error(f"-o must name {to} once; give the others a file each (sarif=packwise.sarif)")
