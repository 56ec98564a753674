"""A store of results under keys. The key of a result is made of all its inputs.

Entries are bytes, which callers read as JSON. No part of a cache is ever unpickled. Each entry has a digest of its key
and value. An entry that is incomplete, changed, or stored under another name counts as absent and is removed.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
import tempfile
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import cache
from hashlib import sha256
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from operator import attrgetter
from pathlib import Path
from time import time
from typing import TYPE_CHECKING, Any, Protocol

import krmfn
import packwise
from krmfn.hints import Record
from krmfn.yamltext.reader import CORE
from packwise.extras import FSSPEC

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

_LIBRARIES = ("cel-expr-python", "jinja2", "markupsafe", "pydantic", "pydantic-core", "pyyaml")
"""Libraries that can change a render or its findings."""


class Build(Record):
    """A build of packwise.

    Equal digests mean equal code, native core, and versions of the libraries that affect output.
    """

    version: str
    digest: str
    python: str

    def __str__(self) -> str:
        return f"{self.version}, build {self.digest[:12]}, with Python {self.python}"


@cache
def build() -> Build:
    """Return the running build of packwise. This reads all code and the native core, which takes about 20 ms."""
    digest = sha256()
    for library in _LIBRARIES:
        digest.update(f"{library} {_library_version(library)}\0".encode())
    core = [import_module("krmfn_native")] if CORE is not None else []
    for package in (krmfn, packwise, *core):
        folder = Path(package.__path__[0])
        for file in sorted(folder.rglob("*.*")):
            if file.suffix in (".py", ".yaml", ".so", ".pyd"):
                content = file.read_bytes()
                digest.update(f"{file.relative_to(folder).as_posix()} {len(content)}\0".encode())
                digest.update(content)
    return Build(version("packwise"), digest.hexdigest(), f"{sys.version_info.major}.{sys.version_info.minor}")


def _library_version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return "not installed"


_HEAD = b"packwise-cache-1 "
_LENGTH = len(_HEAD) + 64 + 1

LARGEST = 64 * 1024 * 1024
"""Bytes of the largest entry that is read or written. The limit protects the memory from a hostile entry."""

NAME = re.compile(r"[0-9a-f]{64}")
"""Names of entries. Other files in a cache are never read or removed."""


def name_of(key: str) -> str:
    """Return the name of the entry for `key`. The key may have any characters."""
    return sha256(_HEAD + key.encode()).hexdigest()


def entry_of(key: str, value: bytes) -> bytes:
    """Return the entry for `key` and `value`."""
    return _HEAD + _digest(key, value) + b"\n" + value


def value_of(key: str, entry: bytes) -> bytes | None:
    """Return the value of an entry. Return None if it is incomplete or belongs to another key."""
    value = entry[_LENGTH:]
    return value if entry[:_LENGTH] == _HEAD + _digest(key, value) + b"\n" else None


def _digest(key: str, value: bytes) -> bytes:
    digest = sha256(key.encode() + b"\0")
    digest.update(value)
    return digest.hexdigest().encode()


class StoredEntry(Record):
    """An entry as its store lists it: the time of its last use in seconds, its size in bytes, and its name.

    A bucket records the time of writing instead of the last use.
    """

    used: float
    size: int
    name: str


class Contents(Record):
    """Number of entries, and the bytes of all of them."""

    entries: int
    size: int


def contents_of(store: Store) -> Contents:
    """Return the number and the bytes of a store's entries. Raise OSError if the store is unreadable."""
    return _sum(store.entries())


def prune(store: Store, size: int) -> Contents:
    """Remove the least recently used entries until at most `size` bytes are left. Return the number and bytes of
    removed ones.

    Another job may use or remove entries at the same time. Both jobs ignore missing entries. Raise OSError if the store
    fails.
    """
    entries = sorted(store.entries(), key=attrgetter("used", "size", "name"))
    excess = _sum(entries).size - size
    gone: list[StoredEntry] = []
    for entry in entries:
        if excess <= 0:
            break
        store.remove(entry.name)
        excess -= entry.size
        gone.append(entry)
    return _sum(gone)


def _sum(entries: list[StoredEntry]) -> Contents:
    return Contents(len(entries), sum(entry.size for entry in entries))


# A cache in a folder, shared by all jobs that can access it. An entry is written under a temporary name and then
# renamed, so that readers see all of it or nothing. packwise does not follow links and ignores files with other names,
# because the folder may belong to other users.

DEFAULT_SIZE = 2 * 1024**3
"""The largest number of bytes of a folder's entries after a run. Several fleets of 2,000 clusters fit into it."""

_PART = "part-"
"""Beginning of the names of files that are being written."""

_OLD_PART = 3600.0
"""Seconds after which such a file counts as left by a killed run."""

_SAME_USE = 3600.0
"""Seconds within which a second use of an entry is not recorded, so that most runs write nothing."""

_TAG = "CACHEDIR.TAG"
_TAGGED = b"Signature: 8a477f597d28d172789f06886806bc55\n# A cache of packwise: backups may skip it.\n"
"""Marks the folder as a cache for backup programs. Source: bford.info/cachedir."""


class Folder:
    """The store in a folder. The folder is created on the first write, for its owner only."""

    is_near = True

    def __init__(self, folder: Path) -> None:
        self.place = folder.as_posix()
        self._folder = folder

    def read(self, name: str) -> bytes | None:
        """Return the entry, or None if it is missing, and record its use. Return b"" if it is not a file.

        Raise OSError if the entry is unreadable.
        """
        flags = os.O_RDONLY | _flag("O_NOFOLLOW") | _flag("O_NONBLOCK") | _flag("O_BINARY")
        try:
            opened = os.open(self._folder / name, flags)
        except (FileNotFoundError, PermissionError) as error:
            # An entry that belongs to another user and is unreadable counts as absent, but the folder must be readable.
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
        """Write the entry to a temporary file, then rename it. Raise OSError."""
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
        """Remove the entry. Raise OSError."""
        (self._folder / name).unlink(missing_ok=True)

    def entries(self) -> list[StoredEntry]:
        """Return all entries and remove the remains of killed runs. Raise OSError."""
        entries: list[StoredEntry] = []
        try:
            listing = os.scandir(self._folder)
        except FileNotFoundError:
            return entries
        with listing:
            for each in listing:
                with suppress(FileNotFoundError):
                    status = each.stat(follow_symlinks=False)
                    if NAME.fullmatch(each.name) and not stat.S_ISDIR(status.st_mode):
                        entries.append(StoredEntry(status.st_mtime, status.st_size, each.name))
                    elif each.name.startswith(_PART) and time() - status.st_mtime > _OLD_PART:
                        self.remove(each.name)
        return entries

    def _make(self) -> None:
        if not self._folder.is_dir():
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with suppress(FileExistsError), (self._folder / _TAG).open("xb") as file:
                file.write(_TAGGED)


def _content(file: int, size: int) -> bytes:
    """Return the content of an open file of about `size` bytes. Read at most LARGEST bytes and one."""
    entry = b""
    # Request only the expected size at once, because the system allocates as much as is requested.
    while len(entry) <= LARGEST and (piece := os.read(file, min(max(size - len(entry), 0), LARGEST - len(entry)) + 1)):
        entry += piece
    return entry


def default_place() -> str | None:
    """Return the user's cache folder: `packwise` in `$XDG_CACHE_HOME`, else in `~/.cache`. Return None without a home.

    Source: the XDG Base Directory Specification, which ignores relative paths.
    """
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if base.is_absolute():
        return (base / "packwise").as_posix()
    with suppress(RuntimeError):
        return (Path.home() / ".cache" / "packwise").as_posix()
    return None


def _flag(name: str) -> int:
    """Return a flag of `os.open`. Return 0 if the system lacks it."""
    return getattr(os, name, 0)


class CacheError(Exception):
    """Raised if a cache cannot be used as requested. The text names the fix."""


class Store(Protocol):
    """The place of entries: a folder or an object store. Errors are OSError with the place's own text."""

    place: str
    """The folder or URL, for messages."""

    is_near: bool
    """True if entries are quick to list. packwise then removes old entries itself. A bucket uses its own rules to stay
    small.
    """

    def read(self, name: str) -> bytes | None:
        """Return at most LARGEST + 1 bytes of the entry of that name, or None."""
        ...

    def write(self, name: str, entry: bytes) -> None:
        """Write the entry atomically. The last of several writers wins."""
        ...

    def remove(self, name: str) -> None:
        """Remove the entry if it exists."""
        ...

    def entries(self) -> list[StoredEntry]:
        """Return all entries."""
        ...


class Cache:
    """Values by key in a store. Use it in a `with` block or close it, so that the store keeps its size limit.

    `warn` is called at the first read that fails, and at the first write that fails. After that, the cache no longer
    reads or no longer writes. `dropped` counts invalid entries.
    """

    def __init__(self, store: Store, size: int, warn: Callable[[str], None]) -> None:
        self._store = store
        self._size = size
        self._warn = warn
        self._reads = self._writes = True
        self._wrote = False
        self.dropped = 0

    def __enter__(self) -> Cache:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def get(self, key: str) -> bytes | None:
        """Return the value stored under `key`. Return None if it is absent or incomplete."""
        if not self._reads:
            return None
        name = name_of(key)
        try:
            entry = self._store.read(name)
        except OSError as error:
            self._reads = False
            self._warn(f"warning: cannot read the cache {self._store.place}: {_reason(error)}; continuing without it")
            return None
        if entry is None:
            return None
        value = value_of(key, entry) if len(entry) <= LARGEST else None
        if value is None:
            self.dropped += 1
            self._try(lambda: self._store.remove(name))
        return value

    def put(self, key: str, value: bytes) -> None:
        """Store the value under `key`. A value beyond LARGEST is not stored."""
        entry = entry_of(key, value)
        if len(entry) <= LARGEST:
            self._try(lambda: self._store.write(name_of(key), entry))
            self._wrote = True

    @property
    def is_near(self) -> bool:
        """Return True if reading a value is faster than computing a small one."""
        return self._store.is_near

    def close(self) -> None:
        """Reduce the store to its size limit if this cache wrote to it."""
        if self._wrote and self._store.is_near:
            self._try(lambda: prune(self._store, self._size))
        self._wrote = False

    def _try(self, change: Callable[[], object]) -> None:
        if not self._writes:
            return
        try:
            change()
        except OSError as error:
            self._writes = False
            self._warn(f"warning: cannot write the cache {self._store.place}: {_reason(error)}; reading it only")


def _reason(error: OSError) -> str:
    return error.strerror or str(error).partition("\n")[0] or type(error).__name__


def open_cache(place: str, warn: Callable[[str], None], size: int | None = None) -> Cache:
    """Return the cache in a folder or at an fsspec URL (`s3://BUCKET/PREFIX`).

    A folder is limited to `size` bytes, or to DEFAULT_SIZE if `size` is None. `warn` is called with a line about each
    failure of the store. Raise CacheError if the URL needs a missing library or is unknown to fsspec.
    """
    return Cache(open_store(place), DEFAULT_SIZE if size is None else size, warn)


def open_store(place: str) -> Store:
    """Return the store in a folder or at an fsspec URL. Raise CacheError if it cannot be opened."""
    scheme, separator, rest = place.partition("://")
    if not separator:
        return Folder(Path(place))
    if scheme == "file":
        return Folder(Path(rest))
    if not FSSPEC.is_installed:
        raise CacheError(f"cannot use --cache {place}: {FSSPEC.advice}")

    try:
        return ObjectStore(place)
    except (ImportError, OSError, TypeError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise CacheError(
            f"cannot open --cache {place}: {reason}. Pass a folder, or a URL that fsspec can open"
        ) from None


# A cache in an object store, through fsspec: S3, Google Cloud Storage, Azure and many others, each with its own
# library. Object stores replace an object as a whole. If a file system behind fsspec does not, the digest in an entry
# shows that the entry is incomplete.

_TIMES = ("LastModified", "last_modified", "updated", "mtime", "created")
"""Keys in which the libraries of fsspec report when an object was written."""


class ObjectStore:
    """The store below an fsspec URL. Raise ImportError or ValueError if fsspec cannot open it."""

    is_near = False

    def __init__(self, url: str) -> None:
        self.place = url
        # fsspec has no types.
        fsspec: Any = import_module("fsspec.core")
        self._files, self._root = fsspec.url_to_fs(url)

    def read(self, name: str) -> bytes | None:
        """Return the object of that name. Return None if it is missing. Raise OSError if the store fails."""
        with _as_os_errors(), suppress(FileNotFoundError):
            return self._files.cat_file(self._path(name), start=0, end=LARGEST + 1)
        return None

    def write(self, name: str, entry: bytes) -> None:
        """Write the object. Raise OSError."""
        with _as_os_errors():
            self._files.pipe_file(self._path(name), entry)

    def remove(self, name: str) -> None:
        """Remove the object. Raise OSError."""
        with _as_os_errors(), suppress(FileNotFoundError):
            self._files.rm_file(self._path(name))

    def entries(self) -> list[StoredEntry]:
        """Return all entries with their time of writing, because object stores do not record reads. Raise OSError."""
        with _as_os_errors():
            try:
                listed: list[dict[str, Any]] = self._files.ls(self._root, detail=True, refresh=True)
            except FileNotFoundError:
                return []
        named = [(each["name"].rpartition("/")[2], each) for each in listed]
        return [
            StoredEntry(_time_of_writing(each), each["size"] or 0, name) for name, each in named if NAME.fullmatch(name)
        ]

    def _path(self, name: str) -> str:
        return f"{self._root.rstrip('/')}/{name}"


def _time_of_writing(described: dict[str, Any]) -> float:
    """Return the time of writing of an object. Return 0 if its store does not record it."""
    value = next((described[key] for key in _TIMES if described.get(key)), 0.0)
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    return value.timestamp() if isinstance(value, datetime) else float(value)


@contextmanager
def _as_os_errors() -> Generator[None]:
    """Raise OSError for errors of libraries in the `with` block.

    Each library has its own errors for permissions, network and credentials.
    """
    try:
        yield
    except OSError:
        raise
    except Exception as error:
        raise OSError(str(error).partition("\n")[0] or type(error).__name__) from error
