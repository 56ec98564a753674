"""One file read: its bytes, its documents, the objects among them."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, cast

from krmfn.errors import FieldError
from krmfn.kubeobject import KubeObject
from krmfn.resourcelist import ResourceList, ResourceListError
from krmfn.run import MAX_INPUT
from krmfn.source import Location, Source
from krmfn.yamltext import YamlError, read, split_documents
from packwise.cli.document import Document, InputFile
from packwise.select.foreign import is_foreign, may_be_foreign

if TYPE_CHECKING:
    from krmfn.value import Value
    from krmfn.yamltext import Document as SplitDocument
    from packwise.cli.find import Found

__all__ = ["decode", "read_file"]

_LIST = re.compile(r"""^(?:kind|"kind"|'kind'):[ \t]*["']?ResourceList["']?[ \t\r]*(?:#.*)?$""", re.MULTILINE)


def read_file(found: Found) -> InputFile:
    """The file with its documents; one that is no YAML is an item whose `value` raises.

    Raises FieldError: not readable, too large, not UTF-8, or a ResourceList that is none.
    """
    return decode(_content(found), found)


def decode(data: bytes, found: Found) -> InputFile:
    """The file whose content is `data`. Raises FieldError as `read_file` does."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        start = data.rfind(b"\n", 0, error.start) + 1
        place = Location(
            found.name,
            data.count(b"\n", 0, start) + 1,
            len(data[start : error.start].decode("utf-8", "replace")) + 1,
        )
        message = f"must be UTF-8; got byte 0x{data[error.start]:02x} at offset {error.start}"
        raise FieldError(None, (), message, place) from None
    if _is_list(text):
        return _list_file(text, found)
    return InputFile(found, tuple([_document(one, found) for one in split_documents(text)]))


def _content(found: Found) -> bytes:
    try:
        if found.name is None:
            data = sys.stdin.buffer.read(MAX_INPUT + 1)
        else:
            with Path(found.name).open("rb") as file:
                data = file.read(MAX_INPUT + 1)
    except OSError as error:
        _refuse(found, f'must be readable; got "{error.strerror}"')
    if len(data) > MAX_INPUT:
        _refuse(found, f"must be at most {MAX_INPUT >> 20} MiB; split it into smaller files")
    return data


def _refuse(found: Found, message: str) -> NoReturn:
    raise FieldError(None, (), message, Location(found.name, 1, 1)) from None


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


def _list_file(text: str, found: Found) -> InputFile:
    try:
        parsed = ResourceList.parse(text)
    except ResourceListError as error:
        raise FieldError(None, (), error.message, Location(found.name, error.line, error.column)) from None
    items = [_named(item, found) for item in parsed.items]
    config = parsed.function_config
    return InputFile(
        found,
        tuple([Document("---\n" if at else "", "", item) for at, item in enumerate(items)]),
        is_list=True,
        function_config=None if config is None else _named(config, found),
        list_text=text,
    )


def _named(item: KubeObject, found: Found) -> KubeObject:
    """The item of a list; one in a file is located there, one on stdin where the client read it."""
    return item if found.name is None else KubeObject.cut(item.source._replace(file=found.name), item.value)


def _document(one: SplitDocument, found: Found) -> Document:
    """A document with the object that it is, of Kubernetes or of OSMO; one that is no YAML is found out later."""
    source = Source(one.text, (), one.line, 1, found.name)
    item: KubeObject | None = None
    foreign: KubeObject | None = None
    try:
        value = read(source.text)
    except YamlError:
        if may_be_foreign(source.text):
            foreign = KubeObject(source)
        else:
            item = KubeObject(source)
    else:
        if is_foreign(value):
            foreign = KubeObject.cut(source, cast("dict[str, Value]", value))
        elif isinstance(value, dict) and all(isinstance(value.get(key), str) for key in ("apiVersion", "kind")):
            item = KubeObject.cut(source, value)
    return Document(one.separator, one.text, item, one.line, foreign)
