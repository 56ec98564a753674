"""Calls of the command line in tests, and the small package that most of them render."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from packwise.render.files import LIST

__all__ = [
    "CHOSEN",
    "CONFIG",
    "POOLS",
    "SERVICE",
    "SHARED",
    "SHARED_FINDING",
    "UNNAMED_CONFIG",
    "WORKLOAD",
    "AssertEach",
    "Call",
    "Ran",
    "listing",
    "write",
]

CONFIG = """\
apiVersion: packwise.dev/v1alpha1
kind: TopologyRender
metadata:
  name: topology
spec:
  topologyAwareScheduling:
    enabled: true
    levels:
    - {domain: zone, key: topology.kubernetes.io/zone}
    - {domain: rack, key: example.com/rack}
  revision: grep-244-multi
"""

UNNAMED_CONFIG = CONFIG.replace("  revision: grep-244-multi\n", "")
"""CONFIG without a release of Grove."""

WORKLOAD = """\
# A router.
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata:
  name: web # short
  namespace: shop
spec:
  replicas: 1
  template:
    topologyConstraint: {packDomain: rack}
    cliques:
    - name: router
      spec:
        roleName: router
        replicas: 2
        minAvailable: 2
        podSpec:
          containers:
          - {name: router, image: "registry.example.com/router:1"}
"""

CHOSEN = "; 1 workload checked with Grove grep-244-multi (in/topology.yaml)"
"""The part about CONFIG in the last line of a check or a render."""

_COUNTED = re.compile(r"^(?:no findings|\d+ (?:error|warning|info)s?)[^:]* in \d+ files?$")
_CHECKED = re.compile(r"(?:; |^)(?:(?:\d+|no) workloads? (?:checked|read)|skipped: ).*$")
_SIDE = re.compile(r".+: (?:\d+|no) workloads? read.*")

POOLS = """\
apiVersion: kai.scheduler/v1
kind: SchedulingShard
metadata: {name: default}
spec: {}
---
apiVersion: kai.scheduler/v1
kind: SchedulingShard
metadata: {name: pool-a}
spec: {partitionLabelValue: workers}
---
apiVersion: scheduling.run.ai/v2
kind: Queue
metadata: {name: team, labels: {kai.scheduler/node-pool: workers}}
spec: {resources: {cpu: {quota: -1, limit: -1}, gpu: {quota: -1, limit: -1}, memory: {quota: -1, limit: -1}}}
---
apiVersion: v1
kind: Node
metadata: {name: w1, labels: {kai.scheduler/node-pool: workers}}
---
apiVersion: v1
kind: Pod
metadata: {name: inside, namespace: ml, labels: {kai.scheduler/queue: team, kai.scheduler/node-pool: workers}}
spec: {schedulerName: kai-scheduler, containers: [{name: c, image: i:1}]}
---
apiVersion: v1
kind: Pod
metadata: {name: outside, namespace: ml, labels: {kai.scheduler/queue: other}}
spec: {schedulerName: kai-scheduler, containers: [{name: c, image: i:1}]}
"""
"""Objects of the node pool "workers", and a pod of the default node pool."""

SHARED = """\
apiVersion: grove.io/v1alpha1
kind: ClusterTopology
metadata:
  name: grove-topology
  labels:
    app.kubernetes.io/managed-by: grove-operator
  annotations:
    config.kubernetes.io/path: &p x
    config.kubernetes.io/index: *p
    packwise.dev/rendered-from: the topology configuration
spec:
  levels:
  - domain: zone
    key: topology.kubernetes.io/zone
"""
"""An object that packwise rendered. It has an annotation of kpt that cannot be removed."""

SHARED_FINDING = (
    "generated.yaml:8:32: ClusterTopology grove-topology metadata.annotations[config.kubernetes.io/path]: "
    'anchor "p" shares this value with other places; to change only "config.kubernetes.io/path", '
    "write the value out where the anchor is used"
)
"""The finding about SHARED in a file of that name."""

SERVICE = "apiVersion: v1\nkind: Service\nmetadata:\n  name: web # mine\n"


@dataclass(frozen=True, slots=True)
class Ran:
    """The answer of one call."""

    code: int
    stdout: str
    stderr: str

    @property
    def closing(self) -> str:
        """Return the last line of stderr, with the counts of findings, actions and checked objects."""
        return self.stderr.removesuffix("\n").rpartition("\n")[2]

    @property
    def messages(self) -> str:
        """Return stderr without the counts of its last line: findings, checked and skipped objects. A render's actions
        stay.

        The output of a comparison has such a line for each side.
        """
        *above, last = self.stderr.removesuffix("\n").split("\n")
        last = _COUNTED.sub("", _CHECKED.sub("", last))
        if _SIDE.fullmatch(last):
            above, last = above[:-1], ""
        return "".join(f"{line}\n" for line in (*above, last) if line)

    @property
    def findings(self) -> list[dict[str, Any]]:
        """Return the findings that `check -o json` printed."""
        return cast("list[dict[str, Any]]", json.loads(self.stdout))


Call = Callable[..., Ran]
"""Runs the command with these arguments. `stdin` is its input."""

AssertEach = Callable[[Mapping[str, Any], Callable[[Any, Path], None]], None]
"""Runs a check on every row of a table. Each row has a separate folder, which is the current one."""


def write(folder: Path, files: dict[str, str]) -> None:
    """Write files with exactly these bytes, including line ends."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())


def listing(folder: Path) -> str:
    """Return all files as one text, to be compared as a whole, without the list of files that `render -o` keeps."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != LIST)
    return "".join(f"===== {path.relative_to(folder).as_posix()}\n{path.read_bytes().decode()}" for path in paths)
