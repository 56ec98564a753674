"""`packwise diff`: what changes for the scheduler, on stdout; notes on stderr."""

from __future__ import annotations

import sys

from krmfn.hints import TYPE_CHECKING
from krmfn.record import Record
from krmfn.result import exit_code, sort_results
from packwise.cli.arguments import (
    STDIN,
    Command,
    UsageError,
    add_config,
    add_crds,
)
from packwise.cli.console import is_coloured, say, show
from packwise.cli.findings_text import as_lines, files_covered
from packwise.cli.inputs import Sides, read_sides
from packwise.cli.judgement import is_of_release, variants_as_one
from packwise.commands.diff import State, state_after, state_before
from packwise.commands.diff import diff as compare
from packwise.commands.diff.output import Compared, as_json, as_markdown, as_patches, as_text, notes
from packwise.extras import PATCH

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable
    from typing import Literal

    from packwise.cli.inputs import Group, Inputs

    DiffFormat = Literal["text", "json", "patch", "markdown"]

_DESCRIPTION = """\
Says what changes for the scheduler from A to B: topologies, gangs, groups and queues that are added, removed, changed
or must be re-created; constraints that are lost, and why; updates that the operator or an API server would refuse.
Sources are rendered first; what a cluster holds already, as in an export of kubectl, is compared as it is. Status and
what else a server fills in does not count."""


_EPILOG = """\
examples:
  packwise diff git:origin/main clusters/west            # what a pull request changes
  packwise diff git:v1.2:clusters/west git:main:clusters/west
  packwise diff clusters/west live.yaml                  # what the cluster has otherwise than Git
  kubectl get clustertopologies,topologies.kai.scheduler,podgangs -A -o yaml | packwise diff - clusters/west
  packwise diff git:main clusters/west -o json --exit-code
  packwise diff git:origin/main clusters/west -o markdown | gh pr comment --body-file -

exit codes: 0 no error, 1 errors were found (updates that are refused, sources that cannot be rendered), 2 wrong usage;
with --exit-code also 1 when anything changes"""


DIFF_FORMATS: tuple[DiffFormat, ...] = ("text", "json", "patch", "markdown")
"""How a comparison is printed."""


class Diff(Record):
    """`packwise diff`: from `before` to `after`; with `exit_code`, a change counts as an error does."""

    before: str
    after: str
    config: str | None = None
    crds: tuple[str, ...] = ()
    output: DiffFormat = "text"
    exit_code: bool = False
    exclude: tuple[str, ...] = ()


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    about = (
        'a file, a folder, "-" for stdin, or what a path held in a commit: git:COMMIT:PATH; git:COMMIT alone means the '
        "path of the other one, or the current folder"
    )
    parser.add_argument("before", metavar="A", help=f"the state before: {about}")
    parser.add_argument("after", metavar="B", help="the state after, named alike")
    parser.add_argument(
        "-o",
        "--output",
        choices=DIFF_FORMATS,
        default="text",
        help="how to print: text for people, json for scripts, patch for a JSON Patch (RFC 6902) of every object, "
        "markdown as a comment on a pull request (default: text)",
    )
    parser.add_argument("--exit-code", action="store_true", help="exit 1 when anything changes, as git diff does")
    add_config(parser)
    add_crds(parser)


def _read(parsed: argparse.Namespace) -> Diff:
    return Diff(
        parsed.before,
        parsed.after,
        parsed.config,
        tuple(parsed.crds),
        parsed.output,
        parsed.exit_code,
        tuple(parsed.exclude),
    )


def diff(command: Diff) -> int:
    """Prints what changes; returns the exit code. Raises UsageError."""
    if command.output == "patch" and not PATCH.is_installed:
        raise UsageError(f"--output patch must have its library: {PATCH.advice}")
    sides = Sides(command.before, command.after, command.config, command.crds, command.exclude)
    inputs = read_sides(sides)
    results = sort_results([*inputs[0].results, *inputs[1].results])
    say(as_lines(results, coloured=is_coloured(sys.stderr)), as_they_are=True)
    before, after = [files_covered(each.files, each.left_out, each.read) for each in inputs]
    lines = [f"{name}: {each.line}" for name, each in zip(_names(command), (before, after), strict=True)]
    if inputs[0].is_broken or inputs[1].is_broken:
        say(lines)
        return 1
    compared = _compared(command, *inputs).replace(coverage=(before, after))
    say(as_lines(compared.unnamed, coloured=is_coloured(sys.stderr)), as_they_are=True)
    if command.output not in ("json", "markdown"):
        say([f"note: {note}" for note in notes(compared)])
    difference = compared.difference
    if command.output == "patch":
        errors = [*difference.unreadable, *difference.refusals]
        say(as_lines(errors, coloured=is_coloured(sys.stderr)), as_they_are=True)
    if not show(_PRINTERS[command.output](compared)):
        return 1
    say(lines)
    is_wrong = difference.refusals or not difference.compared or (command.exit_code and difference.changes)
    return int(bool(is_wrong or exit_code(results)))


def _compared(command: Diff, before: Inputs, after: Inputs) -> Compared:
    old = sorted_state(state_before(before.package), before)
    new = sorted_state(state_after(after.package, before.package), after)
    # What no file is blamed for is the same of both.
    unnamed = {str(each): each for state in (old, new) for each in state.render_results if is_of_release(each)}
    return Compared(
        compare(old, new),
        *_names(command),
        old.rendered,
        new.rendered,
        is_coloured(sys.stdout),
        tuple(unnamed.values()),
    )


def _names(command: Diff) -> tuple[str, str]:
    """What the user calls the two sides."""
    before, after = ("<stdin>" if name == STDIN else name for name in (command.before, command.after))
    return before, after


def sorted_state(state: State, read: Group | Inputs) -> State:
    """The state of what was read, its errors sorted; of variants one says which to name."""
    return state.replace(results=sort_results(variants_as_one(state.results, read)))


_PRINTERS: dict[DiffFormat, Callable[[Compared], str]] = {
    "text": as_text,
    "json": as_json,
    "patch": as_patches,
    "markdown": as_markdown,
}


COMMAND = Command(_DESCRIPTION, _EPILOG, _add_arguments, _read, diff)
