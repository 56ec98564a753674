"""Unusual repositories: odd files, many files, submodules and worktrees, and a read-only disk."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.calling import CONFIG, WORKLOAD, Call, write
from tests.fleet.test_fleet_command import git
from tests.places import needs_command

CHECKED = "1 package: 1 passing\n  1 workload checked\n"


def linked(path: Path) -> None:
    """Make a link to a file elsewhere that ignores everything."""
    elsewhere = path.parent.parent / "elsewhere"
    elsewhere.write_text("*\n", encoding="utf-8")
    path.symlink_to(elsewhere)


ODD: dict[str, Callable[[Path], object]] = {
    "a link": linked,
    "a link to a device": lambda path: path.symlink_to("/dev/zero"),
    "a link to itself": lambda path: path.symlink_to(path),
    "a FIFO": os.mkfifo,
    "a folder": Path.mkdir,
}


@pytest.mark.parametrize("where", ["a", "a/below", "."])
@pytest.mark.parametrize("kind", ODD)
def test_what_is_no_file_ignores_nothing(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, where: str
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / ".cache"))
    (tmp_path / "repo/.git").mkdir(parents=True)
    write(tmp_path / "repo", {"a/topology.yaml": CONFIG, "a/below/w.yaml": WORKLOAD})
    ODD[kind](tmp_path / "repo" / where / ".gitignore")

    ran = call("fleet", "check", "repo/a")

    assert (ran.code, ran.stdout, ran.stderr) == (0, CHECKED, "")


def _commit_all(folder: Path) -> None:
    git(folder, "add", ".")
    git(folder, "commit", "-m", "x")


@pytest.mark.parametrize("kind", ["worktree", "submodule"])
def test_a_worktree_and_a_submodule_are_repositories(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / ".cache"))
    write(tmp_path, {"repo/a/topology.yaml": CONFIG, "repo/a/w.yaml": WORKLOAD, "outer/b.yaml": WORKLOAD})
    for each in ("repo", "outer"):
        git(tmp_path / each, "init")
        _commit_all(tmp_path / each)
    if kind == "worktree":
        git(tmp_path / "repo", "worktree", "add", "../outer/inner", "--detach")
    else:
        needs_command("sed", "sed")
        git(tmp_path / "outer", "-c", "protocol.file.allow=always", "submodule", "add", str(tmp_path / "repo"), "inner")
    write(tmp_path / "outer", {"inner/a/w.yaml": WORKLOAD.replace("replicas: 1", "replicas: 2")})

    ran = call("fleet", "diff", "outer/inner", "--changed-since", "git:HEAD")

    assert ran.stdout.splitlines()[0] == "1 package: 1 changed"


@pytest.mark.parametrize("state", ["dirty", "moved", "unchanged"])
def test_packages_of_a_submodule_are_looked_at_in_each_run(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    """The commit of the outer repository does not have their files, so each run must look for changes."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / ".cache"))
    write(tmp_path, {"repo/a/topology.yaml": CONFIG, "repo/a/w.yaml": WORKLOAD})
    write(tmp_path, {"outer/b/topology.yaml": CONFIG, "outer/b/w.yaml": WORKLOAD})
    for each in ("repo", "outer"):
        git(tmp_path / each, "init")
        _commit_all(tmp_path / each)
    # git uses a shell script to add a submodule.
    needs_command("sed", "sed")
    git(tmp_path / "outer", "-c", "protocol.file.allow=always", "submodule", "add", str(tmp_path / "repo"), "inner")
    _commit_all(tmp_path / "outer")
    git(tmp_path / "outer", "branch", "before")
    if state != "unchanged":
        write(tmp_path / "outer", {"inner/a/w.yaml": WORKLOAD.replace("replicas: 1", "replicas: 2")})
    if state == "moved":
        _commit_all(tmp_path / "outer/inner")
        _commit_all(tmp_path / "outer")

    checked = call("fleet", "check", "outer", "--changed-since", "before")
    compared = call("fleet", "diff", "outer", "--changed-since", "before")

    assert checked.stdout == "2 packages: 1 passing, 1 unchanged\n  1 workload checked\n"
    assert compared.stdout.splitlines()[0] == "2 packages: 1 new, 1 unchanged"
