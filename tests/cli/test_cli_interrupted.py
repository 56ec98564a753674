"""Runs that are interrupted at each change of the disk: everything is old or new, and the next run makes it so."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from packwise.cli.journal import Change, change_files
from packwise.cli.lock import JOURNAL
from tests.cli.calling import CONFIG, SERVICE, WORKLOAD, Call, write
from tests.cli.interrupting import Blow, interrupted_at

BROKEN = WORKLOAD.replace("  namespace: shop", "  namespace: shop\n  labels: {legacy: yes}")
UPSTREAM = ["migrate", "in", "--to", "upstream"]

State = dict[str, str]


def state(folder: Path) -> State:
    """Every file of a folder and what it holds, hidden ones and links too."""
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
    """A folder that was rendered when it held one workload more."""
    write(root, {"in/topology.yaml": CONFIG, "in/a/w.yaml": WORKLOAD, "in/b/w.yaml": WORKLOAD.replace("web", "api")})


def after_a_change(folder: Path) -> None:
    write(folder, {"a/w.yaml": WORKLOAD.replace("replicas: 1", "replicas: 2"), "c/s.yaml": SERVICE})
    (folder / "b/w.yaml").unlink()


def after_a_change_beside_ours(folder: Path) -> None:
    """The output folder is a clone, with files and links that packwise did not write."""
    after_a_change(folder)
    write(folder.parent, {"out/.git/HEAD": "ref\n", "out/README.md": "ours\n"})
    (folder.parent / "out/linked.md").symlink_to("README.md")


def no_change(_: Path) -> None:
    pass


CASES: dict[str, tuple[Callable[[Path], None], list[str], Callable[[Path], None], list[str], str]] = {
    # what is there, the commands that come first, a change of it, the command, where it is run
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
    """A folder before the command, a place to keep it, the command, and where it is run."""
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
def test_all_files_are_old_or_new(case: tuple[Path, Path, list[str], str, Call], blow: Blow) -> None:
    """A kill, Ctrl-C, and a disk that refuses the change."""
    root, kept, words, where, call = case
    old, old_folders = state(root), folders(root)
    os.chdir(root / where)
    assert call(*words).code == 0
    new, new_folders = state(root), folders(root)
    assert old != new
    seen: list[str] = []

    untouched = False
    while True:
        if not untouched:
            os.chdir(kept)
            shutil.rmtree(root)
            shutil.copytree(kept, root, symlinks=True)
            os.chdir(root / where)
        if not interrupted_at(len(seen) + 1, blow, lambda: call(*words)):
            break
        now = state(root)
        left = {name for name in now if ".packwise-" in name}
        of_users = {name: text for name, text in now.items() if name not in left}
        if any(JOURNAL in name for name in left) or list(root.rglob(JOURNAL)):
            seen.append("marked")
            # Nobody reads what is half changed: who looks is refused, and nothing is lost.
            assert all(text in [*old.values(), *new.values()] for text in of_users.values())
            assert set(old.values()) <= set(now.values()) or set(new.values()) <= set(now.values())
        else:
            assert of_users in (old, new)
            seen.append("old" if of_users == old else "new")
        if blow is not Blow.KILL:
            assert not left or blow is Blow.REFUSE
        untouched = (now, folders(root)) == (old, old_folders)
        if untouched:
            # As before the first run, which gave `new`.
            continue
        # Whoever comes next makes it whole, and leaves nothing beside it.
        assert call(*words).code == 0
        assert (state(root), folders(root)) == (new, new_folders)

    assert len(seen) > 8
    order = ["old", "marked", "new"]
    assert seen == sorted(seen, key=order.index) or blow is not Blow.KILL
    assert {"old", "new"} & set(seen)


def test_readers_hear_of_a_change_that_was_interrupted(call: Call, tmp_path: Path) -> None:
    with_work(tmp_path)
    write(tmp_path, {f"in/{JOURNAL}/prepare": ""})
    reason = (
        f'error: "{tmp_path}/in" must not be half changed; a run that changed files in it was interrupted: run the '
        "same command again (migrate, check --fix, render), which finishes the change or takes it back\n"
    )

    for words in (
        "check in",
        "check in/a",
        "check in/a/w.yaml",
        "render in",
        "render in -o out",
        "render in/a -o out",
        "diff in in",
        "topologies in/b",
        "migrate in --to upstream --dry-run",
        "render --in-place in --check",
    ):
        ran = call(*words.split())
        assert (words, ran.code, ran.stdout, ran.stderr) == (words, 2, "", reason)


@pytest.mark.parametrize("text", ["", "{", '{"process": 1, "ent'])
def test_a_journal_that_was_not_written_to_its_end_is_taken_back(text: str, call: Call, tmp_path: Path) -> None:
    with_work(tmp_path)
    write(tmp_path, {f"in/{JOURNAL}/prepare": text})

    ran = call("check", "in", "--fix")

    took = f"took back the change of 0 files in {tmp_path}/in that was interrupted\n"
    assert (ran.code, ran.stderr.startswith(took)) == (0, True)
    assert not (tmp_path / "in" / JOURNAL).exists()


def journal(*entries: list[str | None], folders: tuple[str, ...] = (), process: int = 1) -> str:
    return json.dumps({"process": process, "entries": entries, "folders": folders})


DIGEST = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"
"""Of `hello` and a line end."""


@pytest.mark.parametrize("name", ["commit", "undo", "prepare"])
@pytest.mark.parametrize(
    "text",
    [
        journal(["../victim", DIGEST, None]),
        journal(["{root}/victim", DIGEST, None]),
        journal([".git/HEAD", DIGEST, None]),
        journal(["out/victim", DIGEST, None]),
        journal(["in/x", None, None], folders=("../elsewhere",)),
        journal(["a/w.yaml", "0" * 64, None]),
        journal([]),
        "[]",
        "{}",
        "null",
        "no JSON",
        '{"process": "../../x", "entries": [], "folders": []}',
    ],
)
def test_a_journal_of_somebody_else_changes_nothing(name: str, text: str, call: Call, tmp_path: Path) -> None:
    """A commit can bring one."""
    with_work(tmp_path)
    write(tmp_path, {f"in/{JOURNAL}/{name}": text.replace("{root}", str(tmp_path)), "victim": "hello\n"})
    write(tmp_path, {"in/.git/HEAD": "hello\n"})
    (tmp_path / "in/out").symlink_to("..")
    before = state(tmp_path)

    ran = call("check", "in", "--fix")

    if name == "prepare":
        # Nothing was changed yet, by what it says itself: it goes, and what it names stays.
        assert (tmp_path / "victim").exists()
        assert (tmp_path / "in/.git/HEAD").exists()
        assert (tmp_path / "in/a/w.yaml").exists()
    else:
        assert (ran.code, state(tmp_path)) == (2, before)
        assert "must be" in ran.stderr


@pytest.mark.parametrize("kind", ["file", "link"])
def test_something_else_of_that_name_is_left_alone(kind: str, call: Call, tmp_path: Path) -> None:
    with_work(tmp_path)
    if kind == "file":
        write(tmp_path, {f"in/{JOURNAL}": "mine\n"})
    else:
        (tmp_path / "in" / JOURNAL).symlink_to("..")
    before = state(tmp_path)

    ran = call("check", "in", "--fix")

    reason = f'error: "{tmp_path}/in/{JOURNAL}" must be a journal that packwise wrote; look at it, and remove it\n'
    assert (ran.code, ran.stderr, state(tmp_path)) == (2, reason, before)


def test_a_file_that_changed_since_it_was_read_stays(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_work(tmp_path)

    def edited_meanwhile(folder: Path, changes: Sequence[Change], as_read: Mapping[Path, bytes]) -> None:
        write(tmp_path, {"in/b/w.yaml": "mine\n"})
        change_files(folder, changes, as_read)

    monkeypatch.setattr("packwise.cli.fix.change_files", edited_meanwhile)

    ran = call("check", "in", "--fix")

    reason = 'must be a file that can be written; got "a change since it was read; run the same command again"'
    assert (ran.code, ran.stderr) == (1, f"error: in/b/w.yaml: {reason}\n")
    assert state(tmp_path)["in/a/w.yaml"] == BROKEN
    assert state(tmp_path)["in/b/w.yaml"] == "mine\n"


def test_links_stay_links_when_files_are_mended(call: Call, tmp_path: Path) -> None:
    with_work(tmp_path)
    (tmp_path / "in/a/w.yaml").rename(tmp_path / "in/.w.yaml")
    (tmp_path / "in/a/w.yaml").symlink_to("../.w.yaml")

    assert call("check", "in", "--fix").code == 0

    assert (tmp_path / "in/a/w.yaml").is_symlink()
    assert 'legacy: "yes"' in (tmp_path / "in/.w.yaml").read_text(encoding="utf-8")
