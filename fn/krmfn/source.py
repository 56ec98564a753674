"""Where an object's text came from, and how a place in it is told to a user."""

from __future__ import annotations

from functools import lru_cache

from krmfn.hints import TYPE_CHECKING
from krmfn.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value

__all__ = [
    "INDEX_KEYS",
    "PATH_KEYS",
    "Location",
    "ObjectId",
    "Source",
    "client_index",
    "client_path",
    "document_location",
    "is_client_key",
    "line_location",
    "text_location",
]

# The annotations by which kustomize and kpt remember which file an item came from. Source: kyaml kio/kioutil
# (PathAnnotation, IndexAnnotation and their legacy forms); functions-spec.md.

PATH_KEYS = ("internal.config.kubernetes.io/path", "config.kubernetes.io/path", "config.k8s.io/path")
"""Annotations that hold an item's file, slash-separated and relative to the package; the first one present counts."""

INDEX_KEYS = ("internal.config.kubernetes.io/index", "config.kubernetes.io/index", "config.k8s.io/index")
"""Annotations that hold an item's place among the documents of its file, from 0; the first one present counts."""

_PREFIXES = (
    "internal.config.kubernetes.io/",
    "config.kubernetes.io/",
    "config.k8s.io/",
    "kustomize.config.k8s.io/",
    "kpt.dev/",
)


def is_client_key(key: str) -> bool:
    """True if the annotation `key` is a client's own bookkeeping, which a derived object must not copy."""
    return key.startswith(_PREFIXES)


def client_path(annotations: Mapping[str, Value]) -> str | None:
    """The item's file, or None where no annotation says it."""
    for key in PATH_KEYS:
        path = annotations.get(key)
        if isinstance(path, str) and path:
            return path
    return None


def client_index(annotations: Mapping[str, Value]) -> int | None:
    """The item's place in its file, or None where no annotation says it (or it is not a number)."""
    for key in INDEX_KEYS:
        index = annotations.get(key)
        if isinstance(index, str) and index.isascii() and index.isdigit() and len(index) < 10:
            return int(index)
    return None


class Source(Record):
    """An object's text, and where that text stands.

    `root` is the path of the object within `text`: () for a document, (0,) for an entry cut from a block list, which
    keeps its dash. `line` and `column` are the 1-based position of the first character of `text` in the file or in
    stdin; `file` is None for stdin. `entry` is where a List that the file holds has the object: ("items", 3).
    """

    text: str
    root: FieldPath = ()
    line: int = 1
    column: int = 1
    file: str | None = None
    entry: FieldPath = ()


class Location(Record):
    """A place in a file; `line` and `column` are 1-based, `file` is None for stdin."""

    file: str | None
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file or '<stdin>'}:{self.line}:{self.column}"


class ObjectId(Record):
    """API version, kind, namespace and name of an object; `namespace` is "" when the object names none."""

    api_version: str
    kind: str
    namespace: str
    name: str

    @property
    def short(self) -> str:
        """`PodCliqueSet team-a/inference`: the id without its API version."""
        name = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind} {name}".strip()

    def __str__(self) -> str:
        return f"{self.api_version} {self.short}"


def text_location(source: Source, path: FieldPath, *, key: bool = False) -> Location:
    """The nearest part of `path` that exists, counted in the file or stdin that `source` was cut from."""
    line, column = _nearest(source, path, key)
    return line_location(source, line, column, None)


def line_location(source: Source, line: int, column: int, file: str | None) -> Location:
    """A place in `source.text`, counted as the two functions here do: in the document of `file`, where there is one."""
    if file is not None:
        return Location(file, _document_line(source, line, _nearest(source, (), key=False)[0]), column)
    return Location(source.file, source.line + line - 1, column + source.column - 1 if line == 1 else column)


def document_location(source: Source, path: FieldPath, file: str, *, key: bool = False) -> Location:
    """The nearest part of `path` that exists, counted in the document of `file` that a client made the item of.

    What the client put around the document (the indentation of the list, its own annotations) is taken off again.
    """
    first_line, first_column = _nearest(source, (), key=False)
    line, column = _nearest(source, path, key)
    return Location(file, _document_line(source, line, first_line), max(column - first_column + 1, 1))


def _document_line(source: Source, line: int, first_line: int) -> int:
    """The line of the client's document that is `line` of the item's text, which begins at `first_line`."""
    added = _lines_added(source, line)
    # A comment on the dash's line is the document's own first line.
    text_lines = source.text.split("\n", first_line)
    dash = next((n for n, text in enumerate(text_lines, 1) if text.lstrip().startswith("-")), first_line)
    start = min(dash, first_line) if source.root else first_line
    return max(line - start + 1 - added, 1)


def _nearest(source: Source, path: FieldPath, key: bool) -> tuple[int, int]:
    from krmfn.yamltext import YamlError
    from krmfn.yamltext.places import nearest

    try:
        return nearest(source.text, source.root + path, key=key and bool(path))
    except YamlError as error:
        return error.line, error.column


def _lines_added(source: Source, before_line: int) -> int:
    """The number of lines above `before_line` that are annotations of a client."""
    from krmfn.yamltext import YamlError

    try:
        first, own = _annotation_lines(source.text, source.root)
    except YamlError:
        return 0
    above = sum(own[: max(before_line - first, 0)])
    # The client made the whole mapping, its key's line too, when nobody else's annotation is in it.
    return above + 1 if own and all(own) and before_line > first else above


@lru_cache(maxsize=4)
def _annotation_lines(text: str, root: FieldPath) -> tuple[int, tuple[bool, ...]]:
    """The line of the first annotation, and which lines from there on a client wrote; none in flow style."""
    from krmfn.yamltext import locate

    span = locate(text, (*root, "metadata", "annotations"))
    if span is None or text.startswith("{", span.start):
        return 0, ()
    return span.line, _are_clients(text[span.start : span.end].split("\n"))


def _are_clients(lines: Iterable[str]) -> tuple[bool, ...]:
    """For each of `lines`, True if it is an annotation that a client wrote."""
    return tuple(is_client_key(line.lstrip(" \"'")) for line in lines)
