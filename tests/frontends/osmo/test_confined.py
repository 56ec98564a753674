"""A function in a copy of this process: its limits, the ways in which it ends, and that nothing of it remains."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from packwise.frontends.osmo import confined as module
from packwise.frontends.osmo.confined import Confined, ConfinedError, call_confined

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the system must hold a process to all limits")


@pytest.fixture(autouse=True)
def nothing_is_left(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Check that no child process and no open file remains. A failing test may use at most 4 GiB."""
    monkeypatch.setattr(module, "MAX_SECONDS", 1)
    monkeypatch.setattr(module, "MAX_WAIT", 20.0)
    before = set(Path("/proc/self/fd").iterdir())
    children = children_of_this_process()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, hard))
    yield
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    assert set(Path("/proc/self/fd").iterdir()) == before
    assert children_of_this_process() == children


def children_of_this_process() -> set[str]:
    """Return the process numbers of child processes.

    A worker of xdist may have others, such as the tracker of shared memory.
    """
    children: set[str] = set()
    for task in Path("/proc/self/task").iterdir():
        # A thread of another test may have ended after it was listed.
        with suppress(FileNotFoundError, ProcessLookupError):
            children.update((task / "children").read_text().split())
    return children


def text_of(function: Callable[[], object]) -> bytes | None:
    return call_confined(lambda: str(function()).encode()).answer


@pytest.mark.parametrize("answer", [b"", b"a", b"a" * 200_000, b"\x80\x04N."])
def test_the_answer_is_that_of_the_function(answer: bytes) -> None:
    assert call_confined(lambda: answer).answer == answer


def raise_(error: BaseException) -> bytes:
    raise error


def memory() -> bytes:
    return b"a" * (200 << 20)


def recursion() -> bytes:
    return recursion()


def forever() -> bytes:
    while True:
        pass


def half_an_answer() -> bytes:
    for each in range(4096):
        with suppress(OSError):
            os.write(each, (9).to_bytes(8, "big") + b"half")
    os._exit(0)


ENDS: dict[str, Callable[[], bytes]] = {
    "an error": lambda: raise_(ValueError("a")),
    "an exit": lambda: raise_(SystemExit(0)),
    "an interrupt": lambda: raise_(KeyboardInterrupt()),
    "memory": memory,
    "recursion": recursion,
    "time": forever,
    "a long answer": lambda: b"a" * (33 << 20),
    "a kill": lambda: bytes(os.kill(os.getpid(), signal.SIGKILL) or 0),
    "a fault": lambda: bytes(os.kill(os.getpid(), signal.SIGSEGV) or 0),
    "an end without a word": lambda: os._exit(0),
    "half an answer": half_an_answer,
    "no time that passes": lambda: bytes(os.kill(os.getpid(), signal.SIGSTOP) or 0),
}


@pytest.mark.parametrize("name", ENDS)
def test_however_it_ends_there_is_no_answer(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name.startswith("no time"):
        monkeypatch.setattr(module, "MAX_WAIT", 0.2)

    assert call_confined(ENDS[name]).answer is None


def test_the_time_that_it_took_is_known() -> None:
    assert 0.5 < call_confined(forever).seconds < 5
    assert call_confined(bytes).seconds < 0.5


LIMITED: dict[str, Callable[[], object]] = {
    "a file read": lambda: os.open("/etc/passwd", os.O_RDONLY),
    "a file written": lambda: os.open("written", os.O_CREAT | os.O_WRONLY),
    "a process": os.fork,
    "a pipe": os.pipe,
    "what was open": lambda: os.fstat(0),
}


@pytest.mark.parametrize("name", LIMITED)
def test_it_reaches_nothing(name: str) -> None:
    if name == "a process" and os.geteuid() == 0:
        pytest.skip("the system lets root have more processes than its limit")

    def tried() -> object:
        try:
            return LIMITED[name]()
        except OSError:
            return "refused"

    assert text_of(tried) == b"refused"


def test_signals_mean_what_they_mean_at_a_start() -> None:
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    try:
        found = text_of(lambda: (signal.getsignal(signal.SIGTERM), signal.pthread_sigmask(signal.SIG_BLOCK, ())))
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        signal.signal(signal.SIGTERM, before)

    assert found == str((signal.SIG_DFL, set[int]())).encode()


def test_recursion_goes_as_deep_wherever_it_is_called_from() -> None:
    def depth(count: int = 0) -> int:
        try:
            return depth(count + 1)
        except RecursionError:
            return count

    def from_below(levels: int) -> bytes | None:
        return text_of(depth) if levels == 0 else from_below(levels - 1)

    assert from_below(0) == from_below(300)


def test_it_starts_beside_other_threads() -> None:
    ended = threading.Event()
    other = threading.Thread(target=ended.wait)
    other.start()
    answers: list[Confined] = []
    own = threading.Thread(target=lambda: answers.append(call_confined(lambda: str(threading.active_count()).encode())))
    own.start()
    own.join()
    ended.set()
    other.join()

    assert [each.answer for each in answers] == [b"1"]


def test_where_children_are_collected_by_the_system_the_answer_is_there() -> None:
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        assert call_confined(lambda: b"a").answer == b"a"
        assert call_confined(forever).answer is None
    finally:
        signal.signal(signal.SIGCHLD, before)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "fork",
            "the system cannot start a process (Resource temporarily unavailable); raise its limits of processes",
        ),
        ("pipe", "the system cannot start a process (Too many open files); raise its limits of processes and open"),
    ],
)
def test_a_system_that_starts_no_process_is_an_error(name: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    number = {"fork": 11, "pipe": 24}[name]
    monkeypatch.setattr(os, name, lambda: (_ for _ in ()).throw(OSError(number, os.strerror(number))))

    with pytest.raises(ConfinedError) as error:
        call_confined(bytes)

    assert str(error.value).startswith(message)


def test_a_system_without_copies_of_processes_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "fork")

    with pytest.raises(ConfinedError) as error:
        call_confined(bytes)

    assert (
        str(error.value) == "this system has no such processes; run packwise on Linux, in WSL or in its container image"
    )


FIRST = """
import atexit, os, sys
from packwise.frontends.osmo.confined import call_confined
atexit.register(print, "the end")
sys.stdout.write("buffered ")
print(call_confined(lambda: b"answer").answer)
"""


def test_nothing_happens_twice() -> None:
    done = subprocess.run([sys.executable, "-c", FIRST], capture_output=True, text=True, check=False)

    assert (done.stdout, done.stderr) == ("buffered b'answer'\nthe end\n", "")


ENDLESS = """
import os, signal, sys
from packwise.frontends.osmo import confined
confined.MAX_SECONDS = 30
def forever():
    while True: pass
fork = os.fork
def told():
    process = fork()
    if process: print(process, flush=True)
    return process
os.fork = told
confined.call_confined(forever)
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_it_ends_with_the_first_process(how: signal.Signals) -> None:
    with subprocess.Popen([sys.executable, "-c", ENDLESS], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as first:
        assert first.stdout is not None
        copy = int(first.stdout.readline())
        first.send_signal(how)
        first.wait()

    for _ in range(200):
        if not is_running(copy):
            return
        threading.Event().wait(0.05)
    os.kill(copy, signal.SIGKILL)
    pytest.fail("the copy runs on")


def is_running(process: int) -> bool:
    try:
        return ") Z " not in Path(f"/proc/{process}/stat").read_text("utf-8")
    except OSError:
        return False
