"""The default scheduler's placements: answers of its own code, and facts that hold for every order that it may use."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from packwise.objects.index import Index
from packwise.revisions.kubernetes import kubernetes_release
from packwise.schedulers.kubernetes.scene import build_model, group_id, read_nodes, read_roots
from packwise.schedulers.kubernetes.search import NodeClass, Scene, Shape, Tree, decide
from tests.frontends.workloads.workloads import parsed
from tests.golden.cases import GOLDEN
from tests.tables import each

GOLDENS = GOLDEN / "workloads" / "kubernetes.jsonl.gz"


@cache
def rows() -> Mapping[str, Any]:
    with gzip.open(GOLDENS, "rt", encoding="utf-8") as lines:
        every = [json.loads(line) for line in lines]
    return {row["case"]: row for row in every if "place" in row}


@each(rows)
def test_a_tree_comes_out_as_in_the_scheduler(row: Any) -> None:
    release = kubernetes_release("v" + row["settings"]["kubernetes"])
    gates = release.effective_gates([gate for gate, is_on in row["settings"]["featureGates"].items() if is_on])
    nodes, running = read_nodes(row["nodes"]["items"])
    roots = read_roots(Index.of(parsed(row["files"]["input.yaml"])), gates, running, {})

    for expected in row["place"]:
        (root,) = [root for root in roots if root.group.name == expected["name"]]
        model = build_model(root, nodes, release)
        verdict = decide(model.tree, model.scene)
        domains = {leaf.name: verdict.domains.get(group_id(leaf), "") for leaf in root.leaves}
        assert (set(verdict.states), verdict.domains.get(model.tree.name, ""), domains) == (
            set(expected["states"]),
            expected["domain"],
            expected["podSets"],
        )


def node(zone: str, pods: int, size: int = 1) -> NodeClass:
    return NodeClass(size, (pods,), (("zone", zone),), (True, True), cpu=pods, memory=pods)


ONE, TWO = Shape((1,), 1, 1), Shape((2,), 2, 2)


def test_too_many_orders_are_not_all_tried_and_name_no_domain() -> None:
    # Each node has a different size, so that few ways to fill the nodes are alike.
    scene = Scene(tuple([node("a", 3 + number) for number in range(14)]), (ONE, TWO))
    tree = Tree("root", 2, "zone", (Tree("a", 30, pods=(30, 0)), Tree("b", 10, pods=(0, 10))), is_composite=True)

    verdict = decide(tree, scene)

    assert (verdict.is_partial, verdict.states, dict(verdict.domains)) == (True, ("allocated",), {})


def test_one_of_many_alike_domains_is_not_named() -> None:
    scene = Scene(tuple([node(f"z{number}", 8, size=2) for number in range(400)]), (ONE, TWO))

    verdict = decide(Tree("root", 16, "zone", pods=(16, 0)), scene)

    assert (verdict.states, dict(verdict.domains)) == (("allocated",), {})


def test_no_zone_holds_the_minimum() -> None:
    scene = Scene((node("a", 3), node("b", 2)), (ONE, TWO))

    assert decide(Tree("root", 4, "zone", pods=(4, 0)), scene).states == ("pending",)
