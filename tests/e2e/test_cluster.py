"""A live cluster is read with `--cluster` by a user who has only packwise's ClusterRole.

The answers are those for its files.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e import apiserver
from tests.e2e.apiserver import ApiServer, documents
from tests.e2e.process import Servers
from tests.e2e.revisions import REVISIONS
from tests.e2e.story import EXAMPLE
from tests.places import ROOT

pytestmark = pytest.mark.e2e

NODES = ROOT / "examples" / "nodes.yaml"
ROLE = ROOT / "kubectl-plugin" / "clusterrole.yaml"

QUEUES: Mapping[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "queues.scheduling.run.ai"},
    "spec": {
        "group": "scheduling.run.ai",
        "scope": "Cluster",
        "names": {"kind": "Queue", "plural": "queues", "singular": "queue"},
        "versions": [
            {
                "name": "v2",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}
"""The CRD of KAI's Queue, without its schema."""

READER, STRANGER = "reader", "stranger"
"""The users, and their contexts of kubectl. The reader has the shipped ClusterRole, the stranger has no rights."""


@pytest.fixture(scope="module")
def cluster(servers: Servers, crds: Path, packwise: Path, tmp_path_factory: pytest.TempPathFactory) -> ApiServer:
    """Return a cluster with the nodes of the examples, and with all rendered objects of one example."""
    folder = tmp_path_factory.mktemp("cluster")
    server = apiserver.start(servers, folder / "server")
    (revision,) = [one for one in REVISIONS if one.name == "grep-244-multi"]
    server.install(*revision.definitions(crds), QUEUES)
    subprocess.run([packwise, "render", EXAMPLE, "-o", folder / "out"], check=True, capture_output=True)
    rendered = [value for value in documents(folder / "out") if value["kind"] != "TopologyRender"]
    _apply(server, [*yaml.safe_load(NODES.read_text(encoding="utf-8"))["items"], *rendered])
    # The API server taints a new node until a kubelet reports that the node is ready.
    server.kubectl("taint", "nodes", "--all", "node.kubernetes.io/not-ready:NoSchedule-")
    _bind(server)
    return server


def _apply(server: ApiServer, objects: list[dict[str, Any]]) -> None:
    """Apply objects with their statuses and their namespaces."""
    for value in objects:
        for container in value["spec"].get("containers", ()) if value["kind"] == "Pod" else ():
            container.setdefault("image", "registry.example.com/notebook:1")
    known = {value["metadata"]["name"] for value in objects if value["kind"] == "Namespace"}
    names = {value["metadata"].get("namespace", "default") for value in objects} - known
    spaces = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in names]
    server.apply([*spaces, *objects])
    for value in objects:
        if "status" in value:
            at = ("-n", value["metadata"].get("namespace", "default"), "--subresource=status", "--type=merge")
            patch = json.dumps({"status": value["status"]})
            server.kubectl("patch", value["kind"].lower(), value["metadata"]["name"], *at, "-p", patch)


def _bind(server: ApiServer) -> None:
    """Bind the shipped ClusterRole to the reader, and make a context for each user."""
    server.kubectl("apply", "-f", ROLE)
    server.kubectl("create", "clusterrolebinding", "packwise", "--clusterrole=packwise", f"--user={READER}")
    config = json.loads(server.kubeconfig.read_text(encoding="utf-8"))
    (user,) = config["users"]
    others = [{"name": name, "user": {**user["user"], "as": name}} for name in (READER, STRANGER)]
    config["users"] += others
    config["contexts"] += [{"name": name, "context": {"cluster": "tests", "user": name}} for name in (READER, STRANGER)]
    server.kubeconfig.write_text(json.dumps(config), encoding="utf-8")


Ran = tuple[int, str, list[str]]


@pytest.fixture
def run(cluster: ApiServer, packwise: Path, tmp_path: Path) -> Callable[..., Ran]:
    """Return a function that runs a program in a separate folder.

    It returns the exit code, stdout and the lines of stderr.
    """
    path = os.pathsep.join([str(packwise.parent), os.environ["PATH"]])
    environment = {**os.environ, "KUBECONFIG": str(cluster.kubeconfig), "PATH": path}

    def one(*words: str | Path) -> Ran:
        done = subprocess.run(
            words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=300
        )
        return done.returncode, done.stdout, done.stderr.splitlines()

    return one


LACKING = "note: the cluster has no clustertopologybindings.grove.io, topologies.kueue.x-k8s.io, "
HIDDEN = "note: you may not list these kinds, and packwise does not see them: "


def test_gangs_are_placed_on_the_nodes_of_the_cluster_as_on_those_of_a_file(run: Callable[..., Ran]) -> None:
    code, live, notes = run("packwise", "place", EXAMPLE, f"--cluster={READER}")

    assert (code, live) == run("packwise", "place", EXAMPLE, "--nodes", NODES)[:2]
    assert "3 of 4 gangs fit\n" in live
    assert [note for note in notes if note.startswith("note: ")] == [
        f"{LACKING}resourceflavors.kueue.x-k8s.io, clusterqueues.kueue.x-k8s.io, localqueues.kueue.x-k8s.io"
    ]


def test_a_report_draws_the_cluster(run: Callable[..., Ran], tmp_path: Path) -> None:
    code, _, notes = run("packwise", "report", EXAMPLE, "-o", "report.html", f"--cluster={READER}")

    assert (code, "3 of 4 gangs fit" in notes) == (1, True)
    assert "b2-r1-n3" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_topologies_are_listed_also_by_kubectls_plugin(run: Callable[..., Ran]) -> None:
    code, table, _ = run("packwise", "topologies", f"--cluster={READER}")

    assert code == 0
    assert re.search(
        r"^grove-topology  ClusterTopology  the cluster:\d+  zone=topology\.kubernetes\.io/zone, ", table, re.M
    )
    assert re.search(r"^grove-topology  inference/llm  by default", table, re.M)
    assert run("kubectl", "packwise", "topologies", f"--cluster={READER}")[:2] == (code, table)


def test_doctor_tells_what_the_cluster_holds(run: Callable[..., Ran]) -> None:
    code, text, _ = run("packwise", "doctor", f"--cluster={READER}")

    assert code == 0
    assert "  objects: 1 ClusterTopology, 1 ConfigMap, 1 PodCliqueSet, 4 PodGang, 4 Queue, 1 Topology\n" in text


def test_a_package_begins_with_the_levels_of_the_cluster(run: Callable[..., Ran], tmp_path: Path) -> None:
    code, _, _ = run("packwise", "init", "new", f"--cluster={READER}")

    assert code == 0
    assert "key: network.example.com/rack" in (tmp_path / "new/topologies.yaml").read_text(encoding="utf-8")


def test_what_the_cluster_has_otherwise_is_the_difference(run: Callable[..., Ran], cluster: ApiServer) -> None:
    same = run("packwise", "diff", EXAMPLE, f"--cluster={READER}")
    value = '[{"op": "replace", "path": "/spec/podgroups/0/minReplicas", "value": 5}]'
    cluster.kubectl("patch", "podgang", "llm-0-decode-0", "-n", "inference", "--type=json", "-p", value)

    _, changed, _ = run("packwise", "diff", EXAMPLE, f"--cluster={READER}")

    assert same[:2] == (0, f"{EXAMPLE} → the cluster: nothing changes for the scheduler\n")
    assert changed == (
        "PodGang\n"
        "  ~ inference/llm-0-decode-0\n"
        "      spec.podgroups[llm-0-decode-1-dec-leader].minReplicas: 1 → 5\n"
        "\n"
        f"{EXAMPLE} → the cluster: PodGang 1 changed\n"
    )


def test_missing_rights_are_notes(run: Callable[..., Ran]) -> None:
    """Without the right to list nodes, no gang can be placed.

    Without the right to list gangs, none is reported as removed.
    """
    placed = run("packwise", "place", EXAMPLE, f"--cluster={STRANGER}")
    compared = run("packwise", "diff", EXAMPLE, f"--cluster={STRANGER}")
    listed = run("packwise", "topologies", f"--cluster={STRANGER}")

    assert placed[2][1].startswith(f"{HIDDEN}nodes, pods, topologies.kai.scheduler, ")
    assert placed[2][2].startswith('error: --nodes "the cluster": found no nodes; ')
    assert placed[0] == 2
    assert compared[:2] == (0, f"{EXAMPLE} → the cluster: nothing changes for the scheduler\n")
    assert (
        "note: ClusterTopology, Topology, Queue, PodGang, PodGroup: not compared, because you may not list them"
        in (compared[2])
    )
    assert (listed[0], listed[1].splitlines()[-1]) == (0, "no topologies and no workloads")
