"""Paths of the repository, and the behaviour of tests if one of them is missing."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import NoReturn

import pytest

__all__ = [
    "CRDS",
    "KYAML_ORACLE",
    "NO_CORE",
    "NO_CRDS",
    "ROOT",
    "SHARED",
    "TESTDATA",
    "TOOLS",
    "in_ci",
    "missing",
    "needs_command",
]

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"
"""The folder next to the clone. It may contain upstream's own files, which are not part of the repository."""

CRDS = Path(os.environ.get("PACKWISE_CRDS") or SHARED / "crds").resolve()
"""Upstream's CustomResourceDefinitions. testdata/golden/README.md lists the folders."""

NO_CRDS = "skipped: upstream's CRDs are not there; `make test CRDS=DIR` names their folder (testdata/golden/README.md)"
NO_CORE = "krmfn-native is not installed: `make setup` builds it where there is cargo"
"""The reason to skip a test of the native core."""

TESTDATA = ROOT / "testdata"
TOOLS = ROOT / ".cache" / "tools"
KYAML_ORACLE = TOOLS / "kyaml-oracle-v0.21.2" / "kyaml-oracle"
"""The program of tests/kyaml_oracle, which `make tools` builds."""


def in_ci() -> bool:
    """Return True in CI. A missing client is a failure there, and expected outputs are never rewritten."""
    return os.environ.get("CI", "").lower() not in ("", "0", "false")


def needs_command(name: str, package: str) -> None:
    """Skip the test if a command of the system is not on PATH. In CI this is a failure."""
    if shutil.which(name) is None:
        missing(f'"{name}" is not on PATH (Debian: apt-get install {package})')


def missing(what: str) -> NoReturn:
    """Skip the test because a program or file that it needs is missing. In CI this is a failure."""
    if in_ci():
        pytest.fail(what, pytrace=False)
    pytest.skip(what)
