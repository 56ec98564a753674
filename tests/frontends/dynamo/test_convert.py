"""The component that Dynamo's operator makes from a service of v1alpha1, and the place of each part."""

from __future__ import annotations

from typing import Any

import pytest

from packwise.frontends.dynamo.convert import ALPHA, to_v1beta1
from packwise.frontends.dynamo.graph import Graph
from packwise.frontends.dynamo.shape import shape_of
from packwise.revisions.dynamo import NEWEST
from packwise.settings.topologyrender import Dynamo

GPU = "nvidia.com/gpu"
SERVICE = ("spec", "services", "worker")
CONTAINER = ("spec", "components", 0, "podTemplate", "spec", "containers", 0)


def graph(service: dict[str, Any], labels: dict[str, str] | None = None) -> dict[str, Any]:
    spec = {"services": {"worker": service}} | ({"labels": labels} if labels else {})
    return {"apiVersion": ALPHA, "kind": "DynamoGraphDeployment", "metadata": {"name": "llm"}, "spec": spec}


def containers(service: dict[str, Any]) -> list[dict[str, Any]]:
    value: Any = to_v1beta1(graph(service)).value
    return value["spec"]["components"][0]["podTemplate"]["spec"]["containers"]


@pytest.mark.parametrize(
    ("dedicated", "main", "expected"),
    [
        ({"limits": {"gpu": "1"}}, {"limits": {GPU: "8"}}, {"limits": {GPU: "8"}}),
        ({"limits": {"gpu": "1"}}, {"limits": {"cpu": "4"}}, {"limits": {GPU: "1", "cpu": "4"}}),
        ({"requests": {"cpu": "1"}}, {"limits": {GPU: "8"}}, {"requests": {"cpu": "1"}, "limits": {GPU: "8"}}),
        ({"requests": {"cpu": "1"}, "limits": {"gpu": "2"}}, {"requests": {"cpu": "2"}},
         {"requests": {"cpu": "2"}, "limits": {GPU: "2"}}),
        ({"limits": {"gpu": "1"}}, {"limits": {}}, {"limits": {GPU: "1"}}),
        ({"limits": {"gpu": "1"}}, None, {"limits": {GPU: "1"}}),
        (None, {"limits": {GPU: "8"}}, {"limits": {GPU: "8"}}),
        ({"claims": [{"name": "a"}]}, {"claims": [{"name": "b"}]}, {"claims": [{"name": "b"}]}),
    ],
)  # fmt: skip
def test_resources_of_the_main_container_win_key_by_key(
    dedicated: dict[str, Any] | None, main: dict[str, Any] | None, expected: dict[str, Any]
) -> None:
    service: dict[str, Any] = {} if dedicated is None else {"resources": dedicated}
    service["extraPodSpec"] = {"mainContainer": {"image": "app:1"} | ({} if main is None else {"resources": main})}

    (container,) = containers(service)

    assert container["resources"] == expected


def test_each_resource_is_traced_to_where_it_is_written() -> None:
    service = {
        "resources": {"limits": {"gpu": "1", "cpu": "2"}},
        "extraPodSpec": {"mainContainer": {"resources": {"limits": {GPU: "8"}}}},
    }
    trace = to_v1beta1(graph(service)).trace

    at = (*CONTAINER, "resources", "limits")
    assert trace.find((*at, "cpu")).path == (*SERVICE, "resources", "limits", "cpu")
    assert trace.find((*at, GPU)).path == (*SERVICE, "extraPodSpec", "mainContainer", "resources", "limits", GPU)


def test_an_entry_main_of_extra_containers_is_dropped() -> None:
    sidecar = {"name": "sidecar", "image": "b:1"}
    extra = {"containers": [{"name": "main", "image": "c:1"}, sidecar], "mainContainer": {"image": "a:1"}}

    assert containers({"extraPodSpec": extra}) == [{"image": "a:1", "name": "main"}, sidecar]
    trace = to_v1beta1(graph({"extraPodSpec": extra})).trace
    assert trace.find((*CONTAINER[:-1], 1, "image")).path == (*SERVICE, "extraPodSpec", "containers", 1, "image")


@pytest.mark.parametrize(
    ("service", "labels", "expected"),
    [
        ({}, None, "true"),
        ({"labels": {"nvidia.com/metrics-enabled": "false"}}, None, "false"),
        ({}, {"nvidia.com/metrics-enabled": "false"}, "false"),
        ({"labels": {"nvidia.com/selector": "mine"}}, None, "true"),
    ],
)
def test_labels_of_users_win_over_that_of_metrics_alone(
    service: dict[str, Any], labels: dict[str, str] | None, expected: str
) -> None:
    read = Graph.read(to_v1beta1(graph(service, labels)).value, is_alpha=True)

    (clique,) = shape_of(read, NEWEST, Dynamo()).value["spec"]["template"]["cliques"]

    assert clique["labels"]["nvidia.com/metrics-enabled"] == expected
    assert clique["labels"]["nvidia.com/selector"] == "llm-worker"
