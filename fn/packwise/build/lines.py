"""The source lines of built lines in templates and resources, if they can be found.

Helm records no positions. A template line with text of its own matches the lines that it makes, with any text in place
of its braces. If several match, the one with a matching parent line by indentation counts.
"""

from __future__ import annotations

import re
from functools import lru_cache

from krmfn.hints import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_ACTION = re.compile(r"\{\{(?:[^{}\n]|\{(?!\{)|\}(?!\}))*+\}\}")
_MOST_LINES = 5000
_LONGEST = 2000


def template_line(template: str, built: str, line: int) -> int | None:
    """Return the line of a template that makes the 1-based line of a built text, or None if unknown.

    A line made by a function of the template is located by the nearest line above with a known origin.
    """
    lines = built.split("\n")
    if not 0 < line <= len(lines) or len(lines) > _MOST_LINES:
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
    """The lines of a template that have text of their own, as the fixed parts of the lines that they make."""

    def __init__(self, template: str) -> None:
        self._lines = template.split("\n")[:_MOST_LINES]
        self._parts = [_fixed_parts(line) for line in self._lines]

    def candidates(self, built: Sequence[str], at: int) -> list[int]:
        """Return the lines that can make the line `at`, and the ones above it."""
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
    """Return True if a line has the parts in their order: the first place of each leaves the most to the others."""
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
    """Return the nearest line above that is indented less."""
    own = _indentation(lines[at])
    if not own:
        return None
    for place in range(at - 1, -1, -1):
        line = lines[place]
        if line.strip() and not line.lstrip().startswith(("#", "{{")) and _indentation(line) < own:
            return place
    return None
