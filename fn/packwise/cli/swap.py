"""A folder changed in one step: what it will be is made beside it, then the two change places.

A process that dies at any time leaves the folder as it was, or as it will be. One run at a time changes a folder.
"""

from __future__ import annotations

import ctypes
import errno
import os
import re
import shutil
import signal
import sys
from contextlib import contextmanager, suppress
from pathlib import Path

from krmfn.hints import TYPE_CHECKING
from packwise.cli.input_paths import contains, real

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

__all__ = ["SwapError", "copied_in", "is_running", "locked", "remove_left", "swapped"]

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
