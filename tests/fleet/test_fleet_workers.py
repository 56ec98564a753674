"""A whole fleet gives the same bytes on every kind of worker, even if a worker is killed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from time import sleep

import pytest
from dask import config

from packwise.build.cache import build
from packwise.fleet import cluster
from packwise.fleet.requests import Request
from packwise.fleet.workers import DaskCluster, Lost, WorkersError, run
from tests.absent import env_without
from tests.cli.calling import CONFIG, WORKLOAD, Call, listing, write
from tests.cli.test_cli_osmo_hostile import LARGE, LONG, embedded
from tests.fleet import tasks
from tests.places import ROOT, missing

pytestmark = pytest.mark.slow

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


def start(fleet: Path, output: str, *options: str) -> subprocess.Popen[str]:
    """Start a render into a new folder."""
    shutil.rmtree(fleet / output, ignore_errors=True)
    command = [sys.executable, "-P", "-m", "packwise", "fleet", "render", "clusters", "-o", output, "--report", "json"]
    return subprocess.Popen([*command, *options], cwd=fleet, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def end(running: subprocess.Popen[str], folder: Path) -> str:
    """Return all files and all output of a render after it ended."""
    stdout, stderr = running.communicate()
    assert (running.returncode, stderr) == (0, "")
    return stdout + listing(folder)


def rendered(fleet: Path, *options: str) -> str:
    return end(start(fleet, "out", *options), fleet / "out")


def wait_for_the_first(running: subprocess.Popen[str], folder: Path) -> None:
    """Wait until the render wrote a package, or ended."""
    while running.poll() is None and not (folder.is_dir() and any(folder.iterdir())):
        sleep(0.005)


class Dask:
    """A scheduler and workers in separate processes, each with a log file.

    `protocol` is the scheduler's. `settings` are environment variables for the scheduler and its workers.
    """

    def __init__(
        self, folder: Path, stack: ExitStack, protocol: str = "tcp", settings: dict[str, str] | None = None
    ) -> None:
        self._folder = folder
        self._stack = stack
        self._started = 0
        self._settings = settings or {}
        address = ("--host", "127.0.0.1", "--port", "0", "--protocol", protocol)
        self.scheduler = self._start(self._settings, "scheduler", *address)
        self.address = self._address()

    def add_worker(self, environment: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
        scratch = ["--local-directory", str(self._folder)]
        own = self._settings if environment is None else environment
        return self._start(own, "worker", self.address, "--nthreads", "1", "--no-nanny", *scratch)

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


TLS = "DASK_DISTRIBUTED__COMM__TLS__"


class Authority:
    """A certificate authority and its certificates. Dask gets them by settings."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._folder = folder
        itself = ("-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=fleet", "-days", "2")
        self._openssl("req", "-x509", *NEW_KEY, *itself)

    def settings(self, *roles: str) -> dict[str, str]:
        """Return settings with the authority, and with a certificate for each of the roles `client`, `scheduler` and
        `worker`.
        """
        named = {f"{TLS}CA_FILE": str(self._folder / "ca.pem")}
        for role in roles:
            self._openssl("req", *NEW_KEY, "-keyout", f"{role}.key", "-out", f"{role}.csr", "-subj", f"/CN={role}")
            signing = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2")
            self._openssl("x509", "-req", "-in", f"{role}.csr", "-out", f"{role}.pem", *signing)
            named[f"{TLS}{role.upper()}__CERT"] = str(self._folder / f"{role}.pem")
            named[f"{TLS}{role.upper()}__KEY"] = str(self._folder / f"{role}.key")
        return named

    def _openssl(self, *words: str) -> None:
        subprocess.run(["openssl", *words], cwd=self._folder, check=True, capture_output=True)


def configured(settings: dict[str, str]) -> config.set:
    """Configure Dask in this process, as a new process with these environment variables would be."""
    # Load Dask's defaults first. Later, they would be removed together with the settings.
    import_module("distributed")
    names = {name: name.removeprefix("DASK_").lower().replace("__", ".").replace("_", "-") for name in settings}
    return config.set({names[name]: value for name, value in settings.items()})


NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


# --- Whole fleets ---


def test_processes_give_the_same_bytes(fleet: Path) -> None:
    here = rendered(fleet, "--no-cache")

    assert rendered(fleet, "--no-cache", "--jobs", "2") == here
    assert here.count("PodGang") >= NUMBER


def test_dask_gives_the_same_bytes_with_a_worker_that_is_killed_and_without(fleet: Path, dask: Dask) -> None:
    here = rendered(fleet, "--no-cache")
    first = dask.add_worker()
    dask.add_worker()

    assert rendered(fleet, "--no-cache", "--scheduler", dask.address) == here
    running = start(fleet, "out", "--no-cache", "--scheduler", dask.address)
    wait_for_the_first(running, fleet / "out")
    first.kill()
    assert end(running, fleet / "out") == here
    assert rendered(fleet, "--no-cache", "--scheduler", dask.address) == here


@pytest.mark.skipif(sys.platform != "linux", reason="the system must hold a process to all limits")
def test_templates_of_strangers_meet_their_limits_on_a_dask_worker(fleet: Path, call: Call, dask: Dask) -> None:
    """A worker fills the templates in a thread next to Dask's own threads."""
    write(fleet, {f"clusters/{at}/flow.yaml": embedded(body, at) for at, body in enumerate((LARGE, LONG))})
    words = ("fleet", "check", "clusters", "--no-cache", "-o", "json")
    here = call(*words)
    worker = dask.add_worker()

    assert call(*words, "--scheduler", dask.address) == here
    assert here.code == 1
    assert here.stdout.count("it needs more than 5 seconds of processor time or 128 MiB of memory") == 2
    assert worker.poll() is None


def test_a_task_whose_dask_worker_is_killed_in_the_middle_runs_on_another(dask: Dask, tmp_path: Path) -> None:
    for _ in range(2):
        dask.add_worker()
    marked = [(number, str(tmp_path / "killed")) for number in range(20)]

    assert sorted(run(marked, tasks.end_once, DaskCluster(dask.address))) == [(index, index) for index in range(20)]
    assert (tmp_path / "killed").exists()


# --- Who may connect ---


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    if shutil.which("openssl") is None:
        missing("openssl makes the certificates")
    return Authority(tmp_path / "authority")


def test_with_certificates_the_bytes_are_the_same_and_without_none_goes_or_comes(
    fleet: Path, tmp_path_factory: pytest.TempPathFactory, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = rendered(fleet, "--no-cache")
    everyone = authority.settings("scheduler", "worker", "client")
    other = Authority(tmp_path_factory.mktemp("other") / "authority").settings("worker", "client")
    with ExitStack() as stack:
        dask = Dask(tmp_path_factory.mktemp("dask"), stack, "tls", everyone)
        assert dask.address.startswith("tls://127.0.0.1:")
        strangers = [dask.add_worker(other), dask.add_worker(authority.settings())]
        monkeypatch.setattr(cluster, "SECONDS_TO_LOOK", 0.1)
        monkeypatch.setattr(cluster, "SECONDS_WITHOUT_WORKERS", 3.0)
        with configured(everyone), pytest.raises(WorkersError, match="has had no workers for 3 sec"):
            # Neither of the two other workers gets a task.
            list(run([1], tasks.double, DaskCluster(dask.address)))
        for stranger in strangers:
            stranger.kill()
        dask.add_worker()
        with monkeypatch.context() as patched:
            for name, value in everyone.items():
                patched.setenv(name, value)
            assert rendered(fleet, "--no-cache", "--scheduler", dask.address) == here
        monkeypatch.setattr(cluster, "SECONDS_TO_CONNECT", 2.0)
        for settings, address in (
            ({}, dask.address),
            (authority.settings(), dask.address),
            (other, dask.address),
            (everyone, dask.address.replace("tls:", "tcp:")),
            ({}, dask.address.replace("tls:", "tcp:")),
        ):
            with configured(settings), pytest.raises(WorkersError) as raised:
                list(run([1], tasks.double, DaskCluster(address)))
            assert str(raised.value).startswith(
                f'--scheduler must be the address of a Dask scheduler, "tcp://HOST:8786"; "{address}" does not answer: '
            )


def test_a_scheduler_with_a_certificate_of_another_authority_gets_nothing(
    tmp_path_factory: pytest.TempPathFactory, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An attacker between them has no certificate of this cluster's authority."""
    other = Authority(tmp_path_factory.mktemp("other") / "authority").settings("scheduler", "worker")
    monkeypatch.setattr(cluster, "SECONDS_TO_CONNECT", 2.0)
    with ExitStack() as stack:
        dask = Dask(tmp_path_factory.mktemp("dask"), stack, "tls", other)
        dask.add_worker()

        with (
            configured(authority.settings("client")),
            pytest.raises(WorkersError, match="does not answer: "),
        ):
            list(run([1], tasks.double, DaskCluster(dask.address)))


@pytest.mark.parametrize(("address", "exposed"), [
    ("tcp://fleet-scheduler.packwise.svc:8786", True),
    ("tcp://10.0.0.1:8786", True),
    ("ws://10.0.0.1:8786", True),
    ("tcp://127.0.0.1.example.com:8786", True),
    ("tcp://localhost.example.com:8786", True),
    ("tcp://[2001:db8::1]:8786", True),
    ("tcp://0.0.0.0:8786", True),
    ("tcp://127.0.0.1:8786", False),
    ("tcp://127.9.9.9:8786", False),
    ("tcp://[::1]:8786", False),
    ("tcp://localhost:8786", False),
    ("tls://fleet-scheduler:8786", False),
    ("wss://fleet-scheduler:443", False),
    ("http://10.0.0.1:8787", False),
])  # fmt: skip
@pytest.mark.usefixtures("fleet")
def test_an_address_without_tls_is_a_warning_beyond_this_machine(
    call: Call, monkeypatch: pytest.MonkeyPatch, address: str, exposed: bool
) -> None:
    def refuse(*_: object) -> None:
        raise WorkersError("no scheduler")

    monkeypatch.setattr(cluster, "ClusterPool", refuse)

    ran = call("fleet", "check", "clusters", "--no-cache", "--scheduler", address)

    warning = (
        f'warning: --scheduler "{address}" is on another machine and does not use TLS. Attackers in the network '
        'can run code on its workers and on this machine; use "tls://…"\n'
    )
    assert ran.code == 2
    assert ran.stderr == (warning if exposed else "") + "error: no scheduler\n"


# --- A cache ---


def test_jobs_that_share_a_cache_give_the_same_bytes(fleet: Path) -> None:
    here = rendered(fleet, "--no-cache")
    folders = [f"out-{number}" for number in range(3)]

    jobs = [start(fleet, folder, "--cache", "kept") for folder in folders]

    for job, folder in zip(jobs, folders, strict=True):
        assert end(job, fleet / folder) == here


@pytest.mark.usefixtures("fleet")
def test_a_warm_cache_renders_nothing(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(request: Request) -> None:
        raise AssertionError(request.folder)

    words = ("fleet", "render", "clusters", "--report", "json", "--cache", "kept")
    cold = call(*words)
    monkeypatch.setattr("packwise.fleet.run.work", refuse)

    assert call(*words) == cold


def test_a_damaged_entry_is_rendered_again(fleet: Path, call: Call) -> None:
    words = ("fleet", "render", "clusters", "--report", "json", "--cache", "kept")
    cold = call(*words)
    entries = sorted(path for path in (fleet / "kept").iterdir() if path.name != "CACHEDIR.TAG")
    whole = entries[0].read_bytes()
    for number, entry in enumerate(entries):
        entry.write_bytes(entry.read_bytes()[: 100 * number])

    assert len(entries) == NUMBER
    assert call(*words) == cold
    assert entries[0].read_bytes() == whole


# --- Incomplete clusters ---


def test_what_the_function_raises_is_raised_here_and_memory_is_a_reason(dask: Dask) -> None:
    dask.add_worker()
    lost = Lost("its process ran out of memory; use fewer processes, or a machine with more memory")

    with pytest.raises(ValueError, match="no 7"):
        list(run([7], tasks.refuse, DaskCluster(dask.address)))
    assert list(run([1], tasks.fill_memory, DaskCluster(dask.address))) == [(0, lost)]


def test_a_worker_without_packwise_is_named(dask: Dask) -> None:
    dask.add_worker(env_without("packwise"))

    with pytest.raises(
        WorkersError, match=r"tcp://127\.0\.0\.1:\d+ has no packwise: No module named \"packwise\", and this"
    ):
        list(run([1], tasks.double, DaskCluster(dask.address)))


def test_a_worker_with_another_packwise_is_named(dask: Dask, monkeypatch: pytest.MonkeyPatch) -> None:
    dask.add_worker()
    here = build().replace(version="9.9.9", digest="other")

    def other_build() -> object:
        return here

    monkeypatch.setattr(cluster, "build", other_build)

    with pytest.raises(
        WorkersError, match=r"must have the same packwise .*, and this machine has 9\.9\.9, build other"
    ):
        list(run([1], tasks.double, DaskCluster(dask.address)))


def test_a_cluster_without_workers_and_one_whose_scheduler_goes_are_errors(
    dask: Dask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "SECONDS_TO_LOOK", 0.1)
    monkeypatch.setattr(cluster, "SECONDS_WITHOUT_WORKERS", 0.0)
    with pytest.raises(WorkersError, match="has had no workers for 0 seconds"):
        list(run([1], tasks.double, DaskCluster(dask.address)))

    dask.scheduler.kill()
    dask.scheduler.wait()
    monkeypatch.setattr(cluster, "SECONDS_TO_CONNECT", 0.5)
    with pytest.raises(WorkersError, match="does not answer: Timed out trying to connect"):
        list(run([1], tasks.double, DaskCluster(dask.address)))
