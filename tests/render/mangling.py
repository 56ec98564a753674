"""Objects with random mistakes: fields that are removed, added, or of another type, at any depth."""

from __future__ import annotations

import copy
import json
from typing import Any, cast

from hypothesis import strategies as st

from krmfn.yamltext import read, split_documents

from .packages import CONDITIONS, config

__all__ = ["DISABLED", "EVERYTHING", "SPEC", "WORKLOAD", "listed", "mangled", "mangled_packages"]

WORKLOAD: Any = read(
    """
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata:
  name: a
  namespace: team-a
  generation: 4
  labels: {app: a}
  annotations: {grove.io/auto-mnnvl: disabled}
spec:
  replicas: 2
  updateStrategy: {type: OnDelete}
  template:
    priorityClassName: high
    cliqueStartupType: CliqueStartupTypeExplicit
    terminationDelay: 1h
    headlessServiceConfig: {publishNotReadyAddresses: true}
    topologyConstraint: {packDomain: zone}
    cliques:
    - name: leader
      labels: {role: leader}
      spec:
        roleName: leader
        replicas: 1
        minAvailable: 1
        podSpec:
          containers:
          - name: main
            image: example.com/leader
            env: [{name: A, value: b}]
            ports: [{containerPort: 80, protocol: TCP}]
            resources: {limits: {nvidia.com/gpu: "8"}}
    - name: worker
      topologyConstraint: {packDomain: host}
      spec:
        roleName: worker
        replicas: 2
        startsAfter: [leader]
        podSpec: {containers: [{name: main, image: "registry.example.com/app:1"}]}
    - name: alone
      spec:
        roleName: alone
        replicas: 1
        autoScalingConfig: {minReplicas: 1, maxReplicas: 3, metrics: []}
        podSpec: {containers: [{name: main, image: "registry.example.com/app:1"}]}
    podCliqueScalingGroups:
    - name: g
      cliqueNames: [leader, worker]
      replicas: 2
      minAvailable: 1
      scaleConfig: {minReplicas: 1, maxReplicas: 4}
      topologyConstraint: {packDomain: rack}
"""
)
"""A valid workload that uses nearly every field."""

OTHERS = """
apiVersion: grove.io/v1alpha1
kind: ClusterTopology
metadata: {name: gb200, labels: {a: b}}
spec: {levels: [{domain: rack, key: example.com/nvl72}]}
---
apiVersion: grove.io/v1alpha1
kind: PodCliqueScalingGroup
metadata: {name: a-0-g, namespace: team-a}
spec: {replicas: 3}
---
apiVersion: grove.io/v1alpha1
kind: PodClique
metadata:
  name: a-0-alone
  namespace: team-a
  labels: {app.kubernetes.io/part-of: a}
status: {scheduledReplicas: 1}
---
apiVersion: scheduler.grove.io/v1alpha1
kind: PodGang
metadata:
  name: a-0
  namespace: team-a
  labels: {app.kubernetes.io/part-of: a}
  annotations:
    packwise.dev/rendered-from: PodCliqueSet team-a/a
    packwise.dev/constraints: |-
      {"packDomain":"zone","cliques":{"worker":"host"},"podCliqueScalingGroups":{"g":"rack"}}
spec: {podgroups: []}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data:
  config.yaml: |
    apiVersion: operator.config.grove.io/v1alpha1
    kind: OperatorConfiguration
    network: {}
"""
KAI = {"name": "kai-scheduler", "config": {"createTopologyResources": True}}
EVERYTHING: list[Any] = [
    WORKLOAD,
    read(config(scheduler={"profiles": [KAI]}, finalizers=True)),
    *(read(document.text) for document in split_documents(OTHERS)),
]
"""One object of each kind that packwise reads. Together they are valid."""

PREFERRED = {"topologyConstraint": {"packConstraint": {"required": "a", "preferred": "b"}}}
DISABLED: list[Any] = [
    WORKLOAD,
    read(config(revision="design-1", topology={"enabled": False, "name": "west"}, topologyNameAnnotation=True)),
    {
        "apiVersion": "scheduler.grove.io/v1alpha1",
        "kind": "PodGang",
        "metadata": {
            "name": "a-0",
            "namespace": "team-a",
            "labels": {"app.kubernetes.io/part-of": "a"},
            "annotations": {
                "packwise.dev/rendered-from": "PodCliqueSet team-a/a",
                "packwise.dev/constraints": (
                    '{"packDomain":"zone","cliques":{"worker":"host"},"podCliqueScalingGroups":{"g":"rack"}}'
                ),
            },
        },
        "spec": {
            "podgroups": [{"name": "a-0-alone", "podReferences": [], "minReplicas": 1, **PREFERRED}],
            "topologyConstraintGroupConfigs": [{"name": "a-0-g-0", "podGroupNames": ["a-0-g-0-leader"], **PREFERRED}],
            **PREFERRED,
        },
    },
]
"""A workload with a PodGang that keeps its preferred level, because topology-aware scheduling is disabled."""

SPEC: Any = {
    "topologyAwareScheduling": {"enabled": True, "levels": [{"domain": "rack", "key": "example.com/rack"}]},
    "scheduler": {"profiles": [{"name": "kai-scheduler", "default": True}]},
    "revision": "grep-244",
    "unknownFields": "Warn",
    "admission": "Existing",
    "emit": ["PodGang", "ClusterTopology"],
    "annotate": False,
    "apply": True,
}
"""The spec of a TopologyRender. Every field has its usual type."""

WORDS = st.sampled_from([
    "preferred", "finalizers",
    "name", "replicas", "packDomain", "clusterTopologyName", "status", "annotations", "cliques", "spec", "levels",
    "minAvailable", "x", "é", "key", CONDITIONS, "packwise.dev/rendered-from", "packwise.dev/constraints",
    "config.kubernetes.io/path",
])  # fmt: skip
TEXTS = ["", "a", "rack", "numa", "1h", "Bad_A", "a\nb", "é", "[", "{}", "9" * 400, "x" * 300, "0"]
NUMBERS = [-1, 0, 1, 3, 1.5, 2**31, 2**70, 1_000_000]
SCALARS = st.none() | st.booleans() | st.sampled_from(NUMBERS) | st.sampled_from(TEXTS)
CONTAINERS: list[Any] = [[], {}, [None], [[]], [{}], {"a": 1}, {"name": "a"}, ["a", "a"]]
VALUES = SCALARS | st.sampled_from(CONTAINERS).map(copy.deepcopy)


@st.composite
def mangled(draw: st.DrawFn, value: Any, most: int = 3) -> Any:
    """Draw `value`, a mapping or list, after one to `most` changes."""
    whole = copy.deepcopy(value)
    for _ in range(draw(st.integers(1, most))):
        at, step = whole, draw(steps(whole))
        while isinstance(at[step], (dict, list)) and at[step] and draw(st.integers(0, 6)):
            at, step = at[step], draw(steps(at[step]))
        slip(draw, at, step)
        if not whole:
            break
    return whole


@st.composite
def mangled_packages(draw: st.DrawFn) -> list[Any]:
    """Draw a package with one to three changes in its objects."""
    items = copy.deepcopy(draw(st.sampled_from([EVERYTHING, DISABLED])))
    for _ in range(draw(st.integers(1, 3))):
        index = draw(st.integers(0, len(items) - 1))
        items[index] = draw(mangled(items[index], most=1)) if items[index] else items[index]
    return items


def steps(container: Any) -> st.SearchStrategy[Any]:
    """Draw a key of a mapping, or an index of a list."""
    known = cast("dict[str, Any]", container)
    return st.sampled_from(sorted(known) if isinstance(container, dict) else range(len(known)))


def slip(draw: st.DrawFn, at: Any, step: Any) -> None:
    """Change the value at `step` of the mapping or list `at`."""
    found = at[step]
    form = draw(st.sampled_from(["retype", "retype", "drop", "add", "repeat"]))
    if form == "drop":
        del at[step]
    elif form == "add" and isinstance(found, dict):
        found[draw(WORDS)] = draw(VALUES)
    elif form == "repeat" and isinstance(found, list):
        at[step] = [*found, *copy.deepcopy(cast("list[Any]", found))]
    else:
        at[step] = draw(VALUES)


def listed(items: list[Any]) -> str:
    """Return the ResourceList of these items, as JSON."""
    head = {"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList"}
    return json.dumps({**head, "items": items}, ensure_ascii=False)
