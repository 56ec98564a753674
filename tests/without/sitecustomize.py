"""Make libraries look as if they were not installed, in every Python with this folder on PYTHONPATH.

The variable `TESTS_WITHOUT` has the names of their modules, separated by spaces.
"""

from __future__ import annotations

import os
import sys

__all__ = ["VARIABLE", "Blocker", "block"]

VARIABLE = "TESTS_WITHOUT"


class Blocker:
    """Report some modules and their contents as missing. `importlib.abc` would import more."""

    def __init__(self, names: list[str]) -> None:
        self._names = frozenset(names)

    def find_spec(self, fullname: str, *_: object) -> None:
        if fullname.partition(".")[0] in self._names:
            raise ModuleNotFoundError(f'No module named "{fullname}"', name=fullname)


def block() -> None:
    """Block the modules that the environment names, from now on."""
    names = os.environ.get(VARIABLE, "").split()
    if names:
        sys.meta_path.insert(0, Blocker(names))


block()
