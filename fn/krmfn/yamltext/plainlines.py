"""The lines that most manifests are made of: a key, a value, a comment. Every reader takes them alike.

Each is whole by itself: no quote or bracket that closes further down, no block scalar, no anchor, alias, tag or marker.
What is plain starts with a letter or is a decimal number; in quotes nothing is escaped.
"""

from __future__ import annotations

import re

__all__ = ["ITEM", "KEY", "VALUE", "is_printable", "is_usual", "is_usual_line"]

# What is neither printable ASCII nor LF becomes something else.
_PRINTABLE = bytes(byte if byte == 10 or 32 <= byte < 127 else 63 for byte in range(256))

_QUOTED = r""""[^"\\\n]{0,%s}+"|'[^'\n]{0,%s}+'"""
_QUOTED_VALUE = _QUOTED % ("", "")
_WORD = r"[A-Za-z0-9_./@+()=~$:-]*+(?<!:)"
_WORDS = rf"[A-Za-z/]{_WORD}(?: [A-Za-z(]{_WORD})*"
# Also a quantity: 100m, 64Gi.
_NUMBER = r"-?+(?:0|[1-9][0-9]{0,14}+)(?:\.[0-9]{1,15}+|)(?:[mhsk]|[KMGTP]i|)"
ITEM = rf"(?:[A-Za-z][A-Za-z0-9_./-]*+|{_QUOTED_VALUE}|{_NUMBER})"
VALUE = rf"(?:{_WORDS}|{_QUOTED_VALUE}|{_NUMBER}|\[(?:{ITEM}(?:, {ITEM})*|)\]|\{{\}})"
# A plain key is none of the constants, which are the only words that are no strings.
_CONSTANT = r"[tTfFnN](?:rue|RUE|alse|ALSE|ull|ULL):"
KEY = rf"(?:(?!{_CONSTANT})[A-Za-z][A-Za-z0-9_./-]{{0,250}}+|{_QUOTED % (250, 250)})"
# A key with its colon, or what stands after a dash. No group is possessive: before Python 3.11.5 such a group may take
# what it does not match (gh-106052).
_ENTRY = rf"(?:- (?:- |)|)(?:{KEY}:(?=[ \n])|(?<=- )(?=[^ \n]))(?: *+{VALUE}|)(?:\n| ++#[^\n]*+\n)"
# Deeper than the indentation here is rare, and soon too deep for some reader.
_LINES = re.compile(rf"(?: {{0,90}}+(?:{_ENTRY}|#[^\n]*+\n|(?<![^\n])\n))*")
_PIECE = 65536


def is_printable(text: str) -> bool:
    """Whether `text` holds printable characters and LF only: no tab, CR, odd space or break, no half of a pair."""
    if text.isascii():
        data = text.encode()
        return data.translate(_PRINTABLE) == data
    return text.replace("\n", "").isprintable()


def is_usual(text: str) -> bool:
    """Whether `text` has usual lines only.

    What is read from it holds strings, booleans, nulls, finite floats, integers of 64 bits, and lists and mappings of
    these with strings for keys, less than 200 deep.
    """
    if text[:1] == " " or not is_printable(text):
        return False
    at, end = 0, len(text)
    while at < end:
        # In pieces: the pattern keeps some hundred bytes for each line it has matched.
        stop = end if end - at <= _PIECE else text.rfind("\n", at, at + _PIECE) + 1
        match = _LINES.match(text, at, stop) if stop else None
        if match is None or match.end() < stop:
            return False
        at = stop
    return True


def is_usual_line(line: str) -> bool:
    """Whether `line`, which holds no break, is a usual one."""
    return line.isprintable() and _LINES.fullmatch(line + "\n") is not None
