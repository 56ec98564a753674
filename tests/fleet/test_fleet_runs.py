"""Runs that continue stopped runs: the cache, processes, Ctrl-C, and killed processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import zlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from packwise.console import Meter, meter_text
from packwise.fleet import kustomize as module
from packwise.fleet import requests, work
from packwise.fleet.requests import payload_of, plan_of, result_of
from packwise.fleet.result import PackageResult, PackageStatus
from packwise.render.files import FolderPlan
from tests.cli.calling import CONFIG, WORKLOAD, Call, listing, write
from tests.fleet.trees import FUNCTION, overlay

NUMBER = 5
OVERLAYS = {
    "base/kustomization.yaml": "resources: [workload.yaml]\n",
    "base/workload.yaml": WORKLOAD,
    **{f"clusters/{at}/kustomization.yaml": overlay() for at in range(NUMBER)},
    **{f"clusters/{at}/topology.yaml": FUNCTION for at in range(NUMBER)},
}
PLAIN = {
    **{f"plain/{at}/topology.yaml": CONFIG for at in range(NUMBER)},
    **{f"plain/{at}/workload.yaml": WORKLOAD.replace("name: web", f"name: web-{at}") for at in range(NUMBER)},
}
BUILD = """\
#!/bin/sh
if [ "$1" = version ]; then echo v5; exit 0; fi
echo "$2" >> {log}
{then}
while IFS= read -r line; do printf '%s\\n' "$line"; done < "$2/../../base/workload.yaml"
"""


@pytest.fixture(autouse=True)
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yield five overlays and five plain packages, with a separate cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / ".cache"))
    write(tmp_path, OVERLAYS | PLAIN)
    (tmp_path / ".git").mkdir()
    module.kustomize_version.cache_clear()
    yield tmp_path
    module.kustomize_version.cache_clear()


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a file with a line for each build that a program with the name kustomize was asked for."""
    write_program(tmp_path, "")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    return tmp_path / "log"


def write_program(folder: Path, then: str) -> None:
    write(folder, {"bin/kustomize": BUILD.replace("{log}", str(folder / "log")).replace("{then}", then)})
    (folder / "bin/kustomize").chmod(0o755)


def builds(log: Path) -> int:
    return len(log.read_text(encoding="utf-8").splitlines()) if log.exists() else 0


def packwise(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Return a function that runs the command in a separate process.

    A file has its process number, so that a test can kill it.
    """
    command = ["sh", "-c", 'echo $$ > driver; exec "$0" "$@"', sys.executable, "-P", "-m", "packwise", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)


def test_what_did_not_change_is_not_rendered_again(call: Call, log: Path, tmp_path: Path) -> None:
    first = call("fleet", "check", "clusters", "-o", "json")
    assert builds(log) == NUMBER
    assert call("fleet", "check", "clusters", "-o", "json") == first
    assert builds(log) == NUMBER
    write(tmp_path, {"clusters/3/topology.yaml": FUNCTION + "# more\n"})
    assert call("fleet", "check", "clusters", "-o", "json") == first
    assert builds(log) == NUMBER + 1
    write(tmp_path, {"base/workload.yaml": WORKLOAD + "# more\n"})
    call("fleet", "check", "clusters")
    assert builds(log) == 2 * NUMBER + 1
    call("fleet", "render", "clusters")
    assert builds(log) == 3 * NUMBER + 1
    call("fleet", "render", "clusters", "--no-cache")
    assert builds(log) == 4 * NUMBER + 1


def test_another_kustomize_may_give_another_answer(call: Call, log: Path, tmp_path: Path) -> None:
    call("fleet", "check", "clusters")
    script = (tmp_path / "bin/kustomize").read_text(encoding="utf-8")
    write(tmp_path, {"bin/kustomize": script.replace("echo v5", "echo v6")})
    module.kustomize_version.cache_clear()

    call("fleet", "check", "clusters")

    assert builds(log) == 2 * NUMBER


def test_an_output_folder_is_filled_from_the_cache(call: Call, log: Path, tmp_path: Path) -> None:
    call("fleet", "render", "clusters", "-o", "one")
    call("fleet", "render", "clusters", "-o", "two")

    assert builds(log) == NUMBER
    assert listing(tmp_path / "one") == listing(tmp_path / "two") != ""


def test_a_cache_can_stand_anywhere(call: Call, log: Path, tmp_path: Path) -> None:
    call("fleet", "check", "clusters", "--cache", "kept")
    call("fleet", "check", "clusters", "--cache", "kept")

    assert builds(log) == NUMBER
    assert (tmp_path / "kept").is_dir()
    assert not (tmp_path / ".cache").exists()


def test_a_corrupted_entry_is_made_again(call: Call, log: Path, tmp_path: Path) -> None:
    first = call("fleet", "check", "clusters", "-o", "json")
    entries = [path for path in (tmp_path / ".cache").rglob("*") if path.is_file() and path.stat().st_size > 200]
    for path in entries[:2]:
        path.write_bytes(path.read_bytes()[:-9] + b"corrupted")

    again = call("fleet", "check", "clusters", "-o", "json")

    assert len(entries) == NUMBER
    assert again == first
    assert builds(log) == NUMBER + 2


def _answer(payload: bytes, _: str) -> bytes:
    return payload


def test_a_whole_entry_with_another_value_is_made_again(call: Call, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from packwise.build.cache import Cache

    first = call("fleet", "check", "clusters")
    for payload in (b"", zlib.compress(b"{}"), zlib.compress(b'{"result": {"status": "odd", "findings": []}}')):
        with monkeypatch.context() as patched:
            patched.setattr(Cache, "get", partial(_answer, payload))
            assert call("fleet", "check", "clusters") == first

    assert builds(log) == 4 * NUMBER


def test_an_answer_is_read_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "MAX_TEXT", 1 << 20)
    bomb = zlib.compress(b" " * (1 << 22))

    for reader, payload in ((result_of, b"%d\n" % len(bomb) + bomb), (plan_of, b"0\n" + bomb)):
        with pytest.raises(ValueError, match="the answer has more than 1 MiB"):
            reader(payload)


@pytest.mark.parametrize(
    "path", ["/x", "../x", "a/../../x", "a/./x", "a//x", "a/", "", ".", "..", "a\0x", "a/..", "../../x"]
)
def test_an_answer_leads_to_no_file_outside(path: str) -> None:
    def payload(name: str) -> bytes:
        return payload_of(
            PackageResult("a", "kpt", PackageStatus.PASSING), FolderPlan({name: b"x"}, frozenset(), frozenset(), (), ())
        )

    assert dict(plan_of(payload("a..b/.c/..d")).contents) == {"a..b/.c/..d": b"x"}
    with pytest.raises(ValueError, match="the answer has a file outside its folder"):
        plan_of(payload(path))


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["check", "render"])
def test_two_processes_give_the_same_bytes(call: Call, log: Path, tmp_path: Path, verb: str) -> None:
    report = "--report" if verb == "render" else "-o"
    outputs = [call("fleet", verb, ".", report, "json", "--no-cache", "--jobs", jobs).stdout for jobs in ("1", "2")]
    for jobs in ("1", "2"):
        call("fleet", "render", ".", "-o", f".out{jobs}", "--no-cache", "--jobs", jobs)

    assert outputs[0] == outputs[1]
    assert outputs[0].count('"status": "passing"') == 2 * NUMBER
    assert listing(tmp_path / ".out1") == listing(tmp_path / ".out2")
    assert builds(log) == 4 * NUMBER


@pytest.mark.slow
def test_a_lost_worker_loses_no_package(log: Path, tmp_path: Path) -> None:
    whole = packwise(tmp_path, "fleet", "check", "clusters", "-o", "json", "--no-cache")
    write_program(tmp_path, f"if [ ! -e {tmp_path}/killed ]; then : > {tmp_path}/killed; kill -9 $PPID; fi")

    ran = packwise(tmp_path, "fleet", "check", "clusters", "-o", "json", "--no-cache", "--jobs", "2")

    assert (tmp_path / "killed").exists()
    assert (ran.returncode, ran.stdout) == (whole.returncode, whole.stdout)
    assert builds(log) > 2 * NUMBER


@pytest.mark.slow
def test_a_package_that_takes_every_worker_with_it_fails_alone(tmp_path: Path, log: Path) -> None:
    write_program(tmp_path, 'case "$2" in */3) kill -9 $PPID;; esac')

    ran = packwise(tmp_path, "fleet", "check", "clusters", "--no-cache", "--jobs", "2")

    assert ran.returncode == 1
    assert ran.stdout.splitlines()[0] == f"{NUMBER} packages: 1 failing, {NUMBER - 1} passing"
    assert "  error: clusters/3: was not finished: " in ran.stdout
    assert " [fleet-lost]" in ran.stdout
    assert log.exists()


@pytest.mark.slow
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_after_a_kill_the_same_command_goes_on(log: Path, tmp_path: Path, jobs: str) -> None:
    kill = f"read -r driver < {tmp_path}/driver; kill -9 $driver; exec /bin/sleep 1"
    write_program(tmp_path, f'case "$2" in */4) {kill};; esac')
    killed = packwise(tmp_path, "fleet", "check", "clusters", "--jobs", jobs)
    before = builds(log)
    write_program(tmp_path, "")

    ran = packwise(tmp_path, "fleet", "check", "clusters", "--jobs", jobs)

    assert killed.returncode == -signal.SIGKILL
    assert ran.stdout.splitlines()[0] == f"{NUMBER} packages: {NUMBER} passing"
    assert before <= NUMBER
    assert builds(log) - before <= 2


@pytest.mark.slow
def test_ctrl_c_ends_it_with_a_word_and_the_same_command_goes_on(log: Path, tmp_path: Path) -> None:
    write_program(tmp_path, 'case "$2" in */2) kill -2 $PPID; exec /bin/sleep 60;; esac')

    stopped = packwise(tmp_path, "fleet", "check", "clusters")
    write_program(tmp_path, "")
    ran = packwise(tmp_path, "fleet", "check", "clusters")

    assert stopped.returncode == -signal.SIGINT
    assert (stopped.stdout, stopped.stderr) == (
        "",
        f"stopped: 2 of {NUMBER} packages are done; the same command continues from there\n",
    )
    assert ran.stdout.splitlines()[0] == f"{NUMBER} packages: {NUMBER} passing"
    assert builds(log) == 3 + 3


@pytest.mark.slow
def test_without_a_cache_nothing_goes_on(log: Path, tmp_path: Path) -> None:
    write_program(tmp_path, 'case "$2" in */2) kill -2 $PPID; exec /bin/sleep 60;; esac')

    stopped = packwise(tmp_path, "fleet", "check", "clusters", "--no-cache")

    assert stopped.stderr == f"stopped: 2 of {NUMBER} packages are done\n"
    assert log.exists()


def test_the_kustomize_of_a_worker_must_be_the_one_that_was_asked_for(
    call: Call, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work, "kustomize_version", lambda: "v6")

    ran = call("fleet", "check", "clusters/1")

    assert (
        "kustomize is v6 here, but v5 on the machine that started the fleet; use one version [fleet-build]"
        in ran.stdout
    )
    assert builds(log) == 0


def test_a_defect_of_packwise_fails_its_package_alone(call: Call, monkeypatch: pytest.MonkeyPatch, log: Path) -> None:
    def fail(*_: object) -> None:
        raise RecursionError("too deep")

    with monkeypatch.context() as patched:
        patched.setattr(work, "check_groups", fail)
        ran = call("fleet", "check", "plain/1")

    assert ran.code == 1
    assert ran.stdout.endswith(
        "  error: plain/1: was not finished: packwise fails (RecursionError: too deep); this is a bug, "
        "please report it "
        "[fleet-lost]\n"
    )
    assert call("fleet", "check", "plain/1").code == 0
    assert builds(log) == 0


def test_how_far_it_is() -> None:
    assert meter_text(500, 2000, 10.0) == f"[{'#' * 10:40}] 500 of 2000 packages, 50.0 a second, 0:30 left"
    assert meter_text(1, 2000, 0.0) == f"[{'':40}] 1 of 2000 packages, 0.0 a second, 0:00 left"


def test_a_terminal_shows_how_far_it_is_and_nothing_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[str] = []
    seconds = iter([0.0, 0.05, 1.0, 2.0])
    monkeypatch.setattr("packwise.console.monotonic", lambda: next(seconds))
    monkeypatch.setattr("packwise.console.draw_line", drawn.append)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)

    meter = Meter(3)
    for _ in range(3):
        meter.advance()
    meter.clear()

    assert drawn == [meter_text(2, 3, 1.0), meter_text(3, 3, 2.0), " " * len(meter_text(2, 3, 1.0))]
