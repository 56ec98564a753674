"""Which packwise this is: the version, and a digest of the code itself, which tells two commits of a version apart."""

from __future__ import annotations

import sys
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import krmfn
import packwise
from krmfn.record import NamedTuple

__all__ = ["Build", "build"]

_LIBRARIES = ("cel-expr-python", "jinja2", "markupsafe", "pydantic", "pydantic-core", "pyyaml")
"""Those that a render or its findings can depend on."""


class Build(NamedTuple):
    """A packwise: same digest, same code, and the same versions of the libraries that output depends on."""

    version: str
    digest: str
    python: str

    def __str__(self) -> str:
        return f"{self.version}, build {self.digest[:12]}, with Python {self.python}"


@cache
def build() -> Build:
    """The packwise that runs. Reads all of its code: some 20 ms."""
    digest = sha256()
    for library in _LIBRARIES:
        digest.update(f"{library} {_installed(library)}\0".encode())
    for package in (krmfn, packwise):
        folder = Path(package.__path__[0])
        for file in sorted(folder.rglob("*.*")):
            if file.suffix in (".py", ".yaml"):
                content = file.read_bytes()
                digest.update(f"{file.relative_to(folder).as_posix()} {len(content)}\0".encode())
                digest.update(content)
    return Build(version("packwise"), digest.hexdigest(), f"{sys.version_info.major}.{sys.version_info.minor}")


def _installed(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return "not installed"
