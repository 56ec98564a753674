"""`packwise fn`: the pipeline as a KRM function. Source: functions-spec.md, spec/clients.md#5."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.result import grouped_lines
from krmfn.run import run
from packwise.pipeline import render
from packwise.pipeline.selection import Package

if TYPE_CHECKING:
    from collections.abc import Sequence

    from krmfn.kubeobject import KubeObject
    from krmfn.resourcelist import ResourceList
    from krmfn.result import Result
    from packwise.pipeline import Rendered


def main(*, validate: bool = False, verbose: bool = False) -> int:
    """Run the function on stdin and stdout, and return the exit code, 0 or 1. With `validate`, write the results
    without items.

    Stderr shows the first findings of each form without infos, or all findings if `verbose` is set.
    """
    return run(render_list, validator=validate, lines_of=None if verbose else _lines)


def _lines(results: Sequence[Result]) -> list[str]:
    return grouped_lines(results, "`packwise fn -v` lists them")


def render_list(read: ResourceList) -> ResourceList:
    """Return the list with the rendered items and the results of the render."""
    has_lists = any(_is_list(item) for item in read.items)
    items, rendered = _rendered_lists(read) if has_lists else _render(read.items, read.function_config)
    return read.with_items(items).with_results((*_remove_own(read.results), *rendered.results))


def _is_list(item: KubeObject) -> bool:
    kind = item.value.get("kind")
    return isinstance(kind, str) and kind.endswith("List")


def _rendered_lists(read: ResourceList) -> tuple[tuple[KubeObject, ...], Rendered]:
    """Return the output items and the render of a ResourceList that has Lists among its items."""
    from packwise.objects.lists import expand_lists, restore_lists

    _, rendered = _render(expand_lists(read.items), read.function_config)
    return (*restore_lists(read.items, rendered.kept), *rendered.generated), rendered


def _render(
    items: tuple[KubeObject, ...], function_config: KubeObject | None
) -> tuple[tuple[KubeObject, ...], Rendered]:
    package = Package(items, function_config)
    rendered = render(package, writes=True)
    if rendered.selection is not None and rendered.selection.is_contested:
        # Few inputs need this import: most have the configuration of only one cluster.
        from packwise.pipeline.clusters import render_clusters

        rendered = render_clusters(package) or rendered
    return rendered.items, rendered


def _remove_own(results: tuple[Result, ...]) -> tuple[Result, ...]:
    """Return the results of other functions. Results of an earlier run of packwise are dropped, because they are
    outdated.
    """
    if not results:
        return ()
    from packwise.pipeline.rules import rule_table

    own = {rule.name for rule in rule_table()}
    return tuple(result for result in results if result.tags.get("rule") not in own)
