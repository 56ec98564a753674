"""Findings for people: a line, the place in the file, the operator's own text, what would do."""

from __future__ import annotations

from functools import cache

from krmfn.grouping import form_of
from krmfn.hints import TYPE_CHECKING
from packwise.cli.arguments import Verbosity
from packwise.cli.report.excerpt import Place, excerpt
from packwise.cli.report.lines import SEVERITIES, as_lines, for_people, rest
from packwise.cli.report.visible import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from krmfn.result import Result
    from packwise.cli.report.checked import Checked

__all__ = ["as_text"]


def as_text(checked: Checked) -> str:
    """The findings one below the other, each with an excerpt where its place is known."""

    @cache
    def lines_of(name: str | None) -> Sequence[str]:
        # Editors, and the places of findings, know no other line ends.
        return (checked.text_of(name) or "").split("\n")

    lines: list[str] = []
    seen: set[tuple[str, str, str]] = set()
    for each in for_people(checked.results, checked.verbosity):
        result = each.result
        form = form_of(result)
        # Where all are listed, the text around shows nothing new from the second of a form on.
        has_excerpt = checked.verbosity is not Verbosity.VERBOSE or form not in seen
        seen.add(form)
        excerpt_lines = _excerpt(result, lines_of, coloured=checked.coloured) if has_excerpt else []
        below = [*excerpt_lines, *_texts(result)]
        lines += [*as_lines([result], coloured=checked.coloured), *below, *([""] if below else [])]
        if each.alike:
            lines += [rest(each, coloured=checked.coloured), ""]
    return "".join([f"{line}\n" for line in lines])


def _excerpt(result: Result, lines_of: Callable[[str | None], Sequence[str]], *, coloured: bool) -> list[str]:
    if "line" not in result.tags:
        return []
    column = result.tags.get("column")
    place = Place(int(result.tags["line"]), None if column is None else int(column))
    name = result.file.path if result.file is not None else None
    return excerpt(lines_of(name), place, SEVERITIES[result.severity], coloured=coloured)


def _texts(result: Result) -> list[str]:
    texts: list[str] = []
    if "origin" in result.tags:
        texts.append(f"  from: {visible(result.tags['origin'])}")
    if "operatorMessage" in result.tags:
        texts.append(f"  operator: {visible(result.tags['operatorMessage'])}")
    if result.field is not None and result.field.proposed is not None:
        import json

        texts.append(f"  help: set it to {visible(json.dumps(result.field.proposed, ensure_ascii=False))}")
    return texts
