"""A finding as one line or one sentence, its colours, and the count of findings."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from krmfn.grouping import Shown, grouped, rest_line
from krmfn.result import Severity
from packwise.cli.arguments import Verbosity
from packwise.cli.report.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from krmfn.result import Result

__all__ = ["FAINT", "SEVERITIES", "as_lines", "count", "for_people", "rest", "sentence", "stderr_lines", "tinted"]

FAINT = 2
SEVERITIES = {Severity.ERROR: 31, Severity.WARNING: 33, Severity.INFO: 36}
"""The colours of a terminal: red, yellow and cyan."""

_PLURALS = {Severity.ERROR: "errors", Severity.WARNING: "warnings", Severity.INFO: "infos"}


def as_lines(results: Iterable[Result], *, coloured: bool = False) -> list[str]:
    """One line for each result; the word of its severity coloured where that is wanted."""
    return [_line(result, coloured=coloured) for result in results]


def for_people(results: Sequence[Result], verbosity: Verbosity) -> list[Shown]:
    """What people are shown of `results`: of each form the first few, and no info; all of it where it is verbose."""
    if verbosity is Verbosity.VERBOSE:
        return [Shown(result) for result in results]
    return grouped([result for result in results if result.severity is not Severity.INFO])


def rest(shown: Shown, *, coloured: bool = False) -> str:
    """The line after a result that others are like, which are left out."""
    word = shown.result.severity.value
    text = visible(rest_line(shown, "-v lists them")).removeprefix(word)
    return tinted(word, SEVERITIES[shown.result.severity], coloured=coloured) + text


def stderr_lines(results: Sequence[Result], verbosity: Verbosity, *, coloured: bool = False) -> list[str]:
    """What a command other than a check says of `results`: a line for each that is shown, and a count of the infos."""
    lines: list[str] = []
    for each in for_people(results, verbosity):
        lines.append(_line(each.result, coloured=coloured))
        if each.alike:
            lines.append(rest(each, coloured=coloured))
    infos = [result for result in results if result.severity is Severity.INFO]
    if infos and verbosity is Verbosity.NORMAL:
        lines.append(f"{count(infos)}; -v lists {'it' if len(infos) == 1 else 'them'}")
    return lines


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
