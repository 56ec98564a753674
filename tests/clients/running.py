"""Runs of clients in tests. Each run has a separate folder, `packwise` on PATH, and its complete output."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Ran", "files_of", "run"]


@dataclass(frozen=True, slots=True)
class Ran:
    """A finished command."""

    code: int
    stdout: str
    stderr: str


def run(command: list[str | Path], *, cwd: Path, packwise: Path, stdin: str | None = None) -> Ran:
    """Run a client in `cwd`. The folder of `packwise` is first on PATH, as for a user who installed it."""
    environment = {**os.environ, "PATH": f"{packwise.parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=environment,
        input=stdin,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def files_of(folder: Path) -> dict[str, str]:
    """Return the text of every file below `folder`, by relative path and in the order of the paths."""
    found = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in found}
