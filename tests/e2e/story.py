"""The steps of the tests of both GitOps tools: a source with two workloads, its cluster, and changes of the source."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.e2e import apiserver, webhook
from tests.e2e.apiserver import ApiServer
from tests.e2e.gitserver import Clone
from tests.e2e.process import Servers
from tests.e2e.revisions import REVISIONS
from tests.places import ROOT

__all__ = ["EXAMPLE", "SECOND", "SOURCE", "Source", "available", "edit", "snapshot", "start_cluster"]

SOURCE = "clusters/west"
"""The folder of the sources in their repository, as the pages spell it."""

EXAMPLE = ROOT / "examples" / "disaggregated-inference"

SECOND = """\
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata:
  name: batch
  namespace: inference
  labels:
    kai.scheduler/queue: inference
spec:
  replicas: 2
  template:
    topologyConstraint:
      packDomain: rack
    cliques:
    - name: worker
      spec:
        roleName: worker
        replicas: 2
        podSpec:
          schedulerName: kai-scheduler
          containers:
          - name: worker
            image: registry.example.com/batch/worker:1.0.0
            resources:
              limits:
                nvidia.com/gpu: "4"
"""
"""A workload in addition to the example's. A later commit removes it."""

_KINDS = (
    "clustertopologies.grove.io",
    "topologies.kai.scheduler",
    "podgangs.scheduler.grove.io",
    "podcliquesets.grove.io",
    "services",
)


@dataclass(frozen=True)
class Source:
    """The folder `clusters/west` in a clone."""

    clone: Clone

    @property
    def folder(self) -> Path:
        return self.clone.folder / SOURCE

    def create(self, tool: str) -> str:
        """Write the example with a second workload for `tool`, and the repository's copy of the tool's files."""
        shutil.copytree(EXAMPLE, self.folder)
        edit(self.folder / "topology.yaml", "\nspec:\n", f"\nspec:\n  gitops: [{tool}]\n")
        (self.folder / "batch.yaml").write_text(SECOND, encoding="utf-8")
        return self.clone.push("Serve and train in the west")

    def change_levels(self) -> str:
        """Commit another label for the level `block`."""
        edit(self.folder / "topology.yaml", "key: network.example.com/block", "key: network.example.com/spine")
        return self.clone.push("Blocks are spines")

    def remove_second(self) -> str:
        """Commit the removal of the second workload."""
        (self.folder / "batch.yaml").unlink()
        return self.clone.push("No more batch")

    def break_workload(self) -> str:
        """Commit a constraint without a level, together with a correct change."""
        edit(self.folder / "inference.yaml", "packDomain: block", "packDomain: datacenter")
        edit(self.folder / "inference.yaml", "terminationDelay: 30m", "terminationDelay: 20m")
        return self.clone.push("Break it")


def edit(path: Path, old: str, new: str) -> None:
    """Replace `old`, which the file must contain."""
    text = path.read_text(encoding="utf-8")
    assert old in text, f"{path.name} does not contain {old!r}: nothing would change"
    path.write_text(text.replace(old, new), encoding="utf-8")


def start_cluster(servers: Servers, crds: Path, folder: Path) -> ApiServer:
    """Start an API server with the CRDs of Grove and KAI. It accepts no workload before its topology."""
    cluster = apiserver.start(servers, folder)
    (revision,) = [one for one in REVISIONS if one.name == "grep-244-multi"]
    cluster.install(*revision.definitions(crds))
    workload: dict[str, Any] = yaml.safe_load(SECOND)
    workload["metadata"]["namespace"] = "default"
    webhook.install(cluster, workload)
    return cluster


def snapshot(cluster: ApiServer) -> dict[str, tuple[str, str]]:
    """Return uid and resourceVersion of every rendered object and source.

    If two snapshots are equal, no object was written.
    """
    found = json.loads(cluster.kubectl("get", ",".join(_KINDS), "-A", "-o", "json"))["items"]
    return {
        f"{value['kind']}/{value['metadata']['name']}": (
            value["metadata"]["uid"],
            value["metadata"]["resourceVersion"],
        )
        for value in found
    }


def available(cluster: ApiServer, *names: str) -> None:
    """Set the status that the operator sets once all replicas of the workloads run."""
    for name in names:
        value = cluster.get("podcliquesets.grove.io", name, "inference")
        assert value is not None, name
        status = {
            "observedGeneration": value["metadata"]["generation"],
            "replicas": value["spec"]["replicas"],
            "availableReplicas": value["spec"]["replicas"],
        }
        patch = json.dumps({"status": status})
        words = ("podcliquesets.grove.io", name, "-n", "inference", "--subresource=status", "--type=merge")
        cluster.kubectl("patch", *words, "-p", patch)
