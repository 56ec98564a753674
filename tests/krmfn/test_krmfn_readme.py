"""The README's function works as the README describes, in a separate process."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import krmfn
from krmfn import ResourceList, format_path
from krmfn.yamltext import read

FOLDER = Path(str(krmfn.__file__)).parent
README = (FOLDER / "README.md").read_text(encoding="utf-8")
CODE, TEST_CODE = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
KUSTOMIZATION, KPTFILE, CONFIG_MAP = re.findall(r"```yaml\n(.*?)```", README, re.DOTALL)
MANIFEST = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a # mine\ndata: {b: 'c'}\n"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    script = tmp_path / "add_owner.py"
    script.write_text(CODE.replace("/usr/bin/env python3", sys.executable))
    script.chmod(0o755)
    (tmp_path / "configmap.yaml").write_text(MANIFEST)
    (tmp_path / "kustomization.yaml").write_text(KUSTOMIZATION)
    (tmp_path / "Kptfile").write_text(KPTFILE)
    return tmp_path


def command(after: str) -> list[str]:
    found = re.search(rf"^    ({after} .*)$", README, re.MULTILINE)
    assert found is not None
    return found[1].split()


def test_is_short() -> None:
    assert len([line for line in CODE.split("\n") if line]) <= 15


def test_as_a_process(package: Path) -> None:
    config = read(KPTFILE)
    assert isinstance(config, dict)
    text = (
        "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- kind: A # a\n  metadata: {name: n}\n"
        "functionConfig: {apiVersion: v1, kind: ConfigMap, data: {owner: '12'}}\n"
    )
    ran = subprocess.run([str(package / "add_owner.py")], input=text.encode(), capture_output=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert ran.stdout.decode() == text.replace("{name: n}", '{name: n, annotations: {example.dev/owner: "12"}}')
    assert ResourceList.parse(ran.stdout).items[0].annotations == {"example.dev/owner": "12"}


@pytest.mark.client
def test_under_kustomize(package: Path, kustomize: Path) -> None:
    _, *flags = command("kustomize build")
    ran = subprocess.run([str(kustomize), *flags], cwd=package, capture_output=True, text=True, check=False)
    assert (ran.stderr, ran.returncode) == ("", 0)
    assert ran.stdout == (
        "apiVersion: v1\ndata:\n  b: c\nkind: ConfigMap\nmetadata:\n  annotations:\n"
        "    example.dev/owner: team-a\n  name: a\n"
    )


@pytest.mark.client
def test_under_kpt(package: Path, kpt: Path) -> None:
    shutil.move(package / "kustomization.yaml", package / "add_owner.txt")
    _, *arguments = command("kpt fn render")
    ran = subprocess.run([str(kpt), *arguments], cwd=package, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert (package / "configmap.yaml").read_text() == MANIFEST.replace(
        "  name: a # mine\n", "  name: a # mine\n  annotations:\n    example.dev/owner: team-a\n"
    )


@pytest.mark.slow
def test_the_tests_of_the_function(package: Path) -> None:
    case = package / "tests" / "cases" / "adds-an-owner"
    case.mkdir(parents=True)
    (case / "a.yaml").write_text(MANIFEST)
    (case / "_fnconfig.yaml").write_text("apiVersion: v1\nkind: ConfigMap\ndata: {owner: me}\n")
    (case / "_stderr.txt").write_text("")
    (package / "conftest.py").write_text("from krmfn.testing import pytest_addoption as pytest_addoption\n")
    (package / "test_cases.py").write_text(TEST_CODE)

    def pytest_run(*flags: str) -> int:
        command = [sys.executable, "-m", "pytest", "-q", "-c", "/dev/null", "--rootdir", ".", *flags, "test_cases.py"]
        return subprocess.run(command, cwd=package, capture_output=True, check=False).returncode

    assert (pytest_run(), pytest_run("--update"), pytest_run()) == (1, 0, 0)
    assert b"example.dev/owner: me" in (case / "_expected.yaml").read_bytes()


def test_the_config_map_is_as_described() -> None:
    from pydantic import BaseModel

    from krmfn import KubeObject, load_config

    class Config(BaseModel, extra="forbid"):
        owner: str
        replicas: int
        kinds: tuple[str, ...]
        limits: dict[str, int | str]

    config = load_config(KubeObject.parse(CONFIG_MAP), Config)
    assert config == Config(
        owner="team-a", replicas=3, kinds=("Deployment", "StatefulSet"), limits={"cpu": 2, "memory": "1Gi"}
    )
    assert format_path(("metadata", "annotations", "example.dev/owner")) in README
