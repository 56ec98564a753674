"""`packwise cache`: the size of a fleet's cache, and removal of entries."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING, Record
from packwise.build.cache import DEFAULT_SIZE, CacheError, contents_of, default_place, open_store, prune
from packwise.cli.arguments import Command, add_size
from packwise.console import say, show
from packwise.inputs.request import UsageError

if TYPE_CHECKING:
    import argparse

    from packwise.build.cache import Contents

_DESCRIPTION = """\
Shows the number and the size of the results that `packwise fleet` has cached. `cache prune` removes the least recently
used entries. `packwise fleet` prunes a cache folder automatically, but not a bucket."""


_EPILOG = """\
examples:
  packwise cache
  packwise cache prune --max-size 500Mi
  packwise cache prune --cache s3://ci-cache/packwise --max-size 10Gi

exit codes: 0 no error, 1 the cache cannot be read or written, 2 wrong usage"""


class CacheOptions(Record):
    """`packwise cache`: the size of the cache at `place`. None is the user's own folder.

    With `prunes`, entries are removed until at most `size` bytes are left. If `size` is None, the default limit
    applies.
    """

    place: str | None = None
    prunes: bool = False
    size: int | None = None


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", nargs="?", choices=("prune",), help="remove entries (default: only count them)")
    parser.add_argument("--cache", metavar="DIR|URL", dest="place", help="the cache (default: the user's cache folder)")
    add_size(parser, "--max-size", "maximum size after prune")


def _refuse(parser: argparse.ArgumentParser, parsed: argparse.Namespace) -> None:
    """Exit with a usage error if a size is set without prune."""
    if parsed.action is None and parsed.max_size is not None:
        parser.error("--max-size needs prune: packwise cache prune --max-size SIZE")


def _read(parsed: argparse.Namespace) -> CacheOptions:
    return CacheOptions(parsed.place, parsed.action == "prune", parsed.max_size)


def cache(command: CacheOptions) -> int:
    """Print the cache's size and the removed entries, and return the exit code.

    Raise UsageError if the cache cannot be opened.
    """
    place = command.place or default_place()
    if place is None:
        raise UsageError("the user has no cache folder; pass --cache DIR, or set XDG_CACHE_HOME")
    try:
        store = open_store(place)
    except CacheError as error:
        raise UsageError(str(error)) from None
    try:
        removed = prune(store, DEFAULT_SIZE if command.size is None else command.size) if command.prunes else None
        contents = contents_of(store)
    except OSError as error:
        say([f"error: cannot read or write --cache {place}: {error.strerror or error}"])
        return 1
    line = f"{place}: {_count_text(contents)}"
    return 0 if show(line + ("" if removed is None else f"; {_count_text(removed)} removed") + "\n") else 1


def _count_text(contents: Contents) -> str:
    return f"{contents.entries:,} {'entry' if contents.entries == 1 else 'entries'}, {_size_text(contents.size)}"


def _size_text(size: int) -> str:
    """Return bytes in the Kubernetes unit that gives a number below 1024."""
    power = min(max(size.bit_length() - 1, 0) // 10, 4)
    return f"{size / 1024**power:.1f}{'KMGT'[power - 1]}i" if power else f"{size} bytes"


COMMAND = Command(_DESCRIPTION, _EPILOG, _add_arguments, _read, cache, _refuse)
