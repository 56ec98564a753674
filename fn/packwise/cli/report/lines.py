"""A finding as one line or one sentence, its colours, and the count of findings."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from krmfn.result import Severity
from packwise.cli.report.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterable

    from krmfn.result import Result

__all__ = ["FAINT", "SEVERITIES", "as_lines", "count", "sentence", "tinted"]

FAINT = 2
SEVERITIES = {Severity.ERROR: 31, Severity.WARNING: 33, Severity.INFO: 36}
"""The colours of a terminal: red, yellow and cyan."""

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


def sentence(result: Result) -> str:
    """The object, the field and the message, without the file: `PodCliqueSet team-a/a spec.x: must …`."""
    ref, field = result.resource_ref, result.field
    subject = " ".join(part for part in (str(ref or ""), field.path if field is not None else "") if part)
    return f"{subject}: {result.message}" if subject else result.message


def tinted(text: str, colour: int, *, coloured: bool) -> str:
    """`text` in that colour, where colours are wanted."""
    return f"\033[{colour}m{text}\033[0m" if coloured and text else text


def _line(result: Result, *, coloured: bool) -> str:
    word = result.severity.value
    rest = visible(result.line_of_text()).removeprefix(word)
    return tinted(word, SEVERITIES[result.severity], coloured=coloured) + rest
