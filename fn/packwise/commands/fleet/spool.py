"""The results of a fleet in a temporary file, so that those of any number of packages fit the memory."""

from __future__ import annotations

import json
from tempfile import SpooledTemporaryFile

from krmfn.hints import TYPE_CHECKING
from packwise.commands.fleet import PackageResult

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Spool"]

_IN_MEMORY = 1 << 20
"""Bytes up to which there is no file: those of a thousand packages without findings."""


class Spool:
    """Results, which come back in order of their folders, as often as asked. Close it: the file goes then."""

    def __init__(self) -> None:
        self._file = SpooledTemporaryFile[bytes](max_size=_IN_MEMORY)
        self._places: list[tuple[str, int, int]] = []

    def close(self) -> None:
        """Removes the file."""
        self._file.close()

    def add(self, result: PackageResult) -> None:
        """Keeps a result. Raises OSError where the disk refuses it."""
        text = json.dumps(result.to_value()).encode()
        self._places.append((result.folder, self._file.tell(), len(text)))
        self._file.write(text)

    def __iter__(self) -> Iterator[PackageResult]:
        for _, at, size in sorted(self._places):
            self._file.seek(at)
            yield PackageResult.from_value(json.loads(self._file.read(size)))
