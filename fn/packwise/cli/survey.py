"""What of a plan differs from what its folder holds. Nothing is written.

A folder is resolved once, however many files it has, and a file looked at once: a fleet has hundreds of thousands.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from krmfn.errors import FieldError
from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from krmfn.result import Result, ResultFile, Severity
from packwise.cli.folder import LIST, OUTPUT, digest, is_of_git, listed, listing
from packwise.cli.input_paths import SUFFIXES, InputPath, contains, real
from packwise.cli.read import read_file
from packwise.findings.finding import Rule
from packwise.objects.identity import is_generated

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Set

    from packwise.cli.folder import FolderPlan

__all__ = ["RULES", "Changes", "survey"]

EDITED = Rule("output-edited", "Nobody edits what packwise writes.", "spec/packwise.md#1.5", Severity.WARNING)
RULES = (EDITED,)
"""Rules of the output folder."""

_NOT_REPLACED = (
    "must not be replaced by an object of stdin or of a list, since it holds no Kubernetes objects; rename this file, "
    "or write the object elsewhere"
)

_OWN = "packwise"
"""The folder of generated objects, in which files of an earlier render are looked for."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What differs from the disk: contents to write by path below the folder, and files to remove; in order of path.

    `targets` has the path below the folder that a path leads to, where a link is in between. `listing` is the list of
    packwise's own files where that differs too. With an error among `results` nothing is to be written.
    """

    contents: Mapping[str, bytes]
    removed: tuple[Path, ...]
    results: tuple[Result, ...]
    listing: bytes | None = None
    targets: Mapping[str, str] = field(default_factory=dict[str, str])

    def __bool__(self) -> bool:
        return bool(self.contents or self.removed or self.listing is not None)


def survey(folder: Path, plan: FolderPlan, *, with_list: bool = False) -> Changes:
    """What of `plan` differs from what is in `folder`.

    `with_list`: the folder has a list of packwise's own files, and those of them go that the plan has no more. Raises
    FieldError where that list cannot be read.
    """
    places = _Places(real(folder))
    contents: dict[str, bytes] = {}
    targets: dict[str, str] = {}
    results: list[Result] = []
    kept: set[str] = set()
    for name, content in plan.contents.items():
        place = places.of(name)
        kept.add(place.real)
        fault = place.fault
        if fault is None and not _holds(place, content):
            is_there = place.status is not None
            if name in plan.generated and is_there and not _is_generated(folder / name):
                fault = "must not be where packwise writes a generated object; rename this file"
            elif name in plan.loose and is_there and not _holds_objects(folder / name):
                fault = _NOT_REPLACED
            contents[name] = content
            if place.target is not None:
                targets[name] = place.target
        if fault is not None:
            results.append(Result(fault, file=ResultFile((folder / name).as_posix()), tags={"rule": OUTPUT.name}))
    candidates = [name for name in (*plan.emptied, *_own_files(folder)) if name not in plan.contents]
    removed = {path for name in candidates if _is_left(folder, path := folder / name, kept)}
    if not with_list:
        return Changes(contents, tuple(sorted(removed)), tuple(results), targets=targets)
    own, edited = _no_longer_listed(folder, plan, kept)
    results += edited
    now = listing(plan.contents)
    is_listed = _holds(places.of(LIST), now)
    return Changes(contents, tuple(sorted(removed | own)), tuple(results), None if is_listed else now, targets)


class _Place(NamedTuple):
    """Where a path below a folder leads: the real path, what stands there, and why nothing can be written there.

    `status` is None where nothing is there. `target` is the real path below the folder where a link is in between.
    """

    real: str
    status: os.stat_result | None = None
    fault: str | None = None
    target: str | None = None


class _Places:
    """The places below a folder, which is given by its real path. A plan's paths have no `.` and no `..` in them.

    With each folder it is kept whether anything can stand in it: below one that is not there, nothing is looked for.
    """

    __slots__ = ("_folders", "_root")

    def __init__(self, root: str) -> None:
        self._root = root.rstrip(os.sep)
        self._folders: dict[str, tuple[_Place, bool]] = {"": (_Place(self._root), _may_be_there(root))}

    def of(self, name: str) -> _Place:
        """The place of the file at a slash-separated path."""
        above, _, base = name.rpartition("/")
        parent, is_there = self._folder(above)
        place, error = self._looked_at(parent, base, is_there=is_there)
        if place.fault is not None:
            return place
        if place.status is not None and stat.S_ISDIR(place.status.st_mode):
            return place._replace(fault="must be a file; there is a folder of this name")
        if error is not None and not isinstance(error, FileNotFoundError):
            return place._replace(fault=f'must be a file that can be written; got "{error.strerror}"')
        return place

    def _folder(self, name: str) -> tuple[_Place, bool]:
        known = self._folders.get(name)
        if known is None:
            above, _, base = name.rpartition("/")
            parent, is_there = self._folder(above)
            place, error = self._looked_at(parent, base, is_there=is_there)
            known = self._folders[name] = place, is_there and not isinstance(error, FileNotFoundError)
        return known

    def _looked_at(self, parent: _Place, base: str, *, is_there: bool) -> tuple[_Place, OSError | None]:
        at = f"{parent.real}{os.sep}{base}"
        fault = parent.fault or (_OF_GIT if is_of_git((base,)) else None)
        target = None if parent.target is None else f"{parent.target}/{base}"
        if not is_there:
            return _Place(at, None, fault, target), None
        try:
            status = os.lstat(at)
        except OSError as error:
            return _Place(at, None, fault, target), error
        if stat.S_ISLNK(status.st_mode):
            return self._linked(at), None
        return _Place(at, status, fault, target), None

    def _linked(self, link: str) -> _Place:
        at = real(link)
        try:
            status = Path(at).stat()
        except OSError:
            status = None
        if not contains(self._root, at):
            return _Place(at, status, "must stand within the output folder; a link leads out of it")
        parts = Path(at[len(self._root) + 1 :]).parts
        return _Place(at, status, _OF_GIT if is_of_git(parts) else None, "/".join(parts))


def _may_be_there(path: str) -> bool:
    try:
        os.lstat(path)
    except FileNotFoundError:
        return False
    except OSError:
        # Whoever looks for a file below it learns why that cannot be.
        return True
    return True


_OF_GIT = "must not stand in a repository's own folder; a link leads there"


def _holds(place: _Place, content: bytes) -> bool:
    if place.status is None or place.status.st_size != len(content):
        return False
    try:
        return Path(place.real).read_bytes() == content
    except OSError:
        return False


def _is_left(folder: Path, path: Path, kept: Set[str]) -> bool:
    """Whether the file is of an earlier render, and of none that the plan has."""
    at = real(path)
    return contains(real(folder), at) and at not in kept and _is_generated(path)


def _no_longer_listed(folder: Path, plan: FolderPlan, kept: Set[str]) -> tuple[set[Path], list[Result]]:
    """Files of the last list that the plan has no more; and a warning for each that somebody has changed since."""
    own: set[Path] = set()
    edited: list[Result] = []
    for name, known in listed(folder).items():
        path = folder / name
        content = None if name in plan.contents else _content(folder, path)
        if content is None or real(path) in kept:
            continue
        if digest(content) == known:
            own.add(path)
        else:
            message = "is no longer rendered, and was changed since packwise wrote it; it stays: remove it by hand"
            file = ResultFile(path.as_posix())
            edited.append(Result(message, EDITED.severity, file=file, tags={"rule": EDITED.name}))
    return own, edited


def _content(folder: Path, path: Path) -> bytes | None:
    """What the file of `folder` holds; None for a link, for a file of git, and for what cannot be read."""
    if "\0" in str(path):
        return None
    root, at = real(folder), real(path)
    if not contains(root, at) or is_of_git(Path(at).relative_to(root).parts):
        return None
    try:
        return path.read_bytes() if path.is_file() and not path.is_symlink() else None
    except OSError:
        return None


def _own_files(folder: Path) -> Iterator[str]:
    """The paths of the files in packwise's own folder that may hold generated objects; no link is followed."""
    if (folder / _OWN).is_symlink():
        return
    folders = [_OWN]
    while folders:
        name = folders.pop()
        with suppress(FileNotFoundError, NotADirectoryError, PermissionError), os.scandir(folder / name) as entries:
            for entry in entries:
                if entry.name.startswith("."):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    folders.append(f"{name}/{entry.name}")
                elif entry.name.endswith(SUFFIXES) and entry.is_file(follow_symlinks=False):
                    yield f"{name}/{entry.name}"


def _is_generated(path: Path) -> bool:
    """Whether the file holds objects that packwise made, and no others."""
    try:
        file = read_file(InputPath(path.as_posix()))
        items = [document.item for document in file.documents if not document.is_blank]
        return bool(items) and all(item is not None and is_generated(item.value) for item in items)
    except FieldError:
        return False


def _holds_objects(path: Path) -> bool:
    """Whether the file holds a Kubernetes object, or nothing at all."""
    try:
        file = read_file(InputPath(path.as_posix()))
        return any(item.value for item in file.items) or all(document.is_blank for document in file.documents)
    except FieldError:
        return False
