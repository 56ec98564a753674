"""No command skips requested input silently: each command reports errors that keep it from checking.

The matrix has a folder for each such error, and every command that checks. No command passes, and each names the wrong
file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.cli.calling import CONFIG, WORKLOAD, AssertEach, Call, write
from tests.cli.test_cli_crds import ANY, TEMPLATE, crd
from tests.cli.test_cli_place import cluster

CRD = crd(
    "grove.io",
    "PodCliqueSet",
    {"type": "object", "properties": {"replicas": {"type": "integer"}, "template": ANY}},
)
OTHER_CRD = crd("grove.io", "PodCliqueSet", {"type": "object", "properties": {"template": TEMPLATE}})
PACKAGE = {"topology.yaml": CONFIG, "app/web.yaml": WORKLOAD}
BROKEN = "  - ]\n"
TOPOLOGY = """\
apiVersion: grove.io/v1alpha1
kind: ClusterTopology
metadata: {name: east}
spec:
  levels:
  - {domain: rack, key: example.com/rack}
"""
OPERATOR = """\
apiVersion: operator.config.grove.io/v1alpha1
kind: OperatorConfiguration
topologyAwareScheduling: {enabled: true, levels: [{domain: rack, key: example.com/rack}]}
"""
ERRORS: dict[str, dict[str, str]] = {
    "a CRD twice, and differently": {"config/crd/pcs.json": OTHER_CRD, "crds/pcs.json": CRD},
    "a CRD that no API server takes": {"crds/pcs.json": CRD.replace('"integer"', '"count"')},
    "a CRD that is no JSON": {"crds/pcs.json": CRD + "]"},
    "a ClusterTopology that is no YAML": {"topologies/east.yaml": TOPOLOGY + BROKEN},
    "a second configuration": {"operator.yaml": OPERATOR},
    "a configuration that is no YAML": {"topology.yaml": CONFIG + BROKEN},
    "a configuration with a slip": {"topology.yaml": CONFIG.replace("enabled", "enable")},
    "a configuration that is no text": {"topology.yaml": CONFIG + "# \udcff\n"},
}
COMMANDS = (
    "check in",
    "check in/app/web.yaml",
    "check in -o json",
    "check in -o sarif",
    "comment in",
    "comment in --baseline old",
    "render in",
    "render in -o out",
    "render in -o out --check",
    "explain in",
    "explain in -o json",
    "topologies in",
    "topologies in -o json",
    "place in --nodes nodes.json",
    "report in -o out.html",
    "diff old in",
    "diff old in -o json",
    "migrate --to v0.1.0-alpha.14 in",
    "doctor in",
    "doctor in -o json",
    "fleet check .",
    "fleet check . -o json",
    "fleet render . -o out",
    "fleet diff . --baseline before",
    "fleet place . --nodes nodes.json",
)


def write_bytes(folder: Path, files: Mapping[str, str]) -> None:
    """Write files. Surrogates are written as bytes that are not text."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8", "surrogateescape"))


@pytest.fixture(autouse=True)
def repository(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()


@pytest.mark.parametrize("command", COMMANDS)
def test_every_error_is_one_of_every_command(call: Call, assert_each_alone: AssertEach, command: str) -> None:
    def check(files: dict[str, str], folder: Path) -> None:
        write(folder, {f"{side}/{name}": text for side in ("in", "old") for name, text in PACKAGE.items()})
        write(folder, {f"before/in/{name}": text for name, text in PACKAGE.items()} | {"nodes.json": cluster()})
        write_bytes(folder / "in", files)

        ran = call(*command.split())

        said = ran.stdout + ran.stderr
        assert ran.code == 1, said
        assert any(f"in/{name}" in said for name in files), said

    assert_each_alone(ERRORS, check)


@pytest.mark.parametrize("configured", [True, False], ids=["configured", "without a configuration"])
@pytest.mark.parametrize("command", [each for each in COMMANDS if each.endswith(" in") or "in/app" in each])
def test_copies_of_a_crd_are_one_definition(call: Call, tmp_path: Path, command: str, *, configured: bool) -> None:
    described = json.loads(CRD)
    described["metadata"]["annotations"] = {"helm.sh/resource-policy": "keep"}
    schema = described["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["description"] = "What a chart leaves out."
    copies = {"crds/pcs.json": CRD, "config/crd/pcs.json": CRD, "charts/crd.json": json.dumps(described, indent=2)}
    for folder in ("in", "old"):
        write(
            tmp_path / folder, copies | {"app/web.yaml": WORKLOAD} | ({"topology.yaml": CONFIG} if configured else {})
        )

    ran = call(*command.split())

    assert "the input has this object twice" not in ran.stdout + ran.stderr
    assert ran.code == 0 or (not configured and "topology configuration" in ran.stdout + ran.stderr)


def test_everything_else_is_checked_beside_two_crds(call: Call, tmp_path: Path) -> None:
    wrong = WORKLOAD.replace("replicas: 2", "replicas: 0")
    write(tmp_path / "in", PACKAGE | {"config/crd/pcs.json": OTHER_CRD, "crds/pcs.json": CRD, "app/web.yaml": wrong})

    ran = call("check", "in", "-o", "json")

    other, twice = ran.findings
    assert (other["rule"], other["file"]) == ("clique-min-available-max", "in/app/web.yaml")
    assert (twice["rule"], twice["file"], twice["path"]) == ("object-once", "in/crds/pcs.json", "metadata.name")
    assert twice["message"] == (
        "the input has two different schemas for PodCliqueSet, and packwise uses neither. The other one is at "
        "in/config/crd/pcs.json:1:1. Remove one, exclude its file with --exclude GLOB, or pass the cluster's with "
        "--crds"
    )
    assert ran.closing.endswith("in/topology.yaml)")
    for chosen in (("--exclude", "config/crd"), ("--crds", "in/crds")):
        assert call("check", "in", *chosen, "-o", "json").findings == [other]


FOREIGN = {"tools/broken.yaml": "kind: Tool\nrun: [a\n"}


@pytest.mark.parametrize(
    "command",
    [
        "check in",
        "comment in",
        "explain in",
        "topologies in",
        "report in -o svg=out.svg --nodes nodes.json",
        "render in",
        "fleet check .",
        "doctor in",
    ],
)
def test_others_are_checked_beside_a_file_of_nobody(call: Call, tmp_path: Path, command: str) -> None:
    write(tmp_path, {f"in/{name}": text for name, text in (PACKAGE | FOREIGN).items()} | {"nodes.json": cluster()})

    ran = call(*command.split())
    said = ran.stdout + ran.stderr
    drawn = tmp_path / "out.svg"

    assert ran.code == 1, said
    assert "in/tools/broken.yaml:3:1: " in said
    assert "if the file belongs to another tool, pass --exclude GLOB" in said or command.startswith("fleet")
    if command.startswith("explain"):
        assert "web-0" in ran.stdout
    elif command.startswith("topologies"):
        assert "grove-topology" in ran.stdout
    elif command.startswith("report"):
        assert "web-0" in drawn.read_text(encoding="utf-8")
    else:
        assert "1 workload" in said or command.startswith("doctor")
    if not command.startswith("fleet"):
        assert call(*command.split(), "--exclude", "tools").code == 0


def test_what_is_wrong_with_others_is_said_too_where_nothing_is_written(call: Call, tmp_path: Path) -> None:
    wrong = WORKLOAD.replace("replicas: 2", "replicas: 0")
    write(tmp_path / "in", PACKAGE | FOREIGN | {"app/web.yaml": wrong})

    ran = call("render", "in")

    assert (ran.code, ran.stdout) == (1, "")
    assert "in/app/web.yaml:16:23: " in ran.stderr
    assert "in/tools/broken.yaml:3:1: " in ran.stderr


def test_no_advice_to_leave_out_what_is_packwises_own(call: Call, tmp_path: Path) -> None:
    write(tmp_path / "in", PACKAGE | {"app/web.yaml": WORKLOAD + BROKEN})

    assert "--exclude" not in call("check", "in").stdout


@pytest.mark.parametrize(
    "command", ["check in", "render in", "explain in", "topologies in", "place in --nodes nodes.json"]
)
def test_the_configuration_that_is_named_wins(call: Call, tmp_path: Path, command: str) -> None:
    held = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: grove}\ndata:\n  config.yaml: |\n" + "".join(
        f"    {line}\n" for line in OPERATOR.splitlines()
    )
    others = {"a/operator.yaml": OPERATOR, "b/operator.yaml": OPERATOR, "b/held.yaml": held, "app/web.yaml": WORKLOAD}
    write(tmp_path, {f"in/{name}": text for name, text in others.items()})
    write(tmp_path, {"topology.yaml": CONFIG, "nodes.json": cluster()})

    ran = call(*command.split(), "--config", "topology.yaml")

    assert ran.code == 0, ran.stdout + ran.stderr


def test_an_operators_configuration_that_is_named_wins_too(call: Call, tmp_path: Path) -> None:
    off = OPERATOR.replace("true", "false")
    write(tmp_path, {"in/a.yaml": OPERATOR, "in/web.yaml": WORKLOAD, "in/topology.yaml": CONFIG, "off.yaml": off})

    (found,) = call("check", "in", "--config", "off.yaml", "-o", "json").findings

    assert found["rule"] == "topology-disabled"


def test_a_kind_that_grove_renamed_is_named(call: Call, tmp_path: Path) -> None:
    write(tmp_path, {"in/web.yaml": WORKLOAD.replace("PodCliqueSet", "PodGangSet"), "in/topology.yaml": CONFIG})

    (found,) = [each for each in call("check", "in", "-o", "json").findings if each["severity"] == "error"]

    assert (found["rule"], found["path"], found["message"]) == (
        "kind-spelling",
        "kind",
        'must be "PodCliqueSet" of "grove.io/v1alpha1"; got "PodGangSet" of "grove.io/v1alpha1", its name before '
        "v0.1.0-alpha.1, which no API server knows",
    )


KINDS = {
    "ClusterTopology": "grove.io/v1alpha1",
    "ClusterTopologyBinding": "grove.io/v1alpha1",
    "PodGangMap": "grove.io/v1alpha1",
    "PodCliqueSet": "grove.io/v1alpha1",
    "Topology": "kai.scheduler/v1alpha1",
    "Queue": "scheduling.run.ai/v2",
    "PodGang": "scheduler.grove.io/v1alpha1",
    "PodGroup": "scheduling.run.ai/v2alpha2",
    "DynamoGraphDeployment": "nvidia.com/v1beta1",
    "Pod": "v1",
}


@pytest.mark.parametrize("kind", KINDS)
def test_labels_and_annotations_are_strings_on_every_kind(call: Call, tmp_path: Path, kind: str) -> None:
    metadata = "metadata:\n  name: web\n  labels: {a: 1, b: yes, d: null}\n  annotations: {c: true, e: [f]}\n"
    write(tmp_path, {"in/web.yaml": f"apiVersion: {KINDS[kind]}\nkind: {kind}\n{metadata}spec: {{}}\n"})

    found = {each["path"]: each for each in call("check", "in", "-o", "json").findings}

    for path, message in {
        "metadata.labels.a": "must be a string; got 1",
        "metadata.annotations.c": "must be a string; got true",
        "metadata.annotations.e": "must be a string; got a list",
    }.items():
        assert (found[path]["severity"], found[path]["message"]) == ("error", message)
        assert found[path]["stage"] in ("schema", "decode")
    assert "metadata.labels.b" not in found
    assert "metadata.labels.d" not in found


def test_so_they_are_on_a_config_map_that_configures_and_on_no_others(call: Call, tmp_path: Path) -> None:
    held = "data:\n  config.yaml: |\n" + "".join(f"    {line}\n" for line in OPERATOR.splitlines())
    head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: grove, labels: {a: 1}}\n"
    write(tmp_path, {"in/a.yaml": head + held, "in/b.yaml": head.replace("grove", "other")})

    found = [each for each in call("check", "in", "-o", "json").findings if each["rule"] == "metadata-strings"]

    assert [(each["file"], each["path"]) for each in found] == [("in/a.yaml", "metadata.labels.a")]


def test_so_they_are_on_what_kai_groups_itself_and_on_its_pods(call: Call, tmp_path: Path) -> None:
    """An object with labels that no API server accepts has no scheduler. Nothing else is checked in it."""
    job = (
        "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a, labels: {a: LABEL}}\n"
        "spec: {template: {metadata: {annotations: {b: true}}, spec: {schedulerName: SCHEDULER,"
        " containers: [{name: a, image: b}]}}}\n"
    )
    kai, other = job.replace("SCHEDULER", "kai-scheduler"), job.replace("SCHEDULER", "x")
    write(
        tmp_path,
        {
            "in/a.yaml": kai.replace("LABEL", "1"),
            "in/b.yaml": kai.replace("LABEL", "'1'").replace("name: a,", "name: b,"),
            "in/c.yaml": other.replace("LABEL", "'1'").replace("name: a,", "name: c,"),
        },
    )

    found = [each for each in call("check", "in", "-o", "json").findings if each["rule"] == "metadata-strings"]

    assert [(each["file"], each["path"]) for each in found] == [
        ("in/a.yaml", "metadata.labels.a"), ("in/b.yaml", "spec.template.metadata.annotations.b")
    ]  # fmt: skip
