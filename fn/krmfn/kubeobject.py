"""One Kubernetes object: typed access to its fields, edits that splice its text, and the places of its fields in a
file.
"""

from __future__ import annotations

from functools import lru_cache

from krmfn.edit import (
    document_text,
    group_by_list,
    with_entries,
    with_name,
    with_nesting,
    with_quotes,
    with_value,
    without_value,
)
from krmfn.fieldpath import NOUNS, FieldError, FieldPath, describe, parse_path
from krmfn.hints import TYPE_CHECKING, Record, cast, final
from krmfn.result import Severity, result_of
from krmfn.yamltext import YamlError, read, write

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any, NoReturn

    from krmfn.edit import Edit
    from krmfn.fields import Fields
    from krmfn.result import Result
    from krmfn.value import Value

__all__ = [
    "INDEX_KEYS",
    "PATH_KEYS",
    "FieldError",
    "KubeObject",
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

# The annotations in which kustomize and kpt record the file of an item. Source: kyaml kio/kioutil (PathAnnotation,
# IndexAnnotation and their legacy forms); functions-spec.md.

PATH_KEYS = ("internal.config.kubernetes.io/path", "config.kubernetes.io/path", "config.k8s.io/path")
"""Annotations with the path of an item's file, relative to the package, with slashes. The first one that is set counts.
"""

INDEX_KEYS = ("internal.config.kubernetes.io/index", "config.kubernetes.io/index", "config.k8s.io/index")
"""Annotations with the 0-based position of an item among the documents of its file. The first one that is set counts.
"""

_PREFIXES = (
    "internal.config.kubernetes.io/",
    "config.kubernetes.io/",
    "config.k8s.io/",
    "kustomize.config.k8s.io/",
    "kpt.dev/",
)

_ANNOTATIONS: FieldPath = ("metadata", "annotations")
_LABELS: FieldPath = ("metadata", "labels")
_ID = ("apiVersion", "kind", "metadata.namespace", "metadata.name")
_NOTHING: Mapping[str, Value] = {}


def is_client_key(key: str) -> bool:
    """Return True if a client such as kustomize or kpt uses the annotation `key` for itself.

    Derived objects must not copy it.
    """
    return key.startswith(_PREFIXES)


def client_path(annotations: Mapping[str, Value]) -> str | None:
    """Return the path of the item's file. Return None if no annotation has it."""
    for key in PATH_KEYS:
        path = annotations.get(key)
        if isinstance(path, str) and path:
            return path
    return None


def client_index(annotations: Mapping[str, Value]) -> int | None:
    """Return the item's position in its file. Return None if the annotation is missing or not a number."""
    for key in INDEX_KEYS:
        index = annotations.get(key)
        if isinstance(index, str) and index.isascii() and index.isdigit() and len(index) < 10:
            return int(index)
    return None


class Source(Record):
    """An object's text and its place.

    `root` is the path of the object within `text`: () for a document, (0,) for an entry of a block list with its dash.
    `text` starts at the 1-based `line` and `column` of `file`, or of stdin if `file` is None. `entry` is the object's
    path in a List of the file, such as ("items", 3), or () outside a List.
    """

    text: str
    root: FieldPath = ()
    line: int = 1
    column: int = 1
    file: str | None = None
    entry: FieldPath = ()


class Location(Record):
    """A place in a file. `line` and `column` are 1-based. `file` is None for stdin."""

    file: str | None
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file or '<stdin>'}:{self.line}:{self.column}"


class ObjectId(Record):
    """API version, kind, namespace and name of an object. `namespace` is "" if not set."""

    api_version: str
    kind: str
    namespace: str
    name: str

    @property
    def short_text(self) -> str:
        """Return the id without its API version, such as `PodCliqueSet team-a/inference`."""
        name = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind} {name}".strip()

    def __str__(self) -> str:
        return f"{self.api_version} {self.short_text}"


def text_location(source: Source, path: FieldPath, *, key: bool = False) -> Location:
    """Return the place of `path`, or of its deepest existing part, in the file or stdin that contains `source`."""
    line, column = _nearest_place(source, path, key)
    return line_location(source, line, column, None)


def line_location(source: Source, line: int, column: int, file: str | None) -> Location:
    """Return the place of a line and column of `source.text`.

    Count as `document_location` does if there is a `file`, otherwise as `text_location` does.
    """
    if file is not None:
        return Location(file, _document_line(source, line, _nearest_place(source, (), key=False)[0]), column)
    return Location(source.file, source.line + line - 1, column + source.column - 1 if line == 1 else column)


def document_location(source: Source, path: FieldPath, file: str, *, key: bool = False) -> Location:
    """Return the place of `path`, or of its deepest existing part, in the document of `file` from which a client made
    the item.

    The place does not count the client's additions: the indentation of the list, and the client's annotations.
    """
    first_line, first_column = _nearest_place(source, (), key=False)
    line, column = _nearest_place(source, path, key)
    return Location(file, _document_line(source, line, first_line), max(column - first_column + 1, 1))


def _document_line(source: Source, line: int, first_line: int) -> int:
    """Return the line of the client's document that became `line` of the item's text.

    The object begins on `first_line`.
    """
    added = _lines_added(source, line)
    # A comment on the line of the dash is the first line of the document.
    text_lines = source.text.split("\n", first_line)
    dash = next((n for n, text in enumerate(text_lines, 1) if text.lstrip().startswith("-")), first_line)
    start = min(dash, first_line) if source.root else first_line
    return max(line - start + 1 - added, 1)


def _nearest_place(source: Source, path: FieldPath, key: bool) -> tuple[int, int]:
    from krmfn.yamltext.places import nearest_position

    try:
        return nearest_position(source.text, source.root + path, key=key and bool(path))
    except YamlError as error:
        return error.line, error.column


def _lines_added(source: Source, before_line: int) -> int:
    """Return the number of lines above `before_line` that a client added for its annotations."""
    try:
        first, own = _annotation_lines(source.text, source.root)
    except YamlError:
        return 0
    above = sum(own[: max(before_line - first, 0)])
    # If all annotations are the client's, the client also wrote the line with the key `annotations`.
    return above + 1 if own and all(own) and before_line > first else above


@lru_cache(maxsize=4)
def _annotation_lines(text: str, root: FieldPath) -> tuple[int, tuple[bool, ...]]:
    """Return the line of the first annotation, and for each line of the annotations True if a client wrote it.

    Return 0 and () if there are no annotations, or if they are in flow style.
    """
    from krmfn.yamltext import locate

    span = locate(text, (*root, "metadata", "annotations"))
    if span is None or text.startswith("{", span.start):
        return 0, ()
    return span.line, _are_clients(text[span.start : span.end].split("\n"))


def _are_clients(lines: Iterable[str]) -> tuple[bool, ...]:
    """Return for each of `lines` True if it is a client's annotation."""
    return tuple(is_client_key(line.lstrip(" \"'")) for line in lines)


@final
class KubeObject:
    """An immutable object with its text. An edit returns another object, and preserves every byte that it does not
    change.

    A path is a tuple (`("spec", "cliques", 2)`) or text (`"spec.cliques[2]"`). `value` and its parts belong to the
    object and must not be changed in place.
    """

    __slots__ = ("_error", "_id", "_origin", "_source", "_value")

    _source: Source | None
    _value: Mapping[str, Value] | None
    _error: FieldError | None
    _id: ObjectId | None
    _origin: KubeObject | None

    def __init__(self, source: Source) -> None:
        self._source = source
        self._value = None
        self._error = None
        self._id = None
        self._origin = None

    @classmethod
    def parse(cls, text: str, *, file: str | None = None, line: int = 1) -> KubeObject:
        """Return the object in the YAML document `text`. `line` is the 1-based line of `file` on which the text starts.

        Raise FieldError if the text is not YAML or not a mapping.
        """
        item = cls(Source(text, (), line, 1, file))
        _ = item.value
        return item

    @classmethod
    def new(cls, value: Mapping[str, Value], *, path: str | None = None) -> KubeObject:
        """Return a new object with `value`. Its text is in block style and is made at first use.

        With `path`, an annotation tells clients to write the object to that file of the package.
        """
        item = cls._with_text(None, value, None)
        return item if path is None else item.with_annotation(PATH_KEYS[1], path)

    @classmethod
    def cut(cls, source: Source, value: Mapping[str, Value]) -> KubeObject:
        """Return the object at `source.root` of `source.text`, which was read as `value`."""
        item = cls(source)
        item._value = value
        return item

    @classmethod
    def _with_text(cls, source: Source | None, value: Mapping[str, Value], origin: KubeObject | None) -> KubeObject:
        item = cls.__new__(cls)
        item._source = source
        item._value = value
        item._error = None
        item._id = None
        item._origin = origin
        return item

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, KubeObject):
            return NotImplemented
        return self is other or self.source == other.source

    def __hash__(self) -> int:
        # Compare the place too, because the entries of a list share one text.
        return hash(self.source)

    def __repr__(self) -> str:
        try:
            return f"<KubeObject {self.id}>"
        except ValueError:
            return "<KubeObject>"

    @property
    def source(self) -> Source:
        """Return the current text of the object, and its place in a file or list."""
        if self._source is None:
            self._source = Source(write(self._value))
        return self._source

    @property
    def origin(self) -> Source:
        """Return the text and place as they were read, before any edit. `location` refers to this text."""
        return self.source if self._origin is None else self._origin.source

    @property
    def has_source(self) -> bool:
        """Return True if the object has a text. The text of a new object is made at first use."""
        return self._source is not None

    @property
    def value(self) -> Mapping[str, Value]:
        """Return the whole object. Raise FieldError if the text is not YAML or not a mapping."""
        if self._value is None:
            if self._error is not None:
                raise self._error.with_traceback(None)
            try:
                self._value = _read(self.source)
            except FieldError as error:
                # Keep the error, because callers that report the errors of a text read its value many times.
                self._error = error
                raise
        return self._value

    @property
    def text(self) -> str:
        """Return the object's YAML as a separate document with its comments, even if the object was cut from a list."""
        source = self.source
        if not source.root:
            return source.text
        return document_text(source, self.value)

    @property
    def id(self) -> ObjectId:
        """Return API version, kind, namespace and name, each "" if absent. Raise FieldError if one is not a string."""
        if self._id is None:
            name, namespace = self.string("metadata.name"), self.string("metadata.namespace")
            self._id = ObjectId(self.api_version, self.kind, namespace or "", name or "")
        return self._id

    @property
    def api_version(self) -> str:
        """Return `apiVersion`. Return "" if it is absent. Raise FieldError if it is not a string."""
        return self.string(("apiVersion",)) or ""

    @property
    def kind(self) -> str:
        """Return `kind`. Return "" if it is absent. Raise FieldError if it is not a string."""
        return self.string(("kind",)) or ""

    @property
    def namespace(self) -> str:
        """Return `metadata.namespace`. Return "" if it is absent. Raise FieldError if it is not a string."""
        return self.id.namespace

    @property
    def name(self) -> str:
        """Return `metadata.name`. Return "" if it is absent. Raise FieldError if it is not a string."""
        return self.id.name

    @property
    def annotations(self) -> Mapping[str, str]:
        """Return `metadata.annotations`, empty if absent. Raise FieldError if one is not a string."""
        return self._strings(_ANNOTATIONS)

    @property
    def labels(self) -> Mapping[str, str]:
        """Return `metadata.labels`, empty if absent. Raise FieldError if one is not a string."""
        return self._strings(_LABELS)

    @property
    def path(self) -> str | None:
        """Return the path of the object's file in the package, with slashes, or None.

        A client reads and writes the object there.
        """
        return client_path(self._raw_annotations())

    @property
    def index(self) -> int | None:
        """Return the 0-based position of the object in its file. Return None if the position is not recorded."""
        return client_index(self._raw_annotations())

    @property
    def file(self) -> str | None:
        """Return `path`, or the file that the object was parsed from, or None."""
        return self.path or (self.origin.file if self.has_source or self._origin is not None else None)

    def get(self, path: FieldPath | str, default: Value = None) -> Value:
        """Return the value at `path`, or `default` if it is absent or a parent has another type."""
        value: Value = self.value
        for step in parse_path(path) if isinstance(path, str) else path:
            if isinstance(value, dict):
                if step not in value:
                    return default
                value = value[step]
            elif isinstance(value, list) and isinstance(step, int) and 0 <= step < len(value):
                value = value[step]  # pyright: ignore[reportArgumentType] (no list is a mapping, too)
            else:
                return default
        return value

    def string(self, path: FieldPath | str) -> str | None:
        """Return the string at `path`. Return None if absent or null. Raise FieldError for another type."""
        return self.typed_value(path, str)

    def integer(self, path: FieldPath | str) -> int | None:
        """Return the integer at `path`. Return None if absent or null. Raise FieldError for another type."""
        return self.typed_value(path, int)

    def boolean(self, path: FieldPath | str) -> bool | None:
        """Return the boolean at `path`. Return None if absent or null. Raise FieldError for another type."""
        return self.typed_value(path, bool)

    def mapping(self, path: FieldPath | str) -> Mapping[str, Value] | None:
        """Return the mapping at `path`. Return None if absent or null. Raise FieldError for another type."""
        return self.typed_value(path, dict)

    def sequence(self, path: FieldPath | str) -> Sequence[Value] | None:
        """Return the list at `path`. Return None if absent or null. Raise FieldError for another type."""
        return self.typed_value(path, list)

    def required_string(self, path: FieldPath | str) -> str:
        """Return the string at `path`. Raise FieldError if it is absent or of another type."""
        return self._require(path, str)

    def required_integer(self, path: FieldPath | str) -> int:
        """Return the integer at `path`. Raise FieldError if it is absent or of another type."""
        return self._require(path, int)

    def required_boolean(self, path: FieldPath | str) -> bool:
        """Return the boolean at `path`. Raise FieldError if it is absent or of another type."""
        return self._require(path, bool)

    def required_mapping(self, path: FieldPath | str) -> Mapping[str, Value]:
        """Return the mapping at `path`. Raise FieldError if it is absent or of another type."""
        return self._require(path, dict)

    def required_sequence(self, path: FieldPath | str) -> Sequence[Value]:
        """Return the list at `path`. Raise FieldError if it is absent or of another type."""
        return self._require(path, list)

    def fields(self, path: FieldPath | str = ()) -> Fields:
        """Return a view of the mapping at `path`. Its errors name this object, the field and the field's place.

        The view is empty if there is no mapping. Raise FieldError for another type.
        """
        from krmfn.fields import Fields

        steps = _steps(path)
        return Fields(self.mapping(steps) or _NOTHING, steps, refuse=self._raise)

    def _raise(self, path: FieldPath, message: str) -> NoReturn:
        raise self.error(path, message)

    def typed_value(self, path: FieldPath | str, kind: type[Any]) -> Any:
        """Return the value at `path`. Return None if it is absent or null.

        Raise FieldError if its type is not exactly `kind`.
        """
        value = self.get(path)
        if value is not None and type(value) is not kind:
            self.refuse(_steps(path), kind, value)
        return value

    def _require(self, path: FieldPath | str, kind: type[Any]) -> Any:
        value = self.typed_value(path, kind)
        if value is None:
            raise self.error(path, f"must be {NOUNS[kind]}; it is not set")
        return value

    def refuse(self, path: FieldPath, kind: type[Any], value: Value) -> NoReturn:
        """Raise a FieldError: the field at `path` must be of type `kind`, and `value` is not."""
        raise self.error(path, f"must be {NOUNS[kind]}; got {describe(value)}")

    def set(self, path: FieldPath | str, value: Value) -> KubeObject:
        """Return the object with `value` at `path` and the necessary parents, or itself if it already has that value.

        Raise FieldError if a parent has another type, or if an alias repeats a part of the path.
        """
        return self._splice(*with_value(self, _steps(path), value))

    def remove(self, path: FieldPath | str, *, prune: bool = False, keep_comments: bool = False) -> KubeObject:
        """Return the object without the field at `path`, or unchanged if there is none.

        With `prune`, also remove each parent that becomes empty. With `keep_comments`, the field's comments stay there
        as separate lines. Raise FieldError if an alias repeats a part of the path, or if a comment cannot be kept.
        """
        return self._splice(*without_value(self, _steps(path), prune=prune, keep_comments=keep_comments))

    def quote(self, path: FieldPath | str) -> KubeObject:
        """Return the object with the plain scalar at `path` quoted as a string, or itself if the scalar is already
        quoted.

        Raise FieldError if there is no scalar on one line.
        """
        return self._splice(*with_quotes(self, _steps(path)))

    def rename(self, path: FieldPath | str, name: str) -> KubeObject:
        """Return the object with the key at `path` renamed to `name` in place.

        Raise FieldError if the key is missing, or if its mapping already has the key `name`.
        """
        return self._splice(*with_name(self, _steps(path), name))

    def nest(self, path: FieldPath | str, outer: str) -> KubeObject:
        """Return the object after moving the entry at `path` into a new mapping at its place. The key of the mapping is
        `outer`.

        Raise FieldError if the entry is missing or spans lines, or if its mapping already has the key `outer`.
        """
        return self._splice(*with_nesting(self, _steps(path), outer))

    def edit_all(self, edits: Iterable[tuple[FieldPath, Edit]]) -> KubeObject:
        """Return the object after `edits`. Each edit must change only the part at its path.

        The text is read once for all edits in the entries of one list. Raise FieldError if an edit does.
        """
        item = self
        for path, own in group_by_list(edits).items():
            edited = with_entries(item, path, own) if len(own) > 1 else None
            if edited is not None:
                item = item._splice(*edited)
            else:
                for index, entry in own.items():
                    for inner, edit in entry:
                        item = edit(item, (*path, index, *inner) if index is not None else inner)
        return item

    def with_annotation(self, key: str, value: str) -> KubeObject:
        """Return the object with this annotation, or itself if it already has the annotation."""
        return self.set((*_ANNOTATIONS, key), value)

    def without_annotation(self, key: str) -> KubeObject:
        """Return the object without this annotation, and without `annotations` if it was the last one."""
        return self.remove((*_ANNOTATIONS, key), prune=True)

    def with_label(self, key: str, value: str) -> KubeObject:
        """Return the object with this label, or itself if it already has the label."""
        return self.set((*_LABELS, key), value)

    def location(self, path: FieldPath | str = (), *, key: bool = False) -> Location:
        """Return the place of `path`, or of its deepest existing part. With `key`, return the place of its key.

        The place is in the text as it was read, before edits. If a client's annotation names the object's file, the
        place is in the object's document within that file, and does not count the client's annotations. The line in the
        file itself is greater if other documents, or comments that the client dropped, precede the object. An object
        that was not read is at 1:1.
        """
        if self._source is None and self._origin is None:
            return Location(self.file, 1, 1)
        origin, file = self.origin, self.path
        steps = _steps(path)
        if file is not None and origin.file is None:
            return document_location(origin, steps, file, key=key)
        return text_location(origin, steps, key=key)

    def error(self, path: FieldPath | str, message: str, *, key: bool = False) -> FieldError:
        """Return an error with `message` about the field at `path`, with the object's id and the field's place.

        With `key`, the place is the field's key. Raise the error, or add it to the list's results.
        """
        steps = _steps(path)
        parts = (self.get(path) for path in _ID)
        object_id = ObjectId(*("" if part is None or isinstance(part, (dict, list)) else str(part) for part in parts))
        return FieldError(object_id, steps, message, self.location(steps, key=key))

    def warning(self, path: FieldPath | str, message: str, *, rule: str = "", proposed: Value = None) -> Result:
        """Return a warning with `message` about the field at `path`.

        It has the object's id and file, and the field's value, line and column. `rule` is a stable name for the
        message, and `proposed` a better value. To report an error, raise `error(…)` or add it to the list's results.
        """
        return result_of(self, Severity.WARNING, path, message, rule=rule, proposed=proposed)

    def info(self, path: FieldPath | str, message: str, *, rule: str = "", proposed: Value = None) -> Result:
        """Return a result of severity info with `message` about the field at `path`.

        See `warning` for the arguments.
        """
        return result_of(self, Severity.INFO, path, message, rule=rule, proposed=proposed)

    def _splice(self, source: Source | None, value: Mapping[str, Value]) -> KubeObject:
        if value is self._value:
            return self
        return self._with_text(source, value, self if self._origin is None and self.has_source else self._origin)

    def _strings(self, path: FieldPath) -> Mapping[str, str]:
        entries: Mapping[str, Any] = self.typed_value(path, dict) or {}
        for key, item in entries.items():
            if type(item) is not str:
                self.refuse((*path, key), str, item)
        return entries

    def _raw_annotations(self) -> Mapping[str, Value]:
        annotations = self.get(_ANNOTATIONS)
        return annotations if isinstance(annotations, dict) else _NOTHING


def _steps(path: FieldPath | str) -> FieldPath:
    """Return `path` as a tuple. Raise ValueError if it is a text that is not a path."""
    return parse_path(path) if isinstance(path, str) else path


def _read(source: Source) -> Mapping[str, Value]:
    try:
        value: Any = read(source.text)
    except YamlError as error:
        column = error.column + (source.column - 1 if error.line == 1 else 0)
        place = Location(source.file, source.line + error.line - 1, column)
        raise FieldError(None, (), error.message, place) from None
    for step in source.root:
        value = value[step]
    if not isinstance(value, dict):
        place = Location(source.file, source.line, source.column)
        raise FieldError(None, (), f"must be a mapping; got {describe(value)}", place)
    return cast("dict[str, Value]", value)
