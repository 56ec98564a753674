"""Several files of a user's folder changed together: all of them, or none.

A journal says what changes before anything does. After a kill at any moment the next run finishes the change or takes
it back, so that nothing is lost. See docs/decisions/0007-several-files-change-by-a-journal.md.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from contextlib import suppress
from pathlib import Path, PurePosixPath

from krmfn.hints import TYPE_CHECKING, cast
from krmfn.record import NamedTuple
from packwise.cli.arguments import UsageError
from packwise.cli.console import naming, say
from packwise.cli.input_paths import contains, real
from packwise.cli.lock import JOURNAL, InterruptedChangeError, locked, signals_wait
from packwise.cli.manifests import digest
from packwise.cli.target import is_of_git

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any, TypeVar

    T = TypeVar("T")

__all__ = ["Change", "change_files", "common_folder", "complete", "once_complete", "remove_empty"]

_PREPARE, _COMMIT, _UNDO = "prepare", "commit", "undo"
"""Names of the journal's one file: nothing has changed yet, everything is to change, everything is to be as before."""


class Change(NamedTuple):
    """A file and what it is to hold; None where it is to go."""

    path: Path
    content: bytes | None


class _Entry(NamedTuple):
    """A file that changes, below the journal's folder; `before` and `after` are digests, None where it is not there."""

    target: str
    before: str | None
    after: str | None


class _Journal(NamedTuple):
    """What changes in the folder `root`; `folders` are those that are made for it. `process` made the journal."""

    root: Path
    process: int
    entries: tuple[_Entry, ...]
    folders: tuple[str, ...]

    def new(self, number: int) -> Path:
        """The file with the content that an entry is to have."""
        return self._beside(number, "new")

    def old(self, number: int) -> Path:
        """The file as it was."""
        return self._beside(number, "old")

    def target(self, number: int) -> Path:
        """The file itself."""
        return self.root / self.entries[number].target

    def _beside(self, number: int, suffix: str) -> Path:
        # In the file's own folder: another one may be of another file system.
        return self.target(number).parent / f".packwise-{self.process}-{number}.{suffix}"


def change_files(folder: Path, changes: Sequence[Change], as_read: Mapping[Path, bytes]) -> None:
    """Makes all `changes`, which are in `folder`, or none. Folders that lose their last file go.

    `as_read` are files that must still hold what they held when they were read. Raises OSError, which names the file,
    where one of them does not, or where the disk refuses one.
    """
    root = Path(real(folder))
    with locked(root):
        _refuse_changed(as_read)
        journal = _planned(root, changes)
        try:
            _write(journal)
            _stage(journal, changes)
        except BaseException:
            _take_back(journal, _PREPARE)
            raise
        with signals_wait():
            _rename(journal, _PREPARE, _COMMIT)
            _finish(journal, [change.path for change in changes])


def complete(folder: Path) -> str:
    """Finishes the change of files in `folder` that was interrupted, or takes it back. Returns what was done, in words.

    Raises UsageError where the journal is not packwise's, OSError where the disk refuses.
    """
    root = Path(real(folder))
    with locked(root), signals_wait():
        state, journal = _left(root)
        if state == _COMMIT:
            _finish(journal, [journal.target(number) for number in range(len(journal.entries))])
            done = "finished"
        else:
            _take_back(journal, state)
            done = "took back"
    count = len(journal.entries)
    return f"{done} the change of {count} file{'' if count == 1 else 's'} in {root.as_posix()} that was interrupted"


def once_complete(read: Callable[[], T]) -> T:
    """What `read` returns, once every change that it meets half done is finished or taken back."""
    while True:
        try:
            return read()
        except InterruptedChangeError as met:
            say([complete(met.folder)])


def common_folder(paths: Iterable[Path]) -> Path:
    """The folder that holds all files, under the names that they are given by and under those that links lead to."""
    folders = [real(path.parent) for path in paths] + [str(Path(real(path)).parent) for path in paths]
    return Path(os.path.commonpath(folders))


def _refuse_changed(as_read: Mapping[Path, bytes]) -> None:
    for path, content in as_read.items():
        if path.read_bytes() != content:
            raise OSError(errno.EBUSY, "a change since it was read; run the same command again", path.as_posix())


def _planned(root: Path, changes: Iterable[Change]) -> _Journal:
    entries: list[_Entry] = []
    folders = dict[str, None]()
    above = _Above(root)
    for change in changes:
        # A file that goes is the link; one that is written is what the link leads to.
        target = above.real(change.path.parent) / change.path.name
        if change.content is not None and target.is_symlink():
            target = Path(real(target))
        after = None if change.content is None else digest(change.content)
        entries.append(_Entry(target.relative_to(root).as_posix(), _state_of(target), after))
        folders |= dict.fromkeys(above.absent(target.parent))
    return _Journal(root, os.getpid(), tuple(entries), tuple(folders))


class _Above:
    """The folders of the files that change, each looked at once."""

    __slots__ = ("_absent", "_real", "_root")

    def __init__(self, root: Path) -> None:
        self._root = root
        self._real: dict[Path, Path] = {}
        self._absent: dict[Path, tuple[str, ...]] = {root: ()}

    def real(self, folder: Path) -> Path:
        """The folder without links."""
        known = self._real.get(folder)
        if known is None:
            known = self._real[folder] = Path(real(folder))
        return known

    def absent(self, folder: Path) -> tuple[str, ...]:
        """Those of the folder and of the folders above it, below the root, that are not there: the outermost first."""
        known = self._absent.get(folder)
        if known is None:
            known = self.absent(folder.parent)
            if known or not os.path.lexists(folder):
                known = (*known, folder.relative_to(self._root).as_posix())
            self._absent[folder] = known
        return known


def _state_of(file: Path) -> str | None:
    """The digest of what a file holds; None where there is none."""
    with naming(file):
        return digest(file.read_bytes()) if os.path.lexists(file) else None


def _write(journal: _Journal) -> None:
    import json

    with naming(journal.root / JOURNAL):
        (journal.root / JOURNAL).mkdir()
        text = json.dumps({"process": journal.process, "entries": journal.entries, "folders": journal.folders})
        (journal.root / JOURNAL / _PREPARE).write_text(text, encoding="ascii")


def _stage(journal: _Journal, changes: Sequence[Change]) -> None:
    """Everything that needs room on the disk: the new contents, and a second name for each old file."""
    for folder in journal.folders:
        with naming(journal.root / folder):
            (journal.root / folder).mkdir()
    for number, change in enumerate(changes):
        with naming(change.path):
            target, existed = journal.target(number), journal.entries[number].before is not None
            if change.content is not None:
                with journal.new(number).open("xb") as file:
                    file.write(change.content)
                if existed:
                    # What is written is read, and never run.
                    journal.new(number).chmod(stat.S_IMODE(target.stat().st_mode) & 0o666)
            if existed:
                _keep(target, journal.old(number))


def _keep(target: Path, old: Path) -> None:
    try:
        os.link(target, old, follow_symlinks=False)
    except (OSError, NotImplementedError):
        if os.path.lexists(old):
            raise
        shutil.copy2(target, old, follow_symlinks=False)


def _finish(journal: _Journal, names: Sequence[Path]) -> None:
    """The change itself, which needs no room: names change. Where the system refuses one, all are as before.

    Raises OSError, which has the file's name among `names`.
    """
    try:
        for number, entry in enumerate(journal.entries):
            with naming(names[number]):
                if entry.after is None:
                    journal.target(number).unlink(missing_ok=True)
                elif os.path.lexists(journal.new(number)):
                    journal.new(number).replace(journal.target(number))
    except OSError:
        _rename(journal, _COMMIT, _UNDO)
        _take_back(journal, _UNDO)
        raise
    for number, entry in enumerate(journal.entries):
        journal.old(number).unlink(missing_ok=True)
        if entry.after is None:
            remove_empty(journal.target(number).parent, journal.root)
    _forget(journal.root)


def _take_back(journal: _Journal, state: str) -> None:
    """Everything as it was before. Can be done again where it was interrupted itself."""
    for number, entry in enumerate(journal.entries):
        if state == _UNDO and not os.path.lexists(journal.new(number)):
            _restore(journal, number, entry)
        _remove(journal.new(number))
        # Two names of one file stay both when one replaces the other.
        _remove(journal.old(number))
    for folder in reversed(journal.folders):
        with suppress(OSError):
            (journal.root / folder).rmdir()
    _forget(journal.root)


def _restore(journal: _Journal, number: int, entry: _Entry) -> None:
    if entry.before is None:
        journal.target(number).unlink(missing_ok=True)
    elif entry.after is not None or not os.path.lexists(journal.target(number)):
        with suppress(FileNotFoundError):
            journal.old(number).replace(journal.target(number))


def _rename(journal: _Journal, before: str, after: str) -> None:
    (journal.root / JOURNAL / before).rename(journal.root / JOURNAL / after)


def _forget(root: Path) -> None:
    for state in (_PREPARE, _COMMIT, _UNDO):
        _remove(root / JOURNAL / state)
    if os.path.lexists(root / JOURNAL):
        (root / JOURNAL).rmdir()


def _remove(file: Path) -> None:
    """Removes a file where it is there: a disk that is read-only refuses to remove even what is not."""
    if os.path.lexists(file):
        file.unlink(missing_ok=True)


def _left(root: Path) -> tuple[str, _Journal]:
    """The journal that a run left in `root`, and how far it came.

    Raises UsageError where it is not packwise's, or a file holds what it held neither before nor is to hold: somebody
    changed it since, and a commit can bring a journal too.
    """
    folder = root / JOURNAL
    unknown = UsageError(f'"{folder.as_posix()}" must be a journal that packwise wrote; look at it, and remove it')
    if folder.is_symlink() or not folder.is_dir():
        raise unknown
    state = next((name for name in (_COMMIT, _UNDO) if (folder / name).is_file()), _PREPARE)
    try:
        journal = _parsed(root, (folder / state).read_text(encoding="ascii"))
    except (OSError, ValueError, TypeError, KeyError):
        if state == _PREPARE:
            # Killed while it was written, or after it was removed: nothing else is there yet, or any more.
            return state, _Journal(root, 0, (), ())
        raise unknown from None
    for number, entry in enumerate(journal.entries):
        if state != _PREPARE and _state_of(journal.target(number)) not in (entry.before, entry.after):
            file = journal.target(number).as_posix()
            raise UsageError(
                f'"{file}" must be as it was when a change of it was interrupted; its contents before and after are in '
                f'".packwise-*" beside it: choose, and remove these files and "{folder.as_posix()}"'
            )
    return state, journal


def _parsed(root: Path, text: str) -> _Journal:
    """The journal of that text. Raises ValueError, TypeError or KeyError where it leads elsewhere, or is none."""
    import json

    value = cast("dict[str, Any]", json.loads(text))
    entries = tuple(_Entry(str(target), before, after) for target, before, after in value["entries"])
    folders = tuple(str(folder) for folder in value["folders"])
    for name in (*folders, *[entry.target for entry in entries]):
        path = PurePosixPath(name)
        parts = (*path.parts, *Path(real(root / path)).parts[len(root.parts) :])
        within = contains(str(root), real(root / path.parent))
        if path.is_absolute() or ".." in parts or is_of_git(parts) or not within:
            raise ValueError(name)
    return _Journal(root, int(value["process"]), entries, folders)


def remove_empty(folder: Path, top: Path) -> None:
    """Removes `folder`, and those above it up to `top`, as long as they are empty. Raises OSError."""
    while folder != top and folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent
