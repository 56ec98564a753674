"""Several ClusterTopologyBindings: what the scheduler has against them follows their names."""

from __future__ import annotations

from itertools import permutations

import pytest

from krmfn import KubeObject
from packwise.pipeline import render
from packwise.select import Package

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
    'must be the lowest level where it is "kubernetes.io/hostname"; "example.com/rack" is below it: KAI refuses the '
    "Topology that is made of it; or render none: let spec.schedulerTopologyBindings list another, or `emit` without "
    "Topology"
)
UNSEEN = (
    'Topology "theirs" is not among the input, so its levels are not compared; it must have those of the binding, in '
    "their order"
)


@pytest.mark.parametrize("bindings", list(permutations(BINDINGS)))
def test_the_order_of_the_input_makes_no_difference(bindings: tuple[str, ...]) -> None:
    package = Package(tuple([KubeObject.parse(text) for text in (CONFIG, *bindings)]))

    found = [
        (str(result.resource_ref and result.resource_ref.name), result.message) for result in render(package).results
    ]

    assert found == [("a100", LOWEST), ("h100", LOWEST), ("b200", UNSEEN)]
