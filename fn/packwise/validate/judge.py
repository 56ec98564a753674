"""One way to judge an object: by the cluster's own CRD where that is at hand, otherwise by packwise's table."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.findings.finding import Effect, Finding, Rule, Severity, findings_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.findings.finding import Problem
    from packwise.validate.definition import Definition

__all__ = ["RULES", "UNCHECKED", "Verdict", "judge", "no_table"]

UNCHECKED = Rule(
    "crd-rule", "Every rule of a CRD is one that packwise can evaluate.", "spec/kubernetes.md#3.2", Severity.WARNING
)
RULES = (UNCHECKED,)
"""Rules of CRDs that show where objects are checked by them."""


class Verdict(NamedTuple):
    """What is wrong with an object, in the API server's order.

    `unchecked` are findings about rules of the CRD that cannot be evaluated here; `by_definition`: whether a CRD was
    at hand.
    """

    problems: tuple[Problem, ...]
    unchecked: tuple[Finding, ...] = ()
    by_definition: bool = False

    def findings(
        self, subject: KubeObject, rule: Rule, unknown: tuple[Rule, Severity] | None = None
    ) -> tuple[Finding, ...]:
        """The findings about `subject`, by `rule`; `unknown` is another rule for unknown fields, and their severity."""
        unknown_rule, severity = (rule, None) if unknown is None else unknown
        by_rule = [(unknown_rule if problem.effect is Effect.UNKNOWN else rule, problem) for problem in self.problems]
        return (*findings_of(by_rule, subject, severity), *self.unchecked)


def judge(
    value: Mapping[str, Value],
    definition: Definition | None,
    own_table: Callable[[], Iterable[Problem]],
    *,
    before: Mapping[str, Value] | None = None,
    written: Mapping[str, Value] | None = None,
) -> Verdict:
    """What the API server refuses in `value`, which was `before` the change: by `definition`, else by `own_table`.

    `written` is the object as its author wrote it, where a webhook has filled in something since.
    """
    if definition is None:
        return Verdict(tuple(own_table()))
    problems: list[Problem] = []
    unchecked: list[Finding] = []
    for problem in definition.problems(value, before, written):
        if problem.effect is Effect.UNCHECKED:
            unchecked.append(Finding.about(problem, definition.item, UNCHECKED))
        else:
            problems.append(problem)
    return Verdict(tuple(problems), tuple(unchecked), by_definition=True)


def no_table() -> Iterable[Problem]:
    """The table of a kind that is judged by the cluster's CRD only."""
    return ()
