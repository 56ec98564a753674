"""The reach of a change: the folders that it affects, computed from digests of everything that they read."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Reach(Record):
    """The sorted folders of packages: affected by the change, added, removed, and unaffected."""

    reached: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    untouched: tuple[str, ...] = ()


def reach_of_any(reaches: Sequence[Reach]) -> Reach:
    """Combine the reaches of a change from several start commits."""
    if len(reaches) == 1:
        return reaches[0]
    added = {folder for each in reaches for folder in each.added}
    reached = {folder for each in reaches for folder in each.reached} - added
    removed = {folder for each in reaches for folder in each.removed}
    untouched = {folder for each in reaches for folder in each.untouched} - reached - added
    return Reach(*[tuple(sorted(folders)) for folders in (reached, added, removed, untouched)])


def reach(before: Mapping[str, str], after: Mapping[str, str]) -> Reach:
    """Return the reach of a change. Each side maps folders to a digest of all paths and contents that their package
    reads.

    A new, removed or changed file affects every package that reads it on either side.
    """
    both = sorted(before.keys() & after.keys())
    return Reach(
        tuple(folder for folder in both if before[folder] != after[folder]),
        tuple(sorted(after.keys() - before.keys())),
        tuple(sorted(before.keys() - after.keys())),
        tuple(folder for folder in both if before[folder] == after[folder]),
    )
