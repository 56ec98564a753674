"""Containers of the images of `make image`, with at most the access that clients give them."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from supplychain.engine import FOLDER, engine_environment

__all__ = ["CONFINED", "LIMITED", "Ran", "call", "podman"]

CONFINED = (
    "--network=none",
    "--read-only",
    "--read-only-tmpfs=false",
    "--cap-drop=all",
    "--security-opt=no-new-privileges",
)
"""Options with less access than any client gives a function. It cannot write, and has no more rights than a user."""

LIMITED = ("--memory=256m", "--memory-swap=256m", "--pids-limit=64")


@dataclass(frozen=True, slots=True)
class Ran:
    """A finished command."""

    code: int
    stdout: bytes
    stderr: str


def call(
    command: Sequence[str | Path],
    stdin: bytes = b"",
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Ran:
    """Run a command with the store of `make image`, such as podman, or kpt and kustomize with podman.

    `environment` selects another store.
    """
    done = subprocess.run(
        list(map(str, command)),
        # If the kernel ends a container, podman writes a file named "oom" into the current folder.
        cwd=cwd or FOLDER,
        env=environment or engine_environment(),
        input=stdin,
        capture_output=True,
        timeout=300,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr.decode())


def podman(*words: str, stdin: bytes = b"") -> Ran:
    """Run a container and remove it."""
    return call(["podman", "run", "--rm", "--interactive", *words], stdin)
