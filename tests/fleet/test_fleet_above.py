"""The configuration above the folder of a fleet: on disk, in a commit, and for the cache."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.cli.calling import CONFIG, WORKLOAD, Call, write

FILES = {"c/x/topology.yaml": CONFIG, "c/x/app/web.yaml": WORKLOAD, "other/readme.yaml": "a: b\n"}
OTHER = CONFIG.replace("example.com/rack", "example.com/row")
WRONG = CONFIG.replace("    - {domain: rack, key: example.com/rack}\n", "")


@pytest.fixture(autouse=True)
def repository(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    for words in (("init", "--quiet"), ("add", "."), ("commit", "--quiet", "-m", "a")):
        git(tmp_path, *words)


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@example.com", *words], cwd=folder, check=True)


def statuses(call: Call, *words: str) -> dict[str, str]:
    ran = call("fleet", *words, "-o", "json")
    return {each["package"]: each["status"] for each in json.loads(ran.stdout)["packages"]}


def test_it_checks_as_check_does(call: Call, tmp_path: Path) -> None:
    assert statuses(call, "check", "c/x/app", "--no-cache") == {"c/x/app": "passing"}
    write(tmp_path, {"c/x/topology.yaml": WRONG})

    ran = call("fleet", "check", "c/x/app", "--no-cache")

    assert (ran.code, call("check", "c/x/app").code) == (1, 1)
    assert "c/x/app/web.yaml:10:38: " in ran.stdout


def test_a_change_above_is_one_of_the_packages_below(call: Call, tmp_path: Path) -> None:
    write(tmp_path, {"c/x/topology.yaml": OTHER})

    assert statuses(call, "check", "c/x/app", "--no-cache", "--changed-since", "git:HEAD") == {"c/x/app": "passing"}
    assert statuses(call, "diff", "c/x/app", "--no-cache", "--baseline", "git:HEAD") == {"c/x/app": "changed"}
    write(tmp_path, {"c/x/topology.yaml": CONFIG, "other/readme.yaml": "a: c\n"})
    assert statuses(call, "check", "c/x/app", "--no-cache", "--changed-since", "git:HEAD") == {"c/x/app": "unchanged"}


def test_a_change_above_is_no_answer_of_the_cache(call: Call, tmp_path: Path) -> None:
    words = ("check", "c/x/app", "--cache", "kept")
    assert [statuses(call, *words) for _ in range(2)] == [{"c/x/app": "passing"}] * 2
    write(tmp_path, {"c/x/topology.yaml": WRONG})
    assert statuses(call, *words) == {"c/x/app": "failing"}
    (tmp_path / "c/x/topology.yaml").write_bytes(CONFIG.encode() + b"  - ]\n")
    assert statuses(call, *words) == {"c/x/app": "failing"}
    write(tmp_path, {"c/x/topology.yaml": CONFIG})
    assert statuses(call, *words) == {"c/x/app": "passing"}


def test_what_is_above_the_repository_does_not_count(call: Call, tmp_path: Path) -> None:
    (tmp_path / "c/x/app/.git").mkdir()

    assert call("fleet", "check", "c/x/app", "--no-cache").code == 2


def test_a_folder_as_the_baseline_has_its_own(call: Call, tmp_path: Path) -> None:
    write(tmp_path / "before", {"c/x/topology.yaml": OTHER, "c/x/app/web.yaml": WORKLOAD})

    assert statuses(call, "diff", "c/x/app", "--no-cache", "--baseline", "before/c/x/app") == {"c/x/app": "changed"}


@pytest.mark.parametrize("prefix", ["", "git:"])
def test_a_change_starts_where_the_branch_left(call: Call, tmp_path: Path, prefix: str) -> None:
    """Later commits on the target branch are not part of the change.

    If merges cross, the change has several start commits.
    """
    write(tmp_path, {"d/topology.yaml": CONFIG, "d/web.yaml": WORKLOAD})
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "-m", "b")
    git(tmp_path, "branch", "target")
    git(tmp_path, "checkout", "--quiet", "-b", "change")
    write(tmp_path, {"c/x/topology.yaml": OTHER})
    git(tmp_path, "commit", "--quiet", "-am", "c")
    git(tmp_path, "checkout", "--quiet", "target")
    write(tmp_path, {"d/topology.yaml": OTHER})
    git(tmp_path, "commit", "--quiet", "-am", "d")
    git(tmp_path, "checkout", "--quiet", "change")

    for verb in ("check", "diff"):
        found = statuses(call, verb, ".", "--no-cache", "--changed-since", f"{prefix}target")
        assert found == {"c/x": "passing" if verb == "check" else "changed", "d": "unchanged"}
    git(tmp_path, "merge", "--quiet", "-m", "e", "target")
    git(tmp_path, "checkout", "--quiet", "target")
    git(tmp_path, "merge", "--quiet", "-m", "f", "change~1")
    found = statuses(call, "check", ".", "--no-cache", "--changed-since", f"{prefix}change")
    assert found == {"c/x": "passing", "d": "passing"}
