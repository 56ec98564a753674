"""`check --force-exclude` excludes a named file if its folder's rules exclude it. pre-commit names changed files."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.cli.calling import CONFIG, WORKLOAD, Call, write

FILES = {
    "topology.yaml": CONFIG,
    "web.yaml": WORKLOAD,
    "charts/web/Chart.yaml": "apiVersion: v2\nname: web\n",
    "charts/web/templates/web.yaml": "a: {{ .Values.a }}\n",
    "charts/web/values.yaml": "a: 1\n",
    "overlay/kustomization.yaml": "patches: [{path: patch.yaml}]\n",
    "overlay/patch.yaml": "apiVersion: grove.io/v1alpha1\nkind: PodCliqueSet\nmetadata: {name: web}\n",
    ".gitignore": "local/\n",
    "local/web.yaml": "a: [\n",
    "foreign.yaml": "a: 1\n",
}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    write(tmp_path / "repo", FILES)
    subprocess.run(["git", "init", "--quiet", tmp_path / "repo"], check=True)
    return tmp_path / "repo"


LEFT_OUT = {
    "charts/web/templates/web.yaml": "Helm template (charts/web/Chart.yaml)",
    "charts/web/values.yaml": "values file (charts/web/Chart.yaml)",
    "overlay/patch.yaml": "patch (overlay/kustomization.yaml)",
    "local/web.yaml": "ignored path (.gitignore)",
    "foreign.yaml": "foreign file",
}


@pytest.mark.parametrize("file", LEFT_OUT)
@pytest.mark.usefixtures("repository")
def test_a_named_file_is_left_out(file: str, call: Call) -> None:
    ran = call("check", f"repo/{file}", "--force-exclude", "-v")

    assert ran.code == 0
    assert f"skipped: repo/{file}: {LEFT_OUT[file]}\n" in ran.stderr


@pytest.mark.usefixtures("repository")
def test_a_workload_is_checked(call: Call) -> None:
    ran = call("check", "repo/web.yaml", "--force-exclude")

    assert ran.code == 0
    assert "1 workload checked with Grove grep-244-multi (" in ran.stderr


@pytest.mark.usefixtures("repository")
def test_a_glob_excludes_it(call: Call) -> None:
    ran = call("check", "repo/web.yaml", "--force-exclude", "--exclude", "web.yaml", "-v")

    assert ran.code == 0
    assert "skipped: repo/web.yaml: excluded path (--exclude)\n" in ran.stderr
