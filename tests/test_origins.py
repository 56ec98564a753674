"""Every generated value has an origin: a place in the input, and the rule that made the value from it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from krmfn.fieldpath import FieldPath, format_path
from krmfn.kubeobject import KubeObject
from krmfn.resourcelist import ResourceList
from krmfn.testing import case_input
from krmfn.value import Value
from packwise.findings import Origin
from packwise.inputs.groups import read_inputs
from packwise.inputs.request import Named
from packwise.objects.index import Generated
from packwise.pipeline import render
from packwise.pipeline.selection import Package
from tests.examples import RENDERED
from tests.places import TESTDATA


def leaves(value: Value, path: FieldPath = ()) -> Iterator[FieldPath]:
    """Yield the paths of all scalars, and of empty mappings and lists."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    below = [leaf for step, entry in entries for leaf in leaves(entry, (*path, step))]
    yield from below or [path]


def origin_of(origins: Mapping[FieldPath, Origin], path: FieldPath) -> Origin | None:
    """Return the origin with the longest path that leads to `path`."""
    for length in range(len(path), -1, -1):
        if path[:length] in origins:
            return origins[path[:length]]
    return None


CASES = [
    TESTDATA / "render" / name
    for name in (
        "podgangs-are-built-from-the-podgangmap-of-their-replica",
        "without-a-podgangmap-epochs-are-those-of-running-podgangs",
        "replicas-that-an-autoscaler-added-scale-out",
        "an-earlier-gang-of-another-epoch-is-the-same-object",
        "podgroups-of-volcano-are-those-that-the-operator-makes",
    )
]
"""Cases for values that no example has: epochs, and PodGroups of another scheduler."""


@pytest.mark.parametrize("example", RENDERED, ids=lambda path: path.name)
def test_every_value_of_an_example_has_its_origin_in_the_input(example: Path) -> None:
    assert without_origin(read_inputs(Named((str(example),))).package) == []


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.name)
def test_every_value_of_a_case_has_its_origin_in_the_input(case: Path) -> None:
    read = ResourceList.parse(case_input(case))

    assert without_origin(Package(read.items, read.function_config)) == []


def without_origin(package: Package) -> list[tuple[str, str]]:
    """Return the values of the render that have no origin in the package."""
    rendered = render(package)
    known = {id(item) for item in (*package.items, *package.documents, package.function_config)}

    assert len(rendered.sources) == len(rendered.generated) > 0
    return [
        (generated.source, format_path(path))
        for generated in rendered.sources
        for origins in [generated.origins()]
        for path in leaves(dict(generated.value))
        if (origin := origin_of(origins, path)) is None
        or id(origin.place.item) not in known
        or not origin.rule
        or not origin.place.description
    ]


@pytest.mark.parametrize("example", RENDERED, ids=lambda path: path.name)
def test_all_origins_of_an_example(
    example: Path, monkeypatch: pytest.MonkeyPatch, assert_expected: Callable[[str, str], None]
) -> None:
    monkeypatch.chdir(example.parent)
    rendered = render(read_inputs(Named((example.name,))).package)

    assert_expected(f"origins/{example.name}.txt", "\n".join([listed(generated) for generated in rendered.sources]))


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.name)
def test_all_origins_of_a_case(case: Path, assert_expected: Callable[[str, str], None]) -> None:
    read = ResourceList.parse(case_input(case))
    rendered = render(Package(read.items, read.function_config))

    assert_expected(f"origins/{case.name}.txt", "\n".join([listed(generated) for generated in rendered.sources]))


def listed(generated: Generated) -> str:
    """Return lines with the object, its source, and each part that has a separate origin."""
    subject = "nowhere" if generated.subject is None else generated.subject.location()
    lines = [
        f"  {format_path(path) or '*'}: {origin.place.description} ({origin.rule})"
        for path, origin in generated.origins().items()
    ]
    name = KubeObject.new(generated.value).id.short_text
    return "\n".join([f"{name}: {generated.source} at {subject}", *lines, ""])


WORKLOAD = """\
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata:
  name: llm
  namespace: team-a
  labels: {kai.scheduler/queue: team-a}
spec:
  replicas: 1
  template:
    topologyConstraint: {packDomain: zone}
    cliques:
    - name: leader
      spec: {roleName: leader, replicas: 1, minAvailable: 1, podSpec: {containers: [{name: c, image: i}]}}
    - name: worker
      topologyConstraint: {packDomain: host}
      spec: {roleName: worker, replicas: 2, podSpec: {containers: [{name: c, image: i}]}}
    podCliqueScalingGroups:
    - name: decode
      cliqueNames: [worker]
      replicas: 2
      topologyConstraint: {packDomain: rack}
"""
CONFIGURATION = """\
apiVersion: packwise.dev/v1alpha1
kind: TopologyRender
metadata: {name: topology}
spec:
  topologyAwareScheduling:
    enabled: true
    levels:
    - {domain: host, key: kubernetes.io/hostname}
    - {domain: zone, key: topology.kubernetes.io/zone}
    - {domain: rack, key: example.com/rack}
  scheduler: {profiles: [{name: kai-scheduler, default: true}]}
  emit: [ClusterTopology, Topology, PodGang, PodGroup]
"""
TABLE = {
    ("ClusterTopology", "grove-topology"): {
        "spec.levels[0].key": ("topology.yaml:9:27 spec.topologyAwareScheduling.levels[1].key", "spec/grove.md#9"),
    },
    ("Topology", "grove-topology"): {
        "spec.levels[2].nodeLabel": (
            "topology.yaml:8:27 spec.topologyAwareScheduling.levels[0].key", "spec/grove.md#9.2",
        ),
    },
    ("PodGang", "llm-0"): {
        "metadata.name": ("llm.yaml:4:9 metadata.name", "spec/grove.md#6"),
        "spec.podgroups[0].minReplicas": (
            "llm.yaml:13:59 spec.template.cliques[0].spec.minAvailable", "spec/grove.md#podgroups",
        ),
        "spec.podgroups[1].topologyConstraint.packConstraint.required": (
            "llm.yaml:15:40 spec.template.cliques[1].topologyConstraint.packDomain", "spec/grove.md#pack-constraint",
        ),
        "spec.topologyConstraintGroupConfigs[0].topologyConstraint.packConstraint.required": (
            "llm.yaml:21:40 spec.template.podCliqueScalingGroups[0].topologyConstraint.packDomain",
            "spec/grove.md#pack-constraint",
        ),
        "spec.topologyConstraint.packConstraint.required": (
            "llm.yaml:10:38 spec.template.topologyConstraint.packDomain", "spec/grove.md#pack-constraint",
        ),
    },
    ("PodGang", "llm-0-decode-0"): {
        "spec.topologyConstraint.packConstraint.required": (
            "llm.yaml:21:40 spec.template.podCliqueScalingGroups[0].topologyConstraint.packDomain",
            "spec/grove.md#pack-constraint",
        ),
    },
    ("PodGroup", "llm-0"): {
        "spec.queue": ("llm.yaml:6:11 metadata.labels", "spec/grove.md#6"),
        "spec.subGroups[0].topologyConstraint.requiredTopologyLevel": (
            "llm.yaml:21:40 spec.template.podCliqueScalingGroups[0].topologyConstraint.packDomain",
            "spec/grove.md#pack-constraint",
        ),
        "spec.subGroups[1].minMember": (
            "llm.yaml:13:59 spec.template.cliques[0].spec.minAvailable", "spec/grove.md#podgroups",
        ),
    },
}  # fmt: skip


def described(generated: Generated, field: str) -> tuple[str, str]:
    """Return the place and the rule of one field."""
    paths = {format_path(path): path for path in leaves(dict(generated.value))}
    origin = origin_of(generated.origins(), paths[field])
    assert origin is not None
    return origin.place.description, origin.rule


def test_an_origin_is_the_line_the_field_and_the_rule() -> None:
    items = (KubeObject.parse(CONFIGURATION, file="topology.yaml"), KubeObject.parse(WORKLOAD, file="llm.yaml"))
    rendered = render(Package(items))
    metadata: Any = [(generated, generated.value["metadata"]) for generated in rendered.sources]
    by_name = {(generated.value["kind"], fields["name"]): generated for generated, fields in metadata}

    assert {key: {field: described(by_name[key], field) for field in fields} for key, fields in TABLE.items()} == TABLE
