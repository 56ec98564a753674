"""Any ResourceList that YAML allows, cut at its items by the places of their nodes: right where lines mislead."""

from __future__ import annotations

import re
from itertools import pairwise

from krmfn.envelope import MAX_ITEMS, Envelope, cut, own_start, too_many_items
from krmfn.errors import describe
from krmfn.hints import TYPE_CHECKING, cast
from krmfn.kubeobject import KubeObject
from krmfn.source import Source
from krmfn.yamltext import YamlError, locate, read, set_value
from krmfn.yamltext.breaks import unified
from krmfn.yamltext.tree import find, tree_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from krmfn.value import Value

__all__ = ["cut_by_events"]

_SPACE = " \t\r\n"
_GAP = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")


def cut_by_events(text: str) -> Envelope:
    """`text` cut at its items. Raises YamlError where it cannot be read or is no mapping with a list of items."""
    fields: Any = read(text)
    if not isinstance(fields, dict):
        raise YamlError(f"must be a ResourceList; got {describe(cast('Value', fields))}")
    rest = dict(cast("dict[str, Value]", fields))
    values = rest.pop("items", None)
    if rest.get("kind") != "ResourceList":
        values = None
    if values is None:
        return _without_items(text, rest, missing="items" not in fields)
    if not isinstance(values, list):
        raise _error(text, ("items",), f"items must be a list; got {describe(values)}")
    if len(values) > MAX_ITEMS:
        raise _error(text, ("items", MAX_ITEMS), too_many_items(text, 0).message)
    for number, value in enumerate(values):
        if not isinstance(value, dict):
            raise _error(text, ("items", number), f"items[{number}] must be a mapping; got {describe(value)}")
    return _envelope(text, rest, cast("list[dict[str, Value]]", values))


def _error(text: str, path: tuple[str | int, ...], message: str) -> YamlError:
    span = locate(text, path)
    return YamlError(message) if span is None else YamlError(message, span.line, span.column)


def _without_items(text: str, rest: dict[str, Value], *, missing: bool) -> Envelope:
    if rest.get("kind") != "ResourceList":
        return Envelope(text, text, "", None, "\n", (), rest, None, simple=False)
    filled = set_value(text, ("items",), [])
    envelope = cut(filled)
    # kustomize takes a list without `items` for a resource, so that it is always written.
    return envelope if missing else envelope._replace(text=text)


def _envelope(text: str, rest: dict[str, Value], values: Sequence[dict[str, Value]]) -> Envelope:
    # Items that an alias brings, or that share a line with their key, have no text of their own to keep.
    items = tuple(KubeObject.new(value) for value in values)
    newline = "\r\n" if "\r\n" in text[:1000] else "\n"
    opaque = Envelope(text, text, "", None, newline, items, rest, _config(text, rest), simple=False)
    nodes = find(text, ("items",))
    if len(nodes) < 2 or nodes[-1].kind != "list":
        return opaque
    node = nodes[-1]
    spans = tree_of(text).entries(node.number)
    if node.is_flow:
        return _flow(opaque, values, spans, (text.index("[", node.start) + 1, node.mark_end))
    return _block(opaque, values, spans)


def _flow(
    whole: Envelope, values: Sequence[dict[str, Value]], spans: Sequence[tuple[int, int]], inside: tuple[int, int]
) -> Envelope:
    text = whole.text
    seams: list[str] = []
    last = inside[0]
    for start, end in spans:
        seams.append(text[last:start])
        last = end
    seams.append(text[last : inside[1]])
    items = _objects(text, spans, (), values)
    return whole._replace(head=text[: inside[0]], tail=text[inside[1] :], items=items, seams=tuple(seams))


def _block(whole: Envelope, values: Sequence[dict[str, Value]], spans: Sequence[tuple[int, int]]) -> Envelope:
    text = unified(whole.text)
    edges: list[int] = []
    indent = ""
    dash = _first_dash(text, spans[0][0])
    low = 0
    for _, end in spans:
        line = text.rfind("\n", 0, dash) + 1
        if dash < 0 or text[line:dash].strip(" "):
            return whole
        indent = text[line:dash]
        edges.append(own_start(text, line, low, indent))
        low = text.find("\n", end) + 1 or len(text)
        dash = _gap_end(text, end)
    stop = len(text) if dash == len(text) else text.rfind("\n", 0, dash) + 1
    edges.append(own_start(text, max(stop, low), low, ""))
    text = whole.text
    items = _objects(text, list(pairwise(edges)), (0,), values)
    return whole._replace(head=text[: edges[0]], tail=text[edges[-1] :], indent=indent, items=items)


def _objects(
    text: str, spans: Sequence[tuple[int, int]], root: tuple[int, ...], values: Sequence[dict[str, Value]]
) -> tuple[KubeObject, ...]:
    items: list[KubeObject] = []
    line, line_start, seen = 1, 0, 0
    for (start, end), value in zip(spans, values, strict=True):
        line += text.count("\n", seen, start)
        line_start = text.rfind("\n", seen, start) + 1 or line_start
        seen = start
        items.append(KubeObject.cut(Source(text[start:end], root, line, start - line_start + 1), value))
    return tuple(items)


def _first_dash(text: str, start: int) -> int:
    """The dash of the entry at `start`: on its line, or alone on one above; -1 where it has no such line."""
    end = start
    while end >= 0:
        line = text.rfind("\n", 0, end) + 1
        content = text[line : max(start, line)].lstrip(" ")
        if content.startswith("-"):
            return line + len(text[line:start]) - len(content)
        if text[line:end].strip(_SPACE) and not content.startswith("#") and end != start:
            return -1
        end = line - 1
    return -1


def _gap_end(text: str, after: int) -> int:
    gap = _GAP.match(text, after)
    return after if gap is None else gap.end()


def _config(text: str, rest: dict[str, Value]) -> KubeObject | None:
    config = rest.get("functionConfig")
    if not isinstance(config, dict):
        return None
    return KubeObject.cut(Source(text, ("functionConfig",)), config)
