"""The pod sets that Kueue makes of jobs, with the topology that they request from their queue."""

from __future__ import annotations

import pytest

from krmfn.kubeobject import KubeObject
from krmfn.result import Severity
from packwise.cli.command_line import main
from packwise.explain.explanation import explanation_of
from packwise.pipeline import render
from packwise.pipeline.selection import Package
from packwise.placement import PodSlice
from packwise.topologies.run import overview
from tests.places import ROOT

CLUSTER = """\
apiVersion: packwise.dev/v1alpha1
kind: TopologyRender
metadata: {name: topology}
spec:
  emit: [KueueTopology]
  kueue: {flavors: [{name: gpu, nodeLabels: {example.com/pool: gpu}}]}
  topologyAwareScheduling: {enabled: true, levels: [{domain: rack, key: example.com/rack}]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: gpus, namespace: team-a}
spec: {clusterQueue: shared}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: shared}
spec:
  namespaceSelector: {}
  resourceGroups: [{coveredResources: [cpu], flavors: [{name: gpu, resources: [{name: cpu, nominalQuota: 8}]}]}]
"""
JOB = """\
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: llm, labels: {kueue.x-k8s.io/queue-name: QUEUE}}
spec:
  leaderWorkerTemplate:
    size: 5
    leaderTemplate: {metadata: {annotations: {kueue.x-k8s.io/podset-preferred-topology: example.com/rack}}}
    workerTemplate:
      metadata:
        annotations:
          kueue.x-k8s.io/podset-required-topology: example.com/rack
          kueue.x-k8s.io/podset-slice-required-topology: example.com/host
          kueue.x-k8s.io/podset-slice-size: "2"
"""


def package(queue: str) -> Package:
    texts = [*CLUSTER.split("---\n"), JOB.replace("QUEUE", queue)]
    return Package(tuple([KubeObject.parse(text) for text in texts]))


@pytest.mark.parametrize(("queue", "topologies"), [("gpus", ("grove-topology",)), ("elsewhere", ())])
def test_pod_sets_are_explained_with_their_levels(queue: str, topologies: tuple[str, ...]) -> None:
    whole = package(queue)

    explanation = explanation_of(whole, render(whole))

    (tree,) = [tree for tree in explanation.workloads if tree.queued]
    leader, workers = [each.pods for each in tree.queued]
    assert tree.source == "LeaderWorkerSet default/llm"
    assert [(each.name, each.count, each.queue, each.topologies) for each in (leader, workers)] == [
        ("leader", 1, queue, topologies),
        ("worker", 4, queue, topologies),
    ]
    assert (leader.preferred, leader.required, leader.slices) == ("example.com/rack", None, ())
    assert (workers.required, workers.slices) == ("example.com/rack", (PodSlice("example.com/host", 2),))
    assert workers.place.field == "spec.leaderWorkerTemplate.workerTemplate.metadata.annotations"
    required = tree.queued[1].required
    assert required is not None
    assert required.domain == ("rack" if topologies else "")


@pytest.mark.parametrize(("queue", "users"), [
    ("gpus", [("grove-topology", "llm", "gpus")]),
    ("elsewhere", [(None, "llm", "elsewhere")]),
])  # fmt: skip
def test_a_topology_is_used_by_the_jobs_of_queues_with_its_flavors(
    queue: str, users: list[tuple[str | None, ...]]
) -> None:
    listing = overview(package(queue))

    assert [(use.topology, use.workload.name, use.queue) for use in listing.uses if use.queue] == users


OTHER = """\
apiVersion: grove.io/v1alpha1
kind: ClusterTopology
metadata: {name: others}
spec: {levels: [{domain: rack, key: example.com/rack}]}
"""


def test_flavors_of_the_settings_are_in_the_topology_of_the_settings() -> None:
    """Another topology belongs to flavors of other users."""
    settings, *queues = CLUSTER.split("---\n")
    named = settings.replace("spec:\n", "spec:\n  revision: grep-244-multi\n")
    texts = [named, *queues, OTHER, JOB.replace("QUEUE", "gpus")]

    whole = Package(tuple([KubeObject.parse(text) for text in texts]))

    flavors = [item for item in render(whole).generated if item.kind == "ResourceFlavor"]
    assert [item.get("spec.topologyName") for item in flavors] == ["grove-topology"]
    assert {each.name for each in overview(whole).topologies if each.kind == "ClusterTopology"} >= {"others"}


JOB_SET = """\
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: train, labels: {kueue.x-k8s.io/queue-name: gpus}}
spec:
  replicatedJobs:
  - name: Driver
    template: {spec: {template: {spec: {}}}}
  - name: workers
    replicas: 3
    template: {spec: {parallelism: 4, completions: 2, template: {spec: {}}}}
  - name: spare
    replicas: 0
    template: {spec: {parallelism: 4, template: {spec: {}}}}
"""
RAY = """\
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: ray, labels: {kueue.x-k8s.io/queue-name: gpus}}
spec:
  headGroupSpec: {template: {spec: {}}}
  workerGroupSpecs:
  - {groupName: Small, replicas: 2, template: {spec: {}}}
  - {groupName: wide, replicas: 2, numOfHosts: 4, template: {spec: {}}}
  - {groupName: none, template: {spec: {}}}
"""
PYTORCH = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: torch, labels: {kueue.x-k8s.io/queue-name: gpus}}
spec:
  pytorchReplicaSpecs:
    Worker: {replicas: 3, template: {spec: {}}}
    Master: {template: {spec: {}}}
"""


@pytest.mark.parametrize(
    ("job", "sets"),
    [
        (JOB_SET, [("driver", 1), ("workers", 6), ("spare", 0)]),
        (RAY, [("head", 1), ("small", 2), ("wide", 8), ("none", 0)]),
        (PYTORCH, [("master", 1), ("worker", 3)]),
    ],
    ids=["JobSet", "RayCluster", "PyTorchJob"],
)
def test_the_name_and_number_of_each_pod_set(job: str, sets: list[tuple[str, int]]) -> None:
    whole = Package(tuple([KubeObject.parse(text) for text in [*CLUSTER.split("---\n"), job]]))

    explanation = explanation_of(whole, render(whole))

    assert [(each.pods.name, each.pods.count) for tree in explanation.workloads for each in tree.queued] == sets


OWN = """\
apiVersion: kueue.x-k8s.io/v1beta2
kind: Topology
metadata: {name: halls}
spec: {levels: [{nodeLabel: example.com/hall}, {nodeLabel: kubernetes.io/hostname}]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: gpu}
spec: {nodeLabels: {example.com/pool: gpu}, topologyName: halls}
"""


def test_a_topology_that_its_author_wrote_for_kueue_is_listed_with_its_jobs() -> None:
    _, *queues = CLUSTER.split("---\n")
    texts = [*queues, *OWN.split("---\n"), JOB.replace("QUEUE", "gpus")]

    listing = overview(Package(tuple([KubeObject.parse(text) for text in texts])))

    assert [(each.kind, each.name, [level.key for level in each.levels]) for each in listing.topologies] == [
        ("KueueTopology", "halls", ["example.com/hall", "kubernetes.io/hostname"])
    ]
    assert [(use.topology, use.workload.name) for use in listing.uses if use.queue] == [("halls", "llm")]


@pytest.mark.parametrize(
    ("labels", "messages"),
    [
        ({"kubernetes.io/hostname": "of-a-sample"}, []),
        ({"example.com/pool": "gpu"}, []),
        (
            {"example.com/pool": "cpu"},
            [
                "no node has these labels with these values (1 node of the input has other values), and nothing fits "
                "into the flavor"
            ],
        ),
    ],
)
def test_a_flavor_is_compared_with_nodes_that_have_its_labels(labels: dict[str, str], messages: list[str]) -> None:
    flavor = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ResourceFlavor",
        "metadata": {"name": "gpu"},
        "spec": {"nodeLabels": {"example.com/pool": "gpu"}, "topologyName": "default"},
    }
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "labels": labels}}

    results = render(Package((KubeObject.new(flavor), KubeObject.new(node)))).results

    assert [each.message for each in results if each.tags["rule"] == "kueue-flavor-nodes"] == messages


def test_place_answers_for_them_beside_the_gangs_of_kai(capsys: pytest.CaptureFixture[str]) -> None:
    folder = ROOT / "examples"

    assert main(["place", str(folder / "kueue"), "--nodes", str(folder / "nodes.yaml")]) == 1

    said = capsys.readouterr()
    assert "serving/chat-0 (queue serving): fits, 4 of 4 pods placed" in said.out
    assert "research/pretrain (queue gpus): does not fit, 0 of 8 pods placed" in said.out
    assert 'no node has the labels of the flavor "gb200": example.com/pool=gb200' in said.out
    assert "not simulated" not in said.err


@pytest.mark.parametrize(
    ("queue", "namespace", "message"),
    [
        (
            "gpu",
            "",
            'the namespace has no LocalQueue "gpu", and the job waits for it; did you mean "gpus"?',
        ),
        (
            "other",
            "team-a",
            'the namespace has no LocalQueue "other", and the job waits for it',
        ),
        ("other", "", ""),
        ("other", "team-b", ""),
        ("gpus", "team-a", ""),
    ],
)
def test_a_queue_that_is_missing_is_told_where_the_others_are_there(queue: str, namespace: str, message: str) -> None:
    whole = package(queue)
    job = whole.items[-1].set("metadata.namespace", namespace) if namespace else whole.items[-1]

    results = render(whole.replace(items=(*whole.items[:-1], job))).results

    said = [result.message for result in results if result.tags["rule"] == "kueue-queue"]
    assert said == ([message] if message else [])


@pytest.mark.parametrize("text", ["[" * 5000 + "]" * 5000, '[{"topology": "a", "size": ' + "9" * 5000 + "}]"])
def test_layers_that_nobody_means_are_refused_and_end_no_run(text: str) -> None:
    whole = package("gpus")
    path = "spec.leaderWorkerTemplate.workerTemplate.metadata.annotations"
    job = whole.items[-1].set(path, {"kueue.x-k8s.io/podset-slice-required-topology-constraints": text})

    results = render(whole.replace(items=(*whole.items[:-1], job))).results

    assert [result.tags["rule"] for result in results if result.severity is Severity.ERROR] == ["kueue-refused"]


UNSEEN: list[tuple[str, str, str]] = [
    (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {template: {metadata: {annotations: "
        '{kueue.x-k8s.io/podset-unconstrained-topology: "false"}}}}\n',
        "kueue-unchecked",
        'must be "true" or unset; with "false", each pod requests a topology without a level, and no '
        "flavor ever matches",
    ),
    (
        "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: train}\n"
        "spec: {annotations: {kueue.x-k8s.io/podset-required-topology: example.com/rack}}\n",
        "kueue-key",
        "Kueue does not read this key here; set it as an annotation of the pod templates of the runtime",
    ),
]


@pytest.mark.parametrize(("text", "rule", "message"), UNSEEN)
def test_what_no_webhook_sees_is_told(text: str, rule: str, message: str) -> None:
    results = render(Package((KubeObject.parse(text),))).results

    told = [(each.tags["rule"], each.message) for each in results if each.tags["rule"].startswith("kueue")]
    assert told == [(rule, message)]


@pytest.mark.parametrize(("flavors", "alternatives"), [(256, 256), (257, 0)])
def test_a_queue_with_more_flavors_than_the_webhook_takes_gives_no_topology(flavors: int, alternatives: int) -> None:
    names = [f"f{number}" for number in range(flavors)]
    own = [
        f"apiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\nmetadata: {{name: {name}}}\n"
        f"spec: {{nodeLabels: {{a: b}}, topologyName: of-{name}}}\n"
        for name in names
    ]
    listed = ", ".join(f"{{name: {name}, resources: [{{name: cpu, nominalQuota: 8}}]}}" for name in names)
    queues = CLUSTER.replace("{name: gpu, resources: [{name: cpu, nominalQuota: 8}]}", listed).split("---\n")
    texts = [*queues, *own, JOB.replace("QUEUE", "gpus").replace("preferred", "ignored").replace("required", "ignored")]

    listing = overview(Package(tuple([KubeObject.parse(text) for text in texts])))

    assert [len(use.alternatives) for use in listing.uses if use.queue] == [alternatives]
