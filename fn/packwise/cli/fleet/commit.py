"""The files of a commit as a tree: what stands on disk too is read there, everything else through git."""

from __future__ import annotations

import posixpath
from hashlib import sha256
from pathlib import PurePosixPath

from krmfn.hints import TYPE_CHECKING
from packwise.cli.fleet.disk import Contents
from packwise.commands.fleet.packages import SAYING
from packwise.commands.fleet.tree import below, files_directly_in
from packwise.discovery import GITIGNORE, ignored_files
from packwise.globs import Globs

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from packwise.cli.fleet.disk import DiskTree
    from packwise.cli.git import Commit

__all__ = ["CommitTree"]


class CommitTree:
    """The files of `commit`, of which those in the folder `root` are listed; `disk` is the checkout beside it.

    Hidden files, what `.gitignore` names and the globs `exclude` are not listed. Raises UsageError where git fails.
    """

    def __init__(self, commit: Commit, root: str, disk: DiskTree, exclude: Sequence[str] = ()) -> None:
        self._commit = commit
        self._disk = disk
        self._contents = Contents()
        self._folders = {"", *_folders(commit.blobs)}
        self._files = self._listed(root, exclude)

    @property
    def form(self) -> str:
        """A name of git as this repository has them; "" where the commit is empty."""
        return next(iter(self._commit.blobs.values()), "")

    def listing(self, root: str) -> CommitTree:
        """The same commit, with the files in another folder listed."""
        return CommitTree(self._commit, root, self._disk)

    def is_file(self, path: str) -> bool:
        """As `Tree` has it."""
        return path in self._commit.blobs

    def is_folder(self, path: str) -> bool:
        """As `Tree` has it."""
        return path in self._folders

    def files_below(self, folder: str) -> Sequence[str]:
        """As `Tree` has it, of folders in the root."""
        return below(self._files, folder)

    def files_in(self, folder: str) -> Sequence[str]:
        """As `Tree` has it."""
        return files_directly_in(folder, self._commit.blobs)

    def read(self, path: str) -> bytes:
        """As `Tree` has it."""
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
        """A digest of what the file holds."""
        return sha256(self.read(path)).digest()

    def blob(self, path: str, name: str = "") -> str:  # noqa: ARG002
        """What git calls the content of the file."""
        return self._commit.blobs[path]

    def _listed(self, root: str, exclude: Sequence[str]) -> list[str]:
        """The files in the root, as those of a folder on disk are listed."""
        paths = [path for path in below(sorted(self._commit.blobs), root) if not _is_hidden(path, root)]
        folders = {posixpath.dirname(path): path for path in self._commit.blobs if _is_gitignore(path)}
        texts = {folder: self.read(path).decode("utf-8", "replace") for folder, path in folders.items()}
        ignored = ignored_files(paths, texts, root) if texts else {}
        excluded = Globs.read(exclude)
        return [path for path in paths if path not in ignored and not excluded.take(path)]


def _folders(paths: Iterable[str]) -> set[str]:
    folders: set[str] = set()
    for path in paths:
        folder = posixpath.dirname(path)
        while folder and folder not in folders:
            folders.add(folder)
            folder = posixpath.dirname(folder)
    return folders


def _is_gitignore(path: str) -> bool:
    return posixpath.basename(path) == GITIGNORE


def _is_hidden(path: str, root: str) -> bool:
    parts = PurePosixPath(path).parts[len(PurePosixPath(root).parts) :]
    return any(part.startswith(".") for part in parts[:-1]) or (parts[-1].startswith(".") and parts[-1] not in SAYING)
