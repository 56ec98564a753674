"""Labels that topograph renamed, in the levels of each object with levels."""

from __future__ import annotations

import pytest

from krmfn import KubeObject
from packwise.topology.known import with_new_labels

RENDER = """\
apiVersion: packwise.dev/v1alpha1
kind: TopologyRender
metadata: {name: west}
spec:
  clusterTopology:
    levels:
    - {domain: rack, key: network.topology.nvidia.com/leaf} # before topograph 1.0
"""
OPERATOR = """\
apiVersion: operator.config.grove.io/v1alpha1
kind: OperatorConfiguration
topologyAwareScheduling:
  levels:
  - {domain: rack, key: network.topology.nvidia.com/leaf}
"""
LEVEL_BESIDE = "- {domain: block, key: fabric.topograph.run/tier-0}\n"


@pytest.mark.parametrize(
    ("text", "indent"), [(RENDER, 4), (OPERATOR, 2)], ids=["TopologyRender", "OperatorConfiguration"]
)
def test_a_new_label_takes_the_place_of_the_old_unless_a_level_beside_it_has_it(text: str, indent: int) -> None:
    renamed = text.replace("network.topology.nvidia.com/leaf", '"fabric.topograph.run/tier-0"')
    with_both = text + " " * indent + LEVEL_BESIDE

    assert with_new_labels(KubeObject.parse(text)).text == renamed
    assert with_new_labels(KubeObject.parse(with_both)).text == with_both
