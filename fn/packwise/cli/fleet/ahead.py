"""Looks at the folders of an output, taken by a process of its own while this one looks for packages.

Both take about as long where nothing changed, and then there is little else to do.
"""

from __future__ import annotations

import os
from time import monotonic

from krmfn.hints import TYPE_CHECKING
from packwise.cli.fleet.evidence import look_at
from packwise.cli.manifests import NAME as LIST
from packwise.fleet.workers import Lost
from packwise.fleet.workers.processes import ProcessPool

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["LooksAhead", "looks_at"]

_FRESH = 10.0
"""Seconds after the start during which such a look counts: what somebody changes later must show."""


def looks_at(folders: Sequence[str]) -> dict[str, bytes]:
    """The digest of a look at each of the folders that packwise wrote."""
    digests: dict[str, bytes] = {}
    for folder in folders:
        look = look_at(folder) if os.path.lexists(f"{folder}/{LIST}") else None
        if look is not None:
            digests[folder] = look.digest()
    return digests


class LooksAhead:
    """Looks at `folders`. Close it, which ends the process."""

    def __init__(self, folders: Sequence[str]) -> None:
        self._pool = ProcessPool(1, looks_at)
        self._digests: Mapping[str, bytes] | None = None
        self._until = monotonic() + _FRESH
        self._pool.submit(0, folders)

    def close(self) -> None:
        """Ends the process."""
        self._pool.close()

    def digest(self, folder: str) -> bytes | None:
        """The digest of a look at the folder; None where there is none, or it is old."""
        if monotonic() > self._until:
            return None
        if self._digests is None:
            ((_, answer),) = self._pool.wait()
            self._digests = {} if isinstance(answer, Lost) else answer
        return self._digests.get(folder)
