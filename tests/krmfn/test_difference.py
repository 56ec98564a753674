"""The difference of two texts: what git applies, and how much work it takes."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krmfn.difference import LineChange, changes, unified_diff


def applied(folder: Path, before: str, after: str) -> str:
    """What git makes of `before` by the difference."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "a.yaml").write_bytes(before.encode())
    patch = unified_diff("a.yaml", before, after)
    subprocess.run(["git", "apply", "--unidiff-zero", "-"], cwd=folder, input=patch.encode(), check=True)
    return (folder / "a.yaml").read_bytes().decode()


def edited(lines: list[str], changed: list[LineChange], new: list[str]) -> list[str]:
    """`lines` with the changes, from the last to the first."""
    edited_lines = [*lines]
    for change in reversed(changed):
        edited_lines[change.start : change.end] = new[change.new_start : change.new_end]
    return edited_lines


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a\nb\nc\n", "a\nX\nc\n"),
        ("a\nb", "a\nb\n"),
        ("a\n", "a"),
        ("a: |\n  x\u2028y\r\n  z\x0bw\n", "a: |\n  x\u2028y\n  z\x0bw!\n"),
        ("".join(f"{n}\n" for n in range(40)), "".join(f"{n}\n" for n in range(40) if n not in (3, 9, 30))),
    ],
)
def test_git_applies_it(before: str, after: str, tmp_path: Path) -> None:
    assert applied(tmp_path, before, after) == after


def test_a_new_file_and_none() -> None:
    assert unified_diff("b.yaml", "", "a\n") == "--- /dev/null\n+++ b/b.yaml\n@@ -0,0 +1 @@\n+a\n"
    assert unified_diff("b.yaml", "a\n", "a\n") == ""


def test_changes_that_are_near_are_one_hunk() -> None:
    before = [f"{n}\n" for n in range(20)]
    after = [f"{line[:-1]}!\n" if number in (2, 9, 17) else line for number, line in enumerate(before)]

    text = unified_diff("a", "".join(before), "".join(after))

    assert [line for line in text.splitlines() if line.startswith("@@")] == ["@@ -1,13 +1,13 @@", "@@ -15,6 +15,6 @@"]


LINES = st.lists(st.sampled_from(["a", "b", "c", "d e", ""]), max_size=60)


@given(LINES, LINES)
def test_the_changes_make_the_new_lines_of_the_old(old: list[str], new: list[str]) -> None:
    assert edited(old, changes(old, new), new) == new


class Counted(str):
    """A line that counts how often it is looked at."""

    __slots__ = ()
    looks = 0

    def __eq__(self, other: object) -> bool:
        Counted.looks += 1
        return str.__eq__(self, other)

    def __hash__(self) -> int:
        Counted.looks += 1
        return str.__hash__(self)


def documents(number: int, mark: str) -> list[str]:
    """Many documents, each with a line that tells it apart and one that changes."""
    return [line for n in range(number) for line in ("---", f"name: {n}", "spec:", f"  pack: {mark}", "  replicas: 1")]


HOSTILE: dict[str, Callable[[int], tuple[list[str], list[str]]]] = {
    "an edit in every document": lambda n: (documents(n, "a"), documents(n, "b")),
    "nothing that stands once": lambda n: (["x", "y", "a", "b"] * n, ["x", "z", "a", "c"] * n),
    "the other way round": lambda n: ([str(i) for i in range(4 * n)], [str(i) for i in range(4 * n, 0, -1)]),
    "one of two lines again and again": lambda n: (["x", "y"] * 2 * n, ["y", "y", "x"] * n),
    "each half doubled": lambda n: (documents(n, "a") * 2, documents(n, "b") * 2),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_twice_the_lines_are_twice_the_work(case: str) -> None:
    looks: list[int] = []
    for number in (500, 1000, 2000):
        old, new = HOSTILE[case](number)
        Counted.looks = 0
        changed = changes([Counted(line) for line in old], [Counted(line) for line in new])
        looks.append(Counted.looks)
        assert edited(old, changed, new) == new

    assert looks[1] <= 2.2 * looks[0] + 100
    assert looks[2] <= 2.2 * looks[1] + 100
    assert looks[2] <= 100 * len(old + new)


def test_an_edit_in_every_document_stays_one() -> None:
    changed = changes(documents(2000, "a"), documents(2000, "b"))

    assert changed == [LineChange(line, line + 1, line, line + 1) for line in range(3, 10_000, 5)]
