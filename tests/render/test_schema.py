"""The JSON Schema that editors use says of a TopologyRender what the function says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from krmfn import KubeObject
from krmfn.yamltext import read, split_documents
from packwise.objects.kinds import GENERATED
from packwise.revisions.kueue import RELEASES
from packwise.settings import KIND, load
from packwise.settings.model import SectionModel, TopologyRenderSpec, json_schema
from packwise.settings.plain import CHOICES, KAI_VERSIONS, KUEUE_VERSIONS, LISTS, is_plain
from tests.places import ROOT
from tests.schemas import schema_errors

SCHEMA = json_schema()

# An example that names every setting.
FULL = """
apiVersion: packwise.dev/v1alpha1
kind: TopologyRender
metadata: {name: topology}
spec:
  topologyAwareScheduling:
    enabled: true
    levels:
    - {domain: zone, key: topology.kubernetes.io/zone}
    - {domain: rack, key: example.com/rack}
    - {domain: host, key: kubernetes.io/hostname}
  scheduler: {profiles: [{name: kai-scheduler, default: true}]}
  revision: grep-244-multi
  newerRevision: Error
  unknownFields: Error
  admission: Auto
  emit: [ClusterTopology, Topology, PodGang]
  gitops: [argocd, flux]
  finalizers: false
  osmo: {namespace: osmo-workflows, priority: NORMAL, submittedBy: "", keySets: Uniform}
  limits: {gangs: 200000}
  dynamo: {release: "1.5", grove: true, kaiScheduler: true, terminationDelay: 15m}
  podGangEpoch: 1700000000000000000
  kai: {version: v0.15}
  kueue: {version: v0.19, flavors: [{name: gpu, nodeLabels: {example.com/pool: gpu}}]}
  rules: {ignore: [queue-missing], warn: [], error: [{rule: namespace-missing, paths: ["apps/**"]}]}
  annotate: true
  apply: true
  network: {autoMNNVLEnabled: false}
  exclude: [drafts, "*.gen.yaml"]
"""
SHOWN = sorted(
    path
    for folder in ("examples", "kpt-package", "kustomize-plugin")
    for path in (ROOT / folder).rglob("*.yaml")
    if f"kind: {KIND}\n" in path.read_text(encoding="utf-8")
)


def edited(path: str, value: Any) -> Any:
    """The full example with `value` at the dotted `path`."""
    whole: Any = read(FULL)
    at: Any = whole
    *parents, last = path.split(".")
    for step in parents:
        at = at[step]
    at[last] = value
    return whole


def refusals(value: Any) -> list[str]:
    """The paths of what the schema refuses, sorted."""
    validator: Any = Draft202012Validator(SCHEMA)
    errors = validator.iter_errors(value)
    return sorted({".".join(map(str, error.absolute_path)) for error in errors})


def test_it_is_a_json_schema() -> None:
    assert schema_errors(SCHEMA, Draft202012Validator.META_SCHEMA) == []


def test_every_field_says_what_it_means() -> None:
    models = {"TopologyRender": SCHEMA["properties"]["spec"], **SCHEMA["$defs"]}
    silent = [
        f"{model}.{name}"
        for model, schema in models.items()
        for name, field in schema["properties"].items()
        if not field.get("description", "").endswith(".")
    ]

    assert silent == []


def test_the_full_example_names_every_setting() -> None:
    value: Any = read(FULL)
    others = {"clusterTopology", "topology", "topologyNameAnnotation"}

    assert set(value["spec"]) == set(TopologyRenderSpec.model_fields) - others
    assert refusals(value) == []
    load(KubeObject.new(value))


@pytest.mark.parametrize("path", SHOWN, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_what_the_documentation_shows_is_accepted(path: Path) -> None:
    values: list[Any] = [read(document.text) for document in split_documents(path.read_text(encoding="utf-8"))]

    assert [refusals(value) for value in values if value["kind"] == KIND] == [[]]


SAME: list[tuple[str, str, Any]] = [
    ("an empty spec", "spec", {}),
    ("a section that is left empty", "spec.topologyAwareScheduling", None),
    ("another spelling of the section", "spec.topology", {"enabled": True, "levels": [], "name": "mine"}),
    ("a level with nothing in it, which the function's rules refuse", "spec.topologyAwareScheduling.levels", [{}]),
    ("the scheduler's own settings", "spec.scheduler.profiles", [{"name": "kai-scheduler", "config": {"x": [1]}}]),
    ("no kind to emit", "spec.emit", []),
]


@pytest.mark.parametrize(("path", "value"), [case[1:] for case in SAME], ids=[case[0] for case in SAME])
def test_accepted(path: str, value: Any) -> None:
    changed = edited(path, value)

    assert refusals(changed) == []
    load(KubeObject.new(changed))


REFUSED: list[tuple[str, str, Any, str]] = [
    ("an unknown setting", "spec.emits", [], "spec"),
    ("an unknown field of a level", "spec.topologyAwareScheduling.levels", [{"domian": "rack"}],
     "spec.topologyAwareScheduling"),
    ("a flag as text", "spec.apply", "yes", "spec.apply"),
    ("a number for a flag", "spec.annotate", 1, "spec.annotate"),
    ("one kind in the place of a list", "spec.emit", "PodGang", "spec.emit"),
    ("a kind that nobody renders", "spec.emit", ["Pods"], "spec.emit.0"),
    ("a revision that there is not", "spec.revision", "grep-245", "spec.revision"),
    ("a KAI that is too old", "spec.kai.version", "v0.11", "spec.kai.version"),
    ("no gang at all", "spec.limits.gangs", 0, "spec.limits.gangs"),
    ("a release of Dynamo that is none", "spec.dynamo.release", "v1.5", "spec.dynamo.release"),
    ("a number for a release of Dynamo", "spec.dynamo.release", 1.5, "spec.dynamo.release"),
    ("a delay that is none", "spec.dynamo.terminationDelay", "15", "spec.dynamo.terminationDelay"),
    ("a number of gangs as text", "spec.limits.gangs", "5", "spec.limits.gangs"),
    ("a flag for a number of gangs", "spec.limits.gangs", True, "spec.limits.gangs"),
    ("a limit that there is not", "spec.limits", {"pods": 5}, "spec.limits"),
    ("a list of rules that there is not", "spec.rules", {"off": []}, "spec.rules"),
    ("one rule in the place of a list", "spec.rules.ignore", "queue-missing", "spec.rules.ignore"),
    ("no path at all", "spec.rules.error", [{"rule": "queue-missing", "paths": []}], "spec.rules.error.0"),
    ("a profile without a name", "spec.scheduler.profiles", [{}], "spec.scheduler"),
    ("a list in the place of spec", "spec", [], "spec"),
    ("another kind", "kind", "TopologyRenderer", "kind"),
    ("another version", "apiVersion", "packwise.dev/v1", "apiVersion"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "value", "where"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED])
def test_refused(path: str, value: Any, where: str) -> None:
    changed = edited(path, value)

    assert refusals(changed) == [where]
    with pytest.raises(ValueError, match="must "):
        load(KubeObject.new(changed))


def test_the_quick_look_knows_the_same_fields_and_choices_as_the_model() -> None:
    """What it did not know would be right all the same, and every run would pay for the model."""
    fields = TopologyRenderSpec.model_fields
    plain = {name for name, field in fields.items() if field.annotation is bool}
    sections = {name for name, field in fields.items() if field.annotation == SectionModel | None}

    assert all(is_plain({name: flag}) for name in plain for flag in (True, False))
    assert all(is_plain({name: {"enabled": True, "levels": [], "name": "a"}}) for name in sections)
    # An epoch is set in tests only: the model reads it.
    unusual = {"podGangEpoch"}
    known = {*CHOICES, *LISTS, "scheduler", "osmo", "kai", "kueue", "limits", "dynamo", "network", "exclude", "rules"}
    assert known == fields.keys() - plain - sections - unusual
    assert set(LISTS["emit"]) == {kind.emitted for kind in GENERATED}


@pytest.mark.parametrize("minor", range(10, 20))
def test_the_quick_look_knows_the_same_versions_of_kai_as_the_model(minor: int) -> None:
    version = f"v0.{minor}"

    validator: Any = Draft202012Validator(SCHEMA)
    assert (version in KAI_VERSIONS) == validator.is_valid(edited("spec.kai.version", version))


@pytest.mark.parametrize("minor", range(15, 23))
def test_the_quick_look_the_model_and_the_records_know_the_same_versions_of_kueue(minor: int) -> None:
    version = f"v0.{minor}"

    validator: Any = Draft202012Validator(SCHEMA)
    assert (version in KUEUE_VERSIONS) == validator.is_valid(edited("spec.kueue.version", version))
    assert (version in KUEUE_VERSIONS) == (version in [release.name for release in RELEASES])
