"""Servers of the tests. Each has a log, and is stopped together with every process that it started."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

__all__ = ["Servers", "wait_for"]

Found = TypeVar("Found")

_PATIENCE = 180
"""Seconds to wait for an event."""


@dataclass
class Servers:
    """Processes that are stopped after the tests, the last one first. `logs` is the folder of their output."""

    logs: Path
    _running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict[str, subprocess.Popen[bytes]])

    def start(self, name: str, command: Sequence[str | Path], environment: Mapping[str, str] | None = None) -> None:
        """Start a server in a separate process group. If these tests are killed, the server is killed too."""
        self.logs.mkdir(parents=True, exist_ok=True)
        with (self.logs / f"{name}.log").open("wb") as log:
            started = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "--", *map(str, command)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, **(environment or {})},
                start_new_session=True,
            )
        self._running[name] = started

    def stop(self, *names: str) -> None:
        """Stop these processes, or all of them. Kill a process that does not end within five seconds."""
        for name in names or tuple(reversed(self._running)):
            server = self._running.pop(name)
            for number in (signal.SIGTERM, signal.SIGKILL):
                with suppress(ProcessLookupError):
                    os.killpg(server.pid, number)
                with suppress(subprocess.TimeoutExpired):
                    server.wait(timeout=5)


def wait_for(what: str, look: Callable[[], Found | None]) -> Found:
    """Return the result of `look` as soon as it is true. Raise AssertionError, which names the missing event, after a
    timeout.

    No test states how long a server takes, because the machine runs other tests at the same time.
    """
    end = time.monotonic() + _PATIENCE
    while True:
        found = look()
        if found:
            return found
        assert time.monotonic() < end, f"not there after {_PATIENCE} s: {what}"
        time.sleep(0.2)
