"""The notes of `place` about a group of the default scheduler."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.calling import Call, write

GROUP = """\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: workers, namespace: ml}
spec: {schedulingPolicy: {gang: {minCount: 1}}}
---
"""
POD_SPEC = "{schedulingGroup: {podGroupName: workers}, containers: [{name: main, resources: {requests: {cpu: 1}}}]}"
JOB = (
    f"apiVersion: batch/v1\nkind: Job\nmetadata: {{name: a, namespace: ml}}\nspec: {{template: {{spec: {POD_SPEC}}}}}\n"
)
DAEMONS = JOB.replace("batch/v1", "apps/v1").replace("kind: Job", "kind: DaemonSet")
NODE = """\
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {kubernetes.io/hostname: n1}}
status: {allocatable: {cpu: "4", pods: "10"}, conditions: [{type: Ready, status: "True"}]}
"""
LIMITS = "preemption, resource claims, volumes and affinity between pods are not simulated"
NOTES: dict[str, tuple[str, list[str]]] = {
    "the pods of a Job are known": (JOB, [LIMITS]),
    "the pods of a DaemonSet are not": (
        DAEMONS, ["the number of pods is unknown for some groups; packwise assumes their minimum", LIMITS]
    ),
}  # fmt: skip


@pytest.mark.parametrize(("workload", "notes"), NOTES.values(), ids=NOTES)
def test_a_note_is_given_where_it_applies(workload: str, notes: list[str], tmp_path: Path, call: Call) -> None:
    write(tmp_path, {"in/a.yaml": GROUP + workload, "nodes.yaml": NODE})

    ran = call("place", str(tmp_path / "in"), "--nodes", str(tmp_path / "nodes.yaml"), "-o", "json")

    assert [(gang["state"], gang["notes"]) for gang in json.loads(ran.stdout)["gangs"]] == [("allocated", notes)]
