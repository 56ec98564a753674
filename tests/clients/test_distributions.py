"""packwise and krmfn are two distributions of one repository.

Every installer installs either of them from one address.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.places import ROOT, missing, needs_command

pytestmark = [pytest.mark.client, pytest.mark.slow]

FOLDERS = {"packwise": ".", "krmfn": "fn/krmfn"}
BIN = Path(sys.executable).parent
CLIENTS = ROOT / ".cache" / "clients" / "bin"
OFFLINE = ("--no-deps", "--no-build-isolation", "--no-index")
EXAMPLE = ROOT / "examples" / "disaggregated-inference"
UNREACHED = re.compile(r"error sending request for url|Failed to establish a new connection|No route to host|SSLError")
"""Messages of uv and pip if they cannot reach a registry."""

CHECKED = "no findings in 4 files"


def project(name: str) -> dict[str, Any]:
    text = (ROOT / FOLDERS[name] / "pyproject.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)["project"]


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    variables = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, **environment}
    done = subprocess.run(command, cwd=cwd, env=variables, capture_output=True, text=True, check=False, timeout=300)
    if done.returncode != 0 and UNREACHED.search(done.stderr):
        missing(f"{Path(command[0]).name} cannot reach a registry of packages (PyPI, or UV_INDEX_URL, PIP_INDEX_URL)")
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a Git repository with the sources of both distributions."""
    folder = tmp_path_factory.mktemp("repository")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder / name)
    shutil.copytree(ROOT / "fn", folder / "fn", ignore=shutil.ignore_patterns("__pycache__"))
    run("git", "init", "--quiet", ".", cwd=folder)
    run("git", "add", "--all", cwd=folder)
    run("git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--message", "all", cwd=folder)
    return folder


@pytest.fixture(scope="module")
def wheels(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return both wheels, by the name of the distribution."""
    folder = tmp_path_factory.mktemp("dist")
    for path in FOLDERS.values():
        run(BIN / "python", "-m", "pip", "wheel", *OFFLINE, "--wheel-dir", folder, repository / path, cwd=folder)
    return {path.name.partition("-")[0]: path for path in folder.glob("*.whl")}


@pytest.fixture
def pipx() -> Path:
    if not (CLIENTS / "pipx").exists():
        missing("pipx is not installed: `make tools` puts it into .cache/clients")
    return CLIENTS / "pipx"


def test_packwise_asks_for_what_krmfn_asks_for() -> None:
    asked = {line.partition(";")[0] for line in project("packwise")["dependencies"]}

    assert {*project("krmfn")["dependencies"]} <= asked


def test_krmfn_brings_nothing_of_topology() -> None:
    names = {line.partition(">")[0] for line in project("krmfn")["dependencies"]}

    assert names == {"pydantic", "pyyaml"}


def test_both_have_one_license() -> None:
    assert (ROOT / "fn/krmfn/LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_both_wheels_hold_the_same_krmfn(wheels: dict[str, Path]) -> None:
    """If both are installed into one environment, neither changes a file of the other one."""

    def files(name: str) -> dict[str, bytes]:
        with zipfile.ZipFile(wheels[name]) as archive:
            return {each: archive.read(each) for each in archive.namelist() if each.startswith("krmfn/")}

    assert files("packwise") == files("krmfn")
    assert "krmfn/py.typed" in files("krmfn")
    assert "krmfn/pyproject.toml" not in files("packwise")


@pytest.mark.parametrize(("part", "there"), [("", {"bin", "krmfn", "packwise"}), ("#subdirectory=fn/krmfn", {"krmfn"})])
def test_pip_takes_either_by_one_address(part: str, there: set[str], repository: Path, tmp_path: Path) -> None:
    url = f"git+file://{repository}{part}"

    run(BIN / "python", "-m", "pip", "install", *OFFLINE, "--target", "there", url, cwd=tmp_path)

    assert {path.name.partition("-")[0] for path in (tmp_path / "there").iterdir()} == there


Source = Callable[[Path, dict[str, Path]], str]
SOURCES: dict[str, Source] = {
    "wheel": lambda _, wheels: str(wheels["packwise"]),
    "git": lambda repository, _: f"git+file://{repository}",
}
"""The sources that an installer gets."""


@pytest.mark.parametrize("source", SOURCES)
def test_uv_installs_a_tool(source: str, repository: Path, wheels: dict[str, Path], tmp_path: Path) -> None:
    # git uses a shell script to clone submodules.
    needs_command("sed", "sed")
    given = SOURCES[source](repository, wheels)
    folders = {f"UV_{name}": str(tmp_path / name) for name in ("TOOL_DIR", "TOOL_BIN_DIR", "CACHE_DIR")}

    run(BIN / "uv", "tool", "install", "--python", sys.executable, given, cwd=tmp_path, **folders)

    assert CHECKED in run(tmp_path / "TOOL_BIN_DIR/packwise", "check", EXAMPLE, cwd=tmp_path)


@pytest.mark.parametrize("source", SOURCES)
def test_uvx_runs_it_without_installing(source: str, repository: Path, wheels: dict[str, Path], tmp_path: Path) -> None:
    needs_command("sed", "sed")
    given = SOURCES[source](repository, wheels)
    words = ("--python", sys.executable, "--from", given, "packwise", "check", EXAMPLE)

    assert CHECKED in run(BIN / "uvx", *words, cwd=tmp_path, UV_CACHE_DIR=str(tmp_path / "cache"))


@pytest.mark.parametrize("source", SOURCES)
def test_pipx_installs_it(source: str, repository: Path, wheels: dict[str, Path], pipx: Path, tmp_path: Path) -> None:
    given = SOURCES[source](repository, wheels)
    folders = {f"PIPX_{name}": str(tmp_path / name) for name in ("HOME", "BIN_DIR", "MAN_DIR", "SHARED_LIBS")}

    run(pipx, "install", "--python", sys.executable, given, cwd=tmp_path, **folders)

    assert CHECKED in run(tmp_path / "BIN_DIR/packwise", "check", EXAMPLE, cwd=tmp_path)
