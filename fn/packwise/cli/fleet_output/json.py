"""A fleet for programs. Its schema: docs/reference/fleet.schema.json."""

from __future__ import annotations

from textwrap import indent

from krmfn.hints import TYPE_CHECKING
from packwise.cli.console import json_text
from packwise.cli.findings_formats import finding_fields

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from packwise.cli.fleet_output.report import FleetReport
    from packwise.commands.fleet import PackageResult

__all__ = ["as_json"]


def as_json(report: FleetReport) -> Iterator[str]:
    """The summary, and each package in order of its folder; a piece for each, since there may be thousands."""
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
