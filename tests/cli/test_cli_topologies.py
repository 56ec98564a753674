"""`packwise topologies`: all topologies, and the topology of each workload."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from packwise.revisions.grove import NEWEST
from tests.cli.calling import CONFIG, POOLS, SERVICE, UNNAMED_CONFIG, WORKLOAD, Call, write
from tests.places import ROOT

Expect = Callable[[str, str], None]
SCHEMA: dict[str, Any] = json.loads((ROOT / "docs/reference/topologies.schema.json").read_text(encoding="utf-8"))

TOPOLOGIES = """\
apiVersion: grove.io/v1alpha1
kind: ClusterTopology
metadata: {name: gb200}
spec: {levels: [{domain: block, key: nvidia.com/gpu.clique}, {domain: host, key: kubernetes.io/hostname}]}
---
apiVersion: grove.io/v1alpha1
kind: ClusterTopology
metadata: {name: h100}
spec: {levels: [{domain: rack, key: example.com/rack}]}
"""
TRAINING = WORKLOAD.replace("name: web # short\n  namespace: shop", "name: train-2\n  namespace: ml")
NAMED = TRAINING.replace("  template:\n", "  template:\n    clusterTopologyName: gb200\n")
ML = "---\n".join(
    [
        NAMED.replace("packDomain: rack", "packDomain: host"),
        NAMED.replace("train-2", "train-10").replace("gb200", "gb300"),
        TRAINING.replace("train-2", "free").replace("    topologyConstraint: {packDomain: rack}\n", ""),
    ]
)
RUNNING = """\
apiVersion: grove.io/v1alpha1
kind: PodClique
metadata: {name: train-2-0-a, namespace: ml, labels: {app.kubernetes.io/part-of: train-2}}
status: {scheduledReplicas: 3}
---
apiVersion: grove.io/v1alpha1
kind: PodClique
metadata: {name: train-2-0-b, namespace: ml, labels: {app.kubernetes.io/part-of: train-2}}
status: {scheduledReplicas: 1}
"""


def test_used_unused_missing_and_none(call: Call, package: Path, assert_expected: Expect) -> None:
    write(package, {"topologies.yaml": TOPOLOGIES, "ml.yaml": ML, "live.yaml": RUNNING})

    ran = call("topologies", "in")
    as_json = call("topologies", "in", "-o", "json")

    assert (ran.code, ran.messages, as_json.code, as_json.messages) == (0, "", 0, "")
    assert_expected("cli/topologies.txt", ran.stdout)
    assert_expected("cli/topologies.json", as_json.stdout)
    jsonschema.validate(json.loads(as_json.stdout), SCHEMA)


def test_an_assumed_release_is_told(call: Call, tmp_path: Path) -> None:
    free = WORKLOAD.replace("    topologyConstraint: {packDomain: rack}\n", "")
    write(tmp_path / "free", {"web.yaml": free})
    write(tmp_path / "named", {"web.yaml": free, "t.yaml": UNNAMED_CONFIG + "  revision: v0.1.0-alpha.8\n"})

    bare, named = call("topologies", "free"), call("topologies", "named")

    assert (bare.code, named.code, named.messages) == (0, 0, "")
    assert [line for line in bare.messages.splitlines() if "[revision-unnamed]" in line] == [
        f'warning: the release of Grove is not set; packwise assumes the newest one, "{NEWEST.name}". Add `revision: '
        f"{NEWEST.name}`, or your cluster's release, to the `spec` of a TopologyRender [revision-unnamed]"
    ]


def test_each_node_pool_has_its_members(call: Call) -> None:
    ran, as_json = call("topologies", "-", stdin=POOLS), call("topologies", "-", "-o", "json", stdin=POOLS)

    assert ran.stdout.partition("\n\n")[2] == (
        "NODE POOL  SHARD    NODES  QUEUES  WORKLOADS\n"
        "<default>  default                 ml/outside\n"
        "workers    pool-a   1      team    ml/inside\n"
    )
    answer = json.loads(as_json.stdout)
    assert answer["nodePools"] == [
        {
            "name": "",
            "shards": ["default"],
            "nodes": [],
            "queues": [],
            "workloads": [{"kind": "Pod", "namespace": "ml", "name": "outside"}],
        },
        {
            "name": "workers",
            "shards": ["pool-a"],
            "nodes": ["w1"],
            "queues": ["team"],
            "workloads": [{"kind": "Pod", "namespace": "ml", "name": "inside"}],
        },
    ]
    jsonschema.validate(answer, SCHEMA)


def test_without_a_node_pool_none_are_listed(call: Call) -> None:
    """The chart makes only the default shard."""
    text = POOLS.partition("---\n")[0] + "---\n" + POOLS.rpartition("---\n")[2]

    assert "NODE POOL" not in call("topologies", "-", stdin=text).stdout
    assert json.loads(call("topologies", "-", "-o", "json", stdin=text).stdout)["nodePools"] == []


def test_the_current_folder_is_the_default(call: Call, package: Path) -> None:
    assert call("topologies").stdout == call("topologies", ".").stdout
    assert "in/topology.yaml:1 (configuration)" in call("topologies").stdout
    assert package.exists()


def test_a_list_from_kubectl_is_taken_apart(call: Call) -> None:
    entries = [json_of(document) for document in (*TOPOLOGIES.split("---\n"), *ML.split("---\n"), SERVICE)]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": entries})

    ran = call("topologies", "-", stdin=text)

    assert (ran.code, ran.messages) == (0, "")
    assert [line.split() for line in ran.stdout.split("\n\n")[1].splitlines()] == [
        ["TOPOLOGY", "WORKLOAD", "CHOSEN", "SCHEDULED", "PODS"],
        ["gb200", "ml/train-2", "by", "name"],
        ["h100", "<none>"],
        ["gb300", "(does", "not", "exist)", "ml/train-10", "by", "name"],
        ["<none>", "ml/free"],
    ]


@pytest.mark.parametrize("labels", ["", ", labels: {app.kubernetes.io/managed-by: grove-operator}"])
@pytest.mark.parametrize("note", ["", ", annotations: {packwise.dev/rendered-from: the topology configuration}"])
def test_what_the_operator_or_packwise_made_in_a_cluster_is_there(labels: str, note: str, call: Call) -> None:
    gb200 = TOPOLOGIES.split("---", maxsplit=1)[0]
    made = gb200.replace("{name: gb200}", f"{{name: grove-topology, uid: x{labels}{note}}}")

    ran = call("topologies", "-", stdin=f"{made}---\n{WORKLOAD}")

    # A topology that Grove or packwise made is no topology of users, which would show the design.
    rules = [line.rpartition("[")[2] for line in ran.messages.splitlines()]
    assert (ran.code, rules) == (0, ["revision-unnamed]"] if note else [])
    assert ran.stdout == (
        "TOPOLOGY        KIND             FROM       LEVELS\n"
        "grove-topology  ClusterTopology  <stdin>:1  block=nvidia.com/gpu.clique, host=kubernetes.io/hostname\n\n"
        "TOPOLOGY        WORKLOAD  CHOSEN      SCHEDULED PODS\n"
        "grove-topology  shop/web  by default\n"
    )


def test_while_disabled_constraints_lead_nowhere(call: Call, package: Path) -> None:
    write(package, {"topology.yaml": CONFIG.replace("enabled: true", "enabled: false")})

    assert call("topologies", "in").stdout == (
        "topology-aware scheduling is disabled\n\n"
        "TOPOLOGY                         WORKLOAD  CHOSEN      SCHEDULED PODS\n"
        "grove-topology (does not exist)  shop/web  by default\n"
    )


def test_without_anything_it_says_so(call: Call, tmp_path: Path) -> None:
    write(tmp_path, {"service.yaml": SERVICE})

    ran = call("topologies", "service.yaml")

    assert (ran.code, ran.stdout.splitlines()[-1]) == (0, "no topologies and no workloads")


def test_workloads_without_grove_need_no_configuration_of_grove(call: Call, tmp_path: Path) -> None:
    group = "apiVersion: scheduling.k8s.io/v1beta1\nkind: PodGroup\nmetadata: {name: workers}\n"
    write(tmp_path, {"group.yaml": f"{group}spec: {{schedulingPolicy: {{basic: {{}}}}}}\n"})

    ran = call("topologies", str(tmp_path))

    assert ran.code == 0
    assert ran.stdout == "TOPOLOGY  WORKLOAD         CHOSEN  SCHEDULED PODS\n<none>    default/workers\n"
    assert "configuration-absent" not in ran.messages


def test_a_wrong_configuration_is_reported_instead(call: Call, package: Path) -> None:
    write(package, {"topology.yaml": CONFIG.replace("domain: rack", "domain: rakc")})

    ran = call("topologies", "in")

    assert (ran.code, ran.stdout) == (1, "")
    assert ran.stderr.startswith("error: in/topology.yaml:10:16: TopologyRender topology ")


def json_of(document: str) -> Any:
    from krmfn.yamltext import read

    return read(document)


def test_osmos_pools_are_topologies_of_its_workflows(call: Call, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples" / "osmo-training", tmp_path / "osmo")
    (tmp_path / "osmo" / "two-cliques.yaml").unlink()
    lost = (tmp_path / "osmo" / "same-zone.yaml").read_text(encoding="utf-8").replace("pool: gb200", "pool: gb300")
    write(tmp_path, {"osmo/same-zone.yaml": lost})

    ran = call("topologies", "osmo")

    assert (ran.code, ran.messages) == (0, "")
    assert ran.stdout == (
        "TOPOLOGY                                 KIND       FROM               LEVELS\n"
        "osmo-pool-osmo-workflows-gb200-topology  OSMO pool  osmo/pools.yaml:2  zone=topology.kubernetes.io/zone, "
        "gpu-clique=nvidia.com/gpu-clique\n"
        "osmo-pool-osmo-workflows-h100-topology   OSMO pool  osmo/pools.yaml:2  spine=topology.kubernetes.io/spine, "
        "rack=topology.kubernetes.io/rack\n\n"
        "TOPOLOGY                                 WORKLOAD                      CHOSEN   SCHEDULED PODS\n"
        "osmo-pool-osmo-workflows-gb200-topology  osmo-workflows/single-clique  by name\n"
        "osmo-pool-osmo-workflows-h100-topology   osmo-workflows/best-effort    by name\n"
        "gb300 (does not exist)                   osmo-workflows/same-zone      by name\n"
    )


def test_a_topology_that_cannot_be_read_is_reported(call: Call, tmp_path: Path) -> None:
    topology = "apiVersion: grove.io/v1alpha1\nkind: ClusterTopology\nmetadata: {name: 5}\nspec: {levels: []}\n"
    write(tmp_path, {"topology.yaml": CONFIG, "own.yaml": topology})

    ran = call("topologies", "topology.yaml", "own.yaml")

    assert (ran.code, ran.stdout) == (1, "")
    assert ran.stderr.splitlines()[0] == (
        "error: own.yaml:3:18: ClusterTopology 5 metadata.name: must be a string; got 5 [readable]"
    )


QUEUE_OF_KUEUE = """\
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: gpus, namespace: shop}
spec: {clusterQueue: gpus}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: gpus}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors:
"""
FLAVOR = """\
    - {name: f-NUMBER, resources: [{name: cpu, nominalQuota: 8}]}
"""
FLAVOR_OBJECT = """\
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: f-NUMBER}
spec: {nodeLabels: {example.com/pool: a}, topologyName: dc-NUMBER}
"""
TOPOLOGY = """\
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: Topology
metadata: {name: dc-NUMBER}
spec: {levels: [{nodeLabel: example.com/rack}]}
"""
JOB = """\
---
apiVersion: batch/v1
kind: Job
metadata: {name: train-NUMBER, namespace: shop, labels: {kueue.x-k8s.io/queue-name: gpus}}
spec: {suspend: true, template: {spec: {containers: [{name: main, image: "example.com/train:1"}]}}}
"""


def test_a_job_that_may_get_several_topologies_has_one_row(call: Call, tmp_path: Path) -> None:
    def numbered(text: str, numbers: range) -> str:
        return "".join([text.replace("NUMBER", str(number)) for number in numbers])

    flavors = range(5)
    queue = QUEUE_OF_KUEUE + numbered(FLAVOR, flavors) + numbered(FLAVOR_OBJECT, flavors)
    write(tmp_path, {"in.yaml": queue + numbered(TOPOLOGY, range(4)) + numbered(JOB, range(2))})

    ran, as_json = call("topologies", "in.yaml"), call("topologies", "in.yaml", "-o", "json")

    assert ran.stdout.partition("\n\n")[2] == (
        "TOPOLOGY                                      WORKLOAD      CHOSEN         SCHEDULED PODS\n"
        "dc-4 (does not exist), dc-0, dc-1 and 2 more  shop/train-0  by queue gpus\n"
        "dc-4 (does not exist), dc-0, dc-1 and 2 more  shop/train-1  by queue gpus\n"
    )
    whole = json.loads(as_json.stdout)
    jsonschema.validate(whole, json.loads((ROOT / "docs/reference/topologies.schema.json").read_text(encoding="utf-8")))
    jobs = [
        {"kind": "Job", "namespace": "shop", "name": name, "explicit": False, "scheduledPods": None}
        for name in ("train-0", "train-1")
    ]
    assert whole["groups"] == [{"topologies": [f"dc-{each}" for each in flavors], "workloads": jobs}]
    assert [(each["name"], each["workloads"], each["groups"]) for each in whole["topologies"]] == [
        (f"dc-{each}", [], [0]) for each in range(4)
    ]
    assert whole["missing"] == [{"name": "dc-4", "workloads": [], "groups": [0]}]
    assert whole["withoutTopology"] == []
