"""For broken, hostile or much too large input, the installed command prints one line with advice."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pytest

from krmfn import ResourceList
from tests.places import TESTDATA

MIB = 1 << 20
HEAD = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n"
ADVICE = "pass the manifests through kustomize, kpt or `kpt fn source`"
DEEP = 10_000
UNREADABLE = "\ufffd"
BOMB = "- apiVersion: v1\n  kind: ConfigMap\n  data:\n    a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"    a{number}: &a{number} [{', '.join([f'*a{number - 1}'] * 10)}]\n" for number in range(1, 20)
)

MEASURE = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, used = os.wait4(child, 0)
os.write(TOLD, f"{os.waitstatus_to_exitcode(status)} {used.ru_maxrss}".encode())
"""
"""A script that starts the command and prints the resources that it used. The kernel ends the command after some
seconds of processor time. The script is a separate process, because the peak of a child includes the memory of its
parent.
"""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a run. `memory` is its peak in MiB. A run that the kernel ended has a negative `code`."""

    code: int
    stdout: bytes
    stderr: str
    memory: float


def run(packwise: Path, chunks: Iterable[bytes], *, seconds: int = 2) -> Outcome:
    """Return the command's answer to input in these pieces, within `seconds` of processor time."""
    with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        for chunk in chunks:
            stdin.write(chunk)
        stdin.seek(0)
        code, memory = measured(packwise, seconds, stdin, stdout, stderr)
        for file in (stdout, stderr):
            file.seek(0)
        return Outcome(code, stdout.read(), stderr.read().decode(), memory)


def measured(packwise: Path, seconds: int, *files: IO[bytes]) -> tuple[int, float]:
    stdin, stdout, stderr = files
    with tempfile.TemporaryFile() as told:
        command = [sys.executable, "-I", "-S", "-c", MEASURE, str(packwise), "fn"]
        command[4] = command[4].replace("TOLD", str(told.fileno())).replace("SECONDS", str(seconds))
        subprocess.run(command, stdin=stdin, stdout=stdout, stderr=stderr, pass_fds=[told.fileno()], check=True)
        told.seek(0)
        code, memory = told.read().decode().split()
    return int(code), int(memory) / 1024


NO_LIST: list[tuple[str, bytes, str]] = [
    ("nothing at all", b"", f"1:1: must be a ResourceList; got nothing: {ADVICE}"),
    ("blank lines", b"\n \n\n", f"1:1: must be a ResourceList; got nothing: {ADVICE}"),
    ("not YAML", b"a: [b\nc: }\n", f'1:1: must be a ResourceList; got "a: [b": {ADVICE}'),
    ("binary", bytes(range(128, 256)) * 10, f'1:1: must be a ResourceList; got "{UNREADABLE * 80}…": {ADVICE}'),
    (
        "a plain manifest stream",
        b"# Two of them.\napiVersion: v1\nkind: Service\n---\napiVersion: v1\nkind: Secret\n",
        f"1:1: is a stream of manifests (first: v1 Service), not a ResourceList; {ADVICE}",
    ),
    (
        "a version that nobody knows",
        HEAD.replace("/v1", "/v9").encode(),
        '1:13: apiVersion must be one of "config.kubernetes.io/v1", "config.kubernetes.io/v1beta1", '
        '"config.kubernetes.io/v1alpha1"; got "config.kubernetes.io/v9"',
    ),
    ("two documents", (HEAD + "- {}\n---\na: b\n").encode(), "5:1: a second YAML document starts here; only one "
        "is allowed"),
    ("items that are a mapping", (HEAD + "  a: b\n").encode(), "4:3: items must be a list; got a mapping"),
    ("an item that is none", (HEAD + "- x\n").encode(), '4:3: items[0] must be a mapping; got "x"'),
    ("UTF-16", (HEAD + "- {}\n").encode("utf-16"), "1:1: must be UTF-8; got byte 0xff at offset 0"),
    ("Latin-1", (HEAD + "- {a: é}\n").encode("latin-1"), "4:7: must be UTF-8; got byte 0xe9 at offset 68"),
    (
        "a NUL byte in an item",
        (HEAD + "- {a: b\0c}\n").encode(),
        "4:8: must contain only printable characters; control characters are not allowed",
    ),
    (
        "cut off within a flow mapping",
        (HEAD + "- {apiVersion: v1, metadata: {name: a").encode(),
        "4:38: did not find expected ',' or '}' (while parsing a flow mapping)",
    ),
    (
        "cut off within quotes",
        (HEAD + '- apiVersion: "v').encode(),
        "4:17: found unexpected end of stream (while scanning a quoted scalar)",
    ),
    (
        "JSON that is cut off",
        b'{"apiVersion":"config.kubernetes.io/v1","kind":"ResourceList","items":[{"a":',
        "1:77: did not find expected node content (while parsing a flow node)",
    ),
    (
        "10,000 lists in each other, in flow style",
        f"{HEAD}- a: {'[' * DEEP}{']' * DEEP}\n".encode(),
        "4:503: nested deeper than 500 levels",
    ),
    (
        "10,000 lists in each other, in block style",
        f"{HEAD}- a:\n  {'- ' * DEEP}x\n".encode(),
        "5:997: nested deeper than 500 levels",
    ),
    ("a billion laughs", (HEAD + BOMB).encode(), "12:49: aliases expand to more than 1000000 nodes"),
    ("an anchor within itself", (HEAD + "- &a {b: *a}\n").encode(), '4:10: anchor "a" must not contain itself'),
    ("a key that stands twice", (HEAD + "- {a: 1, a: 2}\n").encode(), '4:10: duplicate key "a"'),
]  # fmt: skip


@pytest.mark.parametrize(("data", "text"), [case[1:] for case in NO_LIST], ids=[case[0] for case in NO_LIST])
def test_what_is_no_list_gives_one_line_and_nothing_on_stdout(packwise: Path, data: bytes, text: str) -> None:
    got = run(packwise, [data])

    assert (got.code, got.stdout, got.stderr) == (1, b"", f"error: <stdin>:{text}\n")
    assert got.memory < 100


LARGE: list[tuple[str, bytes, bytes, int, str]] = [
    (
        "one line",
        b"",
        b"x" * MIB,
        4,
        f'1:1: must be a ResourceList; got "{"x" * 80}…": {ADVICE}',
    ),
    (
        "many lines",
        b"",
        b"some nonsense\n\n" * (MIB // 15),
        4,
        f'1:1: must be a ResourceList; got "some nonsense": {ADVICE}',
    ),
    (
        "many lines after the head of a list",
        HEAD.encode(),
        b"some nonsense\n\n" * (MIB // 15),
        9,
        "6:1: could not find expected ':' (while scanning a simple key)",
    ),
    (
        "brackets after the head of a list",
        HEAD.encode(),
        b"[" * MIB,
        6,
        "4:1026: could not find expected ':' (while scanning a simple key)",
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("head", "chunk", "times", "text"), [case[1:] for case in LARGE], ids=[case[0] for case in LARGE]
)
def test_100_mib_of_nonsense_costs_seconds_and_a_multiple_of_its_size(
    packwise: Path, head: bytes, chunk: bytes, times: int, text: str
) -> None:
    got = run(packwise, [head, *([chunk] * 100)], seconds=20)

    assert (got.code, got.stdout, got.stderr) == (1, b"", f"error: <stdin>:{text}\n")
    assert got.memory < 100 + times * 100


WORKLOAD = (TESTDATA / "render" / "a-million-replicas-are-refused" / "workload.yaml").read_text(encoding="utf-8")
CONFIG = (
    "functionConfig:\n  apiVersion: packwise.dev/v1alpha1\n  kind: TopologyRender\n  metadata: {name: topology}\n"
    "  spec:\n    revision: grep-244\n"
    "    topologyAwareScheduling: {enabled: true, levels: [{domain: rack, key: example.com/rack}]}\n"
)
SUBJECT = "PodCliqueSet team-a/a"

ANSWERED: list[tuple[str, str, str, str]] = [
    (
        "as many replicas as a field can hold",
        "replicas: 1000000",
        "replicas: 2147483647",
        f"10:15: {SUBJECT} spec.replicas: the workload becomes 4294967294 PodGangs and entries of their podgroups, "
        "but a run renders at most 200000. Lower the replicas, split the input, or raise limits.gangs of the "
        "TopologyRender [gang-limit]",
    ),
    (
        "more replicas than a field can hold",
        "replicas: 1000000",
        "replicas: 9999999999",
        f"10:15: {SUBJECT} spec.replicas: must be an integer of 32 bits; got 9999999999 [workload-decode]",
    ),
    (
        "an annotation of 1 MiB",
        "  name: a\n",
        f"  name: a\n  annotations: {{a: {'x' * MIB}}}\n",
        f"8:18: {SUBJECT} metadata.annotations: keys and values must be at most 262144 bytes long together; got "
        "1048577 [metadata-annotations]",
    ),
]


@pytest.mark.parametrize(("old", "new", "text"), [c[1:] for c in ANSWERED], ids=[c[0] for c in ANSWERED])
def test_a_list_with_a_hostile_workload_comes_back_whole_with_its_error(
    packwise: Path, old: str, new: str, text: str
) -> None:
    lines = WORKLOAD.replace(old, new).splitlines()
    data = (HEAD + "- " + "\n  ".join(lines) + "\n" + CONFIG).encode()

    got = run(packwise, [data])

    assert (got.code, got.stderr) == (1, f"error: <stdin>:{text}\n")
    assert got.stdout.startswith(data)
    answered, given = ResourceList.parse(got.stdout), ResourceList.parse(data)
    assert answered.items == given.items
    assert "".join(f"{result.line_of_text()}\n" for result in answered.results) == got.stderr
    assert got.memory < 100
