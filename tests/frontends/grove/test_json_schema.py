"""The JSON Schema of a PodCliqueSet accepts and refuses the same types as each release's API server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from krmfn.yamltext import read, split_documents
from packwise.revisions.grove import REVISIONS
from packwise.schema.run import podcliqueset_schema
from tests.golden.cases import GOLDEN
from tests.places import ROOT
from tests.schemas import schema_errors

VALIDATORS: dict[str, Any] = {
    name: jsonschema.Draft202012Validator(podcliqueset_schema(revision)) for name, revision in REVISIONS.items()
}

ANSWERED = {"alpha7": "v0.1.0-alpha.7", "head": "upstream"}
"""The folders with answers of the operator's own code, and their release."""


def problems(revision: str, value: Any) -> list[str]:
    return [f"{error.json_path}: {error.message[:200]}" for error in VALIDATORS[revision].iter_errors(value)]


def workloads(text: str) -> list[Any]:
    values = [read(document.text) for document in split_documents(text)]
    return [value for value in values if isinstance(value, dict) and value.get("kind") == "PodCliqueSet"]


@pytest.mark.slow
@pytest.mark.parametrize("revision", REVISIONS)
def test_it_is_a_schema(revision: str) -> None:
    assert schema_errors(podcliqueset_schema(REVISIONS[revision]), jsonschema.Draft202012Validator.META_SCHEMA) == []


EXAMPLES = {
    "disaggregated-inference/inference.yaml": "grep-244-multi",
    "two-topologies/chat.yaml": "upstream",
    "two-topologies/embeddings.yaml": "upstream",
    "several-topologies/west.yaml": "grep-244-multi",
    "first-design/constrained.yaml": "design-1",
    "second-design/constrained.yaml": "design-2",
}


@pytest.mark.parametrize("path", EXAMPLES)
def test_it_takes_the_examples(path: str) -> None:
    (workload,) = workloads((ROOT / "examples" / path).read_text(encoding="utf-8"))

    assert problems(EXAMPLES[path], workload) == []


RULES_ALONE = {
    # A JSON Schema of draft 2020-12 cannot express the CEL rules of CRDs, and the keys of lists.
    "alpha7/bad-env-duplicate",
    "head/bad-dup-clique",
    "head/bad-env-duplicate",
    "head/h-constraint-empty",
    "head/h-constraint-name-only",
    "head/h-pack-empty",
    "head/h-packdomain-and-pack",
    "head/h-packdomain-new",
    "head/repo-docs-proposals-244-topology-aware-scheduling-story-4-heterogeneous-gpu-example-1",
    "head/repo-docs-proposals-244-topology-aware-scheduling-story-4-heterogeneous-gpu-example-2",
}


def answers() -> list[Any]:
    """Return the inputs that the API server checked by type, with its errors."""
    found: list[Any] = []
    for folder, revision in ANSWERED.items():
        manifest = GOLDEN / folder / "manifest.json"
        whole: dict[str, Any] = json.loads(manifest.read_text(encoding="utf-8"))
        for case in whole["cases"]:
            path, name = manifest.parent / case["case"], f"{folder}/{case['case']}"
            if case["result"] in ("accepted", "webhook", "crd", "decode") and (path / "input.yaml").exists():
                errors = json.loads((path / "errors.json").read_text(encoding="utf-8"))
                refused = any(errors.get(key) for key in ("unknownFields", "crdErrors", "decodeError"))
                found.append(pytest.param(path, revision, refused and name not in RULES_ALONE, id=name))
    return found


@pytest.mark.client
@pytest.mark.parametrize(("path", "revision", "refused"), answers())
def test_it_says_what_the_api_server_says(path: Path, revision: str, refused: bool) -> None:
    values = workloads((path / "input.yaml").read_text(encoding="utf-8"))

    assert any(problems(revision, value) for value in values) == refused


def workload(**template: Any) -> dict[str, Any]:
    pod = {"containers": [{"name": "a", "image": "b"}]}
    clique = {"name": "w", "spec": {"roleName": "w", "replicas": 1, "podSpec": pod}}
    spec = {"replicas": 1, "template": {"cliques": [clique], **template}}
    return {"apiVersion": "grove.io/v1alpha1", "kind": "PodCliqueSet", "metadata": {"name": "a"}, "spec": spec}


NEW, OLD = "v0.1.0-alpha.13", "v0.1.0-alpha.7"


@pytest.mark.parametrize(
    ("revision", "template"),
    [
        (OLD, {"topologyConstraint": {"packDomain": "rack"}}),
        (NEW, {"topologyConstraint": {"topologyName": "a", "pack": {"required": "nvlink-domain"}}}),
        (NEW, {"terminationDelay": "4h0m0s"}),
        (NEW, {"priorityClassName": None}),
    ],
)
def test_it_takes(revision: str, template: dict[str, Any]) -> None:
    assert problems(revision, workload(**template)) == []


REFUSED: list[tuple[str, dict[str, Any], str]] = [
        (OLD, {"topologyConstraint": {"packDomain": "shelf"}}, "$.spec.template.topologyConstraint.packDomain"),
        (OLD, {"topologyConstraint": {}}, "$.spec.template.topologyConstraint"),
        (OLD, {"topologyConstraint": {"packDomain": "rack", "pack": {}}}, "$.spec.template.topologyConstraint"),
        (NEW, {"topologyConstraint": {"pack": {"required": "Rack"}}},
         "$.spec.template.topologyConstraint.pack.required"),
        (NEW, {"cliqueStartupType": "InOrder"}, "$.spec.template.cliqueStartupType"),
        (NEW, {"startupType": "CliqueStartupTypeInOrder"}, "$.spec.template"),
        (NEW, {"terminationDelay": "soon"}, "$.spec.template.terminationDelay"),
        (NEW, {"cliques": [{"name": "w"}]}, "$.spec.template.cliques[0]"),
        (NEW, {"cliques": [{"name": "w", "spec": {"replicas": "2", "podSpec": {"containers": []}}}]},
         "$.spec.template.cliques[0].spec.replicas"),
        (NEW, {"podCliqueScalingGroups": [{"name": "g"}]}, "$.spec.template.podCliqueScalingGroups[0]"),
    ]  # fmt: skip


@pytest.mark.parametrize(("revision", "template", "place"), REFUSED)
def test_it_refuses(revision: str, template: dict[str, Any], place: str) -> None:
    assert [problem.partition(": ")[0] for problem in problems(revision, workload(**template))] == [place]


def test_a_release_has_its_own_fields() -> None:
    rolling = workload(cliques=[{"name": "w", "rollingUpdate": {"maxUnavailable": 1},
                                 "spec": {"podSpec": {"containers": []}}}])  # fmt: skip

    assert problems("v0.1.0-alpha.14", rolling) == []
    assert [problem.partition(": ")[0] for problem in problems(NEW, rolling)] == ["$.spec.template.cliques[0]"]
