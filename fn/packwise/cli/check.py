"""`packwise check`: findings on stdout, nothing written."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from krmfn.result import exit_code
from packwise.cli.console import is_coloured, show
from packwise.cli.inputs import read_inputs
from packwise.cli.rendered import rendered_of
from packwise.cli.report.checked import Checked
from packwise.cli.report.formats import printer

if TYPE_CHECKING:
    from packwise.cli.arguments import Check

__all__ = ["check"]


def check(command: Check) -> int:
    """Prints what is wrong; returns the exit code. Raises UsageError."""
    inputs = read_inputs(command.named)
    results = rendered_of(inputs).results
    checked = Checked(results, len(inputs.files), inputs.text_of, coloured=is_coloured(sys.stdout))
    return exit_code(results) if show(printer(command.output)(checked)) else 1
