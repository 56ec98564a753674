"""Environments in which no Python of a test can import a certain library."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["without"]

FOLDER = Path(__file__).parent / "without"


def without(*modules: str) -> dict[str, str]:
    """Return the variables of this process and variables that block `modules`, by a folder on PYTHONPATH."""
    paths = [str(FOLDER), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    names = [*os.environ.get("TESTS_WITHOUT", "").split(), *modules]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths)), "TESTS_WITHOUT": " ".join(names)}
