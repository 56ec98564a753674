"""Environments in which Python cannot import certain libraries."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["env_without"]

FOLDER = Path(__file__).parent / "without"


def env_without(*modules: str) -> dict[str, str]:
    """Return the environment variables of this process, changed so that Python cannot import `modules`."""
    paths = [str(FOLDER), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    names = [*os.environ.get("TESTS_WITHOUT", "").split(), *modules]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths)), "TESTS_WITHOUT": " ".join(names)}
