"""Labels that topograph renamed: a warning about each level with an old label, and a fix on request."""

from __future__ import annotations

import pytest

from krmfn import KubeObject
from krmfn.result import Severity
from packwise.check.run import fix_package
from packwise.pipeline import render
from packwise.pipeline.selection import Package
from packwise.topology.known import new_label


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("network.topology.nvidia.com/accelerator", "accelerator.topograph.run/domain"),
        ("network.topology.nvidia.com/leaf", "fabric.topograph.run/tier-0"),
        ("network.topology.nvidia.com/spine", "fabric.topograph.run/tier-1"),
        ("network.topology.nvidia.com/core", "fabric.topograph.run/tier-2"),
        ("network.topology.nvidia.com/block", "fabric.topograph.run/tier-0"),
        ("network.topology.nvidia.com/datacenter", "fabric.topograph.run/tier-2"),
        ("network.topology.nvidia.com/tier-12", "fabric.topograph.run/tier-12"),
        ("network.topology.nvidia.com/zone", None),
        ("fabric.topograph.run/tier-0", None),
        ("example.com/leaf", None),
    ],
)
def test_the_new_name_of_a_label(old: str, new: str | None) -> None:
    assert new_label(old) == new


OLD = "network.topology.nvidia.com/leaf"
SETTINGS = """\
apiVersion: packwise.dev/v1alpha1
kind: TopologyRender
metadata: {name: topology}
spec:
  topologyAwareScheduling:
    enabled: true
    levels:
    - {domain: rack, key: network.topology.nvidia.com/leaf} # switch
"""
OPERATOR = """\
apiVersion: operator.config.grove.io/v1alpha1
kind: OperatorConfiguration
topologyAwareScheduling:
  enabled: true
  levels:
  - {domain: rack, key: network.topology.nvidia.com/leaf} # switch
"""
TOPOLOGY = """\
apiVersion: grove.io/v1alpha1
kind: ClusterTopology
metadata: {name: gb200}
spec:
  levels:
  - {domain: rack, key: network.topology.nvidia.com/leaf} # switch
"""
BINDING = TOPOLOGY.replace("ClusterTopology", "ClusterTopologyBinding")
KAI = """\
apiVersion: kai.scheduler/v1alpha1
kind: Topology
metadata: {name: others}
spec:
  levels:
  - nodeLabel: network.topology.nvidia.com/leaf # switch
"""
MESSAGE = (
    'topograph 1.0 renamed the label "network.topology.nvidia.com/leaf" to "fabric.topograph.run/tier-0". A level with '
    "the old name does not contain nodes that have only the new label. Check the labels of your nodes, and use the new "
    "name"
)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (SETTINGS, "spec.topologyAwareScheduling.levels[0].key"),
        (OPERATOR, "topologyAwareScheduling.levels[0].key"),
        (TOPOLOGY, "spec.levels[0].key"),
        (BINDING, "spec.levels[0].key"),
        (KAI, "spec.levels[0].nodeLabel"),
    ],
)
def test_a_level_of_an_old_label_is_warned_of_and_mended(text: str, path: str) -> None:
    package = Package((KubeObject.parse(text),))
    results = [result for result in render(package).results if result.tags["rule"] == "label-renamed"]

    assert [(result.severity, result.message) for result in results] == [(Severity.WARNING, MESSAGE)]
    assert [(r.field.path, r.field.proposed) for r in results if r.field] == [(path, "fabric.topograph.run/tier-0")]
    (mended,) = fix_package(package, unsafe=True).items
    assert (fix_package(package).items, fix_package(package).hidden_fixes) == (package.items, 1), (
        "nodes may carry the old label still"
    )
    lines = mended.text.replace('"', "").splitlines()
    assert lines[: text.count("\n")] == text.replace(OLD, "fabric.topograph.run/tier-0").splitlines()


def test_settings_that_stand_apart_are_warned_of_once() -> None:
    item = KubeObject.parse(SETTINGS)

    for package in (Package((), item), Package((item,), item)):
        assert [result.tags["rule"] for result in render(package).results].count("label-renamed") == 1


@pytest.mark.parametrize("text", [TOPOLOGY, SETTINGS, OPERATOR])
def test_a_level_that_has_the_new_label_already_is_not_written_twice(text: str) -> None:
    old = text.splitlines()[-1]
    text += old.replace("rack", "host").replace(OLD, "fabric.topograph.run/tier-0") + "\n"

    assert [item.text for item in fix_package(Package((KubeObject.parse(text),)), unsafe=True).items] == [text]
