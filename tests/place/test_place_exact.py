"""The exact verdict in addition to KAI's: its properties, the cases of the specification, and changes that help."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packwise.extras import SOLVER
from packwise.place.cluster import read_scenario
from packwise.place.exact import PackingVerdict, exact_packing, hiding_rule, smallest_change
from packwise.schedulers.kai.allocate.session import allocate
from packwise.schedulers.kai.simulation import turn_of
from tests.place.checker import faults
from tests.place.strategies import HOST, RACK, ZONE, repeated, scenarios

pytestmark = pytest.mark.skipif(not SOLVER.is_installed, reason=SOLVER.advice)


@settings(max_examples=150)
@given(st.one_of(scenarios(jobs=2), repeated()))
def test_what_the_solver_refuses_kai_never_places(scenario: dict[str, Any]) -> None:
    start = read_scenario(scenario)
    session = allocate(start)
    for index, answer in enumerate(session.jobs):
        packing = exact_packing(turn_of(start, session, index))
        if answer.state == "allocated":
            assert packing.verdict is PackingVerdict.FITS
        if packing.verdict is PackingVerdict.FITS:
            placed = {pod.name: node for pod, node in session.placements[: answer.placed_before]} | dict(packing.nodes)
            assert faults(scenario, placed, scenario["jobs"][index]) == []
            assert len(packing.nodes) == len(scenario["jobs"][index]["tasks"])


def rack(*free: int, levels: tuple[str, ...] = (ZONE, RACK)) -> dict[str, Any]:
    """Return one rack of nodes with these numbers of GPUs."""
    nodes = [
        {"name": f"n{number}", "labels": {ZONE: "z", RACK: "r", HOST: f"n{number}"}, "gpu": gpus, "cpu": 64}
        for number, gpus in enumerate(free)
    ]
    return {"topologies": [{"name": "cluster", "levels": list(levels)}], "queues": [{"name": "q"}], "nodes": nodes}


def job(*gpus: int, constraint: dict[str, str] | None = None, **more: Any) -> dict[str, Any]:
    tasks = [{"name": f"j-{number}", "gpu": each, "cpu": 1} for number, each in enumerate(gpus)]
    bound = {"topologyConstraint": {"topology": "cluster", **constraint}} if constraint else {}
    return {"name": "j", "queue": "q", "minMember": len(gpus), "tasks": tasks, **bound, **more}


def verdict(scenario: dict[str, Any]) -> tuple[str, str, str, str]:
    start = read_scenario(scenario)
    session = allocate(start)
    turn = turn_of(start, session, 0)
    found = smallest_change(turn, {ZONE: "zone", RACK: "rack"})
    answer = session.jobs[0]
    rule = hiding_rule(answer).partition(";")[0]
    return answer.state, exact_packing(turn).verdict.value, rule, "" if found is None else found.change


@pytest.mark.parametrize(
    ("scenario", "expected"),
    [
        (
            rack(8, 8, 8) | {"jobs": [job(8, 4, 4, 4, 4, constraint={"required": RACK, "preferred": RACK})]},
            (
                "pending",
                "fits",
                "KAI counts every pod of the gang with the largest request of each resource",
                "3 pods instead of 5 of the gang",
            ),
        ),
        (
            rack(8, 8) | {"jobs": [job(8, 8, constraint={"required": ZONE})]},
            (
                "pending",
                "fits",
                "the required level is broader than the narrowest domain that holds all candidate nodes, and KAI "
                "counts free capacity only within that domain",
                "also prefer zone",
            ),
        ),
        (
            rack(6, 4, levels=(ZONE, RACK, HOST)) | {"jobs": [job(2, 4, 4)]},
            (
                "pending",
                "fits",
                "KAI places pod sets in the order of their names, and does not move a placed pod set",
                "2 pods instead of 3 of the gang",
            ),
        ),
    ],
    ids=["largest pod", "shared finer level", "greed"],
)
def test_the_rule_that_hides_a_packing_and_the_change_that_helps(
    scenario: dict[str, Any], expected: tuple[str, ...]
) -> None:
    assert verdict(scenario) == expected


def test_a_gang_that_is_too_large_fits_for_nobody() -> None:
    scenario = rack(8, 8) | {"jobs": [job(8, 8, 8, constraint={"required": RACK, "preferred": RACK})]}

    state, exact, _, change = verdict(scenario)

    assert (state, exact, change) == ("pending", "does not fit", "2 pods instead of 3 of the gang")


def test_a_constraint_that_kai_cannot_read_leaves_the_question_open() -> None:
    scenario = rack(8) | {"jobs": [job(8, constraint={"required": "nope"})]}
    start = read_scenario(scenario)

    assert exact_packing(start).verdict is PackingVerdict.OPEN


def test_a_broader_level_and_a_preferred_one_are_tried_before_fewer_pods() -> None:
    two = rack(8) | {"jobs": [job(8, 8, constraint={"required": RACK, "preferred": RACK})]}
    labels = {ZONE: "z", RACK: "s", HOST: "m"}
    two["nodes"].append({"name": "m", "labels": labels, "gpu": 8, "cpu": 64})
    assert verdict(two)[3] == "require zone instead of rack"

    two["nodes"][1]["labels"] = {**labels, ZONE: "y"}
    assert verdict(two)[3] == "prefer rack instead of requiring rack"
