"""Small repositories as people write them: the whole output of commands in them.

A case is a text: files below `===== PATH`, then commands below `$ packwise …`. Each command is followed by its output,
its exit code and its stderr. `--update` writes the outputs.
"""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.calling import Call, write
from tests.cli.conftest import call
from tests.places import TESTDATA

__all__ = ["call"]

CASES = sorted((TESTDATA / "repositories").glob("*.txt"))
OPTION = "$ packwise"


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_case(path: Path, tmp_path: Path, call: Call, assert_expected: Callable[[Path, str], None]) -> None:
    head, *rest = path.read_text(encoding="utf-8").split(f"\n{OPTION}")
    intro, *files = head.split("\n===== ")
    repository = tmp_path
    write(repository, {name: text for name, _, text in (file.partition("\n") for file in files)})
    subprocess.run(["git", "init", "--quiet", str(repository)], check=True)
    parts = ["\n===== ".join([intro, *files])]
    for each in rest:
        line = each.partition("\n")[0]
        ran = call(*shlex.split(line))
        stderr = "".join(f"stderr: {text}\n" for text in ran.stderr.splitlines())
        parts.append(f"{line}\n{ran.stdout}{stderr}exit code {ran.code}\n")

    assert_expected(path, f"\n{OPTION}".join(parts))
