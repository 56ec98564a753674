"""Numbers with thousands of digits. Python refuses to read them, and packwise does not treat them as numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.calling import CONFIG, UNNAMED_CONFIG, WORKLOAD, Call, write

N = "9" * 5000
SHARE = WORKLOAD.replace(
    "    - name: router\n      spec:", '    - name: router\n      annotations: {%s: "%s"%s}\n      spec:'
)
POD = """\
---
apiVersion: v1
kind: Pod
metadata: {name: one, namespace: shop, annotations: {%s}}
spec: {nodeName: n1, schedulerName: kai-scheduler, containers: [{name: one, image: "%s"%s}]}
status: {phase: Running}
"""


def node(label: str = "") -> str:
    return f"""\
apiVersion: v1
kind: Node
metadata: {{name: n1, labels: {{topology.kubernetes.io/zone: z, example.com/rack: r{label}}}}}
status: {{allocatable: {{cpu: "8", memory: 8Gi, pods: "10", nvidia.com/gpu: "8"}}}}
"""


def deployment(image: str) -> str:
    containers = f'containers: [{{name: one, image: "{image}"}}]'
    return (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: operator, namespace: system}\n"
        f"spec: {{template: {{spec: {{{containers}}}}}}}\n"
    )


GANG = f"""\
apiVersion: scheduler.grove.io/v1alpha1
kind: PodGang
metadata:
  name: web-0-{N}
  namespace: shop
  labels:
    grove.io/epoch: "{N}"
    app.kubernetes.io/part-of: web
    grove.io/podcliqueset-replica-index: "0"
    grove.io/podgang-role: Anchor
spec: {{podgroups: []}}
"""
DYNAMO = f"""\
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {{name: graph, namespace: shop}}
spec:
  services:
    Worker:
      componentType: worker
      replicas: 1
      multinode: {{nodeCount: 2}}
      resources: {{limits: {{gpu: "{N}"}}}}
"""
OBJECTS = {
    "a stage in the tag of Grove's image": deployment(f"ghcr.io/ai-dynamo/grove/grove-operator:v0.1.0-alpha.{N}"),
    "a version in the tag of Grove's image": deployment(f"ghcr.io/ai-dynamo/grove/grove-operator:v{N}.1.0"),
    "a version in the tag of KAI's image": deployment(f"ghcr.io/nvidia/kai-scheduler/scheduler:v0.{N}"),
    "an epoch": GANG,
    "the GPUs of a component": DYNAMO,
    "the memory of a share": SHARE % ("gpu-memory", N, ""),
    "the devices of a share": SHARE % ("gpu-fraction", "0.5", f', gpu-fraction-num-devices: "{N}"'),
    "a portion": SHARE % ("gpu-fraction", f"0.{N}", ""),
}
NODES = {
    "the memory of a node's GPUs": node(f', nvidia.com/gpu.memory: "{N}"'),
    "the version of a running KAI": node() + POD % ("", f"ghcr.io/nvidia/kai-scheduler/scheduler:v0.{N}", ""),
    "the memory of a running share": node() + POD % (f"gpu-memory: '{N}'", "x", ""),
    "the devices of a running share": node() + POD % (f"gpu-fraction: '0.5', gpu-fraction-num-devices: '{N}'", "x", ""),
    "the slices of a profile": node() + POD % ("", "x", f", resources: {{requests: {{nvidia.com/mig-{N}g.5gb: 1}}}}"),
    "a profile of another digit": node() + POD % ("", "x", ", resources: {requests: {nvidia.com/mig-²g.5gb: 1}}"),
}
COMMANDS = (
    ("check", "in"),
    ("check", "in", "--nodes", "nodes.yaml"),
    ("render", "in"),
    ("diff", "in", "in"),
    ("explain", "in"),
    ("doctor", "in"),
    ("place", "in", "--nodes", "nodes.yaml"),
    ("report", "in", "--nodes", "nodes.yaml", "-o", "report.html"),
)


def assert_answered(call: Call, tmp_path: Path, objects: str, nodes: str) -> None:
    write(tmp_path, {"in/topology.yaml": CONFIG, "in/objects.yaml": objects, "nodes.yaml": nodes})
    for words in COMMANDS:
        ran = call(*words)
        assert ran.code in (0, 1, 2)
        assert "internal error" not in ran.stdout + ran.stderr
        assert "set_int_max_str_digits" not in ran.stdout + ran.stderr


@pytest.mark.parametrize("objects", OBJECTS.values(), ids=OBJECTS)
def test_in_an_object(objects: str, call: Call, tmp_path: Path) -> None:
    assert_answered(call, tmp_path, objects, node())


@pytest.mark.parametrize("nodes", NODES.values(), ids=NODES)
def test_in_a_cluster(nodes: str, call: Call, tmp_path: Path) -> None:
    assert_answered(call, tmp_path, WORKLOAD, nodes)


@pytest.mark.parametrize("revision", [f"v{N}.0.0", f"v0.1.0-alpha.{N}", f"alpha.{N}", f"v0.1.0-alpha.12-rc{N}"])
def test_in_the_name_of_a_release(revision: str, call: Call, tmp_path: Path) -> None:
    """packwise's message is the same as for any other wrong name."""
    write(tmp_path, {"in/topology.yaml": f"{UNNAMED_CONFIG}  revision: {revision}\n", "in/web.yaml": WORKLOAD})

    ran = call("check", "in")

    assert ran.code == 1
    assert "spec.revision: must be " in ran.stdout
    assert "digits" not in ran.stdout
    assert call("migrate", "in", "--to", revision).code == 2
