"""The places that `place` finds for a package's gangs, as lines for a table."""

from __future__ import annotations

from typing import Any, cast

from krmfn.yamltext import read, split_documents
from packwise.pipeline import render
from packwise.pipeline.selection import Package
from packwise.place.placing import place_gangs, situation
from packwise.schedulers.kai.snapshot import read_snapshot


def places(text: str, package: Package) -> list[str]:
    """Return the outcome of each gang on the nodes in the text: it fits, or the reason why it does not."""
    nodes = tuple(cast("dict[str, Any]", read(each.text)) for each in split_documents(text))
    rendered = render(package.replace(nodes=nodes), checks_pods=False)
    if rendered.scheduled is None:
        return []
    placing = place_gangs(situation(rendered, read_snapshot(nodes)))
    return [
        f"{answer.gang.name}: {'fits' if answer.fits else 'does not fit'}, {answer.placed_pods} of "
        f"{answer.gang.pods} pods"
        + "".join(f"; {text}" for text in (*answer.reasons, *(f"note: {note}" for note in answer.notes)))
        for answer in placing.gangs
    ]
