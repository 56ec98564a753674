"""Files of an earlier run for packages that no longer exist are listed, and removed on request."""

from __future__ import annotations

import json
from errno import EACCES
from hashlib import sha256
from pathlib import Path
from time import time_ns

import pytest

from krmfn.hints import TYPE_CHECKING
from packwise.fleet.output import FolderEvidence, orphans
from packwise.render.files import LIST
from tests.cli.calling import CONFIG, WORKLOAD, Call, listing, write

if TYPE_CHECKING:
    from collections.abc import Collection

RENDER = ("fleet", "render", "clusters", "-o", "out")
PACKAGES = ("east", "eu/north", "eu/south", "west")


@pytest.fixture(autouse=True)
def out(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the output folder of four packages."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / ".cache"))
    (tmp_path / ".git").mkdir()
    for name in PACKAGES:
        write(tmp_path, {f"clusters/{name}/topology.yaml": CONFIG, f"clusters/{name}/workload.yaml": WORKLOAD})
    assert call(*RENDER).code == 0
    return tmp_path / "out"


def gone(folder: Path, *names: str) -> None:
    for name in names:
        for file in (folder / "clusters" / name).iterdir():
            file.unlink()
        (folder / "clusters" / name).rmdir()


def test_a_folder_of_a_package_that_is_gone_is_named(call: Call, tmp_path: Path, out: Path) -> None:
    gone(tmp_path, "west")
    before = listing(out)

    ran = call(*RENDER)

    line = "  1 folder of deleted packages; --prune empties them: out/west\n"
    assert (ran.code, ran.stdout, ran.stderr) == (0, f"3 packages: 3 unchanged\n  3 workloads checked\n{line}", "")
    assert listing(out) == before


def test_prune_removes_it_and_what_is_empty_then(call: Call, tmp_path: Path, out: Path) -> None:
    gone(tmp_path, "eu/north", "eu/south")

    ran = call(*RENDER, "--prune")

    line = "  2 folders pruned: out/eu/north, out/eu/south\n"
    assert (ran.code, ran.stdout, ran.stderr) == (0, f"2 packages: 2 unchanged\n  2 workloads checked\n{line}", "")
    assert sorted(path.name for path in out.iterdir()) == ["east", "west"]
    assert call(*RENDER, "--prune").stdout == "2 packages: 2 unchanged\n  2 workloads checked\n"


def test_what_others_wrote_or_changed_stays(call: Call, tmp_path: Path, out: Path) -> None:
    gone(tmp_path, "west")
    write(out, {"west/notes.md": "mine\n", "west/workload.yaml": "mine: too\n"})

    ran = call(*RENDER, "--prune")

    message = "packwise no longer renders this file and keeps it, because it was changed; delete it by hand"
    assert (ran.code, ran.stderr) == (0, f"warning: out/west/workload.yaml: {message} [output-edited]\n")
    assert sorted(path.name for path in (out / "west").iterdir()) == [LIST, "notes.md", "workload.yaml"]
    (out / "west" / "workload.yaml").unlink()
    assert call(*RENDER, "--prune").stderr == ""
    assert sorted(path.name for path in (out / "west").iterdir()) == ["notes.md"]
    assert "pruned" not in call(*RENDER, "--prune").stdout


def test_a_package_below_it_stays(call: Call, tmp_path: Path, out: Path) -> None:
    write(tmp_path, {"clusters/west/lab/topology.yaml": CONFIG, "clusters/west/lab/workload.yaml": WORKLOAD})
    assert call(*RENDER).code == 0
    (tmp_path / "clusters/west/topology.yaml").unlink()
    (tmp_path / "clusters/west/workload.yaml").unlink()
    before = listing(out / "west" / "lab")

    ran = call(*RENDER, "--prune")

    assert "  1 folder pruned: out/west\n" in ran.stdout
    assert [path.name for path in (out / "west").iterdir()] == ["lab"]
    assert listing(out / "west" / "lab") == before


def test_a_folder_that_cannot_be_changed_stays(
    call: Call, tmp_path: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone(tmp_path, "west")
    before = listing(out)

    def refused(folder: Path, *_: object, **__: object) -> None:
        raise PermissionError(EACCES, "Permission denied", str(folder))

    monkeypatch.setattr("packwise.fleet.output.apply", refused)
    ran = call(*RENDER, "--prune")

    message = "cannot write the folder: Permission denied"
    assert (ran.code, ran.stderr) == (1, f"error: out/west: {message} [fleet-output]\n")
    assert "pruned" not in ran.stdout
    assert listing(out) == before


def test_a_list_that_is_not_packwises_is_an_error(call: Call, tmp_path: Path, out: Path) -> None:
    gone(tmp_path, "west")
    write(out, {f"west/{LIST}": "nonsense\n"})
    before = listing(out)

    ran = call(*RENDER, "--prune")

    assert ran.code == 1
    assert "this is not a list of packwise's files" in ran.stderr
    assert "pruned" not in ran.stdout
    assert listing(out) == before


def test_a_list_reaches_nothing_outside_its_folder_and_nothing_of_git(call: Call, tmp_path: Path, out: Path) -> None:
    gone(tmp_path, "west")
    write(out, {"west/.git/config": "mine\n", "mine.yaml": "mine\n"})
    (out / "linked").symlink_to(out / "east", target_is_directory=True)
    (out / "west/east").symlink_to(out / "east", target_is_directory=True)
    own = listing(out / "east")
    digest = sha256(b"mine\n").hexdigest()
    workload = sha256((out / "east/workload.yaml").read_bytes()).hexdigest()
    lines = [f"{digest}  ../mine.yaml", f"{digest}  .git/config", f"{workload}  east/workload.yaml"]
    with (out / "west" / LIST).open("a") as file:
        file.writelines(f"{line}\n" for line in lines)

    ran = call(*RENDER, "--prune")

    assert ran.code == 0
    assert (out / "mine.yaml").exists()
    assert (out / "west/.git/config").exists()
    assert listing(out / "east") == own


def test_a_failing_package_is_not_gone(call: Call, tmp_path: Path, out: Path) -> None:
    write(tmp_path, {"clusters/west/workload.yaml": WORKLOAD.replace("replicas", "replica")})
    before = listing(out)

    ran = call(*RENDER, "--prune")

    assert ran.code == 1
    assert "pruned" not in ran.stdout
    assert listing(out) == before


def test_json_has_them(call: Call, tmp_path: Path) -> None:
    assert json.loads(call(*RENDER, "--report", "json").stdout)["orphans"] == {"folders": [], "pruned": False}
    gone(tmp_path, "west")
    assert json.loads(call(*RENDER, "--report", "json").stdout)["orphans"] == {"folders": ["out/west"], "pruned": False}
    pruned = call(*RENDER, "--report", "json", "--prune", "--exit-code")
    assert pruned.code == 1
    assert json.loads(pruned.stdout)["orphans"] == {"folders": ["out/west"], "pruned": True}
    assert json.loads(call("fleet", "check", "clusters", "-o", "json").stdout)["orphans"] is None


@pytest.mark.parametrize("words", [("check", "clusters"), ("render", "clusters")])
def test_prune_goes_with_an_output_folder(call: Call, words: tuple[str, ...]) -> None:
    ran = call("fleet", *words, "--prune")

    assert ran.code == 2
    assert "--prune needs render -o DIR" in ran.stderr


def test_links_and_hidden_folders_are_not_followed(tmp_path: Path, out: Path) -> None:
    (out / "linked").symlink_to(out / "west", target_is_directory=True)
    (out / ".hidden").mkdir()
    (out / ".hidden" / LIST).touch()

    nothing = FolderEvidence(None)

    assert orphans(str(out), PACKAGES, nothing) == []
    assert orphans(str(out), ["east", "eu/south"], nothing) == ["eu/north", "west"]
    assert orphans(str(tmp_path / "nowhere"), [], nothing) == []


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_no_folder_that_was_looked_at_is_listed_again(
    call: Call, out: Path, monkeypatch: pytest.MonkeyPatch, jobs: str
) -> None:
    """An output has ten times as many files as its packages have."""
    write(out, {f"west/lab/{LIST}": "", f"west/.hidden/{LIST}": "", f"west/not{LIST}": "", "west/lab/deep/a.yaml": "a"})
    # Files that were just written prove nothing.
    monkeypatch.setattr("packwise.fleet.output.time_ns", lambda: time_ns() + 3600 * 10**9)
    call(*RENDER)
    seen: list[FolderEvidence] = []

    def noted(output: str, known: Collection[str], evidence: FolderEvidence) -> list[str]:
        seen.append(evidence)
        return orphans(output, known, evidence)

    monkeypatch.setattr("packwise.fleet.run.orphans", noted)
    ran = call(*RENDER, "--jobs", jobs)

    assert ran.stdout.splitlines()[-1] == "  1 folder of deleted packages; --prune empties them: out/west/lab"
    written = {name: sorted(seen[0].package_folders_in(str(out / name)) or ()) for name in PACKAGES}
    assert written == {"east": [""], "eu/north": [""], "eu/south": [""], "west": ["", "lab"]}
    assert seen[0].package_folders_in(str(out)) is None
