"""Files written, each at once or not at all, and a folder changed in one step.

A process that dies at any time leaves the folder as it was, or as it will be. One run at a time changes a folder.

What several files hold is never in none of them: see docs/decisions/0007-files-change-by-rename.md.
"""

from __future__ import annotations

import ctypes
import errno
import os
import re
import shutil
import signal
import stat
import sys
from contextlib import contextmanager, suppress
from pathlib import Path

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.cli.arguments import UsageError
from packwise.cli.console import naming, say
from packwise.cli.folder import LIST
from packwise.cli.input_paths import contains, exists, real

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Mapping, Sequence

    from packwise.cli.document import InputFile
    from packwise.cli.survey import Changes

_AT_FDCWD = -100
_EXCHANGE = 2

_MARK = ".packwise-"
_COPY = re.compile(r"\..+\.packwise-[0-9]+", re.DOTALL)
"""How copies are called: by the name of their folder and the number of the process that makes them."""


class SwapError(Exception):
    """The folder cannot change places with another; the text says why."""


@contextmanager
def swapped(folder: Path) -> Generator[Path]:
    """A copy of `folder`, empty where there is none, that takes its place at the end of the block.

    The copy shares the bytes of its files with the folder: replace files, never write into them. Raises SwapError
    where the system does not let folders change places; then nothing has changed.
    """
    if sys.platform == "win32":
        raise SwapError("this system lets no folders change places")
    target = Path(real(folder))
    if contains(str(target), real(".")):
        raise SwapError("the working directory is in it")
    target.parent.mkdir(parents=True, exist_ok=True)
    copy = target.with_name(f".{target.name}{_MARK}{os.getpid()}")
    try:
        with _as_refusal():
            if target.is_dir():
                _link_tree(target, copy)
            else:
                copy.mkdir()
        yield copy
        with _as_refusal():
            if target.is_dir():
                _exchange(copy, target)
            else:
                copy.rename(target)
    finally:
        with _signals_wait():
            shutil.rmtree(copy, ignore_errors=True)


@contextmanager
def _signals_wait() -> Generator[None]:
    """Ctrl-C and a polite end wait for the end of the block, which is a matter of milliseconds."""
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _as_refusal() -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise SwapError(error.strerror or str(error)) from error


def _link_tree(source: Path, target: Path) -> None:
    """`target` with the folders of `source`, and its very files."""
    target.mkdir()
    with os.scandir(source) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                _link_tree(Path(entry.path), target / entry.name)
            else:
                os.link(entry.path, f"{target}{os.sep}{entry.name}", follow_symlinks=False)
    shutil.copystat(source, target)
    with suppress(OSError):
        os.chown(target, source.stat().st_uid, source.stat().st_gid)


@contextmanager
def locked(folder: Path) -> Generator[None]:
    """Waits until no other run holds `folder`, and holds it; the system lets go when the process ends.

    No lock is held where the system has none for folders: Windows, some network file systems.
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


def remove_left(folder: Path) -> None:
    """Removes the copies of `folder` that runs left which were killed."""
    target = Path(real(folder))
    for left in _copies(target.parent):
        name, _, owner = left.name[1:].rpartition(_MARK)
        if name == target.name and not is_running(int(owner)):
            shutil.rmtree(left, ignore_errors=True)


def copied_in(folder: Path) -> frozenset[str]:
    """The names of the folders whose copies stand in `folder`: of runs that go on, or were killed."""
    return frozenset([copy.name[1:].rpartition(_MARK)[0] for copy in _copies(folder)])


def is_running(process: int) -> bool:
    """Whether `process` is a run that goes on, and not this one."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return process != os.getpid()


def _copies(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            return [Path(entry.path) for entry in entries if _COPY.fullmatch(entry.name)]
    except OSError:
        return []


def _exchange(first: Path, second: Path) -> None:
    """Lets two paths change places in one step. Raises OSError."""
    call = _system_call()
    if call(os.fsencode(first), os.fsencode(second)):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def _system_call() -> Callable[[bytes, bytes], int]:
    library = ctypes.CDLL(None, use_errno=True)
    try:
        if sys.platform == "darwin":
            renamex_np = library.renamex_np
            return lambda first, second: renamex_np(first, second, _EXCHANGE)
        renameat2 = library.renameat2
    except AttributeError:
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP)) from None
    return lambda first, second: renameat2(_AT_FDCWD, first, _AT_FDCWD, second, _EXCHANGE)


_TEMPORARY = re.compile(r"\.packwise-([0-9]+)-[0-9]+\.new")
"""Names of files that are to take the place of others, by the number of the process. Short: they fit in any folder."""


class Change(NamedTuple):
    """A file and what it is to hold; None where it is to go."""

    path: Path
    content: bytes | None


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
    """Makes the changes, and folders that lost their last file go.

    `at_once`: whoever looks sees the folder as it was or as it is now; `look` is called with the new state before
    anyone else sees it. Where the system cannot do that, files change one by one, and the answer says why. Raises
    OSError where the disk refuses one, or where a file `as_read` holds something else by now.
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
    # The list comes last: as long as it names a file that is to go, the next run knows whose that is.
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


def change_files(folder: Path, changes: Sequence[Change], as_read: Mapping[Path, bytes]) -> None:
    """Makes all `changes`, which are in `folder`. Folders that lose their last file go.

    Everything that needs room on the disk comes first, beside the files: where that fails nothing has changed. Then
    each file takes its new content by a rename, in the order of `changes` but for new files, which come first: they
    may hold what others are to hold no more. An interruption or a refusal in between leaves each file old or new, and a
    line says which.
    `as_read` are files that must still hold what they held when they were read. Raises OSError, which names the file.
    """
    root = Path(real(folder))
    with locked(root):
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
            so_far = f"changed {', '.join([path.as_posix() for path in done])}; as before: {as_before}"
            say([so_far if done else "nothing was changed"])
            raise
        for change in changes:
            if change.content is None:
                remove_empty(Path(real(change.path.parent)), root)


def replace_file(path: Path, content: bytes) -> None:
    """Writes a new file in the place of an old one. Raises OSError where the disk refuses."""
    staged = _Staged()
    try:
        staged.add(path, content)
        staged.put(path)
    except BaseException:
        staged.remove()
        raise


def common_folder(paths: Iterable[Path]) -> Path:
    """The folder that holds all files, under the names that they are given by and under those that links lead to."""
    folders = [real(path.parent) for path in paths] + [str(Path(real(path)).parent) for path in paths]
    return Path(os.path.commonpath(folders))


def remove_empty(folder: Path, top: Path) -> None:
    """Removes `folder`, and those above it up to `top`, as long as they are empty. Raises OSError."""
    while folder != top and folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent


def _make(change: Change, staged: _Staged) -> None:
    if change.content is not None:
        staged.put(change.path)
        return
    with naming(change.path):
        change.path.unlink(missing_ok=True)


def _refuse_changed(as_read: Mapping[Path, bytes]) -> None:
    for path, content in as_read.items():
        if path.read_bytes() != content:
            raise OSError(errno.EBUSY, "a change since it was read; run the same command again", path.as_posix())


class _Staged:
    """New contents of files, each beside the file whose place it takes: another folder may be of another disk."""

    __slots__ = ("_folders", "_made", "_temporary")

    def __init__(self) -> None:
        self._temporary: dict[Path, tuple[Path, Path]] = {}
        self._folders: set[Path] = set()
        self._made: list[Path] = []

    def add(self, path: Path, content: bytes) -> None:
        """Writes the content that `path` is to have. Raises OSError, which names `path`."""
        # A link stays: what it leads to is written.
        target = Path(real(path))
        with naming(path):
            self._make_folder(target.parent)
            temporary = target.parent / f".packwise-{os.getpid()}-{len(self._temporary)}.new"
            self._temporary[path] = temporary, target
            with temporary.open("xb") as file:
                file.write(content)
            if target.exists():
                # What is written is read, and never run.
                temporary.chmod(stat.S_IMODE(target.stat().st_mode) & 0o666)

    def put(self, path: Path) -> None:
        """Puts the content in its place. Raises OSError, which names `path`."""
        temporary, target = self._temporary[path]
        with naming(path):
            temporary.replace(target)

    def remove(self) -> None:
        """Removes what is in no place yet, and the folders made for it, as far as the disk lets go of them."""
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
    """Removes the temporary files of runs that were killed. Whoever sent the folder may have put a link there."""
    with os.scandir(folder) as entries:
        left = [(entry.path, named) for entry in entries if (named := _TEMPORARY.fullmatch(entry.name))]
    for path, named in left:
        if not is_running(int(named[1])):
            os.unlink(path)  # noqa: PTH108
