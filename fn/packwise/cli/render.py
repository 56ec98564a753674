"""`packwise render`: the whole result on stdout or in a folder, findings on stderr."""

from __future__ import annotations

from krmfn.errors import FieldError
from krmfn.hints import TYPE_CHECKING
from krmfn.result import exit_code
from packwise.cli.console import show
from packwise.cli.coverage import coverage_of
from packwise.cli.inputs import read_inputs
from packwise.cli.render_report import Report
from packwise.cli.rendered_files import outcome_of, rendered_of
from packwise.cli.stream import stream_of

if TYPE_CHECKING:
    from packwise.cli.arguments import Render

__all__ = ["render"]


def render(command: Render) -> int:
    """Prints or writes the result; returns the exit code. Raises UsageError before anything is written."""
    if command.output is not None or command.in_place or command.check:
        # Who prints imports nothing of what writes.
        from packwise.cli.render_folder import render_folder

        return render_folder(command)
    inputs = read_inputs(command.named)
    rendered = rendered_of(inputs, writes=True)
    report = Report(command, coverage_of(inputs, rendered))
    if exit_code(rendered.results):
        return report.refuse(rendered.results)
    try:
        text = stream_of(outcome_of(inputs.files, rendered))
    except FieldError as error:
        return report.refuse(rendered.results, error)
    report.list_findings(rendered.results)
    if not show(text):
        return 1
    report.end(rendered.results)
    return 0
