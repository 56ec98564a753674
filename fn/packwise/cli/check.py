"""`packwise check`: findings on stdout, nothing written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krmfn.result import exit_code
from packwise.cli.console import show
from packwise.cli.inputs import read_inputs
from packwise.cli.rendered import rendered_of
from packwise.cli.report import as_json, as_text

if TYPE_CHECKING:
    from packwise.cli.arguments import Check

__all__ = ["check"]


def check(command: Check) -> int:
    """Prints what is wrong; returns the exit code. Raises UsageError."""
    inputs = read_inputs(command.named)
    results = rendered_of(inputs).results
    text = as_json(results) if command.as_json else as_text(results, len(inputs.files))
    return exit_code(results) if show(text) else 1
