"""KAI's own answers: the Topologies that its API server and webhook accept, and the levels that its scheduler tries."""

from __future__ import annotations

import gzip
import json
from typing import Any

from krmfn import KubeObject
from krmfn.result import Severity
from packwise.schedulers.kai.podgroup_rules import Search, read_topology, searches
from tests.golden.cases import GOLDEN
from tests.schedulers.test_users_objects import findings_of_users

FILE = GOLDEN / "workloads" / "kai-topology.jsonl.gz"


def rows(kind: str) -> list[dict[str, Any]]:
    with gzip.open(FILE, "rt", encoding="utf-8") as file:
        return [row for line in file if (row := json.loads(line))["kind"] == kind]


def refusals(value: dict[str, Any], old: dict[str, Any] | None) -> list[str | None]:
    """Return KAI's text of each error about a Topology, for KAI v0.17."""
    (item, *before) = [KubeObject.new(each) for each in (value, old) if each is not None]
    found = findings_of_users("  kai: {version: v0.17}\n", (item,), tuple(before))
    return [finding.operator_message for finding in found if finding.severity is Severity.ERROR]


def answer_of(search: Search) -> dict[str, Any]:
    texts = {"levels": list(search.levels), "podMessage": search.pod_message, "schedulerLog": search.log}
    said = {name: text for name, text in texts.items() if text}
    return {"subGroup": search.sub_group, "constrained": search.is_constrained, **said}


def test_which_topologies_are_taken() -> None:
    texts = {row["id"]: refusals(row["object"], row.get("old")) for row in rows("Topology")}

    expected: dict[str, list[str | None]] = {}
    for row in rows("Topology"):
        answer = row["answer"]
        if "notServed" in answer:
            # Another rule reports it for objects of any kind.
            expected[row["id"]] = []
        elif "errors" in answer:
            expected[row["id"]] = [error["message"] for error in answer["errors"]]
        else:
            expected[row["id"]] = [] if answer["allowed"] else [answer["message"]]
    assert texts == expected


def test_which_levels_are_tried() -> None:
    for row in rows("Scheduler"):
        topologies = {topology.name: topology for topology in map(read_topology, row["topologies"])}

        assert [answer_of(search) for search in searches(row["podGroup"], topologies)] == row["answer"], row["id"]
