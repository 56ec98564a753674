"""A fleet as one comment on a pull request: numbers, then the packages of each status, folded."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.cli.fleet_output.report import counted, finding_line, headline, numbers, package_line, word_of
from packwise.cli.markdown import Part, Section, code, comment
from packwise.commands.fleet.result import Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from packwise.cli.fleet_output.report import FleetReport
    from packwise.commands.fleet.result import Group

__all__ = ["as_markdown"]

_MOST_FOLDERS = 10


def as_markdown(report: FleetReport) -> Iterator[str]:
    """The whole comment, in one piece."""
    since = f" since {code(report.since)}" if report.since else ""
    lead = [f"### packwise fleet {report.verb} {code(report.root)}{since}: {headline(report)}"]
    listed = "\n".join([f"- {line}" for line in numbers(report)])
    sections: list[Section] = []
    for status in Status:
        groups = [group for group in report.summary.groups if group.status is status]
        if groups:
            packages = counted(sum(len(group.folders) for group in groups), "package")
            title = f"{packages} {word_of(status)}"
            sections.append(Section(title, [_entry(group) for group in groups], is_open=status is Status.FAILING))
    part = Part([*lead, *([listed] if listed else [])], sections, report.command)
    yield comment(f"packwise fleet {report.verb}", [part])


def _entry(group: Group) -> list[str]:
    lines = [f"{', '.join(group.says)}: {package_line(group.folders, _MOST_FOLDERS)}"]
    return lines if group.example is None else [*lines, f"  {finding_line(group.example)}"]
