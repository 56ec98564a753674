"""What holds of every placing, whatever the scenario."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings

from packwise.commands.place.scenario import answers, read_scenario
from packwise.schedulers.kai.allocate import allocate
from tests.place.checker import faults
from tests.place.strategies import scenarios


@settings(max_examples=300)
@given(scenarios())
def test_a_placing_satisfies_every_constraint(scenario: dict[str, Any]) -> None:
    answered = answers(allocate(read_scenario(scenario)))["jobs"]
    placement = {pod: node for job in answered for pod, node in job["placement"].items() if node}

    assert [fault for job in scenario["jobs"] for fault in faults(scenario, placement, job)] == []


@settings(max_examples=200)
@given(scenarios())
def test_a_gang_runs_whole_or_not_at_all(scenario: dict[str, Any]) -> None:
    for job in answers(allocate(read_scenario(scenario)))["jobs"]:
        placed = [bool(node) for node in job["placement"].values()]
        assert all(placed) if job["state"] == "allocated" else not any(placed)


@settings(max_examples=200)
@given(scenarios())
def test_the_order_of_the_nodes_says_nothing(scenario: dict[str, Any]) -> None:
    turned = {**scenario, "nodes": scenario["nodes"][::-1]}

    assert answers(allocate(read_scenario(turned))) == answers(allocate(read_scenario(scenario)))
