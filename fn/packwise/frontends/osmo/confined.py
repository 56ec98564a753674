"""Call a function in a copy of this process. The kernel limits the copy.

This is for untrusted input that can cause any amount of work. The copy can start no program and open no file. It
returns bytes through a pipe. The limits hold even if the interpreter crashes.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import time
import warnings
from contextlib import suppress
from inspect import currentframe

from krmfn.hints import TYPE_CHECKING, Record

# Import these modules now, because the copy can open no file.
if sys.platform != "win32":
    import fcntl
    import resource
    import select

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

MAX_SECONDS = 5
"""The largest processor time of the copy in seconds. The kernel counts whole seconds."""

MAX_MEMORY = 128 << 20
"""The largest number of bytes by which the copy may enlarge its address space."""

_MAX_ANSWER = 32 << 20
"""The largest size of an answer in bytes. A larger answer is discarded."""

MAX_WAIT = 120.0
"""The longest time to wait for an answer, in seconds. It ends a copy that is stopped and so uses no processor time.

Even a slow machine needs less.
"""

_MAX_DESCRIPTOR = 4096
"""The largest file descriptor of this process that the copy closes."""

_LENGTH = 8
"""The number of bytes before an answer. They contain its length."""

_STATUS = "/proc/self/status"


class Confined(Record):
    """The answer of the function and the processor time of the copy. `answer` is None if it is incomplete."""

    answer: bytes | None
    seconds: float


class ConfinedError(Exception):
    """Raised if the system cannot copy this process or limit the copy. The text names the reason and the fix."""


def call_confined(function: Callable[[], bytes]) -> Confined:
    """Call `function` in a copy of this process with limits, and return its answer.

    Import all modules that the function needs before the call. The copy is always killed before this function returns.
    It also ends if this process is killed. Raise ConfinedError if the system cannot make such a copy.
    """
    if not hasattr(os, "fork"):
        raise ConfinedError(
            "this system has no such processes; run packwise on Linux, in WSL or in its container image"
        )
    space = _address_space()
    pipes: list[int] = []
    try:
        pipes += os.pipe()
        pipes += os.pipe()
        process = os.fork()
    except OSError as error:
        for each in pipes:
            os.close(each)
        raise ConfinedError(
            f"the system cannot start a process ({error.strerror}); raise its limits of processes and open files"
        ) from None
    reading, writing, line_out, line_in = pipes
    if process == 0:
        _work(function, writing, line_out, space)
    try:
        os.close(writing)
        os.close(line_out)
        answer = _receive(reading)
    finally:
        os.close(reading)
        os.close(line_in)
        seconds = _end(process)
    return Confined(answer, seconds)


def _address_space() -> int | None:
    """Return the size of this process's address space in bytes. Return None if the system does not limit it.

    Raise ConfinedError if the size is unknown.
    """
    if sys.platform != "linux":
        return None
    try:
        with open(_STATUS, "rb") as file:  # noqa: PTH123 (pathlib takes longer to import)
            (size,) = [line.split()[1] for line in file if line.startswith(b"VmSize:")]
    except (OSError, ValueError):
        raise ConfinedError(f"the memory of this process is unknown, because {_STATUS} cannot be read") from None
    return int(size) << 10


def _receive(stream: int) -> bytes | None:
    """Return the answer of a copy, or None if the answer is incomplete, too large or too late."""
    until = time.monotonic() + MAX_WAIT
    poll = select.poll()
    poll.register(stream, select.POLLIN)
    data = bytearray()
    wanted = _LENGTH
    while len(data) < wanted:
        left = until - time.monotonic()
        if left <= 0 or not poll.poll(left * 1000):
            return None
        piece = os.read(stream, 1 << 16)
        if not piece:
            return None
        data += piece
        if len(data) >= _LENGTH:
            wanted = _LENGTH + int.from_bytes(data[:_LENGTH], "big")
        if wanted > _LENGTH + _MAX_ANSWER:
            return None
    return bytes(data[_LENGTH:wanted])


def _end(process: int) -> float:
    """Kill a copy, and return its processor time in seconds."""
    try:
        os.kill(process, signal.SIGKILL)
        _, _, usage = os.wait4(process, 0)
    except (ProcessLookupError, ChildProcessError):
        # This process ignores the end of its children, so the system has already removed the copy and its times.
        return MAX_SECONDS
    return usage.ru_utime + usage.ru_stime


def _work(function: Callable[[], bytes], writing: int, line: int, space: int | None) -> NoReturn:
    """Call `function` in the copy, write its answer, and end the copy.

    The copy ends in every case. Otherwise, it would repeat the next steps of the first process.
    """
    try:
        _confine(writing, line, space)
        _set_deterministic()
        answer = function()
        left = memoryview(len(answer).to_bytes(_LENGTH, "big") + answer)
        while left:
            left = left[os.write(writing, left) :]
    finally:
        os._exit(0)


def _confine(writing: int, line: int, space: int | None) -> None:
    """Remove signal handlers, close files, and limit memory and time.

    `line` is a pipe without data. Its other end closes when the first process ends.
    """
    for each in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        with suppress(OSError, ValueError):
            signal.signal(each, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    # Objects of the first process may have finalizers, for example one that removes a temporary folder. Do not run
    # them.
    gc.freeze()
    first, second = sorted((writing, line))
    os.closerange(0, first)
    os.closerange(first + 1, second)
    os.closerange(second + 1, _MAX_DESCRIPTOR)
    # When the first process ends, the system sends SIGIO, which ends the copy. It may already have ended, so check
    # once.
    fcntl.fcntl(line, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(line, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
    with suppress(BlockingIOError):
        os.read(line, 1)
        os._exit(0)
    limits = {
        resource.RLIMIT_CPU: MAX_SECONDS,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_NOFILE: 0,
        resource.RLIMIT_NPROC: 0,
        resource.RLIMIT_CORE: 0,
    }
    if space is not None:
        limits[resource.RLIMIT_AS] = space + MAX_MEMORY
    for kind, most in limits.items():
        hard = resource.getrlimit(kind)[1]
        own = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (own, own))


def _set_deterministic() -> None:
    """Set everything that could make an answer differ between machines or commands."""
    # No user sees these warnings, and settings of the interpreter can turn them into errors.
    warnings.simplefilter("ignore")
    depth, frame = 0, currentframe()
    while frame is not None:
        depth, frame = depth + 1, frame.f_back
    sys.setrecursionlimit(depth + 1000)
    sys.set_int_max_str_digits(sys.int_info.default_max_str_digits)
    os.environ["TZ"] = "UTC0"
    time.tzset()
