"""Whole answers for small clusters with a few jobs each.

The clusters were generated and chosen to reach every branch.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from packwise.place.cluster import answers, read_scenario
from packwise.schedulers.kai.allocate.session import allocate
from tests.places import TESTDATA

SCENARIOS = sorted((TESTDATA / "place" / "scenarios").glob("[0-9][0-9].json"))


@pytest.mark.parametrize("scenario", [pytest.param(path, id=path.stem) for path in SCENARIOS])
def test_the_answer_is_on_record(scenario: Path, assert_expected: Callable[[str, str], None]) -> None:
    session = allocate(read_scenario(json.loads(scenario.read_text(encoding="utf-8"))))

    answer = {"attempts": list(session.attempts), **answers(session)}
    assert_expected(f"place/scenarios/{scenario.stem}.answer.json", json.dumps(answer, indent=1) + "\n")


@pytest.mark.parametrize(("strategy", "fits"), [("mixed", False), ("single", True), ("", True)])
def test_nodes_of_a_scenario_have_slices_where_their_labels_say_so(strategy: str, fits: bool) -> None:
    labels = {"node-role.kubernetes.io/mig-enabled": "1", "nvidia.com/mig.strategy": strategy}
    tasks = [{"name": "a-0", "gpu": 1, "cpu": 1, "memoryGi": 1}]
    scenario = {
        "topologies": [],
        "queues": [{"name": "q"}],
        "nodes": [{"name": "n", "labels": labels, "gpu": 8, "cpu": 32, "memoryGi": 128}],
        "jobs": [{"name": "a", "queue": "q", "priority": 50, "minMember": 1, "tasks": tasks}],
    }

    (answer,) = answers(allocate(read_scenario(scenario)))["jobs"]

    assert (answer["state"] == "allocated") == fits
