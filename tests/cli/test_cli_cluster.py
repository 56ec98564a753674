"""A cluster that kubectl lists, instead of files. A fake kubectl answers, and records its arguments."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml

from packwise.inputs.kubectl import cluster_role
from packwise.inputs.resources import FOR_DIFF, FOR_PLACE, RESOURCES
from tests.cli.calling import CONFIG, WORKLOAD, Call, write
from tests.places import ROOT

NODE = (
    '{"apiVersion":"v1","kind":"Node","metadata":{"name":"n1","labels":{"example.com/rack":"r1"}},'
    '"status":{"allocatable":{"cpu":"64","memory":"512Gi","nvidia.com/gpu":"16","pods":"110"}}}'
)
KUBECTL = f"""\
#!/bin/sh
echo "$@" >> "${{0%/*}}/asked"
case "$2" in
nodes) echo '{{"items":[{NODE}]}}';;
pods) echo 'Error from server (Forbidden): pods is forbidden: User "x" cannot list resource "pods"' >&2; exit 1;;
queues.scheduling.run.ai) echo '{{"items":[]}}';;
*) echo "error: the server doesn't have a resource type \\"$2\\"" >&2; exit 1;;
esac
"""


def answers(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a program with the name kubectl first on PATH, and return the file with its arguments."""
    program = folder / "bin/kubectl"
    program.parent.mkdir()
    program.write_text(script, encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    return program.parent / "asked"


def test_gangs_are_placed_on_the_nodes_of_a_cluster(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = answers(tmp_path, KUBECTL, monkeypatch)
    write(tmp_path, {"p/topology.yaml": CONFIG, "p/web.yaml": WORKLOAD})

    ran = call("place", "p", "--cluster", "west")

    assert "1 node; GPUs in use: 0 of 16 now" in ran.stderr + ran.stdout
    assert "note: you may not list these kinds, and packwise does not see them: pods" in ran.stderr
    assert "note: the cluster has no topologies.kai.scheduler, clustertopologies.grove.io," in ran.stderr
    words = "get {} --all-namespaces --output=json --request-timeout=60s --context=west"
    assert sorted(asked.read_text("utf-8").splitlines()) == sorted(words.format(each.full_name) for each in FOR_PLACE)


def test_a_folder_is_compared_with_the_cluster(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = answers(tmp_path, KUBECTL, monkeypatch)
    write(tmp_path, {"p/topology.yaml": CONFIG, "p/web.yaml": WORKLOAD})

    ran = call("diff", "p", "--cluster")

    assert "p → the cluster" in ran.stdout + ran.stderr
    assert "packwise-cluster-" not in ran.stdout + ran.stderr
    assert len(asked.read_text("utf-8").splitlines()) == len(FOR_DIFF)
    assert "--context" not in asked.read_text("utf-8")


FORBIDDEN = """\
#!/bin/sh
echo "Error from server (Forbidden): $2 is forbidden: User \\"x\\" cannot list resource" >&2; exit 1
"""


def test_kinds_that_a_user_may_not_list_are_not_compared(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers(tmp_path, FORBIDDEN, monkeypatch)
    write(tmp_path, {"p/topology.yaml": CONFIG, "p/web.yaml": WORKLOAD})

    ran = call("diff", "p", "--cluster")

    assert ran.stdout == "p → the cluster: nothing changes for the scheduler\n"
    assert (
        "note: ClusterTopology, ClusterTopologyBinding, Topology, KueueTopology, ResourceFlavor, Queue, PodGang, "
        "PodGroup: not compared, because you may not list them\n"
    ) in ran.stderr


def test_a_cluster_without_nodes_is_named(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers(tmp_path, FORBIDDEN, monkeypatch)
    write(tmp_path, {"p/topology.yaml": CONFIG, "p/web.yaml": WORKLOAD})

    ran = call("place", "p", "--cluster")

    assert ran.code == 2
    assert 'error: --nodes "the cluster": found no nodes; ' in ran.stderr


def test_objects_of_a_cluster_are_from_the_cluster(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    topology = '{"apiVersion":"grove.io/v1alpha1","kind":"ClusterTopology","metadata":{"name":"grove-topology"},'
    topology += '"spec":{"levels":[{"domain":"rack","key":"example.com/rack"}]}}'
    script = KUBECTL.replace("queues.scheduling.run.ai)", "clustertopologies.grove.io)")
    answers(tmp_path, script.replace("[]", f"[{topology}]"), monkeypatch)

    ran = call("topologies", "--cluster")

    assert "grove-topology  ClusterTopology  the cluster:3  rack=example.com/rack\n" in ran.stdout


@pytest.mark.parametrize("words", [("topologies", "--cluster"), ("doctor", "--cluster"), ("init", "new", "--cluster")])
def test_other_commands_read_it_too(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    asked = answers(tmp_path, KUBECTL, monkeypatch)

    call(*words)

    assert {line.split()[0] for line in asked.read_text("utf-8").splitlines()} == {"get"}


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("#!/bin/sh\necho 'Unable to connect to the server' >&2; exit 1\n", "reports: Unable to connect to the server"),
        ("#!/bin/sh\necho '[]'\n", "does not print a list"),
        ("#!/bin/sh\necho '{\"items\": {}'\n", "does not print a list"),
    ],
)
def test_a_cluster_that_cannot_be_read_is_wrong_usage(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, expected: str
) -> None:
    answers(tmp_path, script, monkeypatch)
    write(tmp_path, {"p/web.yaml": WORKLOAD})

    ran = call("place", "p", "--cluster")

    assert ran.code == 2
    assert expected in ran.stderr


def test_without_kubectl_it_is_wrong_usage(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {"p/web.yaml": WORKLOAD})
    monkeypatch.setenv("PATH", str(tmp_path))

    ran = call("place", "p", "--cluster")

    assert (ran.code, "cannot use --cluster: kubectl is not on PATH" in ran.stderr) == (2, True)


def test_two_states_are_compared(call: Call) -> None:
    assert call("diff", "a").code == 2
    assert call("diff", "a", "b", "--cluster").code == 2


def test_the_cluster_role_has_the_rights_that_are_needed() -> None:
    role = yaml.safe_load((ROOT / "kubectl-plugin" / "clusterrole.yaml").read_text("utf-8"))

    assert role == cluster_role()
    assert {verb for rule in role["rules"] for verb in rule["verbs"]} == {"list"}
    assert sum(len(rule["resources"]) for rule in role["rules"]) == len(RESOURCES)
