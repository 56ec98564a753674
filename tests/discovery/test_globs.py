"""Globs match as git matches them. The time is limited by the lengths of the glob and the path."""

from __future__ import annotations

import random
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from packwise.discovery import ignored_files
from packwise.globs import Globs
from tests.places import ROOT

# fmt: off
PARTS = (
    "*", "**", "***", "/", "?", "a", "b", "c", "ö", "-", ".", " ", "]", "!", "#", "\\", "\\*", "\\/", "[ab]", "[!a]",
    "[^b]", "[a-c]", "[b-a]", "[]a]", "[!]a]", "[a", "[a-]", "[\\]]", "[/]", "[.-0]", "[[a]", "[[:]", "{a,b}", "**/",
    "/**", "/**/", "a/", "[[:alpha:]]", "[[:space:]]", "[[:x:]]", "[[:alpha:]-c]", "\t", "\r", "\x0b", "\u2028",
)
# fmt: on
LETTERS = ("a", "b", "c", "ö", "-", "]", "*", "\\", " ", "[", ".", "!", "#", "\t")
FOLDERS = 400


def lines_of(chance: random.Random) -> list[str]:
    return ["".join(chance.choices(PARTS, k=chance.randint(1, 7))) for _ in range(chance.choice((1, 1, 2, 3)))]


def paths_of(chance: random.Random) -> Iterator[str]:
    for _ in range(50):
        names = ["".join(chance.choices(LETTERS, k=chance.randint(1, 3))) for _ in range(chance.randint(1, 4))]
        if not {".", ".."} & set(names):
            yield "/".join(names)


@pytest.mark.slow
def test_any_gitignore_names_what_git_says(tmp_path: Path) -> None:
    """The test has 20,000 paths, and files with all wildcards."""
    chance = random.Random(0)  # noqa: S311
    texts: dict[str, str] = {}
    files: set[str] = set()
    for number in range(FOLDERS):
        texts[f"{number}"] = "\n".join(lines_of(chance)) + chance.choice(("", "\n"))
        files |= {f"{number}/{path}" for path in paths_of(chance)}
        (tmp_path / f"{number}").mkdir()
        (tmp_path / f"{number}" / ".gitignore").write_bytes(texts[f"{number}"].encode())

    assert sorted(ignored_files(files, texts, "")) == sorted(ignored_by_git(tmp_path, files))


def ignored_by_git(folder: Path, files: set[str]) -> list[str]:
    subprocess.run(["git", "init", "--quiet", folder], check=True)
    command = ["git", "-c", "core.excludesFile=", "check-ignore", "-z", "--stdin", "--no-index"]
    done = subprocess.run(command, cwd=folder, input="\0".join(files), stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.split("\0")[:-1]


GLOBS = [
    ("examples/**", "examples/a/b.yaml", True),
    ("examples/", "examples/a/b.yaml", True),
    ("a.yaml", "x/y/a.yaml", True),
    ("/a.yaml", "x/a.yaml", False),
    ("*.yaml", "x/a.yaml/b.json", True),
    ("x/*/b.yaml", "x/a/c/b.yaml", False),
    ("**/c/*.yaml", "x/a/c/b.yaml", True),
    ("x/**/b.yaml", "x/b.yaml", True),
    ("# a", "# a", False),
]


@pytest.mark.parametrize(("glob", "path", "taken"), GLOBS)
def test_a_glob_takes_a_path_and_what_is_below_it(glob: str, path: str, taken: bool) -> None:
    assert Globs.read([glob]).take(path) == taken


def test_what_a_later_glob_takes_back_is_not_taken_unless_its_folder_is() -> None:
    assert not Globs.read(["x/*", "!x/a.yaml"]).take("x/a.yaml")
    assert Globs.read(["x/", "!x/a.yaml"]).take("x/a.yaml")


ENDLESS = """
import resource
resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
from packwise.globs import Globs
longest = 100_000
name, folders = "a" * longest, "a/" * (longest // 2)
for glob in ("*a" * 100 + "b", "[a]*" * 100 + "b", "?*" * 100 + "b", "*" * 10_000 + "b", "a*" * 1_000 + "b"):
    assert Globs.read([glob]).decision(name) is None
    assert Globs.read(["/x/../" + glob]).decision(name) is None
    assert Globs.read([glob, "!" + glob[:-1]]).decision(name) is False
for glob in ("**/a/" * 100 + "b", "a/**/" * 100 + "b", "**/*a/" * 100 + "b", "**/*/" * 100 + "b", "a**/" * 100 + "b"):
    assert Globs.read([glob]).decision(folders + "a") is None
    assert Globs.read([glob + "/**"]).decision(folders + "a") is None
"""
"""A script that the kernel ends after some seconds of processor time. A matcher that goes back into wildcards would
take years.
"""


def test_wildcards_are_matched_without_going_back() -> None:
    assert subprocess.run([sys.executable, "-c", ENDLESS], cwd=ROOT, check=False).returncode == 0


def test_folders_may_stand_as_deep_as_they_will() -> None:
    assert ignored_files(["a/" * 5_000 + "b", "a/" * 5_000 + "c"], {"": "*b"}, "") == {"a/" * 5_000 + "b": ".gitignore"}


def test_a_gitignore_of_wildcards_keeps_no_command_up(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("*a" * 100 + "b\n", encoding="utf-8")
    (tmp_path / ("a" * 200 + ".yaml")).write_text("{}\n", encoding="utf-8")

    done = subprocess.run(
        [sys.executable, "-m", "packwise", "check", str(tmp_path)],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (10, 10)),
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert (done.returncode, done.stderr) == (
        0,
        "1 info (-v lists it) in 0 files; no workload checked; skipped: 1 foreign file\n",
    )
