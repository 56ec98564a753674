"""Archives of repeated work at every start: the modules of a run in one file, with compiled patterns.

Python finds and reads the bytecode of some two hundred modules separately, and compiles their regular expressions at
every start. There is one archive for `packwise fn` and one for `check` and `render`. They are beside the bytecode of
this module, made by `python -m packwise.start` (`make setup`, the image). Without them a run is equal but starts more
slowly. Each belongs to one interpreter. A module is valid like Python's own bytecode: by the time and size of its
source.
"""

from __future__ import annotations

import re
import sys
from marshal import loads
from os import stat
from os.path import dirname
from zlib import crc32

# As in krmfn.hints, which would be one more module to find.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from importlib.machinery import ModuleSpec, SourceFileLoader
    from types import CodeType, ModuleType
    from typing import Any

    Entry = tuple[str, bool, int, int, bytes]
    """Of a module: its source file, whether it is a package, time and size of the source, its code, marshalled."""
    Pattern = tuple[str | bytes, int, tuple[Any, ...]]
    """A regular expression, its flags, and what Python's engine makes it of."""
else:
    # `importlib.machinery` has the same two, and imports more.
    from _frozen_importlib import ModuleSpec
    from _frozen_importlib_external import SourceFileLoader

FUNCTION, FILES = "fn", "files"
"""The runs that have an archive: `packwise fn`; `packwise check` and `packwise render`."""

_LENGTH = 4
"""Bytes of a checksum."""


def use(name: str) -> None:
    """Import from the archive of that name from here on, if this interpreter made one."""
    path = archive_path(name)
    try:
        with open(path, "rb") as stream:  # noqa: PTH123 (pathlib is what a start does without)
            archive = stream.read()
        content = memoryview(archive)[_LENGTH:]
        if checksum(content) != archive[:_LENGTH]:
            return
        maker, modules, patterns = loads(content)  # noqa: S302 (as trusted as the bytecode beside it)
    except (OSError, ValueError, EOFError, TypeError):
        return
    if maker != interpreter():
        return
    _use_patterns(patterns)
    sys.meta_path.insert(0, _Finder(modules))


def checksum(content: bytes | memoryview) -> bytes:
    """The first bytes of an archive of this content: a damaged one is not taken."""
    return crc32(content).to_bytes(_LENGTH, "little")


def archive_path(name: str) -> str:
    """Return the path of this interpreter's archive of that name."""
    return f"{__spec__.cached}.{name}.archive"


def interpreter() -> tuple[str, int, str]:
    """Return the identity of the interpreter for code and patterns, and the place of packwise."""
    return sys.version, sys.flags.optimize, __file__


class _Finder:
    """A finder of modules in an archive. It leaves a module with a changed source to the next finder."""

    def __init__(self, modules: Mapping[str, Entry]) -> None:
        self._modules = modules

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None):  # noqa: ARG002
        """Return the module of that name, or None if the archive has no current one."""
        entry = self._modules.get(name)
        if entry is None:
            return None
        file, is_package, changed, size, code = entry
        try:
            source = stat(file)  # noqa: PTH116
        except OSError:
            return None
        if int(source.st_mtime) != changed or source.st_size != size:
            return None
        spec = ModuleSpec(name, _Loader(name, file, code), origin=file, is_package=is_package)
        spec.has_location = True
        if is_package:
            spec.submodule_search_locations = [dirname(file)]  # noqa: PTH120
        return spec


class _Loader(SourceFileLoader):
    """A loader of a module with known code."""

    def __init__(self, name: str, file: str, code: bytes) -> None:
        super().__init__(name, file)
        self._code = code

    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002
        """The code of the module."""
        return loads(self._code)  # noqa: S302


def _use_patterns(patterns: Sequence[Pattern]) -> None:
    """`re` knows the patterns as if they had been compiled in this process."""
    try:
        engine: Any = __import__("_sre")
        known: dict[object, object] = getattr(re, "_cache")  # noqa: B009
        for pattern, flags, program in patterns:
            known[type(pattern), pattern, flags] = engine.compile(pattern, *program)
    except (ImportError, AttributeError, TypeError, ValueError, RuntimeError):
        # An interpreter that keeps its patterns otherwise compiles them.
        return
