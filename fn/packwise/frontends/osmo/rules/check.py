"""What a check of OSMO's documents is: a rule, and the function that finds what breaks it."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING, Generic, TypeVar
from krmfn.record import NamedTuple
from packwise.findings.problem import Problem
from packwise.findings.rule import Stage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import TypeAlias

    from packwise.findings.finding import Finding
    from packwise.findings.rule import Rule
    from packwise.objects.place import Place

    ProblemAt: TypeAlias = tuple[Place, Problem]

__all__ = ["Check", "problem_at", "run"]

S = TypeVar("S")


class Check(NamedTuple, Generic[S]):
    """A rule, and the function that answers what breaks it: each problem with the place that its path is below.

    `stage`: when OSMO would refuse; its pool configs at the service's start, workflows when they are submitted.
    """

    rule: Rule
    problems: Callable[[S], Iterable[ProblemAt]]
    stage: Stage = Stage.WEBHOOK


def problem_at(place: Place, message: str, text: str | None = None, *, at_key: bool = False) -> ProblemAt:
    """A problem at `place` itself; `text` is OSMO's own, None where it accepts the document or has no text."""
    return place, Problem((), message, text, at_key=at_key)


def run(checks: Iterable[Check[S]], subject: S, order: int = 0) -> Iterator[Finding]:
    """Every problem in the order in which OSMO looks; `order` is the place of the first."""
    for check in checks:
        for place, problem in check.problems(subject):
            stage = None if problem.operator_message is None else check.stage
            yield place.about(problem._replace(stage=stage), check.rule, order=order)
            order += 1
