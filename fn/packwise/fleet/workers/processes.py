"""A pool of processes of this machine. Each runs a task at a time, so that a process that dies names its task.

Pipes of the standard library, since its own executor gives up all of its processes, and forgets which task ran where,
when the kernel kills one.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
import traceback
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

from krmfn.record import NamedTuple
from packwise.fleet.workers.run import OUT_OF_MEMORY, Lost

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable
    from multiprocessing.context import ForkContext, SpawnContext
    from multiprocessing.process import BaseProcess

__all__ = ["ProcessPool"]

T = TypeVar("T")
R = TypeVar("R")

_PATIENCE = 3.0
"""Seconds that processes have to remove their temporary files when they must end."""


class _Raised(NamedTuple):
    """An error that the function raised in a worker, and its trace."""

    error: Exception
    trace: str


class _Worker(NamedTuple):
    """A process, and this end of its pipe."""

    process: BaseProcess
    pipe: Connection


class ProcessPool(Generic[T, R]):
    """Up to `count` processes, started when there is a task for them.

    Each leads a group of processes: what it starts itself (kustomize, say) ends with it. Ctrl-C reaches this process
    alone, which ends the others; where this process dies without a chance to, they end when their task is done.
    """

    def __init__(self, count: int, work: Callable[[T], R]) -> None:
        self._context = _context()
        self._count = count
        self._work = work
        self._idle: list[_Worker] = []
        self._busy: dict[int, _Worker] = {}

    def has_room(self) -> bool:
        """True if a process is idle, or another can be started."""
        return len(self._busy) < self._count

    def submit(self, number: int, task: T) -> None:
        """Gives the task to a process."""
        worker = self._idle.pop() if self._idle else self._start()
        self._busy[number] = worker
        # A process that died since has an answer all the same: that it is lost.
        with suppress(BrokenPipeError, ConnectionResetError):
            worker.pipe.send(task)

    def wait(self) -> list[tuple[int, R | Lost]]:
        """The answers of all processes that have one."""
        ready = wait([worker.pipe for worker in self._busy.values()])
        numbers = [number for number, worker in self._busy.items() if worker.pipe in ready]
        return [(number, self._answer(number)) for number in numbers]

    def close(self) -> None:
        """Ends all processes: politely first, then at once."""
        workers = [*self._idle, *self._busy.values()]
        for worker in workers:
            _end(worker.process, signal.SIGTERM)
        until = monotonic() + _PATIENCE
        for worker in workers:
            worker.process.join(max(0.0, until - monotonic()))
            _discard(worker)

    def _answer(self, number: int) -> R | Lost:
        worker = self._busy.pop(number)
        try:
            answer = worker.pipe.recv()
        except (EOFError, OSError):
            return Lost(_discard(worker))
        self._idle.append(worker)
        if isinstance(answer, _Raised):
            answer.error.add_note(answer.trace)
            raise answer.error
        return answer

    def _start(self) -> _Worker:
        ours, theirs = self._context.Pipe()
        forked = self._context.get_start_method() == "fork"
        # A forked process has copies of all pipes; while it holds them, no other sees that this process is gone.
        inherited = [ours, *(worker.pipe for worker in (*self._idle, *self._busy.values()))] if forked else []
        process = self._context.Process(target=_serve, args=(self._work, theirs, inherited), daemon=True)
        with _signals_wait():
            process.start()
            _lead_group(process.pid or 0)
        theirs.close()
        return _Worker(process, ours)


def _context() -> ForkContext | SpawnContext:
    """Forking is quickest, and safe as long as no other thread holds a lock, of Python or of a library."""
    alone = sys.platform == "linux" and len(list(Path("/proc/self/task").iterdir())) == 1
    return multiprocessing.get_context("fork") if alone else multiprocessing.get_context("spawn")


def _serve(work: Callable[[Any], Any], pipe: Connection, inherited: Iterable[Connection]) -> None:
    """The life of a worker: answers tasks until the other end of the pipe is closed."""
    for each in inherited:
        each.close()
    _lead_group(0)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # By an exception, so that temporary files are removed on the way.
    signal.signal(signal.SIGTERM, _exit)
    if sys.platform != "win32":
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while True:
            answer = _answer(work, pipe.recv())
            try:
                pipe.send(answer)
            except (AttributeError, TypeError, pickle.PicklingError) as error:
                pipe.send(_error_for_parent(error))


def _exit(*_: object) -> NoReturn:
    sys.exit(1)


def _answer(work: Callable[[T], R], task: T) -> R | Lost | _Raised:
    try:
        return work(task)
    except MemoryError:
        return Lost(OUT_OF_MEMORY)
    except Exception as error:
        return _error_for_parent(error)


def _error_for_parent(error: Exception) -> _Raised:
    """The error that is being handled, as the other process can have it."""
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301
    except Exception:
        error = RuntimeError(f"{type(error).__name__}: {error}")
    return _Raised(error, traceback.format_exc())


_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def _signals_wait() -> Generator[None]:
    """A process that is being started has no handlers yet, and inherits that signals wait."""
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _lead_group(process: int) -> None:
    """Makes the process (0: this one) lead a group of its own. Both sides ask for it: neither knows who is first."""
    if sys.platform != "win32":
        with suppress(OSError):
            os.setpgid(process, process)


def _end(process: BaseProcess, number: signal.Signals) -> None:
    """Sends the signal to the process, and to all that it started."""
    if sys.platform == "win32":
        process.terminate()
        return
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid or 0, number)


def _discard(worker: _Worker) -> str:
    """Ends what is left of a worker; in words, how its process ended."""
    worker.pipe.close()
    _end(worker.process, signal.SIGKILL if sys.platform != "win32" else signal.SIGTERM)
    worker.process.join()
    code = worker.process.exitcode or 0
    if code >= 0:
        return f"its process ended with exit code {code}"
    name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
    advice = "; the kernel does so where memory runs out: run it with fewer processes" if name == "SIGKILL" else ""
    return f"its process was ended by {name}{advice}"
