"""Counted nouns and lists of known names in messages, and suggestions of the nearest name.

Lists and suggestions have limits, because an input can contain any number of unknown names of any length.
"""

from __future__ import annotations

from itertools import islice

from krmfn.hints import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

MAX_COMPARED = 64
"""The largest number of names among which the nearest one is searched."""

_LISTED_FIRST = 3

MAX_LISTED = 100
"""The largest number of names that a message lists. It counts the others."""

_MANY = 12
_FEW = 3
_LEAST = 0.6
"""The least similarity of two names, as difflib counts it."""
_LONGEST = 100
_MAX_APART = 2
_SHORT = 5
"""In a name of at most this many letters, only one letter may differ. A beginning shorter than this is not
completed.
"""


def did_you_mean(name: str, known: Collection[str], most: int = MAX_COMPARED) -> str:
    """Return `; did you mean "x"?` for the nearest of `known`, or "". At most `most` names are compared.

    If no name is similar, suggest the known name that adds a prefix or suffix, provided that only one does.
    """
    if len(name) > _LONGEST or len(known) > most:
        return ""
    from difflib import SequenceMatcher

    matcher = SequenceMatcher(b=name)
    scores: list[tuple[float, str]] = []
    for each in known:
        if len(each) <= _LONGEST:
            matcher.set_seq1(each)
            scores.append((matcher.quick_ratio(), each))
    # The whole comparison takes ten times as long, so it runs only for the few names with the most common letters.
    near: list[tuple[float, str]] = []
    for score, each in sorted(scores, reverse=True)[:_FEW]:
        if score >= _LEAST:
            matcher.set_seq1(each)
            near.append((matcher.ratio(), each))
    best, suggestion = max(near, default=(0.0, ""))
    if best < _LEAST:
        # kustomize does not add its prefix or suffix in fields that it does not know.
        longer = [each for each in known if name and (each.endswith(f"-{name}") or each.startswith(f"{name}-"))]
        suggestion = longer[0] if len(longer) == 1 else ""
    return f'; did you mean "{suggestion}"?' if suggestion else ""


def list_known(names: Collection[str]) -> str:
    """Return the names for a message: `"a", "b"`, or `none`."""
    shown = ", ".join([f'"{_shorten_name(name)}"' for name in islice(names, MAX_LISTED)]) or "none"
    more = len(names) - MAX_LISTED
    return f"{shown} and {more} more" if more > 0 else shown


def list_first(names: Sequence[str]) -> str:
    """Return some of the names for a cell or a line: `a, b, c and 4 more`."""
    more = len(names) - _LISTED_FIRST
    return f"{', '.join(names[:_LISTED_FIRST])}{f' and {more} more' if more > 0 else ''}"


def count_text(number: int, noun: str, plural: str = "") -> str:
    """Return `1 gang` or `2 gangs`. The plural adds an `s` unless given."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def known_names(name: str, known: Sequence[str]) -> str:
    """Return the end of a message about an unknown name: the known names and the nearest one.

    Return only the suggestion if many names are known and one is near.
    """
    near = did_you_mean(name, known)
    return near if near and len(known) > _MANY else f", known: {list_known(known)}{near}"


def near_miss(name: str, known: Collection[str]) -> str:
    """Return `; did you mean "x"?` for the known name that `name` misspells, or "".

    A typo is a difference in case, a missing end, or up to two letters. In a short name it is one letter.
    """
    begun = [each for each in known if len(name) >= _SHORT and each.casefold().startswith(name.casefold())]
    if len(begun) == 1:
        return f'; did you mean "{begun[0]}"?'
    best = min(
        [(letters_apart(name.casefold(), each.casefold()), each) for each in known], default=(_MAX_APART + 1, "")
    )
    most = _MAX_APART if len(best[1]) > _SHORT else 1
    return f'; did you mean "{best[1]}"?' if best[0] <= most else ""


def letters_apart(left: str, right: str) -> int:
    """Return how many letters are inserted, deleted, replaced or swapped with their neighbour. 3 means more than 2."""
    if len(left) > 100 or abs(len(left) - len(right)) > _MAX_APART:
        return _MAX_APART + 1
    older: list[int] = []
    before: list[int] = []
    row = list(range(len(right) + 1))
    for at, letter in enumerate(left, 1):
        older, before, row = before, row, [at]
        for to, other in enumerate(right, 1):
            cost = min(before[to] + 1, row[to - 1] + 1, before[to - 1] + (letter != other))
            if at > 1 and to > 1 and letter == right[to - 2] and left[at - 2] == other:
                cost = min(cost, older[to - 2] + 1)
            row.append(cost)
        if min(row) > _MAX_APART and min(before) >= _MAX_APART:
            # No later row has a smaller number. Most names differ after a few letters.
            return _MAX_APART + 1
    return min(row[-1], _MAX_APART + 1)


def _shorten_name(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[:_LONGEST]}…"
