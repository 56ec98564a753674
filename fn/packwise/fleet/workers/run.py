"""The one loop over tasks: hands them out, collects answers, and runs again what was lost."""

from __future__ import annotations

import gc
from contextlib import closing
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from krmfn.record import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator

OUT_OF_MEMORY = "it ran out of memory; run it with fewer processes, or where there is more memory"
"""Why a task is lost that could not get the memory it asked for."""


class Lost(NamedTuple):
    """In the place of a result: every worker that ran the task was lost with it. `reason` says how, in words."""

    reason: str


class WorkersError(Exception):
    """No worker can run anything; the text says which address or library that is about, and what to do."""


class WorkerPool(Protocol):
    """Workers that run one function. Tasks are numbered by the caller."""

    def has_room(self) -> bool:
        """True if another task can be taken before an answer is fetched."""
        ...

    def submit(self, number: int, task: Any) -> None:
        """Hands over a task; there must be room."""
        ...

    def wait(self) -> list[tuple[int, Any]]:
        """The answers that are there, at least one: the result of the function, or Lost.

        Blocks until a submitted task has one. Raises what the function raised; WorkersError.
        """
        ...

    def close(self) -> None:
        """Ends what still runs, and every process of the pool."""
        ...


T = TypeVar("T")
R = TypeVar("R")


class Processes(NamedTuple):
    """Processes of this machine; with a `limit` of 1, the process that asks."""

    limit: int = 1


class DaskCluster(NamedTuple):
    """A Dask cluster, by the address of its scheduler: `tcp://HOST:PORT`, `tls://HOST:PORT`."""

    scheduler: str


Workers = Processes | DaskCluster
"""Where tasks run."""


def run(tasks: Iterable[T], work: Callable[[T], R], workers: Workers) -> Generator[tuple[int, R | Lost]]:
    """The index of each task and its result, as they complete.

    Tasks and results are pickled where they leave this process, and `work` is by its name. `tasks` is read no further
    than there are workers, so that memory does not grow with its length. A task whose worker is lost (killed by the
    kernel where memory runs out, say) runs once more at the end, with no other beside it; where that worker is lost
    too, its answer is Lost. The caller closes the iterator, or comes to its end: no process outlives it.

    Raises what `work` raises; WorkersError where no worker can run.
    """
    # The command line does without, since a usual run makes little garbage. This one is long.
    gc.enable()
    with closing(_open(workers, work)) as pool:
        lost: list[tuple[int, T]] = []
        for index, task, answer in _answers(pool, enumerate(tasks)):
            if isinstance(answer, Lost):
                lost.append((index, task))
            else:
                yield index, answer
        for each in lost:
            # Alone: no other takes its memory, or gets the blame.
            for index, _, answer in _answers(pool, [each]):
                yield index, answer


def _open(workers: Workers, work: Callable[[Any], Any]) -> WorkerPool:
    if isinstance(workers, DaskCluster):
        from packwise.fleet.workers.cluster import ClusterPool

        return ClusterPool(workers.scheduler, work)
    if workers.limit > 1:
        from packwise.fleet.workers.processes import ProcessPool

        return ProcessPool(workers.limit, work)
    return _Here(work)


def _answers(pool: WorkerPool, tasks: Iterable[tuple[int, T]]) -> Iterator[tuple[int, T, Any]]:
    """Each task with its number and its answer; no more of `tasks` is held than the pool has room for."""
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
    """The pool that is this very process: a task runs when its answer is waited for."""

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
        """Nothing runs beside the caller."""
