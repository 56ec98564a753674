"""Work in several processes of this program: each is a copy of this one, and hands back what it computed."""

from __future__ import annotations

import os
import sys

from krmfn.hints import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, TypeVar

    In = TypeVar("In")
    Out = TypeVar("Out")

__all__ = ["answers", "most_processes", "processes_of", "usable"]

_MOST = 4
"""More than so many share too little of the work, and each has memory of its own."""
_QUOTA = "/sys/fs/cgroup/cpu.max"
"""How many microseconds of processors a container may use in how many of the clock; the first is "max" without a limit.

Source: Linux, Documentation/admin-guide/cgroup-v2.rst, CPU Interface Files.
"""


def usable() -> bool:
    """Whether this system makes copies of a process, with nothing of it running twice."""
    return sys.platform == "linux"


def most_processes() -> int:
    """How many processes work at the same time: as many as the processors that this one may use, at most four.

    A container's limit of 1500m counts as two.
    """
    return min(len(os.sched_getaffinity(0)), _granted(), _MOST) if usable() else 1


def _granted() -> int:
    try:
        with open(_QUOTA, "rb") as file:  # noqa: PTH123 (pathlib takes longer to import)
            quota, period = file.read().split()
        return max(-(-int(quota) // int(period)), 1)
    except (OSError, ValueError, ZeroDivisionError):
        return _MOST


def processes_of(jobs: int | None) -> int:
    """How many processes work at the same time where `jobs` are asked for, None where no number is."""
    return (jobs or most_processes()) if usable() else 1


def answers(function: Callable[[In], Out | None], inputs: Sequence[In]) -> list[Out] | None:
    """What `function` answers for each input, in order: the first in this process, each other one in one of its own.

    None where it answers None for some input, or a process ends before its time. What is raised here ends the others.
    """
    children: list[tuple[int, int]] = []
    try:
        for each in inputs[1:]:
            children.append(_started(function, each))
        own = function(inputs[0])
        others = [] if own is None else [_received(stream) for _, stream in children]
    except OSError:
        return None
    finally:
        for process, stream in children:
            _end(process, stream)
    return None if own is None or None in others else [own, *others]


def _started(function: Callable[[In], Out | None], each: In) -> tuple[int, int]:
    """A process that computes and hands back an answer, and the stream that it comes by. Raises OSError."""
    reading, writing = os.pipe()
    try:
        process = os.fork()
    except OSError:
        os.close(reading)
        os.close(writing)
        raise
    if process == 0:
        _compute(function, each, writing)
    os.close(writing)
    return process, reading


def _compute(function: Callable[[In], Out | None], each: In, writing: int) -> None:
    """Ends the process, whatever comes: nothing of what the first process does may happen twice."""
    import pickle
    import signal

    try:
        # The first process says what there is to say of Ctrl-C.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        data = pickle.dumps(function(each), pickle.HIGHEST_PROTOCOL)
        with os.fdopen(writing, "wb") as stream:
            stream.write(data)
    finally:
        os._exit(0)


def _received(stream: int) -> Any:
    """The answer of a process; None where it is not all there."""
    import pickle

    with os.fdopen(stream, "rb", closefd=False) as data:
        try:
            return pickle.load(data)  # noqa: S301 (of this very program)
        except (EOFError, pickle.UnpicklingError):
            return None


def _end(process: int, stream: int) -> None:
    import signal

    os.close(stream)
    try:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
    except (ProcessLookupError, ChildProcessError):
        # Whoever started this process ignores the end of its children: the system has collected it already.
        return
