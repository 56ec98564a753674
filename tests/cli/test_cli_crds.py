"""With `--crds DIR`, or CustomResourceDefinitions in the input, objects are validated as that API server validates
them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.calling import CONFIG, WORKLOAD, Call, write


def crd(group: str, kind: str, spec: dict[str, Any], version: str = "v1alpha1") -> str:
    schema = {"type": "object", "properties": {"spec": spec}}
    versions = [{"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}]
    value = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.lower()}s.{group}"},
        "spec": {"group": group, "names": {"kind": kind}, "versions": versions},
    }
    return json.dumps(value, indent=2) + "\n"


ANY: dict[str, Any] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
TEMPLATE: dict[str, Any] = {**ANY, "properties": {"priorityClassName": {"type": "string", "enum": ["gold", "silver"]}}}
WORKLOADS = crd(
    "grove.io",
    "PodCliqueSet",
    {"type": "object", "properties": {"replicas": {"type": "integer"}, "template": {**TEMPLATE, "required": ["tier"]}}},
)
"""The CRDs of a cluster with workloads that need a tier and have two priorities."""

LEVELS: dict[str, Any] = {
    "type": "array",
    "items": {"type": "object", "properties": {"nodeLabel": {"type": "string"}}},
    "maxItems": 3,
    "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "levels are immutable"}],
}
TOPOLOGIES = crd("kai.scheduler", "Topology", {"type": "object", "properties": {"levels": LEVELS}})
GANGS = crd("scheduler.grove.io", "PodGang", {**ANY, "required": ["queue"]})

MISSED = "  template:\n"
BRONZE = WORKLOAD.replace(MISSED, MISSED + "    priorityClassName: bronze\n    tier: 1\n")
GOLD = WORKLOAD.replace(MISSED, MISSED + "    priorityClassName: gold\n    tier: 1\n")

BRONZE_FINDING = {
    "rule": "workload-schema",
    "severity": "error",
    "message": 'must be one of "gold", "silver"; got "bronze"',
    "operatorMessage": (
        'spec.template.priorityClassName: Unsupported value: "bronze": supported values: "gold", "silver"'
    ),
    "stage": "schema",
    "order": 0,
    "path": "spec.template.priorityClassName",
    "resource": {"apiVersion": "grove.io/v1alpha1", "kind": "PodCliqueSet", "namespace": "shop", "name": "web"},
    "file": "in/web.yaml",
    "line": 10,
    "column": 24,
    "help": "A workload does not match the schema of its CRD.",
}


@pytest.fixture
def files(tmp_path: Path) -> Path:
    write(tmp_path, {"in/topology.yaml": CONFIG, "in/web.yaml": BRONZE, "crds/pcs.json": WORKLOADS})
    return tmp_path


@pytest.mark.usefixtures("files")
def test_a_folder_of_definitions(call: Call) -> None:
    ran = call("check", "in", "--crds", "crds", "-o", "json")

    assert (ran.code, ran.findings) == (1, [BRONZE_FINDING])


def test_definitions_among_the_input(call: Call, files: Path) -> None:
    write(files, {"in/crd.json": WORKLOADS})

    ran = call("check", "in", "-o", "json")

    assert (ran.code, ran.findings) == (1, [BRONZE_FINDING])


def test_without_any_the_tables_of_packwise_count(call: Call, files: Path) -> None:
    write(files, {"in/web.yaml": GOLD})

    (found,) = call("check", "in", "-o", "json").findings

    assert (found["rule"], found["path"]) == ("unknown-field", "spec.template.tier")


def test_given_ones_count_before_those_among_the_input(call: Call, files: Path) -> None:
    write(files, {"in/web.yaml": GOLD, "in/crd.json": WORKLOADS.replace('"gold"', '"platinum"')})

    assert call("check", "in", "-o", "json").code == 1
    assert call("check", "in", "--crds", "crds").code == 0


def test_a_render_is_refused_too_and_keeps_the_definitions_otherwise(call: Call, files: Path) -> None:
    assert call("render", "in", "--crds", "crds").code == 1

    write(files, {"in/web.yaml": GOLD, "in/crd.json": WORKLOADS})
    ran = call("render", "in")
    assert ran.code == 0
    assert WORKLOADS in ran.stdout


def test_several_folders(call: Call, files: Path) -> None:
    write(files, {"in/web.yaml": GOLD, "gangs/gang.json": GANGS})

    (found,) = call("check", "in", "--crds", "crds", "--crds", "gangs", "-o", "json").findings

    assert (found["rule"], found["message"], found["operatorMessage"], found["file"]) == (
        "object-schema",
        "packwise renders PodGang shop/web-0 from this object, and the CRD refuses it: spec.queue must be set",
        "spec.queue: Required value",
        "in/web.yaml",
    )


def test_one_source_of_many_objects_is_reported_once(call: Call, files: Path) -> None:
    write(files, {"in/web.yaml": GOLD.replace("replicas: 1", "replicas: 50"), "crds/gang.json": GANGS})

    assert len(call("check", "in", "--crds", "crds", "-o", "json").findings) == 1


GANG = "apiVersion: scheduler.grove.io/v1alpha1\nkind: PodGang\nmetadata: {name: mine, namespace: shop}\nspec: {}\n"


def test_users_own_objects_of_rendered_kinds(call: Call, files: Path) -> None:
    write(files, {"in/web.yaml": GANG, "crds/gang.json": GANGS})

    (found,) = call("check", "in", "--crds", "crds", "-o", "json").findings

    assert (found["rule"], found["path"], found["message"]) == ("object-schema", "spec.queue", "must be set")


TOPOLOGY_REFUSED = [
    (
        "in/topology.yaml",
        "breaks a rule of its CRD: levels are immutable; KAI refuses the Topology with these levels. Change the "
        "levels, or render no Topology: `createTopologyResources: false`, or remove Topology from `emit`",
        'spec.levels: Invalid value: "array": levels are immutable',
    )
]


POOL = "name: deep\nbackend: cluster\ntopology_keys:\n" + "".join(
    [f"- {{key: k{number}, label: example.com/l{number}}}\n" for number in range(17)]
)


@pytest.mark.parametrize(("crds", "stage", "text"), [
    ([], None, None),
    (["--crds", "crds"], "schema", "spec.levels: Too many: 17: must have at most 3 items"),
])  # fmt: skip
def test_what_a_cluster_refuses_of_a_pool_has_its_text(
    crds: list[str], stage: str | None, text: str | None, call: Call, tmp_path: Path
) -> None:
    write(tmp_path, {"in/pool.yaml": POOL, "crds/topology.json": TOPOLOGIES})

    found = call("check", "in", *crds, "-o", "json").findings

    assert [(f["rule"], f["path"], f.get("stage"), f.get("operatorMessage")) for f in found] == [
        ("scheduler-topology", "topology_keys", stage, text)
    ]


def test_rules_about_a_change_hold_against_a_baseline(call: Call, files: Path) -> None:
    write(files, {"in/web.yaml": GOLD, "crds/topology.json": TOPOLOGIES})
    assert call("render", "in", "--crds", "crds", "-o", "before").code == 0
    write(files, {"in/topology.yaml": CONFIG.replace("example.com/rack", "example.com/cabinet")})

    alone = call("check", "in", "--crds", "crds", "-o", "json")
    changed = call("check", "in", "--crds", "crds", "--baseline", "before", "-o", "json")

    assert (alone.code, alone.findings) == (0, [])
    refused = [found for found in changed.findings if found["rule"] == "scheduler-topology"]
    assert [(found["file"], found["message"], found["operatorMessage"]) for found in refused] == TOPOLOGY_REFUSED


UPSTREAM = """\
apiVersion: packwise.dev/v1alpha1
kind: TopologyRender
metadata: {name: topology}
spec: {revision: upstream, topologyAwareScheduling: {enabled: true}}
"""


@pytest.mark.parametrize(("group", "kind", "config", "level", "rule"), [
    ("grove.io", "ClusterTopology", CONFIG, "domain: rack, key", "clustertopology-schema"),
    ("grove.io", "ClusterTopologyBinding", UPSTREAM, "domain: rack, key", "binding-schema"),
    ("kai.scheduler", "Topology", CONFIG, "nodeLabel", "scheduler-topology"),
])  # fmt: skip
def test_rules_about_a_change_hold_for_users_own_topologies(
    group: str, kind: str, config: str, level: str, rule: str, call: Call, tmp_path: Path
) -> None:
    topology = (
        f"apiVersion: {group}/v1alpha1\nkind: {kind}\nmetadata: {{name: gb200}}\nspec: {{levels: [{{{level}: %s}}]}}\n"
    )
    levels = {**LEVELS, "items": ANY}
    write(
        tmp_path,
        {
            "crds/crd.json": crd(group, kind, {"type": "object", "properties": {"levels": levels}}),
            "before/own.yaml": topology % "example.com/rack",
            "in/own.yaml": topology % "example.com/cabinet",
            "in/topology.yaml": config,
        },
    )

    alone = call("check", "in", "--crds", "crds", "-o", "json")
    changed = call("check", "in", "--crds", "crds", "--baseline", "before", "-o", "json")

    assert [found["rule"] for found in alone.findings if found["severity"] == "error"] == []
    refused = [found for found in changed.findings if found["severity"] == "error"]
    assert [(found["rule"], found["path"], found["message"], found["operatorMessage"]) for found in refused] == [
        (
            rule,
            "spec.levels",
            "breaks a rule of its CRD: levels are immutable",
            'spec.levels: Invalid value: "array": levels are immutable',
        )
    ]


def test_what_a_gitops_tool_recreates_may_be_other_than_before(call: Call, files: Path) -> None:
    gitops = CONFIG.replace("spec:\n", "spec:\n  gitops: [flux]\n")
    write(files, {"in/web.yaml": GOLD, "in/topology.yaml": gitops, "crds/topology.json": TOPOLOGIES})
    assert call("render", "in", "--crds", "crds", "-o", "before").code == 0
    write(files, {"in/topology.yaml": gitops.replace("example.com/rack", "example.com/cabinet")})

    changed = call("check", "in", "--crds", "crds", "--baseline", "before", "-o", "json")

    assert [found for found in changed.findings if found["rule"] == "scheduler-topology"] == []
    text = call("render", "in", "--crds", "crds", "--baseline", "before").stdout
    assert "kustomize.toolkit.fluxcd.io/force: enabled" in text


def test_the_definition_counts_before_what_packwise_knows_of_a_scheduler(call: Call, files: Path) -> None:
    # KAI's own CRD would refuse the object, but a cluster with this definition accepts it.
    config = CONFIG.replace("topology.kubernetes.io/zone", "kubernetes.io/hostname")
    write(files, {"in/web.yaml": GOLD, "in/topology.yaml": config})

    assert call("check", "in", "--crds", "crds").code == 1

    write(files, {"crds/topology.json": TOPOLOGIES})
    assert call("check", "in", "--crds", "crds").code == 0


def test_unknown_fields_are_warnings_on_request(call: Call, files: Path) -> None:
    closed = WORKLOADS.replace('"x-kubernetes-preserve-unknown-fields": true', '"description": ""')
    write(files, {"crds/pcs.json": closed, "in/topology.yaml": CONFIG + "  unknownFields: Warn\n"})

    ran = call("check", "in", "--crds", "crds", "-o", "json")

    assert {(found["rule"], found["severity"]) for found in ran.findings} == {
        ("unknown-field", "warning"),
        ("workload-schema", "error"),
    }


def test_a_rule_that_cannot_be_evaluated_is_one_warning_at_the_rule(call: Call, files: Path) -> None:
    spec = {**ANY, "x-kubernetes-validations": [{"rule": "self.name.isFormat('x')", "message": "has the format x"}]}
    second = GOLD.replace("name: web #", "name: other #")
    write(files, {"in/web.yaml": GOLD, "in/other.yaml": second, "crds/pcs.json": crd("grove.io", "PodCliqueSet", spec)})

    ran = call("check", "in", "--crds", "crds", "-o", "json")

    (found,) = ran.findings
    assert ran.code == 0
    assert (found["rule"], found["severity"], found["file"], found["path"]) == (
        "crd-rule",
        "warning",
        "crds/pcs.json",
        "spec.versions[0].schema.openAPIV3Schema.properties.spec.x-kubernetes-validations[0].rule",
    )
    assert found["message"] == (
        "packwise does not check this rule: undeclared reference to 'isFormat' (in container ''). The rule: has "
        "the format x"
    )


def test_a_definition_that_is_none_is_reported_where_it_is_wrong(call: Call, files: Path) -> None:
    write(files, {"crds/pcs.json": WORKLOADS.replace('"integer"', '"number of replicas"')})

    (found,) = call("check", "in", "--crds", "crds", "-o", "json").findings

    assert (found["rule"], found["file"], found["path"], found["message"]) == (
        "crd-schema",
        "crds/pcs.json",
        "spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.replicas.type",
        'must be one of "array", "boolean", "integer", "number", "object", "string"; got "number of replicas"',
    )


def test_two_definitions_of_one_kind(call: Call, files: Path) -> None:
    write(files, {"crds/again.json": WORKLOADS})
    assert call("check", "in", "--crds", "crds", "-o", "json").findings == [BRONZE_FINDING]

    write(files, {"crds/again.json": WORKLOADS.replace('"gold"', '"platinum"')})
    findings = call("check", "in", "--crds", "crds", "-o", "json").findings

    assert [(found["rule"], found["file"]) for found in findings] == [("object-once", "crds/pcs.json")]


QUEUES = {
    "Queue": ("scheduling.run.ai", "v2", "resources: {cpu: {limit: -1}, gpu: {limit: -1}, memory: {limit: -1}}"),
    "ClusterQueue": ("kueue.x-k8s.io", "v1beta2", "namespaceSelector: {}"),
    "LocalQueue": ("kueue.x-k8s.io", "v1beta2", "clusterQueue: gpus"),
}


@pytest.mark.parametrize("kind", QUEUES)
@pytest.mark.parametrize(("stop", "messages"), [("Hold", []), ("Now", ['must be one of "Hold"; got "Now"'])])
def test_definitions_of_queues_are_read(call: Call, files: Path, kind: str, stop: str, messages: list[str]) -> None:
    group, version, spec = QUEUES[kind]
    own = {**ANY, "properties": {"stopPolicy": {"type": "string", "enum": ["Hold"]}}}
    queue = (
        f"apiVersion: {group}/{version}\nkind: {kind}\nmetadata: {{name: q}}\nspec: {{stopPolicy: {stop}, {spec}}}\n"
    )
    write(files, {"of-queues/crd.json": crd(group, kind, own, version), "queues/queue.yaml": queue})

    findings = call("check", "queues", "--crds", "of-queues", "-o", "json").findings

    assert [found["message"] for found in findings if found["severity"] == "error"] == messages


USAGE = {
    "nowhere": '"nowhere" does not exist',
    "in": '--crds "in" has no CRD of a kind that packwise reads or writes',
    "empty": '"empty" has no YAML files; packwise reads *.yaml, *.yml and *.json files that are not hidden',
}


@pytest.mark.parametrize("folder", USAGE)
def test_wrong_usage(call: Call, files: Path, folder: str) -> None:
    (files / "empty").mkdir()

    ran = call("check", "in", "--crds", folder)

    assert (ran.code, ran.stderr) == (2, f"error: {USAGE[folder]}\n")


@pytest.mark.usefixtures("files")
def test_stdin_is_read_once(call: Call) -> None:
    ran = call("check", "-", "--crds", "-")

    assert (ran.code, ran.stderr) == (2, 'error: "-" is given twice, but packwise can read stdin only once\n')


@pytest.mark.usefixtures("files")
def test_definitions_on_stdin(call: Call) -> None:
    assert call("check", "in", "--crds", "-", "-o", "json", stdin=WORKLOADS).findings == [BRONZE_FINDING]


def test_a_definition_that_cannot_be_read(call: Call, files: Path) -> None:
    write(files, {"crds/pcs.json": '{"kind": "CustomResourceDefinition",'})

    (found,) = call("check", "in", "--crds", "crds", "-o", "json").findings

    assert (found["rule"], found["file"]) == ("readable", "crds/pcs.json")


def test_definitions_as_kubectl_prints_several(call: Call, files: Path) -> None:
    listed: dict[str, Any] = {"apiVersion": "v1", "kind": "List", "items": [json.loads(GANGS), json.loads(WORKLOADS)]}
    write(files, {"crds/pcs.json": json.dumps(listed)})

    assert call("check", "in", "--crds", "crds", "-o", "json").findings == [BRONZE_FINDING]

    listed["items"][1]["spec"]["versions"] = "none"
    write(files, {"crds/pcs.json": json.dumps(listed)})
    (found,) = call("check", "in", "--crds", "crds", "-o", "json").findings
    place = json.dumps(listed).index('"none"') + 1
    assert (found["rule"], found["line"], found["column"]) == ("crd-schema", 1, place)


def test_definitions_of_other_kinds_mean_nothing(call: Call, files: Path) -> None:
    other = crd("example.com", "Thing", {"type": "no type"})
    write(files, {"in/web.yaml": GOLD, "in/crd.json": other, "crds/other.json": other})

    assert call("check", "in", "--crds", "crds", "-o", "json").findings == []


def test_a_version_that_the_cluster_does_not_serve(call: Call, files: Path) -> None:
    write(files, {"in/web.yaml": GOLD, "crds/pcs.json": WORKLOADS.replace('"v1alpha1"', '"v1"')})

    (found,) = call("check", "in", "--crds", "crds", "-o", "json").findings

    assert (found["path"], found["message"], found["operatorMessage"]) == (
        "apiVersion",
        'its CRD serves only "grove.io/v1"; got "grove.io/v1alpha1"',
        'no matches for kind "PodCliqueSet" in version "grove.io/v1alpha1"',
    )
