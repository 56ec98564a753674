"""Text as a terminal may show it: nothing acts on the terminal, nothing is invisible."""

from __future__ import annotations

import re

from krmfn.hints import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

__all__ = ["json_text", "visible", "width"]

_NOT_ASCII = re.compile(r"[^\n -~]")


def visible(text: str) -> str:
    """`text` with escapes in the place of what does not print: control characters, odd spaces, changes of direction."""
    if text.isprintable():
        return text
    return "".join([character if character.isprintable() else _escaped(character) for character in text])


def json_text(value: Any) -> str:
    """`value` as JSON, which reads as before, with escapes for what does not print."""
    # Text for people needs none.
    import json

    text = json.dumps(value, ensure_ascii=False, indent=2) + "\n"
    return _NOT_ASCII.sub(lambda match: match[0] if match[0].isprintable() else json.dumps(match[0])[1:-1], text)


def width(text: str) -> int:
    """How many columns a terminal needs for the printable `text`."""
    if text.isascii():
        return len(text)
    return sum(_columns(character) for character in text)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def _columns(character: str) -> int:
    import unicodedata

    if unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1
