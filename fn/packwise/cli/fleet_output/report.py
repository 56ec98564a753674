"""What is printed of a run through a fleet, whatever the format."""

from __future__ import annotations

import os
from pathlib import Path

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from krmfn.result import ResultFile
from packwise.cli.console import visible
from packwise.cli.findings_text import as_lines
from packwise.commands.fleet.result import Status
from packwise.discovery import passed_over

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from krmfn.result import Result
    from packwise.commands.fleet import PackageResult, Summary

__all__ = ["FleetReport", "Orphans", "counted", "headline", "numbers", "package_line", "shown"]

_MOST_ORPHANS = 3
_WORDS = {Status.ADDED: "new", Status.REMOVED: "gone"}


class Orphans(NamedTuple):
    """Folders of a render's output that are of no package any more; `are_pruned`: what packwise wrote is removed."""

    folders: tuple[str, ...]
    are_pruned: bool = False


class FleetReport(NamedTuple):
    """A run of `verb` through the packages below `root`.

    `results` are in order of their folders; they are left out where the format needs the summary alone. `since` is the
    state that was compared with, "" where there was none. `orphans` is None where nothing was written. Paths are those
    of the user's folder.
    """

    verb: str
    root: str
    summary: Summary
    results: Iterable[PackageResult] = ()
    since: str = ""
    is_coloured: bool = False
    is_verbose: bool = False
    orphans: Orphans | None = None

    @property
    def command(self) -> str:
        """The command that prints all."""
        return f"packwise fleet {self.verb} {self.root} -v"


def shown(result: PackageResult, top: str) -> PackageResult:
    """The result by paths from the current folder; it has those below `top`."""

    def path(below: str) -> str:
        return Path(os.path.relpath(Path(top) / below)).as_posix()

    findings = [
        each if each.file is None else each._replace(file=ResultFile(path(each.file.path), each.file.index))
        for each in result.findings
    ]
    return result._replace(folder=path(result.folder), findings=tuple(findings))


def counted(number: int, noun: str, plural: str = "") -> str:
    """`1 package`, `2000 packages`."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def headline(report: FleetReport) -> str:
    """`2000 packages: 3 failing, 41 changed, 1956 unchanged`."""
    summary = report.summary
    statuses = ", ".join([f"{number} {word_of(status)}" for status, number in summary.statuses])
    return f"{counted(summary.packages, 'package')}: {statuses}"


def word_of(status: Status) -> str:
    """How a summary calls packages of this status."""
    return _WORDS.get(status, status.value)


def numbers(report: FleetReport) -> Iterator[str]:
    """What is to be said of all packages together, in a line each."""
    summary = report.summary
    if summary.errors or summary.warnings:
        errors = [counted(summary.errors, "error")] if summary.errors else []
        warnings = [counted(summary.warnings, "warning")] if summary.warnings else []
        yield ", ".join([*errors, *warnings])
    if summary.workloads:
        yield f"{counted(summary.workloads, 'workload')} judged"
    yield from passed_over(summary.passed_over)
    if summary.recreated:
        topologies = counted(summary.recreated, "topology", "topologies")
        yield f"{topologies} re-created in {counted(summary.with_recreated, 'package')}"
    gangs = ((summary.gangs_created, "created"), (summary.gangs_deleted, "deleted"), (summary.gangs_changed, "changed"))
    if summary.with_gangs:
        changes = ", ".join([f"{number} {word}" for number, word in gangs if number])
        yield f"gangs: {changes} in {counted(summary.with_gangs, 'package')}"
    if summary.dropped:
        yield f"{counted(summary.dropped, 'constraint')} lost"
    if summary.placed:
        where = f"on the nodes of {counted(summary.placed, 'package')}"
        if not summary.pending:
            yield f"{counted(summary.gangs, 'gang')} {'fits' if summary.gangs == 1 else 'fit'} {where}"
        else:
            verb = "does" if summary.pending == 1 else "do"
            of_all = f"{summary.pending} of {counted(summary.gangs, 'gang')}"
            yield f"{of_all} {verb} not fit {where}, in {summary.with_pending}"
        if summary.no_longer_fits:
            gangs = summary.no_longer_fits
            yield f"{counted(gangs, 'gang')} no longer {'fits' if gangs == 1 else 'fit'}"
        if summary.noted:
            has = "has a note" if summary.noted == 1 else "have notes"
            yield f"{counted(summary.noted, 'gang')} {has} about what is not counted: see packwise place PACKAGE"
    if summary.written:
        yield f"{counted(summary.written, 'file')} written"
    if report.orphans is not None and report.orphans.folders:
        yield _orphans_line(report.orphans, len(report.orphans.folders) if report.is_verbose else _MOST_ORPHANS)


def _orphans_line(orphans: Orphans, most: int) -> str:
    folders = counted(len(orphans.folders), "folder")
    what = f"{folders} pruned" if orphans.are_pruned else f"{folders} of packages that are gone; --prune empties them"
    return f"{what}: {visible(package_line(orphans.folders, most))}"


def package_line(folders: Sequence[str], most: int) -> str:
    """`clusters/a, clusters/b and 37 more`."""
    more = len(folders) - most
    listed = ", ".join(folders[:most] if more > 0 else folders)
    return f"{listed} and {more} more" if more > 0 else listed


def finding_line(result: Result, *, is_coloured: bool = False) -> str:
    """The line of a finding."""
    return as_lines([result], coloured=is_coloured)[0]
