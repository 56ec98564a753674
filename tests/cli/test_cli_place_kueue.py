"""`packwise place` on clusters with Kueue: its answers as JSON and as text."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from packwise.cli.command_line import main
from tests.golden.cases import GOLDEN
from tests.places import ROOT
from tests.schemas import schema_errors

QUEUES = """\
apiVersion: packwise.dev/v1alpha1
kind: TopologyRender
metadata: {name: topology}
spec: {kueue: {version: v0.19}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: Topology
metadata: {name: dc}
spec: {levels: [{nodeLabel: example.com/block}, {nodeLabel: example.com/rack}, {nodeLabel: kubernetes.io/hostname}]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: h100}
spec: {nodeLabels: {example.com/pool: h100}, topologyName: dc}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: gpus}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [nvidia.com/gpu]
    flavors: [{name: h100, resources: [{name: nvidia.com/gpu, nominalQuota: 64}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: research, namespace: ml}
spec: {clusterQueue: gpus}
"""


def job(name: str, pods: int, annotations: dict[str, str], gpus: int = 8, queue: str = "research") -> str:
    lines = "".join(f"        kueue.x-k8s.io/{key}: {json.dumps(value)}\n" for key, value in annotations.items())
    return f"""\
apiVersion: batch/v1
kind: Job
metadata: {{name: {name}, namespace: ml, labels: {{kueue.x-k8s.io/queue-name: {queue}}}}}
spec:
  parallelism: {pods}
  completions: {pods}
  template:
    metadata:
      annotations:
{lines}\
    spec:
      restartPolicy: Never
      containers:
      - {{name: main, image: example.com/train:1, resources: {{limits: {{nvidia.com/gpu: {gpus}}}}}}}
"""


def node(number: int, gpus: int = 8) -> dict[str, Any]:
    name = f"n{number}"
    labels = {
        "example.com/block": f"b{number // 4}",
        "example.com/rack": f"r{number // 2}",
        "kubernetes.io/hostname": name,
        "example.com/pool": "h100",
    }
    return {
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {
            "allocatable": {"nvidia.com/gpu": str(gpus), "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def workload(name: str, hosts: list[str], gpus: int = 8) -> dict[str, Any]:
    """Return an admitted Workload with a pod on each of these hosts."""
    spec = {"containers": [{"name": "c", "resources": {"requests": {"nvidia.com/gpu": str(gpus)}}}]}
    assignment = {
        "levels": ["kubernetes.io/hostname"],
        "slices": [
            {
                "domainCount": len(hosts),
                "valuesPerLevel": [{"individual": {"roots": hosts}}],
                "podCounts": {"universal": 1},
            }
        ],
    }
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": name, "namespace": "ml"},
        "spec": {"podSets": [{"name": "main", "count": len(hosts), "template": {"spec": spec}}]},
        "status": {
            "admission": {
                "clusterQueue": "gpus",
                "podSetAssignments": [
                    {
                        "name": "main",
                        "flavors": {"nvidia.com/gpu": "h100"},
                        "resourceUsage": {"nvidia.com/gpu": str(gpus * len(hosts))},
                        "topologyAssignment": assignment,
                    }
                ],
            },
            "conditions": [{"type": "QuotaReserved", "status": "True"}],
        },
    }


REQUIRED, SIZE = "podset-required-topology", "podset-slice-size"
SLICED = {"podset-slice-required-topology": "kubernetes.io/hostname", SIZE: "2"}
CASES: dict[str, tuple[list[str], list[dict[str, Any]]]] = {
    "fits": ([job("train", 2, {REQUIRED: "example.com/rack"})], []),
    "no-room": ([job("train", 3, {REQUIRED: "example.com/rack"})], []),
    "preemption": ([job("train", 8, {REQUIRED: "example.com/block"}, gpus=4)], [workload("old", ["n0", "n4"])]),
    "slices": ([job("train", 7, {REQUIRED: "example.com/block", **SLICED}, gpus=2)], []),
    "order": ([job(name, 4, {REQUIRED: "example.com/block"}) for name in ("first", "second", "third")], []),
    "unwritten": (
        [job("train", 2, {}).replace("name: train, namespace: ml", "generateName: train-")],
        [],
    ),
    "priority": (
        [
            job("late", 4, {REQUIRED: "example.com/block"}),
            job("urgent", 8, {}).replace("queue-name:", "priority-class: high, kueue.x-k8s.io/queue-name:"),
        ],
        [{"kind": "WorkloadPriorityClass", "metadata": {"name": "high"}, "value": 9}],
    ),
    "alike": ([job(f"train-{number}", 1, {REQUIRED: "example.com/rack"}) for number in range(12)], []),
    "no-queue": ([job("train", 2, {REQUIRED: "example.com/rack"}, queue="reserch")], []),
    "quota": ([job("train", 9, {"podset-unconstrained-topology": "true"})], []),
}
"""Jobs, and the other objects in a cluster of eight nodes with eight GPUs each. A rack has two nodes, a block four."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Path:
    jobs, more = CASES[request.param]
    (tmp_path / "jobs.yaml").write_text("---\n".join([QUEUES, *jobs]), encoding="utf-8")
    items = [*map(node, range(8)), *more]
    (tmp_path / "nodes.json").write_text(json.dumps({"kind": "List", "items": items}), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("folder", "name"), [(name, name) for name in CASES], indirect=["folder"])
@pytest.mark.usefixtures("folder")
def test_what_people_read(
    name: str, capsys: pytest.CaptureFixture[str], assert_expected: Callable[[str, str], None]
) -> None:
    code = main(["place", ".", "--nodes", "nodes.json", "--further"])

    ran = capsys.readouterr()
    assert_expected(f"place/kueue-{name}.txt", f"{ran.out}{ran.err}exit code {code}\n")


@pytest.mark.parametrize(
    ("folder", "words", "states"),
    [
        ("no-room", (), ["pending"]),
        ("no-room", ("--replicas", "train=2"), ["allocated"]),
        ("no-room", ("--add-nodes", "1xexample.com/rack=r0,example.com/block=b0"), ["allocated"]),
        ("fits", ("--drain", "example.com/block=b0"), ["allocated"]),
        ("fits", ("--drain", "example.com/block=b0", "--drain", "n4", "--drain", "n6"), ["pending"]),
    ],
    indirect=["folder"],
)
@pytest.mark.usefixtures("folder")
def test_what_if(words: tuple[str, ...], states: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    main(["place", ".", "--nodes", "nodes.json", "-o", "json", *words])

    assert [gang["state"] for gang in json.loads(capsys.readouterr().out)["gangs"]] == states


@pytest.mark.parametrize("folder", ["no-room"], indirect=True)
def test_what_a_change_moves(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "old").mkdir()
    small = job("train", 2, {REQUIRED: "example.com/rack"})
    (folder / "old" / "jobs.yaml").write_text("---\n".join([QUEUES, small]), encoding="utf-8")

    main(["place", "jobs.yaml", "--nodes", "nodes.json", "--baseline", "old"])

    assert "no longer fits: ml/train: 2 of 2 pods in b0/r0 → does not fit\n" in capsys.readouterr().out


@pytest.mark.parametrize("folder", ["fits"], indirect=True)
@pytest.mark.usefixtures("folder")
def test_a_job_leads_to_the_lines_of_its_flavor_and_levels(capsys: pytest.CaptureFixture[str]) -> None:
    main(["explain", "Job/train", "jobs.yaml"])

    assert [line[6:] for line in capsys.readouterr().out.splitlines() if line[3:5] in ("├─", "└─")] == [
        "annotation kueue.x-k8s.io/podset-required-topology  jobs.yaml:39:50",
        "queue research  jobs.yaml:32:76",
        "ClusterQueue gpus  jobs.yaml:28:22",
        "flavor h100  jobs.yaml:23:22",
        "topology dc  jobs.yaml:14:60",
        "level example.com/rack of dc  jobs.yaml:9:61",
    ]


def running(name: str, host: str, metadata: dict[str, Any]) -> dict[str, Any]:
    """Return a pod that uses all GPUs of a node."""
    container = {"name": "c", "resources": {"requests": {"nvidia.com/gpu": "8"}, "limits": {"nvidia.com/gpu": "8"}}}
    return {
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "ml", **metadata},
        "spec": {"nodeName": host, "containers": [container]},
        "status": {"phase": "Running"},
    }


def test_each_scheduler_sees_the_running_pods_of_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Kueue counts KAI's pod by its node, and its own pod by its Workload. KAI counts both pods by their nodes."""
    gang = job("serve", 1, {}).replace("kueue.x-k8s.io/queue-name: research", "kai.scheduler/queue: team")
    gang = gang.replace("restartPolicy:", "schedulerName: kai-scheduler\n      restartPolicy:")
    (tmp_path / "jobs.yaml").write_text("---\n".join([QUEUES, gang, job("train", 1, {})]), encoding="utf-8")
    own = {"annotations": {"kueue.x-k8s.io/podset-unconstrained-topology": "true", "kueue.x-k8s.io/workload": "old"}}
    unlimited = {"quota": -1, "limit": -1, "overQuotaWeight": 1}
    queue = {
        "apiVersion": "scheduling.run.ai/v2",
        "kind": "Queue",
        "metadata": {"name": "team"},
        "spec": {"resources": dict.fromkeys(("gpu", "cpu", "memory"), unlimited)},
    }
    pods = [running("of-kai", "n0", {}), running("of-kueue", "n2", own), workload("old", ["n2"])]
    items = [*map(node, range(4)), *pods, queue]
    (tmp_path / "nodes.json").write_text(json.dumps({"kind": "List", "items": items}), encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    main(["place", ".", "--nodes", "nodes.json", "-o", "json"])

    gangs = json.loads(capsys.readouterr().out)["gangs"]
    places = {gang["scheduler"]: [each["name"] for pods in gang["podSets"] for each in pods["nodes"]] for gang in gangs}
    assert places == {"kai-scheduler": ["n1"], "kueue": ["n3"]}


def sample() -> list[Any]:
    """Return every twentieth golden. Tests without the command line use all goldens."""
    with gzip.open(GOLDEN / "placement" / "kueue.jsonl.gz", "rt", encoding="utf-8") as lines:
        return list(map(json.loads, lines))[::20]


@pytest.mark.parametrize("case", sample(), ids=lambda case: case["case"])
def test_the_answer_is_kueues(
    case: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, text in case["files"].items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "nodes.json").write_text(json.dumps(case["nodes"]), encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    main(["place", ".", "--nodes", "nodes.json", "-o", "json"])

    answer = json.loads(capsys.readouterr().out)
    [gang] = [each for each in answer["gangs"] if each["name"] == case["job"]]
    schema = json.loads((ROOT / "docs" / "reference" / "place.schema.json").read_text(encoding="utf-8"))
    assert schema_errors(answer, schema) == []
    assert gang["scheduler"] == "kueue"
    assert (gang["state"] in ("allocated", "partial")) == case["answer"]["admitted"]
    placed: int = sum(each["pods"] for pods in gang["podSets"] for each in pods["nodes"])
    expected: dict[str, dict[str, int] | None] = case["answer"]["podSets"]
    assert placed == sum(sum((pods or {}).values()) for pods in expected.values())
