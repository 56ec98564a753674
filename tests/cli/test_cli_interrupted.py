"""After an interruption at any change of the disk, each file is either old or new, and a line names the
changed files.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TextIO

import pytest

from packwise.cli.command_line import main
from packwise.output.write import FileChange, change_files
from tests.cli.calling import CONFIG, SERVICE, WORKLOAD, Call, write
from tests.cli.interrupting import Blow, interrupted_at

BROKEN = WORKLOAD.replace("  namespace: shop", "  namespace: shop\n  labels: {legacy: yes}")
UPSTREAM = ["migrate", "in", "--to", "upstream"]

State = dict[str, str]


def state(folder: Path) -> State:
    """Return every file of a folder with its content, including hidden files and links."""
    return {
        path.relative_to(folder).as_posix(): f"-> {path.readlink()}" if path.is_symlink() else path.read_text("utf-8")
        for path in sorted(folder.rglob("*"))
        if path.is_symlink() or not path.is_dir()
    }


def folders(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_dir())


def with_work(root: Path) -> None:
    write(root, {"in/topology.yaml": CONFIG, "in/a/w.yaml": BROKEN, "in/b/w.yaml": BROKEN.replace("web", "api")})


def rendered_before(root: Path) -> None:
    """Write a folder that was rendered when it had one more workload."""
    write(root, {"in/topology.yaml": CONFIG, "in/a/w.yaml": WORKLOAD, "in/b/w.yaml": WORKLOAD.replace("web", "api")})


def after_a_change(folder: Path) -> None:
    write(folder, {"a/w.yaml": WORKLOAD.replace("replicas: 1", "replicas: 2"), "c/s.yaml": SERVICE})
    (folder / "b/w.yaml").unlink()


def after_a_change_beside_ours(folder: Path) -> None:
    """Change the sources, and make the output folder a clone with files and links that packwise did not write."""
    after_a_change(folder)
    write(folder.parent, {"out/.git/HEAD": "ref\n", "out/README.md": "ours\n"})
    (folder.parent / "out/linked.md").symlink_to("README.md")


def no_change(_: Path) -> None:
    pass


CASES: dict[str, tuple[Callable[[Path], None], list[str], Callable[[Path], None], list[str], str]] = {
    # the folder, the commands that run first, a change of the folder, the command, its working directory
    "check --fix": (with_work, [], no_change, ["check", "in", "--fix"], "."),
    "migrate": (rendered_before, [], no_change, UPSTREAM, "."),
    "migrate of files": (
        rendered_before,
        [],
        no_change,
        ["migrate", "in/topology.yaml", "in/a/w.yaml", "in/b", "--to", "upstream"],
        ".",
    ),
    "migrate within the folder": (rendered_before, [], no_change, ["migrate", ".", "--to", "upstream"], "in"),
    "render --in-place": (
        rendered_before,
        ["render --in-place in"],
        after_a_change,
        ["render", "--in-place", "in"],
        ".",
    ),
    "render -o": (
        rendered_before,
        ["render in -o out"],
        after_a_change_beside_ours,
        ["render", "in", "-o", "out"],
        ".",
    ),
    "render -o, the first time": (rendered_before, [], no_change, ["render", "in", "-o", "out/deep"], "."),
    "render -o within the folder": (
        rendered_before,
        ["render in -o out"],
        after_a_change,
        ["render", "../in", "-o", "."],
        "out",
    ),
}


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest, tmp_path: Path, call: Call) -> tuple[Path, Path, list[str], str, Call]:
    """Return a folder before the command, a copy of it, the command, and its working directory."""
    prepare, first, change, words, where = CASES[request.param]
    root = tmp_path / "root"
    prepare(root)
    os.chdir(root)
    for line in first:
        assert call(*line.split()).code == 0
    change(root / "in")
    shutil.copytree(root, tmp_path / "kept", symlinks=True)
    return root, tmp_path / "kept", words, where, call


@pytest.mark.slow
@pytest.mark.parametrize("blow", Blow, ids=lambda blow: blow.name)
def test_each_file_is_old_or_new(case: tuple[Path, Path, list[str], str, Call], blow: Blow) -> None:
    """The interruptions are a kill, Ctrl-C, and a disk that refuses the change."""
    root, kept, words, where, call = case
    old, old_folders = state(root), folders(root)
    os.chdir(root / where)
    assert call(*words).code == 0
    new, new_folders = state(root), folders(root)
    assert old != new
    seen: list[int] = []
    said = kept.parent / "said"

    while True:
        os.chdir(kept)
        shutil.rmtree(root)
        shutil.copytree(kept, root, symlinks=True)
        os.chdir(root / where)
        # The files are opened here, so that opening them is no change by the run itself.
        with said.open("w", encoding="utf-8") as stream:
            if not interrupted_at(len(seen) + 1, blow, lambda: run(words, stream)):
                break
        now = state(root)
        left = {name for name in now if ".packwise-" in name}
        of_users = {name: text for name, text in now.items() if name not in left}
        done = {name for name in {**old, **new} if old.get(name) != new.get(name) == of_users.get(name)}
        seen.append(len(done))
        for name in {**old, **new, **of_users}:
            assert of_users.get(name) in (old.get(name), new.get(name)), name
        # An object that migrate moves from one file to another is in one of them.
        assert "key: topology.kubernetes.io/zone" in "".join(of_users.values())
        if blow is Blow.KILL:
            # Users undo half a migration with git.
            if words[0] != "migrate" or of_users in (old, new):
                # Otherwise the next run continues, and removes what this run left.
                assert call(*words).code == 0
                assert state(root) == new
                # A folder that lost its last file directly before the kill is empty. git does not see it.
                assert set(folders(root)) - {*old_folders} <= {*new_folders} <= set(folders(root))
            continue
        assert not left or blow is Blow.REFUSE
        if of_users == old:
            # The folder around the output folder stays.
            assert folders(root) == old_folders or blow is Blow.REFUSE or "-o" in words
        elif of_users != new:
            changed, _, unchanged = changed_line(said).partition("; unchanged: ")
            for name in {**old, **new}:
                if old.get(name) != new.get(name):
                    path = os.path.relpath(root / name)
                    assert path in (changed if name in done else unchanged).split(", ")

    assert len(seen) > 4
    assert seen == sorted(seen) or blow is not Blow.KILL
    assert {0, max(seen)} <= set(seen)


def run(words: list[str], stderr: TextIO) -> None:
    """Run a command in a separate process, which may be killed."""
    sys.stderr = stderr
    main(words)


def changed_line(said: Path) -> str:
    """Return the line of stderr about files, without its first word."""
    lines = said.read_text(encoding="utf-8").splitlines()
    return next(line for line in lines if line.startswith("changed ")).removeprefix("changed ")


@pytest.mark.parametrize("command", ["check in --fix", "migrate in --to upstream"])
def test_what_a_killed_run_left_goes(command: str, call: Call, tmp_path: Path) -> None:
    with_work(tmp_path)
    gone = subprocess.run(["sh", "-c", "echo $$"], check=True, capture_output=True, text=True).stdout.strip()
    write(tmp_path, {f"in/a/.packwise-{gone}-0.new": "half", "victim": "mine\n"})
    (tmp_path / f"in/b/.packwise-{gone}-1.new").symlink_to("../../victim")
    running = f"in/a/.packwise-{os.getppid()}-0.new"
    write(tmp_path, {running: "of another run"})

    assert call(*command.split()).code == 0

    assert [name for name in state(tmp_path) if ".packwise-" in name] == [running]
    assert (tmp_path / "victim").read_text(encoding="utf-8") == "mine\n"


def test_a_file_that_changed_since_it_was_read_stays(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_work(tmp_path)

    def edited_meanwhile(folder: Path, changes: Sequence[FileChange], as_read: Mapping[Path, bytes]) -> None:
        write(tmp_path, {"in/b/w.yaml": "mine\n"})
        change_files(folder, changes, as_read)

    monkeypatch.setattr("packwise.output.write.change_files", edited_meanwhile)

    ran = call("check", "in", "--fix")

    reason = "cannot write the file: the file changed during the run; run the same command again"
    assert (ran.code, ran.stderr) == (1, f"no file was changed\nerror: in/b/w.yaml: {reason}\n")
    assert state(tmp_path)["in/a/w.yaml"] == BROKEN
    assert state(tmp_path)["in/b/w.yaml"] == "mine\n"


def test_links_stay_links_when_files_are_fixed(call: Call, tmp_path: Path) -> None:
    with_work(tmp_path)
    (tmp_path / "in/a/w.yaml").rename(tmp_path / "in/.w.yaml")
    (tmp_path / "in/a/w.yaml").symlink_to("../.w.yaml")

    assert call("check", "in", "--fix").code == 0

    assert (tmp_path / "in/a/w.yaml").is_symlink()
    assert 'legacy: "yes"' in (tmp_path / "in/.w.yaml").read_text(encoding="utf-8")
