"""The files at a path, with their order and names."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from packwise.inputs.paths import InputPath, find_files
from packwise.inputs.request import UsageError
from tests.cli.calling import write


@pytest.fixture(autouse=True)
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = ["b.yaml", "a/z.yml", "a.yaml", "a/b/c.json", "B.yaml", "ä.yaml", "a/.hid.yaml", ".git/x.yaml", "README.md"]
    write(tmp_path / "in", dict.fromkeys(names, "a: 1\n"))
    write(tmp_path / "out", {"o.yaml": "a: 1\n"})


IN_ORDER = ["B.yaml", "a.yaml", "a/b/c.json", "a/z.yml", "b.yaml", "ä.yaml"]

NAMES = {
    "in": [InputPath(f"in/{name}", name) for name in IN_ORDER],
    "./in/": [InputPath(f"in/{name}", name) for name in IN_ORDER],
    "out/../in": [InputPath(f"out/../in/{name}", name) for name in IN_ORDER],
    "in/README.md": [InputPath("in/README.md", "README.md")],
    "./in//a.yaml": [InputPath("in/a.yaml", "a.yaml")],
    "-": [InputPath()],
}


@pytest.mark.parametrize("path", NAMES)
def test_names(path: str) -> None:
    assert find_files(path) == (NAMES[path], [])


def test_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path / "in")

    assert find_files(".") == ([InputPath(name, name) for name in IN_ORDER], [])


@pytest.mark.parametrize(
    ("output", "left"),
    [
        ("in/a", ["B.yaml", "a.yaml", "b.yaml", "ä.yaml"]),
        ("in/a/b", [*IN_ORDER[:2], *IN_ORDER[3:]]),
        ("in", IN_ORDER),
        (".", IN_ORDER),
    ],
)
def test_output_within_the_input_is_not_read(output: str, left: list[str]) -> None:
    assert [found.target for found in find_files("in", output)[0]] == left


def test_links_within_the_folder_are_read_once_under_the_real_name(tmp_path: Path) -> None:
    (tmp_path / "in" / "A-link.yaml").symlink_to("b.yaml")
    (tmp_path / "in" / "x-link.yaml").symlink_to(".git/x.yaml")
    (tmp_path / "in" / "c").symlink_to("a")

    found, results = find_files("in")

    assert [one.target for one in found] == [*IN_ORDER[:5], "x-link.yaml", "ä.yaml"]
    assert results == []


def test_folders_behind_links_are_read(tmp_path: Path) -> None:
    """A cluster mounts a ConfigMap in this way: every name is a link into a hidden folder."""
    write(tmp_path / "mount", {"..1/sub/a.yaml": "a: 1\n"})
    (tmp_path / "mount" / "..data").symlink_to("..1")
    (tmp_path / "mount" / "sub").symlink_to("..data/sub")

    assert find_files("mount") == ([InputPath("mount/sub/a.yaml", "sub/a.yaml")], [])


def test_loops_end(tmp_path: Path) -> None:
    (tmp_path / "in" / "self").symlink_to(".")
    (tmp_path / "in" / "a" / "up").symlink_to("../../in")

    assert find_files("in") == ([InputPath(f"in/{name}", name) for name in IN_ORDER], [])


def test_links_out_of_the_folder_or_to_no_file_are_named(tmp_path: Path) -> None:
    (tmp_path / "in" / "o.yaml").symlink_to("../out/o.yaml")
    (tmp_path / "in" / "more").symlink_to("../out")
    (tmp_path / "in" / "host").symlink_to("/etc/hostname")
    for name, target in {"gone": "gone.yaml", "far": "../gone.yaml", "loop": "loop.yaml"}.items():
        (tmp_path / "in" / f"{name}.yaml").symlink_to(target)

    found, results = find_files("in")

    assert [one.target for one in found] == IN_ORDER
    why = (
        "packwise does not follow this link, because it leads out of the folder; pass its target, or copy it "
        "[outside-link]"
    )
    gone = ", which does not exist; restore the file, or remove the link [outside-link]"
    assert sorted(result.line_of_text() for result in results) == [
        'warning: in/far.yaml: is a link to "../gone.yaml"' + gone,
        'warning: in/gone.yaml: is a link to "gone.yaml"' + gone,
        'warning: in/loop.yaml: is a link to "loop.yaml"' + gone,
        f"warning: in/more: {why}",
        f"warning: in/o.yaml: {why}",
    ]


def test_a_pipe_in_a_folder_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "in" / "pipe.yaml")

    assert [one.target for one in find_files("in")[0]] == IN_ORDER


@pytest.mark.parametrize("name", [".gitignore", "kustomization.yaml", "a/.gitignore"])
def test_a_file_that_says_what_others_are_is_read_whole_or_refused(name: str, tmp_path: Path) -> None:
    """A sparse file of any size needs no space on a disk."""
    with (tmp_path / "in" / name).open("wb") as file:
        file.truncate(900 << 20)

    with pytest.raises(UsageError) as error:
        find_files("in")

    assert str(error.value) == f'"in/{name}" must be at most 16 MiB; it selects the files to read'


def test_a_folder_that_cannot_be_listed_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = os.scandir

    def refuse(folder: Path) -> Iterator[os.DirEntry[str]]:
        if folder.name == "a":
            raise PermissionError(13, "Permission denied")
        return listed(folder)

    monkeypatch.setattr(os, "scandir", refuse)

    found, results = find_files("in")

    assert [one.target for one in found] == ["B.yaml", "a.yaml", "b.yaml", "ä.yaml"]
    lines = [result.line_of_text() for result in results]
    assert lines == ["error: in/a: cannot read the file: Permission denied [readable]"]
