"""The line and column of the nodes of a text, as findings name them."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from functools import lru_cache
from itertools import accumulate

from krmfn.hints import TYPE_CHECKING
from krmfn.yamltext.tree import find

if TYPE_CHECKING:
    from collections.abc import Iterable

    from krmfn.fieldpath import FieldPath

__all__ = ["nearest", "starts"]


def nearest(text: str, path: FieldPath, *, key: bool = False) -> tuple[int, int]:
    """Line and column of the deepest part of `path` that exists, 1-based; with `key`, of its key where all of it does.

    Raises YamlError where the text cannot be read up to there.
    """
    nodes = find(text, path)
    if not nodes:
        return 1, 1
    node = nodes[-1]
    is_key = key and path and len(nodes) > len(path) and node.key_start >= 0
    return _line_and_column(_line_starts(text), node.key_start if is_key else node.start)


def starts(text: str, paths: Iterable[FieldPath]) -> list[int | None]:
    """Where the value at each of `paths` starts, as offsets in `text`; None where there is none.

    Raises YamlError where the text cannot be read.
    """
    ways = [(find(text, path), path) for path in paths]
    return [nodes[-1].start if len(nodes) > len(path) else None for nodes, path in ways]


@lru_cache(maxsize=4)
def _line_starts(text: str) -> array[int]:
    """The offsets at which the lines of `text` start."""
    return array("L", accumulate([len(line) + 1 for line in text.split("\n")], initial=0))


def _line_and_column(line_starts: array[int], offset: int) -> tuple[int, int]:
    line = bisect_right(line_starts, offset)
    return line, offset - line_starts[line - 1] + 1
