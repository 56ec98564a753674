"""Places found in one walk are those that a walk for each finds."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_yamltext_edit import paths_of
from yamltext_documents import documents

from krmfn.yamltext import YamlError, locate, locate_nearest, read, split_documents
from krmfn.yamltext.eventplaces import places_by_events
from krmfn.yamltext.lineplaces import LinePlaces, Place
from krmfn.yamltext.places import nearest
from tests.places import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value


def by_walking(text: str, path: FieldPath, *, key: bool) -> tuple[int, int]:
    span = locate(text, path, key=True) if key and path and isinstance(path[-1], str) else None
    span = span or locate_nearest(text, path)
    return span.line, span.column


@settings(max_examples=400, deadline=None)
@given(documents())
def test_every_place_is_found_as_by_walking(document: tuple[str, dict[str, Value]]) -> None:
    text, value = document
    paths: list[FieldPath] = [(), *paths_of(value)]
    paths += [(*path, step) for path in paths for step in ("no such key", 7)]

    for key in (False, True):
        assert {path: nearest(text, path, key=key) for path in paths} == {
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
            assert nearest(text, path, key=key) == by_walking(text, path, key=key), (path, key)


def test_what_is_wrong_behind_the_place_is_no_matter() -> None:
    assert nearest("a: 1\nb: 2\nc: [\n", ("b",)) == (2, 4)


def places_by_lines(text: str) -> Place | None:
    """The root, once all lines are read."""
    lines = LinePlaces(text)
    return lines.root if lines.deepest(("no such key",)) else None


def tree(place: Place, known: Place) -> Any:
    """What is at `place`, without what `known` leaves open."""
    parts: Mapping[str | int, Place] = {} if known.is_closed else place.parts
    below = {step: tree(part, known.parts.get(step, part)) for step, part in parts.items()}
    return place.start, place.key, below


FOLDERS = (ROOT / "examples", ROOT / "testdata/render", ROOT / "testdata/clients")
TEXTS = [
    document.text
    for folder in FOLDERS
    for file in sorted(folder.rglob("*.yaml"))
    for document in split_documents(file.read_text("utf-8"))
]


def test_lines_and_events_give_the_same_places_of_real_documents() -> None:
    by_lines = 0
    for text in TEXTS:
        root = places_by_lines(text)
        try:
            read(text)
        except YamlError:
            continue
        by_lines += root is not None
        assert root is None or tree(root, root) == tree(places_by_events(text), root), text
    assert by_lines > 0.5 * len(TEXTS) > 200


LINES = (
    *("a:", "b: 1", "c: word # comment", "- d", "- e: f", "- - g", "- h:", "'i j': k", '"l": [m, 2, "n, o"]', "p: |"),
    *("q: >-", "text of a block", "", "# comment", "- [r, s]", "- |", "t: {}", "u: []", "v: 'w: x'", "- - y: z", "- 3"),
    *(
        "aa: bb: cc",
        "dd: {ee: ff, 'gg': [hh]}",
        "ii: {jj: 1, kk: ll}",
        "- {mm: nn}",
        "oo: [{pp: qq}, rr] # ss",
        "tt: {uu",
    ),
    *("- {vv: it's}", "ww: {xx: 'a: b', yy: ''}", "zz: [a, [b, c]]: d"),
)


@settings(max_examples=4000, deadline=None)
@given(st.integers(0, 2**32).map(Random))
def test_lines_and_events_give_the_same_places(random: Random) -> None:
    indents = [0]
    lines: list[str] = []
    for _ in range(random.randint(1, 9)):
        indents.append(max(indents[-1] + random.choice((-4, -2, -2, 0, 0, 0, 1, 2, 2, 2, 4)), 0))
        lines.append(" " * indents[-1] + random.choice(LINES))
    text = "\n".join(lines) + random.choice(("", "\n"))
    root = places_by_lines(text)
    try:
        read(text)
    except YamlError:
        return
    assert root is None or tree(root, root) == tree(places_by_events(text), root)
