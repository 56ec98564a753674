"""The work of every command grows in proportion to its input, not with its square. The tests count calls, not time.

Each front end gets an input of n objects and one of four times n objects. Work within one call of the native core does
not count.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from packwise.cli.command_line import main
from tests.cli.calling import CONFIG, WORKLOAD, write
from tests.discovery.test_work import calls_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.slow

FEW = 16
MOST = 5
"""The largest permitted ratio of calls for four times the objects. It permits a logarithm."""

SLACK = 20_000
"""The number of additional calls that are permitted for imports, and for tables that are made at first use."""

SETTINGS = """\
apiVersion: packwise.dev/v1alpha1
kind: TopologyRender
metadata: {name: topology}
spec: {kueue: {version: v0.19}}
"""

NEWEST_API = CONFIG.replace("spec:\n", "spec:\n  revision: v0.1.0-alpha.13\n", 1)


def repeated(number: int, *texts: str) -> list[str]:
    return [text.replace("NUMBER", str(each)) for each in range(number) for text in texts]


def pod_clique_sets(number: int) -> list[str]:
    return [CONFIG, *[WORKLOAD.replace("name: web", f"name: web-{each}") for each in range(number)]]


def refused_sets(number: int) -> list[str]:
    return [text.replace("packDomain: rack", "packDomain: rak") for text in pod_clique_sets(number)]


def cliques(number: int, domain: str = "rack") -> list[str]:
    """Return one PodCliqueSet with this number of cliques. Each clique has a different constraint."""
    head, clique = WORKLOAD.split("    - name: router\n")
    constrained = f"    - name: router-NUMBER\n      topologyConstraint:\n        packDomain: {domain} # NUMBER\n"
    own = constrained + clique.replace("roleName: router", "roleName: router-NUMBER")
    return [CONFIG, head.replace("{packDomain: rack}", "{packDomain: zone}") + "".join(repeated(number, own))]


def cliques_to_be_mended(number: int) -> list[str]:
    _, workload = cliques(number)
    return [NEWEST_API, workload.replace("{packDomain: zone}", "{topologyName: grove-topology, packDomain: zone}")]


def refused_cliques(number: int) -> list[str]:
    return cliques(number, "rak")


def dynamo_graphs(number: int) -> list[str]:
    graph = """\
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {name: llm-NUMBER, namespace: shop}
spec:
  backendFramework: vllm
  services:
    Frontend: {componentType: frontend, replicas: 1}
    worker: {componentType: worker, replicas: 2, multinode: {nodeCount: 2}, resources: {limits: {gpu: "8"}}}
"""
    return [NEWEST_API, *repeated(number, graph)]


def osmo(number: int) -> list[str]:
    pool = """\
name: pool-NUMBER
backend: cluster
default_platform: gb200
platforms: {gb200: {}}
topology_keys:
- {key: zone, label: topology.kubernetes.io/zone}
- {key: rack, label: example.com/rack}
"""
    workflow = """\
workflow:
  name: training-NUMBER
  pool: pool-NUMBER
  groups:
  - name: workers
    tasks:
    - {name: one, lead: true, image: "registry.example.com/train:1", command: [train]}
    - {name: two, image: "registry.example.com/train:1", command: [train]}
  resources:
    default:
      topology: [{key: rack}]
"""
    return [SETTINGS, *repeated(number, pool, workflow)]


def kai_workloads(number: int) -> list[str]:
    job = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: train-NUMBER
  namespace: shop
  labels: {kai.scheduler/queue: queue-NUMBER}
  annotations: {kai.scheduler/topology: dc, kai.scheduler/topology-required-placement: example.com/rack}
spec:
  parallelism: 2
  template:
    spec:
      schedulerName: kai-scheduler
      restartPolicy: Never
      containers: [{name: main, image: "example.com/train:1", resources: {requests: {cpu: "1"}}}]
"""
    queue = """\
apiVersion: scheduling.run.ai/v2
kind: Queue
metadata: {name: queue-NUMBER}
spec:
  parentQueue: top
  resources:
    cpu: {quota: -1, limit: -1, overQuotaWeight: 1}
    gpu: {quota: -1, limit: -1, overQuotaWeight: 1}
    memory: {quota: -1, limit: -1, overQuotaWeight: 1}
"""
    top = queue.replace("  parentQueue: top\n", "").replace("queue-NUMBER", "top")
    topology = """\
apiVersion: kai.scheduler/v1alpha1
kind: Topology
metadata: {name: dc}
spec: {levels: [{nodeLabel: topology.kubernetes.io/zone}, {nodeLabel: example.com/rack}]}
"""
    return [
        SETTINGS,
        topology,
        top,
        *repeated(number, queue, job),
    ]


def misspelt_keys(number: int) -> list[str]:
    """Return one JobSet with this number of jobs. Each job has a misspelt key of KAI."""
    head = """\
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: train, namespace: shop, labels: {kai.scheduler/queue: top}}
spec:
  replicatedJobs:
"""
    job = """\
  - name: job-NUMBER
    template:
      spec:
        template:
          metadata:
            annotations:
              gpu-fracton: "0.5"
          spec:
            schedulerName: kai-scheduler
            containers: [{name: main, image: "example.com/train:1"}]
"""
    return [SETTINGS, head + "".join(repeated(number, job))]


def ring_of_queues(number: int) -> list[str]:
    """Return queues. Each one is the parent of the next one."""
    settings, topology, _, *own = kai_workloads(number)
    return [
        settings,
        topology,
        *[
            text.replace("parentQueue: top", f"parentQueue: queue-{(each // 2 + 1) % number}")
            for each, text in enumerate(own)
        ],
    ]


KUEUE_JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: train-NUMBER, namespace: shop, labels: {kueue.x-k8s.io/queue-name: QUEUE}}
spec:
  suspend: true
  template:
    metadata: {annotations: {kueue.x-k8s.io/podset-required-topology: example.com/rack}}
    spec:
      restartPolicy: Never
      containers: [{name: main, image: "example.com/train:1", resources: {requests: {cpu: "1"}}}]
"""
KUEUE_CLUSTER = """\
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: lq-NUMBER, namespace: shop}
spec: {clusterQueue: cq-NUMBER}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: cq-NUMBER}
spec:
  namespaceSelector: {}
  resourceGroups: [{coveredResources: [cpu], flavors: [FLAVORS]}]
"""
FLAVOR = """\
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: f-NUMBER}
spec: {nodeLabels: {example.com/pool: a}, topologyName: dc}
"""
TOPOLOGY = """\
apiVersion: kueue.x-k8s.io/v1beta2
kind: Topology
metadata: {name: dc}
spec: {levels: [{nodeLabel: topology.kubernetes.io/zone}, {nodeLabel: example.com/rack}]}
"""


def flavor(number: int) -> str:
    return f"{{name: f-{number}, resources: [{{name: cpu, nominalQuota: 8}}]}}"


def kueue_queues(number: int) -> list[str]:
    """Return this number of jobs, each with a separate LocalQueue, ClusterQueue and flavor."""
    texts = [SETTINGS, TOPOLOGY]
    for each in range(number):
        own = (
            KUEUE_CLUSTER.replace("FLAVORS", flavor(each))
            + "---\n"
            + FLAVOR
            + "---\n"
            + KUEUE_JOB.replace("QUEUE", "lq-NUMBER")
        )
        texts.append(own.replace("NUMBER", str(each)))
    return texts


def kueue_jobs(number: int) -> list[str]:
    """Return this number of jobs in one queue."""
    cluster = KUEUE_CLUSTER.replace("FLAVORS", flavor(0)).replace("NUMBER", "0")
    jobs = repeated(number, KUEUE_JOB.replace("QUEUE", "lq-0"))
    return [SETTINGS, TOPOLOGY, cluster, FLAVOR.replace("NUMBER", "0"), *jobs]


def kueue_flavors(number: int) -> list[str]:
    """Return this number of jobs in one queue with as many flavors."""
    listed = ", ".join([flavor(each) for each in range(number)])
    cluster = KUEUE_CLUSTER.replace("FLAVORS", listed).replace("NUMBER", "0")
    flavors = repeated(number, FLAVOR)
    jobs = repeated(number, KUEUE_JOB.replace("QUEUE", "lq-0"))
    return [SETTINGS, TOPOLOGY, cluster, *flavors, *jobs]


def kueue_topologies(number: int) -> list[str]:
    """Return jobs as `kueue_flavors` does. Each flavor has a separate topology, and every job may get any of them."""
    settings, _, *texts = kueue_flavors(number)
    topologies = repeated(number, TOPOLOGY.replace("name: dc", "name: dc-NUMBER"))
    own = [text.replace("topologyName: dc", f"topologyName: dc-{each - 1}") for each, text in enumerate(texts)]
    return [settings, *topologies, *own]


def kubernetes_groups(number: int) -> list[str]:
    text = """\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: group-NUMBER, namespace: shop}
spec: {schedulingPolicy: {gang: {minCount: 2}}}
---
apiVersion: v1
kind: Pod
metadata: {name: pod-NUMBER, namespace: shop}
spec:
  schedulingGroup: {podGroupName: group-NUMBER}
  containers: [{name: main, image: "example.com/train:1"}]
"""
    return [SETTINGS, *repeated(number, text)]


INPUTS: dict[str, Callable[[int], list[str]]] = {
    each.__name__: each
    for each in (
        pod_clique_sets,
        refused_sets,
        cliques,
        cliques_to_be_mended,
        refused_cliques,
        dynamo_graphs,
        osmo,
        kai_workloads,
        misspelt_keys,
        ring_of_queues,
        kueue_queues,
        kueue_jobs,
        kueue_flavors,
        kueue_topologies,
        kubernetes_groups,
    )
}

COMMANDS = {
    "check": ("check", "in"),
    "check --fix": ("check", "in", "--fix", "--diff"),
    "render": ("render", "in"),
    "diff": ("diff", "in", "in"),
    "explain": ("explain", "in"),
    "topologies": ("topologies", "in"),
    "doctor": ("doctor", "in"),
    "place": ("place", "in", "--nodes", "nodes.json"),
    "report": ("report", "in", "--nodes", "nodes.json", "-o", "html=page.html"),
    "comment": ("comment", "in", "--nodes", "nodes.json"),
    "migrate": ("migrate", "in", "--to", "v0.1.0-alpha.13", "--dry-run"),
    "fleet check": ("fleet", "check", "in", "--no-cache", "--jobs", "1"),
}

NODES = [
    {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": f"n{each}",
            "labels": {
                "topology.kubernetes.io/zone": "z",
                "example.com/rack": f"r{each // 2}",
                "example.com/pool": "a",
                "kubernetes.io/hostname": f"n{each}",
            },
        },
        "status": {
            "allocatable": {"cpu": "4000", "memory": "4Ti", "nvidia.com/gpu": "4000", "pods": "4000"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }
    for each in range(4)
]


@pytest.mark.parametrize("kind", INPUTS)
@pytest.mark.parametrize("command", COMMANDS)
def test_four_times_the_objects_take_four_times_the_calls(
    command: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def work(number: int) -> int:
        folder = tmp_path / str(number)
        texts = INPUTS[kind](number)
        files = {f"in/{each}.yaml": text for each, text in enumerate(texts)}
        write(folder, {**files, "nodes.json": json.dumps({"kind": "List", "apiVersion": "v1", "items": NODES})})
        monkeypatch.chdir(folder)
        codes: list[int] = []
        calls = calls_of(lambda: codes.append(main(COMMANDS[command])))
        assert codes[0] in (0, 1), capsys.readouterr().err
        capsys.readouterr()
        return calls

    work(2)
    few, many = work(FEW), work(4 * FEW)

    assert many <= MOST * few + SLACK, f"{few} calls for {FEW} objects, {many} for {4 * FEW}"
