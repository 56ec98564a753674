"""The reach of a change: which folders it touches, by the digests of all that they read."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import Record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Reach(Record):
    """The folders of packages, sorted: reached by the change, new with it, gone with it, and those it cannot touch."""

    reached: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    untouched: tuple[str, ...] = ()


def reach_of_any(reaches: Sequence[Reach]) -> Reach:
    """The reach of a change that starts from several commits: what it reaches from any of them."""
    if len(reaches) == 1:
        return reaches[0]
    added = {folder for each in reaches for folder in each.added}
    reached = {folder for each in reaches for folder in each.reached} - added
    removed = {folder for each in reaches for folder in each.removed}
    untouched = {folder for each in reaches for folder in each.untouched} - reached - added
    return Reach(*[tuple(sorted(folders)) for folders in (reached, added, removed, untouched)])


def reach(before: Mapping[str, str], after: Mapping[str, str]) -> Reach:
    """The reach of a change. Both sides have a digest by folder, of all that the package there reads: paths, contents.

    A file that is new, gone or different reaches every package that reads it on either side.
    """
    both = sorted(before.keys() & after.keys())
    return Reach(
        tuple(folder for folder in both if before[folder] != after[folder]),
        tuple(sorted(after.keys() - before.keys())),
        tuple(sorted(before.keys() - after.keys())),
        tuple(folder for folder in both if before[folder] == after[folder]),
    )
