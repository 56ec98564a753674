"""The examples of CONTRIBUTING.md are made on a copy of the repository, and their commands run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.places import ROOT

pytestmark = pytest.mark.slow

PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
NEEDED = (
    "fn",
    "tests",
    "docs",
    "examples",
    "testdata/grove-rules",
    "testdata/grep-244-multi",
    "testdata/upstream",
    "testdata/releases",
)
LEFT = shutil.ignore_patterns("*.dist-info", "*.egg-info")
"""Files that are not copied. Bytecode is copied, because compiling everything takes longer than the rest of
the test.
"""

BLOCK = re.compile(r"^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
PLACE = re.compile(r"[Ii]n\s`(?P<file>[^`]+)`,\s+(?P<side>before|after)\s+(?P<last>the last )?`(?P<line>[^`]+)`:\n\n$")
NEW = re.compile(r"is new, `(?P<file>[^`]+)`[^`]*:\n\n$")


@dataclass(frozen=True, slots=True)
class Example:
    """A section of the page: its title, and its blocks, each with the text before it."""

    title: str
    blocks: tuple[tuple[str, str, str], ...]


def examples() -> list[Example]:
    found: list[Example] = []
    for section in re.split(r"^### ", PAGE.partition("\n## With every change")[0], flags=re.MULTILINE)[1:]:
        title, _, body = section.partition("\n")
        blocks = [(body[: match.start()], match["language"], match["text"]) for match in BLOCK.finditer(body)]
        if blocks:
            found.append(Example(title, tuple(blocks)))
    return found


def made(repository: Path, before: str, text: str) -> None:
    """Write a block of the page to the place that the text before it names."""
    place, new = PLACE.search(before), NEW.search(before)
    if new is not None:
        (repository / new["file"]).write_text(text, encoding="utf-8")
        return
    assert place is not None, f"nothing says where this goes: {text}"
    file = repository / place["file"]
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    *others, at = [number for number, line in enumerate(lines) if line.startswith(place["line"])]
    assert not others or place["last"], f"{place['line']} stands more than once"
    at += place["side"] == "after"
    file.write_text("".join([*lines[:at], text, *lines[at:]]), encoding="utf-8")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    for name in NEEDED:
        shutil.copytree(ROOT / name, tmp_path / name, ignore=LEFT)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "bin").symlink_to(Path(sys.executable).parent)
    return tmp_path


def run(repository: Path, command: str) -> subprocess.CompletedProcess[str]:
    """Run a command of the page with the packwise of the copy."""
    return subprocess.run(
        ["sh", "-euc", command],
        cwd=repository,
        env={**os.environ, "PYTHONPATH": str(repository / "fn"), "PYTEST_ADDOPTS": "-p no:cacheprovider"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("example", examples(), ids=lambda example: example.title)
def test_the_example_works(example: Example, repository: Path) -> None:
    commands = [text for _, language, text in example.blocks if language == "sh"]
    for before, language, text in example.blocks:
        if language != "sh":
            made(repository, before, text)

    for command in commands:
        done = run(repository, command)
        assert done.returncode == 0, f"{command}{done.stdout}{done.stderr}"
        assert done.stdout.strip() != ""


def test_there_is_an_example_of_each_kind() -> None:
    assert len(examples()) == 4
    assert len(PAGE.splitlines()) <= 100, "two screens"


def test_a_case_that_is_wrong_is_seen(repository: Path) -> None:
    bug = examples()[0]
    before, _, text = bug.blocks[0]
    made(repository, before, text.replace("must not be greater", "must be greater"))

    done = run(repository, bug.blocks[1][2])

    assert done.returncode == 1
    assert "must be greater than replicas" in done.stdout
