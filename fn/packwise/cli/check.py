"""`packwise check`: findings on stdout; nothing is written but what `--fix` mends."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from krmfn.result import exit_code
from packwise.cli.console import cannot_write, is_coloured, say, show
from packwise.cli.inputs import read_inputs
from packwise.cli.rendered_files import rendered_of, revision_used
from packwise.cli.report.checked import Checked
from packwise.cli.report.formats import printer

if TYPE_CHECKING:
    from packwise.cli.arguments import Check
    from packwise.cli.inputs import Inputs

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
    inputs = read_inputs(command.named)
    if command.nodes:
        from packwise.cli.cluster_files import with_nodes

        inputs = with_nodes(inputs, command.nodes)
    rendered = rendered_of(inputs)
    results = rendered.results
    checked = Checked(
        results,
        len(inputs.files),
        inputs.text_of,
        coloured=is_coloured(sys.stdout),
        revision=revision_used(rendered),
    )
    if command.output == "text" and _is_not_compared(inputs):
        say(["note: without --baseline (as in --baseline git:main) the rules for updates are not checked"])
    return exit_code(results) if show(printer(command.output)(checked)) else 1


def _is_not_compared(inputs: Inputs) -> bool:
    """Whether nothing tells what changed: workloads are there, and neither a baseline nor a status."""
    if inputs.package.baseline is not None or exit_code(inputs.results):
        return False
    judged = ("PodCliqueSet", "DynamoGraphDeployment")
    workloads = [item for item in inputs.package.items if item.get("kind") in judged]
    return any(not item.get("status") for item in workloads)
