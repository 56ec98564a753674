"""Mistakes of new users, and files of old clusters, each with its answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.calling import CONFIG, WORKLOAD, Call, write

if TYPE_CHECKING:
    from pathlib import Path

CRD = """\
apiVersion: apiextensions.k8s.io/VERSION
kind: CustomResourceDefinition
metadata: {name: podcliquesets.grove.io}
spec:
  group: grove.io
  names: {kind: PodCliqueSet, plural: podcliquesets}
  scope: Namespaced
  versions: [{name: v1alpha1, served: true, storage: true}]
"""
NODE = "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus: {allocatable: {cpu: '64', pods: '110'}}\n"


@pytest.mark.parametrize("more", ["", "  validation: {openAPIV3Schema: {type: object}}\n"])
def test_a_definition_of_v1beta1_is_not_read_as_v1(call: Call, tmp_path: Path, more: str) -> None:
    crd = CRD.replace("VERSION", "v1beta1") + more
    write(tmp_path / "in", {"topology.yaml": CONFIG, "web.yaml": WORKLOAD, "crd.yaml": crd})

    ran = call("check", "in")

    assert (ran.code, ran.stdout) == (0, "")
    assert "1 workload checked" in ran.stderr


def test_a_definition_of_v1_needs_a_schema(call: Call, tmp_path: Path) -> None:
    write(tmp_path / "in", {"crd.yaml": CRD.replace("VERSION", "v1")})

    ran = call("check", "in")

    assert ran.code == 1
    assert "[crd-schema]" in ran.stdout


def test_an_excerpt_shows_the_last_line_with_text(call: Call, tmp_path: Path) -> None:
    write(tmp_path / "in", {"w.yaml": "apiVersion: batch/v1\nkind: Job\nmetadata:\n  labels: {a: b\n\n\n\n"})

    ran = call("check", "in")

    assert ran.code == 1
    assert ran.stdout.splitlines()[1:] == ["  3 | metadata:", "  4 |   labels: {a: b", ""]


@pytest.mark.parametrize("text", ["4", "4xrack", "nodes-2.yaml"])
def test_nodes_to_add_are_explained(call: Call, tmp_path: Path, text: str) -> None:
    write(tmp_path, {"in/topology.yaml": CONFIG, "in/web.yaml": WORKLOAD, "nodes.yaml": NODE})

    ran = call("place", "in", "--nodes", "nodes.yaml", "--add-nodes", text)

    assert (ran.code, ran.stdout) == (2, "")
    assert ran.stderr == (
        f'error: --add-nodes needs a file or a text such as 4xexample.com/rack=r9 (1 to 100000 nodes); got "{text}"\n'
    )


def test_a_level_is_a_node_label(call: Call, tmp_path: Path) -> None:
    ran = call("init", "new", "--level", "rack=not_a_label/..")

    assert ran.code == 2
    assert '--level: "not_a_label/.." is not a valid node label: ' in ran.stderr
    assert list(tmp_path.iterdir()) == []


def test_example_levels_are_called_an_example(call: Call, tmp_path: Path) -> None:
    write(tmp_path, {"in/web.yaml": WORKLOAD})
    hint = "replace the example levels in in/topology.yaml by the levels of your cluster"

    assert hint in call("init", "in").stdout
    assert "an example" not in call("init", "new", "--level", "rack=example.com/rack").stdout


def test_one_folder_in_two_spellings_is_one_cluster(call: Call, tmp_path: Path) -> None:
    files = {f"west/{name}.yaml": f"{WORKLOAD.replace('web', name)}---\n{CONFIG}" for name in "ab"}
    write(tmp_path, files)

    ran = call("check", str(tmp_path / "west/a.yaml"), "west/b.yaml")

    assert ran.code == 1
    assert "Keep one, or move this one to another folder" in ran.stdout
    assert "two clusters" not in ran.stdout


def test_two_folders_are_two_clusters(call: Call, tmp_path: Path) -> None:
    write(tmp_path, {"east/t.yaml": CONFIG, "west/t.yaml": CONFIG, "west/w.yaml": WORKLOAD})

    ran = call("render", "east", "west")

    assert ran.code == 1
    assert "These are two clusters" in ran.stderr


def test_a_choice_of_releases_is_listed_once(call: Call, tmp_path: Path) -> None:
    write(tmp_path, {"in/t.yaml": CONFIG})

    ran = call("migrate", "in", "--to", "alpha.13")

    assert ran.code == 2
    assert ran.stderr.count("v0.1.0-alpha.12'") == 1
    assert "v0.1.0-alpha.12," not in ran.stderr.partition("error:")[0]


SPEAKERS = {
    "Kueue": """\
apiVersion: batch/v1
kind: Job
metadata: {name: k, namespace: ml, labels: {kueue.x-k8s.io/queue-name: q}}
spec:
  template:
    metadata: {annotations: {kueue.x-k8s.io/podset-required-topology: "a b"}}
    spec: {containers: [{name: c}]}
""",
    "KAI": """\
apiVersion: batch/v1
kind: Job
metadata: {name: j, labels: {kai.scheduler/queue: q}, annotations: {kai.scheduler/batch-min-member: four}}
spec: {template: {spec: {schedulerName: kai-scheduler, containers: [{name: c}]}}}
""",
    "API server": """\
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: j, labels: {kueue.x-k8s.io/queue-name: q}}
spec: {replicatedJobs: [{name: w, template: {spec: {template: {spec: {containers: [{name: c}]}}}}}]}
""",
    "Jinja": 'workflow:\n  name: a\n  tasks:\n  - {name: a, image: "i:1", command: ["{{ nosuch.attr.x }}"]}\n',
    "Grove": CONFIG + "---\n" + WORKLOAD.replace("minAvailable: 2", "minAvailable: 3"),
}


@pytest.mark.parametrize("speaker", SPEAKERS)
def test_a_quoted_text_names_who_says_it(call: Call, tmp_path: Path, speaker: str) -> None:
    write(tmp_path / "in", {"w.yaml": SPEAKERS[speaker]})

    ran = call("check", "in")

    assert f"\n  {speaker}: " in ran.stdout
    assert "operator:" not in ran.stdout


def test_every_command_tells_of_a_placeholder(call: Call, tmp_path: Path) -> None:
    workload = WORKLOAD.replace("  replicas: 1\n  template", "  replicas: ${REPLICAS}\n  template")
    write(tmp_path, {"in/topology.yaml": CONFIG, "in/web.yaml": workload, "nodes.yaml": NODE})
    write(tmp_path / "before", {"topology.yaml": CONFIG, "web.yaml": WORKLOAD})
    told = ': "${REPLICAS}" contains a placeholder; replace it first, then check the result [placeholder]'

    for arguments in (
        ("check", "in"),
        ("check", "in", "--baseline", "before"),
        ("explain", "in"),
        ("place", "in", "--nodes", "nodes.yaml"),
        ("diff", "before", "in"),
        ("comment", "in", "--baseline", "before"),
    ):
        ran = call(*arguments)
        assert f"warning: in/web.yaml:8:13: PodCliqueSet shop/web spec.replicas{told}" in ran.stdout + ran.stderr

    ran = call("render", "in")

    assert ran.code == 1
    assert "error: in/web.yaml:8:13: PodCliqueSet shop/web spec.replicas: must be an integer" in ran.stderr
