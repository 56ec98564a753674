"""Tasks that a function runs: in this process, in processes of this machine, or on a Dask cluster (`cluster.py`)."""

from __future__ import annotations

import gc
import multiprocessing
import os
import pickle
import signal
import sys
import traceback
from contextlib import closing, contextmanager, suppress
from multiprocessing.connection import Connection, wait
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Generic, NoReturn, Protocol, TypeVar

from krmfn.hints import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator
    from multiprocessing.context import ForkContext, SpawnContext
    from multiprocessing.process import BaseProcess


OUT_OF_MEMORY = "its process ran out of memory; use fewer processes, or a machine with more memory"
"""The reason for the loss of a task that could not allocate memory."""


class Lost(Record):
    """Returned if every worker that ran the task died. `reason` describes how."""

    reason: str


class WorkersError(Exception):
    """Raised if no worker can run. The text names the address or library and the fix."""


class WorkerPool(Protocol):
    """Workers that run one function. Tasks are numbered by the caller."""

    def has_room(self) -> bool:
        """Return True if another task can be submitted before a result is fetched."""
        ...

    def submit(self, number: int, task: Any) -> None:
        """Submit a task. There must be room."""
        ...

    def wait(self) -> list[tuple[int, Any]]:
        """Return the available answers, at least one: the function's result, or Lost.

        Block until a submitted task has one. Raise the function's exceptions or WorkersError.
        """
        ...

    def close(self) -> None:
        """End all running tasks and every process of the pool."""
        ...


T = TypeVar("T")
R = TypeVar("R")


class Processes(Record):
    """Processes of this machine, or the current process for a `limit` of 1."""

    limit: int = 1


class DaskCluster(Record):
    """A Dask cluster, by the address of its scheduler: `tcp://HOST:PORT`, `tls://HOST:PORT`."""

    scheduler: str


Workers = Processes | DaskCluster
"""The place in which tasks run."""


def run(tasks: Iterable[T], work: Callable[[T], R], workers: Workers) -> Generator[tuple[int, R | Lost]]:
    """Yield the index of each task and its result as they complete.

    Tasks and results are pickled between processes, and `work` by its name. `tasks` is read only as far as there are
    workers, so that memory stays bounded. If a worker is lost, for example because memory runs out, its task runs again
    at the end without others. If that worker is lost too, the answer is Lost. The caller must close or exhaust the
    iterator, so that no process outlives it.

    Raise the exceptions of `work`, or WorkersError if no worker can run.
    """
    # The command line disables garbage collection, because a usual run makes little garbage. This run is long.
    gc.enable()
    with closing(_open(workers, work)) as pool:
        lost: list[tuple[int, T]] = []
        for index, task, answer in _answers(pool, enumerate(tasks)):
            if isinstance(answer, Lost):
                lost.append((index, task))
            else:
                yield index, answer
        for each in lost:
            # Run it without others, so that no other task takes its memory or is blamed.
            for index, _, answer in _answers(pool, [each]):
                yield index, answer


def _open(workers: Workers, work: Callable[[Any], Any]) -> WorkerPool:
    if isinstance(workers, DaskCluster):
        from packwise.fleet.cluster import ClusterPool

        return ClusterPool(workers.scheduler, work)
    if workers.limit > 1:
        return ProcessPool(workers.limit, work)
    return _Here(work)


def _answers(pool: WorkerPool, tasks: Iterable[tuple[int, T]]) -> Iterator[tuple[int, T, Any]]:
    """Yield each task with its number and answer. Only as many `tasks` are read as the pool has room for."""
    held: dict[int, T] = {}
    for number, task in tasks:
        held[number] = task
        pool.submit(number, task)
        while not pool.has_room():
            for done, answer in pool.wait():
                yield done, held.pop(done), answer
    while held:
        for done, answer in pool.wait():
            yield done, held.pop(done), answer


class _Here(Generic[T, R]):
    """A pool that runs tasks in the current process. A task runs when the caller waits for its answer."""

    def __init__(self, work: Callable[[T], R]) -> None:
        self._work = work
        self._tasks: list[tuple[int, T]] = []

    def has_room(self) -> bool:
        return not self._tasks

    def submit(self, number: int, task: T) -> None:
        self._tasks.append((number, task))

    def wait(self) -> list[tuple[int, R | Lost]]:
        number, task = self._tasks.pop()
        try:
            return [(number, self._work(task))]
        except MemoryError:
            return [(number, Lost(OUT_OF_MEMORY))]

    def close(self) -> None:
        """Do nothing, because no task runs outside the caller."""


# A pool of processes on this machine. Each process runs one task at a time, so that a dead process identifies its task.
# It uses pipes of the standard library. When the kernel kills a process, the standard executor ends all others, and
# does not report which task each one ran.

_PATIENCE = 3.0
"""Seconds that terminating processes have to remove their temporary files."""


class _Raised(Record):
    """An error that the function raised in a worker, and its trace."""

    error: Exception
    trace: str


class _Worker(Record):
    """A process, and this end of its pipe."""

    process: BaseProcess
    pipe: Connection


class ProcessPool(Generic[T, R]):
    """Up to `count` processes, each started for a task.

    Each process leads a process group, so that its own processes such as kustomize end with it. Ctrl-C reaches only the
    main process, which ends the others. If the main process is killed, the others end after their task.
    """

    def __init__(self, count: int, work: Callable[[T], R]) -> None:
        self._context = _context()
        self._count = count
        self._work = work
        self._idle: list[_Worker] = []
        self._busy: dict[int, _Worker] = {}

    def has_room(self) -> bool:
        """Return True if a process is idle, or another can be started."""
        return len(self._busy) < self._count

    def submit(self, number: int, task: T) -> None:
        """Submit the task to a process."""
        worker = self._idle.pop() if self._idle else self._start()
        self._busy[number] = worker
        # A process that has died in the meantime also gets an answer: its task is lost.
        with suppress(BrokenPipeError, ConnectionResetError):
            worker.pipe.send(task)

    def wait(self) -> list[tuple[int, R | Lost]]:
        """Return the answers of all processes that have one."""
        ready = wait([worker.pipe for worker in self._busy.values()])
        numbers = [number for number, worker in self._busy.items() if worker.pipe in ready]
        return [(number, self._answer(number)) for number in numbers]

    def close(self) -> None:
        """End all processes: first with SIGTERM, and after a few seconds with SIGKILL."""
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
        # A forked process has copies of all pipes. While it holds them, no other process notices the end of this one.
        inherited = [ours, *(worker.pipe for worker in (*self._idle, *self._busy.values()))] if forked else []
        process = self._context.Process(target=_serve, args=(self._work, theirs, inherited), daemon=True)
        with _signals_wait():
            process.start()
            _lead_group(process.pid or 0)
        theirs.close()
        return _Worker(process, ours)


def _context() -> ForkContext | SpawnContext:
    """Return the context for processes. Forking is fastest, and safe if no other thread can hold a lock."""
    alone = sys.platform == "linux" and len(list(Path("/proc/self/task").iterdir())) == 1
    return multiprocessing.get_context("fork") if alone else multiprocessing.get_context("spawn")


def _serve(work: Callable[[Any], Any], pipe: Connection, inherited: Iterable[Connection]) -> None:
    """Run a worker: answer tasks until the other end of the pipe is closed."""
    for each in inherited:
        each.close()
    _lead_group(0)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # Raise an exception, so that temporary files are removed.
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
    """Return the current error in a form that the other process can read."""
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301
    except Exception:
        error = RuntimeError(f"{type(error).__name__}: {error}")
    return _Raised(error, traceback.format_exc())


_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def _signals_wait() -> Generator[None]:
    """Block signals while a process is started. The new process inherits the block until it has its handlers."""
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _lead_group(process: int) -> None:
    """Make the process the leader of its own group. 0 is the current process.

    Both processes call it, because either may be first.
    """
    if sys.platform != "win32":
        with suppress(OSError):
            os.setpgid(process, process)


def _end(process: BaseProcess, number: signal.Signals) -> None:
    """Send the signal to the process and to all its child processes."""
    if sys.platform == "win32":
        process.terminate()
        return
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid or 0, number)


def _discard(worker: _Worker) -> str:
    """End a worker's processes. Return a description of how its main process ended."""
    worker.pipe.close()
    _end(worker.process, signal.SIGKILL if sys.platform != "win32" else signal.SIGTERM)
    worker.process.join()
    code = worker.process.exitcode or 0
    if code >= 0:
        return f"its process ended with exit code {code}"
    name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
    advice = "; the kernel does this if memory runs out. Use fewer processes" if name == "SIGKILL" else ""
    return f"its process was ended by {name}{advice}"
