"""If a stream is full, closed or missing, or a process is stopped, a line reports it without a traceback."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
from pathlib import Path

import pytest

from tests.cli.calling import Call, Ran, write
from tests.places import needs_command

pytestmark = pytest.mark.slow

FULL = "error: <stdout>: cannot write the output: No space left on device\n"
CLOSED = "error: <stdout>: cannot write the output: Bad file descriptor\n"
LIST = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n"

WORDS = [
    "render in",
    "check in -o json",
    "diff in in",
    "topologies in",
    "migrate in --to upstream --dry-run",
    "rules",
    "rules unknown-field",
    "completion bash",
    "--help",
    "render --help",
    "--version",
    "fn",
]


def run(packwise: Path, folder: Path, words: str, redirections: str) -> Ran:
    needs_command("bash", "bash")
    command = f"{packwise} {words} {redirections}"
    done = subprocess.run(["bash", "-c", command], cwd=folder, input=LIST, capture_output=True, text=True, check=False)
    return Ran(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize(("redirection", "reason"), [("> /dev/full", FULL), (">&-", CLOSED)], ids=["full", "closed"])
@pytest.mark.parametrize("words", WORDS)
def test_stdout_that_takes_nothing_is_an_error(
    words: str, redirection: str, reason: str, packwise: Path, package: Path
) -> None:
    ran = run(packwise, package.parent, words, redirection)

    assert (ran.code, ran.stderr[-len(reason) :]) == (1, reason)
    assert "Traceback" not in ran.stderr
    assert "Exception ignored" not in ran.stderr


@pytest.mark.parametrize("words", WORDS)
def test_what_goes_to_stdout_does_not_need_stderr(words: str, packwise: Path, package: Path) -> None:
    whole = run(packwise, package.parent, words, "")

    for redirection in ("2>&-", "2> /dev/full"):
        ran = run(packwise, package.parent, words, redirection)

        assert (ran.code, ran.stdout) == (whole.code, whole.stdout), redirection


@pytest.mark.parametrize("words", WORDS)
def test_a_process_without_any_stream_ends(words: str, packwise: Path, package: Path) -> None:
    ran = run(packwise, package.parent, words, "<&- >&- 2>&-")

    assert (ran.code, ran.stdout, ran.stderr) == (1, "", "")


@pytest.mark.parametrize("words", WORDS)
def test_a_reader_that_goes_early_ends_it(words: str, packwise: Path, package: Path) -> None:
    ran = run(packwise, package.parent, words, "| exec 0<&-; exit ${PIPESTATUS[0]}")

    # A short text fits into the pipe, so a closed pipe would not be noticed.
    assert ran.code in (0, 1)
    assert "Traceback" not in ran.stderr
    assert "Exception ignored" not in ran.stderr


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (
            "fn",
            "error: <stdin>:1:1: must be a ResourceList; got nothing: pass the manifests through kustomize, kpt or "
            "`kpt fn source`",
        ),
        (
            "check -",
            "error: stdin has no Kubernetes object; run the previous command of the pipe alone to see",
        ),
    ],
)
def test_stdin_that_is_closed_is_empty(words: str, reason: str, packwise: Path, package: Path) -> None:
    ran = run(packwise, package.parent, words, "<&-")

    assert reason in ran.stderr + ran.stdout
    assert "Traceback" not in ran.stderr


def test_a_closed_stream_is_not_replaced_by_a_file_that_is_written(packwise: Path, package: Path) -> None:
    """The system gives the lowest free number to the next opened file."""
    ran = run(packwise, package.parent, "render in -o out", "<&- >&- 2>&-")

    assert ran.code == 0
    texts = [path.read_text(encoding="utf-8") for path in (package.parent / "out").rglob("*.yaml")]
    assert len(texts) == 6
    assert all(text.startswith(("apiVersion", "#")) for text in texts)


@pytest.mark.parametrize("words", ["check -", "fn", "render - -o out"])
def test_ctrl_c_ends_it_as_it_ends_other_commands(words: str, packwise: Path, tmp_path: Path) -> None:
    process = subprocess.Popen(
        [packwise, *words.split()],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    while "S" not in waiting(process.pid):
        os.sched_yield()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()

    assert (process.returncode, out, err) == (-signal.SIGINT, b"", b"")
    assert list(tmp_path.iterdir()) == []


def waiting(process: int) -> str:
    """Return `S` if the process waits for its stdin, which gets no data."""
    try:
        place = Path(f"/proc/{process}/wchan").read_text(encoding="ascii")
    except OSError:
        pytest.skip("the system does not say what a process waits for")
    return "S" if "pipe" in place else ""


@pytest.mark.parametrize("words", ["check in/big.yaml", "fn", "render in/big.yaml", "diff in/big.yaml in/big.yaml"])
def test_too_little_memory_is_an_error(words: str, packwise: Path, tmp_path: Path) -> None:
    """The input has 10 MB of objects, below the limit on nodes. The memory of 120 MB holds half of them."""
    big = "".join([f"- {{apiVersion: v1, kind: ConfigMap, metadata: {{name: c{at}}}}}\n" for at in range(150_000)])
    write(tmp_path, {"in/big.yaml": f"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n{big}"})

    with (tmp_path / "in/big.yaml").open("rb") as stdin:
        done = subprocess.run(
            [packwise, *words.split()],
            cwd=tmp_path,
            stdin=stdin,
            capture_output=True,
            text=True,
            check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (120 << 20, 120 << 20)),
        )

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "error: not enough memory for an input of this size; split it, or raise the limit\n"


@pytest.mark.parametrize("words", ["fn", "check -"])
def test_a_small_input_needs_little_memory(words: str, packwise: Path) -> None:
    limit = 400 << 20

    done = subprocess.run(
        [packwise, *words.split()],
        input=LIST,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )

    assert done.returncode == 0, done.stderr


KIND_5 = LIST.replace("[]", "\n- {apiVersion: v1, kind: 5, metadata: {name: x}}")


@pytest.mark.parametrize("words", ["diff x.yaml in", "diff in x.yaml", "topologies x.yaml", "check in --crds x.yaml"])
def test_a_kind_that_is_a_number_is_an_error_of_its_object(words: str, call: Call, package: Path) -> None:
    write(package.parent, {"x.yaml": KIND_5})

    ran = call(*words.split())

    # Commands that compare or list read no such object. A CRD is no such object.
    assert ran.code == (2 if "--crds" in words else 0)


def test_a_list_that_brings_its_configuration_is_not_migrated(call: Call, package: Path) -> None:
    config = "functionConfig:\n  apiVersion: packwise.dev/v1alpha1\n  kind: TopologyRender\n  metadata: {name: t}\n"
    write(package, {"list.yaml": f"{LIST}{config}"})
    (package / "topology.yaml").unlink()

    for words in ("migrate in/list.yaml --to upstream", "migrate in/list.yaml --to upstream --dry-run"):
        assert (call(*words.split()).code, call(*words.split()).stderr) == (
            2,
            (
                'error: "in/list.yaml" is a ResourceList, which migrate does not write; migrate the files that it was '
                "made from\n"
            ),
        )


def test_a_folder_that_cannot_be_read_is_an_error_and_no_traceback(
    call: Call, package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: Path) -> bool:
        raise OSError(5, "Input/output error", str(package))

    monkeypatch.setattr(Path, "is_dir", refuse)

    ran = call("check", "in")

    assert (ran.code, ran.stderr) == (
        1,
        f"error: {package}: cannot use the file or folder: Input/output error\n",
    )


def test_no_environment_of_a_shell_is_needed(packwise: Path, package: Path) -> None:
    done = subprocess.run([packwise, "check", package], env={}, capture_output=True, check=False)

    assert done.returncode == 0
