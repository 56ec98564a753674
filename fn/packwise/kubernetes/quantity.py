"""Quantities: `500m`, `2`, `64Gi`. Source: apimachinery v0.34, api/resource."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache

__all__ = ["canonical_quantity", "quantity_fault"]

# Kubernetes takes a suffix without a number for nothing of it.
_QUANTITY = re.compile(r"[+-]?[0-9]*+(?:\.[0-9]*+)?([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]++)?")
# What it takes apart before it looks at the suffix.
_SHAPE = re.compile(r"[+-]?[0-9]*+(?:\.[0-9]*+)?[eEinumkKMGTP]*+[+-]?[0-9]*+")

_BINARY_STEP = 1024
_BINARY_SUFFIXES = ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_DECIMAL_SUFFIXES = (
    (18, "E"), (15, "P"), (12, "T"), (9, "G"), (6, "M"), (3, "k"), (0, ""), (-3, "m"), (-6, "u"), (-9, "n"),
)  # fmt: skip

_FORMAT_TEXT = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_SUFFIX_TEXT = "unable to parse quantity's suffix"


@lru_cache(maxsize=4096)
def quantity_fault(text: str) -> str | None:
    """Kubernetes' own text about what is wrong with `text` as a quantity; None where it is one."""
    text = text.strip()
    if not text or not _SHAPE.fullmatch(text):
        return _FORMAT_TEXT
    return None if _QUANTITY.fullmatch(text) else _SUFFIX_TEXT


def canonical_quantity(text: str) -> str:
    """`text`, which is a quantity, as Kubernetes prints it: `0.5` is `500m`, `2000` is `2k`, `1024Mi` is `1Gi`."""
    from packwise.kubernetes.pod_requests import quantity_of

    amount = quantity_of(text)
    if not amount:
        return "0" if amount is not None else text
    if text.strip().endswith("i") and amount.denominator == 1 and abs(amount) >= _BINARY_STEP:
        power, rest = 0, int(amount)
        while rest % _BINARY_STEP == 0 and power < len(_BINARY_SUFFIXES):
            power, rest = power + 1, rest // _BINARY_STEP
        return f"{rest}{_BINARY_SUFFIXES[power - 1] if power else ''}"
    for power, suffix in _DECIMAL_SUFFIXES:
        rest = amount / Fraction(10) ** power
        if rest.denominator == 1:
            return f"{rest.numerator}{suffix}"
    return f"{(amount * 10**9).__ceil__()}n"
