"""Numbers as Go reads them from text, and what it says of what is none. Source: Go, strconv.ParseInt and Atoi."""

from __future__ import annotations

import re

from packwise.kubernetes.field_error import go_quote

__all__ = ["atoi", "parse_int"]

_DECIMAL = re.compile(r"[+-]?[0-9]+", re.ASCII)
_INT32, _INT64 = 1 << 31, 1 << 63


def parse_int(text: str) -> int | str:
    """A number of 32 bits, or the fault that `strconv.ParseInt` tells."""
    return _number(text, _INT32, "ParseInt")


def atoi(text: str) -> int | str:
    """A number of 64 bits, or the fault that `strconv.Atoi` tells."""
    return _number(text, _INT64, "Atoi")


def _number(text: str, limit: int, function: str) -> int | str:
    fault = f"strconv.{function}: parsing {go_quote(text)}: "
    if not _DECIMAL.fullmatch(text):
        return f"{fault}invalid syntax"
    digits = text.lstrip("+-").lstrip("0") or "0"
    # Python refuses to read numbers of thousands of digits.
    number = int(digits) if len(digits) < len(str(_INT64)) + 1 else _INT64 + 1
    number = -number if text.startswith("-") else number
    return number if -limit <= number < limit else f"{fault}value out of range"
