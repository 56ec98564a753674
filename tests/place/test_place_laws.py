"""Properties of every placement, for any scenario."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packwise.place.cluster import answers, read_scenario
from packwise.schedulers.kai.allocate.candidates import Rankings, Scores
from packwise.schedulers.kai.allocate.scene import KaiTopology, Node, Pod
from packwise.schedulers.kai.allocate.session import allocate
from packwise.schedulers.kai.allocate.state import ClusterState, DomainTree, NodeState, Orders
from tests.place.checker import faults
from tests.place.strategies import RACK, ZONE, repeated, scenarios

pytestmark = pytest.mark.slow


@settings(max_examples=300)
@given(st.one_of(scenarios(), repeated()))
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


class Naive:
    """KAI's own method: every node gets a new score for each pod, by the formulas of the specification."""

    def __init__(self, pod: Pod, nodes: Sequence[NodeState], scores: Scores | None) -> None:
        self.pod = pod
        self.nodes = nodes if scores is None else [node for node in nodes if scores.score(node) is not None]
        self.scores = scores

    def applies_to(self, _: Pod) -> bool:
        return False

    def best_node(self) -> NodeState | None:
        main = "nvidia.com/gpu" if dict(self.pod.request).get("nvidia.com/gpu") else "cpu"
        idle = [node.idle.get(main, 0) for node in self.nodes if node.node.allocatable.get(main, 0)]
        least, most = min(idle, default=0), max(idle, default=0)

        def score(node: NodeState) -> float:
            packed = 0.0
            if node.node.allocatable.get(main, 0) and most:
                packed = 9.0 if least == most else 9 * (1 - (node.idle.get(main, 0) - least) / (most - least))
            cpu_only = main == "cpu" and not node.node.allocatable.get("nvidia.com/gpu", 0)
            given = 0 if self.scores is None else self.scores.score(node) or 0
            return 1000 * node.fits(self.pod) + 10 * cpu_only + packed + given

        for node in sorted(self.nodes, key=lambda node: (-score(node), node.name)):
            if node.fits(self.pod) and not node.node.unschedulable:
                return node
        return None


def naive(_: Rankings, pod: Pod, nodes: Sequence[NodeState], scores: Scores | None) -> Naive:
    return Naive(pod, nodes, scores)


@settings(max_examples=300)
@given(scenarios(jobs=5))
def test_the_ranking_of_nodes_is_that_of_kais_scores(scenario: dict[str, Any]) -> None:
    quick = answers(allocate(read_scenario(scenario)))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Rankings, "ranking", naive)
        assert answers(allocate(read_scenario(scenario))) == quick


@settings(max_examples=300)
@given(repeated(), st.booleans())
def test_what_is_remembered_of_domains_is_what_is_there(scenario: dict[str, Any], crossed: bool) -> None:
    """Cached orders of domains stay correct from turn to turn, even if values with dots let domains cross."""
    if crossed:
        for place, node in enumerate(scenario["nodes"]):
            node["labels"] |= {ZONE: f"z{'.r' * (place % 2)}", RACK: f"{'r.' * (1 - place % 2)}{place // 3}"}
    remembered = answers(allocate(read_scenario(scenario)))

    def orders(cluster: ClusterState, tree: DomainTree, group: object) -> Orders:  # noqa: ARG001
        return Orders(tree)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ClusterState, "orders", orders)
        assert answers(allocate(read_scenario(scenario))) == remembered


def test_domains_cross_where_values_hold_dots() -> None:
    labels = [{ZONE: "z.r", RACK: "0"}, {ZONE: "z", RACK: "r.0"}]
    nodes = [NodeState(Node(f"n{place}", each, {}), place) for place, each in enumerate(labels)]

    tree = DomainTree(KaiTopology("t", (ZONE, RACK)), nodes)

    assert tree.is_crossed
    assert [domain.id for domain in tree.domains()] == ["root", "z.r", "z", "z.r.0"]
    assert not DomainTree(KaiTopology("t", (ZONE, RACK)), nodes[:1]).is_crossed
