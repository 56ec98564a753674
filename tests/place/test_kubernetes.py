"""`place` for groups of the default scheduler: the example on a small cluster, in the JSON for programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from packwise.inputs.groups import read_inputs
from packwise.inputs.request import Named
from packwise.pipeline import render
from packwise.place.run import as_json, place_render
from packwise.schedulers.kai.snapshot import read_snapshot
from tests.places import ROOT

EXAMPLE = ROOT / "examples" / "kubernetes-gangs"


def node(name: str, zone: str, rack: str) -> dict[str, Any]:
    labels = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": zone, "example.com/rack": rack}
    amounts = {"cpu": "64", "memory": "512Gi", "pods": "110", "nvidia.com/gpu": "8"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"allocatable": amounts},
    }


def gangs(*nodes: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the answers for the example on these nodes, without the fields that are the same in all answers."""
    rendered = render(read_inputs(Named((str(EXAMPLE),))).package)
    listed = json.loads(as_json(place_render(rendered, read_snapshot(nodes))))["gangs"]
    return [
        {key: gang[key] for key in ("name", "state", "placedPods", "domain", "podSets", "message")} for gang in listed
    ]


def rack(name: str, zone: str, count: int) -> list[dict[str, Any]]:
    return [node(f"{name}-{number}", zone, name) for number in range(count)]


def test_a_service_fits_in_the_only_zone_whose_racks_hold_its_roles() -> None:
    assert gangs(*rack("a1", "a", 4), *rack("a2", "a", 2), *rack("b1", "b", 3), *rack("b2", "b", 3)) == [
        {
            "name": "llm",
            "state": "allocated",
            "placedPods": 6,
            "domain": "a",
            "podSets": [
                {"name": "llm-prefill", "domain": "a1", "nodes": []},
                {"name": "llm-decode", "domain": "a2", "nodes": []},
            ],
            "message": "",
        }
    ]


def test_a_service_without_a_zone_for_it_waits() -> None:
    (gang,) = gangs(*rack("a1", "a", 3), *rack("b1", "b", 3))

    assert (gang["state"], gang["domain"], gang["placedPods"]) == ("pending", "", 0)


def test_nodes_without_the_label_are_no_domain() -> None:
    bare = node("bare", "a", "a1")
    bare["metadata"]["labels"] = {}

    (gang,) = gangs(bare)

    assert (gang["state"], gang["message"]) == ("pending", "no feasible placements found")


def test_an_unnamed_release_is_the_one_that_check_assumes(tmp_path: Path) -> None:
    for path in EXAMPLE.glob("*.yaml"):
        lines = [line for line in path.read_text("utf-8").splitlines() if "version: v1.37" not in line]
        (tmp_path / path.name).write_text("\n".join(lines).replace("v1alpha3", "v1beta1"), "utf-8")
    rendered = render(read_inputs(Named((str(tmp_path),))).package)
    (assumed,) = [result.message for result in rendered.results if result.tags["rule"] == "kubernetes-release-unnamed"]

    placed = place_render(rendered, read_snapshot(rack("a1", "a", 8)))

    (gang,) = json.loads(as_json(placed))["gangs"]
    assert "v1.38" in assumed
    assert any("Kubernetes 1.38" in note for note in gang["notes"])
