"""One file read: its bytes, its documents, the objects among them."""

from __future__ import annotations

import posixpath
import re
import sys

from krmfn.errors import FieldError
from krmfn.hints import TYPE_CHECKING, cast
from krmfn.kubeobject import KubeObject
from krmfn.resourcelist import ResourceList, ResourceListError
from krmfn.run import MAX_INPUT, read_input
from krmfn.source import Location, Source
from krmfn.yamltext import YamlError, read, split_documents
from packwise.cli.document import Document, InputFile
from packwise.discovery import KUSTOMIZATIONS, LeftOut, Reason, content_reason, unparsed_reason
from packwise.objects.index import entries_of
from packwise.objects.kinds import is_nearly_known, workloads_in
from packwise.pipeline.registry import is_document, may_be_document

if TYPE_CHECKING:
    from typing import NoReturn

    from krmfn.value import Value
    from krmfn.yamltext import Document as SplitDocument
    from packwise.cli.input_paths import InputPath

__all__ = ["content_of", "decode", "read_file"]

_LIST = re.compile(r"""^(?:kind|"kind"|'kind'):[ \t]*["']?ResourceList["']?[ \t\r]*(?:#.*)?$""", re.MULTILINE)


def read_file(path: InputPath) -> InputFile:
    """The file with its documents; one that is no YAML is an item whose `value` raises.

    Raises FieldError: not readable, too large, not UTF-8, or a ResourceList that is none.
    """
    return decode(content_of(path), path)


def decode(data: bytes, path: InputPath) -> InputFile:
    """The file whose content is `data`. Raises FieldError as `read_file` does."""
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
    if path.left_out is not None and not (path.left_out.reason is Reason.VALUES and _holds_documents(text)):
        return _left_out(text, path, path.left_out)
    if _is_list(text):
        return _list_file(text, path)
    documents = tuple(_document(document, path) for document in split_documents(text))
    reason = None if path.is_named else _reason(documents, path)
    return InputFile(path, documents) if reason is None else _left_out(text, path, LeftOut(reason))


def content_of(path: InputPath) -> bytes:
    """What the file, or stdin, holds. Raises FieldError: not readable, too large."""
    try:
        if path.name is None:
            data = read_input(sys.stdin.buffer)
        else:
            with open(path.name, "rb", buffering=0) as file:  # noqa: PTH123 (a fourth of what pathlib takes)
                data = read_input(file)
    except OSError as error:
        _refuse(path, f'must be readable; got "{error.strerror}"')
    if len(data) > MAX_INPUT:
        _refuse(path, f"must be at most {MAX_INPUT >> 20} MiB; split it into smaller files")
    return data


def _refuse(path: InputPath, message: str) -> NoReturn:
    raise FieldError(None, (), message, Location(path.name, 1, 1)) from None


def _is_list(text: str) -> bool:
    """Whether the text is to be a ResourceList; only what may be one is looked at closely."""
    if "ResourceList" not in text:
        return False
    if not text.lstrip("\ufeff \t\r\n").startswith("{"):
        return _LIST.search(text) is not None
    value = _flow_value(text)
    return isinstance(value, dict) and value.get("kind") == "ResourceList"


def _flow_value(text: str) -> Value:
    """What JSON, or YAML in flow style, says; None where it is neither."""
    import json

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
    items = [_named(item, path) for item in parsed.items]
    documents = [Document("---\n" if at else "", "", item, entries=entries_of(item)) for at, item in enumerate(items)]
    config = parsed.function_config
    return InputFile(
        path,
        tuple(documents),
        is_list=True,
        function_config=None if config is None else _named(config, path),
        list_text=text,
    )


def _named(item: KubeObject, path: InputPath) -> KubeObject:
    """The item of a list; one in a file is located there, one on stdin where the client read it."""
    return item if path.name is None else KubeObject.cut(item.source._replace(file=path.name), item.value)


def _document(document: SplitDocument, path: InputPath) -> Document:
    """A document with the object that it is, of Kubernetes or of OSMO; one that is no YAML is found out later."""
    source = Source(document.text, (), document.line, 1, path.name)
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
        if is_document(value):
            foreign = KubeObject.cut(source, cast("dict[str, Value]", value))
        elif isinstance(value, dict) and (
            all(isinstance(value.get(key), str) for key in ("apiVersion", "kind")) or is_nearly_known(value)
        ):
            item = KubeObject.cut(source, value)
    entries = entries_of(item) if item is not None and is_read else ()
    return Document(document.separator, document.text, item, document.line, foreign, entries)


def _reason(documents: tuple[Document, ...], path: InputPath) -> Reason | None:
    """Why a file of a folder is not judged, by what it holds."""
    values: list[Value] = []
    has_objects = False
    for document in documents:
        item = document.item or document.foreign
        if item is None:
            values.append(read(document.text))
            continue
        try:
            values.append(dict(item.value))
        except FieldError as error:
            name, text = str(path.target), document.text
            reason = unparsed_reason(name, text, error.message) if document.foreign is None else None
            if reason is not None:
                return reason
        has_objects = True
    if posixpath.basename(str(path.target)) in KUSTOMIZATIONS:
        return None
    return content_reason(str(path.target), values, has_objects=has_objects)


def _left_out(text: str, path: InputPath, left_out: LeftOut) -> InputFile:
    """The file as bytes alone, whatever it holds."""
    documents = split_documents(text)
    # What a patch changes stands elsewhere, and is judged there.
    workloads = 0 if left_out.reason is Reason.PATCH else workloads_in(text)
    return InputFile(
        path,
        tuple(Document(document.separator, document.text, line=document.line) for document in documents),
        left_out=left_out._replace(workloads=workloads),
        is_stream=left_out.reason is not Reason.HELM_TEMPLATE and all(_is_yaml(each.text) for each in documents),
    )


def _holds_documents(text: str) -> bool:
    """Whether a file of Helm values holds what a front end reads: OSMO's pools."""
    for document in split_documents(text):
        try:
            if is_document(read(document.text)):
                return True
        except YamlError:
            continue
    return False


def _is_yaml(text: str) -> bool:
    try:
        read(text)
    except YamlError:
        return False
    return True
