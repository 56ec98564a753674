"""A cache in an object store, through fsspec: S3, Google Cloud Storage, Azure and many more, each by its own library.

Object stores replace an object as a whole; where a file system behind fsspec does not, the digest in an entry shows it.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from datetime import datetime
from importlib import import_module
from typing import TYPE_CHECKING, Any

from packwise.fleet.cache.entry import LARGEST, NAME
from packwise.fleet.cache.prune import Stored

if TYPE_CHECKING:
    from collections.abc import Generator

__all__ = ["ObjectStore"]

_TIMES = ("LastModified", "last_modified", "updated", "mtime", "created")
"""Where fsspec's libraries put the time at which an object was written."""


class ObjectStore:
    """The store below an fsspec URL. Raises ImportError, ValueError where fsspec cannot open it."""

    is_near = False

    def __init__(self, url: str) -> None:
        self.place = url
        # It has no types.
        fsspec: Any = import_module("fsspec.core")
        self._files, self._root = fsspec.url_to_fs(url)

    def read(self, name: str) -> bytes | None:
        """The object of that name. Raises OSError."""
        with _as_os_errors(), suppress(FileNotFoundError):
            return self._files.cat_file(self._path(name), start=0, end=LARGEST + 1)
        return None

    def write(self, name: str, entry: bytes) -> None:
        """Writes the object. Raises OSError."""
        with _as_os_errors():
            self._files.pipe_file(self._path(name), entry)

    def remove(self, name: str) -> None:
        """Removes the object. Raises OSError."""
        with _as_os_errors(), suppress(FileNotFoundError):
            self._files.rm_file(self._path(name))

    def entries(self) -> list[Stored]:
        """All objects that are entries, by when they were written: no store tells when one was read. Raises OSError."""
        with _as_os_errors():
            try:
                listed: list[dict[str, Any]] = self._files.ls(self._root, detail=True, refresh=True)
            except FileNotFoundError:
                return []
        named = [(each["name"].rpartition("/")[2], each) for each in listed]
        return [Stored(_written(each), each["size"] or 0, name) for name, each in named if NAME.fullmatch(name)]

    def _path(self, name: str) -> str:
        return f"{self._root.rstrip('/')}/{name}"


def _written(described: dict[str, Any]) -> float:
    """When an object was written; 0 where its store does not tell."""
    value = next((described[key] for key in _TIMES if described.get(key)), 0.0)
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    return value.timestamp() if isinstance(value, datetime) else float(value)


@contextmanager
def _as_os_errors() -> Generator[None]:
    """Every library has errors of its own for a lack of rights, of a network, of credentials."""
    try:
        yield
    except OSError:
        raise
    except Exception as error:
        raise OSError(str(error).partition("\n")[0] or type(error).__name__) from error
