"""A commit as the baseline. packwise reads it through git, and changes nothing in the checkout."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.cli.calling import Call, write

AUTHOR = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.com",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.com",
    # A commit would start two more processes, to check if it is time to pack.
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "maintenance.auto",
    "GIT_CONFIG_VALUE_0": "false",
}
CHANGED = (
    "update-topology-constraint",
    'must stay "rack" once the PodCliqueSet exists; got "zone"; to change this, delete the '
    "PodCliqueSet and its rendered PodGangs, and create it again",
    "in/web/workload.yaml",
)


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, env={**os.environ, **AUTHOR}, check=True, capture_output=True)


@pytest.fixture
def repository(package: Path) -> Path:
    """Return the package, committed as `main`, with a constraint that changed afterwards."""
    root = package.parent
    git(root, "init", "--quiet", "--initial-branch=main")
    git(root, "add", ".")
    git(root, "commit", "--quiet", "--message", "one")
    workload = package / "web" / "workload.yaml"
    workload.write_text(workload.read_text(encoding="utf-8").replace("packDomain: rack", "packDomain: zone"), "utf-8")
    return root


@pytest.mark.parametrize(
    "paths", [["in"], ["in/topology.yaml", "in/web"], ["in/topology.yaml", "in/web/workload.yaml"]]
)
@pytest.mark.parametrize("commit", ["main", "HEAD", "@"])
def test_changes_since_a_commit_are_updates(call: Call, repository: Path, commit: str, paths: list[str]) -> None:
    ran = call("check", *paths, "--baseline", f"git:{commit}", "-o", "json")

    assert [(f["rule"], f["message"], f["file"]) for f in ran.findings if f["severity"] == "error"] == [CHANGED]
    assert repository.exists()


def test_nothing_of_the_checkout_is_touched(call: Call, repository: Path) -> None:
    write(repository, {"in/untracked.yaml": "a: 1\n"})
    before = {path: path.read_bytes() for path in repository.rglob("*") if path.is_file()}

    call("check", "in", "--baseline", "git:main")

    assert {path: path.read_bytes() for path in repository.rglob("*") if path.is_file()} == before


def test_what_was_not_there_yet_is_new(call: Call, repository: Path) -> None:
    git(repository, "rm", "--quiet", "--cached", "in/web/workload.yaml")
    git(repository, "commit", "--quiet", "--message", "two")

    assert call("check", "in", "--baseline", "git:main").code == 0
    assert call("check", "in", "--baseline", "git:main~1").code == 1


@pytest.mark.parametrize(
    ("commit", "text"),
    [
        (
            "nothing",
            'error: git does not have the commit "git:nothing" here; in CI, fetch it first (fetch-depth: 0 on GitHub, '
            'GIT_DEPTH: "0" on GitLab), because a shallow clone has only the newest commit\n',
        ),
        ("", 'error: "git:" does not name a commit; use a branch, a tag or a hash\n'),
        ("--help", 'error: "git:--help" does not name a commit; use a branch, a tag or a hash\n'),
        ("^HEAD", 'error: "git:^HEAD" does not name a commit; use a branch, a tag or a hash\n'),
    ],
)
def test_what_is_no_commit_is_wrong_usage(call: Call, repository: Path, commit: str, text: str) -> None:
    ran = call("check", "in", "--baseline", f"git:{commit}")

    assert (ran.code, ran.stdout, ran.stderr) == (2, "", text)
    assert repository.exists()


def test_findings_in_the_baseline_name_the_commit(call: Call, repository: Path) -> None:
    write(repository, {"in/web/service.yaml": "kind: A\na: [\n"})
    git(repository, "commit", "--quiet", "--all", "--message", "broken")
    write(repository, {"in/web/service.yaml": "a: 1\n"})

    ran = call("check", "in", "--baseline", "git:main", "-o", "json")

    assert [f["file"] for f in ran.findings] == ["main:in/web/service.yaml"]


def test_a_file_of_a_commit_that_is_no_text_is_reported(call: Call, repository: Path) -> None:
    (repository / "in" / "web" / "service.yaml").write_bytes(b"a: \xff\n")
    git(repository, "commit", "--quiet", "--all", "--message", "bytes")
    write(repository, {"in/web/service.yaml": "a: 1\n"})

    ran = call("check", "in", "--baseline", "git:main", "-o", "json")

    assert [(f["file"], f["rule"], f["message"]) for f in ran.findings] == [
        (
            "main:in/web/service.yaml",
            "readable",
            "must be UTF-8; got byte 0xff at offset 3; if the file belongs to another tool, pass --exclude GLOB",
        )
    ]
