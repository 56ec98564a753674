"""The archive of a start has what Python would import; what is old or of another interpreter is not taken from it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from packwise.start import checksum
from tests.places import ROOT

pytestmark = pytest.mark.slow

SAMPLE = ROOT / "fn" / "packwise" / "start" / "sample.yaml"

IMPORTED = """
import sys
from packwise.__main__ import main
code = main()
own = [module for name, module in sys.modules.items() if name.startswith(("packwise.", "krmfn."))]
print(sum("_Loader" in type(module.__loader__).__name__ for module in own), len(own), file=sys.stderr)
sys.exit(code)
"""


class Copy:
    """A copy of the packages, with its own bytecode."""

    def __init__(self, folder: Path) -> None:
        self.code = folder / "fn"
        self.cache = folder / "cache"
        shutil.copytree(ROOT / "fn", self.code, ignore=shutil.ignore_patterns("__pycache__"))

    def run(self, *words: str) -> subprocess.CompletedProcess[bytes]:
        settings = {"PYTHONPATH": str(self.code), "PYTHONPYCACHEPREFIX": str(self.cache), "PYTHONHASHSEED": "0"}
        command = [sys.executable, *words]
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        return subprocess.run(
            command, input=SAMPLE.read_bytes(), capture_output=True, check=False, env={**environment, **settings}
        )

    def imported(self, *words: str) -> tuple[int, int]:
        """How many modules a run takes from the archive, and how many it imports."""
        done = self.run("-c", IMPORTED, *(words or ("fn",)))
        assert done.returncode == 0, done.stderr
        archived, imported = done.stderr.splitlines()[-1].split()
        return int(archived), int(imported)

    @property
    def archive(self) -> Path:
        return next(self.cache.rglob("*.fn.archive"))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    made = Copy(tmp_path_factory.mktemp("start"))
    done = made.run("-m", "packwise.start")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    return made


@pytest.fixture
def copy(made: Copy) -> Iterator[Copy]:
    """The copy, whose archives are as they were made before each test."""
    archives = {path: path.read_bytes() for path in made.cache.rglob("*.archive")}
    yield made
    for path, content in archives.items():
        if path.is_dir():
            path.rmdir()
        path.write_bytes(content)


def test_a_run_with_the_archive_answers_the_same_bytes(copy: Copy) -> None:
    with_archive = copy.run("-m", "packwise", "fn")
    copy.archive.unlink()
    without = copy.run("-m", "packwise", "fn")

    assert with_archive.returncode == 0
    assert b"autoscaler-moves-gangs" in with_archive.stderr
    assert (with_archive.stdout, with_archive.stderr) == (without.stdout, without.stderr)


def test_all_but_the_modules_before_it_come_from_the_archive(copy: Copy) -> None:
    archived, imported = copy.imported()

    assert archived > 50
    assert imported - archived == len(["packwise.__main__", "packwise.start"])


@pytest.mark.parametrize("command", ["check", "render"])
def test_a_command_with_the_archive_answers_the_same_bytes(command: str, copy: Copy) -> None:
    words = command, str(SAMPLE)
    archived, imported = copy.imported(*words)
    with_archive = copy.run("-m", "packwise", *words)
    next(copy.cache.rglob("*.files.archive")).unlink()
    without = copy.run("-m", "packwise", *words)

    assert archived > 50
    assert imported - archived == len(["packwise.__main__", "packwise.start"])
    assert with_archive.returncode == 0
    assert b"autoscaler-moves-gangs" in with_archive.stdout + with_archive.stderr
    assert (with_archive.stdout, with_archive.stderr) == (without.stdout, without.stderr)


def test_a_module_that_changed_is_imported_from_its_source(copy: Copy) -> None:
    archived, imported = copy.imported()
    module = copy.code / "packwise" / "function.py"
    text, times = module.read_text("utf-8"), (module.stat().st_atime, module.stat().st_mtime)
    module.write_text(f"{text}\nimport sys\nprint('changed', file=sys.stderr)\n", "utf-8")

    said, counted = copy.run("-m", "packwise", "fn").stderr, copy.imported()

    module.write_text(text, "utf-8")
    os.utime(module, times)
    assert b"changed" in said
    assert counted == (archived - 1, imported)


def test_an_archive_that_another_interpreter_made_is_passed_over(copy: Copy) -> None:
    version = sys.version.encode()
    content = copy.archive.read_bytes()[len(checksum(b"")) :].replace(version, version.swapcase())
    copy.archive.write_bytes(checksum(content) + content)

    assert copy.imported()[0] == 0


@pytest.mark.parametrize("data", [b"", b"no archive\n", b"\xe9\x00\x00\x00\x00"])
def test_what_is_no_archive_is_passed_over(copy: Copy, data: bytes) -> None:
    copy.archive.write_bytes(data)

    assert copy.imported()[0] == 0


@pytest.mark.parametrize("place", [0, 8, 1000, 0.2, 0.5, 0.9, -1])
def test_a_damaged_archive_is_passed_over(copy: Copy, place: float) -> None:
    content = bytearray(copy.archive.read_bytes())
    at = place if isinstance(place, int) else int(place * len(content))
    content[at] ^= 1
    copy.archive.write_bytes(content)

    assert copy.imported()[0] == 0


def test_the_patterns_of_an_archive_are_those_that_python_compiles(copy: Copy) -> None:
    check = """
import re, sys
from packwise.start import FUNCTION, use
use(FUNCTION)
archived = dict(re._cache)
re.purge()
assert len(archived) > 10
for (_, pattern, flags), program in archived.items():
    assert re.compile(pattern, flags) == program, pattern
"""
    done = copy.run("-c", check)

    assert (done.returncode, done.stderr) == (0, b"")


def test_a_place_that_cannot_be_written_is_an_error(copy: Copy) -> None:
    place = copy.archive
    place.unlink()
    place.mkdir()

    done = copy.run("-m", "packwise.start")

    assert done.returncode == 1
    assert done.stderr.decode().startswith(f"error: {place}: must be a file that can be written; got ")
    assert list(place.parent.glob("*.archive.*")) == []
