"""Kueue's Topology and ResourceFlavors, which packwise writes from the levels of the settings."""

from __future__ import annotations

import pytest

from krmfn.kubeobject import KubeObject
from packwise.check.run import fix_package
from packwise.pipeline import render
from packwise.pipeline.selection import Package
from packwise.pipeline.steps import Rendered
from packwise.schedulers.kueue import KUEUE

SETTINGS = """\
apiVersion: packwise.dev/v1alpha1
kind: TopologyRender
metadata: {{name: topology}}
spec:
  emit: [Topology, KueueTopology]
  gitops: [{gitops}]
  kueue:
    version: {version}
    flavors: [{{name: gpu, nodeLabels: {{example.com/pool: gpu}}}}]
  topologyAwareScheduling:
    enabled: {enabled}
    levels:
    - {{domain: rack, key: example.com/rack}}
    - {{domain: host, key: {lowest}}}
"""


def rendered(
    *, version: str = "v0.19", lowest: str = "kubernetes.io/hostname", gitops: str = "", enabled: str = "true"
) -> Rendered:
    text = SETTINGS.format(version=version, lowest=lowest, gitops=gitops, enabled=enabled)
    return render(Package((KubeObject.parse(text, file="topology.yaml"),)))


def test_one_list_of_levels_becomes_both_topologies_and_the_flavors() -> None:
    answer = rendered()

    levels = [{"nodeLabel": "example.com/rack"}, {"nodeLabel": "kubernetes.io/hostname"}]
    assert [(item.api_version, item.kind, item.name, item.get("spec")) for item in answer.generated] == [
        ("kai.scheduler/v1alpha1", "Topology", "grove-topology", {"levels": levels}),
        ("kueue.x-k8s.io/v1beta2", "Topology", "grove-topology", {"levels": levels}),
        (
            "kueue.x-k8s.io/v1beta2",
            "ResourceFlavor",
            "gpu",
            {"nodeLabels": {"example.com/pool": "gpu"}, "topologyName": "grove-topology"},
        ),
    ]
    paths = [item.annotations["config.kubernetes.io/path"] for item in answer.generated]
    assert paths == [
        "packwise/topologies/topology-grove-topology.yaml",
        "packwise/topologies/kueuetopology-grove-topology.yaml",
        "packwise/topologies/resourceflavor-gpu.yaml",
    ]


@pytest.mark.parametrize(
    ("version", "lowest", "forced"),
    [
        ("v0.19", "kubernetes.io/hostname", True),
        ("v0.20", "kubernetes.io/hostname", False),
        ("v0.20", "example.com/host", True),
    ],
)
def test_argo_cd_creates_it_anew_where_its_levels_cannot_change(version: str, lowest: str, forced: bool) -> None:
    (topology,) = [
        item
        for item in rendered(version=version, lowest=lowest, gitops="argocd").generated
        if (item.kind, item.api_version) == ("Topology", "kueue.x-k8s.io/v1beta2")
    ]

    options = topology.annotations.get("argocd.argoproj.io/sync-options")
    assert options == ("Replace=true,Force=true" if forced else None)


def test_flavors_without_a_topology_are_told() -> None:
    answer = rendered(enabled="false")

    assert answer.generated == ()
    assert [
        (result.tags["rule"], result.message) for result in answer.results if result.tags["rule"] != "no-workloads"
    ] == [
        (
            "kueue-flavors",
            (
                "packwise does not write the ResourceFlavor: it must name one topology, but the settings have none "
                "or several"
            ),
        )
    ]


OLD = """\
apiVersion: kueue.x-k8s.io/v1beta1 # as it was
kind: {kind}
metadata: {{name: racks}}
spec: {{}}
"""


@pytest.mark.parametrize(
    ("kind", "version", "release"),
    [("Topology", "v1beta1", "v0.20"), ("ResourceFlavor", "v1beta1", "v0.20"), ("Topology", "v1alpha1", "v0.19")],
)
def test_objects_of_older_versions_become_those_of_v1beta2(kind: str, version: str, release: str) -> None:
    settings = KubeObject.parse(SETTINGS.format(version=release, lowest="a", gitops="", enabled="true"))
    item = KubeObject.parse(OLD.format(kind=kind).replace("v1beta1", version))
    expected = OLD.format(kind=kind).replace("v1beta1", "v1beta2")

    assert KUEUE.migrate(item).text == expected
    assert fix_package(Package((settings, item)), unsafe=True).items[1].text == expected
    assert fix_package(Package((settings, item))).hidden_fixes == 1


@pytest.mark.parametrize("name", ["kai.scheduler/v1alpha1", "kueue.x-k8s.io/v1beta2", "kueue.x-k8s.io/v1alpha2"])
def test_other_objects_stay(name: str) -> None:
    item = KubeObject.parse(OLD.format(kind="Topology").replace("kueue.x-k8s.io/v1beta1", name))

    assert KUEUE.migrate(item) is item


def test_a_release_that_serves_both_versions_changes_nothing() -> None:
    settings = KubeObject.parse(SETTINGS.format(version="v0.19", lowest="a", gitops="", enabled="true"))
    item = KubeObject.parse(OLD.format(kind="Topology"))

    assert fix_package(Package((settings, item)), unsafe=True).items[1] is item
