"""Findings of `check --nodes` about topologies on the nodes of a cluster. KAI ignores these mistakes silently."""

from __future__ import annotations

from typing import Any

import pytest

from krmfn.kubeobject import KubeObject
from packwise.pipeline import render
from packwise.pipeline.selection import Package
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
                    'none of 2 nodes has the label "example.com/rack". They are all outside of topology '
                    '"grove-topology", and KAI places no pod that the topology constrains. Label the nodes, or remove '
                    "the level",
                )
            ],
        ),
        (
            [node("n0", "a", "r0"), *(node(f"n{number}", "a") for number in range(1, 6))],
            [
                (
                    "node-outside-topology",
                    f"{LEVELS}[1]",
                    '5 of 6 nodes lack the label "example.com/rack": n1, n2, n3 and 2 more. On them, KAI '
                    "places no pod with a constraint of this topology, not even with a preferred level. Label these "
                    "nodes",
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
                    '1 of 2 nodes lack the label "example.com/rack": n1. On them, KAI places no pod with a '
                    "constraint of this topology, not even with a preferred level. Label these nodes",
                )
            ],
        ),
        (
            [node("n0", "a", "r0"), node("n1", "b", "r0"), node("n2", "b", "r1")],
            [
                (
                    "domain-in-two-parents",
                    f"{LEVELS}[1]",
                    f'the same domain lies in several domains of "{ZONE}": "r0" in a, b; KAI treats them as '
                    "different domains. Correct the labels if they are one domain",
                )
            ],
        ),
        (
            [node(f"n{zone}{rack}", zone, f"r{rack}") for zone in "ab" for rack in range(4)],
            [
                (
                    "domain-in-two-parents",
                    f"{LEVELS}[1]",
                    f'the same domain lies in several domains of "{ZONE}": "r0" in a, b; "r1" in a, b; "r2" in a, b, '
                    "and 1 more; KAI treats them as different domains",
                )
            ],
        ),
    ],
    ids=["none", "whole", "unused", "outside", "without GPUs", "no GPUs at all", "split", "names anew"],
)
def test_labels_of_nodes(nodes: list[dict[str, Any]], expected: list[tuple[str, str, str]]) -> None:
    assert said(*nodes) == expected


def test_a_topology_of_kai_that_a_user_wrote_is_checked_too() -> None:
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
            'the gang uses the level "example.com/rack", but the Topology in the cluster has the levels '
            "topology.kubernetes.io/zone. KAI leaves the gang pending without an error until you replace "
            "that Topology",
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
        'must not be broader than requiredTopologyLevel, "example.com/rack"; got "zone". KAI schedules '
        "none of these pods, and only logs the reason"
    ]
