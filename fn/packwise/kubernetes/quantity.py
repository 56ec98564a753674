"""Quantities: `500m`, `2`, `64Gi`. Source: apimachinery v0.34, api/resource."""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["quantity_fault"]

# Kubernetes takes a suffix without a number for nothing of it.
_QUANTITY = re.compile(r"[+-]?[0-9]*+(?:\.[0-9]*+)?([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]++)?")
# What it takes apart before it looks at the suffix.
_SHAPE = re.compile(r"[+-]?[0-9]*+(?:\.[0-9]*+)?[eEinumkKMGTP]*+[+-]?[0-9]*+")

_FORMAT_TEXT = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_SUFFIX_TEXT = "unable to parse quantity's suffix"


@lru_cache(maxsize=4096)
def quantity_fault(text: str) -> str | None:
    """Kubernetes' own text about what is wrong with `text` as a quantity; None where it is one."""
    text = text.strip()
    if not text or not _SHAPE.fullmatch(text):
        return _FORMAT_TEXT
    return None if _QUANTITY.fullmatch(text) else _SUFFIX_TEXT
