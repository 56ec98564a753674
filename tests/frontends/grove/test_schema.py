"""Errors of the decoder, errors of the schema, and unknown fields of a PodCliqueSet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from krmfn.fieldpath import format_path
from krmfn.yamltext import read
from packwise.fields import Field, Object, Text
from packwise.findings import Effect, Stage
from packwise.frontends.grove.default import default
from packwise.frontends.grove.podcliqueset import PodCliqueSet, check_shape
from packwise.revisions.grove import ALPHA_14, GREP_244, GREP_244_MULTI, REVISIONS, UPSTREAM
from packwise.validate.decode import Decoder, ObjectTable
from tests.kyaml import KyamlOracle

from .cases import edited

T = "spec.template."
CLIQUE = "spec.template.cliques[0]."
INTO = "json: cannot unmarshal {} into Go struct field {} of type {}"

DECODE = [
    ("spec.replicas", "two", "must be an integer; got \"two\"",
     INTO.format("string", "PodCliqueSetSpec.spec.replicas", "int32")),
    ("spec.replicas", True, 'must be an integer; got true',
     INTO.format("bool", "PodCliqueSetSpec.spec.replicas", "int32")),
    ("spec.replicas", 3000000000, 'must be an integer of 32 bits; got 3000000000',
     INTO.format("number 3000000000", "PodCliqueSetSpec.spec.replicas", "int32")),
    (CLIQUE + "spec.podSpec", "x", 'must be a mapping; got "x"',
     INTO.format("string", "PodCliqueSpec.spec.template.cliques.spec.podSpec", "v1.PodSpec")),
    (CLIQUE + "spec.startsAfter", "a", 'must be a list; got "a"',
     INTO.format("string", "PodCliqueSpec.spec.template.cliques.spec.startsAfter", "[]string")),
    (CLIQUE + "labels", {"a": 1}, 'must be a string; got 1',
     INTO.format("number", "PodCliqueTemplateSpec.spec.template.cliques.labels", "string")),
    (T + "terminationDelay", "soon", 'must be a duration such as 4h0m0s or 90s; got "soon"',
     'time: invalid duration "soon"'),
    (T + "terminationDelay", 5, 'must be a duration such as 4h0m0s or 90s; got 5',
     INTO.format("number", "PodCliqueSetTemplateSpec.spec.template.terminationDelay", "string")),
    ("metadata", 5, "must be a mapping; got 5", "json: cannot unmarshal number into Go value of type v1.ObjectMeta"),
    ("metadata.labels", 5, "must be a mapping; got 5", INTO.format("number", "ObjectMeta.labels", "map[string]string")),
    ("metadata.deletionTimestamp", 5, "must be a string; got 5",
     INTO.format("number", "ObjectMeta.deletionTimestamp", "string")),
    ("metadata.ownerReferences", [{"name": 5}], "must be a string; got 5",
     INTO.format("number", "OwnerReference.ownerReferences.name", "string")),
    ("spec.replicas", 2.5, "must be an integer; got 2.5",
     INTO.format("number 2.5", "PodCliqueSetSpec.spec.replicas", "int32")),
    ("spec.replicas", 1e21, "must be an integer; got 1e+21",
     INTO.format("number 1e+21", "PodCliqueSetSpec.spec.replicas", "int32")),
    (T + "terminationDelay", "4 hours", 'must be a duration such as 4h0m0s or 90s; got "4 hours"',
     'time: unknown unit " hours" in duration "4 hours"'),
    ("status", "x", 'must be a mapping; got "x"',
     INTO.format("string", "PodCliqueSet.status", "v1alpha1.PodCliqueSetStatus")),
    ("status", {"replicas": "x"}, 'must be an integer; got "x"',
     INTO.format("string", "PodCliqueSetStatus.status.replicas", "int32")),
]  # fmt: skip


def test_a_status_may_have_fields_of_any_release() -> None:
    assert not check_shape(edited({"status": {"replicas": 1, "conditions": [], "later": 1}}), GREP_244)


@pytest.mark.parametrize(("path", "value", "message", "text"), DECODE)
def test_decode(path: str, value: Any, message: str, text: str) -> None:
    (problem,) = check_shape(edited({path: value}), GREP_244)
    assert (problem.stage, problem.message, problem.operator_message) == (Stage.DECODE, message, text)
    assert format_path(problem.path).startswith(path)


SCHEMA: list[tuple[dict[str, Any], str]] = [
    ({T + "cliqueStartupType": "InOrder"},
     f'{T}cliqueStartupType: Unsupported value: "InOrder": supported values: "CliqueStartupTypeAnyOrder", '
     '"CliqueStartupTypeInOrder", "CliqueStartupTypeExplicit"'),
    ({T + "topologyConstraint": {}},
     f'{T}topologyConstraint.packDomain: Unsupported value: "": supported values: "region", "zone", "datacenter", '
     '"block", "rack", "host", "numa"'),
    ({"spec.updateStrategy.type": "Never"},
     'spec.updateStrategy.type: Unsupported value: "Never": supported values: "RollingRecreate", "OnDelete"'),
    ({"spec.updateStrategy": {"type": ""}},
     'spec.updateStrategy.type: Unsupported value: "": supported values: "RollingRecreate", "OnDelete"'),
    ({CLIQUE + "spec.podSpec.containers[0].env": [None, None]},
     f'{CLIQUE}spec.podSpec.containers[0].env[1]: Duplicate value: {{"name":""}}'),
    ({CLIQUE + "spec.podSpec.containers[0].ports": [None, {"protocol": "TCP"}]},
     f'{CLIQUE}spec.podSpec.containers[0].ports[1]: Duplicate value: {{"containerPort":0,"protocol":"TCP"}}'),
    # It is reported once, even if the value occurs several times.
    ({CLIQUE + "spec.podSpec.containers[0].env": [{"name": "A"}, {"name": "A"}, {"name": "A"}, {"name": "A"}]},
     f'{CLIQUE}spec.podSpec.containers[0].env[1]: Duplicate value: {{"name":"A"}}'),
    ({CLIQUE + "spec.podSpec": None}, f"{CLIQUE}spec.podSpec.containers: Required value"),
    ({CLIQUE + "spec": None}, f"{CLIQUE}spec.podSpec.containers: Required value"),
    ({T + "podCliqueScalingGroups[0].cliqueNames": None},
     f"{T}podCliqueScalingGroups[0].cliqueNames: Required value"),
    ({CLIQUE + "spec.podSpec.containers[1]": {"name": "main"}},
     f'{CLIQUE}spec.podSpec.containers[1]: Duplicate value: {{"name":"main"}}'),
    ({CLIQUE + "spec.podSpec.containers[0].ports": [{"containerPort": 1}, {"containerPort": 1, "protocol": "TCP"}]},
     f'{CLIQUE}spec.podSpec.containers[0].ports[1]: Duplicate value: {{"containerPort":1,"protocol":"TCP"}}'),
]  # fmt: skip


@pytest.mark.parametrize(("edits", "text"), SCHEMA)
def test_schema(edits: dict[str, Any], text: str) -> None:
    (problem,) = check_shape(edited(edits), GREP_244)
    assert (problem.stage, problem.operator_message) == (Stage.SCHEMA, text)


def test_each_value_that_is_repeated_is_told_once() -> None:
    env = [{"name": name} for name in ("A", "B", "A", "B", "A", "B", "C")]
    problems = check_shape(edited({CLIQUE + "spec.podSpec.containers[0].env": env}), GREP_244)
    assert [problem.operator_message for problem in problems] == [
        f'{CLIQUE}spec.podSpec.containers[0].env[2]: Duplicate value: {{"name":"A"}}',
        f'{CLIQUE}spec.podSpec.containers[0].env[3]: Duplicate value: {{"name":"B"}}',
    ]


PACK = f"{T}topologyConstraint.pack"
EMPTY: list[tuple[dict[str, Any], list[str]]] = [
    ({"pack": {"required": ""}}, [f'{PACK}.required: Invalid value: "": {PACK}.required in body {{}}']),
    ({"pack": {"required": "rack", "preferred": ""}},
     [f'{PACK}.preferred: Invalid value: "": {PACK}.preferred in body {{}}']),
    ({"pack": {"required": None}},
     [f"{PACK}: Required value: pack must specify at least one of required or preferred"]),
]  # fmt: skip


@pytest.mark.parametrize(("constraint", "texts"), EMPTY)
def test_an_empty_domain_is_kept_as_it_is_written(constraint: dict[str, Any], texts: list[str]) -> None:
    problems = check_shape(edited({T + "topologyConstraint": {"topologyName": "t", **constraint}}), UPSTREAM)
    wanted = [text.format("should be at least 1 chars long") for text in texts]
    assert [problem.operator_message for problem in problems] == wanted


LENGTHS = [
    ("a", 'must be at least 2 characters long; got "a"',
     'a: Invalid value: "a": a in body should be at least 2 chars long'),
    ("ab", "", ""),
    ("abcd", "must be at most 3 characters long; got 4", "a: Too long: may not be more than 3 bytes"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "message", "text"), LENGTHS)
def test_the_length_of_a_text_without_a_pattern_is_checked(value: str, message: str, text: str) -> None:
    decoder = Decoder()
    fields = {"a": Field(Text(min_length=2, max_length=3)), "b": Field(Text(max_length=3))}
    decoder.read({"a": value, "b": ""}, ObjectTable(lambda: Object("Thing", fields)))
    problems = [(problem.message, problem.operator_message) for problem in decoder.schema]

    assert problems == ([(message, text)] if message else [])
    assert decoder.decode == []


def test_an_empty_update_strategy_is_filled_in_where_updates_roll() -> None:
    assert check_shape(edited({"spec.updateStrategy": {"type": ""}}), ALPHA_14) == []


def test_what_the_round_trip_heals_is_no_problem() -> None:
    edits = {CLIQUE + "name": None, CLIQUE + "spec.roleName": None, CLIQUE + "spec.replicas": None}
    assert check_shape(edited(edits), GREP_244) == []
    assert check_shape({"spec": None}, GREP_244) == []


def test_what_the_api_server_refuses_hides_what_the_webhook_would() -> None:
    edits = {"metadata.labels": 5, T + "terminationDelay": "soon", "spec.replicas": "two"}
    problems = check_shape(edited(edits), GREP_244)
    assert [(format_path(problem.path), problem.operator_message) for problem in problems] == [
        ("metadata.labels", INTO.format("number", "ObjectMeta.labels", "map[string]string")),
        ("spec.replicas", None),
        (T + "terminationDelay", None),
    ]


NULLS = [
    *[CLIQUE + f"spec.podSpec.containers[0].{field}" for field in ("args", "command", "env", "envFrom", "ports")],
    *[CLIQUE + f"spec.podSpec.{field}" for field in ("containers", "initContainers", "tolerations", "volumes")],
    CLIQUE + "spec.startsAfter",
    T + "podCliqueScalingGroups[0].cliqueNames",
    "metadata.finalizers",
    "metadata.ownerReferences",
]


@pytest.mark.parametrize("path", NULLS)
def test_an_entry_that_is_null_is_a_zero_value(path: str) -> None:
    assert check_shape(edited({path: [None]}), GREP_244) == []


def test_a_scaling_group_that_is_null_has_no_cliques() -> None:
    (problem,) = check_shape(edited({T + "podCliqueScalingGroups": [None]}), GREP_244)
    assert problem.operator_message == f"{T}podCliqueScalingGroups[0].cliqueNames: Required value"


def test_a_clique_that_is_null_crashes_the_webhook() -> None:
    (problem,) = check_shape(edited({T + "cliques": [None]}), GREP_244)
    assert (problem.stage, problem.message) == (
        Stage.DECODE,
        "must be a mapping; got null; remove the entry or fill it in",
    )


WHOLE = [
    ("2.0", 2), ("1e0", 1), ("2.", 2), ("08", 8), ("1E1", 10), (".5e1", 5), ("20e-1", 2), ("1_0.0", 10), ("010", 8),
    ("0x2", 2), ("0o10", 8), ("+2", 2),
]  # fmt: skip


@pytest.mark.parametrize(("written", "meant"), WHOLE)
def test_a_whole_number_is_an_integer_however_it_is_written(written: str, meant: int) -> None:
    value = edited({"spec.replicas": read(written)})
    assert check_shape(value, GREP_244) == []
    assert PodCliqueSet.read(default(value, GREP_244)).replicas == meant


@pytest.mark.client
def test_kyaml_reads_these_numbers_alike(kyaml_oracle: Path) -> None:
    with KyamlOracle(kyaml_oracle) as oracle:
        answers = [oracle.document(written) for written, _ in WHOLE]
    assert [float(text) for _, text in answers] == [meant for _, meant in WHOLE]
    assert {kind for kind, _ in answers} == {"int", "float"}


def test_unknown_fields_name_what_is_meant() -> None:
    problems = check_shape(
        edited({T + "terminationdelay": "1h", CLIQUE + "autoScalingConfig": {}, "spec.scalingGroups": []}),
        GREP_244,
    )
    assert [(format_path(p.path), p.message.split(";")[-1].strip(), p.stage, p.operator_message) for p in problems] == [
        ("spec.template.cliques[0].autoScalingConfig", NO_FIELD_OF_CLIQUE, None, None),
        ("spec.template.terminationdelay", 'did you mean "terminationDelay"?', None, None),
        ("spec.scalingGroups", "its new name is podCliqueScalingGroups", None, None),
    ]


NO_FIELD_OF_CLIQUE = (
    'unknown field "autoScalingConfig" of "spec.template.cliques[0]", known: "annotations", "labels", "name", "spec", '
    '"topologyConstraint"'
)


def test_the_topology_name_is_a_field_of_the_revisions_that_have_it() -> None:
    value = edited({T + "clusterTopologyName": "x"})
    assert [format_path(problem.path) for problem in check_shape(value, GREP_244)] == [
        "spec.template.clusterTopologyName"
    ]
    assert check_shape(value, GREP_244_MULTI) == []


GROUP = T + "podCliqueScalingGroups[0]."
DOMAIN = T + "topologyConstraint.packDomain"

RELEASES: list[tuple[str, dict[str, Any], list[str]]] = [
    ("v0.1.0-alpha.13", {"spec.updateStrategy.type": "Coherent"},
     ['spec.updateStrategy.type: Unsupported value: "Coherent": supported values: "RollingRecreate", "OnDelete"']),
    ("v0.1.0-alpha.14-rc1", {"spec.updateStrategy.type": "Coherent"}, []),
    ("v0.1.0-alpha.14", {"spec.updateStrategy.type": "Coherent"}, []),
    ("v0.1.0-alpha.14", {"spec.updateStrategy.type": "Rolling"},
     ['spec.updateStrategy.type: Unsupported value: "Rolling": supported values: "Coherent", "RollingRecreate", '
      '"OnDelete"']),
    ("v0.1.0-alpha.14-rc1", {CLIQUE + "rollingUpdate": {"maxUnavailable": "half"}, GROUP + "rollingUpdate": {}}, []),
    ("v0.1.0-alpha.14", {CLIQUE + "rollingUpdate": {"maxUnavailable": "half"}},
     [INTO.format("string", "RollingUpdateConfiguration.spec.template.cliques.rollingUpdate.maxUnavailable", "int32")]),
    ("v0.1.0-alpha.14", {GROUP + "rollingUpdate": {"maxUnavailable": 1, "progressDeadline": "5 m"}},
     ['time: unknown unit " m" in duration "5 m"']),
    ("v0.1.0-alpha.8", {DOMAIN: "aisle"},
     [f'{DOMAIN}: Unsupported value: "aisle": supported values: "region", "zone", "datacenter", "block", "rack", '
      '"host", "numa"']),
    ("v0.1.0-alpha.9", {DOMAIN: "aisle"}, []),
    ("v0.1.0-alpha.9", {T + "topologyConstraint": {"topologyName": "gb200"}},
     [f'{DOMAIN}: Invalid value: "": {DOMAIN} in body should be at least 1 chars long']),
    ("v0.1.0-alpha.9", {DOMAIN: "Aisle"},
     [f'{DOMAIN}: Invalid value: "Aisle": {DOMAIN} in body should match \'^[a-z][a-z0-9-]*$\'']),
    ("v0.1.0-alpha.10", {DOMAIN: "aisle"},
     [f"{DOMAIN}: Forbidden: packDomain is deprecated and cannot be used on new workloads; use pack.required"]),
    ("v0.1.0-alpha.8", {T + "cliques[1].name": "frontend"},
     ['spec.template.cliques[1]: Duplicate value: {"name":"frontend"}']),
    ("v0.1.0-alpha.7", {T + "cliques[1].name": "frontend"}, []),
    ("v0.1.0-alpha.8", {CLIQUE + "resourceSharing": [{"name": "t", "scope": "PerPod"}]},
     [f'{CLIQUE}resourceSharing[0].scope: Unsupported value: "PerPod": supported values: "AllReplicas", '
      '"PerReplica"']),
]  # fmt: skip


@pytest.mark.parametrize(("release", "edits", "texts"), RELEASES)
def test_each_release_has_its_own_fields_and_values(release: str, edits: dict[str, Any], texts: list[str]) -> None:
    problems = check_shape(edited(edits), REVISIONS[release])
    assert [problem.operator_message for problem in problems] == texts


UNKNOWN: list[tuple[str, str, bool]] = [
    ("v0.1.0-alpha.7", CLIQUE + "resourceSharing", True),
    ("v0.1.0-alpha.8", CLIQUE + "resourceSharing", False),
    ("v0.1.0-alpha.7", T + "resourceClaimTemplates", True),
    ("v0.1.0-alpha.8", T + "resourceClaimTemplates", False),
    ("v0.1.0-alpha.8", GROUP + "annotations", True),
    ("v0.1.0-alpha.9", GROUP + "annotations", False),
    ("v0.1.0-alpha.13", CLIQUE + "rollingUpdate", True),
    ("v0.1.0-alpha.14", CLIQUE + "rollingUpdate", False),
    ("v0.1.0-alpha.14", CLIQUE + "spec.rollingUpdate", True),
]


@pytest.mark.parametrize(("release", "path", "unknown"), UNKNOWN)
def test_a_field_is_unknown_to_the_releases_before_it(release: str, path: str, unknown: bool) -> None:
    empty: Any = [] if path.endswith(("Sharing", "Templates")) else {}
    problems = check_shape(edited({path: empty}), REVISIONS[release])
    assert [format_path(problem.path) for problem in problems] == ([path] if unknown else [])


@pytest.mark.parametrize(
    ("release", "unknown"),
    [("v0.1.0-alpha.8", ["topologyName", "pack"]), ("v0.1.0-alpha.9", ["pack"]), ("v0.1.0-alpha.10", [])],
)
def test_a_constraint_is_in_the_words_of_its_release(release: str, unknown: list[str]) -> None:
    pack = {"topologyName": "gb200", "pack": {"required": "rack"}}
    problems = check_shape(edited({T + "topologyConstraint": pack}), REVISIONS[release])
    assert [problem.path[-1] for problem in problems if problem.effect is Effect.UNKNOWN] == unknown
