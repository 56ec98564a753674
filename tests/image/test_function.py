"""`packwise fn` prints the same in a container and ends alike, within the limits that a cluster would set."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks.workloads import resource_list
from supplychain.engine import engine_environment
from tests.e2e.process import wait_for
from tests.image.containers import CONFINED, LIMITED, Ran, call, podman
from tests.places import ROOT

pytestmark = pytest.mark.image

RESOURCE_LIST = (ROOT / "testdata" / "clients" / "image" / "input.yaml").read_bytes()
PROGRAM = "/opt/packwise/bin/packwise"
USERS = ("65532:65532", "nobody", "1234:0")


@pytest.fixture(scope="module")
def thousand() -> bytes:
    """Return a thousand different workloads, with a finding on each."""
    return "".join(resource_list(1000, findings=True)).encode()


def outside(packwise: Path, stdin: bytes, *words: str) -> Ran:
    """Return a function that runs `packwise fn` without a container."""
    return call([packwise, "fn", *words], stdin)


def test_image_names_its_user_and_nothing_that_a_run_does_not_need(function: str) -> None:
    fields = (
        "{{.Config.User}} {{.Config.Entrypoint}} {{.Config.WorkingDir}} {{.Config.ExposedPorts}} {{.Config.Volumes}}"
    )

    inspected = call(["podman", "image", "inspect", "--format", fields, function])

    assert inspected.stdout.decode() == "65532:65532 [/opt/packwise/bin/packwise fn] /tmp map[] map[]\n"


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("words", [(), ("--validate",)])
def test_confined_function_answers_the_same_bytes(
    function: str, packwise: Path, user: str, words: Sequence[str]
) -> None:
    options = (*CONFINED, *LIMITED, f"--user={user}", f"--entrypoint={PROGRAM}")

    inside = podman(*options, function, "fn", *words, stdin=RESOURCE_LIST)

    assert inside == outside(packwise, RESOURCE_LIST, *words)
    assert inside.code == 0


@pytest.mark.parametrize("user", USERS[:2])
def test_a_thousand_workloads_within_limits(function: str, packwise: Path, thousand: bytes, user: str) -> None:
    inside = podman(*CONFINED, *LIMITED, f"--user={user}", function, stdin=thousand)

    without = outside(packwise, thousand)
    assert (inside.code, inside.stderr) == (without.code, without.stderr)
    assert inside.stdout == without.stdout
    assert inside.stdout.count(b"kind: PodGang\n") >= 1000


def test_limits_are_those_of_the_kernel(function: str) -> None:
    """If the kernel had no limits, the tests of limits would prove nothing."""
    files = "/sys/fs/cgroup/memory/memory.limit_in_bytes /sys/fs/cgroup/pids/pids.max"
    if not Path("/sys/fs/cgroup/memory").is_dir():
        files = "/sys/fs/cgroup/memory.max /sys/fs/cgroup/pids.max"
    shell = f"cat {files}; id -u; grep -E '^(CapEff|NoNewPrivs)' /proc/self/status; touch /tmp/a /opt/a"

    inside = podman(*CONFINED, *LIMITED, "--entrypoint=/bin/sh", function, "-c", shell)

    assert inside.stdout == b"268435456\n64\n65532\nCapEff:\t0000000000000000\nNoNewPrivs:\t1\n"
    assert inside.stderr.count("Read-only file system") == 2


WRONG = {
    "nothing": b"",
    "no list": b"no list\n",
    "another kind": b"apiVersion: v1\nkind: List\nitems: []\n",
    "no YAML": b"{",
    "no text": b"\xff\xfe",
    "an item that is none": RESOURCE_LIST.replace(b"items:\n", b"items:\n- 3\n", 1),
    "a workload that the operator refuses": RESOURCE_LIST.replace(b"packDomain: ", b"packDomain: no-", 1),
    "an unknown field": RESOURCE_LIST.replace(b"  spec:\n", b"  spec:\n    replica: 1\n", 1),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_said_in_the_same_words(function: str, packwise: Path, case: str) -> None:
    inside = podman(*CONFINED, function, stdin=WRONG[case])

    assert inside == outside(packwise, WRONG[case])
    assert inside.code != 0 or "warning: " in inside.stderr, inside.stderr


def test_out_of_memory_by_the_limit_of_the_process_is_said(function: str, packwise: Path, thousand: bytes) -> None:
    """A limit by the engine (`--ulimit data`) would also apply to the engine's own runtime, which needs more."""
    script = 'ulimit -d 40000 && exec "$0" fn'

    inside = podman(*CONFINED, "--entrypoint=/bin/sh", function, "-c", script, PROGRAM, stdin=thousand)

    assert inside == call(["sh", "-c", script, packwise], thousand)
    assert inside == Ran(1, b"", "error: not enough memory for an input of this size; split it, or raise the limit\n")


def test_out_of_memory_by_the_limit_of_the_container_ends_it_without_an_answer(function: str, thousand: bytes) -> None:
    """The kernel ends the process, which prints nothing. No client accepts half an answer."""
    inside = podman(*CONFINED, "--memory=24m", "--memory-swap=24m", function, stdin=thousand)

    assert inside == Ran(128 + signal.SIGKILL, b"", "")


def test_a_closed_pipe_ends_it_with_exit_code_1(function: str, packwise: Path, thousand: bytes) -> None:
    """The pipe is within the container, because podman handles a pipe outside of it."""
    script = '"$0" fn | head -c 10; echo " ${PIPESTATUS[0]}"'

    inside = podman(*CONFINED, "--entrypoint=/bin/bash", function, "-c", script, PROGRAM, stdin=thousand)

    without = call(["bash", "-c", script, packwise], thousand)
    assert (inside.code, inside.stdout) == (without.code, without.stdout) == (0, b"apiVersion 1\n")
    assert inside.stderr == without.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_at_once(function: str, number: signal.Signals) -> None:
    """The function is the first process of its container. The kernel passes only signals that this process handles."""
    name = f"packwise-{number.name.lower()}-{os.getpid()}"
    command = ["podman", "run", "--rm", "--interactive", *CONFINED, f"--name={name}", function]
    started = subprocess.Popen(
        command, env=engine_environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    wait_for(f"{name} to read its input", lambda: is_reading(name))

    assert call(["podman", "kill", f"--signal={number.name}", name]).code == 0

    # The function still waits for the end of its input, which stays open.
    assert started.wait(timeout=20) == 128 + number
    assert started.stdout is not None
    assert started.stdout.read() == b""


def is_reading(container: str) -> bool:
    """Return True if the function waits for its input: Python has started and handles signals."""
    process = call(["podman", "inspect", "--format", "{{.State.Pid}}", container]).stdout.decode().strip()
    return process not in ("", "0") and "pipe" in Path(f"/proc/{process}/wchan").read_text(encoding="utf-8")
