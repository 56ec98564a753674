"""The folder with the configuration that applies to a file."""

from __future__ import annotations

import pytest

from packwise.nearest import Traits, nearest_folders

TR, SECTION, OPERATOR, WORK = Traits(True), Traits(True, True), Traits(False, True), Traits(workloads=True)
NONE = Traits()

NEAREST: list[tuple[dict[str, Traits], dict[str, str | None]]] = [
    ({"a/t": SECTION, "a/b/w": WORK}, {"a/t": "a", "a/b/w": "a"}),
    ({"a/t": SECTION, "a/w": WORK, "b/t": SECTION, "b/w": WORK, "c/w": WORK},
     {"a/t": "a", "a/w": "a", "b/t": "b", "b/w": "b", "c/w": None}),
    ({"t": SECTION, "b/t": SECTION, "b/w": WORK, "w": WORK}, {"t": "", "b/t": "b", "b/w": "b", "w": ""}),
    ({"config/t": SECTION, "apps/w": WORK}, {"config/t": "config", "apps/w": "config"}),
    ({"t": TR, "op/o": OPERATOR, "w": WORK}, {"t": "", "op/o": "", "w": ""}),
    ({"t": SECTION, "op/o": OPERATOR, "w": WORK}, {"t": "", "op/o": "op", "w": ""}),
    ({"t": TR, "op/o": OPERATOR, "p/o": OPERATOR, "w": WORK}, {"t": "", "op/o": "op", "p/o": "p", "w": ""}),
    ({"x/a": OPERATOR, "x/b": OPERATOR, "w": WORK}, {"x/a": "x/a", "x/b": "x/b", "w": None}),
    ({"x/a": OPERATOR, "x/b": OPERATOR, "x/w": WORK}, {"x/a": "x", "x/b": "x", "x/w": "x"}),
    ({"x/a": SECTION, "x/b": SECTION, "w": WORK}, {"x/a": "x", "x/b": "x", "w": "x"}),
    ({"/r/a/t": SECTION, "/r/a/w": WORK, "/r/n": NONE}, {"/r/a/t": "/r/a", "/r/a/w": "/r/a", "/r/n": "/r/a"}),
    ({"w": WORK}, {"w": None}),
]  # fmt: skip


@pytest.mark.parametrize(("files", "folders"), NEAREST)
def test_the_nearest_configuration(files: dict[str, Traits], folders: dict[str, str | None]) -> None:
    assert nearest_folders(files) == folders
