"""The pipeline's answer to what was read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krmfn.result import exit_code, sort_results
from packwise.pipeline import Rendered, render

if TYPE_CHECKING:
    from packwise.cli.inputs import Inputs

__all__ = ["rendered_of"]


def rendered_of(inputs: Inputs) -> Rendered:
    """The render of `inputs`, its results sorted; nothing is rendered of what could not be read whole."""
    found = inputs.results
    if exit_code(found):
        return Rendered(inputs.package.items, (), sort_results(found))
    rendered = render(inputs.package)
    return rendered._replace(results=sort_results([*found, *rendered.results]))
