"""`packwise fn`: the pipeline as a KRM function. Source: functions-spec.md, clients.md 5."""

from __future__ import annotations

import gc
from functools import partial

from krmfn.hints import TYPE_CHECKING
from krmfn.run import run
from packwise.pipeline import render
from packwise.select import Package

if TYPE_CHECKING:
    from collections.abc import Sequence

    from krmfn.kubeobject import KubeObject
    from krmfn.resourcelist import ResourceList
    from krmfn.result import Result
    from packwise.pipeline import Rendered
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
    return run(partial(_answer, jobs=jobs, ends=True), validator=validate, lines_of=lines_of)


def _lines(results: Sequence[Result]) -> list[str]:
    # Where there is nothing to say, nothing is imported.
    from krmfn.grouping import grouped_lines

    return grouped_lines(results, "`packwise fn -v` lists them")


def render_list(read: ResourceList, jobs: int | None = 1) -> ResourceList:
    """The list with everything that follows from its items, by at most so many processes."""
    return _answer(read, jobs=jobs)


def _answer(read: ResourceList, *, jobs: int | None, ends: bool = False) -> ResourceList:
    """The list with everything that follows from its items; `ends`: the process does with it."""
    has_lists = any(_is_list(item) for item in read.items)
    answer = None
    if len(read.items) >= _FEWEST_ITEMS and jobs != 1 and not has_lists:
        answer = _by_processes(read, Package(read.items, read.function_config), jobs)
    if answer is None:
        items, rendered = _rendered_lists(read) if has_lists else _rendered(read.items, read.function_config)
        if ends:
            _keep(read, rendered)
        answer = read.with_items(items).with_results(rendered.results)
    return answer.with_results((*_of_others(read.results), *answer.results))


def _is_list(item: KubeObject) -> bool:
    kind = item.value.get("kind")
    return isinstance(kind, str) and kind.endswith("List")


def _rendered_lists(read: ResourceList) -> tuple[tuple[KubeObject, ...], Rendered]:
    """The items of the answer, and the render that they are of, where some items are lists themselves."""
    from packwise.objects.lists import put_back, taken_apart

    _, rendered = _rendered(taken_apart(read.items), read.function_config)
    return (*put_back(read.items, rendered.kept), *rendered.generated), rendered


def _rendered(
    items: tuple[KubeObject, ...], function_config: KubeObject | None
) -> tuple[tuple[KubeObject, ...], Rendered]:
    package = Package(items, function_config)
    rendered = render(package, writes=True)
    if rendered.selection is not None and rendered.selection.is_contested:
        # Few lists hold several clusters.
        from packwise.pipeline.clusters import render_clusters

        rendered = render_clusters(package) or rendered
    return rendered.items, rendered


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


def _keep(*values: object) -> None:
    """Keeps the values until the process ends: to take them apart before that is a fiftieth of a long run."""
    # Only a collector that looks for circles would free this one, and it passes over what is frozen.
    circle: list[object] = [*values]
    circle.append(circle)
    gc.freeze()


def _of_others(results: tuple[Result, ...]) -> tuple[Result, ...]:
    """The results of functions that ran before; what packwise itself said of an earlier state no longer holds."""
    if not results:
        return ()
    from packwise.pipeline.rules import rule_table

    own = {rule.name for rule in rule_table()}
    return tuple([result for result in results if result.tags.get("rule") not in own])
