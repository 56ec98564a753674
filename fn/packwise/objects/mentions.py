"""Workloads in texts that nothing parses: templates, encrypted files, files that are no YAML."""

from __future__ import annotations

import re

from packwise.objects.kinds import WORKLOADS

__all__ = ["workloads_in"]

_NAMES = "|".join([kind.name for kind in WORKLOADS])
_KIND = re.compile(
    rf"""^(?:[ \t]*- (?:[^\n]*\n[ \t]+)?)?kind:[ \t]*["']?(?:{_NAMES})["']?[ \t]*(?:#[^\n]*)?\r?$"""
    rf"""|"kind"[ \t]*:[ \t]*"(?:{_NAMES})\"""",
    re.MULTILINE,
)
"""The kind of a document, or of an entry of a list; not that of a reference, which stands deeper."""


def workloads_in(text: str) -> int:
    """How many workloads the text seems to hold; one that a template repeats counts once."""
    return sum([1 for _ in _KIND.finditer(text)])
