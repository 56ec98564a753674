"""`packwise fn`: the pipeline as a KRM function. Source: functions-spec.md, clients.md 5."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krmfn.run import run
from packwise.pipeline import render
from packwise.select import Package

if TYPE_CHECKING:
    from krmfn.resourcelist import ResourceList

__all__ = ["main", "render_list"]


def main(*, validate: bool = False) -> int:
    """Runs on stdin and stdout and returns the exit code, 0 or 1. To `validate` is to answer results only."""
    return run(render_list, validator=validate)


def render_list(read: ResourceList) -> ResourceList:
    """The list with everything that follows from its items."""
    rendered = render(Package(read.items, read.function_config))
    return read.with_items(rendered.items).with_results((*read.results, *rendered.results))
