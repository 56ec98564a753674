"""A rule checks every kind of object that packwise reads: an object with a wrong field has a finding.

The kinds are all kinds that the code names. A new kind needs an object with a wrong field here, or a reason why
packwise does not check it.
"""

from __future__ import annotations

import ast
import re
from functools import cache

from packwise.objects.workload_kinds import WORKLOAD_KINDS
from packwise.pipeline.selection import Package
from packwise.pipeline.steps import render
from tests.frontends.workloads.workloads import parsed
from tests.places import ROOT

_NOT_KINDS = {("", "Always"), ("", "Equal"), ("", "HEAD"), ("kubeflow.org", "ReplicaSpecs")}
_GROUP = re.compile(r"|apps|batch|[a-z0-9-]+(\.[a-z0-9-]+)+")
_KIND = re.compile(r"[A-Z][A-Za-z]+")

RULES = {
    ("grove.io", "PodCliqueSet"): ("unknown-field", "spec: {replica: 1}"),
    ("nvidia.com", "DynamoGraphDeployment"): ("dynamo-field", "spec: {components: 1}"),
    ("kai.scheduler", "Topology"): ("scheduler-topology", "spec: {levels: 1}"),
    ("kai.scheduler", "SchedulingShard"): ("kai-object-schema", "spec: {partitionLabelValue: 1}"),
    ("kai.scheduler", "Config"): ("kai-object-schema", "spec: {admission: {gpuSharing: 1}}"),
    ("scheduling.run.ai", "Queue"): ("kai-object-schema", "spec: {resources: 1}"),
    ("scheduling.run.ai", "PodGroup"): ("scheduler-podgroup", "spec: {minMember: many}"),
    ("scheduling.k8s.io", "PriorityClass"): ("priority-class-fields", "value: many"),
    ("operator.config.grove.io", "OperatorConfiguration"): (
        "configuration-shape", "topologyAwareScheduling: {enabled: 1}",
    ),
    ("packwise.dev", "TopologyRender"): ("configuration-fields", "spec: {emits: 1}"),
    **{
        ("kueue.x-k8s.io", kind): ("kueue-queue-refused", "spec: 1\nvalue: many")
        for kind in ("AdmissionCheck", "ClusterQueue", "Cohort", "LocalQueue", "WorkloadPriorityClass")
    },
    **{("kueue.x-k8s.io", kind): ("kueue-object", "spec: 1") for kind in ("ResourceFlavor", "Topology")},
}  # fmt: skip
"""The rule that checks the fields of a kind, and fields that break it. Other kinds have the rule about labels."""

OF_LABELS = ("metadata-strings", "")
"""The rule for kinds of which packwise reads only metadata or names."""

VERSIONS = {
    "": "v1", "node.k8s.io": "v1", "kueue.x-k8s.io": "v1beta2", "SchedulingShard": "v1", "Config": "v1", "Queue": "v2",
    "scheduling.run.ai": "v2alpha2",
}  # fmt: skip
"""The versions of groups and of single kinds that are not v1alpha1."""

OF_WORKLOADS = {
    ("apps", "ReplicaSet"), ("argoproj.io", "Rollout"), ("disaggregatedset.x-k8s.io", "DisaggregatedSet"),
    ("serving.kserve.io", "InferenceService"), ("serving.kserve.io", "LLMInferenceService"),
    ("kubeflow.org", "JAXJob"), ("trainer.kubeflow.org", "ClusterTrainingRuntime"),
    ("trainer.kubeflow.org", "TrainingRuntime"), ("workload.codeflare.dev", "AppWrapper"), ("", "ConfigMap"),
    *WORKLOAD_KINDS,
}  # fmt: skip
"""Kinds that are checked if KAI or Kueue schedules their pods, or if their text is a document. The tests of front ends
have objects of each.
"""

NOT_CHECKED = {
    **dict.fromkeys(
        [("grove.io", "PodClique"), ("grove.io", "PodCliqueScalingGroup")], "the operator makes it: its name alone"
    ),
    **dict.fromkeys(
        [
            ("apiextensions.k8s.io", "CustomResourceDefinition"), ("argoproj.io", "Application"),
            ("argoproj.io", "ApplicationSet"), ("helm.cattle.io", "HelmChart"),
            ("helm.toolkit.fluxcd.io", "HelmRelease"), ("kustomize.config.k8s.io", "Kustomization"),
            ("source.toolkit.fluxcd.io", "OCIRepository"),
        ],
        "it deploys: the release and a few values are read, and the component that deploys checks it",
    ),
    ("config.kueue.x-k8s.io", "Configuration"): "a few values are read, and Kueue checks it when it starts",
    **dict.fromkeys(
        [
            ("nvidia.com", "DynamoGraphDeploymentRequest"), ("scheduling.run.ai", "BindRequest"),
            ("scheduling.volcano.sh", "Queue"),
        ],
        "its name alone is known, to tell a near miss",
    ),
}  # fmt: skip
"""Kinds that packwise reads and does not check, with the reason."""


@cache
def kinds_in_code() -> set[tuple[str, str]]:
    """Return the pairs of a group and a kind that the code names."""
    found: set[tuple[str, str]] = set()
    for path in (ROOT / "fn" / "packwise").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            parts = node.elts if isinstance(node, ast.Tuple) else node.args if isinstance(node, ast.Call) else []
            texts = [part.value for part in parts[:2] if isinstance(part, ast.Constant) and isinstance(part.value, str)]
            is_pair = len(texts) == 2 and (isinstance(node, ast.Call) or len(parts) == 2)
            if is_pair and _GROUP.fullmatch(texts[0]) and _KIND.fullmatch(texts[1]):
                found.add((texts[0], texts[1]))
    return found - _NOT_KINDS


def rules_about(group: str, kind: str) -> set[str]:
    """Return the rules in the findings about a wrong object of a kind."""
    _, fields = RULES.get((group, kind), OF_LABELS)
    version = VERSIONS.get(kind) or VERSIONS.get(group, "v1alpha1")
    api = f"{group}/{version}" if group else version
    label = "" if fields else ", labels: {kai.scheduler/queue: 1}"
    text = f"apiVersion: {api}\nkind: {kind}\nmetadata: {{name: a, namespace: b{label}}}\n{fields}\n"
    return {result.tags["rule"] for result in render(Package(parsed(text))).results}


def test_an_object_of_every_kind_that_is_read_is_checked() -> None:
    silent = {
        kind: rules
        for kind in sorted(kinds_in_code() - NOT_CHECKED.keys() - OF_WORKLOADS)
        if RULES.get(kind, OF_LABELS)[0] not in (rules := rules_about(*kind))
    }

    assert silent == {}


def test_what_is_not_checked_is_read() -> None:
    assert NOT_CHECKED.keys() - kinds_in_code() == set()
