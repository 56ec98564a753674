"""The summary of a run through a fleet, in each format."""

from __future__ import annotations

import os
from pathlib import Path
from textwrap import indent

from krmfn.hints import TYPE_CHECKING, Record
from krmfn.result import ResultFile
from krmfn.terminal import escape_line
from packwise.check.formats import finding_fields
from packwise.console import json_text
from packwise.discovery import count_unchecked
from packwise.fleet.result import PackageStatus
from packwise.output.findings_text import as_lines, tint
from packwise.output.markdown import CommentPart, Section, code, comment
from packwise.wording import count_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from krmfn.result import Result
    from packwise.fleet.result import PackageGroup, PackageResult, Summary
    from packwise.inputs.reader import Sources

_MAX_ORPHANS = 3
_WORDS = {PackageStatus.ADDED: "new", PackageStatus.REMOVED: "gone"}


class Orphans(Record):
    """Folders of a render's output without a package. `are_pruned` is true if packwise's files were removed."""

    folders: tuple[str, ...]
    are_pruned: bool = False


class FleetReport(Record):
    """A run of `verb` through the packages below `root`.

    `results` are in order of their folders, or empty if the format needs only the summary. `since` names the state
    before the change, or is "". `orphans` is None if no output is written. Paths are relative to the user's folder.
    `sources` are the built sources, or None if none are built.
    """

    verb: str
    root: str
    summary: Summary
    results: Iterable[PackageResult] = ()
    since: str = ""
    is_coloured: bool = False
    is_verbose: bool = False
    orphans: Orphans | None = None
    sources: Sources | None = None

    @property
    def command(self) -> str:
        """Return the command that prints the whole report."""
        return f"packwise fleet {self.verb} {self.root} -v"


def with_user_paths(result: PackageResult, top: str) -> PackageResult:
    """Return the result with paths relative to the current folder. The paths of `result` are relative to `top`."""

    def path(below: str) -> str:
        return Path(os.path.relpath(Path(top) / below)).as_posix()

    findings = [
        each if each.file is None else each.replace(file=ResultFile(path(each.file.path), each.file.index))
        for each in result.findings
    ]
    return result.replace(folder=path(result.folder), findings=tuple(findings))


def headline(report: FleetReport) -> str:
    """Return the line `2000 packages: 3 failing, 41 changed, 1956 unchanged`."""
    summary = report.summary
    statuses = ", ".join([f"{number} {word_of(status)}" for status, number in summary.statuses])
    return f"{count_text(summary.packages, 'package')}: {statuses}"


def word_of(status: PackageStatus) -> str:
    """Return the summary's word for packages of this status."""
    return _WORDS.get(status, status.value)


def numbers(report: FleetReport) -> Iterator[str]:
    """Yield the totals of all packages, each in one line."""
    summary = report.summary
    if summary.errors or summary.warnings:
        errors = [count_text(summary.errors, "error")] if summary.errors else []
        warnings = [count_text(summary.warnings, "warning")] if summary.warnings else []
        yield ", ".join([*errors, *warnings])
    if summary.workloads:
        yield f"{count_text(summary.workloads, 'workload')} checked"
    yield from () if report.sources is None else (report.sources.line,)
    yield from count_unchecked(summary.passed_over)
    if summary.recreated:
        topologies = count_text(summary.recreated, "topology", "topologies")
        yield f"{topologies} re-created in {count_text(summary.with_recreated, 'package')}"
    gangs = ((summary.gangs_created, "created"), (summary.gangs_deleted, "deleted"), (summary.gangs_changed, "changed"))
    if summary.with_gangs:
        changes = ", ".join([f"{number} {word}" for number, word in gangs if number])
        yield f"gangs: {changes} in {count_text(summary.with_gangs, 'package')}"
    if summary.dropped:
        yield f"{count_text(summary.dropped, 'constraint')} lost"
    if summary.placed:
        where = f"on the nodes of {count_text(summary.placed, 'package')}"
        if not summary.pending:
            yield f"{count_text(summary.gangs, 'gang')} {'fits' if summary.gangs == 1 else 'fit'} {where}"
        else:
            verb = "does" if summary.pending == 1 else "do"
            of_all = f"{summary.pending} of {count_text(summary.gangs, 'gang')}"
            yield f"{of_all} {verb} not fit {where}, in {summary.with_pending}"
        if summary.no_longer_fits:
            gangs = summary.no_longer_fits
            yield f"{count_text(gangs, 'gang')} no longer {'fits' if gangs == 1 else 'fit'}"
        if summary.noted:
            has = "has a note" if summary.noted == 1 else "have notes"
            yield (
                f"{count_text(summary.noted, 'gang')} {has} about limits of the simulation: see packwise place PACKAGE"
            )
    if summary.written:
        yield f"{count_text(summary.written, 'file')} written"
    if report.orphans is not None and report.orphans.folders:
        yield _orphans_line(report.orphans, len(report.orphans.folders) if report.is_verbose else _MAX_ORPHANS)


def _orphans_line(orphans: Orphans, most: int) -> str:
    folders = count_text(len(orphans.folders), "folder")
    what = f"{folders} pruned" if orphans.are_pruned else f"{folders} of deleted packages; --prune empties them"
    return f"{what}: {escape_line(package_line(orphans.folders, most))}"


def package_line(folders: Sequence[str], most: int) -> str:
    """Return a list such as `clusters/a, clusters/b and 37 more`."""
    more = len(folders) - most
    listed = ", ".join(folders[:most] if more > 0 else folders)
    return f"{listed} and {more} more" if more > 0 else listed


def finding_line(result: Result, *, is_coloured: bool = False) -> str:
    """Return the line of a finding."""
    return as_lines([result], coloured=is_coloured)[0]


_MAX_GROUPS = 12
"""The number of groups that fit on a screen below the totals, with two lines each."""

_MAX_IN_TEXT = 3
_COLOURS = {PackageStatus.FAILING: 31, PackageStatus.ADDED: 32, PackageStatus.REMOVED: 31, PackageStatus.CHANGED: 33}


def as_text(report: FleetReport) -> Iterator[str]:
    """Yield the whole text, in one piece."""
    yield "".join([f"{line}\n" for line in _lines(report)])


def _lines(report: FleetReport) -> Iterator[str]:
    yield headline(report)
    for line in numbers(report):
        yield f"  {line}"
    groups = report.summary.groups
    most = len(groups) if report.is_verbose else _MAX_GROUPS
    if groups:
        yield ""
    for group in groups[:most]:
        yield from _group_lines(group, report)
    if report.is_verbose and report.sources is not None:
        yield from report.sources.detail_lines
    rest = groups[most:]
    if rest:
        packages = count_text(sum(len(group.folders) for group in rest), "package")
        yield f"… and {packages} more in {count_text(len(rest), 'group')}; -v lists them"


def _group_lines(group: PackageGroup, report: FleetReport) -> Iterator[str]:
    word = tint(word_of(group.status), _COLOURS.get(group.status, 0), coloured=report.is_coloured)
    folders = escape_line(package_line(group.folders, len(group.folders) if report.is_verbose else _MAX_IN_TEXT))
    yield f"{word}: {', '.join(group.remarks)}: {folders}"
    if group.example is not None:
        yield f"  {finding_line(group.example, is_coloured=report.is_coloured)}"


_MAX_IN_MARKDOWN = 10


def as_markdown(report: FleetReport) -> Iterator[str]:
    """Yield the whole comment, in one piece."""
    since = f" since {code(report.since)}" if report.since else ""
    lead = [f"### packwise fleet {report.verb} {code(report.root)}{since}: {headline(report)}"]
    listed = "\n".join([f"- {line}" for line in numbers(report)])
    sections: list[Section] = []
    for status in PackageStatus:
        groups = [group for group in report.summary.groups if group.status is status]
        if groups:
            packages = count_text(sum(len(group.folders) for group in groups), "package")
            title = f"{packages} {word_of(status)}"
            sections.append(
                Section(title, [_entry(group) for group in groups], is_open=status is PackageStatus.FAILING)
            )
    part = CommentPart([*lead, *([listed] if listed else [])], sections, report.command)
    yield comment(f"packwise fleet {report.verb}", [part])


def _entry(group: PackageGroup) -> list[str]:
    lines = [f"{', '.join(group.remarks)}: {package_line(group.folders, _MAX_IN_MARKDOWN)}"]
    return lines if group.example is None else [*lines, f"  {finding_line(group.example)}"]


def as_json(report: FleetReport) -> Iterator[str]:
    """Yield the summary and each package in order of its folder. Each is a separate piece, because there may be
    thousands.
    """
    summary = report.summary
    head, _, foot = json_text({
        "verb": report.verb,
        "root": report.root,
        "since": report.since or None,
        "summary": {
            "packages": summary.packages,
            "statuses": {status.value: number for status, number in summary.statuses},
            "errors": summary.errors,
            "warnings": summary.warnings,
            "workloads": summary.workloads,
            "passedOver": dict(summary.passed_over),
            "objects": summary.objects,
            "topologiesRecreated": summary.recreated,
            "gangs": _gangs(summary.gangs_created, summary.gangs_deleted, summary.gangs_changed),
            "constraintsLost": summary.dropped,
            "placed": None if not summary.placed else {
                "packages": summary.placed,
                "gangs": summary.gangs,
                "pending": summary.pending,
                "noLongerFit": summary.no_longer_fits,
                "noted": summary.noted,
            },
            "filesWritten": summary.written,
        },
        "sources": None if report.sources is None else {
            "built": report.sources.built,
            "notBuilt": [{"source": title, "reason": reason} for title, _, reason in report.sources.unbuilt],
        },
        "orphans": None if report.orphans is None else {
            "folders": list(report.orphans.folders),
            "pruned": report.orphans.are_pruned,
        },
        "packages": [],
    }).rpartition("[]")  # fmt: skip
    yield f"{head}["
    separator = "\n"
    for result in report.results:
        yield separator + indent(json_text(_package(result)).rstrip(), " " * 4)
        separator = ",\n"
    yield f"{'' if separator == chr(10) else chr(10) + '  '}]{foot}"


def _package(result: PackageResult) -> dict[str, Any]:
    return {
        "package": result.folder,
        "client": result.client,
        "status": result.status.value,
        "errors": result.errors,
        "warnings": result.warnings,
        "findings": [finding_fields(finding) for finding in result.findings],
        "workloads": result.workloads,
        "passedOver": dict(result.passed_over),
        "objects": result.objects,
        "digest": result.digest or None,
        "topologiesRecreated": list(result.recreated),
        "gangs": _gangs(result.gangs_created, result.gangs_deleted, result.gangs_changed),
        "otherChanges": result.other_changes,
        "constraintsLost": result.dropped,
        "placed": None
        if not result.placed
        else {
            "gangs": result.gangs,
            "pending": list(result.pending),
            "noLongerFit": list(result.no_longer_fits),
            "noted": list(result.noted),
        },
        "filesWritten": result.written,
    }


def _gangs(created: int, deleted: int, changed: int) -> dict[str, int]:
    return {"created": created, "deleted": deleted, "changed": changed}
