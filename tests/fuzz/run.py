"""Run targets under atheris, starting with a corpus.

    python -m tests.fuzz.run reader,splicer -max_total_time=9 CORPUS/{}

The instrumentation of all modules takes longer than CI fuzzes a target. It is done once, and each target runs in a copy
of this process.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr
from importlib import import_module
from typing import Any

from tests.fuzz.words import write_words
from tests.places import ROOT

__all__ = ["fuzz_each", "main"]

FOLDER = ROOT / ".cache" / "fuzz"
WORDS = FOLDER / "words"
FAILED = """\
make fuzz: {0} failed, see above. An input that does it stands in .cache/fuzz/{0}-*, and above in Base64: copy it to \
testdata/fuzz/{0}/, whose files are tests
"""


def modules() -> list[str]:
    """Return every module under test.

    An input imports many modules only when it needs them, too late for instrumentation.
    """
    folders = [ROOT / "fn" / "krmfn", ROOT / "fn" / "packwise"]
    paths = [path.relative_to(ROOT / "fn").with_suffix("") for folder in folders for path in folder.rglob("*.py")]
    return sorted(".".join(path.parts) for path in paths if path.name not in ("__init__", "__main__"))


def fuzz_each(names: Sequence[str], at_once: int, fuzz: Callable[[str], object]) -> int:
    """Call `fuzz` with each name in a separate process, and return the exit code of the first failure, or 0.

    After a failure, no other process starts. The output of a process is printed when it ends.
    """
    waiting, running, failed = list(names), dict[int, str](), 0
    while running or (waiting and not failed):
        while waiting and len(running) < at_once and not failed:
            name = waiting.pop(0)
            child = os.fork()
            if not child:
                log = os.open(FOLDER / f"{name}.log", os.O_CREAT | os.O_TRUNC | os.O_WRONLY)
                os.dup2(log, 1)
                os.dup2(log, 2)
                fuzz(name)
                os._exit(0)
            running[child] = name
        child, status = os.wait()
        name, code = running.pop(child), os.waitstatus_to_exitcode(status)
        sys.stdout.write(f"{name}:\n{(FOLDER / f'{name}.log').read_text('utf-8', 'replace')}")
        sys.stdout.flush()
        if code:
            sys.stderr.write(FAILED.format(name))
            failed = failed or code
    return failed


def main() -> None:
    """Fuzz the targets in the first argument, JOBS at a time. The other arguments are passed to libFuzzer.

    In them, {} is replaced by the name of the target.
    """
    # atheris has no types, and only `make fuzz` installs it.
    atheris: Any = import_module("atheris")
    # atheris prints the name of every module that it instruments.
    with redirect_stderr(io.StringIO()), atheris.instrument_imports(include=["krmfn", "packwise"]):
        for module in modules():
            import_module(module)
        from tests.fuzz.targets import TARGETS
    _, names, *options = sys.argv
    write_words(WORDS)

    def fuzz(name: str) -> None:
        (FOLDER / name).mkdir(exist_ok=True)
        # A merge starts the program in the first argument again, through a shell.
        itself = f"{sys.executable} -m tests.fuzz.run {name}"
        given = [option.replace("{}", name) for option in options]
        atheris.Setup([itself, *given, f"-dict={WORDS}"], TARGETS[name])
        atheris.Fuzz()

    sys.exit(fuzz_each(names.split(","), int(os.environ.get("JOBS", "1")), fuzz))


if __name__ == "__main__":
    main()
