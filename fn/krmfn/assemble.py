"""A ResourceList's text put together again after an edit."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from krmfn.edit import same
from krmfn.errors import FieldError
from krmfn.yamltext import YamlError, read, write
from krmfn.yamltext.writer import write_entry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from krmfn.envelope import Envelope
    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from krmfn.yamltext import Span

__all__ = ["assemble"]


def assemble(envelope: Envelope, items: Sequence[KubeObject] | None, results: list[Value] | None) -> str:
    """The list's text with `items` and `results`; None keeps what came in.

    Raises FieldError where an item has no written form.
    """
    kept = envelope.items if items is None else items
    if envelope.simple:
        return _joined(envelope, kept, results)
    wanted = _wanted(envelope, kept, results)
    if envelope.head != envelope.text:
        # An anchor of an item may be gone while another item still refers to it: read again, and written out then.
        for expand in (False, True):
            text = _joined(envelope, kept, results, expand=expand)
            if _reads_as(text, wanted):
                return text
    return write(wanted)


def _joined(
    envelope: Envelope, items: Sequence[KubeObject], results: list[Value] | None, *, expand: bool = False
) -> str:
    if envelope.indent is None:
        return _joined_flow(envelope, items, results, expand=expand)
    head, tail = envelope.head, envelope.tail
    if results is not None:
        head, tail = _with_results(envelope, results)
    entries = _entries(envelope, items, expand=expand)
    if not entries:
        return _emptied(head, envelope.newline) + tail
    if not head.endswith("\n"):
        head += envelope.newline
    for number, entry in enumerate(entries):
        if not entry.endswith("\n") and (tail or number < len(entries) - 1):
            entries[number] = entry + envelope.newline
    return head + "".join(entries) + tail


def _entries(envelope: Envelope, items: Sequence[KubeObject], *, expand: bool) -> list[str]:
    indent = cast("str", envelope.indent)
    mark, newline = indent + "-", envelope.newline
    own = {id(item) for item in envelope.items}
    entries: list[str] = []
    for item in items:
        if id(item) in own and not expand:
            entries.append(item.source.text)
        elif not item.written or (expand and not _stands_alone(item)):
            entries.append(_written(item, indent, newline))
        elif item.source.root == (0,) and _dash_at(item.source.text, mark):
            entries.append(item.source.text)
        else:
            from krmfn.reindent import list_entry

            entries.append(list_entry(item.text, indent, newline, item.value))
    return entries


def _dash_at(text: str, mark: str) -> bool:
    """Whether the entry's dash stands where `mark` has it; comment lines may stand above it."""
    at = 0
    while text.startswith("#", at) or text.startswith(mark[:-1] + "#", at) or text[at : at + 1] in ("\n", "\r"):
        at = text.find("\n", at) + 1
        if at == 0:
            return False
    return text.startswith(mark, at)


def _stands_alone(item: KubeObject) -> bool:
    source = item.source
    return source.root == (0,) and _reads_as(source.text, [item.value])


def _written(item: KubeObject, indent: str, newline: str) -> str:
    try:
        text = write_entry(item.value, indent)
    except YamlError as error:
        raise FieldError(item.id, (), error.message, item.location()) from None
    return text if newline == "\n" else text.replace("\n", newline)


def _emptied(head: str, newline: str) -> str:
    """`head` with an empty list at its key, which is on its last line but for comments."""
    at = head.rfind("\n", 0, _key_end(head)) + 1
    key_end = head.index(":", at) + 1
    text = head[:key_end] + " []" + head[key_end:]
    return text if text.endswith("\n") else text + newline


def _key_end(head: str) -> int:
    """The end of the last line of `head` that is no comment and not blank."""
    end = len(head)
    while end > 0:
        start = head.rfind("\n", 0, end) + 1
        line = head[start:end].strip()
        if line and not line.startswith("#"):
            return end
        end = start - 1
    return 0


def _with_results(envelope: Envelope, results: list[Value]) -> tuple[str, str]:
    head, tail, newline = envelope.head, envelope.tail, envelope.newline
    if results and "results" not in envelope.rest and envelope.simple and _takes_more(tail):
        added = write({"results": results}).replace("\n", newline)
        return head, tail + ("" if not tail or tail.endswith("\n") else newline) + added
    frame = f"{head}{'' if head.endswith(chr(10)) else newline}{envelope.indent}- 0{newline}{tail}"
    frame = _set_results(frame, results)
    span = _locate(frame, ("items", 0))
    start = frame.rfind("\n", 0, span.start) + 1
    return frame[:start], frame[frame.find("\n", start) + 1 :]


def _set_results(frame: str, results: list[Value]) -> str:
    from krmfn.yamltext import remove_value, set_value

    return set_value(frame, ("results",), results) if results else remove_value(frame, ("results",))


def _locate(frame: str, path: FieldPath) -> Span:
    from krmfn.yamltext import locate

    span = locate(frame, path)
    if span is None:
        raise YamlError("must hold its items")
    return span


def _takes_more(tail: str) -> bool:
    return not tail.startswith(("...", "---", "{")) and "\n..." not in tail and "\n---" not in tail


def _joined_flow(envelope: Envelope, items: Sequence[KubeObject], results: list[Value] | None, *, expand: bool) -> str:
    body = _flow_body(envelope, items, expand=expand)
    if results is None:
        return envelope.head + body + envelope.tail
    frame = _set_results(envelope.head + envelope.tail, results)
    span = _locate(frame, ("items",))
    start = frame.index("[", span.start) + 1
    return frame[:start] + body + frame[start:]


def _flow_body(envelope: Envelope, items: Sequence[KubeObject], *, expand: bool) -> str:
    from krmfn.yamltext.writer import flow

    seams = envelope.seams
    place = {id(item): number for number, item in enumerate(envelope.items)}
    origin = {id(item.origin): number for number, item in enumerate(envelope.items) if item.written}
    pieces: list[str] = []
    before = -1
    between = seams[1] if len(seams) > 2 else ", "
    for count, item in enumerate(items):
        at = place.get(id(item), origin.get(id(item.origin), -2) if item.written else -2)
        follows = at >= 0 and at == before + 1 and (count > 0) == (at > 0)
        pieces.append(seams[at] if follows else (between if count else seams[0] if len(seams) > 1 else ""))
        own = at >= 0 and item.written and not item.source.root and not expand
        pieces.append(item.source.text if own else flow(cast("Value", item.value)))
        before = at
    last = seams[len(seams) - 1]
    if not items:
        last = last.lstrip(" \t\r\n").removeprefix(",")
    return "".join(pieces) + last


def _wanted(envelope: Envelope, items: Sequence[KubeObject], results: list[Value] | None) -> dict[str, Value]:
    rest = dict(envelope.rest)
    old = rest.pop("results", None)
    config = {"functionConfig": rest.pop("functionConfig")} if "functionConfig" in rest else {}
    value: dict[str, Value] = {**rest, "items": [item.value for item in items], **config}
    new = old if results is None else results
    return {**value, "results": new} if (new is not None and new != []) or (results is None and old == []) else value


def _reads_as(text: str, value: Value) -> bool:
    try:
        return same(read(text), value)
    except YamlError:
        return False
