"""Objects made from a graph are only for review. They are marked with any settings, and the graph keeps every byte."""

from __future__ import annotations

from typing import Any

import pytest

from krmfn.kubeobject import KubeObject
from packwise.pipeline import Rendered, render
from packwise.pipeline.selection import Package
from tests.frontends.dynamo.graphs import BINDING, document, origins, parsed, rendered, settings

GRAPH = "components: [{name: Frontend, type: frontend}, {name: Worker, type: worker, replicas: 2, multinode: {}}]\n"
GROVE = """\
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata: {name: mine, namespace: serving}
spec:
  replicas: 1
  template:
    cliques:
    - name: a
      spec: {roleName: a, replicas: 1, podSpec: {containers: [{name: c, image: "registry.example.com/app:1"}]}}
"""
OLDER = {"grove": "v0.1.0-alpha.10", "dynamo": "1.4"}
LOCAL = "config.kubernetes.io/local-config"


def is_local(item: KubeObject) -> bool:
    return item.annotations.get(LOCAL) == "true"


def marks(answer: Rendered) -> dict[str, bool]:
    """Return for each generated object True if it is only for review, by kind and name."""
    return {f"{item.kind} {item.name}": is_local(item) for item in answer.generated}


def test_what_follows_from_a_graph_is_never_applied_beside_what_is() -> None:
    case = {**OLDER, "spec": GRAPH, "beside": f"{BINDING}---\n{GROVE}"}

    assert marks(rendered(case)) == {
        "Topology default": False,
        "PodCliqueSet llm": True,
        "PodGang llm-0": True,
        "PodGang llm-0-worker-0": True,
        "PodGang mine-0": False,
    }


def test_no_tool_gets_annotations_on_a_preview() -> None:
    answer = rendered({**OLDER, "spec": GRAPH, "more": "gitops: [argocd, flux]"})

    previews = [item for item in answer.generated if is_local(item)]
    assert [key for item in previews for key in item.annotations if "argoproj" in key or "fluxcd" in key] == []


def test_the_graph_keeps_every_byte() -> None:
    case = {**OLDER, "spec": GRAPH}

    kept = rendered(case).kept

    assert document(case) in [item.text for item in kept]


def test_a_preview_of_an_earlier_render_is_brought_up_to_date_and_goes_with_its_graph() -> None:
    case = {**OLDER, "spec": GRAPH}
    first = rendered(case)
    changed = document({**case, "spec": GRAPH.replace("replicas: 2", "replicas: 1")})
    others = [item for item in first.items if item.kind != "DynamoGraphDeployment"]

    second = render(Package((*others, KubeObject.parse(changed))))
    third = render(Package(tuple(others)))

    assert [item.name for item in second.generated] == ["default", "llm", "llm-0"]
    assert [item.kind for item in third.items] == ["TopologyRender", "ClusterTopologyBinding", "Topology"]


@pytest.mark.parametrize(
    ("emit", "kinds"),
    [
        ("[PodGang]", {"PodGang"}),
        ("[PodCliqueSet]", {"PodCliqueSet"}),
        ("[PodGroup]", {"PodGroup"}),
    ],
)
def test_emit_chooses_among_what_follows_from_a_graph(emit: str, kinds: set[str]) -> None:
    answer = rendered({**OLDER, "spec": GRAPH, "more": f"emit: {emit}"})

    assert {item.kind for item in answer.generated} == kinds
    assert all(is_local(item) for item in answer.generated)


def test_every_part_of_a_gang_has_its_origin_in_the_graph() -> None:
    spec = """\
topologyConstraint: {topologyProfile: default, packDomain: zone}
priorityClassName: high
services:
  Worker:
    componentType: worker
    minAvailable: 2
    replicas: 2
    topologyConstraint:
      packDomain: rack
"""
    found = origins(rendered({**OLDER, "version": "v1alpha1", "spec": spec}), "PodGang")

    assert found["metadata.name"] == "3 metadata.name"
    assert found["spec.priorityClassName"] == "6 spec.priorityClassName"
    assert found["spec.topologyConstraint"] == "5 spec.topologyConstraint"
    assert found["spec.podgroups[0].name"] == "9 spec.services.Worker"
    assert found["spec.podgroups[0].minReplicas"] == "10 spec.services.Worker.minAvailable"
    assert found["spec.podgroups[0].topologyConstraint"] == "13 spec.services.Worker.topologyConstraint"


def test_an_update_that_grove_refuses_is_one_of_the_graph() -> None:
    before = {"spec": "components: [{name: Worker, type: worker, multinode: {nodeCount: 2}}]\n"}
    after = {"spec": "components: [{name: Worker, type: worker, multinode: {nodeCount: 3}}]\n"}

    answer = rendered({**OLDER, **after, "before": before})

    errors = [result for result in answer.results if result.severity.value == "error"]
    assert [(result.tags["rule"], result.field and result.field.path) for result in errors] == [
        ("update-clique-min-available", "spec.components[0].multinode.nodeCount")
    ]


def test_one_configuration_serves_graphs_and_podcliquesets() -> None:
    """Grove's front end reads the graph's PodCliqueSet and the user's own one. Each is reported once."""
    texts = [settings({**OLDER}), BINDING, GROVE, document({"spec": GRAPH})]
    answer: Any = render(Package(tuple(item for text in texts for item in parsed(text))))

    assert sorted(item.name for item in answer.generated if item.kind == "PodGang") == [
        "llm-0", "llm-0-worker-0", "mine-0",
    ]  # fmt: skip
