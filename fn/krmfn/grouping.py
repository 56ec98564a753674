"""Results as a reader has time for them: of those that say the same, the first few, and how many more there are."""

from __future__ import annotations

import re
from collections import Counter

from krmfn.hints import TYPE_CHECKING
from krmfn.record import Record
from krmfn.result import Severity

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from krmfn.result import Result

__all__ = ["Shown", "group_results", "grouped_lines", "rest_line"]

SHOWN = 3
"""The number of results of one form that are shown."""

_VARIABLE = re.compile(r'"[^"]*"|\d+')


class Shown(Record):
    """A result to show; `alike` is how many results of its form are left out after it."""

    result: Result
    alike: int = 0


def group_results(results: Sequence[Result], shown: int = SHOWN, alone: Collection[str] = ()) -> list[Shown]:
    """The first `shown` results of each form, in their order; the last of these counts those that are left out.

    Results are of one form when severity and rule are the same, and the messages but for quoted values and numbers. A
    single result is never left out: a line would say so. Where a rule is one of `alone`, results with the very same
    message are of one form, and its first is shown alone: they have one cause.
    """
    causes = [(result.severity.value, result.tags.get("rule", ""), result.message, "cause") for result in results]
    same = Counter([cause for cause in causes if cause[1] in alone])
    forms: list[tuple[str, ...]] = [
        cause if same[cause] > shown + 1 else form_of(result) for cause, result in zip(causes, results, strict=True)
    ]
    sizes = Counter(forms)
    seen: Counter[tuple[str, ...]] = Counter()
    kept: list[Shown] = []
    for result, form in zip(results, forms, strict=True):
        seen[form] += 1
        most = 1 if form in same else shown
        if sizes[form] <= shown + 1 or seen[form] < most:
            kept.append(Shown(result))
        elif seen[form] == most:
            kept.append(Shown(result, sizes[form] - most))
    return kept


def grouped_lines(results: Iterable[Result], hint: str, shown: int = SHOWN) -> list[str]:
    """The lines for stderr, without infos about an object, which ask for nothing; `hint` says how to see all.

    An info about the whole input stays: kustomize shows nothing else of a run that had nothing to do.
    """
    kept = [result for result in results if result.severity is not Severity.INFO or result.resource_ref is None]
    lines: list[str] = []
    for each in group_results(kept, shown):
        lines.append(each.result.line_of_text())
        if each.alike:
            lines.append(rest_line(each, hint))
    return lines


def rest_line(shown: Shown, hint: str) -> str:
    """`warning: … and 997 more [rule]; HINT`, after a result that others are like."""
    rule = shown.result.tags.get("rule")
    return f"{shown.result.severity.value}: … and {shown.alike} more{f' [{rule}]' if rule else ''}; {hint}"


def form_of(result: Result) -> tuple[str, str, str]:
    """The parts that results of one form share: severity, rule, and the message without quoted values and numbers."""
    return result.severity.value, result.tags.get("rule", ""), _VARIABLE.sub("…", result.message)
