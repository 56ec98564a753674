"""`packwise fn`: the pipeline as a KRM function. Source: functions-spec.md, clients.md 5."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.run import run
from packwise.pipeline import render
from packwise.select import Package

if TYPE_CHECKING:
    from collections.abc import Sequence

    from krmfn.resourcelist import ResourceList
    from krmfn.result import Result

__all__ = ["main", "render_list"]


def main(*, validate: bool = False, verbose: bool = False) -> int:
    """Runs on stdin and stdout and returns the exit code, 0 or 1. To `validate` is to answer results only.

    Stderr shows the first findings of each form, and none that ask for nothing; all where it is `verbose`.
    """
    return run(render_list, validator=validate, lines_of=None if verbose else _lines)


def _lines(results: Sequence[Result]) -> list[str]:
    # Where there is nothing to say, nothing is imported.
    from krmfn.grouping import grouped_lines

    return grouped_lines(results, "`packwise fn -v` lists them")


def render_list(read: ResourceList) -> ResourceList:
    """The list with everything that follows from its items."""
    rendered = render(Package(read.items, read.function_config), writes=True)
    return read.with_items(rendered.items).with_results((*_of_others(read.results), *rendered.results))


def _of_others(results: tuple[Result, ...]) -> tuple[Result, ...]:
    """The results of functions that ran before; what packwise itself said of an earlier state no longer holds."""
    if not results:
        return ()
    from packwise.pipeline.rules import rule_table

    own = {rule.name for rule in rule_table()}
    return tuple([result for result in results if result.tags.get("rule") not in own])
