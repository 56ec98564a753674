"""The function of docs/how-to/write-a-function.md works as the page describes, alone and with the clients."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from krmfn import ResourceList
from krmfn.yamltext import read, split_documents
from tests.places import ROOT

PAGE = (ROOT / "docs" / "how-to" / "write-a-function.md").read_text(encoding="utf-8")
FUNCTION, READING = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
DEPLOYMENT, KUSTOMIZATION, KPTFILE, RENDERED = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
WARNING = (
    "{}Deployment web spec.template.spec.containers[0].resources.limits.memory: must be set; took 2Gi [memory-limit]"
)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    script = tmp_path / "limit_memory.py"
    script.write_text(FUNCTION.replace("/usr/bin/env python3", sys.executable))
    script.chmod(0o755)
    for name, text in (("deployment.yaml", DEPLOYMENT), ("kustomization.yaml", KUSTOMIZATION), ("Kptfile", KPTFILE)):
        (tmp_path / name).write_text(text)
    return tmp_path


def run(package: Path, client: Path, command: str) -> subprocess.CompletedProcess[str]:
    """Run a command as the page spells it."""
    found = re.search(rf"^    {client.name} (.*)$", PAGE, re.MULTILINE)
    assert found is not None
    assert found[1].startswith(command)
    return subprocess.run([client, *found[1].split()], cwd=package, capture_output=True, text=True, check=False)


def test_the_function_is_short() -> None:
    assert len([line for line in FUNCTION.split("\n") if line]) <= 25


def test_as_a_process(package: Path) -> None:
    item = DEPLOYMENT.replace("\n", "\n  ").rstrip(" ")
    config = "functionConfig: {apiVersion: v1, kind: ConfigMap, data: {memory: 2Gi}}\n"
    text = f"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- {item}{config}"

    ran = subprocess.run([package / "limit_memory.py"], input=text, capture_output=True, text=True, check=False)

    assert (ran.returncode, ran.stderr) == (0, WARNING.format("warning: <stdin>:12:11: ") + "\n")
    first, report = ResourceList.parse(ran.stdout).items
    assert first.text == RENDERED
    assert (report.path, report.get("data")) == ("memory.yaml", {"set": "1"})


@pytest.mark.client
def test_under_kustomize(package: Path, kustomize: Path) -> None:
    ran = run(package, kustomize, "build")

    assert ran.returncode == 0, ran.stderr
    report, deployment = (read(document.text) for document in split_documents(ran.stdout))
    assert deployment == read(RENDERED)
    assert report == {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "memory"}, "data": {"set": "1"}}


@pytest.mark.client
def test_a_label_takes_an_object_out_under_kustomize(package: Path, kustomize: Path) -> None:
    (package / "deployment.yaml").write_text(
        DEPLOYMENT.replace("name: web\n", "name: web\n  labels: {unlimited: ''}\n")
    )

    assert "memory: 2Gi" not in run(package, kustomize, "build").stdout


@pytest.mark.client
def test_under_kpt(package: Path, kpt: Path) -> None:
    (package / "kustomization.yaml").unlink()

    first = run(package, kpt, "fn render")
    files = {path.name: path.read_bytes() for path in package.iterdir()}
    again = run(package, kpt, "fn render")

    assert (first.returncode, again.returncode) == (0, 0), first.stderr
    assert files["deployment.yaml"].decode() == RENDERED
    assert read(files["memory.yaml"].decode()) is not None
    assert {path.name: path.read_bytes() for path in package.iterdir()} == {
        **files,
        "memory.yaml": files["memory.yaml"].replace(b'"1"', b'"0"').replace(b"'1'", b"'0'"),
    }


def test_reading(tmp_path: Path) -> None:
    (tmp_path / "reading.py").write_text(READING)

    assert subprocess.run([sys.executable, "reading.py"], cwd=tmp_path, check=False).returncode == 0
