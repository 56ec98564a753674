"""`packwise fleet --crds` validates every package as the API server of its cluster does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.calling import CONFIG, Call, write
from tests.cli.test_cli_crds import BRONZE, GOLD, WORKLOADS, crd
from tests.cli.test_cli_place import node
from tests.fleet.test_fleet_command import git
from tests.fleet.trees import KPTFILE

CHECK = ("fleet", "check", "clusters", "--crds", "crds")
RENDER = ("fleet", "render", "clusters", "--crds", "crds", "-o", "out")


@pytest.fixture(autouse=True)
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return two packages, and the CRDs of a cluster that does not accept `bronze`."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / ".cache"))
    (tmp_path / ".git").mkdir()
    write(tmp_path, {"clusters/east/topology.yaml": CONFIG, "clusters/east/web.yaml": GOLD})
    write(tmp_path, {"clusters/north/topology.yaml": CONFIG, "clusters/north/web.yaml": BRONZE})
    write(tmp_path, {"clusters/north/Kptfile": KPTFILE, "crds/pcs.json": WORKLOADS})
    return tmp_path


def packages(text: str) -> dict[str, dict[str, Any]]:
    return {each["package"]: each for each in json.loads(text)["packages"]}


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_package_is_checked_as_by_itself(call: Call, jobs: str) -> None:
    ran = call(*CHECK, "--jobs", jobs, "-o", "json")

    alone = call("check", "clusters/north", "--crds", "crds", "-o", "json").findings
    checked = packages(ran.stdout)
    assert ran.code == 1
    assert (checked["clusters/east"]["status"], checked["clusters/north"]["status"]) == ("passing", "failing")
    assert [(each["rule"], each["message"], each["line"]) for each in checked["clusters/north"]["findings"]] == [
        (each["rule"], each["message"], each["line"]) for each in alone
    ]


def test_other_definitions_are_another_answer(call: Call, fleet: Path) -> None:
    assert call(*CHECK).code == 1
    write(fleet, {"crds/pcs.json": WORKLOADS.replace('"silver"', '"bronze"')})
    assert call(*CHECK).code == 0
    assert call("fleet", "check", "clusters").stdout.startswith("2 packages: 2 failing\n")


def test_what_they_refuse_is_not_written(call: Call, fleet: Path) -> None:
    ran = call(*RENDER)

    assert (ran.code, ran.stdout.splitlines()[0]) == (1, "2 packages: 1 failing, 1 new")
    assert [path.name for path in (fleet / "out").iterdir()] == ["east"]


@pytest.mark.parametrize(
    ("files", "code", "message"),
    [
        ({}, 2, 'error: --crds "crds" has no CRD of a kind that packwise reads or writes\n'),
        (
            {"crds/pcs.json": "{kind: [\n"},
            1,
            "error: crds/pcs.json:2:1: ",
        ),
    ],
    ids=["none", "not readable"],
)
def test_definitions_that_cannot_be_used_end_the_run(
    call: Call, fleet: Path, files: dict[str, str], code: int, message: str
) -> None:
    (fleet / "crds/pcs.json").unlink()
    write(fleet, {"crds/other.json": crd("example.com", "Other", {"type": "object"}), **files})

    ran = call(*RENDER)

    assert (ran.code, ran.stdout, ran.stderr[: len(message)]) == (code, "", message)
    assert not (fleet / "out").exists()


def test_what_is_wrong_with_one_is_at_its_file_wherever_the_user_is(
    call: Call, fleet: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(fleet, {"crds/pcs.json": WORKLOADS.replace('"integer"', '"number of them"')})
    at_top = packages(call(*CHECK, "-o", "json").stdout)["clusters/east"]["findings"]
    monkeypatch.chdir(fleet / "clusters/east")

    here = packages(call("fleet", "check", "..", "--crds", "../../crds", "-o", "json").stdout)["."]["findings"]

    assert [(each["rule"], each["file"]) for each in at_top] == [("crd-schema", "crds/pcs.json")]
    assert [(each["rule"], each["file"]) for each in here] == [("crd-schema", "../../crds/pcs.json")]


def test_nodes_are_named_by_their_file_wherever_the_user_is(
    call: Call, fleet: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes = {"kind": "List", "items": [node("n1", "a", "r1")]}
    write(fleet, {"nodes.json": "[]", "nodes/east.json": "[]", "nodes/north.json": json.dumps(nodes)})
    monkeypatch.chdir(fleet / "clusters/east")

    whole = call("fleet", "place", "..", "--nodes", "../../nodes.json", "-o", "json")
    each = call("fleet", "place", "..", "--nodes", "../../nodes", "-o", "json")

    assert packages(whole.stdout)["."]["findings"][0]["file"] == "../../nodes.json"
    assert packages(each.stdout)["."]["findings"][0]["file"] == "../../nodes/east.json"


def test_a_change_of_the_definitions_reaches_all_packages(call: Call, fleet: Path) -> None:
    (fleet / ".git").rmdir()
    write(fleet, {"clusters/north/web.yaml": GOLD, "crds/README.md": "mine\n", ".gitignore": "*.json.orig\n"})
    for words in (["init"], ["add", "-A"], ["commit", "-m", "x"]):
        git(fleet, *words)
    since = (*CHECK, "--changed-since", "git:HEAD")
    nothing = "2 packages: 2 unchanged\n"

    write(fleet, {"crds/README.md": "yours\n", "crds/pcs.json.orig": "{}", "elsewhere/crds/pcs.json": WORKLOADS})
    assert call(*since).stdout == nothing
    assert call(*since[:-3], "elsewhere/crds", *since[-2:]).stdout.startswith("2 packages: 2 passing\n")
    write(fleet, {"crds/pcs.json": WORKLOADS.replace('"gold"', '"platinum"')})
    assert call(*since).stdout.startswith("2 packages: 2 failing\n")
    file = (*CHECK[:-1], "crds/pcs.json", *since[-2:])
    assert call(*file).stdout.startswith("2 packages: 2 failing\n")
    write(fleet, {"crds/pcs.json": WORKLOADS, "crds/gang.json": crd("example.com", "Other", {"type": "object"})})
    assert call(*since).stdout.startswith("2 packages: 2 passing\n")
    assert call(*file).stdout == nothing


def test_a_rule_that_cannot_be_evaluated_is_reported_for_each_package(call: Call, fleet: Path) -> None:
    """Packages share the schemas of a CRD, but not the reports about it."""
    rules = [{"rule": "nonsense(", "message": "never"}]
    spec = {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "x-kubernetes-validations": rules}
    write(fleet, {"crds/pcs.json": crd("grove.io", "PodCliqueSet", spec)})

    checked = packages(call(*CHECK, "-o", "json").stdout)

    found = {name: [each["rule"] for each in package["findings"]] for name, package in checked.items()}
    assert found == {"clusters/east": ["crd-rule"], "clusters/north": ["crd-rule"]}
