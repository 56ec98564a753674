"""A fleet on one screen: numbers first, then what is to be said of many packages, once for all that say the same."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.cli.console import visible
from packwise.cli.findings_text import tinted
from packwise.cli.fleet_output.report import counted, finding_line, headline, numbers, package_line, word_of
from packwise.commands.fleet.result import Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from packwise.cli.fleet_output.report import FleetReport
    from packwise.commands.fleet.result import Group

__all__ = ["as_text"]

_MOST_GROUPS = 12
"""Groups that fit one screen with two lines each, below the numbers."""

_MOST_FOLDERS = 3
_COLOURS = {Status.FAILING: 31, Status.ADDED: 32, Status.REMOVED: 31, Status.CHANGED: 33}


def as_text(report: FleetReport) -> Iterator[str]:
    """The whole text, in one piece."""
    yield "".join([f"{line}\n" for line in _lines(report)])


def _lines(report: FleetReport) -> Iterator[str]:
    yield headline(report)
    for line in numbers(report):
        yield f"  {line}"
    groups = report.summary.groups
    most = len(groups) if report.is_verbose else _MOST_GROUPS
    if groups:
        yield ""
    for group in groups[:most]:
        yield from _group_lines(group, report)
    rest = groups[most:]
    if rest:
        packages = counted(sum(len(group.folders) for group in rest), "package")
        yield f"… and {packages} more in {counted(len(rest), 'group')}; -v lists them"


def _group_lines(group: Group, report: FleetReport) -> Iterator[str]:
    word = tinted(word_of(group.status), _COLOURS.get(group.status, 0), coloured=report.is_coloured)
    folders = visible(package_line(group.folders, len(group.folders) if report.is_verbose else _MOST_FOLDERS))
    yield f"{word}: {', '.join(group.says)}: {folders}"
    if group.example is not None:
        yield f"  {finding_line(group.example, is_coloured=report.is_coloured)}"
