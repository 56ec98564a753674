"""`packwise topology import` proposes levels from the labels of nodes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.calling import WORKLOAD, Call, write

Expect = Callable[[str, str], None]

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"


def node(name: str, gpus: int = 8, **labels: str) -> dict[str, Any]:
    keys = {"zone": ZONE, "host": HOST}
    return {
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {keys.get(key, f"example.com/{key}"): text for key, text in labels.items()},
        },
        "status": {"allocatable": {"nvidia.com/gpu": str(gpus)} if gpus else {}},
    }


def fleet() -> list[dict[str, Any]]:
    """Return the nodes of two zones. Each zone has four racks, and each rack four nodes."""
    return [
        node(f"n{zone}{rack}{index}", zone=f"z{zone}", rack=f"z{zone}-r{rack}", host=f"n{zone}{rack}{index}")
        for zone in range(2)
        for rack in range(4)
        for index in range(4)
    ]


def levels(call: Call, nodes: list[dict[str, Any]]) -> list[str]:
    ran = call("topology", "import", "-", stdin=json.dumps({"kind": "List", "items": nodes}))
    assert (ran.code, ran.stderr) == (0, "")
    return [line.strip(" -") for line in ran.stdout.splitlines() if line.startswith("    - {")]


def test_nested_labels_become_levels_with_their_counts(call: Call) -> None:
    assert levels(call, fleet()) == [
        "{domain: zone, key: topology.kubernetes.io/zone} # 2 domains, 32 nodes",
        "{domain: rack, key: example.com/rack} # 8 domains, 32 nodes",
        "{domain: host, key: kubernetes.io/hostname} # 32 domains, 32 nodes",
    ]


def test_the_whole_configuration(call: Call, assert_expected: Expect) -> None:
    nodes = fleet()
    nodes[0]["metadata"]["labels"][ZONE] = "z1"
    del nodes[5]["metadata"]["labels"]["example.com/rack"]
    for index, each in enumerate(nodes):
        each["metadata"]["labels"]["example.com/row"] = f"row{index % 3}"
        each["metadata"]["labels"]["network.topology.nvidia.com/datacenter"] = "dc"
        each["metadata"]["labels"]["example.com/owner"] = "team"
    ran = call("topology", "import", "-", stdin=json.dumps({"kind": "List", "items": [*nodes, node("login", 0)]}))

    assert ran.code == 0
    assert_expected("place/import.yaml", ran.stdout)


KUEUE = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "Topology",
    "metadata": {"name": "default"},
    "spec": {"levels": [{"nodeLabel": key} for key in ("example.com/hall", "example.com/a", "kubernetes.io/hostname")]},
}
KAI = KUEUE | {"apiVersion": "kai.scheduler/v1alpha1", "metadata": {"name": "grove-topology"}}


def test_without_nodes_the_levels_of_topologies_count(call: Call) -> None:
    ran = call("topology", "import", "-", stdin=json.dumps({"kind": "List", "items": [KUEUE, KAI]}))

    assert (ran.code, ran.stderr) == (0, "")
    lines = ran.stdout.splitlines()
    assert lines[0] == (
        "# Levels of KueueTopology default, Topology grove-topology. Workloads of Grove use the names of the domains."
    )
    assert [line.strip(" -") for line in lines if line.startswith("    - {")] == [
        "{domain: datacenter, key: example.com/hall}",
        "{domain: rack, key: example.com/a}",
        "{domain: host, key: kubernetes.io/hostname}",
    ]


def test_nodes_say_more_than_topologies(call: Call) -> None:
    assert levels(call, [*fleet(), KUEUE]) == levels(call, fleet())


def test_topologies_of_several_levels_are_refused(call: Call) -> None:
    other = KAI | {"spec": {"levels": [{"nodeLabel": "example.com/rack"}]}}

    ran = call("topology", "import", "-", stdin=json.dumps({"kind": "List", "items": [KUEUE, other]}))

    assert ran.code == 2
    assert "KueueTopology default, Topology grove-topology have different levels" in ran.stderr


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (
            {
                "network.topology.nvidia.com/spine": "s{0}",
                "network.topology.nvidia.com/leaf": "l{1}",
                "network.topology.nvidia.com/accelerator": "a{1}",
            },
            ["block: network.topology.nvidia.com/spine", "rack: network.topology.nvidia.com/accelerator"],
        ),
        (
            {"fabric.topograph.run/tier-1": "s{0}", "fabric.topograph.run/tier-0": "l{1}"},
            ["block: fabric.topograph.run/tier-1", "rack: fabric.topograph.run/tier-0"],
        ),
        (
            {"fabric.topograph.run/tier-0": "l{1}", "network.topology.nvidia.com/leaf": "l{1}"},
            ["rack: fabric.topograph.run/tier-0"],
        ),
        (
            {
                "topology.k8s.aws/network-node-layer-1": "nn{0}",
                "topology.k8s.aws/network-node-layer-2": "nn{1}",
                "topology.k8s.aws/network-node-layer-3": "nn{2}",
            },
            [
                "datacenter: topology.k8s.aws/network-node-layer-1",
                "block: topology.k8s.aws/network-node-layer-2",
                "rack: topology.k8s.aws/network-node-layer-3",
            ],
        ),
        (
            {"failure-domain.beta.kubernetes.io/zone": "z{0}", "topology.kubernetes.io/zone": "z{0}"},
            ["zone: topology.kubernetes.io/zone"],
        ),
        (
            {"example.com/block": "b{0}", "example.com/row": "o{1}", "nvidia.com/gpu.clique": "c{2}"},
            ["datacenter: example.com/block", "block: example.com/row", "rack: nvidia.com/gpu.clique"],
        ),
    ],
    ids=["topograph before 1.0", "topograph", "both generations", "aws", "deprecated", "two words of one domain"],
)
def test_labels_that_others_write(call: Call, labels: dict[str, str], expected: list[str]) -> None:
    nodes = [node(f"n{index}") for index in range(16)]
    for index, each in enumerate(nodes):
        each["metadata"]["labels"] = {
            key: text.format(index // 8, index // 4, index // 2) for key, text in labels.items()
        }

    found = [line.partition("}")[0].removeprefix("{domain: ").replace(", key", "") for line in levels(call, nodes)]

    assert found == expected


def test_the_proposal_is_a_configuration(call: Call, tmp_path: Path) -> None:
    write(tmp_path, {"nodes.json": json.dumps({"kind": "List", "items": fleet()}), "in/web.yaml": WORKLOAD})
    write(tmp_path, {"in/topology.yaml": call("topology", "import", "nodes.json").stdout})

    assert call("check", "in", "--nodes", "nodes.json").code == 0
    assert call("place", "in", "--nodes", "nodes.json").code == 0


def test_a_file_without_nodes_is_named_as_it_was(tmp_path: Path, call: Call) -> None:
    write(tmp_path, {"pods.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"})

    ran = call("topology", "import", "pods.yaml")

    text = 'error: "pods.yaml": found no nodes; pass the output of `kubectl get nodes,pods -A -o json`'
    assert (ran.code, ran.stdout, ran.stderr.splitlines()[0]) == (2, "", text)


def test_nodes_without_such_labels(call: Call) -> None:
    ran = call("topology", "import", "-", stdin=json.dumps(node("n0")))

    assert (ran.code, ran.stdout) == (2, "")
    assert ran.stderr.startswith("error: no label of the nodes shows topology domains")


def test_check_validates_topologies_on_the_nodes(call: Call, package: Path, tmp_path: Path) -> None:
    nodes = [node("n0", zone="z0"), node("n1", zone="z0")]
    write(tmp_path, {"nodes.json": json.dumps({"kind": "List", "items": nodes})})

    ran = call("check", str(package), "--nodes", "nodes.json", "-o", "json")

    assert ran.code == 0
    assert [finding["rule"] for finding in ran.findings if "node" in finding["rule"]] == ["level-on-no-node"]


CONF = """\
# spine-1=s1
SwitchName=core Switches=s[1-2]
SwitchName=s1 Switches=l[1-2]
SwitchName=s2 Switches=l[3-4]
SwitchName=l1 Nodes=n[01-04]
SwitchName=l2 Nodes=n[05-08]
SwitchName=l3 Nodes=n[09-12]
SwitchName=l4 Nodes=n[13-16]
"""


def test_levels_of_what_topograph_writes(tmp_path: Path, call: Call, assert_expected: Expect) -> None:
    blocks = "".join([f"BlockName=b{number} Nodes=n[{number * 2 - 1:02}-{number * 2:02}]\n" for number in range(1, 9)])
    config_map = {"kind": "ConfigMap", "metadata": {"name": "slurm"}, "data": {"topology.conf": CONF}}
    write(tmp_path, {"tree.conf": CONF, "blocks.conf": blocks, "slurm.json": json.dumps(config_map)})

    both = call("topology", "import", "tree.conf", "blocks.conf")

    assert (both.code, both.stderr) == (0, "")
    assert_expected("place/topograph.yaml", both.stdout)
    alone = call("topology", "import", "tree.conf").stdout
    assert call("topology", "import", "-", stdin=CONF).stdout == alone
    assert call("topology", "import", "slurm.json").stdout == alone


def test_levels_of_instances_with_deep_fabrics_and_sub_domains(call: Call) -> None:
    def instance(number: int) -> dict[str, Any]:
        domain = {"accelerator.topograph.run/domain": f"d{number // 4}"}
        return {
            "id": f"i-{number:02}",
            "network_layers": [f"t0-{number // 8}", f"t1-{number // 16}", f"t2-{number // 32}", f"t3-{number // 64}"],
            "labels": {**domain, "accelerator.topograph.run/sub-domain": f"s{number // 2}"},
        }

    ran = call("topology", "import", "-", stdin=json.dumps({"instances": [instance(number) for number in range(128)]}))

    assert [line.partition(" # ")[0].strip(" -") for line in ran.stdout.splitlines() if "- {" in line] == [
        "{domain: region, key: fabric.topograph.run/tier-3}",
        "{domain: zone, key: fabric.topograph.run/tier-2}",
        "{domain: datacenter, key: fabric.topograph.run/tier-1}",
        "{domain: block, key: fabric.topograph.run/tier-0}",
        "{domain: rack, key: accelerator.topograph.run/domain}",
    ]


def test_output_of_topograph_that_cannot_be_read(tmp_path: Path, call: Call) -> None:
    write(tmp_path, {"bad.conf": "SwitchName=a Nodes=n[1-\n"})

    ran = call("topology", "import", "bad.conf")

    assert (ran.code, ran.stdout) == (2, "")
    assert ran.stderr == (
        'error: "bad.conf": topograph\'s output: must have ranges such as n[001-128,130]; got "n[1-"\n'
    )
