"""If a value has a wrong type, each command still reads the other objects, and `check` reports the place of
the value.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.calling import CONFIG, WORKLOAD, Call, write

JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: a, namespace: t, labels: {kueue.x-k8s.io/queue-name: lq%s}}
spec: {template: {spec: {containers: [{name: a, image: a}], restartPolicy: Never}}}
"""
NAMELESS = """\
apiVersion: %s
kind: %s
metadata: {name: [x], namespace: t}
spec: {clusterQueue: a, levels: [{nodeLabel: a}]}
"""
NODE = """\
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {topology.kubernetes.io/zone: z, example.com/rack: r}}
status: {allocatable: {cpu: "8", memory: 8Gi, pods: "110"}}
"""
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: a}
spec: {schedulerName: [kai-scheduler], containers: [{name: a, image: a}]}
"""
MALFORMED = {
    "a label is a number": (JOB % ", version: 2", "Job t/a metadata.labels.version: must be a string; got 2"),
    "the name of a queue is a list": (
        NAMELESS % ("kueue.x-k8s.io/v1beta1", "LocalQueue") + "---\n" + JOB % ", version: 2",
        "Job t/a metadata.labels.version: must be a string; got 2",
    ),
    "the name of a topology is a list": (
        NAMELESS % ("kai.scheduler/v1alpha1", "Topology"),
        "metadata.name: must be a string; got a list",
    ),
    "the name of Kueue's topology is a list": (
        NAMELESS % ("kueue.x-k8s.io/v1beta1", "Topology"),
        "metadata.name: must be a string; got a list",
    ),
    "annotations are a list": (
        JOB.replace("labels:", "annotations: [a], labels:") % "",
        "Job t/a metadata.annotations: must be a mapping; got a list",
    ),
    "a scheduler's name is a list": (POD, "Pod a spec.schedulerName: must be a string; got a list"),
    "a kind is a list": ("apiVersion: batch/v1\nkind: [Job]\nmetadata: {name: a}\n", ""),
}
COMMANDS = (
    "check in",
    "render in",
    "topologies in",
    "doctor in",
    "explain in",
    "diff before in",
    "diff in before",
    "migrate in --dry-run",
    "comment in --nodes nodes.yaml --baseline before",
    "place in --nodes nodes.yaml",
    "report in --nodes nodes.yaml -o html",
    "fleet check . --no-cache",
)


@pytest.mark.parametrize("words", COMMANDS)
@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_object_ends_no_command(name: str, words: str, call: Call, tmp_path: Path) -> None:
    text, message = MALFORMED[name]
    write(tmp_path, {"in/topology.yaml": CONFIG, "in/web.yaml": WORKLOAD, "in/bad.yaml": text, "nodes.yaml": NODE})
    write(tmp_path, {"before/topology.yaml": CONFIG, "before/web.yaml": WORKLOAD})

    ran = call(*words.split())

    assert ran.code in (0, 1), ran.stderr
    assert "internal error" not in ran.stderr
    if words == "check in":
        assert message in ran.stdout
        # The pod is checked although the name of its scheduler is invalid.
        assert ("2 workloads checked" if text == POD else "1 workload checked") in ran.stderr


@pytest.mark.parametrize("name", MALFORMED)
def test_topologies_lists_the_sound_workloads(name: str, call: Call, tmp_path: Path) -> None:
    write(tmp_path, {"in/topology.yaml": CONFIG, "in/web.yaml": WORKLOAD, "in/bad.yaml": MALFORMED[name][0]})

    assert "shop/web" in call("topologies", "in").stdout
