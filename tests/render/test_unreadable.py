"""Packages of programs that use packwise as a library: an item is read when its value is first used."""

from __future__ import annotations

from krmfn import KubeObject
from krmfn.kubeobject import Source
from packwise.pipeline import render
from packwise.pipeline.selection import Package


def test_an_item_that_cannot_be_read_is_reported() -> None:
    broken = KubeObject(Source("kind: [\n", (), 1, 1, "broken.yaml"))

    rendered = render(Package((broken,)))

    assert rendered.items == (broken,)
    assert [result.line_of_text() for result in rendered.results] == [
        "error: broken.yaml:2:1: did not find expected node content (while parsing a flow node) [readable]"
    ]
