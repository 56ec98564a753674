"""The reach of a change: the folders that it affects.

It is computed from digests of everything that their packages read.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Reach(Record):
    """The sorted folders of packages. `reached` are affected by the change, and `untouched` are unaffected."""

    reached: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    untouched: tuple[str, ...] = ()


def reach_of_any(reaches: Sequence[Reach]) -> Reach:
    """Return the reach of a change that has several start commits.

    A folder is affected if one of the reaches has it.
    """
    if len(reaches) == 1:
        return reaches[0]
    added = {folder for each in reaches for folder in each.added}
    reached = {folder for each in reaches for folder in each.reached} - added
    removed = {folder for each in reaches for folder in each.removed}
    untouched = {folder for each in reaches for folder in each.untouched} - reached - added
    return Reach(*[tuple(sorted(folders)) for folders in (reached, added, removed, untouched)])


def reach(before: Mapping[str, str], after: Mapping[str, str]) -> Reach:
    """Return the reach of a change. Each side maps a folder to a digest of all paths and contents that its package
    reads.

    A new, removed or changed file therefore affects every package that reads it before or after the change.
    """
    both = sorted(before.keys() & after.keys())
    return Reach(
        tuple(folder for folder in both if before[folder] != after[folder]),
        tuple(sorted(after.keys() - before.keys())),
        tuple(sorted(before.keys() - after.keys())),
        tuple(folder for folder in both if before[folder] == after[folder]),
    )
