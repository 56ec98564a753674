"""Edits of an object. Each edit splices the object's text, and copies its value along the path."""

from __future__ import annotations

import re
from marshal import dumps

from krmfn.fieldpath import FieldError, FieldPath, describe, format_path
from krmfn.hints import TYPE_CHECKING, cast
from krmfn.yamltext import YamlError, read, write
from krmfn.yamltext.edit import changed_entry, remove_from, remove_value, set_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any, TypeAlias

    from krmfn.kubeobject import KubeObject, Source
    from krmfn.value import Value

Edit: TypeAlias = "Callable[[KubeObject, FieldPath], KubeObject]"
"""A function that changes the part of an object at a path, and returns the changed object."""

_Edits: TypeAlias = "dict[int | None, list[tuple[FieldPath, Edit]]]"
"""The edits in one list, each with the path from its entry. The keys are the indices of the entries, or None outside
lists.
"""

_Edited: TypeAlias = "tuple[Source | None, Mapping[str, Value]]"
"""The source and the value of an object after an edit. The source is None if the text must be written from the value.
"""
_ABSENT: Any = object()
_marshal: Callable[[Any, int], bytes] = dumps
_NOT_IN_PLACE = (
    "must be in block style, with each entry on its own line, and without anchors and aliases; otherwise the "
    "edit would "
    "change other text"
)


def is_same_json(first: Value, other: Value) -> bool:
    """Return True if two values are the same JSON. 1, 1.0 and true differ, and the order of keys does not matter."""
    # Format 2 of marshal writes every value with its type, so equal bytes are equal JSON. This takes a third of the
    # time of a comparison value by value. marshal raises ValueError for types that a caller defined.
    try:
        return _marshal(first, 2) == _marshal(other, 2) or _are_same(first, other)
    except ValueError:
        return _are_same(first, other)


def _are_same(first: Value, other: Value) -> bool:
    if isinstance(first, dict):
        if not isinstance(other, dict):
            return False
        return first.keys() == other.keys() and all(_are_same(first[key], other[key]) for key in first)
    if isinstance(first, (list, tuple)):
        if not isinstance(other, (list, tuple)):
            return False
        return len(first) == len(other) and all(map(_are_same, first, other))
    # `.nan` is not equal to itself.
    return type(first) is type(other) and (first == other or str(first) == str(other) == "nan")


def with_value(item: KubeObject, path: FieldPath, value: Value) -> _Edited:
    """Return the source and value of `item` with `value` at `path`, or unchanged if `path` has this value already.

    Raise FieldError if the value cannot be set there.
    """
    if not path and not isinstance(value, dict):
        raise item.error(path, f"must be a mapping; got {describe(value)}")
    present = item.get(path, _ABSENT)
    if present is not _ABSENT and is_same_json(present, value):
        return item.source if item.has_source else None, item.value
    changed: Mapping[str, Value] = _set_in(item, item.value, path, 0, value)
    if not item.has_source:
        return None, changed
    source = item.source
    try:
        return _set(source, path, value, changed), changed
    except YamlError as error:
        if _needs_others(source):
            return None, changed
        raise item.error(path, error.message) from None


def _set(source: Source, path: FieldPath, value: Value, changed: Mapping[str, Value]) -> Source | None:
    """Return `source` with `value` at `path`. Return None if the spliced text does not mean `changed`."""
    text = set_value(source.text, source.root + path, value)
    # An edited object is no longer part of a List.
    return source.replace(text=text, entry=()) if _means(text, source, path, changed) else None


def without_value(item: KubeObject, path: FieldPath, *, prune: bool, keep_comments: bool) -> _Edited:
    """Return the source and value of `item` without the part at `path`, or unchanged if there is none.

    Raise FieldError if the part cannot be removed.
    """
    if not path:
        raise item.error(path, "the path to remove must name a field")
    if item.get(path, _ABSENT) is _ABSENT:
        return item.source if item.has_source else None, item.value
    while prune and len(path) > 1 and len(cast("dict[str, Value]", item.get(path[:-1]))) == 1:
        path = path[:-1]
    changed: Mapping[str, Value] = remove_from(item.value, path)
    if not item.has_source:
        return None, changed
    source = item.source
    try:
        text = remove_value(source.text, source.root + path, keep_comments=keep_comments)
        if _means(text, source, path, changed):
            return source.replace(text=text, entry=()), changed
        if keep_comments and "#" in source.text:
            raise item.error(path, _NOT_IN_PLACE)
        return None, changed
    except YamlError as error:
        if _needs_others(source):
            return None, changed
        raise item.error(path, error.message) from None


def with_nesting(item: KubeObject, path: FieldPath, outer: str) -> _Edited:
    """Return the source and value of `item` after moving the entry at `path` into a new mapping at its place.

    The key of the new mapping is `outer`. Raise FieldError if the entry cannot be moved.
    """
    from krmfn.yamltext.places import nest_entry

    source = item.source
    try:
        text = nest_entry(source.text, source.root + path, outer)
    except YamlError as error:
        raise item.error(path, error.message) from None
    parent = cast("Mapping[str, Value]", item.get(path[:-1]))
    nested = {outer if key == path[-1] else key: {key: e} if key == path[-1] else e for key, e in parent.items()}
    changed = _set_in(item, item.value, path[:-1], 0, nested) if len(path) > 1 else nested
    return _edit_text(item, path, text, changed)


def with_quotes(item: KubeObject, path: FieldPath) -> _Edited:
    """Return the source and value of `item` with the plain scalar at `path` in quotes.

    Raise FieldError if there is none.
    """
    from krmfn.yamltext.places import quote_scalar

    source = item.source
    try:
        text = quote_scalar(source.text, source.root + path)
    except YamlError as error:
        raise item.error(path, error.message) from None
    if text == source.text:
        return source, item.value
    quoted = read(text)
    for step in source.root + path:
        quoted = cast("Any", quoted)[step]
    return _edit_text(item, path, text, _set_in(item, item.value, path, 0, quoted))


def with_name(item: KubeObject, path: FieldPath, name: str) -> _Edited:
    """Return the source and value of `item` with the key at `path` renamed to `name`.

    Raise FieldError if that is impossible.
    """
    from krmfn.yamltext.places import rename_key

    source = item.source
    try:
        text = rename_key(source.text, source.root + path, name)
    except YamlError as error:
        raise item.error(path, error.message) from None
    parent = cast("Mapping[str, Value]", item.get(path[:-1]))
    renamed = {name if key == path[-1] else key: entry for key, entry in parent.items()}
    changed = _set_in(item, item.value, path[:-1], 0, renamed) if len(path) > 1 else renamed
    return _edit_text(item, path, text, changed)


def group_by_list(edits: Iterable[tuple[FieldPath, Edit]]) -> dict[FieldPath, _Edits]:
    """Return `edits` by the path of the first list on their way, and by the index of its entry.

    An edit outside lists has the path () and the index None.
    """
    lists: dict[FieldPath, _Edits] = {}
    for path, edit in edits:
        at = next((at for at, step in enumerate(path) if isinstance(step, int)), None)
        index = None if at is None else cast("int", path[at])
        inner = path if at is None else path[at + 1 :]
        lists.setdefault(path[: at or 0], {}).setdefault(index, []).append((inner, edit))
    return lists


def with_entries(item: KubeObject, path: FieldPath, edits: _Edits) -> _Edited | None:
    """Return the source and value of `item` after `edits` of the entries in the list at `path`.

    The text is read twice. Each entry is edited within its own lines. Return None if the entries share lines (a flow
    list) or depend on each other (an alias), or if an edit fails. The caller then makes the edits one by one, so that
    the failing one raises its error.
    """
    from krmfn.yamltext.places import entry_lines

    source, entries = item.source, item.get(path)
    if not path or None in edits or not isinstance(entries, list):
        return None
    try:
        lines = entry_lines(source.text, source.root + path, len(entries))
        changed: list[Value] = list(entries)
        parts: list[str] = []
        at = 0
        for index in sorted(cast("dict[int, Any]", edits)):
            start, end = lines[index]
            entry = _edited_entry(item, source.text[start:end], entries[index], edits[index])
            changed[index] = entry.value
            parts += [source.text[at:start], entry.source.text]
            at = end
    except (YamlError, FieldError, LookupError):
        return None
    text = "".join([*parts, source.text[at:]])
    value: Mapping[str, Value] = _set_in(item, item.value, path, 0, changed)
    return (source.replace(text=text, entry=()), value) if _has_value(text, source.root, value) else None


def _edited_entry(item: KubeObject, lines: str, value: Value, edits: Sequence[tuple[FieldPath, Edit]]) -> KubeObject:
    """Return the entry of a list in `lines` after `edits`.

    Raise FieldError if `lines` read alone do not mean `value`.
    """
    entry = type(item)(item.source.replace(text=lines, root=(0,), entry=()))
    if not is_same_json(entry.value, value):
        raise item.error((), _NOT_IN_PLACE)
    for path, edit in edits:
        entry = edit(entry, path)
    if entry.source.root != (0,) or (not entry.source.text.endswith("\n") and lines.endswith("\n")):
        raise item.error((), _NOT_IN_PLACE)
    return entry


def _edit_text(item: KubeObject, path: FieldPath, text: str, changed: Mapping[str, Value]) -> _Edited:
    """Return the source with `text` and the value `changed`. Raise FieldError if `text` means another value."""
    if not _means(text, item.source, path, changed):
        raise item.error(path, _NOT_IN_PLACE)
    return item.source.replace(text=text, entry=()), changed


def _means(text: str, source: Source, path: FieldPath, value: Value) -> bool:
    """Return True if the object in `text` has `value`. `text` is the text of `source` after an edit at `path`."""
    return _entry_means(text, source, path, value) or _has_value(text, source.root, value)


def _entry_means(text: str, source: Source, path: FieldPath, value: Value) -> bool:
    """Return True if the edit changed only one entry, and the entry's lines read alone mean its part of `value`."""
    root = len(source.root)
    part: Any = value
    try:
        lines, depth = changed_entry(source.text, text, source.root + path, root)
        if not depth:
            return False
        for step in path[: depth - root]:
            part = part[step]
    except (YamlError, LookupError, TypeError):
        return False
    entry: dict[Any, Value] = {path[depth - root - 1]: part}
    return _has_value(lines, (), entry)


def _has_value(text: str, root: FieldPath, value: Value) -> bool:
    """Return True if `text` has `value` at `root`."""
    try:
        part: Any = read(text, is_kept=False)
        for step in root:
            part = part[step]
    except (YamlError, LookupError, TypeError):
        return False
    return is_same_json(part, value)


def _needs_others(source: Source) -> bool:
    """Return True if the text of `source` alone is not YAML.

    It has an alias to an anchor of another item, or it is JSON that is not YAML. It cannot be spliced, so the item is
    written from its value.
    """
    try:
        read(source.text)
    except YamlError:
        return True
    return False


def _set_in(item: KubeObject, old: Value, path: FieldPath, depth: int, value: Value) -> Any:
    if depth == len(path):
        return value
    step = path[depth]
    if isinstance(step, str) and (old is None or isinstance(old, dict)):
        mapping = dict(old or {})
        mapping[step] = _set_in(item, mapping.get(step), path, depth + 1, value)
        return mapping
    if isinstance(step, int) and (old is None or isinstance(old, (list, tuple))):
        entries = list(old or ())
        if not 0 <= step <= len(entries):
            message = f"must have an index from 0 to {len(entries)}, the number of entries; got {step}"
            raise item.error(path[: depth + 1], message)
        new = _set_in(item, entries[step] if step < len(entries) else None, path, depth + 1, value)
        entries[step : step + 1] = [new]
        return entries
    wanted = "a mapping" if isinstance(step, str) else "a list"
    raise item.error(path[:depth], f"must be {wanted} for {format_path(path)} to be set; got {describe(old)}")


_DASH = r"( *)-( +)(?=[^\s])"
# Text that has another meaning if its line moves to another column: markers, directives, tabs, byte order marks. Also
# block scalars with a number for their indentation.
_UNMOVABLE = r"^(?:---|\.\.\.|%)|\t|\ufeff|[|>][-+]?[0-9]"


def document_text(source: Source, value: Mapping[str, Value]) -> str:
    """Return the text of an object as a separate document, also if it was cut from a list.

    If its lines cannot be moved to the first column, write `value` in block style.
    """
    if source.root != (0,):
        return write(value)
    lines = source.text.split("\n")
    at = next(
        (n for n, line in enumerate(lines) if line.strip(" \t\r") and not line.lstrip(" \t\r").startswith("#")), 0
    )
    dash = re.match(_DASH, lines[at], re.ASCII)
    if dash is None:
        return write(value)
    width = dash.end()
    out: list[str] = []
    for number, line in enumerate(lines):
        if number == at:
            out.append(line[width:])
        elif not line[:width].strip(" \t\r"):
            out.append(line[width:] if line.strip(" \t\r") else line[width:].lstrip(" "))
        elif line.lstrip(" \t\r").startswith("#"):
            out.append(line.lstrip(" \t\r"))
        else:
            return write(value)
    text = "\n".join(out)
    return text if reads_as(text, value) else write(value)


def list_entry(text: str, indent: str, newline: str, value: Mapping[str, Value]) -> str:
    """Return the document `text` as an entry of a block list with dashes at `indent`.

    If its lines cannot be moved, write `value` in block style.
    """
    if re.search(_UNMOVABLE, text, re.MULTILINE):
        return _indent(write([value]), indent, newline)
    lines = [line.removesuffix("\r") for line in text.rstrip("\n").split("\n")]
    at = next(
        (n for n, line in enumerate(lines) if line.strip(" \t\r") and not line.lstrip(" \t\r").startswith("#")), 0
    )
    body = [f"{indent}- {lines[at]}", *(f"{indent}  {line}" if line else "" for line in lines[at + 1 :])]
    entry = newline.join([*(f"{indent}{line}" if line else "" for line in lines[:at]), *body]) + newline
    return entry if reads_as(entry, [value]) else _indent(write([value]), indent, newline)


def _indent(text: str, indent: str, newline: str) -> str:
    if indent:
        text = "".join([f"{indent}{line}\n" if line else "\n" for line in text.removesuffix("\n").split("\n")])
    return text if newline == "\n" else text.replace("\n", newline)


def reads_as(text: str, value: Value) -> bool:
    """Return True if `text` is YAML that means `value`."""
    try:
        return is_same_json(read(text), value)
    except YamlError:
        return False
