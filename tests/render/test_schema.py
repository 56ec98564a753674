"""The JSON Schema for editors accepts and refuses the same TopologyRenders as the function."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from krmfn import ConfigError, KubeObject
from krmfn.yamltext import read, split_documents
from packwise.objects.kinds import GENERATED
from packwise.revisions.kueue import RELEASES
from packwise.schema.run import topologyrender_schema
from packwise.settings.topologyrender import KIND, SPEC, load
from tests.places import ROOT
from tests.schemas import schema_errors

SCHEMA = topologyrender_schema()

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
  kubernetes: {version: v1.37.2, featureGates: {GenericWorkload: true}}
  kueue: {version: v0.19, flavors: [{name: gpu, nodeLabels: {example.com/pool: gpu}}]}
  rules: {ignore: [queue-missing], warn: [], error: [{rule: namespace-missing, paths: ["apps/**"]}]}
  annotate: true
  apply: true
  network: {autoMNNVLEnabled: false}
  exclude: [drafts, "*.gen.yaml"]
  sources: [{chart: charts/llm, release: llm, namespace: team-a, values: [values/west.yaml], set: {replicas: "2"}}]
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
    """Return the sorted paths that the schema refuses."""
    validator: Any = Draft202012Validator(SCHEMA)
    errors = validator.iter_errors(value)
    return sorted({".".join(map(str, error.absolute_path)) for error in errors})


def test_it_is_a_topologyrender_schema() -> None:
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

    assert set(value["spec"]) == set(SPEC.fields) - others
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
    ("a patch release of KAI", "spec.kai.version", "v0.18.6"),
    ("a minor release without its letter", "spec.kai.version", "0.18"),
    ("a number for a minor release", "spec.kai.version", 0.18),
    ("a candidate of Kueue", "spec.kueue.version", "v0.19.0-rc.1"),
    ("a release of Dynamo with a letter", "spec.dynamo.release", "v1.5.2"),
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
    ("a release of Dynamo that is none", "spec.dynamo.release", "1.x", "spec.dynamo.release"),
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


TEXTS: list[tuple[str, Any, str]] = [
    ("spec.annotate", 1, "must be true or false; got 1"),
    ("spec.emit", ["Pods"], 'must be one of "ClusterTopology", "Topology", "PodGang", "PodGroup", "Queue", "Pod", '
        '"PodCliqueSet", "KueueTopology", "Workload"; got "Pods"'),
    ("spec.limits.gangs", 0, "must be at least 1; got 0"),
    ("spec.limits.gangs", 1.0, "must be an integer; got 1.0"),
    ("spec.podGangEpoch", 1 << 63, "must be at most 9223372036854775804; got 9223372036854775808"),
    ("spec.osmo", None, "must be a mapping; got null"),
    ("spec.osmo.priority", "HIGHEST", 'must be one of "LOW", "NORMAL", "HIGH"; got "HIGHEST"'),
    ("spec.osmo.namespace", "A", 'must match pattern \'^[a-z0-9]([-a-z0-9]*[a-z0-9])?$\'; got "A"'),
    ("spec.osmo.namespace", "a" * 64, f'must have at most 63 characters; got "{"a" * 64}"'),
    ("spec.kai.schedulerName", "", 'must have at least 1 character; got ""'),
    ("spec.kueue.flavors", [{"name": "gpu"}], "must be set"),
    ("spec.kueue.flavors", [{"name": "gpu", "nodeLabels": {"a": 1}}], "must be a string; got 1"),
    ("spec.kueue.flavors", [{"name": "gpu", "nodeLabels": {}}], "must have at least 1 item; got 0"),
    ("spec.kueue.flavors", [{"name": "gpu", "nodeLabels": {str(each): "a" for each in range(9)}}],
        "must have at most 8 items; got 9"),
    ("spec.network", {"autoMNNVL": True}, 'must be a known field; got "autoMNNVL"; did you mean "autoMNNVLEnabled"? '
        'known: "autoMNNVLEnabled"'),
    ("spec.rules.error", [{"rule": "a", "paths": []}],
        "must have at least 1 item; got 0"),
    ("spec.rules.error", [{"rule": "a", "paths": [" "]}],
        'must be a glob of at most 500 characters, such as "examples/**"; got " "'),
    ("spec.rules.error", [3], "must be a string; got 3"),
    ("spec.revision", "grep-245", 'must be one of "design-1", "design-2", "grep-244", "grep-244-multi", "upstream"; '
        'got "grep-245"'),
]  # fmt: skip


@pytest.mark.parametrize(("path", "value", "text"), TEXTS, ids=[f"{path} {value}"[:60] for path, value, _ in TEXTS])
def test_the_text_of_a_refusal(path: str, value: Any, text: str) -> None:
    with pytest.raises(ConfigError) as refused:
        load(KubeObject.new(edited(path, value)))

    assert [result.message for result in refused.value.results] == [text]


def test_known_fields_are_refused_before_unknown_ones() -> None:
    spec = {"emits": 1, "osmo": 3, "admission": "Old"}
    with pytest.raises(ConfigError) as refused:
        load(KubeObject.new(edited("spec", spec)))

    fields = [result.field.path for result in refused.value.results if result.field is not None]
    assert fields == ["spec.admission", "spec.osmo", "spec.emits"]


def test_every_kind_that_is_generated_can_be_emitted() -> None:
    choices = SCHEMA["properties"]["spec"]["properties"]["emit"]["items"]["enum"]

    assert set(choices) == {kind.emit_word for kind in GENERATED}


@pytest.mark.parametrize("minor", range(10, 20))
def test_versions_of_kai(minor: int) -> None:
    is_known = minor >= 12

    assert (refusals(edited("spec.kai.version", f"v0.{minor}")) == []) == is_known
    assert loads(edited("spec.kai.version", f"v0.{minor}")) == is_known


@pytest.mark.parametrize("minor", range(15, 23))
def test_the_settings_and_the_records_know_the_same_versions_of_kueue(minor: int) -> None:
    version = f"v0.{minor}"
    is_known = version >= RELEASES[0].name

    assert (refusals(edited("spec.kueue.version", version)) == []) == is_known
    assert loads(edited("spec.kueue.version", version)) == is_known


def loads(value: Any) -> bool:
    """Return True if the function accepts it."""
    try:
        load(KubeObject.new(value))
    except ConfigError:
        return False
    return True


def test_a_number_that_may_have_lost_its_last_zero_is_told_so() -> None:
    with pytest.raises(ConfigError) as refused:
        load(KubeObject.new(edited("spec.kueue.version", 0.2)))

    assert [result.message for result in refused.value.results] == [
        'must be a release of Kueue that packwise knows; got "0.2", known: "v0.17", "v0.18", "v0.19", "v0.20"; put it '
        "in quotes: a number loses its last zero"
    ]
