"""A pool of Dask workers. `distributed` hands out tasks, and reruns the tasks of lost workers.

The scheduler and the workers are as trusted as this process, because their messages are unpickled here.
"""

from __future__ import annotations

import os
import pickle
import re
import warnings
from contextlib import suppress
from ipaddress import ip_address
from queue import Empty, SimpleQueue
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from packwise.build.cache import build
from packwise.extras import DASK
from packwise.fleet.workers import OUT_OF_MEMORY, Lost, WorkersError

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
R = TypeVar("R")

SECONDS_TO_CONNECT = 20.0
"""Seconds to wait for an answer of a scheduler."""

SECONDS_TO_LOOK = 2.0
"""Seconds without an answer after which packwise checks the cluster."""

SECONDS_WITHOUT_WORKERS = 300.0
"""Seconds that a cluster may have no worker. Autoscalers and image downloads take time."""

_LEAST_IN_FLIGHT = 64
"""At least this many tasks are submitted, because an autoscaler starts workers for waiting tasks."""


_ADDRESS = re.compile(r"(?P<protocol>tcp|tls|wss?)://(?P<host>.+):\d{1,5}")


def is_exposed(scheduler: str) -> bool:
    """Return True if traffic with the scheduler at this address crosses a network without TLS.

    Names are not resolved, because their addresses may change.
    """
    match = _ADDRESS.fullmatch(scheduler)
    if match is None or match["protocol"] in ("tls", "wss") or match["host"] == "localhost":
        return False
    try:
        return not ip_address(match["host"].removeprefix("[").removesuffix("]")).is_loopback
    except ValueError:
        return True


class ClusterPool(Generic[T, R]):
    """The workers of a Dask cluster. `scheduler` is the address of its scheduler.

    Raise WorkersError if distributed is not installed, if no scheduler answers, or if the scheduler has another version
    of distributed.
    """

    def __init__(self, scheduler: str, work: Callable[[T], R]) -> None:
        self._scheduler = scheduler
        self._work = work
        self._call = _function_to_ship()
        self._done: SimpleQueue[int] = SimpleQueue()
        self._futures: dict[int, Any] = {}
        self._client = _connect(scheduler)
        self._alive = monotonic()
        try:
            self._refuse_other_version()
            self._most = self._room()
        except BaseException:
            self.close()
            raise

    def has_room(self) -> bool:
        """Return True if fewer tasks are unanswered than twice the number of threads, or than `_LEAST_IN_FLIGHT`."""
        return len(self._futures) < self._most

    def submit(self, number: int, task: T) -> None:
        """Submit the task to the scheduler under a unique name. Otherwise Dask would run equal tasks only once."""
        # Send bytes, because a worker that cannot read its messages ends without an error.
        task_as_bytes = pickle.dumps((build(), self._work, task))
        key = f"packwise-{os.urandom(12).hex()}"
        with warnings.catch_warnings(action="ignore"):
            # Dask warns about a task of ten megabytes.
            future = self._client.submit(self._call, task_as_bytes, key=key, pure=False)
        self._futures[number] = future
        self._expect(number)

    def wait(self) -> list[tuple[int, R | Lost]]:
        """Return one answer with the number of its task. Check the cluster while none is available."""
        while True:
            try:
                number = self._done.get(timeout=SECONDS_TO_LOOK)
            except Empty:
                self._most = self._room()
                continue
            answer = self._answer(self._futures[number])
            if answer is None:
                self._expect(number)
                continue
            del self._futures[number]
            return [(number, answer[0])]

    def close(self) -> None:
        """Cancel tasks without an answer. Running tasks finish on their workers and their answers are discarded."""
        with suppress(Exception):
            self._client.cancel(list(self._futures.values()), force=True)
        with suppress(Exception):
            self._client.close(timeout=SECONDS_TO_LOOK)

    def _expect(self, number: int) -> None:
        def note(_: Any) -> None:
            self._done.put(number)

        self._futures[number].add_done_callback(note)

    def _answer(self, future: Any) -> tuple[R | Lost] | None:
        """Return the answer. Return None if it was lost with its worker. The scheduler then reruns the task.

        Raise the exceptions of the task, or WorkersError.
        """
        from distributed import KilledWorker

        if future.status == "cancelled":
            raise WorkersError(f"the Dask scheduler at {self._scheduler} stopped during the run; run the command again")
        error = future.exception(timeout=SECONDS_TO_CONNECT) if future.status == "error" else None
        if isinstance(error, KilledWorker):
            return (Lost(f"{error.allowed_failures + 1} Dask workers died while they ran the package"),)
        if isinstance(error, MemoryError):
            return (Lost(OUT_OF_MEMORY),)
        if error is not None:
            raise error
        try:
            # An answer can still be lost on its way.
            answer = future.result(timeout=SECONDS_TO_LOOK) if future.status == "finished" else None
        except TimeoutError:
            return None
        if isinstance(answer, str):
            raise WorkersError(
                f"the Dask workers at {self._scheduler} must have the same packwise as this machine: {answer}, and "
                f"this machine has {build()}. Start the scheduler and the workers from one image with packwise[dask]"
            )
        return answer

    def _refuse_other_version(self) -> None:
        """Raise WorkersError if the scheduler has another version of distributed, because versions are incompatible."""
        from distributed.versions import get_versions

        # The scheduler learns late of a lost worker. The version of a worker is therefore checked with each task.
        theirs = self._client.sync(self._client.scheduler.versions)["packages"]["distributed"]
        ours = get_versions()["packages"]["distributed"]
        if ours != theirs:
            raise WorkersError(
                f"the Dask scheduler at {self._scheduler} has distributed {theirs}, but this machine has {ours}; "
                "start the scheduler and the workers from one image"
            )

    def _room(self) -> int:
        """Return the number of tasks to submit. Raise WorkersError if the cluster has had no worker for too long."""
        try:
            threads = sum(self._client.nthreads().values())
        except (OSError, TimeoutError):
            threads = 0
        if threads:
            self._alive = monotonic()
        elif monotonic() - self._alive > SECONDS_WITHOUT_WORKERS:
            raise WorkersError(
                f"the Dask cluster at {self._scheduler} has had no workers for {SECONDS_WITHOUT_WORKERS:.0f} seconds; "
                "start some, and run the command again"
            )
        return max(2 * threads, _LEAST_IN_FLIGHT)


def _connect(scheduler: str) -> Any:
    """Return a client of the scheduler that writes no log messages. Raise WorkersError if it cannot connect."""
    wanted = 'must be the address of a Dask scheduler, "tcp://HOST:8786"'
    if _ADDRESS.fullmatch(scheduler) is None:
        raise WorkersError(f'--scheduler {wanted}; got "{scheduler}"')
    if not DASK.is_installed:
        raise WorkersError(f"cannot use --scheduler: {DASK.advice}")
    import logging

    from distributed import Client

    class QuietClient(Client):
        def __del__(self) -> None:
            """Do nothing. An unconnected client would wait for its scheduler again, and log an error."""

    for name in list(logging.root.manager.loggerDict):
        if name.startswith("distributed"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    try:
        with warnings.catch_warnings(action="ignore"):
            return QuietClient(scheduler, timeout=SECONDS_TO_CONNECT, set_as_default=False)
    except (OSError, TypeError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise WorkersError(f'--scheduler {wanted}; "{scheduler}" does not answer: {reason}') from None


_ONE_AT_A_TIME = Lock()
"""Lets a worker run one task at a time, even if it has several threads.

packwise is not faster with several threads, and some of its libraries are not thread-safe.
"""


def _function_to_ship() -> Callable[[bytes], tuple[object] | str]:
    """Return the function that a worker runs. It is nested, so it is sent by value and runs without packwise
    installed.
    """

    def call(task_as_bytes: bytes) -> tuple[object] | str:
        try:
            from packwise.fleet.cluster import answer_of
        except ImportError as error:
            from distributed import get_worker

            return f"{get_worker().address} has no packwise: {error}"
        return answer_of(task_as_bytes)

    return call


def answer_of(task_as_bytes: bytes) -> tuple[object] | str:
    """Return the result of a task on a worker, or a text if the worker has another build of packwise than the task.

    Each task checks this because workers may join at any time.
    """
    from distributed import get_worker

    other = f"{get_worker().address} has {build()}"
    try:
        expected, work, task = pickle.loads(task_as_bytes)  # noqa: S301
    except (AttributeError, ImportError, TypeError):
        return other
    if build() != expected:
        return other
    with _ONE_AT_A_TIME:
        return (work(task),)
