"""The Topology that a PodGroup names: by annotations, and by the binding's reference in them."""

from __future__ import annotations

import pytest

from krmfn import KubeObject
from packwise.placement import Gang, Grouper
from packwise.schedulers.kai.topology import MissingBindingError, topology_names
from tests.schedulers.gangs import ORIGIN, input_of

RELEASES = {
    "the first that follows references": "  revision: v0.1.0-alpha.14\n",
    "one before it": "  revision: v0.1.0-alpha.12\n",
}
BINDING = """\
apiVersion: grove.io/v1alpha1
kind: ClusterTopologyBinding
metadata: {name: NAME}
spec: {levels: [{domain: rack, key: example.com/rack}]REFERENCES}
"""
BINDINGS = [
    KubeObject.parse(BINDING.replace("NAME", name).replace("REFERENCES", references))
    for name, references in (
        ("plain", ""),
        ("refers", ", schedulerTopologyBindings: [{schedulerName: kai-scheduler, topologyReference: theirs}]"),
    )
]
GROVE, KAI = "grove.io/topology-name", "kai.scheduler/topology"


def name_of(release: str, grouper: Grouper, annotations: dict[str, str]) -> str:
    gang = Gang(
        name="web-0",
        namespace="shop",
        workload="web",
        sets=(),
        bounds=None,
        members=None,
        topology="bounds",
        grouper=grouper,
        origin=ORIGIN,
        owner=ORIGIN,
        annotations=annotations,
    )
    return topology_names(input_of(RELEASES[release], (), *BINDINGS))(gang)


@pytest.mark.parametrize(("annotations", "followed", "named"), [
    ({}, "bounds", "bounds"),
    ({GROVE: "", KAI: ""}, "bounds", "bounds"),
    ({GROVE: "plain"}, "plain", "plain"),
    ({GROVE: "refers"}, "theirs", "refers"),
    ({KAI: "refers"}, "theirs", "refers"),
    ({GROVE: "plain", KAI: "refers"}, "plain", "plain"),
    ({GROVE: "", KAI: "refers"}, "theirs", "refers"),
])  # fmt: skip
def test_the_topology_of_a_podgroup(annotations: dict[str, str], followed: str, named: str) -> None:
    first, before = RELEASES

    assert name_of(first, Grouper.OPERATOR, annotations) == followed
    assert name_of(first, Grouper.SCHEDULER, annotations) == named
    assert name_of(before, Grouper.OPERATOR, annotations) == named


@pytest.mark.parametrize("annotation", [GROVE, KAI])
def test_a_binding_that_is_not_there(annotation: str) -> None:
    first, before = RELEASES

    with pytest.raises(MissingBindingError) as raised:
        name_of(first, Grouper.OPERATOR, {annotation: "gone"})

    assert str(raised.value) == ('get ClusterTopologyBinding gone: ClusterTopologyBinding.grove.io "gone" not found')
    assert (raised.value.binding, raised.value.place) == ("gone", ("metadata", "annotations", annotation))
    assert name_of(before, Grouper.OPERATOR, {annotation: "gone"}) == "gone"
