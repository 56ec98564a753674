"""The output folder of a fleet: unchanged files are not read again, and changed files are corrected."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from packwise.build.tree import DiskTree
from packwise.fleet.output import ENTRY, FOLDER, FolderState, read_state
from packwise.render.files import LIST
from tests.cli.calling import CONFIG, SERVICE, WORKLOAD, Call, listing, write
from tests.cli.interrupting import Blow, interrupted_at
from tests.cli.test_cli_interrupted import state

HOUR = 3600 * 10**9
FILES = {
    "clusters/east/topology.yaml": CONFIG,
    "clusters/east/web/workload.yaml": WORKLOAD,
    "clusters/east/web/service.yaml": SERVICE,
    "clusters/west/topology.yaml": CONFIG,
    "clusters/west/workload.yaml": WORKLOAD,
}
RENDER = ("fleet", "render", "clusters", "-o", "out")


@pytest.fixture(autouse=True)
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return two packages with a separate cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / ".cache"))
    write(tmp_path, FILES)
    (tmp_path / ".git").mkdir()
    return tmp_path


@pytest.fixture
def out(call: Call, fleet: Path) -> Path:
    """Return the output folder after one render."""
    assert call(*RENDER).code == 0
    return fleet / "out"


@pytest.fixture
def surveyed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the names of the packages whose files were compared with the answer, in their order."""
    from packwise.render.folder import survey

    names: list[str] = []

    def noted(folder: Path, *given: object, **named: bool) -> object:
        names.append(folder.name)
        return survey(folder, *given, **named)  # type: ignore[arg-type]

    monkeypatch.setattr("packwise.fleet.output.survey", noted)
    return names


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make all files look as if they were written an hour ago."""
    from time import time_ns

    monkeypatch.setattr("packwise.fleet.output.time_ns", lambda: time_ns() + HOUR)


def numbers(folder: Path) -> dict[str, tuple[int, int]]:
    """Return the facts that would show that a file was written again."""
    return {
        path.relative_to(folder).as_posix(): (path.stat().st_ino, path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_what_was_written_is_not_looked_into_again(call: Call, out: Path, surveyed: list[str]) -> None:
    before = numbers(out)

    ran = call(*RENDER)

    assert (ran.code, ran.stdout) == (0, "2 packages: 2 unchanged\n  2 workloads checked\n")
    assert surveyed == []
    assert numbers(out) == before


def changed(out: Path) -> None:
    """Change a digit, so that the size stays the same."""
    path = out / "east/web/workload.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("replicas: 2", "replicas: 9"), encoding="utf-8")


def changed_behind_its_time(out: Path) -> None:
    status = (out / "east/web/workload.yaml").stat()
    changed(out)
    os.utime(out / "east/web/workload.yaml", ns=(status.st_atime_ns, status.st_mtime_ns))


def replaced(out: Path) -> None:
    path = out / "east/web/workload.yaml"
    text = path.read_text(encoding="utf-8")
    status = path.stat()
    path.unlink()
    path.write_text(text.replace("replicas: 2", "replicas: 9"), encoding="utf-8")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def removed(out: Path) -> None:
    (out / "east/web/service.yaml").unlink()


def moved(out: Path) -> None:
    (out / "east/web/service.yaml").rename(out / "east/service.yaml")


def list_removed(out: Path) -> None:
    (out / "east" / LIST).unlink()


def added(out: Path) -> None:
    gang = out / "east/packwise/workloads/shop/podgang-web-0.yaml"
    text = gang.read_text(encoding="utf-8").replace("web-0", "web-7")
    gang.with_name("podgang-web-7.yaml").write_text(text, encoding="utf-8")


def linked(out: Path) -> None:
    (out / "east/topology.yaml").unlink()
    (out / "east/topology.yaml").symlink_to("web/workload.yaml")


def all_gone(out: Path) -> None:
    shutil.rmtree(out / "east")


@pytest.mark.parametrize(
    "edit",
    [changed, changed_behind_its_time, replaced, removed, moved, list_removed, added, all_gone],
    ids=lambda edit: edit.__name__,
)
def test_what_somebody_changed_is_put_right(
    call: Call, out: Path, surveyed: list[str], edit: Callable[[Path], None]
) -> None:
    whole = state(out)
    edit(out)
    assert state(out) != whole

    ran = call(*RENDER)

    # The user who moved the folder has a reason for it.
    of_others = {"east/service.yaml": SERVICE} if edit is moved else {}
    assert (ran.code, surveyed) == (0, ["east"])
    assert state(out) == whole | of_others


def test_a_link_in_the_place_of_a_file_stays_a_link(call: Call, out: Path, surveyed: list[str]) -> None:
    linked(out)

    call(*RENDER)

    assert surveyed == ["east"]
    assert (out / "east/topology.yaml").is_symlink()
    assert (out / "east/web/workload.yaml").read_bytes() == (out / "east/topology.yaml").read_bytes()


@pytest.mark.usefixtures("later")
def test_files_of_others_are_looked_at_once(call: Call, out: Path, surveyed: list[str]) -> None:
    write(out, {"west/README.md": "ours\n"})

    for _ in range(3):
        assert call(*RENDER).stdout.startswith("2 packages: 2 unchanged\n")

    assert surveyed == ["west"]
    assert (out / "west/README.md").read_text(encoding="utf-8") == "ours\n"


def test_what_changed_a_moment_ago_is_no_evidence(
    call: Call, out: Path, surveyed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another change within the same tick of the clock would not be visible."""
    shutil.copytree(out, out.parent / "copy")
    shutil.rmtree(out)
    (out.parent / "copy").rename(out)
    for folder in ("east", "west"):
        write(out, {f"{folder}/README.md": "ours\n"})

    call(*RENDER)
    call(*RENDER)
    assert surveyed == ["east", "west"] * 2
    from time import time_ns

    monkeypatch.setattr("packwise.fleet.output.time_ns", lambda: time_ns() + HOUR)
    call(*RENDER)
    call(*RENDER)
    assert surveyed == ["east", "west"] * 3


@pytest.mark.usefixtures("later")
def test_a_package_that_changes_is_known_at_once(call: Call, fleet: Path, out: Path, surveyed: list[str]) -> None:
    write(fleet, {"clusters/east/web/service.yaml": SERVICE + "# more\n"})

    first, second = call(*RENDER), call(*RENDER)

    assert first.stdout.startswith("2 packages: 1 changed, 1 unchanged\n")
    assert second.stdout.startswith("2 packages: 2 unchanged\n")
    assert surveyed == ["east"]
    assert (out / "east/web/service.yaml").read_text(encoding="utf-8") == SERVICE + "# more\n"


def test_another_folder_is_another_matter(call: Call, fleet: Path, out: Path, surveyed: list[str]) -> None:
    call("fleet", "render", "clusters", "-o", "other")

    assert surveyed == ["east", "west"]
    assert listing(fleet / "other") == listing(out)


def test_without_a_cache_files_are_read(call: Call, out: Path, surveyed: list[str]) -> None:
    ran = call(*RENDER, "--no-cache")

    assert ran.stdout.startswith("2 packages: 2 unchanged\n")
    assert surveyed == ["east", "west"]
    assert out.is_dir()


@pytest.mark.usefixtures("out")
def test_evidence_is_in_no_bucket(call: Call, surveyed: list[str]) -> None:
    """The records about files apply only to this machine, and a bucket is slow."""
    pytest.importorskip("fsspec")
    place = ("--cache", "memory://states")

    call(*RENDER, *place)
    call(*RENDER, *place)

    assert surveyed == ["east", "west"] * 2


def test_copies_that_killed_runs_left_are_removed(call: Call, out: Path) -> None:
    write(out, {".east.packwise-999999999/a.yaml": "a", ".east.packwise-x/a.yaml": "a", ".a.packwise-1/a.yaml": "a"})

    call(*RENDER)

    assert sorted(path.name for path in out.iterdir()) == [".a.packwise-1", ".east.packwise-x", "east", "west"]


@pytest.mark.slow
@pytest.mark.parametrize("blow", Blow, ids=lambda blow: blow.name)
def test_a_run_that_is_interrupted_leaves_no_wrong_evidence(call: Call, fleet: Path, out: Path, blow: Blow) -> None:
    write(fleet, {"clusters/west/workload.yaml": WORKLOAD.replace("replicas: 1", "replicas: 2")})
    shutil.copytree(out, fleet / "kept")
    old = listing(out)
    assert call(*RENDER).code == 0
    new = listing(out)
    seen: list[str] = []

    while True:
        shutil.rmtree(out)
        shutil.copytree(fleet / "kept", out)
        if not interrupted_at(len(seen) + 1, blow, lambda: call(*RENDER)):
            break
        seen.append(listing(out))
        assert call(*RENDER).code == 0
        assert listing(out) == new
        assert sorted(path.name for path in out.iterdir()) == ["east", "west"]

    assert len(seen) > 8
    assert {old, new} <= {text for text in seen if ".packwise-" not in text}


def entries(**files: str) -> dict[str, bytes]:
    return {"a": FOLDER, **{f"a/{name}": ENTRY.pack(*map(int, entry.split())) for name, entry in files.items()}}


@pytest.mark.parametrize(
    ("before", "after", "is_sure"),
    [
        pytest.param(None, entries(x="1500000001 1 1 1 1"), True, id="all is new"),
        pytest.param(None, entries(x="1000000000 1 1 1 1"), False, id="times are whole seconds"),
        pytest.param(None, entries(x="1500000001 1 1 1 1", y="1 1 2 1 1"), False, id="something is there already"),
        pytest.param(
            entries(y="1 1 2 1 1"), entries(x="1500000001 1 1 1 1", y="1 1 2 1 9"), True, id="a file that stays"
        ),
        pytest.param(
            entries(y="1 1 2 1 1"), entries(x="1500000001 1 1 1 1", y="2 1 2 1 9"), False, id="which changes meanwhile"
        ),
        pytest.param(
            entries(y="9000000000 1 2 1 1"),
            entries(x="1500000001 1 1 1 1", y="9000000000 1 2 1 9"),
            False,
            id="which changed just before",
        ),
    ],
)
def test_what_a_write_is_evidence_of(before: dict[str, bytes] | None, after: dict[str, bytes], is_sure: bool) -> None:
    earlier = None if before is None else FolderState(before, 10 * 10**9)

    assert FolderState(after, 10 * 10**9).is_after(earlier, {"a/x", "not-there"}) is is_sure


def test_a_state_follows_no_link_and_skips_git(tmp_path: Path) -> None:
    write(tmp_path, {"x/.git/HEAD": "ref\n", "x/a/b.yaml": "b\n", "away/c.yaml": "c\n"})
    (tmp_path / "x/link").symlink_to("../away")

    state = read_state(str(tmp_path / "x"))

    assert state is not None
    assert sorted(state.entries) == ["a", "a/b.yaml", "link"]
    assert read_state(str(tmp_path / "gone")) is None


def test_a_state_is_the_same_where_the_system_cannot_open_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows is such a system."""
    write(tmp_path, {"a/b/c.yaml": "c\n", "d.yaml": "d\n"})
    state = read_state(str(tmp_path))
    monkeypatch.setattr(os, "supports_fd", frozenset[object]())

    other = read_state(str(tmp_path))

    assert state is not None
    assert other is not None
    assert list(other.entries.items()) == list(state.entries.items())


@pytest.mark.parametrize("known", [False, True], ids=["an answer to compute", "an answer that is known"])
def test_a_file_that_can_no_longer_be_read_is_an_error(
    call: Call, out: Path, monkeypatch: pytest.MonkeyPatch, *, known: bool
) -> None:
    """The file is removed after it was listed."""

    def without(asked: Callable[[DiskTree, str], bytes]) -> Callable[[DiskTree, str], bytes]:
        def answer(tree: DiskTree, path: str) -> bytes:
            if path.endswith("service.yaml"):
                raise FileNotFoundError(2, "No such file or directory", path)
            return asked(tree, path)

        return answer

    if not known:
        shutil.rmtree(out.parent / ".cache")
    before = listing(out)
    monkeypatch.setattr(DiskTree, "digest", without(DiskTree.digest))
    monkeypatch.setattr(DiskTree, "read", without(DiskTree.read))

    ran = call(*RENDER)

    assert (ran.code, ran.stdout.partition("\n")[0]) == (1, "2 packages: 1 failing, 1 unchanged")
    assert listing(out) == before
