"""A missing topology, and the name that the user probably meant."""

from __future__ import annotations

import pytest

from krmfn.kubeobject import KubeObject
from packwise.pipeline import render
from packwise.pipeline.selection import Package

TOPOLOGY = """\
apiVersion: grove.io/v1alpha1
kind: ClusterTopologyBinding
metadata: {name: NAME}
spec: {levels: [{domain: rack, key: example.com/rack}]}
"""
WORKLOAD = """\
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata: {name: web, namespace: team, labels: {kai.scheduler/queue: q}}
spec:
  replicas: 1
  template:
    topologyConstraint: {topologyName: racks, pack: {required: rack}}
    cliques:
    - name: a
      spec: {roleName: a, replicas: 1, podSpec: {containers: [{name: main, image: "app:1"}]}}
"""
SETTINGS = """\
apiVersion: packwise.dev/v1alpha1
kind: TopologyRender
metadata: {name: settings}
spec: {revision: v0.1.0-alpha.13}
"""


@pytest.mark.parametrize(
    ("known", "hint"),
    [
        (("production-west-2-gpus-racks",), '; did you mean "production-west-2-gpus-racks"?'),
        (("racks-of-the-cluster-in-the-west",), '; did you mean "racks-of-the-cluster-in-the-west"?'),
        (("production-west-racks", "production-east-racks"), ""),
        (("production-west-tracks",), ""),
        (("rack",), '; did you mean "rack"?'),
    ],
)
def test_a_name_that_got_no_prefix(known: tuple[str, ...], hint: str) -> None:
    texts = [SETTINGS, WORKLOAD, *(TOPOLOGY.replace("NAME", name) for name in known)]
    results = render(Package(tuple([KubeObject.parse(text) for text in texts]))).results
    (result,) = [each for each in results if each.tags["rule"] == "topology-not-found"]
    shown = ", ".join([f'"{name}"' for name in sorted(known)])
    assert result.message == f'must name an existing ClusterTopologyBinding; got "racks"; known: {shown}{hint}'
