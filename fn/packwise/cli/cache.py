"""`packwise cache`: how large the cache of a fleet is, and what goes from it."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.cli.arguments import UsageError
from packwise.cli.console import say, show
from packwise.fleet.cache import DEFAULT_SIZE, CacheError, contents_of, default_place, open_store, prune

if TYPE_CHECKING:
    from packwise.cli.arguments import Cache
    from packwise.fleet.cache import Contents

__all__ = ["cache"]


def cache(command: Cache) -> int:
    """Prints how large the cache is, and what was removed; returns the exit code. Raises UsageError."""
    place = command.place or default_place()
    if place is None:
        raise UsageError("there is no folder for the user's cache: give --cache DIR, or set XDG_CACHE_HOME")
    try:
        store = open_store(place)
    except CacheError as error:
        raise UsageError(str(error)) from None
    try:
        removed = prune(store, DEFAULT_SIZE if command.size is None else command.size) if command.prunes else None
        contents = contents_of(store)
    except OSError as error:
        say([f'error: --cache {place} must be a cache that can be read and written; got "{error.strerror or error}"'])
        return 1
    line = f"{place}: {_counted(contents)}"
    return 0 if show(line + ("" if removed is None else f"; {_counted(removed)} removed") + "\n") else 1


def _counted(contents: Contents) -> str:
    return f"{contents.entries:,} {'entry' if contents.entries == 1 else 'entries'}, {_short(contents.size)}"


def _short(size: int) -> str:
    """Bytes in the unit of Kubernetes of which there are fewer than 1024."""
    power = min(max(size.bit_length() - 1, 0) // 10, 4)
    return f"{size / 1024**power:.1f}{'KMGT'[power - 1]}i" if power else f"{size} bytes"
