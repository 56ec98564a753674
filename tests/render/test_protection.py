"""Changes of users' ClusterTopologies that running workloads prohibit, compared with a baseline."""

from __future__ import annotations

import pytest

from krmfn import KubeObject
from packwise.pipeline import render
from packwise.pipeline.selection import Package

CONFIG = """\
apiVersion: packwise.dev/v1alpha1
kind: TopologyRender
metadata: {name: topology}
spec: {topologyAwareScheduling: {enabled: true, levels: [{domain: rack, key: example.com/rack}]}}
"""
TOPOLOGY = """\
apiVersion: grove.io/v1alpha1
kind: ClusterTopology
metadata: {name: gb200}
spec: {levels: [{domain: rack, key: nvidia.com/rack}, {domain: host, key: kubernetes.io/hostname}]}
"""
WORKLOAD = """\
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata: {name: a, namespace: team-a}
spec:
  replicas: 1
  template:
    clusterTopologyName: gb200
    topologyConstraint: {packDomain: rack}
    cliques:
    - {name: c, spec: {roleName: c, replicas: 1, podSpec: {containers: [{name: c, image: c}]}}}
"""
CLIQUE = """\
apiVersion: grove.io/v1alpha1
kind: PodClique
metadata: {name: a-0-c, namespace: team-a, labels: {app.kubernetes.io/part-of: a}}
status: {scheduledReplicas: 1}
"""
CHANGED = TOPOLOGY.replace("nvidia.com/rack", "nvidia.com/rack-new")
LABELLED = TOPOLOGY.replace("name: gb200", "name: gb200, labels: {team: a}")

OWN = """\
apiVersion: grove.io/v1alpha1
kind: ClusterTopology
metadata: {name: grove-topology, labels: {app.kubernetes.io/managed-by: grove-operator}}
spec: {levels: [{domain: rack, key: example.com/rack-before}]}
"""
USES_OWN = WORKLOAD.replace("clusterTopologyName: gb200", "clusterTopologyName: grove-topology")
RENDERED = OWN.replace("example.com/rack-before", "example.com/rack")

LOCKED = (
    "clustertopology-locked",
    "now.yaml:4:16",
    "cannot change while pods are scheduled by these levels: PodCliqueSet team-a/a names this topology. "
    "Scale these workloads to 0 first",
)
IN_USE = (
    "clustertopology-in-use",
    "before.yaml:3:18",
    "cannot be deleted: PodCliqueSet team-a/a names it. Choose another topology in each workload first",
)


def objects(file: str, *texts: str) -> tuple[KubeObject, ...]:
    return tuple([KubeObject.parse(text, file=file) for text in texts])


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        ([TOPOLOGY, WORKLOAD, CLIQUE], [TOPOLOGY, WORKLOAD], []),
        ([TOPOLOGY, WORKLOAD, CLIQUE], [CHANGED, WORKLOAD], [LOCKED]),
        ([TOPOLOGY, WORKLOAD], [CHANGED, WORKLOAD, CLIQUE], [LOCKED]),
        ([TOPOLOGY, WORKLOAD], [CHANGED, WORKLOAD], []),
        ([TOPOLOGY, WORKLOAD, CLIQUE], [LABELLED, WORKLOAD], []),
        ([TOPOLOGY, WORKLOAD], [WORKLOAD], [IN_USE]),
        ([TOPOLOGY, WORKLOAD], [], []),
        ([TOPOLOGY], [CHANGED], []),
        ([OWN, USES_OWN, CLIQUE], [RENDERED, USES_OWN], []),
        ([OWN, USES_OWN, CLIQUE], [USES_OWN], []),
    ],
    ids=[
        "nothing changed",
        "levels changed, pods in the baseline",
        "levels changed, pods in the input",
        "levels changed, no pod scheduled",
        "labels changed",
        "deleted while a workload names it",
        "deleted with its workload",
        "changed while nobody names it",
        "the operator's own changed by the configuration",
        "the operator's own left to the operator",
    ],
)
def test_changes_of_a_topology(before: list[str], now: list[str], expected: list[tuple[str, str, str]]) -> None:
    package = Package(objects("now.yaml", CONFIG, *now), None, objects("before.yaml", *before))

    found = [
        (r.tags["rule"], f"{r.file.path if r.file else ''}:{r.tags['line']}:{r.tags['column']}", r.message)
        for r in render(package).results
        if r.severity.value == "error"
    ]

    assert found == expected


def test_without_a_baseline_nothing_is_known_of_changes() -> None:
    package = Package(objects("now.yaml", CONFIG, CHANGED, WORKLOAD, CLIQUE))

    assert [r.tags["rule"] for r in render(package).results if r.severity.value == "error"] == []
