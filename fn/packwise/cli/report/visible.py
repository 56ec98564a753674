"""Text as a terminal may show it: nothing acts on the terminal, nothing is invisible."""

from __future__ import annotations

import unicodedata

__all__ = ["visible", "width"]


def visible(text: str) -> str:
    """`text` with escapes in the place of what does not print: control characters, odd spaces, changes of direction."""
    if text.isprintable():
        return text
    return "".join([character if character.isprintable() else _escaped(character) for character in text])


def width(text: str) -> int:
    """How many columns a terminal needs for the printable `text`."""
    if text.isascii():
        return len(text)
    return sum(_columns(character) for character in text)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def _columns(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1
