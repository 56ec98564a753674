"""What a folder looked like when it held all that a package renders to: where it looks the same, no file is read.

As git's index, this goes by the times, the size, the number (inode) and the permissions of each file. It is kept in the
cache: it differs from machine to machine, and an output must not.
"""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from hashlib import sha256
from operator import attrgetter
from struct import Struct
from time import time_ns

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.cli.manifests import NAME as LIST
from packwise.fleet.build import build

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Mapping
    from pathlib import Path

    from packwise.fleet.cache import Cache

__all__ = ["ENTRY", "FOLDER", "Evidence", "Look", "look_at"]

_FORMAT = 1
"""Of looks; another number is another look at the same folder."""

_SECOND = 1_000_000_000
_REST = 2 * _SECOND
"""Nanoseconds after which a second change of a file gives it another time, on any file system."""


class Look(NamedTuple):
    """The files and folders in a folder, with what tells a change of each. `at` is when they were looked at.

    They are in the order of the file system, which keeps it as long as nothing changes.
    """

    entries: Mapping[str, bytes]
    at: int

    def digest(self) -> bytes:
        """Another one for every other look."""
        digest = sha256("\0".join(self.entries).encode("utf-8", "surrogateescape"))
        digest.update(b"".join(self.entries.values()))
        return digest.digest()

    def written(self) -> tuple[str, ...]:
        """The folders in it that have a list of packwise's own files; "" is itself. Hidden folders are left out."""
        lists = [path.rpartition("/") for path in self.entries if path.endswith(LIST)]
        return tuple(folder for folder, _, name in lists if name == LIST and not _is_hidden(folder))

    def is_at_rest(self) -> bool:
        """Whether any change after the look will show: a file that changed just before it may change unseen."""
        return all(_time(entry) + _REST < self.at for entry in self.entries.values())

    def is_after(self, before: Look | None, written: Collection[str]) -> bool:
        """Whether this is the look `before` with the files `written`, to which nobody else had access yet."""
        kept = {path: entry for path, entry in self.entries.items() if entry != FOLDER and path not in written}
        if kept and not (before is not None and before.has(kept) and Look(kept, before.at).is_at_rest()):
            return False
        # Where times are whole seconds, a file can change once more within the second in which it was written.
        return any(_time(self.entries[path]) % _SECOND for path in written if path in self.entries)

    def has(self, entries: Mapping[str, bytes]) -> bool:
        """Whether these are among its files, whatever happened to their names: a link made and removed is no change."""
        return all(
            path in self.entries and self.entries[path][:_OF_CONTENT] == entry[:_OF_CONTENT]
            for path, entry in entries.items()
        )


ENTRY = Struct("=qqQIq")
"""Of a file: when its content changed, in nanoseconds, its size, number and mode, and when anything of it changed."""

_OF_CONTENT = Struct("=qqQI").size

FOLDER = ENTRY.pack(0, 0, 0, 0, 0)


def _time(entry: bytes) -> int:
    """When the content changed last; a folder is always at rest."""
    return ENTRY.unpack(entry)[0]


_fields = attrgetter("st_mtime_ns", "st_size", "st_ino", "st_mode", "st_ctime_ns")


def _is_hidden(folder: str) -> bool:
    return folder.startswith(".") or "/." in folder


def look_at(folder: str) -> Look | None:
    """A look at a folder; None where not all of it can be seen. No link is followed, and `.git` is left out."""
    at = time_ns()
    entries: dict[str, bytes] = {}
    folders = [""]
    try:
        while folders:
            prefix = folders.pop()
            with _opened(f"{folder}/{prefix}") as opened, os.scandir(opened) as listed:
                for each in listed:
                    path = prefix + each.name
                    if not each.is_dir(follow_symlinks=False):
                        entries[path] = ENTRY.pack(*_fields(each.stat(follow_symlinks=False)))
                    elif each.name != ".git":
                        entries[path] = FOLDER
                        folders.append(f"{path}/")
    except OSError:
        return None
    return Look(entries, at)


@contextmanager
def _opened(folder: str) -> Generator[int | str]:
    """The folder as `os.scandir` takes it: where the system can open it, the path to each file in it is a name."""
    if os.scandir not in os.supports_fd:
        yield folder
        return
    number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield number
    finally:
        os.close(number)


class Evidence:
    """Looks at folders that held what an answer has to write, in a cache that is near; nothing, where there is none."""

    __slots__ = ("_cache", "_written")

    def __init__(self, cache: Cache | None) -> None:
        self._cache = cache if cache is not None and cache.is_near else None
        self._written: dict[str, tuple[str, ...]] = {}

    def look(self, folder: Path) -> Look | None:
        """A look at the folder, where that is of use."""
        return None if self._cache is None else look_at(os.fspath(folder))

    def is_held(self, folder: Path, plan: bytes) -> bool:
        """Whether the folder looks as it did when it held what `plan` is the digest of."""
        known = None if self._cache is None else self._cache.get(_key(folder, plan))
        if known is None:
            return False
        look = self.look(folder)
        if look is None or look.digest() != known:
            return False
        self._written[os.fspath(folder)] = look.written()
        return True

    def written_in(self, folder: str) -> tuple[str, ...] | None:
        """The folders in a folder that is held, "" for itself, which have a list of packwise's own files."""
        return self._written.get(folder)

    def keep(self, folder: Path, plan: bytes, look: Look) -> None:
        """Keeps that the folder holds that with this look."""
        if self._cache is not None:
            self._cache.put(_key(folder, plan), look.digest())


def _key(folder: Path, plan: bytes) -> str:
    return sha256(json.dumps(["look", _FORMAT, build().digest, os.fspath(folder), plan.hex()]).encode()).hexdigest()
