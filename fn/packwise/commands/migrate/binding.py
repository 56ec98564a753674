"""The levels of a configuration as an object of their own, comments and layout carried over.

Source: spec/designs.md#1, spec/grove.md#9.
"""

from __future__ import annotations

import re

from krmfn.edit import same
from krmfn.hints import TYPE_CHECKING
from krmfn.yamltext import YamlError, locate, read, write
from krmfn.yamltext.comments import placed_comments

if TYPE_CHECKING:
    from collections.abc import Sequence

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from packwise.topology.levels import Level

__all__ = ["levels_text"]

_ITEM = re.compile(r"( *)-(?: |$)")


def levels_text(text: str, path: FieldPath, levels: Sequence[Level], indent: str) -> str:
    """`levels:` and below it the levels in this order, at `indent`: the lines of `text` at `path` where they can move.

    `path` leads to the levels as they were written. Lines of a block list move with the comments above them; what was
    written in another style is written anew below its comments.
    """
    value: list[Value] = [{"domain": level.domain, "key": level.key} for level in levels]
    lines = _lines(text, path)
    for moved in (lines, _in_order(lines, value)):
        if _reads_as(moved, value):
            return "".join([f"{indent}{line}\n" if line else "\n" for line in moved])
    span = locate(text, path)
    # A part of a text may be no YAML: its first line is moved without the others.
    lost = [comment for at, comment in placed_comments(text) if span is not None and span.start <= at < span.end]
    return "".join([f"{indent}{line}\n" for line in (*lost, *write({"levels": value}).splitlines())])


def _lines(text: str, path: FieldPath) -> list[str]:
    """The lines of the entry at `path`, the first one without what stands before it, the others moved as far."""
    key, value = locate(text, path, key=True), locate(text, path)
    if key is None or value is None:
        return []
    column = key.start - text.rfind("\n", 0, key.start) - 1
    end = text.find("\n", value.end)
    first, *rest = [line.removesuffix("\r") for line in text[key.start : end if end >= 0 else None].split("\n")]
    return [first, *(line[column:] if not line[:column].strip() else line.lstrip() for line in rest)]


def _in_order(lines: list[str], value: list[Value]) -> list[str]:
    """`lines` of a block list, its items in the order of `value`, each with the comments above it."""
    dashes = [match.end(1) for line in lines if (match := _ITEM.match(line))]
    head: list[str] = lines[:1]
    items: list[list[str]] = []
    above: list[str] = []
    for line in lines[1:]:
        match = _ITEM.match(line)
        if match and match.end(1) == min(dashes):
            items.append([*above, line])
            above = []
        elif not line.strip() or line.lstrip().startswith("#") or not items:
            above.append(line)
        else:
            items[-1] += [*above, line]
            above = []
    written = _read([*head, *(line for item in items for line in item)])
    if not isinstance(written, list) or len(written) != len(items):
        return []
    places: list[int] = []
    for wanted in value:
        # A level that stands twice is two items.
        left = [place for place, entry in enumerate(written) if place not in places and same(entry, wanted)]
        places += left[:1]
    if len(places) != len(items):
        return []
    return [*head, *(line for place in places for line in items[place]), *above]


def _reads_as(lines: list[str], value: list[Value]) -> bool:
    return same(_read(lines), value)


def _read(lines: list[str]) -> Value:
    try:
        value = read("".join([f"{line}\n" for line in lines]))
    except YamlError:
        return None
    return value.get("levels") if isinstance(value, dict) else None
