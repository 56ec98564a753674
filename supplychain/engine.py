"""A container engine with a store in this clone: buildah builds images, and podman runs them.

It neither sees nor changes the user's own images, because a stand-in for an image of a registry must never be among the
user's images.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

from supplychain.locks import ROOT

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["FOLDER", "engine_environment", "missing_programs", "run"]

FOLDER = ROOT / ".cache" / "image"
"""The folder of the store, of the engine's configuration, and of the stand-ins for images in the Dockerfile."""

_PROGRAMS = ("podman", "buildah", "runc", "mmdebstrap")

# By default, podman requests more open files and processes than a container within another container has. crun refuses
# the hybrid cgroups of such machines, and runc accepts them. These machines have no systemd.
_CONTAINERS = """\
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "none"
"""
_STORAGE = """\
[storage]
driver = "overlay"
graphroot = "{folder}/store"
runroot = "{folder}/run"
"""
# A short name is an image of this store. The engine contacts no registry for it.
_REGISTRIES = """\
unqualified-search-registries = []
short-name-mode = "disabled"
"""


def missing_programs() -> str:
    """Return the missing programs and the command that installs them, or "" if none is missing."""
    missing = [name for name in _PROGRAMS if shutil.which(name) is None]
    return (
        f"{', '.join(missing)} not on PATH: as root, `make image-tools` installs Debian's packages" if missing else ""
    )


def engine_environment(folder: Path = FOLDER, registry: str = "") -> dict[str, str]:
    """Write the engine's configuration, and return the variables that make podman and buildah use this store.

    kustomize runs functions by `docker`, so the returned PATH has podman under this name. `registry` (HOST:PORT) is a
    registry on this machine that uses plain HTTP.
    """
    programs = folder / "bin"
    programs.mkdir(parents=True, exist_ok=True)
    texts = {
        "CONTAINERS_CONF": ("containers.conf", _CONTAINERS),
        "CONTAINERS_STORAGE_CONF": ("storage.conf", _STORAGE.format(folder=folder)),
        "CONTAINERS_REGISTRIES_CONF": ("registries.conf", _REGISTRIES),
    }
    if registry:
        plain = f'[[registry]]\nlocation = "{registry}"\ninsecure = true\n'
        texts["CONTAINERS_REGISTRIES_CONF"] = ("registries-with-one.conf", _REGISTRIES + plain)
    for name, text in texts.values():
        (folder / name).write_text(text, encoding="utf-8")
    podman, docker = shutil.which("podman"), programs / "docker"
    if podman is not None and not docker.is_symlink():
        docker.symlink_to(podman)
    return {
        **os.environ,
        **{variable: str(folder / name) for variable, (name, _) in texts.items()},
        "KPT_FN_RUNTIME": "podman",
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
    }


def run(*command: str | Path, variables: dict[str, str] | None = None, stdin: bytes | None = None) -> str:
    """Run a command of the engine and return its stdout. If the command fails, print its output and exit."""
    environment = {**engine_environment(), **(variables or {})}
    done = subprocess.run(list(map(str, command)), env=environment, input=stdin, capture_output=True, check=False)  # noqa: S603
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{(done.stdout + done.stderr).decode(errors='replace')}")
    return done.stdout.decode()
