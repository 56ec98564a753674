"""The first use of the repository: clear messages about missing programs, no repeated work, and lock files
that match.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from packwise.extras import DASK, FSSPEC, SOLVER
from tests.cli.test_cli_git import git
from tests.fuzz.run import fuzz_each
from tests.fuzz.targets import TARGETS
from tests.places import ROOT

FUZZING = re.compile(r"^FUZZ_TARGETS := (.+)$", re.MULTILINE)
LOCKS = tuple([f"requirements{name}.lock" for name in ("", "-build", "-native", "-dev", "-audit")])


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Return the files that `make setup` reads, in a folder without an environment."""
    for name in ("Makefile", "pyproject.toml", "fn/krmfn/pyproject.toml", *LOCKS, "tests/e2e/control_plane/go.mod"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def make(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    # The make that runs these tests passes its own flags on.
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("MAKE", "MFLAGS"))}
    return subprocess.run(
        ["make", *words], cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=60
    )


def test_an_old_python_is_refused_by_name(clone: Path) -> None:
    old = clone / "python3.9"
    old.write_text('#!/bin/sh\n[ "$1" = --version ] && echo "Python 3.9.18" && exit 0\nexit 1\n', encoding="utf-8")
    old.chmod(0o755)

    done = make(clone, "setup", f"PYTHON={old}")

    assert done.returncode == 2
    assert done.stderr.splitlines()[0] == (
        f'packwise needs Python 3.11 or newer; "{old}" is Python 3.9.18. Name another: make setup PYTHON=python3.13'
    )
    assert not (clone / ".venv").exists()


def test_setup_does_nothing_when_nothing_changed(clone: Path) -> None:
    (clone / ".venv").mkdir()
    (clone / ".venv" / ".ready").touch()

    done = make(clone, "setup", "PYTHON=/nonexistent")

    assert (done.returncode, done.stderr) == (0, "")


def test_check_looks_at_the_types_of_what_changed(clone: Path) -> None:
    (clone / ".venv").mkdir()
    (clone / ".venv" / ".ready").touch()
    (clone / "fn" / "old.py").touch()
    git(clone, "init", "--quiet")
    git(clone, "add", "fn/old.py")
    git(clone, "commit", "--quiet", "--message", "one")

    before = make(clone, "--dry-run", "check")
    (clone / "fn" / "old.py").write_text("a = 1\n", encoding="utf-8")
    (clone / "fn" / "krmfn" / "new.py").touch()
    (clone / "other.py").touch()
    after = make(clone, "--dry-run", "check")

    assert (before.returncode, "pyright" in before.stdout) == (0, False)
    assert ".venv/bin/pyright fn/old.py fn/krmfn/new.py\n" in after.stdout


def test_every_target_is_fuzzed() -> None:
    (line,) = FUZZING.findall((ROOT / "Makefile").read_text(encoding="utf-8"))

    assert line.split(",") == list(TARGETS)


def test_an_input_that_fuzzing_finds_is_a_failure_that_says_where_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """A function that ends as atheris does replaces atheris. The second target crashes."""
    monkeypatch.setattr("tests.fuzz.run.FOLDER", tmp_path)

    def fuzz(name: str) -> None:
        os.write(2, f"{name} ran\n".encode())
        if name == "splicer":
            os._exit(77)

    code = fuzz_each(["reader", "splicer", "templates"], 1, fuzz)

    out, err = capfd.readouterr()
    assert (code, out) == (77, "reader:\nreader ran\nsplicer:\nsplicer ran\n")
    assert "splicer failed, see above. An input that does it stands in .cache/fuzz/splicer-*" in err


@pytest.mark.parametrize("lock", LOCKS)
def test_locks_carry_a_hash_for_every_package(lock: str) -> None:
    entries = re.split(r"^(?=[a-z0-9])", (ROOT / lock).read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]

    assert entries
    assert [entry.split()[0] for entry in entries if "--hash=sha256:" not in entry] == []


def test_locks_agree_with_each_other_and_hold_what_the_project_asks_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    runtime, build, native, development, _ = (pins(lock) for lock in LOCKS)

    krmfn = tomllib.loads((ROOT / "fn" / "krmfn" / "pyproject.toml").read_text(encoding="utf-8"))
    asked = [*requirements(project), *requirements(krmfn)]
    # Both distributions are built from the repository, so no lock has them.
    libraries = {re.split(r"[\[<>=]", requirement)[0] for requirement in asked} - {"krmfn", "packwise"}
    assert libraries <= set(development)
    # The image has neither the solver, nor the libraries that only fleets on several machines need.
    assert libraries - {extra.library for extra in (DASK, FSSPEC, SOLVER)} <= set(runtime)
    assert runtime.items() | build.items() | native.items() <= development.items()
    assert [f"hatchling=={build['hatchling']}"] == project["build-system"]["requires"]
    core = tomllib.loads((ROOT / "fn" / "krmfn-native" / "pyproject.toml").read_text(encoding="utf-8"))
    assert [f"maturin=={native['maturin']}"] == core["build-system"]["requires"]


def requirements(project: dict[str, Any]) -> list[str]:
    """Return all requirements of a distribution, including its extras."""
    extras = project["project"].get("optional-dependencies", {}).values()
    return [*project["project"]["dependencies"], *(each for extra in extras for each in extra)]


def pins(lock: str) -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9-]+)==([^ ;]+)", (ROOT / lock).read_text(encoding="utf-8"), re.MULTILINE))


@pytest.mark.slow
def test_the_demo_takes_nothing_of_the_system(tmp_path: Path, packwise: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    words = [sys.executable, "examples/demo.py", str(packwise)]

    done = subprocess.run(words, cwd=tmp_path, env={"PATH": ""}, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr.count("\n")) == (0, 1)
    assert "  build/demo/packwise/workloads/inference/podgang-llm-0.yaml: 1 PodGang\n" in done.stdout
    assert "+    packwise.dev/conditions: " in done.stdout
    assert "\n      podgroups:\n      - name: llm-0-router\n" in done.stdout
