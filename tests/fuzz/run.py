"""Runs a target under atheris, from its corpus on: `python -m tests.fuzz.run reader -max_total_time=120 CORPUS`."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

__all__ = ["main"]


def main() -> None:
    """Fuzzes the target that the first argument names; the others are libFuzzer's."""
    # It has no types, and is installed by `make fuzz` alone.
    atheris: Any = import_module("atheris")
    with atheris.instrument_imports(include=["krmfn", "packwise"]):
        from tests.fuzz.targets import TARGETS
    target = TARGETS[sys.argv.pop(1)]
    atheris.Setup(sys.argv, target)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
