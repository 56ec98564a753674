"""`comment`, `report` and `fleet place` describe every example in the words of `place`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.cli.calling import Call
from tests.cli.test_cli_drawing import data_of
from tests.places import ROOT

EXAMPLES = [
    "disaggregated-inference",
    "dynamo-graph",
    "dynamo-services",
    "first-design",
    "osmo-training",
    "podgroups",
    "second-design",
    "several-topologies",
    "two-topologies",
]


@pytest.fixture(params=EXAMPLES)
def package(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return an example with a cluster of few objects, so that gangs have notes."""
    shutil.copytree(ROOT / "examples" / request.param, tmp_path / "in" / "package")
    nodes = (ROOT / "examples" / "nodes.yaml").read_text(encoding="utf-8")
    (tmp_path / "nodes.yaml").write_text(nodes.partition("- apiVersion: scheduling.run.ai")[0], encoding="utf-8")
    return "in/package"


def placed(call: Call, package: str) -> tuple[int, dict[str, Any]]:
    ran = call("place", package, "--nodes", "nodes.yaml", "-o", "json")
    assert ran.stdout, ran.stderr
    return ran.code, json.loads(ran.stdout)


def test_a_comment_says_what_place_says(call: Call, package: str) -> None:
    code, answer = placed(call, package)

    alone = call("place", package, "--nodes", "nodes.yaml", "-o", "markdown").stdout
    comment = call("comment", package, "--nodes", "nodes.yaml")

    assert alone[alone.index("### Where") :].strip() in comment.stdout
    assert not code or comment.code
    for gang in answer["gangs"]:
        assert gang["notes"]
        for line in (*gang["reasons"], *gang["notes"]):
            assert line in comment.stdout


def test_a_report_says_what_place_says(call: Call, package: str) -> None:
    code, answer = placed(call, package)

    ran = call("report", package, "--nodes", "nodes.yaml", "-o", "html")

    assert ran.code == code
    # The page first lists the gangs that do not fit.
    gangs = sorted(answer["gangs"], key=lambda gang: gang["state"] != "pending")
    for gang, drawn in zip(gangs, data_of(ran.stdout)["gangs"], strict=True):
        outcome = drawn["after"]
        assert drawn["parts"][0][0] == gang["name"]
        assert (outcome["state"], outcome["placed"], outcome["domain"]) == (
            gang["state"],
            gang["placedPods"],
            gang["domain"],
        )
        assert (outcome["reasons"], drawn["notes"]) == (gang["reasons"], gang["notes"])
        assert outcome["message"] == gang["message"].splitlines()


@pytest.mark.usefixtures("package")
def test_a_report_without_nodes_has_no_notes_on_a_cluster(call: Call) -> None:
    ran = call("report", "in/package", "-o", "html")

    assert ran.code == 0, ran.stderr
    assert [gang["notes"] for gang in data_of(ran.stdout)["gangs"] if gang["notes"]] == []


def test_a_fleet_says_what_place_says(call: Call, package: str) -> None:
    _, answer = placed(call, package)
    gangs = answer["gangs"]

    ran = call("fleet", "place", "in", "--nodes", "nodes.yaml", "-o", "json", "--no-cache")

    if not any("kind: TopologyRender" in file.read_text() for file in Path("in").rglob("*.yaml")):
        assert "has no packages" in ran.stderr
        return
    (result,) = json.loads(ran.stdout)["packages"]
    assert result["placed"] == {
        "gangs": len(gangs),
        "pending": [full_name(gang) for gang in gangs if gang["state"] in ("pending", "notready")],
        "noLongerFit": [],
        "noted": [full_name(gang) for gang in gangs if gang["notes"]],
    }


def full_name(gang: dict[str, Any]) -> str:
    return f"{gang['namespace']}/{gang['name']}"
