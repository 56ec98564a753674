"""What a rule of OSMO's documents is, and the documents' rules that need no model of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from packwise.finding import Finding, Severity, Stage
from packwise.finding import Rule as PublicRule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from packwise.select.place import Place

__all__ = ["Breach", "PublicRule", "Rule", "run"]

S = TypeVar("S")


class Breach(NamedTuple):
    """One breach: where, packwise's own text, and what OSMO would say; None where it would say nothing."""

    place: Place
    message: str
    operator_message: str | None = None
    at_key: bool = False


class Rule(NamedTuple, Generic[S]):
    """One rule: `name` is stable and public, `summary` one line, `source` where it is written down.

    `stage`: when OSMO would refuse; its pool configs at the service's start, workflows when they are submitted.
    """

    name: str
    summary: str
    source: str
    check: Callable[[S], Iterable[Breach]]
    stage: Stage = Stage.WEBHOOK
    severity: Severity = Severity.ERROR

    @property
    def public(self) -> PublicRule:
        """The rule as users know it."""
        return PublicRule(self.name, self.summary, self.source, self.severity)


def run(rules: Iterable[Rule[S]], subject: S, order: int = 0) -> Iterator[Finding]:
    """Every breach in the order in which OSMO looks; `order` is the place of the first."""
    for rule in rules:
        for breach in rule.check(subject):
            yield breach.place.finding(
                rule.public,
                breach.message,
                operator_message=breach.operator_message,
                stage=None if breach.operator_message is None else rule.stage,
                order=order,
                at_key=breach.at_key,
            )
            order += 1
