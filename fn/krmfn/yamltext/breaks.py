"""Line breaks: LF and CRLF everywhere, and those that YAML 1.1 has besides: CR, NEL, LS and PS.

libyaml and kyaml end a line at each of them; editors, and so the places in error messages, at LF only.
"""

from __future__ import annotations

import re
from functools import cache

__all__ = ["BREAKS", "after_gap", "has_odd_breaks", "restored", "unified"]

BREAKS = ("\n", "\r", "\x85", "\u2028", "\u2029")
"""The characters that end a line; CR LF is one end."""


_GAP = re.compile(r"(?:[ \t\r\n\ufeff]|#[^\n]*)*")


def after_gap(text: str, offset: int) -> int:
    """The offset of the first character from `offset` on that is neither white space nor in a comment."""
    match = _GAP.match(text, offset)
    return match.end() if match else offset


def has_odd_breaks(text: str) -> bool:
    """Whether a line of `text` ends with something else than LF or CRLF."""
    if "\r" in text and text.count("\r") != text.count("\r\n"):
        return True
    return not text.isascii() and any(mark in text for mark in BREAKS[2:])


def unified(text: str) -> str:
    """`text` with LF for each odd break: as long as `text`, so that offsets count in both."""
    return _odd().sub("\n", text) if has_odd_breaks(text) else text


def restored(text: str, lined: str, edited: str) -> str:
    """What `edited` makes of `lined`, which is `unified(text)`, made of `text`: odd breaks outside the edit stay."""
    if lined is text:
        return edited
    if edited == lined:
        return text
    start = _shared(lined, edited)
    back = _shared(lined[start:][::-1], edited[start:][::-1])
    return text[:start] + edited[start : len(edited) - back] + text[len(text) - back :]


def _shared(first: str, other: str) -> int:
    """How many characters both start with."""
    low, high = 0, min(len(first), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


@cache
def _odd() -> re.Pattern[str]:
    return re.compile("\r(?!\n)|[\x85\u2028\u2029]")
