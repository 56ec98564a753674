"""The API server's own code gives the same verdict and the same texts for the same CRDs and objects.

kubectl-validate links apiextensions-apiserver v0.30. It knows neither the operator's webhooks nor rules with an
optional old value. Tests name both if they matter.
"""

from __future__ import annotations

import copy
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from krmfn.fieldpath import parse_path
from krmfn.kubeobject import KubeObject
from packwise.pipeline import render
from packwise.pipeline.selection import Package

from . import test_rules, test_structure
from .objects import crd, definition, thing

pytestmark = pytest.mark.client

WORKLOAD = """
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata: {name: inference, namespace: serving}
spec:
  replicas: 1
  template:
    topologyConstraint: {packDomain: rack}
    cliques:
    - name: router
      spec:
        roleName: router
        replicas: 1
        podSpec:
          containers:
          - name: main
            image: example.com/router
            ports: [{containerPort: 80, protocol: TCP}]
    - name: engine
      spec:
        roleName: engine
        replicas: 2
        podSpec:
          containers: [{name: main, image: example.com/engine, resources: {limits: {cpu: 2}}}]
    podCliqueScalingGroups:
    - {name: engines, cliqueNames: [engine], replicas: 2}
"""
TOPOLOGY = """
apiVersion: grove.io/v1alpha1
kind: ClusterTopology
metadata: {name: gb200}
spec:
  levels:
  - {domain: zone, key: example.com/zone}
  - {domain: rack, key: example.com/rack}
  - {domain: host, key: kubernetes.io/hostname}
"""
KAI_TOPOLOGY = """
apiVersion: kai.scheduler/v1alpha1
kind: Topology
metadata: {name: gb200}
spec:
  levels: [{nodeLabel: example.com/zone}, {nodeLabel: example.com/rack}, {nodeLabel: kubernetes.io/hostname}]
"""
GANG = """
apiVersion: scheduler.grove.io/v1alpha1
kind: PodGang
metadata: {name: inference-0, namespace: serving, labels: {app: inference}}
spec:
  podgroups:
  - {name: router, minReplicas: 1, podReferences: [{namespace: serving, name: router-0}]}
  - {name: engine, minReplicas: 2, podReferences: []}
  topologyConstraint: {packConstraint: {required: example.com/rack}}
"""
BASES: dict[str, dict[str, Any]] = {
    kind: yaml.safe_load(text)
    for kind, text in {
        "PodCliqueSet": WORKLOAD,
        "ClusterTopology": TOPOLOGY,
        "Topology": KAI_TOPOLOGY,
        "PodGang": GANG,
    }.items()
}

T = "spec.template."
POD = T + "cliques[0].spec.podSpec."
DROP = object()
"""An edit that removes a field."""

# A kind, and the edits of its object.
OBJECTS: list[tuple[str, dict[str, Any]]] = [
    ("PodCliqueSet", {}),
    ("PodCliqueSet", {"spec.replicas": "two"}),
    ("PodCliqueSet", {"spec.colour": "red"}),
    ("PodCliqueSet", {"metadata.colour": "red"}),
    ("PodCliqueSet", {"metadata.labels": {"tier": 1}}),
    ("PodCliqueSet", {T + "topologyConstraint.packDomain": "racks"}),
    ("PodCliqueSet", {T + "topologyConstraint": {}}),
    ("PodCliqueSet", {T + "cliqueStartupType": "InOrder"}),
    ("PodCliqueSet", {T + "podCliqueScalingGroups[0].cliqueNames": DROP}),
    ("PodCliqueSet", {T + "podCliqueScalingGroups[0].replicas": None}),
    ("PodCliqueSet", {T + "headlessServiceConfig": {}}),
    ("PodCliqueSet", {T + "headlessServiceConfig": {"publish": True}}),
    ("PodCliqueSet", {"spec.updateStrategy": {"type": "Never"}}),
    ("PodCliqueSet", {POD + "containers": DROP}),
    ("PodCliqueSet", {POD + "containers[0].imagePullPolice": "Always"}),
    ("PodCliqueSet", {POD + "containers[0].image": 5}),
    ("PodCliqueSet", {POD + "containers[1]": {"name": "main"}}),
    ("PodCliqueSet", {POD + "containers[0].ports[1]": {"containerPort": 80}}),
    ("PodCliqueSet", {POD + "containers[0].env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]}),
    ("PodCliqueSet", {POD + "containers[0].env": [{"name": "A", "valueFrom": {"fieldRef": {"path": "x"}}}]}),
    ("PodCliqueSet", {POD + "containers[0].resources": {"limits": {"memory": "64 GiB"}}}),
    ("PodCliqueSet", {POD + "containers[0].resources": {"requests": {"memory": "64Gi", "cpu": 1}}}),
    ("PodCliqueSet", {POD + "containers[0].livenessProbe": {"httpGet": {"port": "http"}}}),
    ("PodCliqueSet", {POD + "containers[0].livenessProbe": {"httpGet": {"port": True}}}),
    ("PodCliqueSet", {POD + "nodeSelector": {"pool": 1}}),
    ("PodCliqueSet", {POD + "toleration": []}),
    ("PodCliqueSet", {POD + "terminationGracePeriodSeconds": 1 << 70}),
    ("PodCliqueSet", {POD + "imagePullSecrets": [{"name": "a"}, {"name": "a"}]}),
    ("ClusterTopology", {}),
    ("ClusterTopology", {"spec.levels": []}),
    ("ClusterTopology", {"spec.levels": DROP}),
    ("ClusterTopology", {"spec.levels[0].domain": "row"}),
    ("ClusterTopology", {"spec.levels[0].domain": "rack"}),
    ("ClusterTopology", {"spec.levels[0].key": "a key"}),
    ("ClusterTopology", {"spec.levels[0].key": "k" * 64}),
    ("ClusterTopology", {"spec.levels[0].key": ""}),
    ("ClusterTopology", {"spec.levels[0].color": "red"}),
    ("ClusterTopology", {"metadata.name": "GB200"}),
    ("Topology", {}),
    ("Topology", {"spec.levels[2]": DROP}),
    ("Topology", {"spec.levels[0].nodeLabel": "kubernetes.io/hostname"}),
    ("Topology", {"spec.levels[1].nodeLabel": "example.com/zone"}),
    ("Topology", {"spec.levels[0].nodeLabel": "Example.com/zone"}),
    ("Topology", {"spec.levels": "none"}),
    ("PodGang", {}),
    ("PodGang", {"spec.podgroups[0].minReplicas": "1"}),
    ("PodGang", {"spec.podgroups[0].podReferences": DROP}),
    ("PodGang", {"spec.podgroups[0].podReferences[0].name": DROP}),
    ("PodGang", {"spec.podgroups": None}),
    ("PodGang", {"spec.topologyConstraint.packConstraint.requires": "x"}),
    ("PodGang", {"metadata.namespace": "Serving"}),
]

# Objects that kubectl-validate refuses and a cluster accepts: the operator's webhook writes them back first
# (spec/grove.md#1).
HEALED: list[tuple[str, dict[str, Any]]] = [
    ("PodCliqueSet", {T + "cliques[0].spec.replicas": DROP}),
    ("PodCliqueSet", {T + "cliques[0].spec.roleName": DROP}),
    ("PodCliqueSet", {POD + "containers[0].name": DROP}),
    ("PodCliqueSet", {POD + "containers[0].ports[0].containerPort": DROP}),
    ("PodCliqueSet", {POD + "containers[0].resources": {"limits": {"cpu": 1.5}}}),
]

# Objects that kubectl-validate accepts and a cluster refuses: the webhook cannot decode them.
UNDECODED: list[tuple[str, dict[str, Any]]] = [("PodCliqueSet", {T + "terminationDelay": "soon"})]

SCHEMA_RULES = {
    "clustertopology-schema", "object-schema", "scheduler-topology", "unknown-field", "workload-decode",
    "workload-schema",
}  # fmt: skip
SETTINGS = """
apiVersion: packwise.dev/v1alpha1
kind: TopologyRender
metadata: {name: topology}
spec:
  revision: grep-244-multi
  topologyAwareScheduling: {enabled: false}
"""


def edited(kind: str, edits: dict[str, Any]) -> dict[str, Any]:
    value: dict[str, Any] = copy.deepcopy(BASES[kind])
    for path, new in edits.items():
        *parents, last = parse_path(path)
        at: Any = value
        for step in parents:
            at = at[step]
        if new is DROP:
            del at[last]
        elif isinstance(last, int) and last == len(at):
            at.append(new)
        else:
            at[last] = new
    return value


def verdicts(validator: Path, folder: Path, objects: list[dict[str, Any]], *crds: Path) -> list[list[str] | None]:
    """Return kubectl-validate's errors about each object, or None if kubectl-validate accepts the object."""
    folder.mkdir()
    files = [folder / f"{index:03}.yaml" for index in range(len(objects))]
    for file, value in zip(files, objects, strict=True):
        file.write_text(json.dumps(value), encoding="utf-8")
    words = [word for crd in crds for word in ("--local-crds", str(crd))]
    done = subprocess.run(
        [str(validator), str(folder), "-o", "json", *words], capture_output=True, text=True, timeout=300, check=False
    )
    answers: dict[str, list[dict[str, Any]]] = json.loads(done.stdout)
    return [texts_of(answers[str(file)][0]) for file in files]


def texts_of(status: dict[str, Any]) -> list[str] | None:
    if status["status"] == "Success":
        return None
    details: dict[str, Any] = status.get("details") or {}
    causes: list[dict[str, str]] = details.get("causes") or []
    return sorted(f"{cause.get('field', '<nil>')}: {cause['message']}" for cause in causes)


def refused(value: dict[str, Any], crds: tuple[KubeObject, ...]) -> bool:
    """Return True if packwise refuses an object for a reason of the API server."""
    items = (KubeObject.parse(SETTINGS), KubeObject.new(value))
    return any(result.tags["rule"] in SCHEMA_RULES for result in render(Package(items, crds=crds)).results)


def given(crds: Path) -> tuple[KubeObject, ...]:
    folders = (crds / "alpha7", crds / "kai-v0.12.0")
    files = [file for folder in folders for file in sorted(folder.glob("*.yaml"))]
    return tuple([KubeObject.parse(file.read_text(encoding="utf-8"), file=str(file)) for file in files])


def test_objects_of_upstreams_kinds(crds: Path, kubectl_validate: Path, tmp_path: Path) -> None:
    table = [*OBJECTS, *HEALED, *UNDECODED]
    objects = [edited(kind, edits) for kind, edits in table]
    definitions = given(crds)

    theirs = verdicts(kubectl_validate, tmp_path / "objects", objects, crds / "alpha7", crds / "kai-v0.12.0")

    differing = [
        row
        for row, value, said in zip(table, objects, theirs, strict=True)
        if refused(value, definitions) != bool(said is not None)
    ]
    assert differing == [*HEALED, *UNDECODED]
    assert sum(said is None for said in theirs) > 8, "too few were taken to show anything"


# kubectl-validate does not support int-or-string without an additional anyOf. Upstream's CRDs have both.
SCHEMAS: list[tuple[dict[str, Any], Any]] = [
    *[
        (test_structure.with_field(schema), {"a": value})
        for schema, value, _, _ in test_structure.REFUSED
        if "x-kubernetes-int-or-string" not in schema
    ],
    *[(test_structure.with_field(schema), {"a": value}) for schema, value in test_structure.TAKEN],
    *[
        (test_structure.with_field({"type": "string", "format": name}), {"a": text})
        for name, *texts in test_structure.FORMATS
        for text in texts
    ],
    *[(test_rules.with_rule("self.n > 1", **more), {"n": 1}) for more, _ in test_rules.REASONS],
    *[(test_rules.with_rule(rule), spec) for rule, spec in test_rules.HOLD],
]


def test_every_part_of_a_schema(kubectl_validate: Path, tmp_path: Path) -> None:
    (tmp_path / "crds").mkdir()
    objects: list[dict[str, Any]] = []
    ours: list[list[str]] = []
    for index, (schema, spec) in enumerate(SCHEMAS):
        kind = f"Thing{index:03}"
        definitions = json.dumps(crd(schema, kind=kind))
        (tmp_path / "crds" / f"{kind}.yaml").write_text(definitions, encoding="utf-8")
        objects.append({**thing(spec), "kind": kind})
        found = definition(schema).problems(thing(spec))
        ours.append(sorted(problem.operator_message or problem.message for problem in found))

    theirs = verdicts(kubectl_validate, tmp_path / "objects", objects, tmp_path / "crds")

    differing = [
        (schema, spec, mine, said)
        for (schema, spec), mine, said in zip(SCHEMAS, ours, theirs, strict=True)
        if mine != as_later_versions(said)
    ]
    assert differing == []


def as_later_versions(texts: list[str] | None) -> list[str]:
    """Return the texts of v0.30 as later versions spell them, with one finding for each cause."""
    found = [re.sub(r"may not be longer than (\d+)$", r"may not be more than \1 bytes", text) for text in texts or ()]
    wrong = {text.partition(":")[0] for text in found if " in body must be of type " in text}
    wrong |= {match[1] for text in found if (match := re.search(r'"(\S+)" must validate at least one schema', text))}
    return [
        text
        for text in found
        if "some validation rules were not checked" not in text
        and (text.partition(":")[0] not in wrong or " in body must be of type " in text)
    ]
