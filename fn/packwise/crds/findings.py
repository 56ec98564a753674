"""Problems as findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from packwise.crds.problem import Cause
from packwise.finding import Finding, Rule, Severity, Stage

if TYPE_CHECKING:
    from collections.abc import Iterable

    from krmfn.kubeobject import KubeObject
    from packwise.crds.definition import Definition
    from packwise.crds.problem import Problem

__all__ = ["RULES", "findings_of", "split"]

UNCHECKED = Rule(
    "crd-rule", "Every rule of a CRD is one that packwise can evaluate.", "Kubernetes, CEL", Severity.WARNING
)
RULES = (UNCHECKED,)
"""Rules of CRDs that show where objects are checked by them."""


def findings_of(
    problems: Iterable[Problem],
    item: KubeObject,
    definition: Definition,
    rule: Rule,
    unknown: tuple[Rule, Severity] | None = None,
) -> list[Finding]:
    """What `definition` says of `item`, by `rule`; of unknown fields by another, of another severity."""
    refused, unchecked = split(problems, definition)
    found: list[Finding] = []
    for order, problem in enumerate(refused):
        by, severity = unknown if unknown is not None and problem.cause is Cause.UNKNOWN else (rule, None)
        text = problem.operator_message
        found.append(
            Finding.of(
                by,
                item,
                problem.path,
                problem.message,
                severity=severity,
                operator_message=text,
                stage=None if text is None else Stage.SCHEMA,
                order=order,
                at_key=problem.cause is Cause.UNKNOWN,
            )
        )
    return [*found, *unchecked]


def split(problems: Iterable[Problem], definition: Definition) -> tuple[list[Problem], list[Finding]]:
    """What is refused; and what is not known, with the rule of the CRD that could have told it."""
    refused: list[Problem] = []
    unchecked: list[Finding] = []
    for problem in problems:
        if problem.cause is Cause.UNCHECKED:
            unchecked.append(Finding.of(UNCHECKED, definition.item, problem.path, problem.message))
        else:
            refused.append(problem)
    return refused, unchecked
