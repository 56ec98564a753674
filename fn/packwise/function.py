"""`packwise fn`: the pipeline as a KRM function. Source: functions-spec.md, clients.md 5."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

from krmfn.run import run
from packwise.pipeline import render
from packwise.select import Package

if TYPE_CHECKING:
    from collections.abc import Sequence

    from krmfn.kubeobject import KubeObject
    from krmfn.resourcelist import ResourceList
    from krmfn.result import Result
    from packwise.pipeline import Rendered

__all__ = ["main", "render_list"]


def main(*, validate: bool = False, verbose: bool = False) -> int:
    """Runs on stdin and stdout and returns the exit code, 0 or 1. To `validate` is to answer results only.

    Stderr shows the first findings of each form, and none that ask for nothing; all where it is `verbose`.
    """
    return run(_render_once, validator=validate, lines_of=None if verbose else _lines)


def _lines(results: Sequence[Result]) -> list[str]:
    # Where there is nothing to say, nothing is imported.
    from krmfn.grouping import grouped_lines

    return grouped_lines(results, "`packwise fn -v` lists them")


def render_list(read: ResourceList) -> ResourceList:
    """The list with everything that follows from its items."""
    items, rendered = _rendered(read)
    return _list_of(read, items, rendered)


def _render_once(read: ResourceList) -> ResourceList:
    """The same, in a process that ends with it."""
    items, rendered = _rendered(read)
    _keep(read, rendered)
    return _list_of(read, items, rendered)


def _list_of(read: ResourceList, items: tuple[KubeObject, ...], rendered: Rendered) -> ResourceList:
    return read.with_items(items).with_results((*_of_others(read.results), *rendered.results))


def _rendered(read: ResourceList) -> tuple[tuple[KubeObject, ...], Rendered]:
    """The items of the answer, and the render that they are of."""
    if not any(_is_list(item) for item in read.items):
        rendered = _rendered_clusters(read.items, read.function_config)
        return rendered.items, rendered
    from packwise.objects.lists import put_back, taken_apart

    rendered = _rendered_clusters(taken_apart(read.items), read.function_config)
    return (*put_back(read.items, rendered.kept), *rendered.generated), rendered


def _is_list(item: KubeObject) -> bool:
    kind = item.value.get("kind")
    return isinstance(kind, str) and kind.endswith("List")


def _rendered_clusters(items: tuple[KubeObject, ...], function_config: KubeObject | None) -> Rendered:
    package = Package(items, function_config)
    rendered = render(package, writes=True)
    if rendered.selection is None or not rendered.selection.is_contested:
        return rendered
    # Few lists hold several clusters.
    from packwise.pipeline.clusters import render_clusters

    return render_clusters(package) or rendered


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
