from __future__ import annotations

from itertools import islice
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.workloads import resource_list
from krmfn import ResourceList
from krmfn.yamltext import YamlError, read
from krmfn.yamltext.eventedit import set_by_events
from krmfn.yamltext.lines import set_by_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Scalar, Value

T = TypeVar("T")

ROOT = Path(__file__).resolve().parents[3]
TEXTS = sorted((ROOT / "testdata").rglob("*.yaml"))

KEY = "example.dev/owner"
PATH = ("metadata", "annotations", KEY)
USUAL = ["a", "a b", "no", "true", "null", "0", "-1", "1.5", "100m", "http://x:80/y", '"1"', "'a: b # c'", '"é"', "[]"]
ODD = ["012", "~", "1e3", "|", ">", "&x a", "*x", "!t a", "'&x'", "a&b", "{a: b}", "[{}]", '"\\n"', "x:", "a\n  b"]
PARENTS = ["metadata", "annotations", "labels"]
KEYS = [*PARENTS, KEY, "a", "b", "'a'", '"metadata"', f'"{KEY}"', f"'{KEY}'", "y", "true", '"1"']
NAMES = ["metadata", "annotations", KEY, "a", "new", "true", "1", "a: b", ""]
VALUES = ["a", "a b", "", "true", "1", "100m", "a: b", "x # y", "é", '{"a": [1]}', "it's", None, True, 0, 10, 1.5, 1e20]
MARKS = ["---", "...", "- a: 1", "  - b", "   c", "\td: 1", "%YAML 1.1", " "]


class Manifest:
    """A text whose shape is that of a manifest, more or less; `listed` says that it is the entry of a list."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.listed = self.chance(0.5)
        column = self.one_of([2, 2, 3, 4] if self.listed else [0, 0, 0, 2])
        keys = [*self.one_of([["apiVersion", "kind"], ["kind", "spec"], []]), *self.some(KEYS, 2), "metadata"]
        body = list(self.mapping([*keys, *self.one_of([["spec"], ["spec", "status"], []])], column, 3))
        if self.listed:
            first = next(n for n, line in enumerate(body) if line.strip() and not line.strip().startswith("#"))
            dash = self.one_of([0, column - 2])
            body[first] = f"{' ' * dash}-{' ' * (column - dash - 1)}{body[first][column:]}"
        body += self.gap(0)
        if self.chance(0.1):
            body.insert(random.randint(0, len(body)), self.one_of(MARKS))
        end = "\r\n" if self.chance(0.03) else "\n"
        self.text = end.join(body) + ("" if self.chance(0.1) else end)

    def chance(self, odds: float) -> bool:
        return self.random.random() < odds

    def one_of(self, choices: Sequence[T]) -> T:
        return self.random.choice(choices)

    def some(self, choices: Sequence[T], most: int) -> list[T]:
        return self.random.sample(choices, self.random.randint(0, most))

    def gap(self, column: int) -> list[str]:
        comment = " " * self.one_of([0, column, column + 3]) + "# a: b"
        return self.one_of([[], [], [], [], [], [""], [comment], ["", comment]])

    def mapping(self, keys: list[str], column: int, depth: int) -> Iterator[str]:
        for key in keys:
            yield from self.gap(column)
            head = f"{' ' * column}{key}:"
            comment = self.one_of(["", "", "", " # c", "   # d: 'e", " #"])
            if depth and self.chance(0.9 if key.strip("\"'") in PARENTS else 0.1):
                yield head + comment
                yield from self.mapping(self.some(KEYS, 4), column + self.one_of([2, 2, 2, 1, 4]), depth - 1)
            elif self.chance(0.04):
                yield from (head, f"{' ' * (column + self.one_of([0, 2]))}- a: 1")
            elif self.chance(0.1):
                yield head + comment
            else:
                yield f"{head}{self.one_of([' ', '  '])}{self.one_of(ODD if self.chance(0.03) else USUAL)}{comment}"

    def path(self) -> FieldPath:
        path = PATH if self.chance(0.5) else (self.one_of(NAMES), *self.some(NAMES, 3))
        return (0, *path) if self.listed else path


def outcome(text: str, path: FieldPath, value: Value) -> str:
    try:
        return set_by_events(text, path, value)
    except YamlError as error:
        return f"error: {error}"


@settings(max_examples=3000, deadline=None)
@given(st.integers(0, 2**32).map(Random), st.sampled_from(VALUES))
def test_lines_and_events_give_the_same_text(random: Random, value: Scalar) -> None:
    manifest = Manifest(random)
    text, path = manifest.text, manifest.path()
    quick = set_by_lines(text, path, value)
    assert quick is None or quick == outcome(text, path, value), text


def paths_of(value: Value, path: FieldPath = ()) -> Iterator[FieldPath]:
    yield path
    if isinstance(value, dict):
        for key, item in value.items():
            yield from paths_of(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from paths_of(item, (*path, index))


@pytest.mark.parametrize("file", TEXTS, ids=lambda file: file.stem)
def test_both_agree_on_the_suite(file: Path) -> None:
    text = file.read_bytes().decode()
    try:
        paths = list(islice(paths_of(read(text)), 30))
    except YamlError:
        paths = [(), (0,)]
    for path in paths:
        for whole in (path, (*path, *PATH), (*path, "new")):
            quick = set_by_lines(text, whole, "a: 1")
            assert quick is None or quick == outcome(text, whole, "a: 1")


def test_an_annotation_of_the_benchmark_s_items_takes_the_quick_way() -> None:
    for item in ResourceList.parse("".join(resource_list(20))).items:
        text = item.source.text
        quick = set_by_lines(text, (0, *PATH), '[{"type": "a"}]')
        assert quick == outcome(text, (0, *PATH), '[{"type": "a"}]')
        assert quick != text


MANIFEST = """\
# head
- kind: X # k
  metadata:

      # about the name
      name: a
      labels:
        "app": a
      annotations:   # client's
        a: '1'  # one
        b: [1, 2]
        empty:

        # end
  spec:
  - a: |
      b
"""


@pytest.mark.parametrize(
    ("path", "value", "old", "new"),
    [
        (("metadata", "annotations", "c"), "x: y", "        empty:\n", '        empty:\n        c: "x: y"\n'),
        (("metadata", "annotations", "a"), "2", "'1'  # one", '"2"  # one'),
        (("metadata", "annotations", "a"), "1", "'1'  # one", "'1'  # one"),
        (("metadata", "annotations", "empty"), True, "empty:\n", "empty: true\n"),
        (("metadata", "labels", "app"), "b", '"app": a', '"app": b'),
        (("metadata", "namespace"), "x", "        empty:\n", "        empty:\n      namespace: x\n"),
        (
            ("metadata", "new", "a", "b"),
            1,
            "        empty:\n",
            "        empty:\n      new:\n        a:\n          b: 1\n",
        ),
        (("kind",), "Z", "X # k", "Z # k"),
    ],
)
def test_what_the_quick_way_writes(path: FieldPath, value: Scalar, old: str, new: str) -> None:
    assert MANIFEST.count(old) == 1
    assert set_by_lines(MANIFEST, (0, *path), value) == MANIFEST.replace(old, new)
    assert set_by_events(MANIFEST, (0, *path), value) == MANIFEST.replace(old, new)


@pytest.mark.parametrize(
    ("text", "path", "value"),
    [
        ("a: 1\n", (), "x"),
        ("a: 1\n", ("b", 0), "x"),
        ("a: 1\n", ("b",), {"c": 1}),
        ("a: 1\n", ("b",), "x\ny"),
        ("a: 1\r\n", ("b",), "x"),
        ("a:\t1\n", ("b",), "x"),
        ("---\na: 1\n", ("b",), "x"),
        ("a: 1\n---\n", ("b",), "x"),
        ("{a: 1}\n", ("b",), "x"),
        ("a: {b: 1}\n", ("a", "b"), "x"),
        ("a: []\n", ("a",), "x"),
        ("a: &x 1\n", ("b",), "x"),
        ("a: '&x'\n", ("a",), "x"),
        ("a: !t 1\n", ("b",), "x"),
        ("<<: a\n", ("b",), "x"),
        ("a: |\n  b: 1\n", ("b",), "x"),
        ("a: b\n  c\n", ("a",), "x"),
        ("a: b\n  - c\n", ("a",), "x"),
        ("a: 'b\n  c: d'\n", ("e",), "x"),
        ("true: 1\n", ("true",), "x"),
        ("1: 1\n", ("1",), "x"),
        ("a:\n", ("a", "b"), "x"),
        ("a: 1\n", ("a", "b"), "x"),
        ("a:\n  b: 1\n", ("a",), "x"),
        ("a:\n- b: 1\n", ("c",), "x"),
        ("- a: 1\n- b: 2\n", (0, "c"), "x"),
        ("- a: 1\n", ("a",), "x"),
        ("a: 1\n", (0, "a"), "x"),
        ("a: 1\n b: 2\n", ("c",), "x"),
        ("", ("a",), "x"),
        ("# a\n", ("a",), "x"),
    ],
)
def test_what_the_quick_way_leaves_to_the_events(text: str, path: FieldPath, value: Value) -> None:
    assert set_by_lines(text, path, value) is None


def test_long_mappings_are_set_too() -> None:
    text = "a:\n" + "".join(f"  k{n}: {n}\n" for n in range(100)) + "b:\n  c: 1\n"
    assert set_by_lines(text, ("a", "k99"), "x") == text.replace("k99: 99", "k99: x")
    assert set_by_lines(text, ("b", "d"), "x") == text + "  d: x\n"
    assert set_by_lines(text + "- odd\n", ("b", "d"), "x") is None
