"""If there are several ClusterTopologyBindings, the scheduler's refusals are in the order of their names."""

from __future__ import annotations

from itertools import permutations

import pytest

from krmfn import KubeObject
from packwise.pipeline import render
from packwise.pipeline.selection import Package

CONFIG = """\
apiVersion: packwise.dev/v1alpha1
kind: TopologyRender
metadata: {name: topology}
spec: {revision: upstream, topologyAwareScheduling: {enabled: true}, scheduler: {profiles: [{name: kai-scheduler}]}}
"""
BINDING = """\
apiVersion: grove.io/v1alpha1
kind: ClusterTopologyBinding
metadata: {name: %s}
spec:
  levels: [{domain: host, key: kubernetes.io/hostname}, {domain: rack, key: example.com/rack}]
  schedulerTopologyBindings: [{schedulerName: kai-scheduler, topologyReference: %s}]
"""
BINDINGS = (BINDING % ("a100", "a100"), BINDING % ("b200", "theirs"), BINDING % ("h100", "h100"))

LOWEST = (
    '"kubernetes.io/hostname" must be the lowest level, but "example.com/rack" is below it; KAI '
    "refuses the Topology with these levels. Change the levels, or render no Topology: list another Topology in "
    "spec.schedulerTopologyBindings, or remove Topology from `emit`"
)
UNSEEN = (
    'Topology "theirs" is not in the input, so packwise cannot compare its levels. They must equal '
    "the levels of the binding, in the same order"
)


@pytest.mark.parametrize("bindings", list(permutations(BINDINGS)))
def test_the_order_of_the_input_makes_no_difference(bindings: tuple[str, ...]) -> None:
    package = Package(tuple([KubeObject.parse(text) for text in (CONFIG, *bindings)]))

    found = [
        (str(result.resource_ref and result.resource_ref.name), result.message) for result in render(package).results
    ]

    assert found == [("a100", LOWEST), ("h100", LOWEST), ("b200", UNSEEN)]


ONE = """\
apiVersion: grove.io/v1alpha1
kind: ClusterTopologyBinding
metadata: {name: a100}
spec:
  levels: [{domain: rack, key: example.com/rack}]
  schedulerTopologyBindings: [{schedulerName: kai-scheduler, topologyReference: a100}]
"""
TOPOLOGY = """\
apiVersion: kai.scheduler/v1alpha1
kind: Topology
metadata: {name: a100}
spec: {levels: [{nodeLabel: example.com/rack}]}
"""
MISSING = (
    'KAI Topology "a100" not found: the operator does not make it because the binding lists it, and packwise does not '
    "render it to be applied. Remove the entry of kai-scheduler from schedulerTopologyBindings, or apply the Topology"
)


@pytest.mark.parametrize(
    ("settings", "others", "reason", "messages"),
    [
        pytest.param("", (), "InSync", [], id="rendered, and applied"),
        pytest.param(", apply: false", (), "Drift", [MISSING], id="for review only"),
        pytest.param(", emit: [PodGang]", (), "Drift", [MISSING], id="not rendered"),
        pytest.param(", emit: [PodGang]", (TOPOLOGY,), "InSync", [], id="the input has it"),
    ],
)
def test_a_topology_that_a_binding_lists_is_there_or_not(
    settings: str, others: tuple[str, ...], reason: str, messages: list[str]
) -> None:
    texts = (CONFIG.rstrip("\n").removesuffix("}") + settings + "}\n", ONE, *others)
    rendered = render(Package(tuple([KubeObject.parse(text) for text in texts])))

    found = [result.message for result in rendered.results if result.tags["rule"] == "binding-drift"]
    assert found == messages
    texts_after = "".join([item.text for item in rendered.items]).replace('\\"', '"')
    messages_after = " ".join([result.message for result in rendered.results])
    assert f'"reason":"{reason}"' in texts_after or f"({reason})" in messages_after
