"""What `.gitignore` files name, by git's own rules. All paths are slash-separated.

Source: gitignore(5): the last pattern that matches decides, a deeper file before a higher one; what stands in an
ignored folder cannot be taken back.
"""

from __future__ import annotations

import posixpath

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.globs import Globs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["GITIGNORE", "Ignored", "ignored_files", "ignored_from"]

GITIGNORE = ".gitignore"


class Ignored(NamedTuple):
    """The `.gitignore` files that count in one folder, the highest first: folder and globs of each."""

    files: tuple[tuple[str, Globs], ...] = ()

    def within(self, folder: str, text: str) -> Ignored:
        """With the `.gitignore` of `folder` too, whose text is `text`; "" is the top."""
        # Only these bytes end a line of git's.
        lines = [line.removesuffix("\r") for line in text.removeprefix("\ufeff").split("\n")]
        return Ignored((*self.files, (folder, Globs.read(lines))))

    def by(self, path: str, *, is_folder: bool = False) -> str | None:
        """The `.gitignore` that names `path`, which stands in no ignored folder; None where it is not ignored."""
        for folder, globs in reversed(self.files):
            decision = globs.decision(path.removeprefix(f"{folder}/") if folder else path, is_folder=is_folder)
            if decision is not None:
                return posixpath.join(folder, GITIGNORE) if decision else None
        return None


def ignored_from(texts: Mapping[str, str], start: str) -> Ignored:
    """What counts above the folder `start`: `texts` are the `.gitignore` files there, by folder.

    Nothing counts where `start` itself is ignored: who names it wants it read.
    """
    ignored = Ignored()
    steps = start.split("/") if start else []
    for depth, _ in enumerate(steps):
        folder = "/".join(steps[:depth])
        if folder in texts:
            ignored = ignored.within(folder, texts[folder])
        if ignored.by("/".join(steps[: depth + 1]), is_folder=True) is not None:
            return Ignored()
    return ignored


def ignored_files(files: Iterable[str], texts: Mapping[str, str], start: str) -> dict[str, str]:
    """Those of `files`, all below the folder `start`, that are ignored, each with the `.gitignore` that names it."""
    folders: dict[str, tuple[Ignored, str | None]] = {}

    def folder_of(folder: str) -> tuple[Ignored, str | None]:
        unknown: list[str] = []
        above = folder
        while above not in folders:
            unknown.append(above)
            if above == start or not above:
                break
            above = posixpath.dirname(above)
        for each in reversed(unknown):
            if each == start or not each:
                rules, by = ignored_from(texts, start), None
            else:
                rules, by = folders[posixpath.dirname(each)]
                by = by or rules.by(each, is_folder=True)
            if each in texts and by is None:
                rules = rules.within(each, texts[each])
            folders[each] = rules, by
        return folders[folder]

    ignored: dict[str, str] = {}
    for file in files:
        rules, by = folder_of(posixpath.dirname(file))
        by = by or rules.by(file)
        if by is not None:
            ignored[file] = by
    return ignored
