"""Trees of files by their paths, and the documents in them.

Paths are slash-separated below the top of the repository; "" is the top.

Clusters are alike, and each file is asked about several times: the texts that were read last are not read again.
"""

from __future__ import annotations

import posixpath
from bisect import bisect_left
from functools import lru_cache

from krmfn.errors import FieldError
from krmfn.hints import TYPE_CHECKING, Protocol
from krmfn.kubeobject import KubeObject
from krmfn.source import Source
from krmfn.yamltext import YamlError, read, split_documents
from packwise.commands.clients import Problem
from packwise.discovery import unparsed_reason

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from krmfn.value import Value


class FileTree(Protocol):
    """Files by their paths."""

    def is_file(self, path: str) -> bool:
        """True if a file, and no link, stands at `path`."""
        ...

    def is_folder(self, path: str) -> bool:
        """True if a folder, and no link, stands at `path`."""
        ...

    def read(self, path: str) -> bytes:
        """Content of the file at `path`. Raises OSError where it cannot be read."""
        ...

    def files_below(self, folder: str) -> Sequence[str]:
        """The paths of all files in a folder and in its folders, sorted.

        Hidden ones are left out, but for those that say what other files are.
        """
        ...

    def files_in(self, folder: str) -> Sequence[str]:
        """The sorted paths of the files directly in a folder that the root of the tree is in; no hidden ones."""
        ...


class MemoryTree:
    """A tree whose files are in memory."""

    __slots__ = ("_contents", "_folders", "_paths")

    def __init__(self, contents: Mapping[str, bytes]) -> None:
        self._contents = contents
        self._paths = sorted(contents)
        self._folders = {folder for path in contents for folder in _folders_of(path)}

    def is_file(self, path: str) -> bool:
        """As `FileTree` has it."""
        return path in self._contents

    def is_folder(self, path: str) -> bool:
        """As `FileTree` has it."""
        return path in self._folders

    def read(self, path: str) -> bytes:
        """As `FileTree` has it."""
        return self._contents[path]

    def files_below(self, folder: str) -> Sequence[str]:
        """As `FileTree` has it."""
        return below(self._paths, folder)

    def files_in(self, folder: str) -> Sequence[str]:
        """As `FileTree` has it."""
        return files_directly_in(folder, self._paths)


def files_directly_in(folder: str, paths: Iterable[str]) -> list[str]:
    """Those of the `paths` that stand directly in the folder, sorted, without hidden files."""
    inside = [path for path in paths if posixpath.dirname(path) == folder]
    return sorted([path for path in inside if not posixpath.basename(path).startswith(".")])


def below(paths: Sequence[str], folder: str) -> Sequence[str]:
    """Those of the sorted `paths` that are in `folder` or in its folders."""
    if not folder:
        return paths
    # "0" is the character after "/".
    return paths[bisect_left(paths, f"{folder}/") : bisect_left(paths, f"{folder}0")]


def _folders_of(path: str) -> list[str]:
    folders: list[str] = []
    while path:
        path = posixpath.dirname(path)
        folders.append(path)
    return folders


_KEPT = 512
"""Number of texts that are kept with what they say."""

_LONGEST = 20_000
"""Characters of a text that is kept."""


def mapping_at(tree: FileTree, path: str) -> Mapping[str, Value]:
    """The mapping that a file holds. Raises YamlError where it is no YAML, or something else."""
    text = text_at(tree, path)
    value = _kept_value(text) if len(text) <= _LONGEST else read(text)
    if not isinstance(value, dict):
        raise YamlError("must be a mapping", 1, 1)
    return value


def objects_at(tree: FileTree, path: str) -> Iterator[KubeObject]:
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


def unreadable_at(tree: FileTree, path: str, words: Iterable[bytes]) -> list[Problem]:
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


def text_at(tree: FileTree, path: str) -> str:
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
