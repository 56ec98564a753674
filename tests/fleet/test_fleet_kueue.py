"""Packages with jobs for Kueue are checked, rendered and compared as packages for Grove are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from packwise.fleet.packages import Packages
from tests.cli.calling import CONFIG, Call, write
from tests.fleet.trees import tree

SETTINGS = CONFIG.replace(
    "spec:\n", 'spec:\n  emit: [KueueTopology]\n  kueue: {flavors: [{name: gpu, nodeLabels: {gpu: "true"}}]}\n', 1
)
JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: team, labels: {kueue.x-k8s.io/queue-name: lq}}
spec:
  suspend: true
  template:
    metadata: {annotations: {kueue.x-k8s.io/podset-required-topology: LEVEL}}
    spec: {containers: [{name: main, image: main}], restartPolicy: Never}
"""
CLUSTER_QUEUE = """\
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: cq}
spec:
  namespaceSelector: {}
  resourceGroups: [{coveredResources: [cpu], flavors: [{name: gpu, resources: [{name: cpu, nominalQuota: 8}]}]}]
"""
LOCAL_QUEUE = """\
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: lq, namespace: team}
spec: {clusterQueue: cq}
"""
GOOD = {
    "topology.yaml": SETTINGS,
    "job.yaml": JOB.replace("LEVEL", "example.com/rack"),
    "queues.yaml": f"{CLUSTER_QUEUE}---\n{LOCAL_QUEUE}",
}


@pytest.fixture(autouse=True)
def _fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write a valid package, one with a level that no Topology has, and one with another name of its LocalQueue."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / ".cache"))
    write(tmp_path / "clusters" / "good", GOOD)
    write(tmp_path / "clusters" / "level", GOOD | {"job.yaml": JOB.replace("LEVEL", "example.com/block")})
    write(tmp_path / "clusters" / "queue", GOOD | {"job.yaml": GOOD["job.yaml"].replace("name: lq", "name: lqq")})


def packages(call: Call, *words: str) -> dict[str, dict[str, Any]]:
    """Return the report of each package."""
    listed = json.loads(call("fleet", *words, "--no-cache").stdout)["packages"]
    return {Path(each["package"]).name: each for each in listed}


@pytest.mark.parametrize(("verb", "option"), [("check", "-o"), ("render", "--report")])
def test_jobs_of_kueue_count_as_checked_with_what_is_missing_of_their_chain(call: Call, verb: str, option: str) -> None:
    found = packages(call, verb, "clusters", option, "json")

    assert {name: (each["status"], each["workloads"]) for name, each in found.items()} == {
        "good": ("passing", 1), "level": ("passing", 1), "queue": ("passing", 1)
    }  # fmt: skip
    assert {name: [finding["rule"] for finding in each["findings"]] for name, each in found.items()} == {
        "good": [], "level": ["kueue-unmatched"], "queue": ["kueue-queue"]
    }  # fmt: skip


def test_topologies_and_flavors_of_kueue_are_rendered(call: Call, tmp_path: Path) -> None:
    assert call("fleet", "render", "clusters", "--no-cache", "-o", "out").code == 0

    texts = [path.read_text(encoding="utf-8") for path in sorted((tmp_path / "out" / "good").rglob("*.yaml"))]
    (topology,) = [text for text in texts if "kind: Topology\n" in text and "kueue.x-k8s.io/v1beta2" in text]
    assert "- nodeLabel: topology.kubernetes.io/zone\n  - nodeLabel: example.com/rack\n" in topology
    assert any("kind: ResourceFlavor\n" in text and "topologyName: grove-topology\n" in text for text in texts)


def test_a_level_that_changes_is_a_change_of_kueues_topology(call: Call, tmp_path: Path) -> None:
    changed = SETTINGS.replace("example.com/rack", "example.com/cabinet")
    write(tmp_path / "new" / "good", GOOD | {"topology.yaml": changed})
    write(tmp_path / "new" / "same", GOOD)
    write(tmp_path / "clusters" / "same", GOOD)

    found = packages(call, "diff", "new", "--baseline", "clusters", "-o", "json")

    assert {name: each["status"] for name, each in found.items()} == {
        "good": "changed", "level": "removed", "queue": "removed", "same": "unchanged"
    }  # fmt: skip
    assert found["good"]["topologiesRecreated"] == ["grove-topology"]


def test_jobs_of_kueue_below_the_configuration_of_a_folder_above_are_a_package() -> None:
    files = tree({"topology.yaml": SETTINGS, "jobs/job.yaml": GOOD["job.yaml"], "other/web.yaml": "kind: Web\n"})

    assert [list(Packages(files, folder).clients) for folder in ("jobs", "other")] == [["jobs"], []]
