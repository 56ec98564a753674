"""An output folder compared with its plan, and changed in one step."""

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

from krmfn.fieldpath import FieldError
from krmfn.hints import TYPE_CHECKING, Record
from krmfn.result import Result, ResultFile, Severity
from packwise.console import name_file
from packwise.findings import Rule
from packwise.inputs.paths import SUFFIXES, InputPath, contains, exists, real
from packwise.inputs.reader import read_file
from packwise.inputs.request import UsageError
from packwise.objects.index import is_generated
from packwise.output.write import FileChange, change_files, is_running, remove_empty
from packwise.render.files import LIST, OUTPUT, digest, is_of_git, listing, read_list

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Set

    from packwise.inputs.reader import InputFile
    from packwise.render.files import FolderPlan


EDITED = Rule("output-edited", "A file that packwise wrote has been edited.", "spec/packwise.md#1.5", Severity.WARNING)


RULES = (EDITED,)
"""Rules of the output folder."""


_NOT_REPLACED = (
    "this file has no Kubernetes objects, but an object of stdin or of a list would replace it. Rename the file, or "
    "write the object to another folder"
)


_OWN = "packwise"
"""The folder of generated objects. packwise searches it for files of an earlier render."""


class Changes(Record):
    """The differences from the disk: contents to write by path below the folder, and files to remove.

    If a path leads through a link, `targets` maps it to its real path below the folder. `listing` is the new list of
    packwise's own files, or None if it does not change. If `results` has an error, nothing may be written.
    """

    contents: Mapping[str, bytes]
    removed: tuple[Path, ...]
    results: tuple[Result, ...]
    listing: bytes | None = None
    targets: Mapping[str, str] = {}

    def __bool__(self) -> bool:
        return bool(self.contents or self.removed or self.listing is not None)


def survey(folder: Path, plan: FolderPlan, *, with_list: bool = False) -> Changes:
    """Return the difference between `plan` and `folder`.

    `with_list` is true if the folder has a list of packwise's files. Listed files that are not in the plan are then
    removed. Raise FieldError if the list is unreadable.
    """
    places = _Places(real(folder))
    contents: dict[str, bytes] = {}
    targets: dict[str, str] = {}
    results: list[Result] = []
    kept: set[str] = set()
    for name, content in plan.contents.items():
        place = places.place(name)
        kept.add(place.real)
        fault = place.fault
        if fault is None and not _has_content(place, content):
            is_there = place.status is not None
            if name in plan.generated and is_there and not _is_generated(folder / name):
                fault = "packwise writes a generated object to this path; rename this file"
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
    is_listed = _has_content(places.place(LIST), now)
    return Changes(contents, tuple(sorted(removed | own)), tuple(results), None if is_listed else now, targets)


class _Place(Record):
    """The target of a path below a folder: the real path, its status, and the reason why it cannot be written.

    `status` is None if the file does not exist. If the path leads through a link, `target` is the real path below the
    folder.
    """

    real: str
    status: os.stat_result | None = None
    fault: str | None = None
    target: str | None = None


class _Places:
    """The targets of paths below a folder with the real path `root`. Paths of a plan have no `.` and no `..`.

    The folders are recorded. Below a folder that does not exist, nothing is looked up.
    """

    __slots__ = ("_folders", "_root")

    def __init__(self, root: str) -> None:
        self._root = root.rstrip(os.sep)
        self._folders: dict[str, tuple[_Place, bool]] = {"": (_Place(self._root), _may_be_there(root))}

    def place(self, name: str) -> _Place:
        """Return the target of the file at a slash-separated path."""
        above, _, base = name.rpartition("/")
        parent, is_there = self._folder(above)
        place, error = self._look_at(parent, base, is_there=is_there)
        if place.fault is not None:
            return place
        if place.status is not None and stat.S_ISDIR(place.status.st_mode):
            return place.replace(fault="a folder has the name of this file; rename one of them")
        if error is not None and not isinstance(error, FileNotFoundError):
            return place.replace(fault=f"cannot write the file: {error.strerror}")
        return place

    def _folder(self, name: str) -> tuple[_Place, bool]:
        known = self._folders.get(name)
        if known is None:
            above, _, base = name.rpartition("/")
            parent, is_there = self._folder(above)
            place, error = self._look_at(parent, base, is_there=is_there)
            known = self._folders[name] = place, is_there and not isinstance(error, FileNotFoundError)
        return known

    def _look_at(self, parent: _Place, base: str, *, is_there: bool) -> tuple[_Place, OSError | None]:
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
            return self._follow_link(at), None
        return _Place(at, status, fault, target), None

    def _follow_link(self, link: str) -> _Place:
        at = real(link)
        try:
            status = Path(at).stat()
        except OSError:
            status = None
        if not contains(self._root, at):
            return _Place(at, status, "a link leads out of the output folder; remove the link")
        parts = Path(at[len(self._root) + 1 :]).parts
        return _Place(at, status, _OF_GIT if is_of_git(parts) else None, "/".join(parts))


def _may_be_there(path: str) -> bool:
    try:
        os.lstat(path)
    except FileNotFoundError:
        return False
    except OSError:
        # The search for a file below the path will report the reason.
        return True
    return True


_OF_GIT = "a link leads into the folder of a git repository; remove the link"


def _has_content(place: _Place, content: bytes) -> bool:
    if place.status is None or place.status.st_size != len(content):
        return False
    try:
        return Path(place.real).read_bytes() == content
    except OSError:
        return False


def _is_left(folder: Path, path: Path, kept: Set[str]) -> bool:
    """Return True if the file belongs to an earlier render, and the plan does not have it."""
    at = real(path)
    return contains(real(folder), at) and at not in kept and _is_generated(path)


def _no_longer_listed(folder: Path, plan: FolderPlan, kept: Set[str]) -> tuple[set[Path], list[Result]]:
    """Return files of the last list that are not in the plan, and a warning for each file that was edited since."""
    own: set[Path] = set()
    edited: list[Result] = []
    for name, known in read_list(folder).items():
        path = folder / name
        content = None if name in plan.contents else _content(folder, path)
        if content is None or real(path) in kept:
            continue
        if digest(content) == known:
            own.add(path)
        else:
            message = "packwise no longer renders this file and keeps it, because it was changed; delete it by hand"
            file = ResultFile(path.as_posix())
            edited.append(Result(message, EDITED.severity, file=file, tags={"rule": EDITED.name}))
    return own, edited


def _content(folder: Path, path: Path) -> bytes | None:
    """Return the content of a file of `folder`. Return None for a link, a file in `.git`, or an unreadable file."""
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
    """Yield the files in packwise's own folder that may hold generated objects. Links are not followed."""
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
    """Return True if the file holds only objects that packwise made."""
    try:
        file = read_file(InputPath(path.as_posix()))
        items = [document.item for document in file.documents if not document.is_blank]
        return bool(items) and all(item is not None and is_generated(item.value) for item in items)
    except FieldError:
        return False


def _holds_objects(path: Path) -> bool:
    """Return True if the file holds a Kubernetes object or is empty."""
    try:
        file = read_file(InputPath(path.as_posix()))
        return any(item.value for item in file.items) or all(document.is_blank for document in file.documents)
    except FieldError:
        return False


_AT_FDCWD = -100


_EXCHANGE = 2


_MARK = ".packwise-"


_COPY = re.compile(r"\..+\.packwise-[0-9]+", re.DOTALL)
"""The names of copies: a dot, the name of the folder, and the number of the process."""


class SwapError(Exception):
    """Raised if the folder cannot be exchanged with another one. The text gives the reason."""


@contextmanager
def swap_folder(folder: Path) -> Generator[Path]:
    """Yield a copy of `folder`, or an empty folder if it does not exist. The copy replaces the folder at the end of the
    block.

    The copy shares the bytes of its files with the folder, so replace files and never write into them. Raise SwapError
    without a change if the system cannot exchange folders.
    """
    if sys.platform == "win32":
        raise SwapError("this system cannot exchange folders")
    target = Path(real(folder))
    if contains(str(target), real(".")):
        raise SwapError("it is the working directory")
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
    """Delay Ctrl-C and SIGTERM until the end of the block, which takes milliseconds."""
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
    """Make the folders of `source` in `target`, and link its files there."""
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


def remove_left(folder: Path) -> None:
    """Remove the copies of `folder` that killed runs left behind."""
    target = Path(real(folder))
    for left in _copies(target.parent):
        name, _, owner = left.name[1:].rpartition(_MARK)
        if name == target.name and not is_running(int(owner)):
            shutil.rmtree(left, ignore_errors=True)


def folders_with_copies(folder: Path) -> frozenset[str]:
    """Return the names of folders that have copies in `folder`, from current or killed runs."""
    return frozenset(copy.name[1:].rpartition(_MARK)[0] for copy in _copies(folder))


def _copies(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            return [Path(entry.path) for entry in entries if _COPY.fullmatch(entry.name)]
    except OSError:
        return []


def _exchange(first: Path, second: Path) -> None:
    """Exchange two paths in one step. Raise OSError if the system cannot do that."""
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


def refuse_no_folder(output: str) -> None:
    """Raise UsageError if `output`, the value of -o, cannot be a folder."""
    if not output or (exists(output) and not Path(output).is_dir()):
        raise UsageError(f'-o needs a folder; got "{output}"')


def refuse_lists_within(files: Iterable[InputFile], folder: str) -> None:
    """Raise UsageError if the objects of a ResourceList would be written into the folder of the list itself."""
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
    before_swap: Callable[[Path], object] | None = None,
) -> str | None:
    """Make the changes, and remove folders that lost their last file.

    With `at_once`, other processes see only the old or the new folder. `before_swap` is called with the new folder
    before other processes see it. If the system cannot exchange folders, files change one by one and the reason is
    returned. Raise OSError if the disk refuses a file, or if a file in `as_read` has new content.
    """
    if not at_once:
        change_files(folder, _as_list(folder, changes), as_read or {})
        return None
    try:
        with swap_folder(folder) as copy:
            _apply(folder, copy, changes)
            if before_swap is not None:
                before_swap(copy)
    except SwapError as reason:
        folder.mkdir(parents=True, exist_ok=True)
        change_files(folder, _as_list(folder, changes), {})
        return str(reason)
    return None


def _as_list(folder: Path, changes: Changes) -> list[FileChange]:
    written = [FileChange(folder / name, content) for name, content in changes.contents.items()]
    removed = [FileChange(path, None) for path in changes.removed]
    # Write the list last. Until then, the next run knows from the list which files packwise wrote.
    return written + removed + ([] if changes.listing is None else [FileChange(folder / LIST, changes.listing)])


def _apply(folder: Path, copy: Path, changes: Changes) -> None:
    """Make the changes of `folder` in a private copy. Raise OSError with the name of the file in `folder`."""
    root = Path(real(folder))
    unseen = _Unseen(copy)
    for name, content in changes.contents.items():
        target = changes.targets.get(name, name)
        unseen.write(target, content, root)
    for path in changes.removed:
        gone = copy / Path(real(path.parent)).relative_to(root) / path.name
        with name_file(path):
            gone.unlink()
            remove_empty(gone.parent, copy)
    if changes.listing is not None:
        unseen.write(LIST, changes.listing, folder)


class _Unseen:
    """A folder that no other process writes to. Each folder in it is made or checked once, and no link is followed."""

    __slots__ = ("_folders", "_top")

    def __init__(self, top: Path) -> None:
        self._top = top.as_posix()
        self._folders = {""}

    def write(self, path: str, content: bytes, seen: Path) -> None:
        """Make a new file at `path`. Never write into an existing file, because it may share its bytes with the copied
        folder.

        Raise OSError with the file's name in the folder `seen`.
        """
        at = f"{self._top}/{path}"
        try:
            self._make(path.rpartition("/")[0])
            try:
                file = os.open(at, _NEW, 0o666)
            except FileExistsError:
                file = _open_anew(at)
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


def _open_anew(path: str) -> int:
    """Replace a file by an empty one with the same permissions, except permission to execute it. Return the
    descriptor.
    """
    mode = stat.S_IMODE(os.lstat(path).st_mode) & 0o666
    os.unlink(path)  # noqa: PTH108
    file = os.open(path, _NEW, mode)
    os.chmod(file, mode)  # noqa: PTH101
    return file


def _write(file: int, content: bytes) -> None:
    written = os.write(file, content)
    while written < len(content):
        written += os.write(file, content[written:])
