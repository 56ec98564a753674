"""Misspelt kinds, groups and versions, and kinds of other projects that are not misspelt."""

from __future__ import annotations

import pytest

from krmfn.kubeobject import KubeObject
from packwise.objects.index import Index
from packwise.objects.kinds import is_incomplete_object, spelling_findings

SET = '"PodCliqueSet" of "grove.io/v1alpha1"'

MISSES = {
    ("kueue.x-k8s.io/v1alpha1", "Topology"): (
        "apiVersion",
        '"kueue.x-k8s.io/v1beta1", "kueue.x-k8s.io/v1beta2"',
    ),
    ("grove.io/v1alpha1", "PodcliqueSet"): ("kind", SET),
    ("grove.io/v1alpha1", "PodCliqeSet"): ("kind", SET),
    ("grove.io/v1alpha1", "PodCliqueSets"): ("kind", SET),
    ("core.grove.ai/v1alpha1", "PodCliqueSet"): ("apiVersion", SET),
    ("v1", "PodCliqueSet"): ("apiVersion", SET),
    ("example.com/v1", "podcliqueset"): ("apiVersion", SET),
    ("grove.io/v1alpha1", "PodGang"): ("apiVersion", '"PodGang" of "scheduler.grove.io/v1alpha1"'),
    ("grove.io/v1alpha1", "ClusterTopolgy"): ("kind", '"ClusterTopology" of "grove.io/v1alpha1"'),
    ("scheduling.kai.nvidia.com/v2", "Queue"): ("apiVersion", '"Queue" of "scheduling.run.ai/v2"'),
    ("kai.schedular/v1alpha1", "Topology"): ("apiVersion", '"Topology" of "kai.scheduler/v1alpha1"'),
    ("kai.scheduler/v2", "Queue"): ("apiVersion", '"Queue" of "scheduling.run.ai/v2"'),
    ("scheduling.run.ai/v2alpha2", "Podgroup"): ("kind", '"PodGroup" of "scheduling.run.ai/v2alpha2"'),
    ("packwise.io/v1alpha1", "TopologyRender"): ("apiVersion", '"TopologyRender" of "packwise.dev/v1alpha1"'),
    ("operator.grove.io/v1", "OperatorConfiguration"): (
        "apiVersion",
        '"OperatorConfiguration" of "operator.config.grove.io/v1alpha1"',
    ),
    ("grove.io/v1beta1", "PodCliqueSet"): ("apiVersion", '"grove.io/v1alpha1"'),
    ("scheduling.run.ai/v3", "Queue"): ("apiVersion", '"scheduling.run.ai/v1", "scheduling.run.ai/v2"'),
}


def finding_of(api_version: str, kind: str, defined: tuple[tuple[str, str], ...] = ()) -> tuple[str, str] | None:
    item = KubeObject.parse(f"apiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: a}}\n")
    findings = list(spelling_findings(Index.of([item]), defined))
    if not findings:
        return None
    (finding,) = findings
    return str(finding.path[0]), finding.message.removeprefix("must be ").partition("; got")[0]


@pytest.mark.parametrize("api", MISSES, ids=" ".join)
def test_a_near_miss_is_an_error_with_the_right_spelling(api: tuple[str, str]) -> None:
    assert finding_of(*api) == MISSES[api]


@pytest.mark.parametrize(
    "api",
    [
        ("grove.io/v1alpha1", "PodCliqueSet"),
        ("grove.io/v1alpha1", "PodClique"),
        ("scheduling.run.ai/v2", "Queue"),
        ("scheduling.run.ai/v1", "BindRequest"),
        ("kai.scheduler/v1", "SchedulingShard"),
        ("kueue.x-k8s.io/v1beta1", "Topology"),
        ("scheduling.x-k8s.io/v1alpha1", "PodGroup"),
        ("scheduling.k8s.io/v1alpha1", "PodGroup"),
        ("scheduling.volcano.sh/v1beta1", "Queue"),
        ("topology.volcano.sh/v1alpha1", "HyperNode"),
        ("acid.zalan.do/v1", "OperatorConfiguration"),
        ("sqs.aws.upbound.io/v1beta1", "Queue"),
        ("rabbitmq.com/v1beta1", "Queue"),
        ("example.com/v1", "ClusterTopology"),
        ("v1", "Pod"),
        ("apps/v1", "Deployment"),
    ],
    ids=" ".join,
)
def test_known_kinds_and_those_of_others_are_none(api: tuple[str, str]) -> None:
    assert finding_of(*api) is None


def test_a_definition_among_the_input_defines_its_own() -> None:
    assert finding_of("grove.io/v1beta1", "PodCliqueSet", (("grove.io", "PodCliqueSet"),)) is None
    assert finding_of("example.com/v1", "PodCliqueSet", (("example.com", "PodCliqueSet"),)) is None


def test_what_lacks_one_of_both_is_read_where_it_is_groves() -> None:
    assert is_incomplete_object({"kind": "PodCliqueSet"})
    assert is_incomplete_object({"apiVersion": "grove.io/v1alpha1"})
    assert not is_incomplete_object({"kind": "Queue"})
    assert not is_incomplete_object({"apiVersion": "v1"})
    assert not is_incomplete_object({"kind": 1, "apiVersion": "grove.io/v1alpha1"})
    assert not is_incomplete_object(["PodCliqueSet"])
