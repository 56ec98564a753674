"""Files that are replaced completely or not at all, and locks of folders.

Each folder is resolved once and each file read once, because a fleet has hundreds of thousands. If a process dies, the
old or the new content is left. Only one run at a time changes a folder. Content that moves between files always exists
in one of them: see docs/decisions/0007-files-change-by-rename.md.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from contextlib import contextmanager, suppress
from pathlib import Path

from krmfn.hints import TYPE_CHECKING, Record
from krmfn.terminal import escape_commands
from packwise.console import cannot_write, encode_text, name_file, say
from packwise.inputs.paths import real

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Mapping, Sequence


def is_running(process: int) -> bool:
    """Return True if `process` is running and is not this process."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return process != os.getpid()


_TEMPORARY = re.compile(r"\.packwise-([0-9]+)-[0-9]+\.new")
"""Names of temporary files that replace other files, with the number of the process. They are short enough for any
folder.
"""


class FileChange(Record):
    """A file and its new content, or None to remove it."""

    path: Path
    content: bytes | None


def change_files(folder: Path, changes: Sequence[FileChange], as_read: Mapping[Path, bytes]) -> None:
    """Make all `changes` in `folder`. Folders that lose their last file are removed.

    First, all new content is written next to the files. If the disk is full, nothing has changed. Then a rename gives
    each file its new content, in the order of `changes`. New files come first, because content of other files may move
    into them. If the run is interrupted or refused in between, each file is old or new. A line on stderr then names the
    old and the new files.

    `as_read` are files that must still have the content that was read. Raise OSError with the name of the file.
    """
    root = Path(real(folder))
    with lock_folder(root):
        staged = _Staged()
        done: list[Path] = []
        left = sorted(changes, key=lambda change: change.content is None or os.path.lexists(change.path))
        try:
            for change in left:
                if change.content is not None:
                    staged.add(change.path, change.content)
            _refuse_changed(as_read)
            while left:
                _make(left[0], staged)
                done.append(left.pop(0).path)
        except BaseException:
            staged.remove()
            as_before = ", ".join([change.path.as_posix() for change in left])
            so_far = f"changed {', '.join([path.as_posix() for path in done])}; unchanged: {as_before}"
            say([so_far if done else "no file was changed"])
            raise
        for change in changes:
            if change.content is None:
                remove_empty(Path(real(change.path.parent)), root)


def replace_file(path: Path, content: bytes) -> None:
    """Replace a file by a new one with this content. Raise OSError if the disk refuses it."""
    staged = _Staged()
    try:
        staged.add(path, content)
        staged.put(path)
    except BaseException:
        staged.remove()
        raise


def common_folder(paths: Iterable[Path]) -> Path:
    """Return the folder above all files. Both their names and the targets of links are below it."""
    folders = [real(path.parent) for path in paths] + [str(Path(real(path)).parent) for path in paths]
    return Path(os.path.commonpath(folders))


def remove_empty(folder: Path, top: Path) -> None:
    """Remove `folder` and the folders above it up to `top` while they are empty. Raise OSError if the disk refuses
    it.
    """
    while folder != top and folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent


def _make(change: FileChange, staged: _Staged) -> None:
    if change.content is not None:
        staged.put(change.path)
        return
    with name_file(change.path):
        change.path.unlink(missing_ok=True)


def _refuse_changed(as_read: Mapping[Path, bytes]) -> None:
    for path, content in as_read.items():
        if path.read_bytes() != content:
            raise OSError(errno.EBUSY, "the file changed during the run; run the same command again", path.as_posix())


class _Staged:
    """New contents of files. Each is stored in the folder of its target, because another folder may be on another
    disk.
    """

    __slots__ = ("_folders", "_made", "_temporary")

    def __init__(self) -> None:
        self._temporary: dict[Path, tuple[Path, Path]] = {}
        self._folders: set[Path] = set()
        self._made: list[Path] = []

    def add(self, path: Path, content: bytes) -> None:
        """Write the future content of `path`. Raise OSError with the name `path`."""
        # If the path is a link, the link stays and its target is written.
        target = Path(real(path))
        with name_file(path):
            self._make_folder(target.parent)
            temporary = target.parent / f".packwise-{os.getpid()}-{len(self._temporary)}.new"
            self._temporary[path] = temporary, target
            with temporary.open("xb") as file:
                file.write(content)
            if target.exists():
                # Written files never get the permission to be executed.
                temporary.chmod(stat.S_IMODE(target.stat().st_mode) & 0o666)

    def put(self, path: Path) -> None:
        """Move the content to its place. Raise OSError with the name `path`."""
        temporary, target = self._temporary[path]
        with name_file(path):
            temporary.replace(target)

    def remove(self) -> None:
        """Remove contents that were not used, and folders that were made for them, as far as the disk permits."""
        for temporary, _ in self._temporary.values():
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
        for folder in reversed(self._made):
            with suppress(OSError):
                folder.rmdir()

    def _make_folder(self, folder: Path) -> None:
        if folder in self._folders:
            return
        self._folders.add(folder)
        if folder.is_dir():
            _remove_left(folder)
            return
        self._make_folder(folder.parent)
        folder.mkdir()
        self._made.append(folder)


def _remove_left(folder: Path) -> None:
    """Remove the temporary files of killed runs. If one is a link, its target stays."""
    with os.scandir(folder) as entries:
        left = [(entry.path, named) for entry in entries if (named := _TEMPORARY.fullmatch(entry.name))]
    for path, named in left:
        if not is_running(int(named[1])):
            os.unlink(path)  # noqa: PTH108


@contextmanager
def lock_folder(folder: Path) -> Generator[None]:
    """Wait until no other run holds the lock of `folder`, and hold it. The system releases it when the process ends.

    Some systems have no locks for folders: Windows, some network file systems. There is then no lock.
    """
    try:
        import fcntl
    except ImportError:
        yield
        return
    try:
        file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        yield
        return
    try:
        with suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


def write_text(name: str, text: str, *, is_data: bool = False) -> bool:
    """Write `text` into the file `name`, escaped as by `show`.

    Return False if the disk refuses it. The file is then unchanged, and stderr reports the reason.
    """
    path, content = Path(name), encode_text(text if is_data else escape_commands(text))
    try:
        with name_file(path):
            if path.exists() and not path.is_file():
                # A pipe or a terminal cannot be replaced.
                path.write_bytes(content)
            else:
                replace_file(path, content)
    except OSError as error:
        say([cannot_write(error)])
        return False
    return True
