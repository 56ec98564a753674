"""An unreadable file of another tool is an error, but every command still reads the other files."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.calling import Call
from tests.places import ROOT

BROKEN = "kind: [\n"
ADVICE = "if the file belongs to another tool, pass --exclude GLOB [readable]"
COMMANDS = {
    "check .": "1 workload checked",
    "explain .": "PodCliqueSet inference/llm",
    "topologies .": "grove-topology  inference/llm",
    "place . --nodes nodes.json": "4 of 5 gangs fit",
    "place . --nodes nodes.json --baseline git:HEAD": "4 of 5 gangs fit",
    "report . --nodes nodes.json -o drawn.svg": "4 of 5 gangs fit",
    "diff git:HEAD .": "PodGang",
    "diff . git:HEAD": "PodGang",
    "comment . --baseline git:HEAD --nodes nodes.json": "4 of 5 gangs fit",
    "check . --baseline git:HEAD": "1 workload checked",
    "migrate . --to v0.1.0-alpha.9 --dry-run": "+      topologyName: grove-topology",
    "migrate . --to v0.1.0-alpha.9": "migrated inference.yaml",
}


FOREIGN = {
    "events.json": '{"a": 1}\n{"a": 2}\n',
    "run.json": '2026-01-01T00:00:00Z INFO start {"a": 1}\n2026-01-01T00:00:01Z INFO: b: c: d\n',
    "user-data.tftpl.yaml": "#cloud-config\na: |\n  ${indent(4, file)}\n%{ if gpu }\nruncmd: [a]\n%{ endif }\n",
    "kustomization.yaml": "kind: Kustomization\nresources: [a.yaml]\nresources: [inference.yaml]\n",
}
MANIFESTS = {
    "cut-off.json": '{"apiVersion": "v1", "kind": "Pod", "metadata": {',
    "twice.yaml": "apiVersion: v1\nkind: Pod\nkind: Pod\n",
    "two.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n---\na: [\n",
    "kustomization.yaml": "kind: Kustomization\nresources: [a.yaml\n",
}


@pytest.mark.parametrize("name", FOREIGN)
def test_a_file_that_no_one_means_as_a_manifest_is_left_out(call: Call, tmp_path: Path, name: str) -> None:
    shutil.copytree(ROOT / "examples/disaggregated-inference", tmp_path, dirs_exist_ok=True)
    (tmp_path / name).write_text(FOREIGN[name], encoding="utf-8")

    ran = call("check", ".", "-v")

    assert ran.code == 0
    assert "1 workload checked" in ran.stderr
    assert f"skipped: {name}: " in ran.stderr


@pytest.mark.parametrize("name", MANIFESTS)
def test_a_broken_manifest_is_an_error(call: Call, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(MANIFESTS[name], encoding="utf-8")

    ran = call("check", ".")

    assert ran.code == 1
    assert "[readable]" in ran.stdout


def test_of_two_equal_keys_of_a_kustomization_the_last_one_counts(call: Call, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples/disaggregated-inference", tmp_path, dirs_exist_ok=True)
    text = (tmp_path / "inference.yaml").read_text(encoding="utf-8")
    (tmp_path / "patch.yaml").write_text(text, encoding="utf-8")
    twice = "patches: [{path: inference.yaml}]\npatches: [{path: patch.yaml}]\n"
    (tmp_path / "kustomization.yaml").write_text(twice, encoding="utf-8")

    ran = call("check", ".", "-v")

    assert ran.code == 0
    assert "skipped: patch.yaml: patch (kustomization.yaml)" in ran.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a package with a change since its commit, and a file of another tool in both."""
    shutil.copytree(ROOT / "examples/disaggregated-inference", tmp_path, dirs_exist_ok=True)
    (tmp_path / "nodes.json").write_bytes((ROOT / "examples/nodes.yaml").read_bytes())
    (tmp_path / "foreign.yaml").write_text(BROKEN, encoding="utf-8")
    for words in (["init", "-q"], ["add", "-A"], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    workload = tmp_path / "inference.yaml"
    workload.write_text(workload.read_text(encoding="utf-8").replace("replicas: 2", "replicas: 3"), "utf-8")
    return tmp_path


@pytest.mark.parametrize("words", COMMANDS)
def test_the_rest_is_answered(words: str, call: Call, folder: Path) -> None:
    ran = call(*words.split())

    assert ran.code == 1
    assert ADVICE in ran.stderr + ran.stdout
    drawn = folder / "drawn.svg"
    assert COMMANDS[words] in ran.stdout + ran.stderr + (drawn.read_text(encoding="utf-8") if drawn.exists() else "")


@pytest.mark.parametrize(
    "words",
    [
        "place foreign.yaml . --nodes nodes.json",
        "diff foreign.yaml .",
        "diff git:HEAD:foreign.yaml .",
        "migrate foreign.yaml . --to v0.1.0-alpha.9",
    ],
)
def test_a_file_that_is_named_itself_must_be_readable(words: str, call: Call, folder: Path) -> None:
    before = (folder / "inference.yaml").read_text(encoding="utf-8")

    ran = call(*words.split())

    assert ran.code == 1
    assert "PodGang" not in ran.stdout
    assert "gangs fit" not in ran.stdout
    assert (folder / "inference.yaml").read_text(encoding="utf-8") == before


@pytest.mark.parametrize("command", ["place . --nodes nodes.json", "diff git:HEAD .", "migrate . --to v0.1.0-alpha.9"])
def test_a_workload_that_cannot_be_read_is_no_foreign_file(command: str, call: Call, folder: Path) -> None:
    (folder / "foreign.yaml").write_text("apiVersion: grove.io/v1alpha1\nkind: PodCliqueSet\nmetadata: {\n", "utf-8")

    ran = call(*command.split())

    assert ran.code == 1
    assert "gangs fit" not in ran.stdout
    assert "migrated" not in ran.stderr
