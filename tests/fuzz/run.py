"""Runs a target under atheris, from its corpus on: `python -m tests.fuzz.run reader -max_total_time=120 CORPUS`."""

from __future__ import annotations

import io
import sys
from contextlib import redirect_stderr
from importlib import import_module
from typing import Any

from tests.fuzz.words import write_words
from tests.places import ROOT

__all__ = ["main"]

WORDS = ROOT / ".cache" / "fuzz" / "words"


def modules() -> list[str]:
    """Every module under test: many are imported by the input that needs them, too late to be instrumented."""
    folders = [ROOT / "fn" / "krmfn", ROOT / "fn" / "packwise"]
    paths = [path.relative_to(ROOT / "fn").with_suffix("") for folder in folders for path in folder.rglob("*.py")]
    return sorted(".".join(path.parts) for path in paths if path.name not in ("__init__", "__main__"))


def main() -> None:
    """Fuzzes the target that the first argument names; the others are libFuzzer's."""
    # It has no types, and is installed by `make fuzz` alone.
    atheris: Any = import_module("atheris")
    # It prints the name of every module that it instruments.
    with redirect_stderr(io.StringIO()), atheris.instrument_imports(include=["krmfn", "packwise"]):
        for name in modules():
            import_module(name)
        from tests.fuzz.targets import TARGETS
    target = TARGETS[sys.argv.pop(1)]
    write_words(WORDS)
    atheris.Setup([*sys.argv, f"-dict={WORDS}"], target)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
