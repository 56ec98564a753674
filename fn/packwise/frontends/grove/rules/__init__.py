"""The webhook's two runs over a PodCliqueSet, by the rulebook of its revision. Source: spec/grove.md#4 and #5."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.frontends.grove.rules.check import Context, Update, checks_of, rules_of, run
from packwise.frontends.grove.rules.rulebooks import rulebook
from packwise.frontends.grove.rules.topology import constraints_at
from packwise.revisions.records import GREP_244_MULTI, REVISIONS

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from packwise.findings.finding import Problem, Rule
    from packwise.frontends.grove.podcliqueset import PodCliqueSet
    from packwise.frontends.grove.rules.check import Check
    from packwise.revisions.revision import Revision

__all__ = ["Context", "all_rules", "differing_rules", "validate_create", "validate_update"]


def all_rules() -> tuple[Rule, ...]:
    """Every rule once, in the order they run, the last design's first: the documentation's table."""
    rules: dict[str, Rule] = {}
    for revision in (GREP_244_MULTI, *REVISIONS.values()):
        book = rulebook(revision)
        for rule in rules_of((*book.create, *book.mnnvl_update, *book.update)):
            rules.setdefault(rule.name, rule)
    return tuple(rules.values())


def differing_rules(revisions: Iterable[Revision]) -> frozenset[str]:
    """The names of the rules that the webhooks of `revisions` do not all check alike."""
    books: list[dict[str, list[Check[Any]]]] = []
    for revision in revisions:
        book = rulebook(revision)
        checks: dict[str, list[Check[Any]]] = {}
        for check in checks_of((*book.create, *book.mnnvl_update, *book.update)):
            checks.setdefault(check.rule.name, []).append(check)
        books.append(checks)
    names = {name for checks in books for name in checks}
    return frozenset([name for name in names if any(book.get(name) != books[0].get(name) for book in books)])


def validate_create(pcs: PodCliqueSet, context: Context) -> list[tuple[Rule, Problem]]:
    """The webhook's refusals of a new PodCliqueSet, in its order. `pcs` is read from the defaulted value."""
    book = rulebook(context.revision)
    return run(book.create, pcs, context if context.create else context._replace(create=True))


def validate_update(old: PodCliqueSet, new: PodCliqueSet, context: Context) -> list[tuple[Rule, Problem]]:
    """The webhook's refusals of an update, in its order: the new object's own problems, else forbidden changes.

    Both are read from defaulted values. Where the revision lets a workload change its constraints, their rules run as
    for a new workload when it does.
    """
    context, book = context._replace(create=False), rulebook(context.revision)
    update = Update(old, new)
    problems = run(book.whole, new, context) + run(book.mnnvl_update, update, context) + run(book.backend, new, context)
    if problems:
        return problems
    problems = run(book.update, update, context)
    if context.revision.mutable_constraints and _domains(old) != _domains(new):
        problems += run(book.constraints, new, context)
    return problems


def _domains(pcs: PodCliqueSet) -> set[tuple[str, str | None, str]]:
    """The constraints by their owners, whatever the owners' positions in their lists."""
    return {(constraint.kind, constraint.name, constraint.domain) for constraint in constraints_at(pcs)}
