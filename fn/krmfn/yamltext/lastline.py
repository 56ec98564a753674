"""The end of a text: a line break put there, or more lines, without a change to a block scalar that ends there."""

from __future__ import annotations

import re

from krmfn.yamltext.breaks import BREAKS, unified
from krmfn.yamltext.tree import tree_of

__all__ = ["ends_in_block_scalar", "stripped", "with_last_break"]

_HEADER = re.compile(r"([|>][0-9]*+)\+?([0-9]*+)(?![-0-9+])")


def with_last_break(text: str, newline: str = "\n") -> str:
    """`text` with a line break as its last character, so that more can follow; its value stays.

    Raises YamlError where the text cannot be read.
    """
    return text if not text or text.endswith(BREAKS) else stripped(text) + newline


def stripped(text: str) -> str:
    """`text`, whose last line has no break, so that its value stays when it gets one.

    A block scalar that ends there has a last line without break, and says so (`|-`) from now on. Raises YamlError where
    the text cannot be read.
    """
    header = _last_header(text) if "|" in text or ">" in text else -1
    match = None if header < 0 else _HEADER.match(text, header)
    return text if match is None else f"{text[:header]}{match[1]}-{match[2]}{text[match.end() :]}"


def ends_in_block_scalar(text: str) -> bool:
    """Whether the last value of `text` is a block scalar. Raises YamlError where the text cannot be read."""
    return ("|" in text or ">" in text) and _last_header(text) >= 0


def _last_header(text: str) -> int:
    """Where the `|` or `>` of the block scalar stands with which `text` ends; -1 where it ends otherwise."""
    scalars = tree_of(text).scalars()
    start, end, style = scalars[-1] if scalars else (0, 0, "")
    if style not in ("|", ">"):
        return -1
    # Past its anchor and tag, which may hold the mark too.
    line = re.compile(r"(?:[&!][^ \t\r\n]*(?:[ \t\r\n]|#[^\n]*)+)*").match(unified(text), start)
    header = start if line is None else line.end()
    return header if end == len(text) and text[header : header + 1] == style else -1
