"""Findings as a Code Quality report, which GitLab shows in the merge request.

Source: docs.gitlab.com "Code Quality", "Code Quality report format".
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.result import Severity
from packwise.cli.report.lines import sentence
from packwise.cli.report.visible import json_text
from packwise.findings.known import fingerprints

if TYPE_CHECKING:
    from typing import Any

    from krmfn.result import Result
    from packwise.cli.report.checked import Checked

__all__ = ["as_gitlab"]

_SEVERITIES = {Severity.ERROR: "major", Severity.WARNING: "minor", Severity.INFO: "info"}

_NOWHERE = "."
"""The path of a finding about the whole input, or about stdin: GitLab wants one."""


def as_gitlab(checked: Checked) -> str:
    """A list of violations, each with a file and a line, as GitLab demands."""
    hashes = fingerprints(checked.results)
    violations = [_violation(result, fingerprint) for result, fingerprint in zip(checked.results, hashes, strict=True)]
    return json_text(violations)


def _violation(result: Result, fingerprint: str) -> dict[str, Any]:
    operator = result.tags.get("operatorMessage")
    return {
        "description": sentence(result) + ("" if operator is None else f" (operator: {operator})"),
        "check_name": result.tags.get("rule", ""),
        "fingerprint": fingerprint,
        "severity": _SEVERITIES[result.severity],
        "location": {
            "path": result.file.path if result.file is not None else _NOWHERE,
            "lines": {"begin": int(result.tags.get("line", "1"))},
        },
    }
