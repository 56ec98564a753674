"""Running without a library: the environment in which no Python that a test starts can import it."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["without"]

FOLDER = Path(__file__).parent / "without"


def without(*modules: str) -> dict[str, str]:
    """The variables of this process and those that block `modules`; a folder on PYTHONPATH does it at start-up."""
    paths = [str(FOLDER), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    names = [*os.environ.get("TESTS_WITHOUT", "").split(), *modules]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths)), "TESTS_WITHOUT": " ".join(names)}
