"""`packwise fn`: the pipeline as a KRM function. Source: functions-spec.md, clients.md 5."""

from __future__ import annotations

from functools import partial

from krmfn.hints import TYPE_CHECKING
from krmfn.run import run
from packwise.pipeline import render
from packwise.select import Package

if TYPE_CHECKING:
    from collections.abc import Sequence

    from krmfn.resourcelist import ResourceList
    from krmfn.result import Result
    from packwise.pipeline.parts import Piece

__all__ = ["main", "render_list"]


_FEWEST_ITEMS = 300
"""Smaller lists take less time than processes that share them save."""


def main(*, validate: bool = False, verbose: bool = False, jobs: int | None = None) -> int:
    """Runs on stdin and stdout and returns the exit code, 0 or 1. To `validate` is to answer results only.

    Stderr shows the first findings of each form, and none that ask for nothing; all where it is `verbose`. At most
    `jobs` processes work on a large list: as many as there are processors where it is None, and not more than four.
    The bytes are the same whatever their number.
    """
    lines_of = None if verbose else _lines
    return run(partial(render_list, jobs=jobs), validator=validate, lines_of=lines_of)


def _lines(results: Sequence[Result]) -> list[str]:
    # Where there is nothing to say, nothing is imported.
    from krmfn.grouping import grouped_lines

    return grouped_lines(results, "`packwise fn -v` lists them")


def render_list(read: ResourceList, jobs: int | None = 1) -> ResourceList:
    """The list with everything that follows from its items, by at most so many processes."""
    package = Package(read.items, read.function_config)
    answer = _by_processes(read, package, jobs) if len(read.items) >= _FEWEST_ITEMS and jobs != 1 else None
    if answer is None:
        rendered = render(package, writes=True)
        answer = read.with_items(rendered.items).with_results(rendered.results)
    return answer.with_results((*_of_others(read.results), *answer.results))


def _by_processes(read: ResourceList, package: Package, jobs: int | None) -> ResourceList | None:
    """The list, rendered in parts; None where one process has to render it."""
    from packwise.pipeline.parts import divided, joined, piece_of
    from packwise.processes import answers, most_processes, usable

    number = jobs or most_processes()
    parts = divided(package, number) if number > 1 and usable() else ()
    if len(parts) < 2:
        return None
    pieces: list[Piece] = []
    for start in range(0, len(parts), number):
        more = answers(partial(piece_of, read), parts[start : start + number])
        if more is None:
            return None
        pieces += more
    return joined(read, parts, pieces)


def _of_others(results: tuple[Result, ...]) -> tuple[Result, ...]:
    """The results of functions that ran before; what packwise itself said of an earlier state no longer holds."""
    if not results:
        return ()
    from packwise.pipeline.rules import rule_table

    own = {rule.name for rule in rule_table()}
    return tuple([result for result in results if result.tags.get("rule") not in own])
