"""What `.gitignore` files name, by git's own rules, and what globs exclude. All paths are slash-separated.

Source: gitignore(5): the last pattern that matches decides, a deeper file before a higher one; what stands in an
ignored folder cannot be taken back.
"""

from __future__ import annotations

import posixpath

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pathspec import GitIgnoreSpec

__all__ = ["GITIGNORE", "Ignored", "globs", "ignored_files", "ignored_from"]

GITIGNORE = ".gitignore"


def globs(patterns: Iterable[str]) -> GitIgnoreSpec:
    """Patterns as git reads those of a `.gitignore`; one that is none matches nothing."""
    # Only folders have files that are ignored.
    from pathspec import GitIgnoreSpec

    kept: list[str] = []
    for pattern in patterns:
        try:
            GitIgnoreSpec.from_lines([pattern])
        except ValueError:
            continue
        kept.append(pattern)
    return GitIgnoreSpec.from_lines(kept)


class Ignored(NamedTuple):
    """The `.gitignore` files that count in one folder, the highest first: folder and patterns of each."""

    specs: tuple[tuple[str, GitIgnoreSpec], ...] = ()

    def within(self, folder: str, text: str) -> Ignored:
        """With the `.gitignore` of `folder` too, whose text is `text`; "" is the top."""
        return Ignored((*self.specs, (folder, globs(text.splitlines()))))

    def by(self, path: str, *, is_folder: bool = False) -> str | None:
        """The `.gitignore` that names `path`, which stands in no ignored folder; None where it is not ignored."""
        asked = f"{path}/" if is_folder else path
        for folder, spec in reversed(self.specs):
            answer = spec.check_file(asked.removeprefix(f"{folder}/") if folder else asked).include
            if answer is not None:
                return posixpath.join(folder, GITIGNORE) if answer else None
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
        if folder not in folders:
            if folder == start or not folder:
                rules, by = ignored_from(texts, start), None
            else:
                rules, by = folder_of(posixpath.dirname(folder))
                by = by or rules.by(folder, is_folder=True)
            if folder in texts and by is None:
                rules = rules.within(folder, texts[folder])
            folders[folder] = rules, by
        return folders[folder]

    ignored: dict[str, str] = {}
    for file in files:
        rules, by = folder_of(posixpath.dirname(file))
        by = by or rules.by(file)
        if by is not None:
            ignored[file] = by
    return ignored
