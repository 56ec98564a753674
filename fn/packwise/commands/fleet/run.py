"""A run: requests to the cache and to workers, answers to results and, of a render, to the output folder."""

from __future__ import annotations

from contextlib import closing

from krmfn.hints import TYPE_CHECKING
from packwise.cli.arguments import UsageError
from packwise.cli.console import Meter, say
from packwise.commands.fleet.requests import lost, result_of
from packwise.commands.fleet.work import work
from packwise.fleet.workers.run import Lost, WorkersError, run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from packwise.commands.fleet import PackageResult
    from packwise.commands.fleet.output import Output
    from packwise.commands.fleet.requests import Answer, Request, Requests
    from packwise.fleet.cache import Cache
    from packwise.fleet.workers.run import Workers

__all__ = ["run_through"]


def run_through(
    names: Sequence[str],
    requests: Requests,
    workers: Workers,
    *,
    cache: Cache | None,
    output: Output | None,
    take: Callable[[PackageResult], None],
) -> None:
    """Hands the result of each package of `names` to `take`, in no order.

    Raises UsageError where no worker can run; KeyboardInterrupt, after a word on how far it came.
    """
    going = _Run(requests, cache, output, take, Meter(len(names)))
    try:
        with closing(run(going.tasks(names), work, workers)) as answers:
            for index, answer in answers:
                going.answered(index, answer)
    except WorkersError as error:
        raise UsageError(str(error)) from None
    except KeyboardInterrupt:
        going.meter.clear()
        done = f"stopped: {going.done} of {len(names)} packages are done"
        say([done if cache is None else f"{done}; the same command goes on from there"])
        raise
    finally:
        going.meter.clear()


class _Run:
    """What is under way: folder and client of each package that has no answer yet, by the index of its task."""

    __slots__ = ("_cache", "_output", "_requests", "_take", "_waiting", "done", "meter")

    def __init__(
        self,
        requests: Requests,
        cache: Cache | None,
        output: Output | None,
        take: Callable[[PackageResult], None],
        meter: Meter,
    ) -> None:
        self._requests = requests
        self._cache = cache
        self._output = output
        self._take = take
        self._waiting: dict[int, tuple[str, str]] = {}
        self.meter = meter
        self.done = 0

    def tasks(self, names: Sequence[str]) -> Iterator[Request]:
        """The requests that the cache has no answer to; what it has becomes a result at once."""
        number = 0
        for name in names:
            key = "" if self._cache is None else self._requests.key(name)
            if self._is_known(key):
                continue
            request = self._requests.request(name)
            # A file can change between two looks at it.
            if request.key != key and self._is_known(request.key):
                continue
            self._waiting[number] = request.folder, request.client
            number += 1
            yield request

    def answered(self, index: int, answer: Answer | Lost) -> None:
        """Takes what a worker answers."""
        folder, client = self._waiting.pop(index)
        if isinstance(answer, Lost):
            self._add(lost(folder, client, answer.reason))
            return
        if self._cache is not None and answer.is_kept:
            self._cache.put(answer.key, answer.payload)
        self._finish(answer.payload)

    def _is_known(self, key: str) -> bool:
        """Whether the cache has the answer, which is a result then."""
        payload = None if self._cache is None else self._cache.get(key)
        if payload is None:
            return False
        try:
            self._finish(payload)
        except (ValueError, KeyError, TypeError):
            # Whoever else writes to the cache wrote something else.
            return False
        return True

    def _finish(self, payload: bytes) -> None:
        result = result_of(payload)
        if self._output is not None:
            result = self._output.written(result, payload)
        self._add(result)

    def _add(self, result: PackageResult) -> None:
        self._take(result)
        self.done += 1
        self.meter.advance()
