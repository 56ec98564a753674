"""A plan and the folder it is for: what differs on disk, and the writing of it, at once or not at all."""

from __future__ import annotations

import stat
from dataclasses import dataclass
from pathlib import Path

from krmfn.errors import FieldError
from krmfn.hints import TYPE_CHECKING
from krmfn.result import Result, ResultFile
from packwise.cli.arguments import UsageError
from packwise.cli.console import encoded, naming
from packwise.cli.folder import OUTPUT
from packwise.cli.input_paths import SUFFIXES, InputPath, contains, exists, real
from packwise.cli.journal import Change, change_files
from packwise.cli.manifests import NAME as LIST
from packwise.cli.manifests import digest, listed, listing
from packwise.cli.read import read_file
from packwise.cli.swap import SwapError, swapped
from packwise.cli.target import is_of_git
from packwise.findings.finding import Rule, Severity
from packwise.objects.identity import is_generated

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from packwise.cli.document import InputFile
    from packwise.cli.folder import FolderPlan

__all__ = ["RULES", "Changes", "apply", "refuse_lists_within", "refuse_no_folder", "replace_file", "survey"]

EDITED = Rule("output-edited", "Nobody edits what packwise writes.", "product.md", Severity.WARNING)
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


def refuse_no_folder(output: str) -> None:
    """Raises UsageError where `output`, which -o names, can be no folder."""
    if not output or (exists(output) and not Path(output).is_dir()):
        raise UsageError(f'-o must name a folder; got "{output}"')


def refuse_lists_within(files: Iterable[InputFile], folder: str) -> None:
    """Raises UsageError where the objects of a ResourceList would be written beside the list itself."""
    for file in files:
        name = file.path.name
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
            elif path in plan.loose and at.exists() and not _holds_objects(at):
                fault = _NOT_REPLACED
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


def apply(
    folder: Path, changes: Changes, *, at_once: bool = False, as_read: Mapping[Path, bytes] | None = None
) -> str | None:
    """Makes the changes, all of them or none, and folders that lost their last file go.

    `at_once`: whoever looks sees the folder as it was or as it is now. Where the system cannot do that, files change
    one by one, by a journal that the next run finishes, and the answer says why. Raises OSError where the disk refuses
    one, or where a file `as_read` holds something else by now.
    """
    if not at_once:
        change_files(folder, _as_list(folder, changes), as_read or {})
        return None
    try:
        with swapped(folder) as copy:
            _apply(folder, copy, changes)
    except SwapError as reason:
        folder.mkdir(parents=True, exist_ok=True)
        change_files(folder, _as_list(folder, changes), {})
        return str(reason)
    return None


def _as_list(folder: Path, changes: Changes) -> list[Change]:
    written = [Change(path, content) for path, content in changes.contents.items()]
    removed = [Change(path, None) for path in changes.removed]
    return written + removed + ([] if changes.listing is None else [Change(folder / LIST, changes.listing)])


def _apply(folder: Path, copy: Path, changes: Changes) -> None:
    """The changes of `folder` in a copy of it that nobody else sees. Raises OSError that names the file."""
    root = Path(real(folder))
    for path, content in changes.contents.items():
        target = Path(real(path)).relative_to(root)
        with naming(root / target):
            replace_file(copy / target, content)
    for path in changes.removed:
        gone = copy / Path(real(path.parent)).relative_to(root) / path.name
        with naming(path):
            gone.unlink()
            _remove_empty(gone.parent, copy)
    if changes.listing is not None:
        with naming(folder / LIST):
            replace_file(copy / LIST, changes.listing)


def _left(folder: Path, before: Mapping[str, str], kept: set[str]) -> tuple[set[Path], list[Result]]:
    """Files of the last list that the plan has no more; and a warning for each that somebody has changed since."""
    own: set[Path] = set()
    edited: list[Result] = []
    for name, known in before.items():
        path = folder / name
        content = _content(folder, path)
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
    if "\0" in str(path) or not _is_within(folder, path) or _leads_into_git(folder, path):
        return None
    try:
        return path.read_bytes() if path.is_file() and not path.is_symlink() else None
    except OSError:
        return None


def _is_within(folder: Path, path: Path) -> bool:
    """Whether `path` stands in `folder` when all links are followed."""
    return contains(real(folder), real(path))


def _leads_into_git(folder: Path, path: Path) -> bool:
    """Whether `path`, which stands in `folder`, is a file of a repository's own when all links are followed."""
    return is_of_git(Path(real(path)).relative_to(real(folder)).parts)


def _fault(folder: Path, path: Path) -> str | None:
    """Why `path` cannot be written."""
    if not _is_within(folder, path):
        return "must stand within the output folder; a link leads out of it"
    if _leads_into_git(folder, path):
        return "must not stand in a repository's own folder; a link leads there"
    try:
        if path.is_dir():
            return "must be a file; there is a folder of this name"
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


def replace_file(path: Path, content: bytes) -> None:
    """Writes a new file: the old one may be of the folder that is copied. Raises OSError where the disk refuses."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # Short, so that it fits wherever the name itself does.
    temporary = path.parent / ".packwise-new"
    temporary.write_bytes(content)
    if path.exists():
        # What is written is read, and never run.
        temporary.chmod(stat.S_IMODE(path.stat().st_mode) & 0o666)
    temporary.replace(path)


def _remove_empty(folder: Path, top: Path) -> None:
    while folder != top and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent
