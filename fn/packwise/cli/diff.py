"""`packwise diff`: what changes for the scheduler, on stdout; notes on stderr."""

from __future__ import annotations

import sys

from krmfn.hints import TYPE_CHECKING
from krmfn.result import exit_code, sort_results
from packwise.cli.arguments import STDIN, UsageError
from packwise.cli.console import is_coloured, say, show
from packwise.cli.coverage import files_covered
from packwise.cli.diff_output import Compared, notes
from packwise.cli.findings_text import as_lines
from packwise.cli.inputs import Sides, read_sides
from packwise.cli.judgement import is_of_release
from packwise.cli.together import variants_as_one
from packwise.commands.diff import State, state_after, state_before
from packwise.commands.diff import diff as compare
from packwise.extras import PATCH

if TYPE_CHECKING:
    from collections.abc import Callable

    from packwise.cli.arguments import Diff, DiffFormat
    from packwise.cli.groups import Group
    from packwise.cli.inputs import Inputs

__all__ = ["diff", "sorted_state"]


def diff(command: Diff) -> int:
    """Prints what changes; returns the exit code. Raises UsageError."""
    if command.output == "patch" and not PATCH.installed:
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
    compared = _compared(command, *inputs)._replace(coverage=(before, after))
    say(as_lines(compared.unnamed, coloured=is_coloured(sys.stderr)), as_they_are=True)
    if command.output not in ("json", "markdown"):
        say([f"note: {note}" for note in notes(compared)])
    difference = compared.difference
    if command.output == "patch":
        errors = [*difference.unreadable, *difference.refusals]
        say(as_lines(errors, coloured=is_coloured(sys.stderr)), as_they_are=True)
    if not show(_printer(command.output)(compared)):
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
    return state._replace(results=sort_results(variants_as_one(state.results, read)))


def _printer(name: DiffFormat) -> Callable[[Compared], str]:
    match name:
        case "text":
            from packwise.cli.diff_output import as_text

            return as_text
        case "json":
            from packwise.cli.diff_output import as_json

            return as_json
        case "markdown":
            from packwise.cli.diff_output import as_markdown

            return as_markdown
        case "patch":
            from packwise.cli.diff_output import as_patches

            return as_patches
