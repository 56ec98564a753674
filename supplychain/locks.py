"""The lock files as Python values."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

__all__ = ["ROOT", "RUNTIME", "Pin", "read_lock"]

ROOT = Path(__file__).resolve().parents[1]

RUNTIME = ROOT / "requirements.lock"
"""The lock of the libraries that packwise needs at run time, with every extra. Builds, tests and audits have other
locks.
"""

_ENTRY = re.compile(r"^([a-z0-9.-]+)==([^ ;]+)", re.MULTILINE)
_PARENT = re.compile(r"^    #(?: via|  ) +([a-z0-9.-]+)", re.MULTILINE)


class Pin(NamedTuple):
    """A locked library, and the names of the libraries that require it."""

    name: str
    version: str
    parents: frozenset[str]


def read_lock(path: Path) -> list[Pin]:
    """Return the pins of a lock that uv wrote, sorted by name as in the file."""
    entries = re.split(r"^(?=[a-z0-9])", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return [_pin(entry) for entry in entries]


def _pin(entry: str) -> Pin:
    match = _ENTRY.match(entry)
    if match is None:
        raise ValueError(f"a lock must have entries NAME==VERSION; got {entry.splitlines()[0]!r}")
    return Pin(match[1], match[2], frozenset(_PARENT.findall(entry)))
