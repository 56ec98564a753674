"""What `run` asks of the places where tasks run, and what it learns of a worker that was lost."""

from __future__ import annotations

from typing import Any, Protocol

from krmfn.record import NamedTuple

__all__ = ["OUT_OF_MEMORY", "Lost", "Pool", "WorkersError"]

OUT_OF_MEMORY = "it ran out of memory; run it with fewer processes, or where there is more memory"
"""Why a task is lost that could not get the memory it asked for."""


class Lost(NamedTuple):
    """In the place of a result: every worker that ran the task was lost with it. `reason` says how, in words."""

    reason: str


class WorkersError(Exception):
    """No worker can run anything; the text says which address or library that is about, and what to do."""


class Pool(Protocol):
    """Workers that run one function. Tasks are numbered by the caller."""

    def has_room(self) -> bool:
        """Whether another task can be taken before an answer is fetched."""
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
