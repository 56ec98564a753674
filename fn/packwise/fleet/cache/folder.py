"""A cache in a folder, shared by every job that sees the folder.

An entry is written under another name and renamed, so that readers see all of it or nothing. Links are not followed,
and files of other names are left alone: the folder may be anybody's.
"""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from time import time

from packwise.fleet.cache.entry import LARGEST, NAME
from packwise.fleet.cache.prune import Stored

__all__ = ["DEFAULT_SIZE", "Folder", "default_place"]

DEFAULT_SIZE = 2 * 1024**3
"""Bytes of a folder's entries at most, once a run is over: several fleets of 2,000 clusters."""

_PART = "part-"
"""How the names of files begin that are being written."""

_OLD_PART = 3600.0
"""Seconds after which such a file belongs to a run that was killed."""

_SAME_USE = 3600.0
"""Seconds within which a second use of an entry is not written down: most runs write nothing at all then."""

_TAG = "CACHEDIR.TAG"
_TAGGED = b"Signature: 8a477f597d28d172789f06886806bc55\n# A cache of packwise: backups may leave it out.\n"
"""Tells programs that make backups what the folder is. Source: bford.info/cachedir."""


class Folder:
    """The store in a folder, which is made when something is written: for its owner alone."""

    is_near = True

    def __init__(self, folder: Path) -> None:
        self.place = folder.as_posix()
        self._folder = folder

    def read(self, name: str) -> bytes | None:
        """The entry, if it is a file; notes that it was used. Raises OSError."""
        flags = os.O_RDONLY | _flag("O_NOFOLLOW") | _flag("O_NONBLOCK") | _flag("O_BINARY")
        try:
            opened = os.open(self._folder / name, flags)
        except (FileNotFoundError, PermissionError) as error:
            # An entry of another user is absent; a folder of another user is not.
            if isinstance(error, PermissionError) and not os.access(self._folder, os.R_OK | os.X_OK):
                raise
            return None
        except OSError as error:
            if error.errno == errno.ELOOP:
                return b""
            raise
        try:
            status = os.fstat(opened)
            if not stat.S_ISREG(status.st_mode):
                return b""
            entry = _content(opened, status.st_size)
        finally:
            os.close(opened)
        if time() - status.st_mtime > _SAME_USE:
            with suppress(OSError):
                os.utime(self._folder / name, follow_symlinks=False)
        return entry

    def write(self, name: str, entry: bytes) -> None:
        """Writes the entry beside its place, then renames it. Raises OSError."""
        self._make()
        number, part = tempfile.mkstemp(prefix=_PART, dir=self._folder)
        try:
            with os.fdopen(number, "wb") as file:
                file.write(entry)
            Path(part).replace(self._folder / name)
        except BaseException:
            with suppress(OSError):
                Path(part).unlink()
            raise

    def remove(self, name: str) -> None:
        """Removes the entry. Raises OSError."""
        (self._folder / name).unlink(missing_ok=True)

    def entries(self) -> list[Stored]:
        """All entries; what killed runs left goes on the way. Raises OSError."""
        entries: list[Stored] = []
        try:
            listing = os.scandir(self._folder)
        except FileNotFoundError:
            return entries
        with listing:
            for each in listing:
                with suppress(FileNotFoundError):
                    status = each.stat(follow_symlinks=False)
                    if NAME.fullmatch(each.name) and not stat.S_ISDIR(status.st_mode):
                        entries.append(Stored(status.st_mtime, status.st_size, each.name))
                    elif each.name.startswith(_PART) and time() - status.st_mtime > _OLD_PART:
                        self.remove(each.name)
        return entries

    def _make(self) -> None:
        if not self._folder.is_dir():
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with suppress(FileExistsError), (self._folder / _TAG).open("xb") as file:
                file.write(_TAGGED)


def _content(file: int, size: int) -> bytes:
    """What a file of about that size holds, up to LARGEST bytes and one."""
    entry = b""
    # No more at once: the system makes room for as much as is asked for.
    while len(entry) <= LARGEST and (piece := os.read(file, min(max(size - len(entry), 0), LARGEST - len(entry)) + 1)):
        entry += piece
    return entry


def default_place() -> str | None:
    """The folder of this user's cache: `packwise` in `$XDG_CACHE_HOME`, else in `~/.cache`; None without a home.

    Source: the XDG Base Directory Specification, which has relative paths ignored.
    """
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if base.is_absolute():
        return (base / "packwise").as_posix()
    with suppress(RuntimeError):
        return (Path.home() / ".cache" / "packwise").as_posix()
    return None


def _flag(name: str) -> int:
    """A flag of `os.open`, where the system has it."""
    return getattr(os, name, 0)
