"""Tasks give the same answers on any kind of worker, even if workers die."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from time import sleep

import pytest

from packwise.fleet import workers
from packwise.fleet.cluster import ClusterPool
from packwise.fleet.workers import Lost, Processes, WorkersError, run
from tests.absent import env_without
from tests.fleet import tasks
from tests.places import ROOT

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="signals and groups of processes are POSIX's"),
]

HERE, TWO = Processes(1), Processes(2)
EVERYWHERE = pytest.mark.parametrize("workers", [HERE, TWO, Processes(5)], ids=["here", "two", "five"])


@pytest.fixture(params=["fork", "spawn"])
def start(request: pytest.FixtureRequest) -> Iterator[str]:
    """Yield each way to start a process: a copy (fork), or a new process, which is needed if there are
    other threads.
    """
    thread_ends = threading.Event()
    if request.param == "spawn":
        threading.Thread(target=thread_ends.wait, daemon=True).start()
    yield str(request.param)
    thread_ends.set()


def is_alive(process: int) -> bool:
    """Return True if a process runs. A process that ended counts as ended even before its parent waits for it."""
    try:
        state = Path(f"/proc/{process}/stat").read_text(encoding="ascii")
    except FileNotFoundError:
        return False
    return state.rpartition(")")[2].split()[0] != "Z"


def wait_for_notes(folder: Path, number: int) -> list[str]:
    """Return the notes of tasks as soon as there is this number of them."""
    for _ in range(1000):
        notes = sorted(folder.glob("*.busy"))
        if len(notes) == number:
            return [note.read_text(encoding="utf-8") for note in notes]
        sleep(0.02)
    raise AssertionError(f"{number} tasks must begin")


def wait_for_end(process: int) -> None:
    for _ in range(1000):
        if not is_alive(process):
            return
        sleep(0.02)
    raise AssertionError(f"process {process} must end")


# --- Answers ---


@EVERYWHERE
def test_every_task_is_answered_once_under_its_index(workers: Processes) -> None:
    assert sorted(run(range(20), tasks.double, workers)) == [(index, 2 * index) for index in range(20)]


@EVERYWHERE
def test_nothing_to_do_is_done_at_once(workers: Processes) -> None:
    assert list(run([], tasks.double, workers)) == []


def test_processes_started_anew_answer_as_forked_ones_do(start: str) -> None:
    assert sorted(run(range(5), tasks.double, TWO)) == [(index, 2 * index) for index in range(5)], start


def test_tasks_and_answers_are_larger_than_a_pipe() -> None:
    assert sorted(run([bytes(3_000_000)] * 3, tasks.size, TWO)) == [(index, 3_000_000) for index in range(3)]


@pytest.mark.parametrize(("workers", "most"), [(HERE, 1), (TWO, 2), (Processes(5), 5)], ids=["here", "two", "five"])
def test_tasks_are_made_no_earlier_than_a_worker_has_room(workers: Processes, most: int) -> None:
    made = answered = ahead = 0

    def endless() -> Iterator[int]:
        nonlocal made, ahead
        for number in range(200):
            made += 1
            ahead = max(ahead, made - answered)
            yield number

    for _ in run(endless(), tasks.double, workers):
        answered += 1

    assert (made, answered, ahead) == (200, 200, most)


# --- Errors of the function ---


@EVERYWHERE
def test_what_the_function_raises_is_raised(workers: Processes) -> None:
    with pytest.raises(ValueError, match="no 1") as raised:
        list(run([1], tasks.refuse, workers))

    assert str(raised.value) == "no 1"


def test_an_error_that_cannot_be_read_again_is_raised_by_its_name() -> None:
    with pytest.raises(RuntimeError) as raised:
        list(run([1], tasks.refuse_oddly, TWO))

    assert str(raised.value) == "OddError: odd"


def test_an_answer_that_cannot_be_sent_is_an_error() -> None:
    with pytest.raises((AttributeError, TypeError), match="lambda"):
        list(run([1], tasks.nothing_to_pickle, TWO))


@EVERYWHERE
def test_a_task_without_memory_is_lost_and_the_others_are_not(workers: Processes) -> None:
    lost = Lost("its process ran out of memory; use fewer processes, or a machine with more memory")

    assert sorted(run(range(4), tasks.fill_memory, workers), key=str) == [(0, 0), (1, lost), (2, 2), (3, 3)]


# --- Lost workers ---


def test_a_task_whose_process_is_killed_runs_again(start: str, tmp_path: Path) -> None:
    marked = [(number, str(tmp_path / "killed")) for number in range(8)]

    assert sorted(run(marked, tasks.end_once, TWO)) == [(index, index) for index in range(8)], start
    assert (tmp_path / "killed").exists()


def test_a_task_that_kills_every_process_is_lost_after_two() -> None:
    answers = list(run(range(8), tasks.end_the_third, TWO))

    lost = Lost("its process was ended by SIGKILL; the kernel does this if memory runs out. Use fewer processes")
    assert sorted(answers[:-1]) == [(index, index) for index in range(8) if index != 3]
    assert answers[-1] == (3, lost)


@pytest.mark.parametrize("code", [0, 3])
def test_a_process_that_ends_by_itself_is_lost_too(code: int) -> None:
    assert list(run([code], tasks.exit_with, TWO)) == [(0, Lost(f"its process ended with exit code {code}"))]


# --- The end ---


def test_no_process_outlives_a_run() -> None:
    list(run(range(4), tasks.double, TWO))

    assert multiprocessing.active_children() == []


@pytest.mark.parametrize("number", [0, 2])
def test_no_process_outlives_an_error(number: int) -> None:
    with pytest.raises(ValueError, match="no "):
        list(run([*range(number, 9)], tasks.refuse, TWO))

    assert multiprocessing.active_children() == []


def test_a_run_that_is_given_up_ends_its_processes_with_all_that_they_started(start: str, tmp_path: Path) -> None:
    """Their temporary folders are removed too."""
    folders = [str(tmp_path)] * 2
    pool = workers.ProcessPool(2, tasks.keep_busy)
    with closing(pool):
        for number, folder in enumerate(folders):
            pool.submit(number, folder)
        notes = [note.split() for note in wait_for_notes(tmp_path, 2)]
        assert all(is_alive(int(process)) for worker, program, _ in notes for process in (worker, program)), start

    for worker, program, temporary in notes:
        wait_for_end(int(worker))
        wait_for_end(int(program))
        assert not Path(temporary).exists()


DRIVER = """\
import packwise.cli.command_line
from packwise.__main__ import main
from packwise.fleet.workers import Processes, run
from tests.fleet import tasks
packwise.cli.command_line.main = lambda _: list(run({arguments}, tasks.{function}, Processes(2)))
main()
"""


def start_driver(function: str, arguments: object) -> subprocess.Popen[str]:
    code = DRIVER.format(function=function, arguments=repr(arguments))
    return subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


@pytest.mark.parametrize("everyone", [False, True], ids=["to the driver", "to the terminal's group"])
def test_ctrl_c_ends_everything_without_a_word(everyone: bool, tmp_path: Path) -> None:
    driver = start_driver("keep_busy", [str(tmp_path)] * 2)
    notes = [note.split() for note in wait_for_notes(tmp_path, 2)]

    (os.killpg if everyone else os.kill)(driver.pid, signal.SIGINT)
    _, stderr = driver.communicate()

    assert (driver.returncode, stderr) == (-signal.SIGINT, "")
    for worker, program, temporary in notes:
        wait_for_end(int(worker))
        wait_for_end(int(program))
        assert not Path(temporary).exists()


def test_processes_end_after_their_task_where_the_driver_was_killed(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    driver = start_driver("open_fifo", [(str(tmp_path), str(fifo))] * 4)
    workers = [int(note) for note in wait_for_notes(tmp_path, 2)]

    driver.kill()
    driver.wait()
    assert all(map(is_alive, workers))
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)

    for worker in workers:
        wait_for_end(worker)
    os.close(reader)
    _, stderr = driver.communicate()
    assert stderr == ""


# --- Dask ---


def test_without_distributed_the_error_names_the_extra() -> None:
    code = (
        "from packwise.fleet.workers import DaskCluster, WorkersError, run\n"
        "try:\n    list(run([1], str, DaskCluster('tcp://127.0.0.1:8786')))\n"
        "except WorkersError as error:\n    print(error)\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], env=env_without("distributed"), capture_output=True, text=True, check=True
    )

    assert done.stdout == (
        'cannot use --scheduler: distributed is not installed; add the extra "dask": '
        'pip install "packwise[dask] @ git+https://git.example.com/platform/packwise@COMMIT"\n'
    )


@pytest.mark.parametrize(
    "address", ["", "localhost", "127.0.0.1:8786", "tcp://host", "http://127.0.0.1:8787", "inproc://1"]
)
def test_an_address_that_is_no_scheduler_s_is_refused(address: str) -> None:
    with pytest.raises(WorkersError) as raised:
        ClusterPool(address, tasks.double)

    assert str(raised.value) == (
        f'--scheduler must be the address of a Dask scheduler, "tcp://HOST:8786"; got "{address}"'
    )
