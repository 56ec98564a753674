"""Where the nodes of a text stand: found in one walk, since many findings of one document need no walk each.

Of usual texts the lines tell; only others need libyaml, and import it.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from functools import lru_cache

from krmfn.hints import TYPE_CHECKING
from krmfn.yamltext import native
from krmfn.yamltext.error import YamlError
from krmfn.yamltext.lineplaces import LinePlaces

if TYPE_CHECKING:
    from collections.abc import Iterable

    from krmfn.fieldpath import FieldPath
    from krmfn.yamltext.lineplaces import Place

__all__ = ["key_lines", "nearest", "starts"]

_SMALL = 16384
"""Characters of a text that the native core walks for each place. Of larger ones, where many places may be asked for,
a walk is kept."""
_LARGEST = 4 << 20
"""Characters of a text that is walked whole; of larger ones, each place is looked for by itself."""


def nearest(text: str, path: FieldPath, *, key: bool = False) -> tuple[int, int]:
    """Line and column of the deepest part of `path` that exists, 1-based; with `key`, of its key where all of it does.

    Raises YamlError where the text cannot be read up to there.
    """
    position = native.nearest(text, path, key) if len(text) <= _SMALL else None
    if position is not None:
        return position
    if len(text) > _LARGEST:
        return _by_walking(text, path, key=key)
    try:
        place, missing = _deepest(text, path)
    except YamlError:
        # What is wrong may stand behind the place.
        return _by_walking(text, path, key=key)
    is_key = key and path and not missing and place.key >= 0
    return _line_and_column(_line_starts(text), place.key if is_key else place.start)


def starts(text: str, paths: Iterable[FieldPath]) -> list[int | None]:
    """Where the value at each of `paths` starts, as offsets in `text`; None where there is none.

    Raises YamlError where the text cannot be read.
    """
    deepest = [_deepest(text, path) for path in paths]
    return [None if missing else place.start for place, missing in deepest]


def key_lines(text: str, path: FieldPath) -> tuple[int, int] | None:
    """The lines of the first and the last key of the block mapping at `path`, 1-based.

    None where there is no such mapping, where its last entry has more than a line, and where it takes libyaml to know.
    """
    lines = native.key_lines(text, path) if len(text) <= _SMALL else None
    if lines is not None:
        return lines
    # A step that no mapping has: its lines are read to the end.
    mapping, missing = _by_lines(text).deepest((*path, -1)) or (None, 0)
    if mapping is None or missing > 1 or not mapping.parts or text[mapping.start] == "{":
        return None
    *_, last = mapping.parts.values()
    if last.key < 0 or last.parts or text[last.start : last.start + 1] in ("|", ">"):
        return None
    line_starts = _line_starts(text)
    return _line_and_column(line_starts, mapping.start)[0], _line_and_column(line_starts, last.key)[0]


def _deepest(text: str, path: FieldPath) -> tuple[Place, int]:
    """The deepest part of `path` that exists, and how many steps it lacks."""
    place, missing = _by_lines(text).deepest(path) or (None, 0)
    return _by_events(text).deepest(path) if place is None or (missing and place.is_closed) else (place, missing)


@lru_cache(maxsize=4)
def _line_starts(text: str) -> array[int]:
    """The offsets at which the lines of `text` start."""
    return array("L", [0, *(match.end() for match in re.finditer("\n", text))])


def _line_and_column(line_starts: array[int], offset: int) -> tuple[int, int]:
    line = bisect_right(line_starts, offset)
    return line, offset - line_starts[line - 1] + 1


@lru_cache(maxsize=4)
def _by_lines(text: str) -> LinePlaces:
    return LinePlaces(text)


@lru_cache(maxsize=4)
def _by_events(text: str) -> Place:
    from krmfn.yamltext.eventplaces import places_by_events

    return places_by_events(text)


def _by_walking(text: str, path: FieldPath, *, key: bool) -> tuple[int, int]:
    from krmfn.yamltext.spans import locate, locate_nearest

    span = locate(text, path, key=True) if key and path else None
    span = span or locate_nearest(text, path)
    return span.line, span.column
