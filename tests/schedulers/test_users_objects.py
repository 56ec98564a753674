"""KAI's refusals of users' Topologies and PodGroups, by the settings of KAI."""

from __future__ import annotations

from collections.abc import Callable

from krmfn import KubeObject
from packwise.findings import Finding
from packwise.pipeline.selection import Package, cluster_of, topologies_of
from packwise.pipeline.steps import read_package
from packwise.schedulers import SchedulerInput
from packwise.schedulers.kai.scheduler import KAI

SETTINGS = """\
apiVersion: packwise.dev/v1alpha1
kind: TopologyRender
metadata: {name: topology}
spec:
  topologyAwareScheduling: {enabled: true, levels: [{domain: rack, key: example.com/rack}]}
"""

TOPOLOGIES = """\
apiVersion: kai.scheduler/v1alpha1
kind: Topology
metadata: {name: gb200}
spec:
  levels:
  - {nodeLabel: topology.kubernetes.io/zone, alias: zone}
  - {nodeLabel: example.com/rack, alias: example.com/rack}
  - {nodeLabel: Example.com/host, alias: zone}
---
apiVersion: kai.scheduler/v1
kind: Topology
metadata: {name: h100}
spec: {levels: [{nodeLabel: example.com/block, alias: ""}]}
"""

OF_OTHER_TYPES = """\
apiVersion: kai.scheduler/v1alpha1
kind: Topology
metadata: {name: number}
spec: 16
---
apiVersion: kai.scheduler/v1alpha1
kind: Topology
metadata: {name: text}
spec: {levels: rack}
---
apiVersion: kai.scheduler/v1alpha1
kind: Topology
metadata: {name: entries}
spec: {levels: [example.com/rack, {nodeLabel: 1}, {}]}
"""

PODGROUPS = """\
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: fine, namespace: shop}
spec:
  queue: shop
  minMember: 2
  topologyConstraint: {topology: gb200, requiredTopologyLevel: zone, preferredTopologyLevel: Example.com/host}
---
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: levels, namespace: shop}
spec:
  queue: ""
  topologyConstraint: {topology: gb200, requiredTopologyLevel: row, preferredTopologyLevel: rack}
  subGroups:
  - {name: a, minMember: 1, topologyConstraint: {topology: grove-topology, requiredTopologyLevel: example.com/row}}
  - {name: b, minMember: 1, topologyConstraint: {topology: elsewhere, requiredTopologyLevel: example.com/row}}
  - {name: c, minMember: 1, topologyConstraint: {topology: grove-topology, preferredTopologyLevel: example.com/rack}}
  - {name: d, minMember: 1, topologyConstraint: {topology: [gb200], requiredTopologyLevel: row}}
---
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: fields, namespace: shop}
spec:
  backoffLimit: 1
  preemptionDelay: 5m
  minMembers: 1
  minMember: 0
  subGroups: [{name: a, minMember: 1}, {name: b, parent: a, minMember: 1}, text]
---
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: empty, namespace: shop}
"""

WAYS: dict[str, str] = {
    "nothing is said": "",
    "KAI v0.13": "  kai: {version: v0.13}\n",
    "KAI v0.17": "  kai: {version: v0.17}\n",
    "KAI v0.13, unknown fields are warnings": "  kai: {version: v0.13}\n  unknownFields: Warn\n",
    "unknown fields are warnings": "  unknownFields: Warn\n",
    "no Topology is rendered": "  emit: [PodGang]\n",
}
"""Settings, by the facts that they state."""


def items(text: str) -> tuple[KubeObject, ...]:
    return tuple([KubeObject.parse(part, file="objects.yaml") for part in text.split("---\n")])


def found(settings: str, own: tuple[KubeObject, ...], before: tuple[KubeObject, ...] = ()) -> list[str]:
    """Return each finding with the operator's text, the refusing component, and the order of the texts."""
    return [line(finding) for finding in findings_of_users(settings, own, before)]


def findings_of_users(
    settings: str, own: tuple[KubeObject, ...], before: tuple[KubeObject, ...] = ()
) -> tuple[Finding, ...]:
    """Return KAI's findings about users' `own` objects, with `before` as their earlier state."""
    package = Package((KubeObject.parse(SETTINGS + settings), *own), None, before)
    inventory, selection = read_package(package)
    known = topologies_of(inventory, selection)
    cluster = cluster_of(selection, known)
    source = SchedulerInput((), known, cluster, inventory, selection.definitions, selection.settings)
    return KAI.objects(source).findings


def line(finding: Finding) -> str:
    result = finding.to_result()
    stage, order = finding.stage.value if finding.stage is not None else "-", finding.order
    text = f"\n    {stage} {order}: {finding.operator_message}" if finding.operator_message is not None else ""
    return f"  {result.line_of_text()}{text}\n"


def test_all_that_is_reported_of_users_objects(assert_expected: Callable[[str, str], None]) -> None:
    own = items(f"{TOPOLOGIES}---\n{PODGROUPS}")
    parts = [(name, found(settings, own)) for name, settings in WAYS.items()]
    parts.append(("they are there already", found("", own, own)))
    parts.append(("without a Topology of theirs", found("", items(PODGROUPS))))
    parts.append(("Topologies with values of other types", found("", items(OF_OTHER_TYPES))))

    assert_expected("kai/users-objects.txt", "\n".join([f"{name}\n{''.join(lines)}" for name, lines in parts]))


def test_nothing_is_reported_where_there_are_none() -> None:
    assert found("", ()) == []
