"""Spelling a scalar so that every YAML reader, 1.1 or 1.2, takes it for what it is."""

from __future__ import annotations

import re
from functools import cache

from krmfn.hints import TYPE_CHECKING
from krmfn.yamltext.error import YamlError

if TYPE_CHECKING:
    from krmfn.value import Scalar

__all__ = ["AFTER_MARK", "after_mark", "double_quoted", "flow_key", "literal_lines", "scalar"]

_is_plain = re.compile(
    r"[A-Za-z/][A-Za-z0-9_./@+()=~$-]*+(?:[ :][A-Za-z0-9_./@+()=~$-]++)*"
    # A quantity: digits first, and yet no reader's number.
    r"|[0-9]+(?:\.[0-9]+)?(?:m|k|[MGTP]|[KMGTPE]i)"
).fullmatch
# YAML 1.1's booleans and nulls, the floats of lax readers; each also in capitals.
_WORDS = frozenset(
    form
    for word in ("y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf", "infinity")
    for form in (word, word.capitalize(), word.upper())
) | {"NaN"}
# Controls but for LF, breaks that only some readers know, and what is no character.
_ODD = r"\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff"
_CONSTANTS = {None: "null", True: "true", False: "false"}
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
# Most strings of a package are few; the rest would only push them out.
_MOST_KEPT = 2048
_LONGEST_KEPT = 256
AFTER_MARK: dict[str, str] = {}
"""What `after_mark` has answered: strings only, since 1, 1.0 and true are one key."""


def scalar(value: Scalar) -> str:
    """`value` on one line, for a block context."""
    if isinstance(value, str):
        if _is_plain(value) and value not in _WORDS:
            return value
        # JSON in single quotes can be read; a newline or an odd character needs escapes all the same.
        if '"' in value and "'" not in value and value.isascii() and value.isprintable():
            return f"'{value}'"
        return double_quoted(value)
    if value is None or isinstance(value, bool):
        return _CONSTANTS[value]
    return _float(value) if isinstance(value, float) else str(value)


def after_mark(text: str) -> str:
    """A string as it stands after a colon or a dash, for a block context; "" where it has several lines."""
    if _is_plain(text) and text not in _WORDS:
        spelled = " " + text
    elif "\n" in text:
        return ""
    else:
        spelled = " " + scalar(text)
    if len(AFTER_MARK) < _MOST_KEPT and len(text) <= _LONGEST_KEPT:
        AFTER_MARK[text] = spelled
    return spelled


def flow_key(text: str) -> str:
    """A mapping key for a flow mapping whose other keys stand without quotes."""
    return text if _flow_plain().fullmatch(text) and text not in _WORDS else double_quoted(text)


def double_quoted(text: str) -> str:
    """`text` in double quotes, as JSON spells it; other than ASCII stands as it is where it can be printed."""
    return f'"{_escaped().sub(_escape, text)}"'


def literal_lines(text: str) -> list[str] | None:
    """The lines of `text` for a literal block, or None where only quotes keep it for every reader."""
    if "\n" not in text or _not_literal().search(text):
        return None
    return (text[:-1] if text.endswith("\n") else text).split("\n")


@cache
def _flow_plain() -> re.Pattern[str]:
    return re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*")


@cache
def _escaped() -> re.Pattern[str]:
    return re.compile(rf'["\\\x0a{_ODD}]')


@cache
def _not_literal() -> re.Pattern[str]:
    # A space or break first would set the indentation, some trim a line of spaces, breaks last depend on chomping.
    return re.compile(rf"\A[ \n]|\n +(?:\n|\Z)|\n\n\Z|[{_ODD}]")


def _escape(match: re.Match[str]) -> str:
    char = match[0]
    if "\ud800" <= char <= "\udfff":
        raise YamlError("must be Unicode text to be written; got half of a surrogate pair")
    return _ESCAPES.get(char) or f"\\u{ord(char):04x}"


def _float(value: float) -> str:
    text = repr(value)
    if text in ("nan", "inf", "-inf"):
        return {"nan": ".nan", "inf": ".inf", "-inf": "-.inf"}[text]
    mantissa, e, exponent = text.partition("e")
    # YAML 1.1 knows a float by its dot.
    return f"{mantissa}.0e{exponent}" if e and "." not in mantissa else text
