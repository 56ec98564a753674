"""The same input gives the same bytes for any environment, order of a folder's entries and interpreter."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.cli.calling import WORKLOAD, write
from tests.places import ROOT, TESTDATA

pytestmark = pytest.mark.client

LIST = TESTDATA / "clients" / "image" / "input.yaml"
EXAMPLE = ROOT / "examples" / "disaggregated-inference"
INTERPRETERS = ROOT / ".cache" / "interpreters"
COMMANDS = [
    "fn",
    "render in -o out",
    "check wrong -o json",
    "check wrong",
    "diff in wrong",
    "migrate in --to upstream --dry-run",
]


class Answer(NamedTuple):
    """The answer of a command, and the files that the command wrote."""

    code: int
    stdout: bytes
    stderr: bytes
    files: dict[str, bytes]


def sources(folder: Path, *, backwards: bool = False) -> None:
    """Write the example, and a package with errors. The entries of their folders are made in one order or the other."""
    texts = {f"in/{path.name}": path.read_text("utf-8") for path in EXAMPLE.iterdir() if path.suffix == ".yaml"}
    wrong = WORKLOAD.replace("packDomain: rack", "packDomain: shelf").replace("minAvailable: 2", "minAvailable: 3")
    for name in ("a", "b", "c/d", "c/e", "f"):
        texts[f"wrong/{name}.yaml"] = wrong.replace("name: web", f"name: {name[-1]}")
    for name in sorted(texts, reverse=backwards):
        write(folder, {name: texts[name]})


def answers(folder: Path, command: list[str | Path], environment: dict[str, str], umask: int = 0o022) -> list[Answer]:
    found: list[Answer] = []
    for words in COMMANDS:
        done = subprocess.run(
            [*command, *words.split()],
            cwd=folder,
            env={"PATH": os.environ["PATH"], **environment},
            input=LIST.read_bytes(),
            capture_output=True,
            check=False,
            umask=umask,
        )
        out = folder / "out"
        files = {str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*") if path.is_file()}
        found.append(Answer(done.returncode, done.stdout, done.stderr, files))
    return found


@pytest.fixture(scope="session")
def usual(packwise: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Answer]:
    folder = tmp_path_factory.mktemp("usual")
    sources(folder)
    return answers(folder, [packwise], {})


ENVIRONMENTS = {
    "hash seed, locale C, time zone": {
        "PYTHONHASHSEED": "0",
        "LC_ALL": "C",
        "PYTHONCOERCECLOCALE": "0",
        "PYTHONUTF8": "0",
        "TZ": "Pacific/Kiritimati",
    },
    "another seed, a narrow terminal": {
        "PYTHONHASHSEED": "4242",
        "LC_ALL": "tr_TR.UTF-8",
        "COLUMNS": "20",
        "TERM": "dumb",
    },
    "no assertions, no docstrings": {"PYTHONOPTIMIZE": "2", "PYTHONDONTWRITEBYTECODE": "1"},
}


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_no_variable_changes_a_byte(name: str, packwise: Path, usual: list[Answer], tmp_path: Path) -> None:
    sources(tmp_path)

    assert answers(tmp_path, [packwise], ENVIRONMENTS[name]) == usual


@pytest.mark.parametrize("umask", [0o000, 0o077])
def test_no_umask_and_no_order_of_entries_changes_a_byte(
    umask: int, packwise: Path, usual: list[Answer], tmp_path: Path
) -> None:
    sources(tmp_path, backwards=umask == 0)

    assert answers(tmp_path, [packwise], {}, umask) == usual


def test_the_wheel_gives_what_the_sources_give(usual: list[Answer], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*command, "--no-build-isolation", "--no-index", "-w", tmp_path, ROOT], check=True, cwd=tmp_path)
    (wheel,) = tmp_path.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(tmp_path / "wheel")
    sources(tmp_path)
    environment = {"PYTHONPATH": str(tmp_path / "wheel")}
    start = "import sys, packwise.__main__ as it; sys.argv[0] = 'packwise'; sys.exit(it.main())"
    where = [sys.executable, "-P", "-c", "import packwise; print(packwise.__file__)"]
    found = subprocess.run(where, env=environment, capture_output=True, text=True, check=True, cwd=tmp_path).stdout

    assert found.startswith(str(tmp_path / "wheel"))
    assert answers(tmp_path, [sys.executable, "-P", "-c", start], environment) == usual


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13", "3.14"])
def test_no_interpreter_changes_a_byte(version: str, usual: list[Answer], tmp_path: Path) -> None:
    command = INTERPRETERS / version / "bin" / "packwise"
    if not command.exists():
        # Not every machine can have all interpreters, so a missing one is no failure in CI either.
        pytest.skip(f"`make interpreters` has not set up Python {version}, and says why when it is run")
    sources(tmp_path)

    assert answers(tmp_path, [command], {}) == usual
