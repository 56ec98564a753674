"""krmfn and packwise are two distributions of one repository, and pip and uv take both out of it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.places import ROOT

pytestmark = pytest.mark.client

FOLDERS = {"packwise": ".", "krmfn": "fn/krmfn"}
BIN = Path(sys.executable).parent
OFFLINE = ("--no-deps", "--no-build-isolation", "--no-index")


def project(name: str) -> dict[str, Any]:
    text = (ROOT / FOLDERS[name] / "pyproject.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)["project"]


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    variables = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, **environment}
    done = subprocess.run(command, cwd=cwd, env=variables, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Git repository with what both are built from."""
    folder = tmp_path_factory.mktemp("repository")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder / name)
    shutil.copytree(ROOT / "fn", folder / "fn", ignore=shutil.ignore_patterns("__pycache__"))
    run("git", "init", "--quiet", ".", cwd=folder)
    run("git", "add", "--all", cwd=folder)
    run("git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--message", "all", cwd=folder)
    return folder


def test_packwise_asks_for_this_krmfn() -> None:
    version = project("krmfn")["version"]
    asked = [line.partition(";")[0] for line in project("packwise")["dependencies"] if line.startswith("krmfn")]

    assert asked == [f"krmfn=={version}", f"krmfn[fast]=={version}"]


def test_krmfn_brings_nothing_of_topology() -> None:
    names = {line.partition(">")[0] for line in project("krmfn")["dependencies"]}

    assert names == {"pydantic", "pyyaml"}


def test_both_have_one_license() -> None:
    assert (ROOT / "fn/krmfn/LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_pip_takes_both_out_of_one_repository(repository: Path, tmp_path: Path) -> None:
    url = f"git+file://{repository}"

    run(
        BIN / "python", "-m", "pip", "install", *OFFLINE, "--target", "there", f"{url}#subdirectory=fn/krmfn", url,
        cwd=tmp_path,
    )  # fmt: skip

    there = {path.name for path in (tmp_path / "there").iterdir()}
    assert there == {"bin", "krmfn", "packwise", *(f"{name}-{project(name)['version']}.dist-info" for name in FOLDERS)}
    assert not (tmp_path / "there/krmfn/pyproject.toml").exists()


def test_pip_takes_krmfn_alone(repository: Path, tmp_path: Path) -> None:
    url = f"git+file://{repository}#subdirectory=fn/krmfn"

    run(BIN / "python", "-m", "pip", "install", *OFFLINE, "--target", "there", url, cwd=tmp_path)

    assert {path.name.partition("-")[0] for path in (tmp_path / "there").iterdir()} == {"krmfn"}


def test_uv_finds_krmfn_beside_packwise(repository: Path, tmp_path: Path) -> None:
    """By the address of the repository alone. Everything else counts as installed, so that nothing is fetched."""
    run(BIN / "python", "-m", "venv", "--without-pip", "there", cwd=tmp_path)
    (there,) = (tmp_path / "there/lib").glob("python3.*/site-packages")
    for path in Path(str(pytest.__file__)).parents[1].glob("*.dist-info"):
        if path.name.partition("-")[0] not in FOLDERS:
            shutil.copytree(path, there / path.name)

    shown = run(
        BIN / "uv", "pip", "install", "--dry-run", "--offline", "--no-build-isolation", "--python", "there/bin/python",
        f"packwise[all] @ git+file://{repository}", cwd=tmp_path, UV_CACHE_DIR=str(tmp_path / "cache"),
    )  # fmt: skip

    added = {line.split("@")[0].strip(" +") for line in shown.splitlines() if line.startswith(" +")}
    assert added == {"krmfn", "packwise"}
    assert "#subdirectory=fn/krmfn\n" in shown
