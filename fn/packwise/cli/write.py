"""A plan and the folder it is for: what differs on disk, and the writing of it, at once or not at all."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from krmfn.errors import FieldError
from krmfn.result import Result, ResultFile
from packwise.cli.console import encoded
from packwise.cli.find import SUFFIXES, Found, contains, real
from packwise.cli.folder import OUTPUT
from packwise.cli.manifests import NAME as LIST
from packwise.cli.manifests import digest, listed, listing
from packwise.cli.read import read_file
from packwise.cli.swap import SwapError, swapped
from packwise.cli.usage import UsageError
from packwise.finding import Rule, Severity
from packwise.select.index import is_earlier

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from packwise.cli.document import InputFile
    from packwise.cli.folder import FolderPlan

__all__ = ["RULES", "Changes", "apply", "refuse_lists_within", "replace_file", "survey"]

EDITED = Rule("output-edited", "Nobody edits what packwise writes.", "product.md", Severity.WARNING)
RULES = (EDITED,)
"""Rules of the output folder."""

_OWN = "packwise"
"""The folder of generated objects, in which files of an earlier render are looked for."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What differs from the disk: contents to write by path, and files to remove; in order of path.

    `listing` is the list of packwise's own files where that differs too. With an error among `results` nothing is to be
    written.
    """

    contents: Mapping[Path, bytes]
    removed: tuple[Path, ...]
    results: tuple[Result, ...]
    listing: bytes | None = None

    def __bool__(self) -> bool:
        return bool(self.contents or self.removed or self.listing is not None)


def refuse_lists_within(files: Iterable[InputFile], folder: str) -> None:
    """Raises UsageError where the objects of a ResourceList would be written beside the list itself."""
    for file in files:
        name = file.found.name
        if file.is_list and name is not None and contains(real(folder), real(name)):
            raise UsageError(
                f'"{name}" is a ResourceList and cannot be written in place; choose another folder with -o'
            )


def survey(folder: Path, plan: FolderPlan, *, with_list: bool = False) -> Changes:
    """What of `plan` differs from what is in `folder`. Nothing is written.

    `with_list`: the folder has a list of packwise's own files, and those of them go that the plan has no more. Raises
    FieldError where that list cannot be read.
    """
    contents: dict[Path, bytes] = {}
    results: list[Result] = []
    for path in sorted(plan.texts):
        at, content = folder / path, encoded(plan.texts[path])
        fault = _fault(folder, at)
        if fault is None and not _holds(at, content):
            if path in plan.generated and at.exists() and not _is_generated(at):
                fault = "must not be where packwise writes a generated object; rename this file"
            contents[at] = content
        if fault is not None:
            results.append(Result(fault, file=ResultFile(at.as_posix()), tags={"rule": OUTPUT.name}))
    kept = {real(folder / path) for path in plan.texts}
    candidates = [folder / path for path in plan.emptied] + list(_own_files(folder / _OWN))
    removed = {
        path for path in candidates if _is_within(folder, path) and real(path) not in kept and _is_generated(path)
    }
    if not with_list:
        return Changes(contents, tuple(sorted(removed)), tuple(results))
    before = listed(folder)
    own, edited = _left(folder, before, kept)
    results += edited
    now = listing({path: encoded(text) for path, text in plan.texts.items()})
    return Changes(contents, tuple(sorted(removed | own)), tuple(results), None if _holds(folder / LIST, now) else now)


def apply(folder: Path, changes: Changes, *, at_once: bool = False) -> str | None:
    """Makes the changes: each file is whole at any time, and folders that lost their last file go.

    `at_once`: so is the folder, which whoever looks sees as it was or as it is now. Where the system cannot do that,
    files change one by one, and the answer says why. Raises OSError where the disk refuses one.
    """
    if not at_once:
        _apply(folder, folder, changes)
        return None
    try:
        with swapped(folder) as copy:
            _apply(folder, copy, changes)
    except SwapError as reason:
        _apply(folder, folder, changes)
        return str(reason)
    return None


def _apply(folder: Path, to: Path, changes: Changes) -> None:
    """The changes of `folder` in `to`, which is that folder or a copy of it. Raises OSError that names the file."""
    root, target = Path(real(folder)), Path(real(to))
    try:
        for path, content in changes.contents.items():
            replace_file(target / Path(real(path)).relative_to(root), content)
        for path in changes.removed:
            gone = target / Path(real(path.parent)).relative_to(root) / path.name
            gone.unlink()
            _remove_empty(gone.parent, target)
        if changes.listing is not None:
            # The last one: until it is there, the next run knows what this one was about to remove.
            replace_file(target / LIST, changes.listing)
    except OSError as error:
        name = str(error.filename).replace(str(target), str(root), 1)
        raise OSError(error.errno, error.strerror, name) from error


def _left(folder: Path, before: Mapping[str, str], kept: set[str]) -> tuple[set[Path], list[Result]]:
    """Files of the last list that the plan has no more; and a warning for each that somebody has changed since."""
    own: set[Path] = set()
    edited: list[Result] = []
    for name, known in before.items():
        path = folder / name
        if not _is_within(folder, path) or real(path) in kept or not path.is_file() or path.is_symlink():
            continue
        if digest(path.read_bytes()) == known:
            own.add(path)
        else:
            message = "is no longer rendered, and was changed since packwise wrote it; it stays: remove it by hand"
            file = ResultFile(path.as_posix())
            edited.append(Result(message, EDITED.severity, file=file, tags={"rule": EDITED.name}))
    return own, edited


def _is_within(folder: Path, path: Path) -> bool:
    """Whether `path` stands in `folder` when all links are followed."""
    return contains(real(folder), real(path))


def _fault(folder: Path, path: Path) -> str | None:
    """Why `path` cannot be written."""
    if not _is_within(folder, path):
        return "must stand within the output folder; a link leads out of it"
    if path.is_dir():
        return "must be a file; there is a folder of this name"
    try:
        path.lstat()
    except FileNotFoundError:
        return None
    except OSError as error:
        return f'must be a file that can be written; got "{error.strerror}"'
    return None


def _holds(path: Path, content: bytes) -> bool:
    try:
        return path.stat().st_size == len(content) and path.read_bytes() == content
    except OSError:
        return False


def _own_files(folder: Path) -> Iterator[Path]:
    """The files below `folder` that may hold generated objects; no link is followed."""
    if folder.is_symlink():
        return
    for path in sorted(folder.rglob("*")):
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if path.suffix in SUFFIXES and not hidden and not path.is_symlink() and path.is_file():
            yield path


def _is_generated(path: Path) -> bool:
    """Whether the file holds objects that packwise made, and no others."""
    try:
        file = read_file(Found(path.as_posix()))
        items = [document.item for document in file.documents if not document.is_blank]
        return bool(items) and all(item is not None and is_earlier(item.value) for item in items)
    except FieldError:
        return False


def replace_file(path: Path, content: bytes) -> None:
    """Writes `content` so that the file is whole at any time. Raises OSError where the disk refuses."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # Hidden and short: no reader takes it for input, and it fits wherever the name itself does.
    temporary = path.parent / f".packwise-{os.getpid()}.tmp"
    temporary.unlink(missing_ok=True)
    try:
        with temporary.open("xb") as file:
            file.write(content)
        if path.exists():
            temporary.chmod(stat.S_IMODE(path.stat().st_mode))
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def _remove_empty(folder: Path, top: Path) -> None:
    while folder != top and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent
