"""The ResourceList that a function reads from stdin and writes to stdout. Unchanged parts keep every byte.

Source: functions-spec.md (KRM Functions Specification, ResourceList).
"""

from __future__ import annotations

import re

from krmfn.edit import is_same_json, list_entry, reads_as
from krmfn.envelope import Envelope, cut, fields_of
from krmfn.fieldpath import FieldError, FieldPath, describe
from krmfn.hints import TYPE_CHECKING, cast, final
from krmfn.kubeobject import KubeObject, Location, is_client_key
from krmfn.result import Result
from krmfn.yamltext import YamlError, read, write
from krmfn.yamltext.edit import remove_value, set_value
from krmfn.yamltext.reader import BREAKS, TextError, check_nodes, unify_breaks, with_last_break
from krmfn.yamltext.writer import flow_text, write_entry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from krmfn.selector import Selector
    from krmfn.value import Value
    from krmfn.yamltext import Span

__all__ = [
    "API_VERSIONS",
    "ResourceList",
    "ResourceListError",
    "assemble",
    "decode",
    "entries_of",
    "pieces_of",
    "version_of",
]


def assemble(envelope: Envelope, items: Sequence[KubeObject] | None, results: list[Value] | None) -> list[str]:
    """Return the list's text with `items` and `results`, in pieces.

    If `items` is None, the original items stay. If `results` is None, the original results stay.

    Raise FieldError if an item cannot be written.
    """
    kept = envelope.items if items is None else items
    if envelope.simple:
        return _join(envelope, kept, results)
    wanted = _expected_fields(envelope, kept, results)
    if envelope.head != envelope.text:
        # An anchor may be removed with its item while another item still refers to it. So read the new text again. If
        # its value is wrong, write the items that need an anchor of another item from their values.
        for expand in (False, True):
            text = _attempt(envelope, kept, results, expand=expand)
            if text is not None and reads_as(text, wanted):
                return [text]
    try:
        return [write(wanted)]
    except YamlError as error:
        raise FieldError(None, (), error.message, Location(None, 1, 1)) from None


def _attempt(
    envelope: Envelope, items: Sequence[KubeObject], results: list[Value] | None, *, expand: bool
) -> str | None:
    """Return the joined pieces. Return None if the text around the items cannot hold them."""
    try:
        return "".join(_join(envelope, items, results, expand=expand))
    except FieldError:
        raise
    except ValueError:
        return None


def _join(
    envelope: Envelope, items: Sequence[KubeObject], results: list[Value] | None, *, expand: bool = False
) -> list[str]:
    if envelope.indent is None:
        return _joined_flow(envelope, items, results, expand=expand)
    head, tail = _head_and_tail(envelope, results)
    entries = entries_of(envelope, envelope.indent, items, expand=expand)
    if not entries:
        return [_with_empty_list(head, envelope.newline), tail]
    if not head.endswith(BREAKS):
        head += envelope.newline
    for number, entry in enumerate(entries):
        if not entry.endswith(BREAKS) and (tail or number < len(entries) - 1):
            entries[number] = _end_entry(items[number], entry, envelope, envelope.indent)
    return [head, *entries, tail]


def _end_entry(item: KubeObject, entry: str, envelope: Envelope, indent: str) -> str:
    """Return `entry`, which lacks a line break at its end, with one."""
    text = with_last_break(entry, envelope.newline)
    # If the list is not simple, an alias may refer to another item. The caller then reads the whole text again.
    if not envelope.simple or reads_as(text, [item.value]):
        return text
    return _write_item(item, indent, envelope.newline)


def entries_of(envelope: Envelope, indent: str, items: Sequence[KubeObject], *, expand: bool = False) -> list[str]:
    """Return the text of each item as an entry of a block list with dashes at `indent`.

    With `expand`, an item that refers to an anchor of another item is written from its value. Raise FieldError if an
    item cannot be written.
    """
    mark, newline = indent + "-", envelope.newline
    own = {id(item) for item in envelope.items}
    entries: list[str] = []
    for item in items:
        if id(item) in own and not expand:
            entries.append(item.source.text)
        elif not item.has_source or (expand and not _stands_alone(item)):
            entries.append(_write_item(item, indent, newline))
        elif item.source.root == (0,) and _dash_at(item.source.text, mark):
            entries.append(item.source.text)
        else:
            entries.append(list_entry(item.text, indent, newline, item.value))
    return entries


def _dash_at(text: str, mark: str) -> bool:
    """Return True if the dash of the entry `text` has the indentation of `mark`. Comment lines may precede the dash."""
    at = 0
    while text.startswith("#", at) or text.startswith(mark[:-1] + "#", at) or text[at : at + 1] in ("\n", "\r"):
        at = text.find("\n", at) + 1
        if at == 0:
            return False
    return text.startswith(mark, at)


def _stands_alone(item: KubeObject) -> bool:
    source = item.source
    return source.root == (0,) and reads_as(source.text, [item.value])


def _write_item(item: KubeObject, indent: str, newline: str) -> str:
    try:
        text = write_entry(item.value, indent)
    except YamlError as error:
        raise FieldError(item.id, (), error.message, item.location()) from None
    return text if newline == "\n" else text.replace("\n", newline)


def _with_empty_list(head: str, newline: str) -> str:
    """Return `head` with `[]` after its last key, `items`. Only comments may follow the key."""
    lined = unify_breaks(head)
    at = lined.rfind("\n", 0, _key_end(lined)) + 1
    key_end = head.index(":", at) + 1
    text = head[:key_end] + " []" + head[key_end:]
    return text if text.endswith(BREAKS) else text + newline


def _key_end(head: str) -> int:
    """Return the end of the last line of `head` that is neither a comment nor blank."""
    end = len(head)
    while end > 0:
        start = head.rfind("\n", 0, end) + 1
        line = head[start:end].strip(" \t\r")
        if line and not line.startswith("#"):
            return end
        end = start - 1
    return 0


def _head_and_tail(envelope: Envelope, results: list[Value] | None) -> tuple[str, str]:
    """Return head and tail of a block list with `results`. Return the original ones if `results` is None.

    Results are spliced into the text if possible. Otherwise head and tail are written from the fields.
    """
    if results is None:
        return envelope.head, envelope.tail
    wanted = _fields(envelope.rest, results)
    try:
        return _appended_results(envelope, results) or _spliced_results(envelope, results, wanted)
    except ValueError:
        pass
    return (write(wanted) + "items:\n").replace("\n", envelope.newline), ""


def _appended_results(envelope: Envelope, results: list[Value]) -> tuple[str, str] | None:
    """Return head and tail with `results` after the tail.

    Return None if results must be replaced or removed, or if no key can follow the tail.
    """
    tail, newline = envelope.tail, envelope.newline
    if not results or "results" in envelope.rest or not envelope.simple or not _takes_more(tail):
        return None
    tail = _end_line(tail, newline)
    # Try an empty list of results first, because there can be many results.
    if not _are_equal(fields_of(envelope.head, tail + "results: []\n"), {**envelope.rest, "results": []}):
        return None
    return envelope.head, tail + f"results:\n{write(results)}".replace("\n", newline)


def _spliced_results(envelope: Envelope, results: list[Value], wanted: dict[str, Value]) -> tuple[str, str]:
    """Return head and tail with `results` instead of the original ones.

    Raise ValueError if the text cannot hold them.
    """
    head, tail, newline = envelope.head, envelope.tail, envelope.newline
    frame = f"{head}{'' if head.endswith(BREAKS) else newline}{envelope.indent}- 0{newline}{tail}"
    frame = _set_results(frame, results)
    span = _locate(frame, ("items", 0))
    lined = unify_breaks(frame)
    start = lined.rfind("\n", 0, span.start) + 1
    head, tail = frame[:start], frame[lined.find("\n", start) + 1 :]
    if envelope.simple and not _are_equal(fields_of(head, tail), wanted):
        raise YamlError("the results cannot be replaced in the text of the list")
    return head, tail


def _end_line(text: str, newline: str) -> str:
    if not text or text.endswith("\n"):
        return text
    return with_last_break(text, newline)


def _set_results(frame: str, results: list[Value]) -> str:
    return set_value(frame, ("results",), results) if results else remove_value(frame, ("results",))


def _locate(frame: str, path: FieldPath) -> Span:
    from krmfn.yamltext import locate

    span = locate(frame, path)
    if span is None:
        raise YamlError("the items cannot be found in the text of the list")
    return span


def _takes_more(tail: str) -> bool:
    return not tail.startswith(("...", "---", "{")) and "\n..." not in tail and "\n---" not in tail


def _joined_flow(
    envelope: Envelope, items: Sequence[KubeObject], results: list[Value] | None, *, expand: bool
) -> list[str]:
    body = _flow_body(envelope, items, expand=expand)
    if results is None:
        return [envelope.head, body, envelope.tail]
    head, tail = _flow_results(envelope, results)
    return [head, body, tail]


def _flow_results(envelope: Envelope, results: list[Value]) -> tuple[str, str]:
    """Return head and tail of a flow list with `results`.

    Splice them into the text if possible, otherwise write it from the fields.
    """
    wanted: dict[str, Value] = {**_fields(envelope.rest, results), "items": []}
    try:
        frame = _set_results(envelope.head + envelope.tail, results)
        if is_same_json(read(frame), wanted):
            start = frame.index("[", _locate(frame, ("items",)).start) + 1
            return frame[:start], frame[start:]
    except ValueError:
        pass
    frame = flow_text(wanted)
    return frame.removesuffix("]}"), "]}" + envelope.newline


def _flow_body(envelope: Envelope, items: Sequence[KubeObject], *, expand: bool) -> str:
    seams = envelope.seams
    place = {id(item): number for number, item in enumerate(envelope.items)}
    origin = {id(item.origin): number for number, item in enumerate(envelope.items) if item.has_source}
    pieces: list[str] = []
    before = -1
    between = seams[1] if len(seams) > 2 else ", "
    for count, item in enumerate(items):
        at = place.get(id(item), origin.get(id(item.origin), -2) if item.has_source else -2)
        follows = at >= 0 and at == before + 1 and (count > 0) == (at > 0)
        pieces.append(seams[at] if follows else (between if count else seams[0] if len(seams) > 1 else ""))
        own = at >= 0 and item.has_source and not item.source.root and not expand
        pieces.append(item.source.text if own else flow_text(item.value))
        before = at
    last = seams[len(seams) - 1]
    if not items:
        last = last.lstrip(" \t\r\n").removeprefix(",")
    return "".join(pieces) + last


def _expected_fields(envelope: Envelope, items: Sequence[KubeObject], results: list[Value] | None) -> dict[str, Value]:
    rest = _fields(envelope.rest, results)
    after = {name: rest.pop(name) for name in ("functionConfig", "results") if name in rest}
    return {**rest, "items": [item.value for item in items], **after}


def _fields(rest: Mapping[str, Value], results: list[Value] | None) -> dict[str, Value]:
    """Return the list's fields except `items`, with `results` unless they are empty.

    If `results` is None, the original ones stay.
    """
    if results is None:
        return dict(rest)
    kept = {name: value for name, value in rest.items() if name != "results"}
    return {**kept, "results": results} if results else kept


def _are_equal(fields: dict[str, Value] | None, wanted: dict[str, Value]) -> bool:
    return fields is not None and is_same_json(fields, wanted)


API_VERSIONS = (
    "config.kubernetes.io/v1",
    "config.kubernetes.io/v1beta1",
    "config.kubernetes.io/v1alpha1",
)
"""The supported versions of ResourceList. A list is written in the version in which it was read."""

_FIRST_KIND = r"^[\"']?(apiVersion|kind)[\"']?:[ \t]*[\"']?([^\s\"'#,}]+)"
_HEAD = 65536
_ADVICE = "pass the manifests through kustomize, kpt or `kpt fn source`"


class ResourceListError(TextError):
    """Raised for an invalid ResourceList. It has a message and the place in the text."""

    def __str__(self) -> str:
        return f"<stdin>:{super().__str__()}"


@final
class ResourceList:
    """An immutable list of objects, with the function's configuration and results. Make one with `parse`."""

    __slots__ = ("_envelope", "_read_results", "api_version", "function_config", "items", "results")

    items: tuple[KubeObject, ...]
    function_config: KubeObject | None
    results: tuple[Result, ...]
    api_version: str
    _envelope: Envelope
    _read_results: tuple[Result, ...]

    def __init__(
        self, items: tuple[KubeObject, ...], results: tuple[Result, ...], version: str, read: Envelope | ResourceList
    ) -> None:
        is_first = isinstance(read, Envelope)
        self.items = items
        self.function_config = read.function_config
        self.results = results
        self.api_version = version
        self._envelope = read if is_first else read._envelope
        self._read_results = results if is_first else read._read_results

    @classmethod
    def parse(cls, text: str | bytes) -> ResourceList:
        """Return the ResourceList in `text`, which is YAML or JSON. Bytes must be UTF-8.

        Raise ResourceListError if `text` is empty, not UTF-8, not YAML, or not a ResourceList of a known version. Also
        raise it if the items are not a list of mappings, or the functionConfig is not a mapping.
        """
        decoded = text if isinstance(text, str) else decode(text)
        _refuse_others(decoded)
        try:
            check_nodes(decoded)
            envelope = cut(decoded)
        except YamlError as error:
            raise ResourceListError(error.message, error.line, error.column) from None
        except FieldError as error:
            raise ResourceListError(error.message, error.location.line, error.location.column) from None
        version = version_of(decoded, envelope.rest)
        config = envelope.rest.get("functionConfig")
        if config is not None and not isinstance(config, dict):
            from krmfn.yamltext import locate_nearest

            span = locate_nearest(decoded, ("functionConfig",))
            raise ResourceListError(f"functionConfig must be a mapping; got {describe(config)}", span.line, span.column)
        results = _results(envelope.rest.get("results"))
        return cls(envelope.items, results, version, envelope)

    def with_items(self, items: Iterable[KubeObject]) -> ResourceList:
        """Return the list with these items.

        Original items keep their text. New items are written in the list's style.
        """
        return ResourceList(tuple(items), self.results, self.api_version, self)

    def with_results(self, results: Iterable[Result | FieldError]) -> ResourceList:
        """Return the list with these results instead of its own. A FieldError is converted to a result."""
        new = tuple(result.to_result() if isinstance(result, FieldError) else result for result in results)
        return ResourceList(self.items, new, self.api_version, self)

    def select(self, selector: Selector) -> tuple[KubeObject, ...]:
        """Return the items that `selector` matches, in order."""
        return tuple(item for item in self.items if selector.matches(item))

    def map(self, change: Callable[[KubeObject], KubeObject], selector: Selector | None = None) -> ResourceList:
        """Return the list with `change` applied to every item, or to every item that `selector` matches."""
        return self.with_items(
            change(item) if selector is None or selector.matches(item) else item for item in self.items
        )

    def upsert(self, item: KubeObject) -> ResourceList:
        """Return the list with `item` instead of the first object of the same identity, or at the end if there is none.

        The identity is group, kind, namespace and name. The new item keeps the comments, the order of fields and the
        file of the old one as far as the old text permits. Raise FieldError if a part of an identity is not a string.
        """
        key = identity(item)
        for index, old in enumerate(self.items):
            if old is item or (old.kind == item.kind and identity(old) == key):
                new = item if old is item else replace(old, item)
                return self.with_items((*self.items[:index], new, *self.items[index + 1 :]))
        return self.with_items((*self.items, item))

    def entries(self) -> list[str] | None:
        """Return the text of each item as it is written in the list.

        Return None for a flow list, or if an item has another meaning alone than in the list. Raise FieldError if an
        item cannot be written.
        """
        envelope = self._envelope
        if not envelope.simple or envelope.indent is None:
            return None
        return entries_of(envelope, envelope.indent, self.items)

    def to_text(self) -> str:
        """Return the list's text. Unchanged parts are preserved byte for byte.

        A list without `items` gets an empty one. Raise FieldError if an item cannot be written.
        """
        return "".join(pieces_of(self))


def pieces_of(answer: ResourceList) -> list[str]:
    """Return the text that `ResourceList.to_text` returns, in pieces. Unchanged items are not copied."""
    # This is a function, because a public method would be a promise to users of krmfn.
    envelope, before = answer._envelope, answer._read_results  # pyright: ignore[reportPrivateUsage]
    results: list[Value] | None = None
    if answer.results is not before and answer.results != before:
        results = [result.to_value() for result in answer.results]
    items = None if _all_same(answer.items, envelope.items) else answer.items
    if items is not None or results is not None:
        return assemble(envelope, items, results)
    if envelope.text is not None:
        return [envelope.text]
    return [envelope.head, *[item.source.text for item in envelope.items], envelope.tail]


def _all_same(items: tuple[KubeObject, ...], others: tuple[KubeObject, ...]) -> bool:
    return items is others or (len(items) == len(others) and all(a is b for a, b in zip(items, others, strict=True)))


def decode(data: bytes) -> str:
    """Return `data` as text. Raise ResourceListError if it is not UTF-8, or is clearly not a ResourceList."""
    # Look for the kind before decoding, because it is expensive to copy another large text.
    if b"ResourceList" not in data and data[:2] not in (b"\xff\xfe", b"\xfe\xff"):
        _refuse_others(data[:_HEAD].decode("utf-8", "replace"))
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = len(data[data.rfind(b"\n", 0, error.start) + 1 : error.start].decode("utf-8", "replace")) + 1
        got = f"got byte 0x{data[error.start]:02x} at offset {error.start}"
        raise ResourceListError(f"must be UTF-8; {got}", line, column) from None


def _refuse_others(text: str) -> None:
    if "ResourceList" in text:
        return
    head = text[:_HEAD]
    if not head.strip("\ufeff \t\r\n") and (len(text) <= _HEAD or not text.strip("\ufeff \t\r\n")):
        raise ResourceListError(f"must be a ResourceList; got nothing: {_ADVICE}")
    fields: dict[str, str] = {}
    for match in re.finditer(_FIRST_KIND, head, re.MULTILINE):
        fields.setdefault(match[1], match[2])
    if "kind" in fields:
        first = f"{fields.get('apiVersion', '')} {fields['kind']}".strip()
        raise ResourceListError(f"is a stream of manifests (first: {first}), not a ResourceList; {_ADVICE}")
    raise ResourceListError(f"must be a ResourceList; got {describe(head.strip().partition(chr(10))[0])}: {_ADVICE}")


def version_of(text: str, fields: Mapping[str, Value]) -> str:
    """Return the `apiVersion` among the fields of a list. Raise ResourceListError for an unknown version or kind."""
    kind, version = fields.get("kind"), fields.get("apiVersion")
    if kind != "ResourceList":
        first = f"{version if isinstance(version, str) else ''} {kind if isinstance(kind, str) else ''}".strip()
        if first:
            raise ResourceListError(f"is a stream of manifests (first: {first}), not a ResourceList; {_ADVICE}")
        raise ResourceListError(f'kind must be "ResourceList"; got {describe(kind)}')
    if version not in API_VERSIONS:
        known = ", ".join(f'"{name}"' for name in API_VERSIONS)
        from krmfn.yamltext import locate_nearest

        span = locate_nearest(text, ("apiVersion",))
        got = "it is not set" if version is None else f"got {describe(version)}"
        raise ResourceListError(f"apiVersion must be one of {known}; {got}", span.line, span.column)
    return version


def _results(value: Value) -> tuple[Result, ...]:
    if not isinstance(value, list):
        return ()
    return tuple(Result.from_value(entry) for entry in value)


def identity(item: KubeObject) -> tuple[str, str, str, str]:
    """Return the identity of an object in an API server: group, kind, namespace and name.

    The version is not part of it.
    """
    group, slash, _ = item.api_version.rpartition("/")
    return group if slash else "", item.kind, item.namespace, item.name


def replace(old: KubeObject, new: KubeObject) -> KubeObject:
    """Return `new` written as an edit of `old`, with the comments, the order of fields, the spelling and the file of
    `old`.

    Return `old` itself if the values are equal. Return `new` with its own text if the text of `old` cannot be edited
    so.
    """
    wanted = _with_client_annotations(new, old)
    try:
        spliced = with_content(old, wanted.value)
    except FieldError:
        return wanted
    return spliced if is_same_json(spliced.value, wanted.value) else wanted


def _with_client_annotations(new: KubeObject, old: KubeObject) -> KubeObject:
    """Return `new` with the client's annotations of `old`, or unchanged if it has such annotations itself."""
    if any(is_client_key(key) for key in new.annotations):
        return new
    for key, value in old.annotations.items():
        if is_client_key(key):
            new = new.with_annotation(key, value)
    return new


def with_content(item: KubeObject, value: Mapping[str, Value]) -> KubeObject:
    """Return `item` with `value`. Only fields that differ are set or removed.

    Raise FieldError if an anchor or alias prevents a change.
    """
    return _apply_difference(item, (), item.value, value)


def _apply_difference(item: KubeObject, path: FieldPath, before: Value, after: Value) -> KubeObject:
    """Return `item` with `after` instead of `before` at `path`."""
    if is_same_json(before, after):
        return item
    if isinstance(before, dict) and isinstance(after, dict) and before and after:
        return _mapping(item, path, before, after)
    if isinstance(before, list) and isinstance(after, (list, tuple)) and before and after:
        return _list(item, path, before, cast("Sequence[Value]", after))
    return item.set(path, after)


def _mapping(item: KubeObject, path: FieldPath, before: Mapping[str, Value], after: Mapping[str, Value]) -> KubeObject:
    for name, value in after.items():
        item = (
            _apply_difference(item, (*path, name), before[name], value)
            if name in before
            else item.set((*path, name), value)
        )
    for name in before:
        if name not in after:
            item = item.remove((*path, name))
    return item


def _list(item: KubeObject, path: FieldPath, before: Sequence[Value], after: Sequence[Value]) -> KubeObject:
    for index in range(len(before) - 1, len(after) - 1, -1):
        item = item.remove((*path, index))
    for index, value in enumerate(after):
        at = (*path, index)
        item = _apply_difference(item, at, before[index], value) if index < len(before) else item.set(at, value)
    return item
