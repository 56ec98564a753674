"""Trees of files by path, in memory, in a folder on disk or in a commit, and the documents in them.

A path has slashes and starts at the top of the repository. "" is the top.

The clusters of a fleet are similar and read each file several times, so the last texts are cached.
"""

from __future__ import annotations

import errno
import os
import posixpath
from bisect import bisect_left
from collections import OrderedDict
from functools import lru_cache
from hashlib import sha256
from pathlib import Path, PurePosixPath

from krmfn.fieldpath import FieldError
from krmfn.hints import TYPE_CHECKING, Protocol
from krmfn.kubeobject import KubeObject, Source
from krmfn.run import MAX_INPUT
from krmfn.yamltext import YamlError, read, split_documents
from packwise.build.problems import KPTFILE, ClientProblem
from packwise.discovery import (
    GITIGNORE,
    LANDMARKS,
    Ignored,
    ignored_files,
    ignores_above,
    read_kustomization,
    unparsed_reason,
)
from packwise.globs import Globs
from packwise.inputs.git import blob_of
from packwise.inputs.paths import contains, landmark_text, landmarks_above, real

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from krmfn.value import Value
    from packwise.inputs.git import Commit


SAYING = LANDMARKS | {GITIGNORE, KPTFILE}
"""Names of files that describe other files, including hidden ones."""


class FileTree(Protocol):
    """Files by their paths."""

    def is_file(self, path: str) -> bool:
        """Return True if `path` is a file and not a link."""
        ...

    def is_folder(self, path: str) -> bool:
        """Return True if `path` is a folder and not a link."""
        ...

    def read(self, path: str) -> bytes:
        """Return the content of the file at `path`. Raise OSError if it is unreadable."""
        ...

    def files_below(self, folder: str) -> Sequence[str]:
        """Return the paths of all files in a folder and its folders, sorted.

        Hidden files are skipped unless they describe other files.
        """
        ...

    def files_in(self, folder: str) -> Sequence[str]:
        """Return the sorted paths of the files directly in `folder`, without hidden files.

        It may be above the tree's root.
        """
        ...

    def listing(self, root: str) -> FileTree:
        """Return the same tree, but list the files of the folder `root`."""
        ...

    def links(self) -> Mapping[str, str | None]:
        """Map each listed link to its target, or to None if the link leads out of the tree or to nothing."""
        ...


class MemoryTree:
    """A tree of files in memory."""

    __slots__ = ("_contents", "_folders", "_paths")

    def __init__(self, contents: Mapping[str, bytes]) -> None:
        self._contents = contents
        self._paths = sorted(contents)
        self._folders = {folder for path in contents for folder in _folders_of(path)}

    def is_file(self, path: str) -> bool:
        """See `FileTree.is_file`."""
        return path in self._contents

    def is_folder(self, path: str) -> bool:
        """See `FileTree.is_folder`."""
        return path in self._folders

    def read(self, path: str) -> bytes:
        """See `FileTree.read`."""
        return self._contents[path]

    def files_below(self, folder: str) -> Sequence[str]:
        """See `FileTree.files_below`."""
        return paths_below(self._paths, folder)

    def files_in(self, folder: str) -> Sequence[str]:
        """See `FileTree.files_in`."""
        return files_directly_in(folder, self._paths)

    def listing(self, root: str) -> MemoryTree:  # noqa: ARG002
        """See `FileTree.listing`. All files are listed."""
        return self

    def links(self) -> Mapping[str, str | None]:
        """See `FileTree.links`. There are no links."""
        return {}


def files_directly_in(folder: str, paths: Iterable[str]) -> list[str]:
    """Return the sorted `paths` directly in the folder, without hidden files."""
    inside = [path for path in paths if posixpath.dirname(path) == folder]
    return sorted(path for path in inside if not posixpath.basename(path).startswith("."))


def paths_below(paths: Sequence[str], folder: str) -> Sequence[str]:
    """Return the sorted `paths` within `folder` at any depth."""
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
"""The number of texts that are cached with their parsed result."""

_LONGEST = 20_000
"""The largest number of characters of a cached text."""


def mapping_at(tree: FileTree, path: str) -> Mapping[str, Value]:
    """Return the mapping in a file. Raise YamlError if it is not YAML or not a mapping."""
    return _mapping_at(tree, path, read)


def kustomization_at(tree: FileTree, path: str) -> Mapping[str, Value]:
    """Return the kustomization in a file. Raise YamlError if it is not YAML or not a mapping."""
    return _mapping_at(tree, path, read_kustomization)


def _mapping_at(tree: FileTree, path: str, reader: Callable[[str], Value]) -> Mapping[str, Value]:
    text = text_at(tree, path)
    value = _kept_value(text, reader) if len(text) <= _LONGEST else reader(text)
    if not isinstance(value, dict):
        raise YamlError("must be a mapping", 1, 1)
    return value


def objects_at(tree: FileTree, path: str) -> Iterator[KubeObject]:
    """Return an iterator of the mappings among the documents of a file. Invalid YAML is skipped."""
    return (each for each in documents_in(text_at(tree, path), path) if isinstance(each, KubeObject))


def documents_in(text: str, path: str) -> Iterator[KubeObject | YamlError]:
    """Yield the documents of `text` in the file at `path`: mappings, or the error of a document that is not one.

    Empty documents are skipped.
    """
    for each in _kept_documents(text) if len(text) <= _LONGEST else _documents(text):
        if isinstance(each, YamlError):
            yield each
        else:
            source, value = each
            yield KubeObject.cut(source.replace(file=path), value)


def unreadable_at(tree: FileTree, path: str, words: Iterable[bytes]) -> list[ClientProblem]:
    """Return a problem for each document of a file that is invalid YAML, has one of `words`, and is not a template."""
    text, problems = text_at(tree, path), list[ClientProblem]()
    for document in split_documents(text):
        try:
            _ = KubeObject(Source(document.text, (), document.line, 1, path)).value
        except FieldError as error:
            is_meant = any(word.decode() in document.text for word in words)
            if is_meant and unparsed_reason(path, document.text, error.message) is None:
                problems.append(ClientProblem(path, error.message, error.location.line, error.location.column))
    return problems


def text_at(tree: FileTree, path: str) -> str:
    """Return the text of a file. Return "" if it is unreadable. The render of the package reports the error."""
    try:
        return tree.read(path).decode("utf-8", "replace")
    except OSError:
        return ""


@lru_cache(_KEPT)
def _kept_value(text: str, reader: Callable[[str], Value]) -> Value:
    return reader(text)


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


# The files of a repository: a folder on disk, or a commit.

_BYTES_KEPT = 4 << 20
"""The largest number of bytes of cached contents. The cache is for shared bases, which every package reads."""

_PIECE = 16 << 10
"""Bytes of one read. Nearly every file is smaller, and larger buffers take longer to allocate."""

_SIZE = 32
"""Bytes of a digest."""

_LOOKED_UP = 20_000
"""The largest number of paths that are cached with their type."""


def _content(path: str) -> bytes:
    """Return the content of the file, at most one byte more than MAX_INPUT."""
    file = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    pieces: list[bytes] = []
    left = MAX_INPUT + 1
    try:
        while left and (piece := os.read(file, min(left, _PIECE))):
            pieces.append(piece)
            left -= len(piece)
    finally:
        os.close(file)
    return b"".join(pieces)


class RecentContents:
    """The contents read last, by path, up to a number of bytes."""

    __slots__ = ("_kept", "_size")

    def __init__(self) -> None:
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._size = 0

    def get(self, path: str) -> bytes | None:
        """Return the content if it is still cached."""
        data = self._kept.get(path)
        if data is not None:
            self._kept.move_to_end(path)
        return data

    def keep(self, path: str, data: bytes) -> bytes:
        """Keep `data` and drop the least recently used contents. Return `data`."""
        self._kept[path] = data
        self._size += len(data)
        while self._size > _BYTES_KEPT:
            self._size -= len(self._kept.popitem(last=False)[1])
        return data


class DiskTree:
    """The files below `top`, the top of a repository. Only files in its folder `root` are listed.

    The folder `output`, hidden files, ignored files and files that match the globs `exclude` are not listed. Raise
    OSError if a folder is unreadable.
    """

    def __init__(self, top: str, root: str, output: str | None = None, exclude: Sequence[str] = ()) -> None:
        self._top = Path(top)
        self._top_path = top.rstrip("/")
        self._output = None if output is None else real(output)
        self._excluded = Globs.read(exclude) if exclude else None
        self._kinds: dict[str, str] = {}
        self._contents = RecentContents()
        self._files: list[str] = []
        self._links: list[str] = []
        # The digests of the listed files, one after the other. A file that was not read yet has zeros.
        self._digests = bytearray()
        self._files = self._walk(root)
        self._digests = bytearray(_SIZE * len(self._files))

    def is_file(self, path: str) -> bool:
        """See `FileTree.is_file`."""
        return self._kind(path) == "file"

    def is_folder(self, path: str) -> bool:
        """See `FileTree.is_folder`."""
        return self._kind(path) == "folder"

    def files_below(self, folder: str) -> Sequence[str]:
        """See `FileTree.files_below`. `folder` must be in the root."""
        return paths_below(self._files, folder)

    def files_in(self, folder: str) -> Sequence[str]:
        """See `FileTree.files_in`."""
        with os.scandir(self._top / folder) as opened:
            names = [entry.name for entry in opened if entry.is_file(follow_symlinks=False)]
        return files_directly_in(folder, [posixpath.join(folder, name) for name in names])

    def listing(self, root: str) -> DiskTree:
        """See `FileTree.listing`."""
        return DiskTree(str(self._top), root)

    def links(self) -> Mapping[str, str | None]:
        """See `FileTree.links`."""
        return {path: self._link_target(path) for path in self._links}

    def _link_target(self, path: str) -> str | None:
        top = self._top_path
        try:
            at = real(f"{top}/{path}")
        except (OSError, ValueError):
            return None
        if not contains(top, at) or not Path(at).exists():
            return None
        return "" if at == top else Path(at).relative_to(top).as_posix()

    def read(self, path: str) -> bytes:
        """See `FileTree.read`."""
        kept = self._contents.get(path)
        if kept is not None:
            return kept
        data = _content(f"{self._top_path}/{path}")
        if len(data) > MAX_INPUT:
            raise OSError(errno.EFBIG, f"more than {MAX_INPUT >> 20} MiB", path)
        at = self._place(path)
        if at is not None:
            self._digests[at : at + _SIZE] = sha256(data).digest()
        return self._contents.keep(path, data)

    def digest(self, path: str) -> bytes:
        """Return a digest of the file's content at its last reading. Raise OSError if it is unreadable."""
        at = self._place(path)
        known = None if at is None else bytes(self._digests[at : at + _SIZE])
        return known if known is not None and any(known) else sha256(self.read(path)).digest()

    def blob(self, path: str, name: str = "") -> str:
        """Return the git blob ID of the file, with the same hash algorithm as the ID `name`.

        Raise OSError if it is unreadable.
        """
        return blob_of(self.read(path), name)

    def _place(self, path: str) -> int | None:
        """Return the position of the file's digest. Return None if it is not listed."""
        at = bisect_left(self._files, path)
        return at * _SIZE if at < len(self._files) and self._files[at] == path else None

    def _kind(self, path: str) -> str:
        kind = self._kinds.get(path)
        if kind is None:
            if self._place(path) is not None:
                return "file"
            if len(self._kinds) > _LOOKED_UP:
                self._kinds.clear()
            kind = self._kinds[path] = self._looked_up(path)
        return kind

    def _looked_up(self, path: str) -> str:
        at = self._top / path
        try:
            if real(at) != str(at):
                # A link, or a path below a link.
                return ""
            return "folder" if at.is_dir() else "file" if at.is_file() else ""
        except (OSError, ValueError):
            return ""

    def _walk(self, root: str) -> list[str]:
        _, ignoring = landmarks_above(str(self._top / root), str(self._top))
        folders = [(root, ignores_above(ignoring, root))]
        files: list[str] = []
        while folders:
            folder, rules = folders.pop()
            folders += self._list_folder(folder, rules, files)
        files.sort()
        return files

    def _list_folder(self, folder: str, rules: Ignored, files: list[str]) -> list[tuple[str, Ignored]]:
        """Return the folders directly in `folder` and add its files to `files`."""
        at = self._top / folder
        with os.scandir(at) as opened:
            entries = list(opened)
        names = {entry.name for entry in entries}
        prefix = f"{folder}/" if folder else ""
        ignoring = landmark_text(at / GITIGNORE) if GITIGNORE in names else None
        if ignoring is not None:
            rules = rules.with_gitignore(folder, ignoring)
        inner: list[tuple[str, Ignored]] = []
        for entry in entries:
            path = prefix + entry.name
            if entry.name.startswith(".") and entry.name not in SAYING:
                continue
            if entry.is_symlink():
                if not self._is_pruned(path, rules, is_folder=False):
                    self._links.append(path)
                continue
            is_folder = entry.is_dir(follow_symlinks=False)
            if self._is_pruned(path, rules, is_folder=is_folder):
                continue
            if is_folder:
                inner.append((path, rules))
            elif entry.is_file(follow_symlinks=False):
                files.append(path)
        return inner

    def _is_pruned(self, path: str, rules: Ignored, *, is_folder: bool) -> bool:
        if rules.files and rules.ignoring_file(path, is_folder=is_folder) is not None:
            return True
        if self._excluded is not None and self._excluded.take(path, is_folder=is_folder):
            return True
        return is_folder and self._output is not None and contains(self._output, str(self._top / path))


_MAX_LINKS = 40
"""The largest number of links that may lead to one another, as in Linux."""


class CommitTree:
    """The files of `commit`. Only files in the folder `root` are listed. `disk` is the checkout.

    Hidden files, ignored files and files that match the globs `exclude` are not listed. Raise UsageError if git fails.
    """

    def __init__(self, commit: Commit, root: str, disk: DiskTree, exclude: Sequence[str] = ()) -> None:
        self._commit = commit
        self._disk = disk
        self._contents = RecentContents()
        self._folders = {"", *folders_above(commit.blobs)}
        self._files = self._list_files(root, exclude)

    @property
    def form(self) -> str:
        """Return the blob ID of any file of the commit, or "" for an empty commit.

        The length of the ID shows the hash algorithm of the repository.
        """
        return next(iter(self._commit.blobs.values()), "")

    def listing(self, root: str) -> CommitTree:
        """See `FileTree.listing`."""
        return CommitTree(self._commit, root, self._disk)

    def links(self) -> Mapping[str, str | None]:
        """See `FileTree.links`. A path through a linked folder leads to nothing."""
        return {path: self._link_target(path) for path in self._commit.links}

    def _link_target(self, path: str) -> str | None:
        links = self._commit.links
        for _ in range(_MAX_LINKS):
            target = self._commit.content(links[path]).decode("utf-8", "surrogateescape")
            joined = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
            path = "" if joined == "." else joined
            if path not in links:
                return path if self.is_file(path) or path in self._folders else None
        return None

    def is_file(self, path: str) -> bool:
        """See `FileTree.is_file`."""
        return path in self._commit.blobs

    def is_folder(self, path: str) -> bool:
        """See `FileTree.is_folder`."""
        return path in self._folders

    def files_below(self, folder: str) -> Sequence[str]:
        """See `FileTree.files_below`. `folder` must be in the root."""
        return paths_below(self._files, folder)

    def files_in(self, folder: str) -> Sequence[str]:
        """See `FileTree.files_in`."""
        return files_directly_in(folder, self._commit.blobs)

    def read(self, path: str) -> bytes:
        """See `FileTree.read`."""
        kept = self._contents.get(path)
        if kept is not None:
            return kept
        blob = self._commit.blobs[path]
        if self._disk.is_file(path):
            try:
                if self._disk.blob(path, blob) == blob:
                    return self._disk.read(path)
            except OSError:
                pass
        return self._contents.keep(path, self._commit.content(blob))

    def digest(self, path: str) -> bytes:
        """Return a digest of the file's content."""
        return sha256(self.read(path)).digest()

    def blob(self, path: str, name: str = "") -> str:  # noqa: ARG002
        """Return the git blob ID of the file."""
        return self._commit.blobs[path]

    def _list_files(self, root: str, exclude: Sequence[str]) -> list[str]:
        """Return the files in the root that a DiskTree would list."""
        blobs = self._commit.blobs
        paths = [path for path in paths_below(sorted(blobs), root) if not _is_hidden(path, root)]
        folders = {posixpath.dirname(path): path for path in blobs if posixpath.basename(path) == GITIGNORE}
        texts = {folder: self.read(path).decode("utf-8", "replace") for folder, path in folders.items()}
        ignored = ignored_files(paths, texts, root) if texts else {}
        excluded = Globs.read(exclude)
        return [path for path in paths if path not in ignored and not excluded.take(path)]


def folders_above(paths: Iterable[str]) -> set[str]:
    """Return all folders above these files."""
    folders: set[str] = set()
    for path in paths:
        folder = posixpath.dirname(path)
        while folder and folder not in folders:
            folders.add(folder)
            folder = posixpath.dirname(folder)
    return folders


def _is_hidden(path: str, root: str) -> bool:
    parts = PurePosixPath(path).parts[len(PurePosixPath(root).parts) :]
    return any(part.startswith(".") for part in parts[:-1]) or (parts[-1].startswith(".") and parts[-1] not in SAYING)


def readable_content(tree: FileTree, path: str) -> bytes:
    """Return the content of a file, or b"" if it is unreadable."""
    try:
        return tree.read(path)
    except OSError:
        return b""
