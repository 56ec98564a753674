"""The output folder of a fleet: its files, its orphans, and the evidence that a folder is current.

The evidence is like git's index: the times, size, inode and permissions of each file. It is stored in the cache,
because it differs between machines, and output is the same on all machines.
"""

from __future__ import annotations

import json
import os
import posixpath
from contextlib import contextmanager, suppress
from functools import lru_cache
from hashlib import sha256
from operator import attrgetter
from pathlib import Path
from struct import Struct
from time import time_ns

from krmfn.fieldpath import FieldError
from krmfn.hints import TYPE_CHECKING, Record
from krmfn.result import Result, ResultFile, exit_code
from packwise.build.cache import build
from packwise.fleet.requests import plan_digest, plan_of
from packwise.fleet.result import WRITTEN, PackageStatus, kept_findings
from packwise.inputs.paths import real
from packwise.inputs.reader import error_result
from packwise.output.write import lock_folder, remove_empty
from packwise.render.files import LIST, FolderPlan
from packwise.render.folder import apply, folders_with_copies, remove_left, survey

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Iterable, Mapping

    from packwise.build.cache import Cache
    from packwise.fleet.result import PackageResult
    from packwise.render.folder import Changes


class OutputFolder:
    """The output folder `folder`. `below` returns the path of a package's folder in it."""

    __slots__ = ("_below", "_copied_in", "_evidence", "_folder")

    def __init__(self, folder: Path, below: Callable[[str], str], evidence: FolderEvidence) -> None:
        # Findings have full paths, because the user's working directory is not known here.
        self._folder = Path(real(folder))
        self._below = below
        self._evidence = evidence
        # Search each folder above packages only once for interrupted copies. It may contain thousands of packages.
        self._copied_in = lru_cache(64)(folders_with_copies)

    def write(self, result: PackageResult, payload: bytes) -> PackageResult:
        """Write the files of an answer, and return its result with the new status. A failing package is not written.

        Raise ValueError, KeyError or TypeError if the payload is invalid.
        """
        if result.status is PackageStatus.FAILING:
            return result
        folder = self._folder / self._below(result.folder)
        is_there = folder.exists()
        if is_there and not folder.is_dir():
            return _failing(result, [unwritable_folder(folder.as_posix(), "Not a directory")])
        try:
            if not is_there:
                folder.parent.mkdir(parents=True, exist_ok=True)
            with lock_folder(folder.parent):
                return self._write(result, folder, payload)
        except FieldError as error:
            return _failing(result, [error_result(error)])
        except OSError as error:
            return _failing(result, [unwritable_folder(str(error.filename), error.strerror or str(error))])

    def _write(self, result: PackageResult, folder: Path, payload: bytes) -> PackageResult:
        is_new = not folder.exists()
        digest = plan_digest(payload)
        if not is_new and self._evidence.is_held(folder, digest):
            self._remove_left(folder)
            return result.replace(status=PackageStatus.UNCHANGED)
        before = None if is_new else self._evidence.state_of(folder)
        changes = survey(folder, plan_of(payload), with_list=True)
        if exit_code(changes.results):
            return _failing(result, changes.results)
        self._remove_left(folder)
        if not changes:
            if before is not None and before.shows_later_changes():
                self._evidence.keep(folder, digest, before)
            return result.replace(status=PackageStatus.UNCHANGED)
        after = self._apply(folder, changes)
        if after is not None and after.is_after(before, _written_paths(changes)):
            # While the folder was replaced, unchanged files had two links. A link changes one of their times.
            now = after if is_new else self._evidence.state_of(folder)
            if now is not None and now.has(after.entries) and after.has(now.entries):
                self._evidence.keep(folder, digest, now)
        number = len(changes.contents) + len(changes.removed)
        return result.replace(status=PackageStatus.ADDED if is_new else PackageStatus.CHANGED, written=number)

    def _remove_left(self, folder: Path) -> None:
        if folder.is_symlink() or folder.name in self._copied_in(folder.parent):
            remove_left(folder)

    def _apply(self, folder: Path, changes: Changes) -> FolderState | None:
        """Write the folder. Return its state, read before other processes could change it, or None without such a
        state.
        """
        states: list[FolderState | None] = []
        one_by_one = apply(
            folder, changes, at_once=True, before_swap=lambda copy: states.append(self._evidence.state_of(copy))
        )
        return states[0] if states and one_by_one is None else None


def _written_paths(changes: Changes) -> set[str]:
    return {LIST, *[changes.targets.get(path, path) for path in changes.contents]}


def unwritable_folder(path: str, reason: str) -> Result:
    """Return the error about a folder that cannot be changed."""
    message = f"cannot write the folder: {reason}"
    return Result(message, file=ResultFile(path), tags={"rule": WRITTEN.name})


def _failing(result: PackageResult, results: Iterable[Result]) -> PackageResult:
    errors, warnings, findings = kept_findings(results)
    return result.replace(
        status=PackageStatus.FAILING,
        errors=result.errors + errors,
        warnings=result.warnings + warnings,
        findings=(*findings, *result.findings),
    )


_NOTHING = FolderPlan({}, frozenset(), frozenset(), (), ())


def orphans(output: str, known: Collection[str], evidence: FolderEvidence) -> list[str]:
    """Return the sorted paths of folders below `output` that packwise wrote and that are not in `known`.

    packwise writes a list of its files into each such folder. Folders in `evidence` are not searched again.
    """
    written: set[str] = set()
    left = ["."]
    while left:
        name = left.pop()
        at = output if name == "." else f"{output}/{name}"
        below = evidence.package_folders_in(at)
        if below is not None:
            written.update([posixpath.normpath(f"{name}/{folder}") for folder in below])
            continue
        with suppress(OSError), os.scandir(at) as entries:
            for entry in entries:
                if entry.name == LIST:
                    written.add(name)
                elif not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False):
                    left.append(entry.name if name == "." else f"{name}/{entry.name}")
    return sorted(written.difference(known))


def prune(output: Path, name: str) -> list[Result]:
    """Remove the files of an earlier run from the folder `name` of `output`, and folders that become empty.

    Changed files and other tools' files stay, and a warning names them. Return these warnings. If the folder cannot be
    changed, it stays as it is, and an error is returned.
    """
    folder = output / name
    try:
        with lock_folder(Path(real(folder)).parent):
            remove_left(folder)
            changes = survey(folder, _NOTHING, with_list=True)
            # Keep the list as long as it names a file that stays.
            own = () if changes.results else (Path(real(folder)) / LIST,)
            apply(folder, changes.replace(removed=(*changes.removed, *own), listing=None), at_once=True)
            remove_empty(folder, output)
    except FieldError as error:
        return [error_result(error)]
    except OSError as error:
        return [unwritable_folder(str(error.filename), error.strerror or str(error))]
    return list(changes.results)


_FORMAT = 1
"""The version of the format in which the state of a folder is stored."""

_SECOND = 1_000_000_000
_APART = 2 * _SECOND
"""Two changes of a file that are this many nanoseconds apart have different times on any file system."""


class FolderState(Record):
    """The state of a folder: its files and folders, with data that reveals a change of each.

    `at` is the time at which the state was read. Entries have the order of the file system, which is stable while the
    folder is unchanged.
    """

    entries: Mapping[str, bytes]
    at: int

    def digest(self) -> bytes:
        """Return a digest that differs for every other state."""
        digest = sha256("\0".join(self.entries).encode("utf-8", "surrogateescape"))
        digest.update(b"".join(self.entries.values()))
        return digest.digest()

    def package_folders(self) -> tuple[str, ...]:
        """Return the paths of folders with a list of packwise's own files. "" is the folder itself.

        Folders with names that begin with a dot are skipped.
        """
        lists = [path.rpartition("/") for path in self.entries if path.endswith(LIST)]
        return tuple(folder for folder, _, name in lists if name == LIST and not _is_hidden(folder))

    def shows_later_changes(self) -> bool:
        """Return True if every later change of a file changes this state.

        If a file changed just before the state was read, it may change again with the same time.
        """
        return all(_time(entry) + _APART < self.at for entry in self.entries.values())

    def is_after(self, before: FolderState | None, written: Collection[str]) -> bool:
        """Return True if this state has the files of `before` and the files `written`, and later changes of these
        would show.
        """
        kept = {path: entry for path, entry in self.entries.items() if entry != FOLDER and path not in written}
        if kept and not (
            before is not None and before.has(kept) and FolderState(kept, before.at).shows_later_changes()
        ):
            return False
        # With times in whole seconds, a file can change again within the second in which it was written.
        return any(_time(self.entries[path]) % _SECOND for path in written if path in self.entries)

    def has(self, entries: Mapping[str, bytes]) -> bool:
        """Return True if this state has the entries. The time of any change is ignored, because links change it."""
        return all(
            path in self.entries and self.entries[path][:_OF_CONTENT] == entry[:_OF_CONTENT]
            for path, entry in entries.items()
        )


ENTRY = Struct("=qqQIq")
"""The state of a file: time of the content in nanoseconds, size, inode number, mode, and time of any change."""

_OF_CONTENT = Struct("=qqQI").size

FOLDER = ENTRY.pack(0, 0, 0, 0, 0)


def _time(entry: bytes) -> int:
    """Return the time of the last change of the content, in nanoseconds. It is 0 for a folder."""
    return ENTRY.unpack(entry)[0]


_fields = attrgetter("st_mtime_ns", "st_size", "st_ino", "st_mode", "st_ctime_ns")


def _is_hidden(folder: str) -> bool:
    return folder.startswith(".") or "/." in folder


def read_state(folder: str) -> FolderState | None:
    """Return the state of a folder without links and `.git`. Return None if a part is unreadable."""
    at = time_ns()
    entries: dict[str, bytes] = {}
    folders = [""]
    try:
        while folders:
            prefix = folders.pop()
            with _open_folder(f"{folder}/{prefix}") as opened, os.scandir(opened) as listed:
                for each in listed:
                    path = prefix + each.name
                    if not each.is_dir(follow_symlinks=False):
                        entries[path] = ENTRY.pack(*_fields(each.stat(follow_symlinks=False)))
                    elif each.name != ".git":
                        entries[path] = FOLDER
                        folders.append(f"{path}/")
    except OSError:
        return None
    return FolderState(entries, at)


@contextmanager
def _open_folder(folder: str) -> Generator[int | str]:
    """Yield the folder for `os.scandir`: an open folder if the system permits. The paths of its files are then only
    names.
    """
    if os.scandir not in os.supports_fd:
        yield folder
        return
    number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield number
    finally:
        os.close(number)


class FolderEvidence:
    """The states of folders that hold the output of an answer, stored in a cache on this machine.

    Without such a cache it stays empty.
    """

    __slots__ = ("_cache", "_written")

    def __init__(self, cache: Cache | None) -> None:
        self._cache = cache if cache is not None and cache.is_near else None
        self._written: dict[str, tuple[str, ...]] = {}

    def state_of(self, folder: Path) -> FolderState | None:
        """Return the state of the folder, or None without a cache."""
        return None if self._cache is None else read_state(os.fspath(folder))

    def is_held(self, folder: Path, plan: bytes) -> bool:
        """Return True if the folder is unchanged since it had the content with the digest `plan`."""
        known = None if self._cache is None else self._cache.get(_key(folder, plan))
        if known is None:
            return False
        state = self.state_of(folder)
        if state is None or state.digest() != known:
            return False
        self._written[os.fspath(folder)] = state.package_folders()
        return True

    def package_folders_in(self, folder: str) -> tuple[str, ...] | None:
        """Return the folders with a list of packwise's own files in `folder`. Return None if `folder` may have changed.

        "" is the folder itself.
        """
        return self._written.get(folder)

    def keep(self, folder: Path, plan: bytes, state: FolderState) -> None:
        """Record that the folder in this state has the content with the digest `plan`."""
        if self._cache is not None:
            self._cache.put(_key(folder, plan), state.digest())


def _key(folder: Path, plan: bytes) -> str:
    return sha256(json.dumps(["look", _FORMAT, build().digest, os.fspath(folder), plan.hex()]).encode()).hexdigest()
