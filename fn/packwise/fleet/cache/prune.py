"""How large a cache is, and what goes from it so that it keeps to a size."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple

if TYPE_CHECKING:
    from packwise.fleet.cache.store import Store

__all__ = ["Contents", "Stored", "contents_of", "prune"]


class Stored(NamedTuple):
    """An entry as its store lists it: seconds at which it was last used (of an object: written), bytes, name."""

    used: float
    size: int
    name: str


class Contents(NamedTuple):
    """How many entries, and the bytes of all of them."""

    entries: int
    size: int


def contents_of(store: Store) -> Contents:
    """What is in a store. Raises OSError."""
    return _sum(store.entries())


def prune(store: Store, size: int) -> Contents:
    """Removes the entries that were not used for longest, until `size` bytes are left at most; what went.

    Another job may use or remove entries meanwhile: to both, one that is gone is one that was never there. Raises
    OSError.
    """
    entries = sorted(store.entries())
    excess = _sum(entries).size - size
    gone: list[Stored] = []
    for entry in entries:
        if excess <= 0:
            break
        store.remove(entry.name)
        excess -= entry.size
        gone.append(entry)
    return _sum(gone)


def _sum(entries: list[Stored]) -> Contents:
    return Contents(len(entries), sum(entry.size for entry in entries))
