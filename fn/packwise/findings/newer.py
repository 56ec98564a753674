"""Findings about values outside closed lists if the release is newer than every known one.

A newer release may have longer lists, so a refusal is uncertain.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.result import Severity

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

    from packwise.findings.finding import Finding

_UNSUPPORTED = ": Unsupported value: "
"""Kubernetes' text for a value that is not in a list."""


def soften_lists(findings: Iterable[Finding], rules: Container[str] = ()) -> tuple[Finding, ...]:
    """Return the findings with the ones about closed lists as warnings. `rules` are further rules about such lists."""
    return tuple(_soften(each) if _is_of_list(each, rules) else each for each in findings)


def _is_of_list(finding: Finding, rules: Container[str]) -> bool:
    return finding.severity is Severity.ERROR and (
        finding.rule in rules or _UNSUPPORTED in (finding.operator_message or "")
    )


def _soften(finding: Finding) -> Finding:
    message = f"{finding.message}; it is not known to packwise, and a newer release may have it"
    return finding.replace(severity=Severity.WARNING, message=message, operator_message=None, stage=None)
