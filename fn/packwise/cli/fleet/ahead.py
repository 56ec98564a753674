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

    from packwise.cli.fleet.evidence import Seen

__all__ = ["LooksAhead", "looks_at"]

_FRESH = 60.0
"""Seconds after the start during which such a look counts: what somebody changes later must show."""


def looks_at(folders: Sequence[str]) -> dict[str, Seen]:
    """What is seen at each of the folders that packwise wrote."""
    seen: dict[str, Seen] = {}
    for folder in folders:
        look = look_at(folder) if os.path.lexists(f"{folder}/{LIST}") else None
        if look is not None:
            seen[folder] = look.seen()
    return seen


class LooksAhead:
    """Looks at `folders`. Close it, which ends the process."""

    def __init__(self, folders: Sequence[str]) -> None:
        self._pool = ProcessPool(1, looks_at)
        self._seen: Mapping[str, Seen] | None = None
        self._until = monotonic() + _FRESH
        self._pool.submit(0, folders)

    def close(self) -> None:
        """Ends the process."""
        self._pool.close()

    def seen(self, folder: str) -> Seen | None:
        """What was seen at the folder; None where nothing was, or it is old."""
        if monotonic() > self._until:
            return None
        if self._seen is None:
            ((_, answer),) = self._pool.wait()
            self._seen = {} if isinstance(answer, Lost) else answer
        return self._seen.get(folder)
