"""`pytest --update`, which `make update-goldens` runs: only tests that can rewrite an expected output."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.places import ROOT

pytestmark = pytest.mark.slow


def test_an_update_runs_only_tests_with_expected_outputs() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "CI"}
    command = [sys.executable, "-m", "pytest", "--update", "--collect-only", "-q", "tests/schedulers/test_kai_cases.py"]

    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)

    assert done.stdout.splitlines() == [
        "tests/schedulers/test_kai_cases.py::test_objects_are_answered_as_the_table_says",
        "",
        done.stdout.splitlines()[-1],
    ]
    assert "(1 deselected)" in done.stdout
