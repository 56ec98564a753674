"""Repositories as they are found: odd files in them, many files, submodules and worktrees, a disk that is read-only."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.calling import CONFIG, WORKLOAD, Call, write

CHECKED = "1 package: 1 passing\n  1 workload judged\n"


def linked(path: Path) -> None:
    """A link to a file elsewhere that ignores everything."""
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
