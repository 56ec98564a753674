"""Findings as a comment on a pull request, errors first."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.result import Severity
from packwise.cli.markdown import Part, Section, code, comment
from packwise.cli.report.lines import as_lines, count

if TYPE_CHECKING:
    from krmfn.result import Result
    from packwise.cli.report.checked import Checked

__all__ = ["as_markdown", "part"]


def as_markdown(checked: Checked) -> str:
    """The whole comment."""
    return comment("packwise check", [part(checked)])


def part(checked: Checked) -> Part:
    """What the check is in a comment."""
    results = checked.results
    files = "1 file" if checked.files == 1 else f"{checked.files} files"
    lead = [f"### packwise check: {count(results) or 'no findings'} in {files}"]
    lead.append(code(checked.coverage.line))
    by_severity = [[result for result in results if result.severity is severity] for severity in Severity]
    sections = [
        Section(count(listed), [_lines(result) for result in listed], is_open=listed[0].severity is Severity.ERROR)
        for listed in by_severity
        if listed
    ]
    return Part(lead, sections, "packwise check")


def _lines(result: Result) -> list[str]:
    lines = as_lines([result])
    if "operatorMessage" in result.tags:
        lines.append(f"  operator: {result.tags['operatorMessage']}")
    if result.field is not None and result.field.proposed is not None:
        import json

        lines.append(f"  help: set it to {json.dumps(result.field.proposed, ensure_ascii=False)}")
    return lines
