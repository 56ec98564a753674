"""One line for each finding, and how many there are."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from krmfn.result import Severity
from packwise.cli.report.colour import SEVERITIES, tinted
from packwise.cli.report.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterable

    from krmfn.result import Result

__all__ = ["as_lines", "count"]

_PLURALS = {Severity.ERROR: "errors", Severity.WARNING: "warnings", Severity.INFO: "infos"}


def as_lines(results: Iterable[Result], *, coloured: bool = False) -> list[str]:
    """One line for each result; the word of its severity coloured where that is wanted."""
    return [_line(result, coloured=coloured) for result in results]


def count(results: Iterable[Result]) -> str:
    """`2 errors, 1 warning`; nothing where there are none."""
    counted = Counter(result.severity for result in results)
    return ", ".join(
        f"{counted[severity]} {severity.value if counted[severity] == 1 else plural}"
        for severity, plural in _PLURALS.items()
        if counted[severity]
    )


def _line(result: Result, *, coloured: bool) -> str:
    word = result.severity.value
    rest = visible(result.line_of_text()).removeprefix(word)
    return tinted(word, SEVERITIES[result.severity], coloured=coloured) + rest
