"""The difference of two texts, applied by git."""

from __future__ import annotations

import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from krmfn.difference import unified_diff


def applied(folder: Path, before: str, after: str) -> str:
    """Return `before` after git applied the difference."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "a.yaml").write_bytes(before.encode())
    patch = unified_diff("a.yaml", before, after)
    subprocess.run(["git", "apply", "--unidiff-zero", "-"], cwd=folder, input=patch.encode(), check=True)
    return (folder / "a.yaml").read_bytes().decode()


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


def test_a_long_text_is_replaced_as_a_whole(tmp_path: Path) -> None:
    """A comparison by line would take minutes."""
    before = "".join(f"{n}\n" for n in range(20_000))
    after = "".join(f"{n}\n" if n % 5 else f"{n}!\n" for n in range(20_000))

    text = unified_diff("a", before, after)

    assert [line for line in text.splitlines() if line.startswith("@@")] == ["@@ -1,20000 +1,20000 @@"]
    assert applied(tmp_path, before, after) == after


@pytest.mark.slow
@settings(max_examples=20)
@given(st.lists(st.sampled_from(["a", "b", "c", "d e", ""]), max_size=60), st.data())
def test_git_makes_the_new_text_of_the_old(old: list[str], data: st.DataObject) -> None:
    new = data.draw(st.permutations(old))
    before, after = ("".join(f"{line}\n" for line in lines) for lines in (old, new))

    if before != after:
        with TemporaryDirectory() as folder:
            assert applied(Path(folder), before, after) == after
