"""The files of one run. Each is read once: its documents and objects, and the skipped and unreadable files."""

from __future__ import annotations

import json
import posixpath
import re
import sys
from collections import Counter
from pathlib import Path

from krmfn.fieldpath import FieldError
from krmfn.hints import TYPE_CHECKING, Record, cast
from krmfn.kubeobject import KubeObject, Location, Source
from krmfn.resourcelist import ResourceList, ResourceListError
from krmfn.result import Result, exit_code
from krmfn.run import MAX_INPUT, read_input
from krmfn.yamltext import YamlError, iterate_documents, read
from krmfn.yamltext.reader import keep_tree, unkept_tree, words_in
from packwise.console import encode_text, track_files
from packwise.discovery import (
    ENCRYPTION,
    KUSTOMIZATIONS,
    Reason,
    SkipReason,
    content_reason,
    is_of_another_tool,
    is_values,
    unparsed_reason,
)
from packwise.findings import shorten
from packwise.globs import Globs
from packwise.inputs.paths import contains, find_files, real
from packwise.inputs.request import UsageError
from packwise.lenient import strings
from packwise.objects.index import READABLE
from packwise.objects.kinds import KINDS, POD, is_incomplete_object
from packwise.objects.lists import entries_of
from packwise.objects.workloads_in_text import workloads_in
from packwise.pipeline.registry import document_keys, is_document, may_be_document
from packwise.settings.configuration import is_settings
from packwise.wording import count_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import NoReturn

    from krmfn.value import Value
    from krmfn.yamltext import YamlDocument
    from packwise.inputs.paths import InputPath
    from packwise.inputs.unread import Unread


class Document(Record):
    """One document of a file, which starts on `line`. `item` is None if it is not a Kubernetes object.

    `foreign` is the document if it belongs to OSMO. `entries` are the objects of a List. They are read instead of the
    List itself, which keeps its bytes. The file is `separator + text` of all documents joined.
    """

    separator: str
    text: str
    item: KubeObject | None = None
    line: int = 1
    foreign: KubeObject | None = None
    entries: tuple[KubeObject, ...] = ()

    @property
    def items(self) -> tuple[KubeObject, ...]:
        """Return the objects in the document."""
        return self.entries or (() if self.item is None else (self.item,))

    @property
    def is_blank(self) -> bool:
        """Return True if the document is empty or has only comments."""
        lines = self.text.lstrip("\ufeff").splitlines()
        return self.item is None and all(not line.strip() or line.lstrip().startswith("#") for line in lines)


class BuiltFrom(Record):
    """The origin of a built file: the path and text of its template or resource, and the owner of the build.

    `cluster` is the destination of the delivery. `values` are the names of a chart's values files. `kind` is the kind
    of source: chart, kustomization, or directory. Files of a directory are unchanged.
    """

    template: str
    text: str
    owner: str
    cluster: str
    values: tuple[str, ...] = ()
    kind: str = "chart"


class InputFile(Record):
    """One file at `path`. If it is a ResourceList (`is_list`), its documents are the items, without text.

    `function_config` is from the ResourceList, and `list_text` is the whole text of the list. A file with a
    `skip_reason` has no objects. `built` is the origin of a built file. `unread` is the number of documents that no
    rule reads. They have no objects. If a file has only such documents, it has no text either.
    """

    path: InputPath
    documents: tuple[Document, ...]
    is_list: bool = False
    function_config: KubeObject | None = None
    list_text: str = ""
    skip_reason: SkipReason | None = None
    built: BuiltFrom | None = None
    unread: int = 0

    @property
    def items(self) -> tuple[KubeObject, ...]:
        """Return the Kubernetes objects, in their order."""
        if len(self.documents) == 1:
            return self.documents[0].items
        return tuple(item for document in self.documents for item in document.items)

    @property
    def foreign_documents(self) -> tuple[KubeObject, ...]:
        """Return the documents that are not Kubernetes objects but belong to a front end, in their order."""
        return tuple(document.foreign for document in self.documents if document.foreign is not None)

    @property
    def text(self) -> str:
        """Return the whole file."""
        return self.list_text or "".join([document.separator + document.text for document in self.documents])


class Sources(Record):
    """The number of built sources, and the unbuilt ones.

    `unbuilt` has for each its title, its kind of obstacle in singular and plural, and the reason.
    """

    built: int = 0
    unbuilt: tuple[tuple[str, tuple[str, str], str], ...] = ()

    @property
    def line(self) -> str:
        """Return a line such as `5 sources built, 2 not built: 1 remote chart, 1 failed build`."""
        counted = Counter([nouns for _, nouns, _ in self.unbuilt])
        words = [count_text(number, *nouns) for nouns, number in sorted(counted.items())]
        missing = f", {len(self.unbuilt)} not built: {', '.join(words)}" if self.unbuilt else ""
        return f"{count_text(self.built, 'source')} built{missing}"

    @property
    def detail_lines(self) -> tuple[str, ...]:
        """Return a line for each source that is not built."""
        return tuple([f"not built: {title}: {reason}" for title, _, reason in self.unbuilt])


class BuiltInputs(Record):
    """The files at the paths together with the built files, the names of skipped files, and the results of the builds.

    `around` are the files of sources that are not built, without their workloads. They are read only for objects to
    which other objects refer, because a controller may deliver these.
    """

    files: tuple[InputFile, ...]
    skipped: tuple[tuple[str, SkipReason], ...]
    results: tuple[Result, ...]
    sources: Sources
    around: tuple[InputFile, ...] = ()


def contents_of(files: Iterable[InputFile]) -> dict[Path, bytes]:
    """Return the contents of `files` from disk or stdin as they were read."""
    return {Path(file.path.name): encode_text(file.text) for file in files if file.path.name is not None}


def edited_text(file: InputFile, edited: Mapping[int, KubeObject], option: str) -> str | None:
    """Return the text of `file` with objects replaced by `edited`, or None without a change. The keys are ids of
    objects.

    Raise UsageError, which names `option`, if the file is a ResourceList or has a List.
    """
    changed = [item for item in file.items if edited.get(id(item), item) is not item]
    if not changed:
        return None
    if file.is_list or any(document.entries for document in file.documents):
        name = "stdin" if file.path.name is None else f'"{file.path.name}"'
        if file.is_list:
            raise UsageError(
                f"{name} is a ResourceList, which {option} does not write; pass the files that it was made from"
            )
        raise UsageError(f"{name} holds a List, which {option} does not write; split it into documents")
    texts = [
        (document, None if document.item is None else edited.get(id(document.item), document.item))
        for document in file.documents
    ]
    return "".join(
        [
            document.separator + (document.text if item is None or item is document.item else item.text)
            for document, item in texts
        ]
    )


_LIST = r"""^(?:kind|"kind"|'kind'):[ \t]*["']?ResourceList["']?[ \t\r]*(?:#.*)?$"""


def read_file(path: InputPath) -> InputFile:
    """Return the file at `path` with its documents. If it is not YAML, the `value` of its item raises FieldError.

    Raise FieldError if the file is unreadable, too large, not UTF-8, or an invalid ResourceList.
    """
    return decode(content_of(path), path)


def decode(data: bytes, path: InputPath, is_unread: Unread | None = None) -> InputFile:
    """Return the file with the content `data`, without the objects that `is_unread` selects.

    Raise FieldError as `read_file` does.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        start = data.rfind(b"\n", 0, error.start) + 1
        place = Location(
            path.name,
            data.count(b"\n", 0, start) + 1,
            len(data[start : error.start].decode("utf-8", "replace")) + 1,
        )
        message = f"must be UTF-8; got byte 0x{data[error.start]:02x} at offset {error.start}"
        raise FieldError(None, (), message, place) from None
    keeps_text = is_unread is None
    if path.skip_reason is not None and not (
        path.skip_reason.reason is Reason.VALUES and _holds_documents(iterate_documents(text))
    ):
        return _without_objects(text, path, path.skip_reason, keeps_text=keeps_text)
    if _is_list(text):
        if not path.is_named:
            # A ResourceList in a folder is usually test data, so its functionConfig does not count.
            return _without_objects(text, path, SkipReason(Reason.RESOURCE_LIST), keeps_text=keeps_text)
        return _list_file(text, path)
    read, unread = _read_documents(text, path, is_unread)
    reason = None if path.is_named else _reason(text, read, path, has_unread=unread > 0)
    if reason is not None:
        return _without_objects(text, path, SkipReason(reason), keeps_text=keeps_text)
    is_needed = any(document.item is not None or document.foreign is not None for document, _ in read)
    documents = tuple(document for document, _ in read) if is_needed or not unread else ()
    return InputFile(path, documents, unread=unread)


def _read_documents(text: str, path: InputPath, is_unread: Unread | None) -> tuple[list[tuple[Document, Value]], int]:
    """Return the documents with their values and the number of unread documents.

    Neighbouring unread documents become one document without an object, so that the file keeps its text.
    """
    read: list[tuple[Document, Value]] = []
    unread = at = 0
    start: int | None = None
    for document in iterate_documents(text):
        held = _document(document, path, is_unread)
        if held is None:
            unread += 1
            start = at if start is None else start
        else:
            if start is not None:
                read.append((Document("", text[start:at]), {}))
                start = None
            read.append(held)
        at += len(document.separator) + len(document.text)
    if start is not None:
        read.append((Document("", text[start:]), {}))
    return read, unread


def content_of(path: InputPath) -> bytes:
    """Return the content of the file, or of stdin. Raise FieldError if it is unreadable or too large."""
    try:
        if path.name is None:
            data = read_input(sys.stdin.buffer)
        else:
            with open(path.at or path.name, "rb", buffering=0) as file:  # noqa: PTH123 (a fourth of what pathlib takes)
                data = read_input(file)
    except OSError as error:
        _refuse(path, f"cannot read the file: {error.strerror}")
    if len(data) > MAX_INPUT:
        _refuse(path, f"must be at most {MAX_INPUT >> 20} MiB; split it into smaller files")
    return data


def _refuse(path: InputPath, message: str) -> NoReturn:
    raise FieldError(None, (), message, Location(path.name, 1, 1)) from None


def _is_list(text: str) -> bool:
    """Return True if the text is a ResourceList, even an invalid one. Only a text with this word is parsed."""
    if "ResourceList" not in text:
        return False
    if not text.lstrip("\ufeff \t\r\n").startswith("{"):
        return re.search(_LIST, text, re.MULTILINE) is not None
    value = _flow_value(text)
    return isinstance(value, dict) and value.get("kind") == "ResourceList"


def _flow_value(text: str) -> Value:
    """Return the value of JSON or of YAML in flow style, or None."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        try:
            return read(text)
        except YamlError:
            return None


def _list_file(text: str, path: InputPath) -> InputFile:
    try:
        parsed = ResourceList.parse(text)
    except ResourceListError as error:
        raise FieldError(None, (), error.message, Location(path.name, error.line, error.column)) from None
    items = [_locate(item, path) for item in parsed.items]
    documents = [Document("---\n" if at else "", "", item, entries=entries_of(item)) for at, item in enumerate(items)]
    config = parsed.function_config
    return InputFile(
        path,
        tuple(documents),
        is_list=True,
        function_config=None if config is None else _locate(config, path),
        list_text=text,
    )


def _locate(item: KubeObject, path: InputPath) -> KubeObject:
    """Return the item of a list with its place in the file `path`.

    An item from stdin keeps the place that its client named.
    """
    return item if path.name is None else KubeObject.cut(item.source.replace(file=path.name), item.value)


_TELLING = ("apiVersion", "kind", ENCRYPTION, *document_keys())
"""Keys of which a document has at least one if packwise checks it, or skips it as encrypted. An object with a misspelt
kind has one too.
"""


def _document(document: YamlDocument, path: InputPath, is_unread: Unread | None) -> tuple[Document, Value] | None:
    """Return a document with its object of Kubernetes or OSMO, and its value. Return None if it is unread.

    The value is None if the document is unreadable. It is an empty mapping for a document of another tool, because some
    repositories consist mostly of such documents.
    """
    tree = unkept_tree(document.text)
    words = None if tree is None else tree.words(_TELLING)
    if words == []:
        return Document(document.separator, document.text, line=document.line), {}
    if tree is not None:
        if is_unread is not None and words is not None and ENCRYPTION not in words and is_unread(document.text, tree):
            return None
        keep_tree(document.text, tree)
    source = Source(document.text, (), document.line, 1, path.name)
    value: Value = None
    item: KubeObject | None = None
    foreign: KubeObject | None = None
    is_read = True
    try:
        value = read(source.text)
    except YamlError:
        is_read = False
        if may_be_document(source.text):
            foreign = KubeObject(source)
        else:
            item = KubeObject(source)
    else:
        is_object = isinstance(value, dict) and all(isinstance(value.get(key), str) for key in ("apiVersion", "kind"))
        if not is_object and is_document(value):
            foreign = KubeObject.cut(source, cast("dict[str, Value]", value))
        elif isinstance(value, dict) and (is_object or is_incomplete_object(value)):
            item = KubeObject.cut(source, value)
    entries = entries_of(item) if item is not None and is_read else ()
    return Document(document.separator, document.text, item, document.line, foreign, entries), value


def _reason(
    text: str, documents: Iterable[tuple[Document, Value]], path: InputPath, *, has_unread: bool
) -> Reason | None:
    """Return the reason to skip a file of a folder with the content `text`, or None."""
    values: list[Value] = []
    has_objects = has_unread
    is_kustomization = posixpath.basename(str(path.target)) in KUSTOMIZATIONS
    for document, value in documents:
        values.append(value)
        item = document.item or document.foreign
        if item is None:
            continue
        try:
            _ = item.value
        except FieldError as error:
            name = str(path.target)
            reason = unparsed_reason(name, document.text, error.message) if document.foreign is None else None
            if reason is None and document.foreign is None and _is_foreign_file(text, error, is_kustomization):
                reason = Reason.VALUES if is_values(name) else Reason.FOREIGN
            if reason is not None:
                return reason
        has_objects = True
    if is_kustomization:
        return None
    return content_reason(str(path.target), values, has_objects=has_objects)


def _is_foreign_file(text: str, error: FieldError, is_kustomization: bool) -> bool:
    """Return True if an unreadable file is not an error: it belongs to another tool, or kustomize can read it.

    kustomize accepts duplicate keys in a kustomization and uses the last one.
    """
    if is_kustomization and error.message.startswith("duplicate key "):
        return True
    return is_of_another_tool("".join([document.text for document in iterate_documents(text)]))


def _without_objects(text: str, path: InputPath, skip_reason: SkipReason, *, keeps_text: bool) -> InputFile:
    """Return the file with its documents, but without objects.

    Without `keeps_text`, a text without workloads is dropped.
    """
    number = workloads_in(text)
    # The object that a patch changes is in another file, and is checked there.
    workloads = 0 if skip_reason.reason is Reason.PATCH else number
    documents = tuple(
        [Document(each.separator, each.text, line=each.line) for each in iterate_documents(text)]
        if keeps_text or number
        else []
    )
    return InputFile(path, documents, skip_reason=skip_reason.replace(workloads=workloads))


def _holds_documents(documents: Iterable[YamlDocument]) -> bool:
    """Return True if a file of Helm values has documents that a front end reads: OSMO's pools."""
    for document in documents:
        try:
            if words_in(document.text, _TELLING) != [] and is_document(read(document.text)):
                return True
        except YamlError:
            continue
    return False


if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from packwise.inputs.paths import InputPath

    _Read = tuple[InputFile, FieldError | None]
    """A file, and the error if it cannot be read. An unreadable file has no documents."""


_OWN = "|".join([re.escape(kind.name) for kind in KINDS if kind is not POD] + ["TopologyRender", "grove.io/"])
"""Pattern of words that objects contain if packwise reads them."""


def error_result(error: FieldError) -> Result:
    """Return the result that reports `error`: a file or object is unreadable, or an object cannot be written."""
    result = error.to_result()
    return shorten(result.replace(tags={"rule": READABLE.name, **result.tags}))


def items_of(files: Iterable[InputFile]) -> tuple[KubeObject, ...]:
    """Return the objects of `files` in order, including unreadable ones."""
    return tuple(item for file in files for item in file.items)


def readable_items(file: InputFile) -> Iterator[KubeObject]:
    """Return an iterator of the readable objects of `file`."""
    return filter(is_readable, file.items)


def is_readable(item: KubeObject) -> bool:
    """Return True if the object's text is YAML and a mapping."""
    try:
        _ = item.value
    except FieldError:
        return False
    return True


class Reader:
    """A reader of files. It keeps the files, their errors, and the skipped files with the reasons."""

    __slots__ = ("_apart", "_exclude", "_force_exclude", "files", "results", "skipped")

    def __init__(self, exclude: Iterable[str] = (), *, force_exclude: bool = False, apart: Iterable[str] = ()) -> None:
        self._exclude = tuple(exclude)
        self._apart = [real(path) for path in apart]
        self._force_exclude = force_exclude
        self.files: list[InputFile] = []
        self.skipped: list[tuple[str, SkipReason]] = []
        self.results: list[Result] = []

    def read(self, paths: Iterable[str], output: str | None = None, is_unread: Unread | None = None) -> list[InputFile]:
        """Return each file at `paths` once, in order, without the objects that `is_unread` selects.

        A file that is named directly is never skipped.
        """
        listed = self._paths_to_read(self._unique_paths(paths, output))
        return self._keep([_read(path, is_unread) for path in track_files(listed)])

    def _unique_paths(self, paths: Iterable[str], output: str | None) -> Iterable[InputPath]:
        paths_by_name: dict[str, InputPath] = {}
        for path in paths:
            named, results = find_files(path, output, self._exclude, force_exclude=self._force_exclude)
            self.results += results
            # If the path is the same as for the other option, or inside it, its files are read for both.
            apart = [other for other in self._apart if not contains(other, real(path))]
            for file in named:
                key = file.real_path
                if not file.is_named and any(contains(other, key) for other in apart):
                    continue
                before = paths_by_name.get(key)
                if before is None:
                    paths_by_name[key] = file
                elif file.is_named and before.skip_reason is not None:
                    paths_by_name[key] = before.as_named()
        return paths_by_name.values()

    def read_commit(self, commit: str, paths: Iterable[str]) -> list[InputFile]:
        """Return each file at `paths` in a commit of git."""
        from packwise.inputs.git import files_in_commit

        return self.read_contents(
            {file: data for path in paths for file, data in files_in_commit(commit, path, self._exclude)}
        )

    def read_contents(self, contents: Mapping[InputPath, bytes | InputFile]) -> list[InputFile]:
        """Return each file with the given content, in order.

        A content is either bytes or a file that was read before.
        """
        listed = [(path, contents[path]) for path in self._paths_to_read(contents)]
        return self._keep(
            [_decode_or_error(path, held) if isinstance(held, bytes) else (held, None) for path, held in listed]
        )

    def _paths_to_read(self, paths: Iterable[InputPath]) -> list[InputPath]:
        """Return the paths to read. Record all other paths as skipped."""
        listed: list[InputPath] = []
        for path in paths:
            if path.skip_reason is None or path.skip_reason.reason.is_of_the_package:
                listed.append(path)
            else:
                self.skipped.append((str(path.name), path.skip_reason.replace(workloads=_workloads_at(path))))
        return listed

    def _keep(self, read: list[_Read]) -> list[InputFile]:
        excluded = _exclusions([file for file, _ in read])
        files: list[InputFile] = []
        for file, error in read:
            if self._is_excluded(file.path, excluded, file.text):
                continue
            files.append(file)
            self.results += [] if error is None else [error_result(error)]
            if file.skip_reason is not None:
                self.skipped.append((str(file.path.name), file.skip_reason))
            for item in file.items:
                try:
                    _ = item.value
                except FieldError as wrong:
                    self.results.append(error_result(_advise(file.path, wrong, item.source.text)))
        self.files += files
        return files

    def _is_excluded(self, path: InputPath, excluded: Iterable[tuple[str, str, Globs]], text: str) -> bool:
        """Return True if a configuration excludes the file, and record the file as skipped."""
        by = None if path.is_named else _exclusion_of(str(path.name), excluded)
        if by is not None:
            self.skipped.append((str(path.name), SkipReason(Reason.EXCLUDED, by, workloads_in(text))))
        return by is not None


def _workloads_at(path: InputPath) -> int:
    """Return the number of workloads in an ignored or excluded file. Return 0 for a folder, which is not searched."""
    is_copy = path.skip_reason is not None and path.skip_reason.reason is Reason.RENDERED
    if is_copy or path.at is None or not Path(path.at).is_file():
        return 0
    try:
        return workloads_in(content_of(path).decode("utf-8", "replace"))
    except FieldError:
        return 0


def _read(path: InputPath, is_unread: Unread | None) -> _Read:
    """Return the file and None, or a file without documents and the error if it is unreadable."""
    try:
        data = content_of(path)
    except FieldError as error:
        return InputFile(path, ()), error
    return _decode_or_error(path, data, is_unread)


def _decode_or_error(path: InputPath, data: bytes, is_unread: Unread | None = None) -> _Read:
    try:
        return decode(data, path, is_unread), None
    except FieldError as error:
        return InputFile(path, ()), _advise(path, error, data.decode("utf-8", "replace"))


def _advise(path: InputPath, error: FieldError, text: str) -> FieldError:
    """Return the error with advice if `text` does not look like an object that packwise reads."""
    place = error.location
    if place.column == 1 and re.match(_JOINED, error.message):
        return FieldError(error.id, error.path, error.message + _SEPARATE, place)
    if path.is_named or re.search(_OWN, text):
        return error
    return FieldError(error.id, error.path, error.message + _ADVICE, place)


_JOINED = r'duplicate key "apiVersion"'
_SEPARATE = '; if a second object begins here, separate the objects with a line "---": cat joins files without one'
"""Advice for files that were joined without a separator, so that two objects became one mapping."""

_ADVICE = "; if the file belongs to another tool, pass --exclude GLOB"


def _is_foreign(result: Result) -> bool:
    """Return True if a result is about an unreadable file in a folder that seems to belong to another tool."""
    return result.message.endswith(_ADVICE)


def stdin_results(files: Iterable[InputFile]) -> list[Result]:
    """Return an error if stdin is among `files` and has no object.

    In a pipe, this means that the previous command failed.
    """
    empty = [file for file in files if file.path.name is None and file.skip_reason is None and not _has_content(file)]
    return [Result(_EMPTY, tags={"rule": READABLE.name}) for _ in empty]


def _has_content(file: InputFile) -> bool:
    has_objects = any(document.item is not None or document.foreign is not None for document in file.documents)
    return file.is_list or file.unread > 0 or has_objects


_EMPTY = "stdin has no Kubernetes object; run the previous command of the pipe alone to see if it failed"


def has_own_errors(results: Iterable[Result]) -> bool:
    """Return True if there is an error outside other tools' files.

    An error in one of these does not prevent a check.
    """
    return bool(exit_code([result for result in results if not _is_foreign(result)]))


def _exclusions(files: Iterable[InputFile]) -> list[tuple[str, str, Globs]]:
    """Return for each TopologyRender with exclusions its folder, the name of its file, and the globs."""
    exclusions: list[tuple[str, str, Globs]] = []
    for file in files:
        for item in readable_items(file) if file.path.name is not None else ():
            patterns = item.get(("spec", "exclude")) if is_settings(item) else None
            if isinstance(patterns, list):
                name = str(file.path.name)
                exclusions.append((Path(name).parent.as_posix(), name, Globs.read(strings(patterns))))
    return exclusions


def _exclusion_of(name: str, exclusions: Iterable[tuple[str, str, Globs]]) -> str | None:
    for folder, by, globs in exclusions:
        below = name if folder == "." else name.removeprefix(f"{folder}/")
        # A name that does not begin with the folder is outside it.
        if (folder == "." or below != name) and globs.take(below):
            return by
    return None
