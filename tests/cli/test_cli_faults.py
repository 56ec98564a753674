"""With full disks, missing permissions or two runs at once, each file is either old or new, and a line gives the
reason.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.calling import CONFIG, WORKLOAD, Call, listing, write
from tests.cli.test_cli_interrupted import BROKEN, state
from tests.places import missing, needs_command

pytestmark = pytest.mark.slow

COMMANDS = {
    "render -o": "render in -o out",
    "render --in-place": "render --in-place in",
    "migrate": "migrate in --to upstream",
    "check --fix": "check in --fix",
}
FULL = "cannot write the file: No space left on device\n"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Yield a file system of 256 KiB."""
    needs_command("mount", "mount")
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k,mode=755", "packwise", place], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        missing("a file system can be mounted by root only, and by no container without CAP_SYS_ADMIN")
    yield place
    subprocess.run(["umount", "--lazy", place], check=True)


def sources(root: Path, workload: str) -> None:
    write(root, {"in/topology.yaml": CONFIG})
    write(root, {f"in/{name}.yaml": workload.replace("name: web", f"name: {name}") for name in ("a", "b", "c")})


@pytest.mark.parametrize("command", COMMANDS)
def test_a_full_disk_changes_nothing(command: str, call: Call, small_disk: Path) -> None:
    sources(small_disk, BROKEN if command == "check --fix" else WORKLOAD)
    os.chdir(small_disk)
    filler = fill(small_disk)
    before = state_without(small_disk, "filler")

    ran = call(*COMMANDS[command].split())

    assert (ran.code, ran.stdout) == (1, "")
    assert ran.stderr.endswith(FULL)
    assert "None" not in ran.stderr
    assert "Traceback" not in ran.stderr
    assert state_without(small_disk, "filler") == before
    filler.unlink()
    assert call(*COMMANDS[command].split()).code == 0
    os.chdir("/")


def fill(disk: Path) -> Path:
    """Write a file that uses all free space of a disk."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError:
            pass
    return filler


@pytest.mark.parametrize("full", ["output", "cache"])
def test_a_fleet_on_a_full_disk(full: str, call: Call, small_disk: Path, tmp_path: Path) -> None:
    """A package is written completely or not at all. If the cache has no space, the run continues with a warning."""
    sources(tmp_path, WORKLOAD)
    (tmp_path / ".git").mkdir()
    filler = fill(small_disk)
    output, cache = (str(small_disk / full if full == name else tmp_path / name) for name in ("output", "cache"))

    ran = call("fleet", "render", "in", "-o", output, "--cache", cache)

    filler.unlink()
    if full == "cache":
        assert ran.code == 0
        assert ran.stderr == (f"warning: cannot write the cache {cache}: No space left on device; reading it only\n")
        assert [path.name for path in (small_disk / full).rglob("part-*")] == []
    else:
        assert ran.code == 1
        assert "cannot write the folder: No space left on device [fleet-output]" in ran.stdout
        assert not any(path.is_file() for path in small_disk.rglob("*"))
    assert call("fleet", "render", "in", "-o", output, "--cache", cache).code == 0
    assert len(list(Path(output).rglob("*.yaml"))) > 4


def state_without(root: Path, name: str) -> dict[str, str]:
    return {path: text for path, text in state(root).items() if path != name}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_disk_that_is_read_only_is_named(command: str, call: Call, small_disk: Path) -> None:
    """The message is the same each time: it names no temporary file of this run."""
    sources(small_disk, BROKEN if command == "check --fix" else WORKLOAD)
    before = state(small_disk)
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    os.chdir(small_disk)

    first, second = (call(*COMMANDS[command].split()) for _ in range(2))

    os.chdir("/")
    assert first == second
    assert (first.code, first.stdout) == (1, "")
    assert first.stderr.endswith("cannot write the file: Read-only file system\n")
    assert ".new" not in first.stderr
    assert state(small_disk) == before


@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_that_may_not_grow_is_named(command: str, packwise: Path, tmp_path: Path) -> None:
    """The message about a failed write names no temporary file."""
    sources(tmp_path, BROKEN if command == "check --fix" else WORKLOAD)
    before = listing(tmp_path)

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    done = subprocess.run(
        [packwise, *COMMANDS[command].split()],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=limit,
    )

    assert done.returncode == 1
    assert done.stderr.endswith(" cannot write the file: File too large\n")
    assert "None" not in done.stderr
    assert listing(tmp_path) == before


@pytest.mark.parametrize("command", COMMANDS)
def test_a_folder_that_may_not_be_written_stays(command: str, packwise: Path, tmp_path: Path) -> None:
    sources(tmp_path, BROKEN if command == "check --fix" else WORKLOAD)
    before = listing(tmp_path)
    if os.geteuid() == 0:
        needs_command("setpriv", "util-linux")
    # Root may write everywhere because of a capability, which a process can drop.
    prefix = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []
    folders = [tmp_path / "in", tmp_path]
    for folder in folders:
        folder.chmod(0o555)

    done = subprocess.run(
        [*prefix, packwise, *COMMANDS[command].split()], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    for folder in folders:
        folder.chmod(0o755)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.endswith("cannot write the file: Permission denied\n")
    assert "Traceback" not in done.stderr
    assert listing(tmp_path) == before


def test_two_renders_into_one_folder_give_one_of_them(packwise: Path, tmp_path: Path) -> None:
    """The folder never has files of both renders."""
    for name in ("first", "second"):
        write(tmp_path / name, {"topology.yaml": CONFIG})
        files = {f"{name}-{at}.yaml": WORKLOAD.replace("name: web", f"name: {name}-{at}") for at in range(20)}
        write(tmp_path / name, files)
    wanted: list[dict[str, str]] = []
    for name in ("first", "second"):
        subprocess.run([packwise, "render", name, "-o", f"{name}-out"], cwd=tmp_path, check=True, capture_output=True)
        wanted.append(state(tmp_path / f"{name}-out"))

    for _ in range(5):
        both = [
            subprocess.Popen(
                [packwise, "render", name, "-o", "out"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
            for name in ("first", "second")
        ]
        ended = [(process.communicate(), process.returncode) for process in both]
        assert [code for _, code in ended] == [0, 0], ended
        assert state(tmp_path / "out") in wanted
        left = [path.name for path in tmp_path.iterdir() if path.name.startswith(".")]
        assert left == []


def test_two_renders_in_place_give_what_one_gives(packwise: Path, tmp_path: Path) -> None:
    sources(tmp_path, WORKLOAD)
    words = [packwise, "render", "--in-place", "in"]
    both = [
        subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    ended = [(process.communicate()[1], process.returncode) for process in both]

    once = state(tmp_path / "in")
    # The second render may find files that changed after it read them, and then reports them.
    for said, code in ended:
        assert code == 0 or "the file changed during the run; run the same command again" in said
    assert 0 in [code for _, code in ended]
    subprocess.run(words, cwd=tmp_path, check=True, capture_output=True)
    assert state(tmp_path / "in") == once
