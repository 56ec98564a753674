"""Workloads that KAI groups itself, in the commands that read gangs. No command writes objects for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.calling import Call, write

JOB_SET = """\
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata:
  name: train
  namespace: research
  labels: {kai.scheduler/queue: research, kai.scheduler/preemptibility: non-preemptible}
  annotations: {kai.scheduler/batch-min-member: "1"}
spec:
  replicatedJobs:
  - name: workers
    replicas: 2
    template:
      spec:
        parallelism: 2
        template:
          spec:
            schedulerName: kai-scheduler
            containers: [{name: main, image: example.com/app:1, resources: {limits: {nvidia.com/gpu: 8}}}]
  - name: driver
    template:
      spec:
        template:
          spec: {schedulerName: kai-scheduler, containers: [{name: main, image: example.com/app:1}]}
"""
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: research}
spec:
  replicas: 3
  template:
    spec:
      schedulerName: kai-scheduler
      containers: [{name: web, image: example.com/app:1, resources: {limits: {nvidia.com/gpu: 8}}}]
"""
SETTINGS = """\
apiVersion: packwise.dev/v1alpha1
kind: TopologyRender
metadata: {name: topology}
spec: {emit: [PodGroup]}
"""
NODES = "".join([
    f"""\
---
apiVersion: v1
kind: Node
metadata: {{name: n{number}}}
status: {{allocatable: {{cpu: "64", memory: 512Gi, nvidia.com/gpu: "8", pods: "110"}}}}
"""
    for number in range(6)
])  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "in", {"train.yaml": JOB_SET, "web.yaml": DEPLOYMENT})
    (tmp_path / "nodes.yaml").write_text(NODES, encoding="utf-8")
    return tmp_path


def test_a_podgroup_is_shown_where_it_is_asked_for_and_never_applied(folder: Path, call: Call) -> None:
    without = call("render", "in")
    (folder / "in" / "topology.yaml").write_text(SETTINGS, encoding="utf-8")
    shown = call("render", "in")

    assert (without.code, shown.code) == (0, 0)
    assert "kind: PodGroup" not in without.stdout
    assert shown.stdout.count("kind: PodGroup") == shown.stdout.count('config.kubernetes.io/local-config: "true"') == 2


def test_every_pod_of_a_deployment_finds_a_place_of_its_own(folder: Path, call: Call) -> None:
    placed = call("place", "in", "--nodes", str(folder / "nodes.yaml"))

    assert "4 of 4 gangs fit" in placed.stdout
    assert placed.stdout.count("pg-web-xxxxx-uid-pod-web-xxxxx-") == 3
    assert "pg-train-uid-jobset-train (queue research): fits" in placed.stdout


def test_an_explanation_says_what_a_gang_needs(folder: Path, call: Call) -> None:
    explained = call("explain", "in")

    assert folder.exists()
    assert "needs 1 of 2  queue research  priority train  non-preemptible" in explained.stdout
    assert "one of 3 equal gangs" in explained.stdout
    assert "the scheduler makes it in the cluster from the workload" in explained.stdout


def test_a_difference_is_told_though_no_podgroup_is_emitted(folder: Path, call: Call) -> None:
    write(folder / "out", {"train.yaml": JOB_SET.replace("parallelism: 2", "parallelism: 3"), "web.yaml": DEPLOYMENT})

    difference = call("diff", "in", "out")

    assert "PodGroup 1 changed" in difference.stdout
    assert "minMember: 2 → 3" in difference.stdout


def test_the_topologies_that_workloads_name_are_listed(folder: Path, call: Call) -> None:
    topology = (
        "apiVersion: kai.scheduler/v1alpha1\nkind: Topology\nmetadata: {name: gb200}\n"
        "spec: {levels: [{nodeLabel: nvidia.com/block}, {nodeLabel: nvidia.com/rack}]}\n"
    )
    named = JOB_SET.replace('member: "1"}', 'member: "1", kai.scheduler/topology: gb200}')
    write(folder / "in", {"gb200.yaml": topology, "train.yaml": named})

    listed = call("topologies", "in").stdout.splitlines()

    assert "gb200     Topology  in/gb200.yaml:1  nvidia.com/block, nvidia.com/rack" in listed
    assert "gb200     research/train  by name" in listed
    assert "<none>    research/web" in listed


MISPLACED = """\
apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: research, labels: {kai.scheduler/quene: research}}
spec: {template: {spec: {schedulerName: NAME, containers: [{name: main, image: example.com/app:1}]}}}
"""
QUEUED = """\
apiVersion: batch/v1
kind: Job
metadata: {name: queued, namespace: research, labels: {kueue.x-k8s.io/queue-name: lq}}
spec:
  suspend: true
  template:
    metadata: {annotations: {kueue.x-k8s.io/podset-required-topology: example.com/rack}}
    spec: {schedulerName: NAME, containers: [{name: main, image: example.com/app:1}], restartPolicy: Never}
"""
OWN_NAME = SETTINGS.replace("emit: [PodGroup]", "kai: {schedulerName: my-kai}")


@pytest.mark.parametrize(
    ("settings", "name", "rules"),
    [
        (OWN_NAME, "my-kai", {"key-spelling", "kueue-scheduler"}),
        (OWN_NAME, "kai-scheduler", set[str]()),
        (SETTINGS, "my-kai", set[str]()),
        (SETTINGS, "kai-scheduler", {"key-spelling", "kueue-scheduler"}),
    ],
)
def test_keys_count_where_pods_ask_for_kai_by_the_name_of_the_settings(
    call: Call, tmp_path: Path, settings: str, name: str, rules: set[str]
) -> None:
    files = {"train.yaml": MISPLACED, "queued.yaml": QUEUED}
    write(
        tmp_path / "in",
        {"topology.yaml": settings} | {file: text.replace("NAME", name) for file, text in files.items()},
    )

    found = {finding["rule"] for finding in call("check", "in", "-o", "json").findings}
    call("check", "in", "--fix")

    assert found & {"key-spelling", "kueue-scheduler"} == rules
    fixed = "kai.scheduler/queue: research" in (tmp_path / "in" / "train.yaml").read_text(encoding="utf-8")
    assert fixed == bool(rules)


GROUPER = """\
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: pod-grouper, namespace: kai}
spec: {template: {spec: {containers: [{name: main, image: "ghcr.io/nvidia/kai-scheduler/podgrouper:v0.14.2"}]}}}
"""
NAMED = """\
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec: {template: {spec: {schedulerName: my-kai, containers: [{name: main, image: example.com/app:1}]}}}
"""


@pytest.mark.parametrize(("settings", "number"), [(OWN_NAME, "1 workload"), (SETTINGS, "no workload")])
def test_workloads_count_where_pods_ask_for_kai_by_the_name_of_the_settings(
    call: Call, tmp_path: Path, settings: str, number: str
) -> None:
    # The configuration is at the top of the repository.
    (tmp_path / ".git").mkdir()
    write(tmp_path, {"topology.yaml": settings})
    write(tmp_path / "in", {"train.yaml": NAMED + GROUPER})

    answers = [call(command, "in") for command in ("topologies", "doctor")]
    found = {finding["rule"] for finding in call("check", "in", "-o", "json").findings}
    fleet = call("fleet", "check", "in")

    assert all(f"{number} checked" in answer.stdout + answer.stderr for answer in answers)
    assert ("kai-unnamed" in found) is (settings == OWN_NAME)
    assert ("1 workload checked" in fleet.stdout + fleet.stderr) is (settings == OWN_NAME)
