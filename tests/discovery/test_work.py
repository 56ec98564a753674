"""The work of reading a stream grows in proportion to its documents, not with their square.

The tests count calls, not time.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from krmfn.kubeobject import KubeObject
from packwise.inputs.paths import InputPath
from packwise.inputs.reader import decode
from packwise.pipeline import render
from packwise.pipeline.selection import Package
from tests.cli.calling import CONFIG, WORKLOAD

OBJECT = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c{}\ndata:\n  a: b\n"


def stream(number: int) -> str:
    return "---\n".join(OBJECT.format(each) for each in range(number))


def listed(number: int) -> str:
    entries = [OBJECT.format(each).rstrip("\n").replace("\n", "\n  ") for each in range(number)]
    return "apiVersion: v1\nkind: List\nitems:\n" + "".join(f"- {entry}\n" for entry in entries)


def calls_of(act: Callable[[], object]) -> int:
    """Return the number of called Python and C functions."""
    number = 0

    def count(_frame: FrameType, event: str, _argument: Any) -> None:
        nonlocal number
        number += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        act()
    finally:
        sys.setprofile(None)
    return number


@pytest.mark.parametrize("text", [stream, listed])
def test_reading_takes_calls_in_proportion(text: Callable[[int], str]) -> None:
    path = InputPath("a.yaml", "a.yaml")
    decode(text(10).encode(), path)

    few, many = (calls_of(lambda number=number: decode(text(number).encode(), path)) for number in (1000, 4000))

    assert many < 4.4 * few


def test_no_look_at_an_entry_reads_the_whole_list() -> None:
    """Each entry has a separate text with the length of the entry."""
    file = decode(listed(50).encode(), InputPath("a.yaml", "a.yaml"))

    assert [item.source.text for item in file.items[:1]] == [
        "- " + OBJECT.format(0).rstrip("\n").replace("\n", "\n  ") + "\n"
    ]
    assert sum(len(item.source.text) for item in file.items) <= len(listed(50))


def test_a_render_takes_calls_in_proportion() -> None:
    config = KubeObject.parse(CONFIG)

    def rendered(number: int) -> None:
        items = [KubeObject.parse(WORKLOAD.replace("name: web # short", f"name: w{each}")) for each in range(number)]
        render(Package((config, *items)))

    rendered(5)
    few, many = calls_of(lambda: rendered(50)), calls_of(lambda: rendered(200))

    assert many < 4.4 * few
