"""Findings for people: lines of the file, colours and counts, and a last line about the checked workloads."""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import cache

from krmfn.hints import TYPE_CHECKING, Record
from krmfn.result import Result, Severity, Shown, form_of, group_results, rest_line
from krmfn.terminal import escape_line
from packwise.answer import Styled
from packwise.console import width
from packwise.inputs.coverage import Coverage
from packwise.inputs.request import Verbosity
from packwise.output.known_findings import causes
from packwise.pipeline.registry import speaker_of
from packwise.wording import count_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


def closing_lines(last: str, listed: Iterable[str], verbosity: Verbosity) -> list[str]:
    """Return the lines for stderr at the end of a run: the `last` line, after the `listed` details if verbose."""
    if verbosity is Verbosity.QUIET or not last:
        return []
    return [*(listed if verbosity is Verbosity.VERBOSE else ()), last]


FAINT = 2

SEVERITIES = {Severity.ERROR: 31, Severity.WARNING: 33, Severity.INFO: 36}
"""The colours of a terminal: red, yellow and cyan."""

_OF_ONE_CAUSE = frozenset({"osmo-template"})
"""Rules with results that have one cause if their text is equal, such as a missing variable of OSMO's templates."""

_PLURALS = {Severity.ERROR: "errors", Severity.WARNING: "warnings", Severity.INFO: "infos"}


def as_lines(results: Iterable[Result], *, coloured: bool = False) -> list[str]:
    """Return one line for each result. With `coloured`, its severity is coloured."""
    return [_line(result, coloured=coloured) for result in results]


def for_people(results: Sequence[Result], verbosity: Verbosity) -> list[Shown]:
    """Return the results for people. If verbose, return all results, the worst first and sorted by rule.

    Otherwise return only the first few of similar results, without infos. Return one of the errors if several rules
    refuse a field.
    """
    if verbosity is Verbosity.VERBOSE:
        return [Shown(result) for result in _by_rule(results)]
    return group_results(
        [result for result in causes(results) if result.severity is not Severity.INFO], alone=_OF_ONE_CAUSE
    )


def styled_rest_line(shown: Shown, *, coloured: bool = False) -> str:
    """Return the line after a result with the number of similar results that are hidden."""
    word = shown.result.severity.value
    text = escape_line(rest_line(shown, "-v lists them")).removeprefix(word)
    return tint(word, SEVERITIES[shown.result.severity], coloured=coloured) + text


def stderr_lines(results: Sequence[Result], verbosity: Verbosity, *, coloured: bool = False) -> list[str]:
    """Return the lines on stderr of commands other than check: one for each shown result."""
    lines: list[str] = []
    for each in for_people(results, verbosity):
        lines.append(_line(each.result, coloured=coloured))
        if each.alike:
            lines.append(Styled(styled_rest_line(each, coloured=coloured)))
    return lines


def hidden_infos(results: Iterable[Result]) -> str:
    """Return `2 infos (-v lists them)`, or "" without infos."""
    infos = [result for result in results if result.severity is Severity.INFO]
    return f"{count(infos)}{_hint(infos)}" if infos else ""


def _hint(infos: Sequence[Result]) -> str:
    return f" (-v lists {'it' if len(infos) == 1 else 'them'})"


def count(results: Iterable[Result]) -> str:
    """Return `2 errors, 1 warning`, or "" without results."""
    counted = Counter(result.severity for result in results)
    return ", ".join(
        count_text(counted[severity], severity.value, plural)
        for severity, plural in _PLURALS.items()
        if counted[severity]
    )


def count_by_rule(results: Iterable[Result]) -> str:
    """Return `by rule: 2 queue-missing (warnings); 1 constraint-redundant (info)`, the most frequent first."""
    counted = Counter((result.severity, result.tags.get("rule", "")) for result in results)
    parts: list[str] = []
    for severity, plural in _PLURALS.items():
        rules = sorted((-number, rule) for (level, rule), number in counted.items() if level is severity)
        if rules:
            words = ", ".join([f"{-number} {rule}" for number, rule in rules])
            parts.append(f"{words} ({severity.value if sum(number for number, _ in rules) == -1 else plural})")
    return f"by rule: {'; '.join(parts)}" if parts else ""


def count_of_causes(results: Sequence[Result]) -> str:
    """Return the count for people: `1 error (and 1 about the same fields), 2 warnings`."""
    kept = causes(results)
    more = len(results) - len(kept)
    follows = f" (and {more} about the same fields)" if more else ""
    errors, comma, others = count(kept).partition(", ")
    return f"{errors}{follows}{comma}{others}"


def sentence(result: Result) -> str:
    """Return the object, the field and the message without the file: `PodCliqueSet team-a/a spec.x: must …`."""
    ref, field = result.resource_ref, result.field
    subject = " ".join(part for part in (str(ref or ""), field.path if field is not None else "") if part)
    return f"{subject}: {result.message}" if subject else result.message


def tint(text: str, colour: int, *, coloured: bool) -> str:
    """Return `text` in that colour if `coloured`."""
    return f"\033[{colour}m{text}\033[0m" if coloured and text else text


def _by_rule(results: Sequence[Result]) -> list[Result]:
    """Return the results sorted by severity, then by rule, so that a rule with a single result stays visible."""
    severities = list(_PLURALS)
    first: dict[str, int] = {}
    for place, result in enumerate(results):
        first.setdefault(result.tags.get("rule", ""), place)
    return sorted(results, key=lambda result: (severities.index(result.severity), first[result.tags.get("rule", "")]))


def _line(result: Result, *, coloured: bool) -> Styled:
    word = result.severity.value
    rest = escape_line(result.line_of_text()).removeprefix(word)
    return Styled(tint(word, SEVERITIES[result.severity], coloured=coloured) + rest)


class Checked(Record):
    """The sorted results of a check of `files` files.

    `text_of` returns the text of a file by its name, or of stdin for None. It returns None for a file that was not
    read. `coloured` requests terminal colours if a format has them. `coverage` lists checked and skipped workloads.
    `verbosity` sets how many results people see. `known` counts the results that are hidden because they predate the
    change. With `changed_since`, only the files affected since this commit are checked. `hides_infos` is true if no
    format of the output lists infos.
    """

    results: tuple[Result, ...]
    files: int
    text_of: Callable[[str | None], str | None]
    coloured: bool = False
    coverage: Coverage = Coverage()
    verbosity: Verbosity = Verbosity.NORMAL
    known: int = 0
    changed_since: str | None = None
    hides_infos: bool = False

    @property
    def last_line(self) -> str:
        """Return the line for stderr: the number of results, including hidden ones, and the coverage."""
        counted = count_of_causes(self.results) or "no findings"
        infos = [result for result in self.results if result.severity is Severity.INFO]
        if infos and self.hides_infos and self.verbosity is Verbosity.NORMAL:
            counted += _hint(infos)
        if self.known:
            counted += f", {self.known} known"
        where = count_text(self.files, "file")
        if self.changed_since is not None:
            if not self.files and not self.results and not self.known:
                return f"no findings: the change since {self.changed_since} affects no checked file"
            where += f" affected by the change since {self.changed_since}"
        return f"{counted} in {where}; {self.coverage.line}"


_WIDEST = 100
"""The largest number of columns that a line shows."""

_BEFORE = 40
"""The number of columns before the node that a longer line shows."""

_TAB = "→   "

# A node within one line: a quoted text, a dash, a flow collection without another one inside, or a plain text.
_NODE = re.compile(
    r"""
      "(?:\\.|[^"\\])*"? | '(?:''|[^'])*'?
    | -(?=\s|$)
    | \{[^{}\[\]]*\} | \[[^{}\[\]]*\]
    | [^\s"'{}\[\],] (?: [^\s:,{}\[\]] | :(?=\S) | [ ]+(?=[^\s\#:,{}\[\]]) )*
    """,
    re.VERBOSE,
)

_NO_CONTEXT = re.compile(r"\s*|(?:---|\.\.\.)(?:\s.*)?")


class LineAndColumn(Record):
    """A 1-based line of a file, and its 1-based column if it is known."""

    line: int
    column: int | None = None


def excerpt(lines: Sequence[str], place: LineAndColumn, colour: int, *, coloured: bool) -> list[str]:
    """Return the terminal lines that show `place` among the `lines` of its file, or none for a missing line."""
    if not 0 < place.line <= len(lines):
        return []
    above, text = lines[place.line - 2 : place.line - 1], lines[place.line - 1].removesuffix("\r")
    gutter = len(str(place.line))
    shown_lines: list[str] = []

    def add(number: int | str, shown: str) -> None:
        shown_lines.append(f"{tint(f'  {number:>{gutter}} |', FAINT, coloured=coloured)} {shown}".rstrip())

    if above and not _NO_CONTEXT.fullmatch(above[0]):
        add(place.line - 1, _mark_node(above[0].removesuffix("\r"), None)[0])
    shown, mark = _mark_node(text, None if place.column is None else min(place.column - 1, len(text)))
    add(place.line, shown)
    if mark:
        add("", mark[: mark.index("^")] + tint(mark.lstrip(), colour, coloured=coloured))
    return shown_lines


def _mark_node(text: str, at: int | None) -> tuple[str, str]:
    """Return the line as a terminal shows it, and the mark below the node at offset `at`.

    A long line is cut around the node.
    """
    start = at or 0
    before, after = _cells(text[max(start - _WIDEST, 0) : start]), _cells(text[start : start + _WIDEST])
    is_long = len(text) > start + _WIDEST or start > _WIDEST or width("".join(before + after)) > _WIDEST
    if is_long:
        before, after = _cut(before, after, ends=start + len(after) == len(text))
    margin = width("".join(before))
    if at is None:
        return "".join(after), ""
    node = _NODE.match(text, at)
    size = width("".join(after[: max(node.end() - at, 1) if node else 1]))
    return "".join(before + after), " " * margin + "^" + "~" * (size - 1)


def _cut(before: list[str], after: list[str], *, ends: bool) -> tuple[list[str], list[str]]:
    """Return as much of `before` and `after` as fits. `ends` is true if the line ends with `after`."""
    kept = _count_fitting(reversed(before), _BEFORE)
    if kept < len(before):
        before = ["…", *before[len(before) - kept :]]
    room = _WIDEST - width("".join(before))
    kept = _count_fitting(after, room)
    if kept == len(after) and ends:
        return before, after
    return before, [*after[: _count_fitting(after, room - 1)], "…"]


def _cells(text: str) -> list[str]:
    """Return each character as a terminal shows it."""
    return [_TAB if character == "\t" else escape_line(character) for character in text]


def _count_fitting(cells: Iterable[str], room: int) -> int:
    """Return the number of leading `cells` that fit into `room` columns."""
    fitting = 0
    for cell in cells:
        room -= width(cell)
        if room < 0:
            break
        fitting += 1
    return fitting


def as_text(checked: Checked) -> str:
    """Return the findings one below the other, each with an excerpt if its place is known."""

    @cache
    def lines_of(name: str | None) -> Sequence[str]:
        # Editors, and the lines in findings, use no other line ends.
        return (checked.text_of(name) or "").split("\n")

    lines: list[str] = []
    seen: set[tuple[str, str, str]] = set()
    for each in for_people(checked.results, checked.verbosity):
        result = each.result
        form = form_of(result)
        # If all findings are listed, an excerpt after the first of a form shows nothing new.
        has_excerpt = checked.verbosity is not Verbosity.VERBOSE or form not in seen
        seen.add(form)
        excerpt_lines = _excerpt(result, lines_of, coloured=checked.coloured) if has_excerpt else []
        below = [*excerpt_lines, *_texts(result)]
        lines += [*as_lines([result], coloured=checked.coloured), *below, *([""] if below else [])]
        if each.alike:
            lines += [styled_rest_line(each, coloured=checked.coloured), ""]
    return "".join([f"{line}\n" for line in lines])


def _excerpt(result: Result, lines_of: Callable[[str | None], Sequence[str]], *, coloured: bool) -> list[str]:
    if "line" not in result.tags:
        return []
    column = result.tags.get("column")
    place = LineAndColumn(int(result.tags["line"]), None if column is None else int(column))
    name = result.file.path if result.file is not None else None
    lines = lines_of(name)
    if 0 < place.line <= len(lines) and not lines[place.line - 1].strip():
        # If text is missing at the end of a file, show the last line that has text.
        filled = [number for number in range(place.line, 0, -1) if lines[number - 1].strip()][:1]
        if not filled:
            return []
        place = LineAndColumn(filled[0])
    return excerpt(lines, place, SEVERITIES[result.severity], coloured=coloured)


def speaker_in(result: Result) -> str:
    """Return the component that a result quotes: `Grove`, `Kueue`, `Jinja` or `API server`."""
    return speaker_of(result.tags.get("rule", ""), result.tags.get("stage", ""))


def _texts(result: Result) -> list[str]:
    texts: list[str] = []
    if "origin" in result.tags:
        texts.append(f"  from: {escape_line(result.tags['origin'])}")
    if "operatorMessage" in result.tags:
        texts.append(f"  {speaker_in(result)}: {escape_line(result.tags['operatorMessage'])}")
    if result.field is not None and result.field.proposed is not None:
        texts.append(f"  help: set it to {escape_line(json.dumps(result.field.proposed, ensure_ascii=False))}")
    return texts
