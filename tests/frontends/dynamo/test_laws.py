"""Properties of graphs: the conversion keeps everything that it promises to keep, and no input stops packwise."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from krmfn.kubeobject import KubeObject
from krmfn.yamltext import write
from packwise.frontends.dynamo.convert import SAVED, to_v1beta1
from packwise.frontends.dynamo.graph import Graph
from packwise.frontends.dynamo.shape import set_name, shape_of
from packwise.pipeline import render
from packwise.pipeline.selection import Package
from packwise.revisions.dynamo import NEWEST, RELEASES
from packwise.settings.topologyrender import Dynamo
from tests.frontends.dynamo.back import to_v1alpha1
from tests.frontends.dynamo.graphs import parsed
from tests.frontends.dynamo.graphs import settings as settings_of

Strategy = st.SearchStrategy[Any]
NONE: dict[str, Any] = {}

NAMES: Strategy = st.from_regex(r"[A-Za-z0-9]([-A-Za-z0-9]{0,8}[A-Za-z0-9])?", fullmatch=True)
COUNTS: Strategy = st.integers(1, 4)
MODES: Strategy = st.sampled_from(["IntraPod", "InterPod"])
WORDS: Strategy = st.text("abc-", min_size=1, max_size=4)
POD_SPECS: Strategy = st.fixed_dictionaries(
    NONE,
    optional={
        "nodeSelector": st.dictionaries(WORDS, WORDS, max_size=2),
        "containers": st.lists(
            st.fixed_dictionaries({"name": st.sampled_from(["main", "sidecar"]), "image": WORDS}),
            min_size=1,
            max_size=2,
            unique_by=lambda container: container["name"],
        ).map(lambda found: sorted(found, key=lambda container: container["name"])),
    },
)
COMPONENTS: Strategy = st.fixed_dictionaries(
    {"name": NAMES},
    optional={
        "type": st.sampled_from(["frontend", "worker", "prefill", "decode", "planner"]),
        "replicas": COUNTS,
        "minAvailable": st.just(1),
        "multinode": st.fixed_dictionaries({"nodeCount": st.integers(2, 4)}),
        "topologyConstraint": st.fixed_dictionaries({"packDomain": WORDS}),
        "scalingAdapter": st.just(NONE),
        "sharedMemorySize": st.sampled_from(["0", "2Gi"]),
        "frontendSidecar": st.just("sidecar"),
        "podTemplate": st.fixed_dictionaries(
            NONE,
            optional={
                "metadata": st.fixed_dictionaries({"labels": st.dictionaries(WORDS, WORDS, min_size=1, max_size=2)}),
                "spec": POD_SPECS.filter(bool),
            },
        ).filter(bool),
        "experimental": st.fixed_dictionaries(
            NONE,
            optional={
                "gpuMemoryService": st.fixed_dictionaries(
                    NONE, optional={"mode": st.sampled_from(["IntraPod", "InterPod"])}
                ),
                "failover": st.fixed_dictionaries(NONE, optional={"numShadows": st.just(1)}),
                "checkpoint": st.just({"enabled": True}),
                "grove": st.just({"forceScalingGroup": True}),
            },
        ).filter(bool),
    },
)
SPECS: Strategy = st.fixed_dictionaries(
    {
        "components": st.lists(COMPONENTS, max_size=3, unique_by=lambda component: component["name"]).map(
            lambda found: sorted(found, key=lambda component: component["name"].encode())
        )
    },
    optional={
        "labels": st.dictionaries(WORDS, WORDS, min_size=1, max_size=2),
        "backendFramework": st.sampled_from(["vllm", "trtllm"]),
        "env": st.just([{"name": "A", "value": "1"}]),
        "priorityClassName": WORDS,
        "topologyConstraint": st.fixed_dictionaries({"clusterTopologyName": WORDS}, optional={"packDomain": WORDS}),
    },
)
ANYTHING: Strategy = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 3) | st.sampled_from(["", "a", "${A}", "rack", "InterPod"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["name", "spec", "a", "main"]), inner, max_size=3)
    ),
    max_leaves=6,
)
FIELDS = (
    "name", "type", "replicas", "minAvailable", "multinode", "topologyConstraint", "roles", "providerOverride",
    "podTemplate", "experimental", "extraPodSpec", "resources", "volumeMounts", "gpuMemoryService", "sharedMemory",
    "scalingAdapter", "envs", "annotations", "packDomain", "nodeCount", "containers", "metadata", "grove", "value",
)  # fmt: skip
PARTS: Strategy = st.dictionaries(
    st.sampled_from(FIELDS), st.dictionaries(st.sampled_from(FIELDS), ANYTHING, max_size=3) | ANYTHING, max_size=4
)
WILD: Strategy = st.fixed_dictionaries(
    NONE,
    optional={
        "components": st.lists(PARTS | ANYTHING, max_size=3) | ANYTHING,
        "services": st.dictionaries(NAMES, PARTS | ANYTHING, max_size=3) | ANYTHING,
        "topologyConstraint": ANYTHING,
        "providerOverride": ANYTHING,
        "experimental": ANYTHING,
        "restart": ANYTHING,
        "labels": ANYTHING,
        "pvcs": ANYTHING,
    },
)


def beta(spec: dict[str, Any]) -> dict[str, Any]:
    head = {"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeployment"}
    return {**head, "metadata": {"name": "llm", "namespace": "serving"}, "spec": spec}


@given(SPECS)
def test_v1beta1_is_the_same_after_the_way_to_v1alpha1_and_back(spec: dict[str, Any]) -> None:
    value = beta(spec)

    there = to_v1alpha1(value)

    assert there["apiVersion"] == "nvidia.com/v1alpha1"
    assert to_v1beta1(there).value == value


@given(SPECS)
def test_v1alpha1_is_the_same_after_the_way_to_v1beta1_and_back(spec: dict[str, Any]) -> None:
    value = to_v1alpha1(beta(spec))

    assert to_v1alpha1(to_v1beta1(value).value) == value


def test_what_v1beta1_has_no_field_for_is_back_at_its_place() -> None:
    services: dict[str, Any] = {
        "a": {"ingress": {"enabled": True}, "serviceName": "b", "replicas": 1},
        "c": {"autoscaling": {}},
    }
    value = {
        **beta({"services": services, "pvcs": [{"name": "cache", "create": True}]}),
        "apiVersion": "nvidia.com/v1alpha1",
    }

    there = to_v1beta1(value).value

    annotations: Any = there["metadata"]
    assert annotations["annotations"][SAVED] == (
        '{"pvcs":[{"create":true,"name":"cache"}],'
        '"services":{"a":{"ingress":{"enabled":true},"serviceName":"b"},"c":{"autoscaling":{}}}}'
    )
    assert to_v1alpha1(there) == value


@given(SPECS)
def test_a_graph_becomes_the_same_set_whatever_version_says_it(spec: dict[str, Any]) -> None:
    value = beta(spec)
    before = to_v1beta1(to_v1alpha1(value)).value

    shapes = [
        shape_of(Graph.read(each, is_alpha=alpha), NEWEST, Dynamo()).value
        for each, alpha in ((value, False), (before, True))
    ]

    assert shapes[0] == shapes[1]


@given(SPECS, st.text("abcdefgh-", min_size=1, max_size=60))
def test_no_name_is_longer_than_pods_names_allow_unless_the_webhook_refuses_it(spec: dict[str, Any], name: str) -> None:
    value = beta(spec)
    value["metadata"] = {"name": name}
    graph = Graph.read(value, is_alpha=False)

    shortened = set_name(graph)

    assert shortened == name or len(shortened) < len(name)
    assert len(shortened) <= max(45, 8)


@given(WILD, st.sampled_from(["v1alpha1", "v1beta1"]), st.sampled_from([release.name for release in RELEASES]))
def test_nothing_that_anyone_writes_stops_packwise_and_a_render_of_a_render_is_the_same(
    spec: dict[str, Any], version: str, release: str
) -> None:
    graph = {**beta(spec), "apiVersion": f"nvidia.com/{version}"}
    texts = [settings_of({"dynamo": release}), write(graph)]
    items = tuple(item for text in texts for item in parsed(text))

    first, second = render(Package(items)), render(Package(items))

    assert [item.text for item in first.items] == [item.text for item in second.items]
    assert first.results == second.results
    again = render(Package(first.items))
    assert [item.text for item in again.items] == [item.text for item in first.items]


def test_the_shape_of_a_manifest_does_not_depend_on_how_it_is_written() -> None:
    spec = {"components": [{"name": "Worker", "type": "worker", "replicas": 2}]}
    block = KubeObject.new(beta(spec))
    flow = KubeObject.parse(
        "{apiVersion: nvidia.com/v1beta1, kind: DynamoGraphDeployment, metadata: {name: llm, namespace: serving},"
        " spec: {components: [{name: Worker, type: worker, replicas: 2}]}}"
    )

    rendered = [render(Package((*parsed(settings_of({})), item))).generated for item in (block, flow)]

    assert [item.text for item in rendered[0]] == [item.text for item in rendered[1]]
