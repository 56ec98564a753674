"""The whole of a fleet on every kind of worker: the same bytes, also where one is killed in the middle."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from time import sleep

import pytest

from packwise.fleet.build import build
from packwise.fleet.workers import Cluster, Lost, WorkersError, cluster, run
from tests.absent import without
from tests.cli.calling import CONFIG, WORKLOAD, listing, write
from tests.fleet import tasks
from tests.places import ROOT

NUMBER = 12
PACKAGES = {
    **{f"clusters/{at}/topology.yaml": CONFIG for at in range(NUMBER)},
    **{f"clusters/{at}/workload.yaml": WORKLOAD.replace("name: web", f"name: web-{at}") for at in range(NUMBER)},
}


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    write(tmp_path, PACKAGES)
    (tmp_path / ".git").mkdir()
    return tmp_path


def rendered(fleet: Path, *options: str) -> str:
    """All that a render writes into a new folder, and prints."""
    shutil.rmtree(fleet / "out", ignore_errors=True)
    command = [sys.executable, "-P", "-m", "packwise", "fleet", "render", "clusters", "-o", "out", "--report", "json"]
    done = subprocess.run([*command, *options], cwd=fleet, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout + listing(fleet / "out")


class Dask:
    """A scheduler and workers, in processes of their own; each has Dask's logs in a file."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder = folder
        self._stack = stack
        self._started = 0
        self.scheduler = self._start({}, "scheduler", "--host", "127.0.0.1", "--port", "0")
        self.address = self._address()

    def add_worker(self, environment: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
        scratch = ["--local-directory", str(self._folder)]
        return self._start(environment or {}, "worker", self.address, "--nthreads", "1", "--no-nanny", *scratch)

    def _start(self, environment: dict[str, str], *words: str) -> subprocess.Popen[bytes]:
        log = self._stack.enter_context((self._folder / f"dask-{self._started}.log").open("wb"))
        self._started += 1
        command = [sys.executable, "-m", "dask", *words, "--no-dashboard"]
        process = subprocess.Popen(
            command, cwd=ROOT, env={**os.environ, **environment}, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
        self._stack.callback(process.wait)
        self._stack.callback(process.kill)
        return process

    def _address(self) -> str:
        text = ""
        for _ in range(1000):
            text = (self._folder / "dask-0.log").read_text(encoding="utf-8")
            if "Scheduler at:" in text and "\n" in (rest := text.partition("Scheduler at:")[2]):
                return rest.split()[0]
            sleep(0.02)
        raise AssertionError(text)


@pytest.fixture
def dask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dask]:
    with ExitStack() as stack:
        yield Dask(tmp_path_factory.mktemp("dask"), stack)


# --- The whole of it ---


def test_processes_give_the_same_bytes(fleet: Path) -> None:
    here = rendered(fleet, "--no-cache")

    assert rendered(fleet, "--no-cache", "--jobs", "2") == here
    assert here.count("PodGang") >= NUMBER


@pytest.mark.slow
def test_dask_gives_the_same_bytes_with_a_worker_that_is_killed_and_without(fleet: Path, dask: Dask) -> None:
    here = rendered(fleet, "--no-cache")
    first = dask.add_worker()
    dask.add_worker()

    assert rendered(fleet, "--no-cache", "--scheduler", dask.address) == here
    command = [sys.executable, "-P", "-m", "packwise", "fleet", "check", "clusters", "--scheduler", dask.address]
    with subprocess.Popen([*command, "--no-cache"], cwd=fleet, stdout=subprocess.DEVNULL) as running:
        first.kill()
        assert running.wait() == 0
    assert rendered(fleet, "--no-cache", "--scheduler", dask.address) == here


@pytest.mark.slow
def test_a_task_whose_dask_worker_is_killed_in_the_middle_runs_on_another(dask: Dask, tmp_path: Path) -> None:
    for _ in range(2):
        dask.add_worker()
    marked = [(number, str(tmp_path / "killed")) for number in range(20)]

    assert sorted(run(marked, tasks.end_once, Cluster(dask.address))) == [(index, index) for index in range(20)]
    assert (tmp_path / "killed").exists()


# --- What a cluster can lack ---


@pytest.mark.slow
def test_what_the_function_raises_is_raised_here_and_memory_is_a_reason(dask: Dask) -> None:
    dask.add_worker()
    lost = Lost("it ran out of memory; run it with fewer processes, or where there is more memory")

    with pytest.raises(ValueError, match="no 7"):
        list(run([7], tasks.refuse, Cluster(dask.address)))
    assert list(run([1], tasks.fill_memory, Cluster(dask.address))) == [(0, lost)]


@pytest.mark.slow
def test_a_worker_without_packwise_is_named(dask: Dask) -> None:
    dask.add_worker(without("packwise"))

    with pytest.raises(WorkersError, match=r"tcp://127\.0\.0\.1:\d+ has none: No module named \"packwise\": start"):
        list(run([1], tasks.double, Cluster(dask.address)))


@pytest.mark.slow
def test_a_worker_with_another_packwise_is_named(dask: Dask, monkeypatch: pytest.MonkeyPatch) -> None:
    dask.add_worker()
    here = build()._replace(version="9.9.9", digest="other")

    def other_build() -> object:
        return here

    monkeypatch.setattr(cluster, "build", other_build)

    with pytest.raises(WorkersError, match=r"must have the packwise of this machine, 9\.9\.9, build other"):
        list(run([1], tasks.double, Cluster(dask.address)))


@pytest.mark.slow
def test_a_cluster_without_workers_and_one_whose_scheduler_goes_are_errors(
    dask: Dask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "_LOOK", 0.1)
    monkeypatch.setattr(cluster, "_WITHOUT_WORKERS", 0.0)
    with pytest.raises(WorkersError, match="must have workers; it has had none for 0 seconds"):
        list(run([1], tasks.double, Cluster(dask.address)))

    dask.scheduler.kill()
    dask.scheduler.wait()
    monkeypatch.setattr(cluster, "_TO_CONNECT", 0.5)
    with pytest.raises(WorkersError, match="does not answer: Timed out trying to connect"):
        list(run([1], tasks.double, Cluster(dask.address)))
