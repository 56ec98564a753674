"""`packwise diff`: what changes for the scheduler, on stdout; notes on stderr."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from krmfn.result import exit_code, sort_results
from packwise.cli.arguments import STDIN
from packwise.cli.console import is_coloured, say, show
from packwise.cli.differ.compared import Compared, notes
from packwise.cli.inputs import Sides, read_sides
from packwise.cli.report.lines import as_lines
from packwise.diff import State, state_after, state_before
from packwise.diff import diff as compare

if TYPE_CHECKING:
    from collections.abc import Callable

    from packwise.cli.arguments import Diff, DiffFormat
    from packwise.cli.inputs import Inputs

__all__ = ["diff"]


def diff(command: Diff) -> int:
    """Prints what changes; returns the exit code. Raises UsageError."""
    sides = Sides(command.before, command.after, command.config, command.crds)
    inputs = read_sides(sides)
    results = sort_results([*inputs[0].results, *inputs[1].results])
    say(as_lines(results, coloured=is_coloured(sys.stderr)))
    if exit_code(results):
        return 1
    compared = _compared(command, *inputs)
    if command.output != "json":
        say([f"note: {note}" for note in notes(compared)])
    found = compared.difference
    if command.output == "patch":
        say(as_lines([*found.unreadable, *found.refusals], coloured=is_coloured(sys.stderr)))
    shown = show(_printer(command.output)(compared))
    is_wrong = found.refusals or not found.compared or (command.exit_code and found.changes)
    return int(bool(is_wrong) or not shown)


def _compared(command: Diff, before: Inputs, after: Inputs) -> Compared:
    old = _sorted(state_before(before.package))
    new = _sorted(state_after(after.package, before.package.items))
    names = ["<stdin>" if name == STDIN else name for name in (command.before, command.after)]
    return Compared(compare(old, new), names[0], names[1], old.rendered, new.rendered, is_coloured(sys.stdout))


def _sorted(state: State) -> State:
    return state._replace(results=sort_results(state.results))


def _printer(name: DiffFormat) -> Callable[[Compared], str]:
    match name:
        case "text":
            from packwise.cli.differ.text import as_text

            return as_text
        case "json":
            from packwise.cli.differ.json import as_json

            return as_json
        case "patch":
            from packwise.cli.differ.patch import as_patches

            return as_patches
