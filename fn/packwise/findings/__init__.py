"""What is wrong where, by which rule: problems, the rules that they break, and the findings that users see."""

from __future__ import annotations

from packwise.findings.finding import Finding, findings_of, from_field_error, has_errors
from packwise.findings.problem import Cause, Effect, Problem
from packwise.findings.rule import Rule, Severity, Stage

__all__ = [
    "Cause",
    "Effect",
    "Finding",
    "Problem",
    "Rule",
    "Severity",
    "Stage",
    "findings_of",
    "from_field_error",
    "has_errors",
]
