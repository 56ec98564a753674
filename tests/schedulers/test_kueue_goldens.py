"""Kueue's own answers: refusals, pod sets, and the match with flavors."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest

from krmfn.kubeobject import KubeObject
from krmfn.result import Result, Severity, sort_results
from packwise.pipeline import render
from packwise.revisions.kueue import kueue_release
from packwise.schedulers.kueue.jobs import jobs_of
from packwise.schedulers.kueue.request import Request, read_request
from packwise.select import Package, index_package
from tests.golden.cases import GOLDEN

pytestmark = pytest.mark.client

GOLDENS = GOLDEN / "workloads" / "kueue.jsonl.gz"

CONFIGURATION = """\
apiVersion: packwise.dev/v1alpha1
kind: TopologyRender
metadata: {name: topology}
spec:
  revision: v0.1.0-alpha.13
  apply: false
  emit: [PodGroup]
  kueue: {version: v0.19}
  topologyAwareScheduling: {enabled: true}
"""

UNKNOWN = {
    # The runtimes of Kubeflow's charts are in the cluster, not in the repository: that one is missing cannot be told.
    "trainjob-no-runtime",
}


@cache
def rows() -> Mapping[str, Any]:
    with gzip.open(GOLDENS, "rt") as lines:
        every = [json.loads(line) for line in lines]
    # What gates or the manager's configuration change is for neither packwise nor its settings to know.
    return {row["id"]: row for row in every if not row.get("gates") and "manageJobsWithoutQueueName" not in row}


def items(*values: Any) -> tuple[KubeObject, ...]:
    texts = [json.dumps(value, indent=1) for value in values if value]
    return tuple([KubeObject.parse(text, file=f"{number:03}.yaml") for number, text in enumerate(texts)])


def check(row: Mapping[str, Any], *values: Any) -> list[Result]:
    configuration = KubeObject.parse(CONFIGURATION, file="topology.yaml")
    baseline = (configuration, *items(row["old"])) if "old" in row else None
    package = Package((*items(*values), configuration), baseline=baseline)
    return [result for result in sort_results(render(package).results) if result.tags.get("rule") != "no-workloads"]


def others(*kinds: str) -> list[str]:
    return [name for name, row in rows().items() if row["kind"] not in kinds]


@pytest.mark.parametrize("name", others("ClusterQueue", "TASMatch"))
def test_refusals_are_those_of_the_webhooks_and_of_the_api_server_in_their_order(name: str) -> None:
    row = rows()[name]
    group = row.get("group") or [row["object"]]

    said = check(row, *group, *row.get("cluster", ()))

    texts = [result.tags.get("operatorMessage") for result in said if result.severity is Severity.ERROR]
    expected = [] if name in UNKNOWN else [error["message"] for error in row["answer"].get("errors", ())]
    assert [text for text in texts if text] == expected
    if row["answer"].get("by") != "api":
        assert None not in texts


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in others("ClusterQueue", "TASMatch", "PodGroup")
        if rows()[name].get("slip") is None and "old" not in rows()[name] and rows()[name]["answer"].get("allowed")
    ],
)
def test_what_kueue_takes_and_is_no_slip_is_silent(name: str) -> None:
    row = rows()[name]

    assert check(row, row["object"], *row.get("cluster", ())) == []


def of_request(request: Request | None) -> dict[str, Any]:
    if request is None:
        return {}
    layers = [{"topology": layer.level, **({"size": layer.size} if layer.size else {})} for layer in request.layers]
    fields = {
        "required": request.required,
        "preferred": request.preferred,
        "unconstrained": request.unconstrained,
        "layers": layers or None,
        "podSetGroupName": request.group,
    }
    return {key: value for key, value in fields.items() if value is not None}


def of_golden(request: Mapping[str, Any] | None) -> dict[str, Any]:
    request = request or {}
    fields = {
        key: request[key] for key in ("required", "preferred", "unconstrained", "podSetGroupName") if key in request
    }
    layers = request.get("podsetSliceRequiredTopologyConstraints")
    if "podSetSliceSize" in request:
        size = request["podSetSliceSize"]
        layers = [{"topology": request["podSetSliceRequiredTopology"], **({"size": size} if size else {})}]
    return {**fields, **({"layers": layers} if layers else {})}


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in others("ClusterQueue", "TASMatch", "PodGroup", "Deployment", "StatefulSet")
        if rows()[name]["answer"].get("podSets")
    ],
)
def test_pod_sets_are_those_that_kueue_makes(name: str) -> None:
    row, release = rows()[name], kueue_release("v0.19")
    index = index_package(Package(items(row["object"], *row.get("cluster", ())))).items

    (job,) = jobs_of(index)

    sets = [(each.name, each.count, of_request(read_request(each.template.annotations, release))) for each in job.sets]
    assert sets == [
        (each["name"], each["count"], of_golden(each.get("topologyRequest"))) for each in row["answer"]["podSets"]
    ]
