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
        for module in modules():
            import_module(module)
        from tests.fuzz.targets import TARGETS
    _, name, *options = sys.argv
    write_words(WORDS)
    # A merge starts the first word anew, by a shell.
    itself = f"{sys.executable} -m tests.fuzz.run {name}"
    atheris.Setup([itself, *options, f"-dict={WORDS}"], TARGETS[name])
    atheris.Fuzz()


if __name__ == "__main__":
    main()
