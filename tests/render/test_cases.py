"""Case folders: the name of each is the sentence that the case specifies. `krmfn.testing` describes the files."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from krmfn.testing import case_input, collect_cases, run_case
from packwise.function import render_list
from tests.places import TESTDATA

CASES = collect_cases(TESTDATA / "render")


@pytest.mark.parametrize("folder", CASES, ids=lambda folder: folder.name)
def test_case(folder: Path, updates_expected: bool) -> None:
    run_case(folder, render_list, update=updates_expected)


def test_every_folder_is_a_case() -> None:
    folders = sorted(path for path in (TESTDATA / "render").iterdir() if path.is_dir())

    assert list(CASES) == folders, "a new folder needs an _expected.yaml, though empty, for --update to fill"


@pytest.mark.parametrize("seed", ["1", "2"])
@pytest.mark.parametrize("name", [
    "a-disaggregated-service-becomes-base-and-scaled-podgangs",
    "a-workload-of-the-wrong-shape-is-told-field-by-field",
])  # fmt: skip
def test_the_installed_command_answers_the_same_whatever_the_hash_seed(packwise: Path, name: str, seed: str) -> None:
    folder = TESTDATA / "render" / name
    environment = {**os.environ, "PYTHONHASHSEED": seed}

    done = subprocess.run([packwise, "fn"], input=case_input(folder), capture_output=True, env=environment, check=False)

    assert done.stdout == (folder / "_expected.yaml").read_bytes()
    assert done.returncode == int((folder / "_stderr.txt").exists())
