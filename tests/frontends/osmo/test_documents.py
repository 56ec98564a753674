"""OSMO's documents as OSMO reads them, with OSMO's own texts. Some documents are odd."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krmfn.result import Severity
from krmfn.yamltext import read
from packwise.frontends.osmo import recognition
from tests.frontends.osmo.rendering import of_kind, rendered

POOL = """\
name: gb200
backend: cluster
default_platform: gb200
platforms: {gb200: {}}
topology_keys: [{key: rack, label: example.com/rack}]
"""


LAUGHS = (
    "b0: &b0 [x, x, x, x, x, x, x, x, x]\n"
    + "".join([f"b{n}: &b{n} [{', '.join([f'*b{n - 1}'] * 9)}]\n" for n in range(1, 9)])
    + "workflow: {name: w, tasks: *b8}\n"
)


def flow(task: str = "", workflow: str = "") -> str:
    return f"workflow:\n  name: w\n  tasks:\n  - {{name: t, image: i, command: [c]{task}}}\n{workflow}"


@pytest.mark.parametrize(("task", "path", "text"), [
    (", lead: maybe", "lead", "Input should be a valid boolean, unable to interpret input"),
    (", resource: 1:30", "", None),
    (", resource: 2024-01-01", "resource", "Input should be a valid string"),
    (", args: run", "args", "Input should be a valid list"),
    (", inputs: [{task: a:b}, {url: x}]", "", None),
    (", downloadType: mount", "downloadType", None),
    (", exitActions: {STOP: 1}", "exitActions", "Value error, Invalid exit action STOP for task t."),
    (", exitActions: {FAIL: 1-}", "exitActions", "Value error, Invalid exit codes 1- for action FAIL for task t."),
    (", files: [{path: /osmo/x, contents: a}]", "files[0].path", None),
])  # fmt: skip
def test_fields_of_a_task_are_osmos(task: str, path: str, text: str | None) -> None:
    said = rendered(POOL, flow(task)).said()

    schema = [(where, operator) for rule, where, operator in said if rule == "osmo-schema"]
    assert [where for where, _ in schema] == ([f"workflow.tasks[0].{path}"] if path else [])
    assert text is None or schema[0][1] == text


@pytest.mark.parametrize(("text", "is_document"), [
    ("workflow: {serviceAccount: {create: true}}\nserver: {}\n", False),
    ("workflow: {serviceAccount: {create: true}}\n", True),
    ("workflow: {name: w}\nserver: {}\n", True),
    ("workflow: {rules: []}\nstages: []\n", False),
])  # fmt: skip
def test_values_of_another_chart_are_no_workflow(text: str, is_document: bool) -> None:
    assert recognition.is_document(read(text)) is is_document


@pytest.mark.parametrize(("labels", "text"), [
    ("{a/b/c: x}", 'Workflow label key "a/b/c" is not a valid Kubernetes label key.'),
    ("{A_/b: x}", 'Workflow label key "A_/b" has an invalid DNS prefix.'),
    ("{a-: x}", 'Workflow label key "a-" has an invalid name segment.'),
    ('{a: ""}', 'Workflow label value "" is not a valid non-empty Kubernetes label value.'),
    ("{" + ", ".join([f"k{n}: v" for n in range(17)]) + "}", "Workflows can have at most 16 labels."),
])  # fmt: skip
def test_labels_of_a_workflow_are_kubernetes_own(labels: str, text: str) -> None:
    said = rendered(POOL, flow(workflow=f"  labels: {labels}\n")).said()

    assert said == [("osmo-schema", "workflow.labels", f"Value error, {text}")]


@given(st.text("1-,", max_size=9))
def test_exit_codes_are_what_osmo_takes(codes: str) -> None:
    taken = re.fullmatch(r"(\d+(-\d+)?)+(,\d+(-\d+)?)*", codes) is not None

    assert rendered(POOL, flow(f', exitActions: {{FAIL: "{codes}"}}')).accepted == taken


def test_exit_codes_are_looked_at_in_a_moment() -> None:
    codes = "1" * 5000 + "x"

    assert not rendered(POOL, flow(f", exitActions: {{FAIL: {codes}}}")).accepted


def test_words_are_read_as_osmo_reads_them() -> None:
    """In YAML 1.1, `no` is false and not the name of a group."""
    said = rendered(POOL, flow(workflow="  resources: {default: {topology: [{key: rack, group: no}]}}\n")).said()

    assert said == [("osmo-schema", "workflow.resources.default.topology[0].group", "Input should be a valid string")]


def test_scalars_of_the_environment_are_texts_as_python_writes_them() -> None:
    found = rendered(POOL, flow(", environment: {A: true, B: 1, C: 0x10, D: x}"))

    (pod,) = of_kind(found.objects, "Pod")
    assert pod["spec"]["containers"][0]["env"] == [
        {"name": "A", "value": "True"},
        {"name": "B", "value": "1"},
        {"name": "C", "value": "16"},
        {"name": "D", "value": "x"},
    ]


def test_texts_stand_in_osmos_order() -> None:
    found = rendered(POOL, flow(", resource: x", "  resources: {a: {topology: [{key: zone}]}}\n  pool: gb200\n"))

    errors = [result for result in found.results if result.severity is Severity.ERROR]
    errors.sort(key=lambda result: int(result.tags["order"]))
    assert [result.tags["operatorMessage"] for result in errors] == [
        'Topology key "zone" in resource "a" is not available in pool "gb200". Available topology keys: [\'rack\']',
        "Requesting undefined resource x.",
    ]


@pytest.mark.parametrize("text", [
    "workflow:\n",
    "workflow: []\n",
    "workflow: {groups: {a: b}, tasks: 1}\n",
    "workflow: {name: w, groups: [null, 1, {tasks: null}]}\n",
    "workflow: {name: w, tasks: [{name: 0001-01-01T00:00:00+23:59, image: 2024-99-99}]}\n",
    "workflow: {name: w, resources: {1: 2, ? [a] : b}, tasks: [{}]}\n",
    "workflow: &w {name: w, tasks: [*w]}\n",
    LAUGHS,
    "workflow: " + "[" * 5000 + "\n",
    "pools: {a: null, b: [], c: 1}\n",
    "pools: {a: {backend: b, topology_keys: {key: x}}}\nbackends: [1]\n",
    "topology_keys: 1\n",
])  # fmt: skip
def test_odd_documents_are_refused_and_do_no_harm(text: str) -> None:
    found = rendered(POOL, text)

    assert not found.accepted
    assert found.objects == []
    assert all(len(result.line_of_text()) < 5000 for result in found.results)


CONFIG_MAP = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: w, labels: {packwise.dev/osmo: workflow}}
data:
  w.yaml: |
"""


def in_config_map(text: str) -> str:
    return CONFIG_MAP + "".join([f"    {line}\n" for line in text.splitlines()])


@pytest.mark.parametrize("is_labelled", [False, True], ids=["a file", "a ConfigMap"])
@pytest.mark.parametrize("end", ["", "version: [\n", "version: {%\n"], ids=["unset", "no YAML", "no template"])
def test_what_is_wrong_with_a_section_stands_at_its_line(is_labelled: bool, end: str, tmp_path: Path) -> None:
    text = f"workflow:\n  name: a{{{{ x }}}}\nfirst:\nsecond:\n{end}"
    file = tmp_path / "w.yaml"
    file.write_text(in_config_map(text) if is_labelled else text, "utf-8")

    done = subprocess.run(
        [sys.executable, "-m", "packwise", "check", file], capture_output=True, text=True, check=False
    )

    found = re.findall(r'w\.yaml:(\d+):(\d+): .*; got "(first|second)"', done.stdout)
    assert found == (
        [("8", "5", "first"), ("9", "5", "second")] if is_labelled else [("3", "1", "first"), ("4", "1", "second")]
    )


BELOW, DROP = "put it below `workflow`", "drop it"


@pytest.mark.parametrize(("text", "path", "place", "end"), [
    *[(f"{flow()}{key}: []\n", key, (5, 1), BELOW) for key in ("resources", "groups", "tasks", "timeout", "labels")],
    (f"{flow()}pools: []\n", "pools", (5, 1), DROP),
    (f"{flow()}version: 2\nversion: 2\n", "version", (5, 1), 'duplicate section "version"; merge the two'),
    ('{"workflow": {name: w}}', "workflow", (1, 2), "OSMO searches for that line"),
])  # fmt: skip
def test_what_is_wrong_with_a_section_stands_at_its_key(text: str, path: str, place: tuple[int, int], end: str) -> None:
    (found,) = [each for each in rendered(POOL, text).results if each.tags["rule"] == "osmo-sections"]

    assert found.field is not None
    assert (found.field.path, int(found.tags["line"]), int(found.tags["column"])) == (path, *place)
    assert found.message.endswith(end)


@pytest.mark.parametrize("is_grouped", [False, True])
def test_a_file_of_this_machine_is_told_at_its_task(is_grouped: bool) -> None:
    task = "{name: t, image: i, command: [c], files: [{path: /a, localpath: 1}]}"
    tasks = f"groups: [{{name: g, tasks: [{task}]}}]" if is_grouped else f"tasks: [{task}]"

    said = rendered(POOL, f"workflow:\n  name: w\n  {tasks}\n").said()

    owner = "workflow.groups[0]" if is_grouped else "workflow"
    assert said == [("osmo-localpath", f"{owner}.tasks[0].files[0].localpath", None)]


TEMPLATES = """\
      gpu:
        metadata:
          labels: {kai.scheduler/queu: team}
          annotations: {gpu-fractio: "0.5", example.com/mine: x}
        spec:
          tolerations:
          - {key: nvidia.com/gpu, operator: Exist, effect: NoSched}
          containers:
          - name: "{{USER_CONTAINER_NAME}}"
            resources:
              limits: {nvdia.com/gpu: 1, cpu: "{{USER_CPU}}"}
              requests: {nvidia.com/gpu: "{{USER_GPU}}", memory: 1Gi}
          - resources:
              limits: {nvidia.com/gpu: 0.5}
              requests: {amd.com/gpu: 1, gpu: 1}
"""
POOLS_OF_VALUES = "services:\n  configs:\n    pools: {default: {backend: c, platforms: {gpu: {}}}}\n"


@pytest.mark.parametrize(
    "text",
    [
        f"{POOLS_OF_VALUES}    podTemplates:\n{TEMPLATES}",
        f"services:\n  configs:\n    podTemplates:\n{TEMPLATES}",
        f"pools:\n  default: {{backend: c, platforms: {{gpu: {{}}}}}}\npod_templates:\n{TEMPLATES}",
        f"osmo:\n  configuration:\n    podTemplates:\n{TEMPLATES}",
    ],
    ids=["Helm values", "Helm values of templates alone", "a file of pools", "the chart osmo, within another"],
)
def test_pod_templates_are_checked_as_the_layers_of_pods_that_they_are(text: str) -> None:
    found = rendered(text)

    said = [
        (result.tags["rule"], result.severity, result.field.path.partition(".gpu.")[2] if result.field else "")
        for result in found.results
    ]
    assert sorted([each for each in said if each[2]], key=lambda each: each[0]) == [
        ("key-spelling", Severity.WARNING, "metadata.labels[kai.scheduler/queu]"),
        ("key-spelling", Severity.WARNING, "metadata.annotations.gpu-fractio"),
        ("pod-resource", Severity.ERROR, "spec.containers[1].resources.limits[nvidia.com/gpu]"),
        ("pod-resource", Severity.ERROR, "spec.containers[1].resources.requests.gpu"),
        ("pod-resource-name", Severity.WARNING, "spec.containers[0].resources.limits[nvdia.com/gpu]"),
        ("pod-toleration", Severity.ERROR, "spec.tolerations[0].operator"),
        ("pod-toleration", Severity.ERROR, "spec.tolerations[0].effect"),
    ]
