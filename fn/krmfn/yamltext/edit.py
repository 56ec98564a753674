"""A value set or removed in a text, with no other byte touched."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.yamltext import native

if TYPE_CHECKING:
    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value

__all__ = ["remove_value", "set_unparsed", "set_value"]


def set_value(text: str, path: FieldPath, value: Value) -> str:
    """`text` with `value` at `path`: replaced where there is one, else inserted, its parents too.

    Nothing else changes: comments, indentation, flow style, line ends. A text that holds the value already comes back
    as it is. An index one past the end of a list appends. An alias on the way is written out in its place.

    Raises YamlError: the text cannot be read up to the value, a parent is of another type, an index is out of range,
    or an anchor on the way is used elsewhere, where the edit would show too.
    """
    edited = set_unparsed(text, path, value)
    if edited is not None:
        return edited
    from krmfn.yamltext.eventedit import set_by_events

    return set_by_events(text, path, value)


def set_unparsed(text: str, path: FieldPath, value: Value) -> str | None:
    """What `set_value` gives, by the lines alone; None where it takes a parser to know, or to say what is wrong."""
    edited = native.set_string(text, path, value) if type(value) is str else None
    if edited is not None:
        return edited
    from krmfn.yamltext.lines import set_by_lines

    return set_by_lines(text, path, value)


def remove_value(text: str, path: FieldPath, *, prune: bool = False, keep_comments: bool = False) -> str:
    """`text` without the value at `path` and its key; unchanged where there is none.

    Its lines go, comments of others stay; with `keep_comments` its own stay too, as lines in its place. A parent left
    without entries becomes `{}` or `[]`; with `prune` it goes too, and its parents likewise, the root excepted. Raises
    YamlError as `set_value` does, and where a comment could not stay.
    """
    from krmfn.yamltext.eventedit import remove_by_events

    removed = remove_by_events(text, path, prune=prune)
    if not keep_comments or removed == text or "#" not in text:
        return removed
    from krmfn.yamltext.comments import with_lost_comments
    from krmfn.yamltext.spans import locate

    span = locate(text, path, key=True)
    return with_lost_comments(text, removed, text.rfind("\n", 0, span.start if span else 0) + 1)
