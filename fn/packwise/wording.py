"""How messages list the names that are known and suggest the nearest one.

Both are bounded: an input can have as many unknown names as known ones, each as long as it likes.
"""

from __future__ import annotations

from heapq import nlargest
from itertools import islice

from krmfn.hints import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

__all__ = ["MOST_COMPARED", "MOST_LISTED", "closest", "list_known", "told_known"]

MOST_COMPARED = 64
"""Among more names than these the nearest one is not looked for."""

MOST_LISTED = 100
"""How many names a message lists; of others it says how many they are."""

_MANY = 12
_FEW = 3
_LEAST = 0.6
"""How alike two names must be, as difflib counts it."""
_LONGEST = 100
"""Characters of a name that a message shows, and beyond which it has no nearest one."""


def closest(name: str, known: Collection[str], most: int = MOST_COMPARED) -> str:
    """`; did you mean "x"?` for the nearest of `known`, or nothing; `most` is how many are compared at all."""
    if len(name) > _LONGEST or len(known) > most:
        return ""
    from difflib import SequenceMatcher

    matcher = SequenceMatcher(b=name)
    scores: list[tuple[float, str]] = []
    for each in known:
        if len(each) <= _LONGEST:
            matcher.set_seq1(each)
            scores.append((matcher.quick_ratio(), each))
    # The whole comparison takes ten times as long: for the few names alone that have the most letters in common.
    near: list[tuple[float, str]] = []
    for score, each in nlargest(_FEW, scores):
        if score >= _LEAST:
            matcher.set_seq1(each)
            near.append((matcher.ratio(), each))
    best, suggestion = max(near, default=(0.0, ""))
    return f'; did you mean "{suggestion}"?' if best >= _LEAST else ""


def list_known(names: Collection[str]) -> str:
    """Names for a message: `"a", "b"`, or `none`."""
    shown = ", ".join([f'"{_short(name)}"' for name in islice(names, MOST_LISTED)]) or "none"
    more = len(names) - MOST_LISTED
    return f"{shown} and {more} more" if more > 0 else shown


def told_known(name: str, known: Sequence[str]) -> str:
    """What follows an unknown name: the names that are known, and the nearest; of many, the nearest alone."""
    near = closest(name, known)
    return near if near and len(known) > _MANY else f", known: {list_known(known)}{near}"


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[:_LONGEST]}…"
