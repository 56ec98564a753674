"""Optional libraries of packwise, and the message if one is not installed."""

from __future__ import annotations

import re
import sys
from functools import cache

from krmfn.hints import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from typing import Any


class Extra(Record):
    """An optional dependency `packwise[NAME]`: the distribution that it installs, and the module to import."""

    name: str
    library: str
    module: str

    @property
    def is_installed(self) -> bool:
        """Import the library, and return True if that succeeds."""
        return _imports(self.module)

    @property
    def advice(self) -> str:
        """A sentence with the library that is absent, and the command that adds it."""
        # Never advise only the name. No public index has it, and anyone who registers it could run code.
        source = "@".join(install_source(_direct_url()))
        command = f'{installer()} "packwise[{self.name}] @ git+{source}"'
        return f'{self.library} is not installed; add the extra "{self.name}": {command}'


REPOSITORY, COMMIT = "https://git.example.com/platform/packwise", "COMMIT"
"""Placeholders for the source of an installation, if the installation does not record it."""


def install_source(direct_url: str | None) -> tuple[str, str]:
    """Return the repository and the commit in `direct_url.json` (PEP 610) of an installation, or placeholders."""
    import json

    source: Any = json.loads(direct_url) if direct_url else {}
    url, commit = str(source.get("url", "")), source.get("vcs_info", {}).get("commit_id")
    if not url.startswith(("https://", "ssh://")) or not commit:
        return REPOSITORY, COMMIT
    # A committed file must not contain a name or a password.
    return re.sub(r"^(https://)[^/@]*@", r"\1", url), str(commit)


def _direct_url() -> str | None:
    """Return `direct_url.json` of the installation. Return None if packwise runs from its sources."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        return distribution("packwise").read_text("direct_url.json")
    except PackageNotFoundError:
        return None


def installer() -> str:
    """Return the command that installed packwise: pipx, uv for tools, or pip."""
    folder = sys.prefix.replace("\\", "/")
    return next((command for part, command in _INSTALLERS.items() if part in folder), "pip install")


_INSTALLERS = {"/pipx/venvs/": "pipx install --force", "/uv/tools/": "uv tool install --force"}
"""Commands of the tools that create environments, by a part of the environment's path."""


COMPLETION = Extra("completion", "shtab", "shtab")
"""Completion scripts for shells."""

CRDS = Extra("crds", "cel-expr-python", "cel_expr_python")
"""CEL rules of CustomResourceDefinitions, and RE2 for their patterns."""

DASK = Extra("dask", "distributed", "distributed")
"""Dask workers for a fleet on several machines."""

FSSPEC = Extra("fsspec", "fsspec", "fsspec")
"""Object stores for the cache that the jobs of a fleet share."""

OSMO = Extra("osmo", "jinja2", "jinja2")
"""Templates of OSMO's workflows."""

PATCH = Extra("patch", "jsonpatch", "jsonpatch")
"""JSON Patches for differences."""

SOLVER = Extra("solver", "ortools", "ortools.sat.python.cp_model")
"""CP-SAT, an exact solver. It finds out if gangs can fit at all, even if the scheduler finds no place for them."""


@cache
def _imports(module: str) -> bool:
    try:
        __import__(module)
    except ImportError:
        return False
    return True
