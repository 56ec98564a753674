"""A ResourceList in and out: what a function reads on stdin and writes on stdout, byte for byte.

Source: functions-spec.md (KRM Functions Specification, ResourceList).
"""

from __future__ import annotations

import re

from krmfn.envelope import Envelope, cut
from krmfn.errors import FieldError, describe
from krmfn.hints import TYPE_CHECKING, cast, final
from krmfn.yamltext import YamlError
from krmfn.yamltext.reader import check_nodes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from krmfn.kubeobject import KubeObject
    from krmfn.result import Result
    from krmfn.selector import Selector
    from krmfn.value import Value

__all__ = ["API_VERSIONS", "ResourceList", "ResourceListError", "decode", "version_of"]

API_VERSIONS = (
    "config.kubernetes.io/v1",
    "config.kubernetes.io/v1beta1",
    "config.kubernetes.io/v1alpha1",
)
"""The versions of ResourceList that are read; a list is written in the version it came in."""

_FIRST_KIND = r"^[\"']?(apiVersion|kind)[\"']?:[ \t]*[\"']?([^\s\"'#,}]+)"
_HEAD = 65536
_ADVICE = "run it through kustomize, kpt or `kpt fn source`"


class ResourceListError(ValueError):
    """A text that is no ResourceList: what it must be, and where. `line` and `column` are 1-based."""

    def __init__(self, message: str, line: int = 1, column: int = 1) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column

    def __str__(self) -> str:
        return f"<stdin>:{self.line}:{self.column}: {self.message}"

    def __reduce__(self) -> tuple[type[ResourceListError], tuple[str, int, int]]:
        return type(self), (self.message, self.line, self.column)


@final
class ResourceList:
    """A list of objects, the function's configuration and results. Frozen; make one with `parse`."""

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
        """The ResourceList that `text` is, in YAML or JSON; bytes are UTF-8.

        Raises ResourceListError: empty, not UTF-8, not YAML, no ResourceList of a known version, items that are no
        list of mappings.
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
        """The list with these items: those that came in keep their text, new ones are written in the list's style."""
        return ResourceList(tuple(items), self.results, self.api_version, self)

    def with_results(self, results: Iterable[Result | FieldError]) -> ResourceList:
        """The list with these results in the place of those it has; a FieldError is the error result that it says."""
        new = tuple(result.to_result() if isinstance(result, FieldError) else result for result in results)
        return ResourceList(self.items, new, self.api_version, self)

    def select(self, selector: Selector) -> tuple[KubeObject, ...]:
        """The items that `selector` matches, in order."""
        return tuple(item for item in self.items if selector.matches(item))

    def map(self, change: Callable[[KubeObject], KubeObject], selector: Selector | None = None) -> ResourceList:
        """The list with `change` of every item, or of every item that `selector` matches, in its place."""
        return self.with_items(
            change(item) if selector is None or selector.matches(item) else item for item in self.items
        )

    def upsert(self, item: KubeObject) -> ResourceList:
        """The list with `item` in the place of the first that is the same object, else at the end.

        Objects are the same by group, kind, namespace and name. What takes another's place keeps its comments, its
        order of fields and its file, as far as its text allows. Raises FieldError where one of these is no string.
        """
        from krmfn.upsert import identity, replaced

        key = identity(item)
        for index, old in enumerate(self.items):
            if old is item or (old.kind == item.kind and identity(old) == key):
                new = item if old is item else replaced(old, item)
                return self.with_items((*self.items[:index], new, *self.items[index + 1 :]))
        return self.with_items((*self.items, item))

    def entries(self) -> list[str] | None:
        """The text of each item as it stands in the list's text; None where that is not made entry by entry.

        It is in a list of block style whose items mean alone what they mean in it. Raises FieldError where an item has
        no written form.
        """
        envelope = self._envelope
        if not envelope.simple or envelope.indent is None:
            return None
        from krmfn.assemble import entries_of

        return entries_of(envelope, self.items)

    def to_text(self) -> str:
        """The list's text: what was not changed stands as it came in, byte for byte.

        A list that came without `items` gets an empty one. Raises FieldError where an item has no written form.
        """
        envelope = self._envelope
        results: list[Value] | None = None
        if self.results is not self._read_results and self.results != self._read_results:
            results = [result.to_value() for result in self.results]
        items = None if _all_same(self.items, envelope.items) else self.items
        if items is None and results is None:
            return envelope.text
        from krmfn.assemble import assemble

        return assemble(envelope, items, results)


def _all_same(items: tuple[KubeObject, ...], others: tuple[KubeObject, ...]) -> bool:
    return items is others or (len(items) == len(others) and all(a is b for a, b in zip(items, others, strict=True)))


def decode(data: bytes) -> str:
    """The text of a ResourceList. Raises ResourceListError where it is not UTF-8, or plainly something else."""
    # Looked for before decoding: a large text that is something else is not worth its copy.
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
    """The `apiVersion` among the fields of a list. Raises ResourceListError where they are no known ResourceList's."""
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
        got = "there is none" if version is None else f"got {describe(version)}"
        raise ResourceListError(f"apiVersion must be one of {known}; {got}", span.line, span.column)
    return cast("str", version)


def _results(value: Value) -> tuple[Result, ...]:
    if not isinstance(value, list):
        return ()
    from krmfn.result import Result

    return tuple(Result.from_value(entry) for entry in value)
