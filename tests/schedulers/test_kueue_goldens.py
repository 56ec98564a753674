"""Kueue's own answers: its refusals, the pod sets, and the match with flavors."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from krmfn.kubeobject import KubeObject
from krmfn.result import Result, Severity, sort_results
from packwise.pipeline import render
from packwise.pipeline.selection import Package, index_package
from packwise.revisions.kueue import kueue_release
from packwise.schedulers.kueue.podsets import jobs_of
from packwise.schedulers.kueue.request import TopologyRequest, read_request
from tests.golden.cases import GOLDEN
from tests.tables import each

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

TOLD = {
    # KAI schedules the pod and does not read Kueue's annotation. No component refuses it, but packwise reports it.
    "pod-kai",
    # Kueue accepts slices that do not include all pods, and no condition reports it.
    "job-slice-size-notdiv",
    "pod-slice-above",
    "statefulset-slice",
}

UNKNOWN = {
    # The runtimes of Kubeflow's charts are in the cluster and not in the repository, so packwise cannot know that one
    # is missing.
    "trainjob-no-runtime",
}


@cache
def rows() -> Mapping[str, Any]:
    with gzip.open(GOLDENS, "rt") as lines:
        every = [json.loads(line) for line in lines]
    # Neither packwise nor its settings know the effects of feature gates and of the manager's configuration.
    return {row["id"]: row for row in every if not row.get("gates") and "manageJobsWithoutQueueName" not in row}


def items(*values: Any) -> tuple[KubeObject, ...]:
    texts = [json.dumps(value, indent=1) for value in values if value]
    return tuple([KubeObject.parse(text, file=f"{number:03}.yaml") for number, text in enumerate(texts)])


def check(row: Mapping[str, Any], *values: Any) -> list[Result]:
    configuration = KubeObject.parse(CONFIGURATION, file="topology.yaml")
    baseline = (configuration, *items(row["old"])) if "old" in row else None
    package = Package((*items(*values), configuration), baseline=baseline)
    return [result for result in sort_results(render(package).results) if result.tags.get("rule") != "no-workloads"]


def of_kind(kind: str) -> dict[str, Any]:
    return {name: row for name, row in rows().items() if row["kind"] == kind}


def others(*kinds: str, wanted: Callable[[Any], Any] = lambda _: True) -> dict[str, Any]:
    """Return the `wanted` goldens of other kinds, by name."""
    return {name: row for name, row in rows().items() if row["kind"] not in kinds and wanted(row)}


@each(lambda: others("ClusterQueue", "TASMatch"))
def test_refusals_are_those_of_the_webhooks_and_of_the_api_server_in_their_order(row: Any) -> None:
    group = row.get("group") or [row["object"]]

    said = check(row, *group, *row.get("cluster", ()))

    texts = [result.tags.get("operatorMessage") for result in said if result.severity is Severity.ERROR]
    expected = [] if row["id"] in UNKNOWN else [error["message"] for error in row["answer"].get("errors", ())]
    assert [text for text in texts if text] == expected
    if row["answer"].get("by") != "api":
        assert None not in texts


@each(lambda: others("ClusterQueue", "TASMatch", wanted=lambda row: row.get("slip")))
def test_slips_that_kueue_takes_are_reported(row: Any) -> None:
    if row["answer"]["allowed"]:
        group = row.get("group") or [row["object"]]
        assert check(row, *group, *row.get("cluster", ())) != []


def is_taken(row: Any) -> bool:
    return row.get("slip") is None and "old" not in row and bool(row["answer"].get("allowed"))


@each(lambda: others("ClusterQueue", "TASMatch", "PodGroup", wanted=is_taken))
def test_what_kueue_takes_and_is_no_slip_is_silent(row: Any) -> None:
    assert bool(check(row, row["object"], *row.get("cluster", ()))) == (row["id"] in TOLD)


def of_request(request: TopologyRequest | None) -> dict[str, Any]:
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


def has_pod_sets(row: Any) -> bool:
    return bool(row["answer"].get("podSets"))


@each(lambda: others("ClusterQueue", "TASMatch", "PodGroup", "Deployment", "StatefulSet", wanted=has_pod_sets))
def test_pod_sets_are_those_that_kueue_makes(row: Any) -> None:
    release = kueue_release("v0.19")
    index = index_package(Package(items(row["object"], *row.get("cluster", ())))).items

    (job,) = jobs_of(index)

    sets = [(each.name, each.count, of_request(read_request(each.template.annotations, release))) for each in job.sets]
    assert sets == [
        (each["name"], each["count"], of_golden(each.get("topologyRequest"))) for each in row["answer"]["podSets"]
    ]


@each(lambda: of_kind("ClusterQueue"))
def test_why_a_queue_is_inactive_is_told_in_the_words_of_its_condition(row: Any) -> None:
    said = [result.message for result in check(row, row["object"], *row.get("cluster", ()))]

    active = row["answer"]["active"]
    assert len(said) == (active["status"] == "False")
    assert all(active["message"] in message for message in said)


def job_of(pod_set: Mapping[str, Any]) -> dict[str, Any]:
    """Return a Job from which Kueue makes this pod set."""
    request = pod_set.get("topologyRequest", {})
    keys = {
        "required": "podset-required-topology",
        "preferred": "podset-preferred-topology",
        "unconstrained": "podset-unconstrained-topology",
        "podSetSliceRequiredTopology": "podset-slice-required-topology",
        "podSetSliceSize": "podset-slice-size",
        "podsetSliceRequiredTopologyConstraints": "podset-slice-required-topology-constraints",
        "podSetGroupName": "podset-group-name",
    }
    annotations = {
        f"kueue.x-k8s.io/{keys[field]}": value if isinstance(value, str) else json.dumps(value)
        for field, value in request.items()
        if field in keys
    }
    template = {"metadata": {"annotations": annotations}, "spec": pod_set["template"]["spec"]}
    labels = {"kueue.x-k8s.io/queue-name": "lq"}
    metadata = {"name": "train", "namespace": "team-a", "labels": labels}
    spec = {"parallelism": pod_set["count"], "template": template}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


@each(lambda: of_kind("TASMatch"))
def test_a_pod_set_that_no_flavor_takes_is_told_in_the_words_of_the_scheduler(row: Any) -> None:
    metadata = {"name": "lq", "namespace": "team-a"}
    queue = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue", "metadata": metadata}
    queue["spec"] = {"clusterQueue": row["object"]["metadata"]["name"]}

    said = [
        result
        for result in check(row, row["object"], *row["cluster"], queue, job_of(row["podSet"]))
        # The rows are only about the match of flavors and the placement.
        if result.tags["rule"] not in ("kueue-quota", "kueue-slices")
    ]

    # packwise does not report here what fits on the nodes.
    reasons = [each.get("mismatch") or each.get("placement", "fits") for each in row["answer"]["match"]]
    reasons = [reason for reason in reasons if not reason.startswith("topology ")]
    told = " ".join(f"{result.message} {result.tags.get('operatorMessage')}" for result in said)
    if "fits" in reasons or len(reasons) < len(row["answer"]["match"]):
        assert said == []
    else:
        assert [reason for reason in reasons if reason not in told] == []
