"""One run at a time changes a folder, and no run reads a folder that is half changed."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import contextmanager, suppress

from krmfn.hints import TYPE_CHECKING
from packwise.cli.arguments import UsageError

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

__all__ = ["JOURNAL", "InterruptedChangeError", "locked", "refuse_interrupted", "signals_wait"]

JOURNAL = ".packwise-changes"
"""Folder in which a run keeps its journal for as long as it changes files."""


class InterruptedChangeError(UsageError):
    """A run that changed files in `folder` did not come to its end."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            f'"{folder.as_posix()}" must not be half changed; a run that changed files in it was interrupted: run the '
            "same command again (migrate, check --fix, render), which finishes the change or takes it back"
        )
        self.folder = folder


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


def refuse_interrupted(folder: Path) -> None:
    """Raises InterruptedChangeError where a journal was left in `folder`; waits for a run that is still at it."""
    if os.path.lexists(folder / JOURNAL):
        with locked(folder):
            if os.path.lexists(folder / JOURNAL):
                raise InterruptedChangeError(folder)


@contextmanager
def signals_wait() -> Generator[None]:
    """Ctrl-C and a polite end wait for the end of the block, which is a matter of milliseconds."""
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
