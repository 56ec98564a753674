"""A cache as its users see it: `get`, `put`, and no failure that stops them, only a warning."""

from __future__ import annotations

from pathlib import Path

from krmfn.hints import TYPE_CHECKING, Protocol
from packwise.extras import FSSPEC
from packwise.fleet.cache.entry import LARGEST, entry_of, name_of, value_of
from packwise.fleet.cache.folder import DEFAULT_SIZE, Folder
from packwise.fleet.cache.prune import prune

if TYPE_CHECKING:
    from collections.abc import Callable

    from packwise.fleet.cache.prune import Stored

__all__ = ["Cache", "CacheError", "Store", "open_cache", "open_store"]


class CacheError(Exception):
    """A cache that cannot be what was asked for; the text says what to do."""


class Store(Protocol):
    """Where entries are: a folder, an object store. Errors are OSError, with the place's own text."""

    place: str
    """The folder or URL, for messages."""

    is_near: bool
    """Whether entries take next to no time, so that a run can look at all; a bucket has rules that keep it small."""

    def read(self, name: str) -> bytes | None:
        """The entry of that name, up to LARGEST bytes and one; None where there is none."""
        ...

    def write(self, name: str, entry: bytes) -> None:
        """Writes the entry as a whole: no reader sees a part of it, and the last of several writers counts."""
        ...

    def remove(self, name: str) -> None:
        """Removes the entry, where it is there."""
        ...

    def entries(self) -> list[Stored]:
        """All entries."""
        ...


class Cache:
    """Values by their keys, in a store. Use it in a `with` block, or close it: that keeps the store to its size.

    What the store refuses is warned of once, by `warn`; after that, nothing more is read, or written. `dropped` is how
    many entries were not whole.
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
        """The value that was put under `key`; None where there is none, or it is not whole."""
        if not self._reads:
            return None
        name = name_of(key)
        try:
            entry = self._store.read(name)
        except OSError as error:
            self._reads = False
            self._warn(f"warning: the cache {self._store.place} cannot be read: {_reason(error)}; going on without it")
            return None
        if entry is None:
            return None
        value = value_of(key, entry) if len(entry) <= LARGEST else None
        if value is None:
            self.dropped += 1
            self._try(lambda: self._store.remove(name))
        return value

    def put(self, key: str, value: bytes) -> None:
        """Keeps the value under `key`. A value beyond LARGEST is not kept."""
        entry = entry_of(key, value)
        if len(entry) <= LARGEST:
            self._try(lambda: self._store.write(name_of(key), entry))
            self._wrote = True

    @property
    def is_near(self) -> bool:
        """Whether a value takes next to no time to get: less than to make one that is small."""
        return self._store.is_near

    def close(self) -> None:
        """Keeps the store to its size, where this cache wrote to it."""
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
            self._warn(
                f"warning: the cache {self._store.place} cannot be written: {_reason(error)}; nothing more is kept"
            )


def _reason(error: OSError) -> str:
    return error.strerror or str(error).partition("\n")[0] or type(error).__name__


def open_cache(place: str, warn: Callable[[str], None], size: int | None = None) -> Cache:
    """The cache at a folder, or at an fsspec URL (`s3://BUCKET/PREFIX`), kept to `size` bytes where it is a folder
    (None: DEFAULT_SIZE).

    `warn` gets the lines about what the place refuses. Raises CacheError where the URL needs a library that is not
    installed, or is none that fsspec knows.
    """
    return Cache(open_store(place), DEFAULT_SIZE if size is None else size, warn)


def open_store(place: str) -> Store:
    """The store at a folder, or at an fsspec URL. Raises CacheError."""
    scheme, separator, rest = place.partition("://")
    if not separator:
        return Folder(Path(place))
    if scheme == "file":
        return Folder(Path(rest))
    if not FSSPEC.installed:
        raise CacheError(f"--cache {place} must have its library: {FSSPEC.advice}")
    from packwise.fleet.cache.objectstore import ObjectStore

    try:
        return ObjectStore(place)
    except (ImportError, OSError, TypeError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise CacheError(f"--cache {place} must be a folder, or a URL that fsspec can open: {reason}") from None
