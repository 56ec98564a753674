"""A process that is interrupted directly before one chosen change of the disk: killed, asked to stop, or refused."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from enum import Enum
from typing import Any

__all__ = ["Blow", "interrupted_at"]

EVENTS = {"os.chmod", "os.chown", "os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.symlink"}
"""Events of the interpreter before it changes the disk; docs.python.org, "Audit events table"."""

REACHED = 77
"""The exit code of a process that came to the chosen change, and then reported it or continued."""

TRACEBACK = 78
"""The exit code of a process that raised an exception that no command catches."""


class Blow(Enum):
    """An interruption of the process."""

    KILL = "kill -9"
    STOP = "Ctrl-C"
    REFUSE = "a full disk"


def interrupted_at(step: int, blow: Blow, run: Callable[[], Any]) -> bool:
    """Call `run` in a child process and apply `blow` at its change number `step` of the disk.

    Return True if it came that far.
    """
    child = os.fork()
    if child == 0:
        struck = False
        seen = 0

        def before(event: str, given: tuple[Any, ...]) -> None:
            nonlocal seen, struck
            if event not in EVENTS and not (event == "open" and writes(given)) and not exchanges(event, given):
                return
            seen += 1
            if seen != step:
                return
            struck = True
            if blow is Blow.KILL:
                os.kill(os.getpid(), signal.SIGKILL)
            elif blow is Blow.STOP:
                os.kill(os.getpid(), signal.SIGINT)
            else:
                raise OSError(28, "No space left on device")

        # If tests run in the background, Ctrl-C is ignored.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.addaudithook(before)
        code = TRACEBACK
        try:
            run()
            code = REACHED if struck else 0
        except KeyboardInterrupt:
            code = REACHED
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code != TRACEBACK, f"the run failed in a way of its own at its change {step}"
    return code in (REACHED, -signal.SIGKILL)


def writes(given: tuple[Any, ...]) -> bool:
    path, _, flags = given
    return not isinstance(path, int) and bool(flags & (os.O_WRONLY | os.O_RDWR)) and not str(path).startswith("/dev/")


def exchanges(event: str, given: tuple[Any, ...]) -> bool:
    """Return two folders that are about to exchange places."""
    return event == "ctypes.dlsym" and given[1] in ("renameat2", "renamex_np")
