"""The colours of a terminal."""

from __future__ import annotations

from krmfn.result import Severity

__all__ = ["FAINT", "SEVERITIES", "tinted"]

FAINT = 2
SEVERITIES = {Severity.ERROR: 31, Severity.WARNING: 33, Severity.INFO: 36}
"""Red, yellow and cyan."""


def tinted(text: str, colour: int, *, coloured: bool) -> str:
    """`text` in that colour, where colours are wanted."""
    return f"\033[{colour}m{text}\033[0m" if coloured and text else text
