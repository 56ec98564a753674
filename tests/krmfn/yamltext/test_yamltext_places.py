"""The line and column of a node are the line and column of the start of its span."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from test_yamltext_edit import paths_of
from yamltext_documents import documents

from krmfn.yamltext import locate, locate_nearest
from krmfn.yamltext.places import nearest_position

if TYPE_CHECKING:
    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value


def by_walking(text: str, path: FieldPath, *, key: bool) -> tuple[int, int]:
    span = locate(text, path, key=True) if key and path and isinstance(path[-1], str) else None
    span = span or locate_nearest(text, path)
    return span.line, span.column


@given(documents())
def test_every_place_is_found_as_by_walking(document: tuple[str, dict[str, Value]]) -> None:
    text, value = document
    paths: list[FieldPath] = [(), *paths_of(value)]
    paths += [(*path, step) for path in paths for step in ("no such key", 7)]

    for key in (False, True):
        assert {path: nearest_position(text, path, key=key) for path in paths} == {
            path: by_walking(text, path, key=key) for path in paths
        }


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# nothing\n",
        "a: &x {b: [1, {c: 2}]}\nd: *x\ne: {<<: *x}\n",
        "a:\n  b:\nc: ~\n",
        "- a\n-\n- - b\n  - c: d\n",
        '1: a\ntrue: b\n"q": c\n? [x]\n: d\n? e\n: f\n',
        "a: 1\na: 2\n",
        "\ufeffa:\r\n  b: 1\r\n",
    ],
)
def test_odd_documents_too(text: str) -> None:
    paths: list[FieldPath] = [
        *((), ("a",), ("a", "b"), ("a", "b", 1, "c"), ("d",), ("d", "b"), ("e", "b"), ("c",), (1,), (2, 1, "c")),
        *(("1",), ("true",), ("q",), ("e",), ("x",)),
    ]
    for path in paths:
        for key in (False, True):
            assert nearest_position(text, path, key=key) == by_walking(text, path, key=key), (path, key)


def test_what_is_wrong_behind_the_place_is_no_matter() -> None:
    assert nearest_position("a: 1\nb: 2\nc: [\n", ("b",)) == (2, 4)
