"""The documents of a file in a tree: their values, and the objects among them.

Clusters are alike, and each file is asked about several times: the texts that were read last are not read again.
"""

from __future__ import annotations

from functools import lru_cache

from krmfn.errors import FieldError
from krmfn.hints import TYPE_CHECKING
from krmfn.kubeobject import KubeObject
from krmfn.source import Source
from krmfn.yamltext import YamlError, read, split_documents
from packwise.commands.doctor.client import Problem
from packwise.discovery import unparsed_reason

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from krmfn.value import Value
    from packwise.commands.fleet.tree import Tree

__all__ = ["documents_in", "mapping_at", "objects_at", "text_at", "unreadable_at"]

_KEPT = 512
"""How many texts are kept with what they say."""

_LONGEST = 20_000
"""Characters of a text that is kept."""


def mapping_at(tree: Tree, path: str) -> Mapping[str, Value]:
    """The mapping that a file holds. Raises YamlError where it is no YAML, or something else."""
    text = text_at(tree, path)
    value = _kept_value(text) if len(text) <= _LONGEST else read(text)
    if not isinstance(value, dict):
        raise YamlError("must be a mapping", 1, 1)
    return value


def objects_at(tree: Tree, path: str) -> Iterator[KubeObject]:
    """The mappings among the documents of a file; what is no YAML is left out."""
    return (each for each in documents_in(text_at(tree, path), path) if isinstance(each, KubeObject))


def documents_in(text: str, path: str) -> Iterator[KubeObject | YamlError]:
    """The documents of `text`, which stands in the file at `path`: mappings, and why others are none.

    Documents that hold nothing are left out.
    """
    for each in _kept_documents(text) if len(text) <= _LONGEST else _documents(text):
        if isinstance(each, YamlError):
            yield each
        else:
            source, value = each
            yield KubeObject.cut(source._replace(file=path), value)


def unreadable_at(tree: Tree, path: str, words: Iterable[bytes]) -> list[Problem]:
    """The documents of a file that are no YAML, have one of the words, and are no templates."""
    text, problems = text_at(tree, path), list[Problem]()
    for document in split_documents(text):
        try:
            _ = KubeObject(Source(document.text, (), document.line, 1, path)).value
        except FieldError as error:
            is_meant = any(word.decode() in document.text for word in words)
            if is_meant and unparsed_reason(path, document.text, error.message) is None:
                problems.append(Problem(path, error.message, error.location.line, error.location.column))
    return problems


def text_at(tree: Tree, path: str) -> str:
    """The text of a file; "" where it cannot be read, which whoever renders the package reports."""
    try:
        return tree.read(path).decode("utf-8", "replace")
    except OSError:
        return ""


@lru_cache(_KEPT)
def _kept_value(text: str) -> Value:
    return read(text)


@lru_cache(_KEPT)
def _kept_documents(text: str) -> list[tuple[Source, Mapping[str, Value]] | YamlError]:
    return _documents(text)


def _documents(text: str) -> list[tuple[Source, Mapping[str, Value]] | YamlError]:
    documents: list[tuple[Source, Mapping[str, Value]] | YamlError] = []
    for document in split_documents(text):
        try:
            value = read(document.text)
        except YamlError as error:
            documents.append(YamlError(error.message, error.line + document.line - 1, error.column))
            continue
        if isinstance(value, dict):
            documents.append((Source(document.text, (), document.line), value))
        elif value is not None:
            documents.append(YamlError("must be a mapping", document.line, 1))
    return documents
