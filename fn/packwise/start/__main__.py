"""Make the archives for faster starts: `python -m packwise.start`.

It runs the function and then the commands on `sample.yaml`, two workloads with a warning each. It records the modules
that the runs import and the patterns that they compile.
"""

from __future__ import annotations

import io
import os
import re
import sys
from contextlib import redirect_stderr, redirect_stdout
from marshal import dumps
from pathlib import Path

from packwise.start import FILES, FUNCTION, archive_path, checksum, interpreter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container
    from typing import Any

    from packwise.start import Entry, Pattern

_OWN = ("packwise", "krmfn")
_SAMPLE = Path(__file__).with_name("sample.yaml")


def main() -> int:
    """Make the archives and return the exit code, 1 if one cannot be written."""
    before = set(sys.modules)
    re.purge()
    _run(_function)
    function = _archive(before)
    _run(_commands)
    return _write(FUNCTION, function) or _write(FILES, _archive(before))


def _archive(before: Container[str]) -> bytes:
    """Return the modules imported since `before`, and the compiled patterns."""
    modules = {name: _entry(name) for name in sys.modules if name not in before and name.partition(".")[0] in _OWN}
    return dumps((interpreter(), modules, list(_patterns())))


def _function() -> int:
    from packwise.function import main as run_function

    return run_function()


def _commands() -> int:
    from packwise.cli.command_line import main as run_command

    return run_command(["check", str(_SAMPLE)]) or run_command(["render", str(_SAMPLE)])


def _run(work: Callable[[], int]) -> None:
    """Run `work` on the sample. Raise RuntimeError on an error, which the sample never has."""
    stdin, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(_SAMPLE.read_bytes()))
    try:
        with redirect_stdout(_sink()), redirect_stderr(_sink()) as messages:
            code = work()
    finally:
        sys.stdin = stdin
    if code:
        messages.seek(0)
        raise RuntimeError(messages.read())


def _sink() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8")


def _entry(name: str) -> Entry:
    spec = sys.modules[name].__spec__
    loader: Any = spec and spec.loader
    file = loader.get_filename(name)
    source = Path(file).stat()
    return file, loader.is_package(name), int(source.st_mtime), source.st_size, dumps(loader.get_code(name))


def _patterns() -> list[Pattern]:
    """Return the patterns compiled by `re` as their programs, or none if `re` stores them differently."""
    try:
        kept, compiler = _insides()
    except AttributeError:
        return []
    patterns: list[Pattern] = []
    engine = compiler._sre
    for (_, pattern, flags), compiled in list(kept.items()):
        recorder = _Recorder(engine)
        compiler._sre = recorder
        try:
            again = compiler.compile(pattern, flags)
        finally:
            compiler._sre = engine
        if again == compiled:
            patterns.append((pattern, int(flags), recorder.program))
    return patterns


def _insides() -> tuple[dict[Any, Any], Any]:
    """Return the patterns in `re` and its compiler. Raise AttributeError if the interpreter differs."""
    module: Any = re
    return module._cache, module._compiler


class _Recorder:
    """Python's regular expression engine with a record of its last program."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self.program: tuple[Any, ...] = ()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def compile(self, pattern: Any, *program: Any) -> Any:
        """Return the compiled pattern, and record its numbers as plain integers for `marshal`."""
        flags, code, groups, names, indices = program
        self.program = (int(flags), [int(each) for each in code], groups, dict(names), tuple(indices))
        return self._engine.compile(pattern, *self.program)


def _write(name: str, data: bytes) -> int:
    path = Path(archive_path(name))
    part = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(checksum(data) + data)
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        print(f'error: {path}: must be a file that can be written; got "{error.strerror}"', file=sys.stderr)  # noqa: T201
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
