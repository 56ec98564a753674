"""Where a field stands in a text."""

from __future__ import annotations

from dataclasses import dataclass

from krmfn.hints import TYPE_CHECKING
from krmfn.yamltext.error import line_and_column
from krmfn.yamltext.tree import find

if TYPE_CHECKING:
    from krmfn.fieldpath import FieldPath

__all__ = ["Span", "locate", "locate_nearest"]


@dataclass(frozen=True, slots=True)
class Span:
    """Where a value or key stands: character offsets [start, end) in the text, and 1-based line and column of start."""

    start: int
    end: int
    line: int
    column: int


def locate(text: str, path: FieldPath, *, key: bool = False) -> Span | None:
    """Where the value at `path` stands (with `key`, the key that holds it); None where there is none.

    A value's span holds its anchor and tag, and for a block value neither the break nor the comment after it. A key
    that only a merge (`<<`) brings has no span. Raises YamlError where the text cannot be read up to the value.
    """
    nodes = find(text, path)
    if not nodes or len(nodes) <= len(path):
        return None
    node = nodes[-1]
    if key and node.key_start >= 0:
        return Span(node.key_start, node.key_end, *line_and_column(text, node.key_start))
    return Span(node.start, max(node.end, node.start), *line_and_column(text, node.start))


def locate_nearest(text: str, path: FieldPath) -> Span:
    """Where the deepest part of `path` that exists stands; the start of the text when it holds nothing."""
    nodes = find(text, path)
    if not nodes:
        return Span(0, 0, 1, 1)
    node = nodes[-1]
    return Span(node.start, max(node.end, node.start), *line_and_column(text, node.start))
