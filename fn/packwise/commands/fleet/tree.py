"""A tree of files: a folder on disk, a commit, or what one task of a fleet is handed. Links are no part of a tree.

Paths are slash-separated below the top of the repository; "" is the top.
"""

from __future__ import annotations

import posixpath
from bisect import bisect_left

from krmfn.hints import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["MemoryTree", "Tree", "below", "files_directly_in"]


class Tree(Protocol):
    """Files by their paths."""

    def is_file(self, path: str) -> bool:
        """Whether a file, and no link, stands at `path`."""
        ...

    def is_folder(self, path: str) -> bool:
        """Whether a folder, and no link, stands at `path`."""
        ...

    def read(self, path: str) -> bytes:
        """What the file at `path` holds. Raises OSError where it cannot be read."""
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
        """As `Tree` has it."""
        return path in self._contents

    def is_folder(self, path: str) -> bool:
        """As `Tree` has it."""
        return path in self._folders

    def read(self, path: str) -> bytes:
        """As `Tree` has it."""
        return self._contents[path]

    def files_below(self, folder: str) -> Sequence[str]:
        """As `Tree` has it."""
        return below(self._paths, folder)

    def files_in(self, folder: str) -> Sequence[str]:
        """As `Tree` has it."""
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
