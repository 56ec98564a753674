"""Names and values in the input never become commands for the runner of a CI job, in any output."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from packwise.check.options import FORMATS
from packwise.cli.command_line import COMMANDS
from tests.cli.calling import CONFIG, WORKLOAD, Call, write
from tests.runners import commands_in

HOSTILE = ["##[stop-commands]x", "##vso[task.setvariable variable=a]b", "::stop-commands::x", "x ##[add-mask]error"]
NODE = """\
apiVersion: v1
kind: Node
metadata: {{name: '{value}', labels: {{topology.kubernetes.io/zone: '{value}', example.com/rack: '{value}'}}}}
status: {{allocatable: {{cpu: "8", memory: 8Gi, pods: "110", nvidia.com/gpu: "8"}}}}
"""
KUEUE = """\
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {{name: '{value}', namespace: '{value}'}}
spec: {{clusterQueue: '{value}'}}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: '{value}'
  namespace: team
  labels: {{kueue.x-k8s.io/queue-name: '{value}', kai.scheduler/queue: '{value}'}}
spec:
  template:
    spec:
      schedulerName: kai-scheduler
      containers: [{{name: a, image: a}}]
"""
OSMO = """\
workflow:
  name: '{value}'
  resources: {{default: {{gpu: 1, platform: '{value}'}}}}
  tasks: [{{name: '{value}', image: a, command: [a]}}]
"""
CALLS = [
    *[f"check in -o {name}" for name in FORMATS],
    *[f"check in -o {name}=out.txt" for name in FORMATS],
    "check in -v",
    "check in --nodes nodes",
    "check in --fix --diff",
    "check in --select {value}",
    "check in --config {value}",
    "check in --baseline git:{value}",
    "check in --changed-since {value}",
    "check in --known {value}",
    "check in --write-findings out.txt",
    "check in --crds {value}",
    "render in",
    "render in -o out",
    "render in -o out --check",
    "render --in-place in",
    "topologies in",
    "topologies in -o json",
    *[f"diff before in -o {name}" for name in ("text", "json", "markdown", "patch")],
    *[f"diff in before -o {name}" for name in ("text", "json", "markdown", "patch")],
    "diff git:{value} in",
    "comment in",
    "comment in --nodes nodes",
    "comment in --baseline before --nodes nodes",
    *[f"explain in -o {name}" for name in ("text", "json")],
    "explain in {value}",
    "doctor in",
    "doctor in -o json",
    *[f"place in --nodes nodes -o {name}" for name in ("text", "json")],
    "place in --nodes nodes --exact",
    "place in --nodes {value}",
    *[f"report in --nodes nodes -o {name}" for name in ("html", "svg", "mermaid")],
    *[f"report in --nodes nodes -o {name}=out.txt" for name in ("html", "svg", "mermaid")],
    "report in --baseline before --nodes nodes -o html",
    "migrate in --dry-run --to upstream",
    "migrate in --dry-run",
    "migrate in --to {value}",
    "rules {value}",
    "schema {value}",
    "completion {value}",
    "init {value}",
    "topology import nodes/nodes.yaml",
    "topology import {value}",
    *[f"fleet check . -o {name} --no-cache" for name in ("text", "json", "markdown")],
    "fleet diff . --baseline git:{value} --no-cache",
    "cache {value}",
    "help {value}",
    "{value}",
]
OWN_BYTES = {"render in"}
"""Calls that print the user's objects unchanged."""


def test_every_command_is_called() -> None:
    assert set(COMMANDS) - {words.split()[0] for words in CALLS} == {"fn", "version"}


@pytest.mark.parametrize("value", HOSTILE)
@pytest.mark.parametrize("words", CALLS)
def test_no_value_becomes_a_command(words: str, value: str, call: Call, tmp_path: Path) -> None:
    _write_hostile(tmp_path, value)

    ran = call(*[word.format(value=value) for word in words.split()])

    out = tmp_path / "out.txt"
    printed = [ran.stderr, out.read_text(encoding="utf-8") if out.is_file() else ""]
    found = [commands_in(text) for text in (*printed, "" if words in OWN_BYTES else ran.stdout)]
    own = "::error ", "::warning ", "::notice "
    assert [line for lines in found for line in lines if not ("github" in words and line.startswith(own))] == []


def _write_hostile(folder: Path, value: str) -> None:
    broken = WORKLOAD.replace("name: web # short", f"name: '{value}'").replace(
        "packDomain: rack", f"packDomain: '{value}'"
    )
    texts = {
        "topology.yaml": CONFIG,
        "w.yaml": broken,
        "good.yaml": WORKLOAD.replace("replicas: 1", f"# {value}\n  replicas: 1").replace(
            "name: router, image", f"env: [{{name: A, value: '{value}'}}], name: router, image"
        ),
        "kueue.yaml": KUEUE.format(value=value),
        "osmo.yaml": OSMO.format(value=value),
        f"{value.replace('/', '')}/list.yaml": f"'{value}': [",
        "lines.yaml": f"apiVersion: v1\nkind: ConfigMap\ndata:\n  a: |\n    {value}\n  a: |\n{value}\n",
    }
    before = {"topology.yaml": CONFIG, "good.yaml": WORKLOAD, "w.yaml": WORKLOAD.replace("name: web", "name: web2")}
    write(folder / "in", texts)
    write(folder / "before", before)
    write(folder / "nodes", {"nodes.yaml": NODE.format(value=value)})


@pytest.mark.parametrize("value", HOSTILE)
@pytest.mark.parametrize(
    "words", ["check {folder}", "check {folder} -o github", "render {folder} -o out", "migrate {folder}"]
)
def test_no_name_of_a_folder_becomes_a_command(words: str, value: str, call: Call, tmp_path: Path) -> None:
    write(
        tmp_path / value, {"topology.yaml": CONFIG, "w.yaml": WORKLOAD.replace("packDomain: rack", "packDomain: rick")}
    )

    ran = call(*[word.format(folder=value) for word in words.split()])

    own = [line for line in commands_in(ran.stdout) if not line.startswith(("::error ", "::warning ", "::notice "))]
    assert (commands_in(ran.stderr), own) == ([], [])


@pytest.mark.parametrize("value", HOSTILE)
def test_the_function_prints_none_and_its_messages_hold_none(value: str, call: Call) -> None:
    workload = WORKLOAD.replace("packDomain: rack", f"packDomain: '{value}'")
    items = "".join([f"- {text}" for text in (_indented(CONFIG), _indented(workload))])
    listed = f"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n{items}"

    ran = call("fn", stdin=listed)

    messages = [line for line in ran.stdout.splitlines() if "message:" in line]
    assert (ran.code, commands_in(ran.stderr), commands_in("\n".join(messages))) == (1, [], [])
    assert messages


def _indented(text: str) -> str:
    return "\n  ".join(text.splitlines()) + "\n"


def test_findings_are_still_commands_for_github(call: Call, tmp_path: Path) -> None:
    write(tmp_path / "in", {"topology.yaml": CONFIG, "w.yaml": WORKLOAD.replace("rack}", "'##[stop-commands]x'}")})

    ran = call("check", "in", "-o", "github")

    (line,) = commands_in(ran.stdout)
    assert line.startswith("::error file=in/w.yaml,line=10,col=38,title=packwise (")
    assert r"\x23#[stop-commands]x" in line


def test_programs_read_the_same_values(call: Call, tmp_path: Path) -> None:
    value = "##[stop-commands]x"
    write(
        tmp_path / "in", {"topology.yaml": CONFIG, "w.yaml": WORKLOAD.replace("name: web # short", f"name: '{value}'")}
    )

    ran = call("check", "in", "-o", "json")

    assert value in {finding["resource"]["name"] for finding in ran.findings}


def test_a_difference_without_commands_applies(call: Call, tmp_path: Path) -> None:
    """An IPv6 address and a heading in a comment are not commands."""
    text = WORKLOAD.replace("namespace: shop", "namespace: shop\n  ## [a]\n  labels: {a: yes, b: '##'}")
    text = (
        text.replace("spec:\n", "# x\n::1 ip6-localhost\n::\nspec:\n", 1)
        .replace("::1", "# ::1")
        .replace("\n::\n", "\n#::\n")
    )
    write(tmp_path / "in", {"topology.yaml": CONFIG, "w.yaml": text})
    patch = call("check", "in", "--fix", "--diff").stdout
    (tmp_path / "patch").write_text(patch, encoding="utf-8")
    assert '+  labels: {a: "yes"' in patch

    done = subprocess.run(["git", "apply", "patch"], cwd=tmp_path, check=False, capture_output=True)

    assert (done.returncode, done.stderr) == (0, b"")
