"""Which packages a change can reach: those that read something which differs, shared bases included."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Reach", "reach"]


class Reach(NamedTuple):
    """The folders of packages, sorted: reached by the change, new with it, gone with it, and those it cannot touch."""

    reached: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    untouched: tuple[str, ...] = ()


def reach(before: Mapping[str, str], after: Mapping[str, str]) -> Reach:
    """What a change reaches. Both sides have a digest by folder, of all that the package there reads: paths, contents.

    A file that is new, gone or different reaches every package that reads it on either side.
    """
    both = sorted(before.keys() & after.keys())
    return Reach(
        tuple([folder for folder in both if before[folder] != after[folder]]),
        tuple(sorted(after.keys() - before.keys())),
        tuple(sorted(before.keys() - after.keys())),
        tuple([folder for folder in both if before[folder] == after[folder]]),
    )
