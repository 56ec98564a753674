"""The lines of templates that made the lines of a built text, if they can be found.

Helm records no positions. A line of a template matches the lines that have its fixed text, with any text instead of its
braces. If several lines match, the lines with a matching parent line (by indentation) are preferred.
"""

from __future__ import annotations

import re
from functools import lru_cache

from krmfn.hints import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_ACTION = re.compile(r"\{\{(?:[^{}\n]|\{(?!\{)|\}(?!\}))*+\}\}")
_MAX_LINES = 5000
_LONGEST = 2000


def template_line(template: str, built: str, line: int) -> int | None:
    """Return the 1-based line of a template that made the 1-based line of a built text. Return None if unknown.

    A line that a function of the template made is located at the nearest parent line with a known origin.
    """
    lines = built.split("\n")
    if not 0 < line <= len(lines) or len(lines) > _MAX_LINES:
        return None
    matcher = _matcher(template)
    at: int | None = line - 1
    while at is not None:
        hits = matcher.candidates(lines, at)
        if hits:
            return hits[0] + 1 if len(hits) == 1 else None
        at = _parent(lines, at)
    return None


class _Matcher:
    """The fixed parts of each line of a template."""

    def __init__(self, template: str) -> None:
        self._lines = template.split("\n")[:_MAX_LINES]
        self._parts = [_fixed_parts(line) for line in self._lines]

    def candidates(self, built: Sequence[str], at: int) -> list[int]:
        """Return the lines of the template that can have made the built line `at` and its parent lines."""
        chain = [at]
        while (above := _parent(built, chain[-1])) is not None and len(chain) < 20:
            chain.append(above)
        hits = [place for place, each in enumerate(self._parts) if each is not None and _fits(each, built[at])]
        for depth in range(1, len(chain)):
            if len(hits) < 2:
                break
            kept = [place for place in hits if self._is_below(place, built, chain[1 : depth + 1])]
            hits = kept or hits
        return hits

    def _is_below(self, place: int, built: Sequence[str], above: Sequence[int]) -> bool:
        for line in above:
            parent = _parent(self._lines, place)
            while parent is not None and self._parts[parent] is None:
                parent = _parent(self._lines, parent)
            if parent is None:
                return False
            parts = self._parts[parent]
            if parts is None or not _fits(parts, built[line]):
                return False
            place = parent
        return True


@lru_cache(64)
def _matcher(template: str) -> _Matcher:
    return _Matcher(template)


def _fixed_parts(line: str) -> tuple[str, ...] | None:
    """Return the fixed parts of a line of a template in order, or None without fixed text."""
    if len(line) > _LONGEST:
        return None
    fixed = _ACTION.split(line.strip())
    if not any(re.search(r"\w", each) for each in fixed) or line.lstrip().startswith(("#", "{{/*")):
        return None
    return tuple(fixed)


def _fits(parts: tuple[str, ...], line: str) -> bool:
    """Return True if a line consists of these parts in their order, with any text between them."""
    line = line.strip()
    if len(line) > _LONGEST or not line.startswith(parts[0]):
        return False
    if len(parts) == 1:
        return line == parts[0]
    at, end = len(parts[0]), len(line) - len(parts[-1])
    for part in parts[1:-1]:
        at = line.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return at <= end and line.endswith(parts[-1])


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _parent(lines: Sequence[str], at: int) -> int | None:
    """Return the nearest line above with less indentation, or None. Comments and actions of templates do not count."""
    own = _indentation(lines[at])
    if not own:
        return None
    for place in range(at - 1, -1, -1):
        line = lines[place]
        if line.strip() and not line.lstrip().startswith(("#", "{{")) and _indentation(line) < own:
            return place
    return None
