"""Spelling a scalar so that every YAML reader, 1.1 or 1.2, takes it for what it is."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from krmfn.yamltext.error import YamlError

if TYPE_CHECKING:
    from krmfn.value import Scalar

__all__ = ["double_quoted", "flow_key", "key", "literal_lines", "scalar"]

_PLAIN = re.compile(
    r"[A-Za-z/][A-Za-z0-9_./@+()=~$-]*(?:[ :][A-Za-z0-9_./@+()=~$-]+)*"
    # A quantity: digits first, and yet no reader's number.
    r"|[0-9]+(?:\.[0-9]+)?(?:m|k|[MGTP]|[KMGTPE]i)"
)
_FLOW_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*")
# YAML 1.1's booleans and nulls, the floats of lax readers; each also in capitals.
_WORDS = frozenset(
    form
    for word in ("y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf", "infinity")
    for form in (word, word.capitalize(), word.upper())
) | {"NaN"}
_ESCAPED = re.compile(r'["\\\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]')
_CONSTANTS = {None: "null", True: "true", False: "false"}
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
# A space or break first would set the indentation, a line of spaces is trimmed by some, breaks last depend on chomping.
_NOT_LITERAL = re.compile(
    r"\A[ \n]|\n +(?:\n|\Z)|\n\n\Z|[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]"
)


def scalar(value: Scalar) -> str:
    """`value` on one line, for a block context."""
    if type(value) is str:
        if _PLAIN.fullmatch(value) and value not in _WORDS:
            return value
        return double_quoted(value)
    if value is None or isinstance(value, bool):
        return _CONSTANTS[value]
    return _float(value) if isinstance(value, float) else str(value)


@lru_cache(maxsize=4096)
def key(text: str) -> str:
    """A mapping key on one line, for a block context."""
    return scalar(text)


def flow_key(text: str) -> str:
    """A mapping key for a flow mapping whose other keys stand without quotes."""
    return text if _FLOW_PLAIN.fullmatch(text) and text not in _WORDS else double_quoted(text)


def double_quoted(text: str) -> str:
    """`text` in double quotes, as JSON spells it; other than ASCII stands as it is where it can be printed."""
    return f'"{_ESCAPED.sub(_escape, text)}"'


def literal_lines(text: str) -> list[str] | None:
    """The lines of `text` for a literal block, or None where only quotes keep it for every reader."""
    if "\n" not in text or _NOT_LITERAL.search(text):
        return None
    return (text[:-1] if text.endswith("\n") else text).split("\n")


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
