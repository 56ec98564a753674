"""The changes of a folder written, at once or not at all."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from krmfn.hints import TYPE_CHECKING
from packwise.cli.arguments import UsageError
from packwise.cli.console import naming
from packwise.cli.input_paths import contains, exists, real
from packwise.cli.journal import Change, change_files, remove_empty
from packwise.cli.manifests import NAME as LIST
from packwise.cli.swap import SwapError, swapped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from packwise.cli.document import InputFile
    from packwise.cli.survey import Changes

__all__ = ["apply", "refuse_lists_within", "refuse_no_folder", "replace_file"]


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


def apply(
    folder: Path,
    changes: Changes,
    *,
    at_once: bool = False,
    as_read: Mapping[Path, bytes] | None = None,
    look: Callable[[Path], object] | None = None,
) -> str | None:
    """Makes the changes, all of them or none, and folders that lost their last file go.

    `at_once`: whoever looks sees the folder as it was or as it is now; `look` is called with the new state before
    anyone else sees it. Where the system cannot do that, files change one by one, by a journal that the next run
    finishes, and the answer says why. Raises OSError where the disk refuses one, or where a file `as_read` holds
    something else by now.
    """
    if not at_once:
        change_files(folder, _as_list(folder, changes), as_read or {})
        return None
    try:
        with swapped(folder) as copy:
            _apply(folder, copy, changes)
            if look is not None:
                look(copy)
    except SwapError as reason:
        folder.mkdir(parents=True, exist_ok=True)
        change_files(folder, _as_list(folder, changes), {})
        return str(reason)
    return None


def _as_list(folder: Path, changes: Changes) -> list[Change]:
    written = [Change(folder / name, content) for name, content in changes.contents.items()]
    removed = [Change(path, None) for path in changes.removed]
    return written + removed + ([] if changes.listing is None else [Change(folder / LIST, changes.listing)])


def _apply(folder: Path, copy: Path, changes: Changes) -> None:
    """The changes of `folder` in a copy of it that nobody else sees. Raises OSError that names the file."""
    root = Path(real(folder))
    unseen = _Unseen(copy)
    for name, content in changes.contents.items():
        target = changes.targets.get(name, name)
        unseen.write(target, content, root)
    for path in changes.removed:
        gone = copy / Path(real(path.parent)).relative_to(root) / path.name
        with naming(path):
            gone.unlink()
            remove_empty(gone.parent, copy)
    if changes.listing is not None:
        unseen.write(LIST, changes.listing, folder)


class _Unseen:
    """A folder that nobody else writes to. Each folder in it is made, or looked at, once; no link is followed."""

    __slots__ = ("_folders", "_top")

    def __init__(self, top: Path) -> None:
        self._top = top.as_posix()
        self._folders = {""}

    def write(self, path: str, content: bytes, seen: Path) -> None:
        """Makes the file at `path`, never writing into another one: its bytes may be of the folder that is copied.

        Raises OSError, which names the file as it is called in the folder `seen`.
        """
        at = f"{self._top}/{path}"
        try:
            self._make(path.rpartition("/")[0])
            try:
                file = os.open(at, _NEW, 0o666)
            except FileExistsError:
                file = _replaced(at)
            try:
                _write(file, content)
            finally:
                os.close(file)
        except OSError as error:
            raise OSError(error.errno, error.strerror, (seen / path).as_posix()) from error

    def _make(self, name: str) -> None:
        if name in self._folders:
            return
        self._make(name.rpartition("/")[0])
        at = f"{self._top}/{name}"
        try:
            os.mkdir(at)  # noqa: PTH102
        except FileExistsError:
            if not stat.S_ISDIR(os.lstat(at).st_mode):
                raise
        self._folders.add(name)


_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)


def _replaced(path: str) -> int:
    """A new file in the place of another, with its permissions. What is written is read, and never run."""
    mode = stat.S_IMODE(os.lstat(path).st_mode) & 0o666
    os.unlink(path)  # noqa: PTH108
    file = os.open(path, _NEW, mode)
    os.chmod(file, mode)  # noqa: PTH101
    return file


def _write(file: int, content: bytes) -> None:
    written = os.write(file, content)
    while written < len(content):
        written += os.write(file, content[written:])


def replace_file(path: Path, content: bytes) -> None:
    """Writes a new file in the place of an old one. Raises OSError where the disk refuses."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # Short, so that it fits wherever the name itself does.
    temporary = path.parent / ".packwise-new"
    # Whoever sent the folder may have put a link there.
    temporary.unlink(missing_ok=True)
    with temporary.open("xb") as file:
        file.write(content)
    if path.exists():
        # What is written is read, and never run.
        temporary.chmod(stat.S_IMODE(path.stat().st_mode) & 0o666)
    temporary.replace(path)
