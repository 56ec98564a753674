"""Texts that are written down until they are needed: in memory as long as they are few, then in a temporary file."""

from __future__ import annotations

import os

from krmfn.hints import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["Entry", "Spool"]

Entry = tuple[int, int]
"""Where a text starts and ends, in bytes."""

_IN_MEMORY = 32 * 1024 * 1024
_BLOCK = 1 << 20
_NEVER = 1 << 62


class Spool:
    """Bytes in the order in which they came. A system without room for temporary files keeps them in memory."""

    __slots__ = ("_file", "_most", "_size", "_tail", "_written")

    def __init__(self, most: int = _IN_MEMORY) -> None:
        self._most = most
        self._size = self._written = 0
        self._tail = bytearray()
        self._file = -1

    def put(self, text: str) -> Entry:
        """Adds the UTF-8 of `text`; returns where it is."""
        data = text.encode()
        start = self._size
        self._size += len(data)
        self._tail += data
        if len(self._tail) > self._most:
            self._flush()
        return start, self._size

    def read(self, entries: Iterable[Entry]) -> Iterator[bytes]:
        """The bytes of the entries in this order; entries that follow each other come in one piece."""
        start = end = 0
        for entry in entries:
            if entry[0] != end or end - start > _BLOCK:
                yield self._between(start, end)
                start = entry[0]
            end = entry[1]
        yield self._between(start, end)

    def _between(self, start: int, end: int) -> bytes:
        written = self._written
        if start >= written:
            return bytes(self._tail[start - written : end - written])
        return os.pread(self._file, min(end, written) - start, start) + self._tail[: max(end - written, 0)]

    def _flush(self) -> None:
        if self._file < 0:
            import tempfile

            try:
                # Without a name there is nothing to remove, however the process ends.
                with tempfile.TemporaryFile() as file:
                    self._file = os.dup(file.fileno())
            except OSError:
                self._most = _NEVER
                return
        at = 0
        try:
            while at < len(self._tail):
                at += os.pwrite(self._file, self._tail[at : at + _BLOCK], self._written + at)
        except OSError:
            # The disk is full: what it has not taken stays here.
            self._most = _NEVER
        self._written += at
        del self._tail[:at]
