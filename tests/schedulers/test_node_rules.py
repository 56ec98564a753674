"""What `check --nodes` says of topologies on the nodes of a cluster, which KAI passes over in silence."""

from __future__ import annotations

from typing import Any

import pytest

from krmfn.kubeobject import KubeObject
from packwise.pipeline import render
from packwise.select.selection import Package
from tests.cli.calling import CONFIG, WORKLOAD

ZONE, RACK = "topology.kubernetes.io/zone", "example.com/rack"
RULES = ("level-on-no-node", "node-outside-topology", "domain-in-two-parents", "topology-in-cluster-differs")


def node(name: str, zone: str = "", rack: str = "", gpus: int = 8) -> dict[str, Any]:
    labels = {key: value for key, value in ((ZONE, zone), (RACK, rack)) if value}
    allocatable = {"nvidia.com/gpu": str(gpus)} if gpus else {}
    return {"kind": "Node", "metadata": {"name": name, "labels": labels}, "status": {"allocatable": allocatable}}


def topology(*levels: str) -> dict[str, Any]:
    return {
        "kind": "Topology",
        "metadata": {"name": "grove-topology"},
        "spec": {"levels": [{"nodeLabel": level} for level in levels]},
    }


def said(*objects: dict[str, Any], workload: str = WORKLOAD, more: str = "") -> list[tuple[str, str, str]]:
    items = [KubeObject.parse(text) for text in (CONFIG, workload, more) if text]
    results = render(Package(tuple(items), nodes=objects)).results
    return [
        (result.tags["rule"], result.field.path if result.field else "", result.message)
        for result in results
        if result.tags["rule"] in RULES
    ]


LEVELS = "spec.topologyAwareScheduling.levels"


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        ([], []),
        ([node("n0", "a", "r0"), node("n1", "a", "r1")], []),
        (
            [node("n0", "a"), node("n1", "a")],
            [
                (
                    "level-on-no-node",
                    f"{LEVELS}[1]",
                    'must be a label of nodes; none of 2 carries "example.com/rack", so that all of them are outside '
                    'of topology "grove-topology" and KAI places no pod that it bounds: label the nodes, or drop the '
                    "level",
                )
            ],
        ),
        (
            [node("n0", "a", "r0"), *(node(f"n{number}", "a") for number in range(1, 6))],
            [
                (
                    "node-outside-topology",
                    f"{LEVELS}[1]",
                    'is no label of 5 of 6 nodes: n1, n2, n3 and 2 more lack "example.com/rack"; KAI places no pod on '
                    "them that the topology bounds, not even by a preferred level: label them",
                )
            ],
        ),
        ([node("n0", "a", "r0"), node("login", "a", gpus=0), node("bare")], []),
        (
            [node("n0", "a", "r0", 0), node("n1", "a", gpus=0)],
            [
                (
                    "node-outside-topology",
                    f"{LEVELS}[1]",
                    'is no label of 1 of 2 nodes: n1 lack "example.com/rack"; KAI places no pod on them that the '
                    "topology bounds, not even by a preferred level: label them",
                )
            ],
        ),
        (
            [node("n0", "a", "r0"), node("n1", "b", "r0"), node("n2", "b", "r1")],
            [
                (
                    "domain-in-two-parents",
                    f"{LEVELS}[1]",
                    f'names domains that stand in several of "{ZONE}": "r0" in a, b; KAI takes each for domains of '
                    "their own: correct the labels where they are one",
                )
            ],
        ),
        (
            [node(f"n{zone}{rack}", zone, f"r{rack}") for zone in "ab" for rack in range(4)],
            [
                (
                    "domain-in-two-parents",
                    f"{LEVELS}[1]",
                    f'names domains that stand in several of "{ZONE}": "r0" in a, b; "r1" in a, b; "r2" in a, b, and 1 '
                    "more; KAI takes each for domains of their own",
                )
            ],
        ),
    ],
    ids=["none", "whole", "unused", "outside", "without GPUs", "no GPUs at all", "split", "names anew"],
)
def test_labels_of_nodes(nodes: list[dict[str, Any]], expected: list[tuple[str, str, str]]) -> None:
    assert said(*nodes) == expected


def test_a_topology_of_kai_that_a_user_wrote_is_judged_too() -> None:
    written = """\
apiVersion: kai.scheduler/v1alpha1
kind: Topology
metadata: {name: mine}
spec: {levels: [{nodeLabel: example.com/block}]}
"""

    assert [(rule, path) for rule, path, _ in said(node("n0", "a", "r0"), more=written)] == [
        ("level-on-no-node", "spec.levels[0]")
    ]


def test_the_clusters_topology_lacks_a_level_of_the_workload() -> None:
    assert said(node("n0", "a", "r0"), topology(ZONE, RACK)) == []
    assert said(node("n0", "a", "r0"), topology(ZONE)) == [
        (
            "topology-in-cluster-differs",
            "spec.template.topologyConstraint",
            'is placed by "example.com/rack", which is no level of the Topology in the cluster, which has '
            "topology.kubernetes.io/zone: until that is replaced, KAI leaves the gang pending without an error",
        )
    ]


def test_a_preferred_level_that_is_broader_than_the_required_one() -> None:
    written = f"""\
apiVersion: kai.scheduler/v1alpha1
kind: Topology
metadata: {{name: mine}}
spec: {{levels: [{{nodeLabel: {ZONE}, alias: zone}}, {{nodeLabel: {RACK}}}]}}
---
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {{name: batch, namespace: shop}}
spec:
  queue: q
  minMember: 1
  topologyConstraint: {{topology: mine, requiredTopologyLevel: {RACK}, preferredTopologyLevel: zone}}
"""
    items = tuple([KubeObject.parse(text) for text in (CONFIG, *written.split("---\n"))])
    results = [result for result in render(Package(items)).results if result.tags["rule"] == "scheduler-ignores"]

    assert [result.message for result in results if "broader" in result.message] == [
        'must not be broader than requiredTopologyLevel, "example.com/rack"; got "zone": KAI schedules none of these '
        "pods, and says so in its log only"
    ]
