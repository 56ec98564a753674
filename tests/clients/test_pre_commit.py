"""pre-commit itself installs the hooks from a Git repository, and runs them on a user's repository."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.calling import CONFIG, WORKLOAD, write
from tests.places import ROOT, missing

pytestmark = [pytest.mark.client, pytest.mark.slow]

PRE_COMMIT = ROOT / ".cache" / "clients" / "bin" / "pre-commit"
BROKEN = WORKLOAD.replace("rack", "block")

PACKAGES = {
    "clusters/west/topology.yaml": CONFIG,
    "clusters/west/web.yaml": WORKLOAD,
    "clusters/east/topology.yaml": CONFIG.replace("domain: rack", "domain: block"),
    "clusters/east/web.yaml": BROKEN,
    "charts/web/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n",
    "charts/web/templates/web.yaml": "a: {{ .Values.a }}\n",
}
"""Two clusters with a configuration each, and a chart that packwise does not check."""


def git(folder: Path, *words: str) -> str:
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture(scope="module")
def hooks(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Return a Git repository of packwise, and its commit."""
    folder = tmp_path_factory.mktemp("packwise")
    for name in ("pyproject.toml", "README.md", "LICENSE", ".pre-commit-hooks.yaml"):
        shutil.copy(ROOT / name, folder / name)
    shutil.copytree(ROOT / "fn", folder / "fn", ignore=shutil.ignore_patterns("__pycache__"))
    git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "all")
    return folder, git(folder, "rev-parse", "HEAD")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder in which pre-commit keeps its installations. All tests share it."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture
def user(tmp_path: Path, hooks: tuple[Path, str]) -> Path:
    """Return a user's repository that has both hooks in its configuration."""
    folder, commit = hooks
    ids = "".join(f"  - id: packwise-check{suffix}\n" for suffix in ("", "-changed"))
    configuration = f"repos:\n- repo: file://{folder}\n  rev: {commit}\n  hooks:\n{ids}"
    write(tmp_path, {**PACKAGES, ".pre-commit-config.yaml": configuration})
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", "--all")
    git(tmp_path, "commit", "--quiet", "--message", "all")
    return tmp_path


def run(user: Path, home: Path, hook: str, *words: str) -> subprocess.CompletedProcess[str]:
    if not PRE_COMMIT.exists():
        missing("pre-commit is not installed: `make tools` puts it into .cache/clients")
    environment = {**os.environ, "PRE_COMMIT_HOME": str(home), "PRE_COMMIT_COLOR": "never"}
    command = [PRE_COMMIT, "run", hook, *words]
    return subprocess.run(command, cwd=user, env=environment, capture_output=True, text=True, check=False, timeout=300)


@pytest.mark.parametrize("hook", ["packwise-check", "packwise-check-changed"])
def test_a_repository_of_two_clusters_passes(hook: str, user: Path, home: Path) -> None:
    done = run(user, home, hook, "--all-files")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "Passed" in done.stdout


@pytest.mark.parametrize("hook", ["packwise-check", "packwise-check-changed"])
def test_a_commit_with_an_error_fails(hook: str, user: Path, home: Path) -> None:
    write(user, {"clusters/west/web.yaml": BROKEN})
    git(user, "add", "--all")

    done = run(user, home, hook)

    assert done.returncode == 1
    assert "error: clusters/west/web.yaml:10:38" in done.stdout


def test_changed_files_alone_are_checked(user: Path, home: Path) -> None:
    write(user, {"clusters/west/topology.yaml": CONFIG.replace("domain: rack", "domain: block")})
    write(user, {"clusters/east/more.yaml": BROKEN.replace("name: web", "name: more")})
    git(user, "add", "clusters/east")

    changed = run(user, home, "packwise-check-changed")

    assert changed.returncode == 0, changed.stdout


def test_a_commit_without_yaml_starts_nothing(user: Path, home: Path) -> None:
    write(user, {"README.md": "a\n"})
    git(user, "add", "--all")

    assert "(no files to check)Skipped" in run(user, home, "packwise-check").stdout
