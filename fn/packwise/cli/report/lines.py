"""A finding as one line or one sentence, its colours, and the count of findings."""

from __future__ import annotations

from collections import Counter

from krmfn.grouping import Shown, grouped, rest_line
from krmfn.hints import TYPE_CHECKING
from krmfn.result import Severity
from packwise.cli.arguments import Verbosity
from packwise.cli.report.visible import visible
from packwise.findings.known import causes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from krmfn.result import Result

__all__ = [
    "FAINT",
    "SEVERITIES",
    "as_lines",
    "count",
    "count_by_rule",
    "count_of_causes",
    "for_people",
    "hidden_infos",
    "rest",
    "sentence",
    "stderr_lines",
    "tinted",
]

FAINT = 2
SEVERITIES = {Severity.ERROR: 31, Severity.WARNING: 33, Severity.INFO: 36}
"""The colours of a terminal: red, yellow and cyan."""

_OF_ONE_CAUSE = frozenset({"osmo-template"})
"""Rules whose results with one text have one cause, as a variable that no template of OSMO's is given."""

_PLURALS = {Severity.ERROR: "errors", Severity.WARNING: "warnings", Severity.INFO: "infos"}


def as_lines(results: Iterable[Result], *, coloured: bool = False) -> list[str]:
    """One line for each result; the word of its severity coloured where that is wanted."""
    return [_line(result, coloured=coloured) for result in results]


def for_people(results: Sequence[Result], verbosity: Verbosity) -> list[Shown]:
    """What people are shown of `results`; all of them where it is verbose, the worst first, each rule's together.

    Else of each form the first few; no info; one error about a field that several refuse.
    """
    if verbosity is Verbosity.VERBOSE:
        return [Shown(result) for result in _by_rule(results)]
    return grouped([result for result in causes(results) if result.severity is not Severity.INFO], alone=_OF_ONE_CAUSE)


def rest(shown: Shown, *, coloured: bool = False) -> str:
    """The line after a result that others are like, which are left out."""
    word = shown.result.severity.value
    text = visible(rest_line(shown, "-v lists them")).removeprefix(word)
    return tinted(word, SEVERITIES[shown.result.severity], coloured=coloured) + text


def stderr_lines(results: Sequence[Result], verbosity: Verbosity, *, coloured: bool = False) -> list[str]:
    """What a command other than a check says of `results`: a line for each that is shown."""
    lines: list[str] = []
    for each in for_people(results, verbosity):
        lines.append(_line(each.result, coloured=coloured))
        if each.alike:
            lines.append(rest(each, coloured=coloured))
    return lines


def hidden_infos(results: Iterable[Result]) -> str:
    """`2 infos (-v lists them)`; "" where there are none."""
    infos = [result for result in results if result.severity is Severity.INFO]
    return f"{count(infos)} (-v lists {'it' if len(infos) == 1 else 'them'})" if infos else ""


def count(results: Iterable[Result]) -> str:
    """`2 errors, 1 warning`; nothing where there are none."""
    counted = Counter(result.severity for result in results)
    return ", ".join(
        f"{counted[severity]} {severity.value if counted[severity] == 1 else plural}"
        for severity, plural in _PLURALS.items()
        if counted[severity]
    )


def count_by_rule(results: Iterable[Result]) -> str:
    """`by rule: 2 queue-missing (warnings); 1 constraint-redundant (info)`; the most frequent first of a severity."""
    counted = Counter((result.severity, result.tags.get("rule", "")) for result in results)
    parts: list[str] = []
    for severity, plural in _PLURALS.items():
        rules = sorted((-number, rule) for (level, rule), number in counted.items() if level is severity)
        if rules:
            words = ", ".join([f"{-number} {rule}" for number, rule in rules])
            parts.append(f"{words} ({severity.value if sum(number for number, _ in rules) == -1 else plural})")
    return f"by rule: {'; '.join(parts)}" if parts else ""


def count_of_causes(results: Sequence[Result]) -> str:
    """The count for people: `1 error (and 1 about the same fields), 2 warnings`."""
    kept = causes(results)
    more = len(results) - len(kept)
    follows = f" (and {more} about the same fields)" if more else ""
    errors, comma, others = count(kept).partition(", ")
    return f"{errors}{follows}{comma}{others}"


def sentence(result: Result) -> str:
    """The object, the field and the message, without the file: `PodCliqueSet team-a/a spec.x: must …`."""
    ref, field = result.resource_ref, result.field
    subject = " ".join(part for part in (str(ref or ""), field.path if field is not None else "") if part)
    return f"{subject}: {result.message}" if subject else result.message


def tinted(text: str, colour: int, *, coloured: bool) -> str:
    """`text` in that colour, where colours are wanted."""
    return f"\033[{colour}m{text}\033[0m" if coloured and text else text


def _by_rule(results: Sequence[Result]) -> list[Result]:
    """The results by severity, then by rule, so that one is not lost among many of another rule."""
    severities = list(_PLURALS)
    first: dict[str, int] = {}
    for place, result in enumerate(results):
        first.setdefault(result.tags.get("rule", ""), place)
    return sorted(results, key=lambda result: (severities.index(result.severity), first[result.tags.get("rule", "")]))


def _line(result: Result, *, coloured: bool) -> str:
    word = result.severity.value
    rest = visible(result.line_of_text()).removeprefix(word)
    return tinted(word, SEVERITIES[result.severity], coloured=coloured) + rest
