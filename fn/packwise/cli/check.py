"""`packwise check`: findings on stdout; nothing is written but what `--fix` mends."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from krmfn.result import exit_code
from packwise.cli.arguments import Verbosity
from packwise.cli.console import cannot_write, is_coloured, say, show
from packwise.cli.groups import read_groups
from packwise.cli.judgement import judge, left_out_lines
from packwise.cli.report.checked import Checked
from packwise.cli.report.formats import printer

if TYPE_CHECKING:
    from packwise.cli.arguments import Check, Named
    from packwise.cli.groups import Checkup
    from packwise.cli.judgement import Judgement

__all__ = ["check"]


def check(command: Check) -> int:
    """Prints what is wrong; returns the exit code. Raises UsageError."""
    if command.fix:
        from packwise.cli.fix import fix

        try:
            say([f"mended {name}" for name in fix(command.named)])
        except OSError as error:
            say([cannot_write(error)])
            return 1
    checkup = read_groups(command.named)
    judgement = judge(checkup)
    results = judgement.results
    checked = Checked(
        results,
        len([file for file in checkup.files if file.left_out is None]),
        checkup.text_of,
        coloured=is_coloured(sys.stdout),
        closing=judgement.closing if command.verbosity >= Verbosity.NORMAL else "",
        listed=_listed(judgement, checkup) if command.verbosity >= Verbosity.VERBOSE else (),
        ends=command.verbosity >= Verbosity.NORMAL,
    )
    if command.output == "text" and _is_not_compared(command.named, checkup):
        say(["note: without --baseline (as in --baseline git:main) the rules for updates are not checked"])
    return exit_code(results) if show(printer(command.output)(checked)) else 1


def _listed(judgement: Judgement, checkup: Checkup) -> tuple[str, ...]:
    """What the last line counts, in a line each."""
    return (*judgement.groups, *left_out_lines(checkup.left_out))


def _is_not_compared(named: Named, checkup: Checkup) -> bool:
    """Whether nothing tells what changed: workloads are there, and neither a baseline nor a status."""
    if named.baseline is not None or exit_code(checkup.results):
        return False
    judged = ("PodCliqueSet", "DynamoGraphDeployment")
    items = [item for group in checkup.groups for item in group.package.items]
    workloads = [item for item in items if item.get("kind") in judged]
    return any(not item.get("status") for item in workloads)
