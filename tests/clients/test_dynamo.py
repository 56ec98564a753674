"""A DynamoGraphDeployment through the clients. They apply the graph, but not the preview of the operator's objects."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from packwise.cli.command_line import main
from tests.clients.running import files_of, run
from tests.places import ROOT

pytestmark = pytest.mark.client

EXAMPLE = ROOT / "examples" / "dynamo-graph"
PREVIEWS = ["PodCliqueSet", "PodGang", "PodGang"]


def kinds(manifests: str) -> list[str]:
    return sorted(value["kind"] for value in yaml.safe_load_all(manifests) if value)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Return a copy of the example."""
    return Path(shutil.copytree(EXAMPLE, tmp_path / "llm"))


def with_tool(package: Path, tool: str) -> None:
    """Request the annotations and the layout for a GitOps tool."""
    path = package / "topology.yaml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("  dynamo:\n", f"  gitops: [{tool}]\n  dynamo:\n"), encoding="utf-8")


def test_kustomize_builds_the_graph_and_leaves_the_previews_out(package: Path, kustomize: Path, packwise: Path) -> None:
    configuration, binding = (package / "topology.yaml").read_text(encoding="utf-8").split("---\n")
    local = '    config.kubernetes.io/local-config: "true"\n'
    function = "    config.kubernetes.io/function: |\n      exec: {path: packwise, args: [fn]}\n"
    (package / "function.yaml").write_text(configuration.replace(local, function), encoding="utf-8")
    (package / "topology.yaml").write_text(binding, encoding="utf-8")
    (package / "kustomization.yaml").write_text(
        "resources: [topology.yaml, llm.yaml]\ntransformers: [function.yaml]\n", encoding="utf-8"
    )

    built = run(
        [kustomize, "build", "--enable-alpha-plugins", "--enable-exec", package], cwd=package, packwise=packwise
    )

    assert built.code == 0, built.stderr
    assert kinds(built.stdout) == ["ClusterTopologyBinding", "DynamoGraphDeployment"]


def test_kpt_writes_the_previews_for_review_alone(package: Path, kpt: Path, packwise: Path) -> None:
    command = [kpt, "fn", "eval", package, "--exec", f"{packwise} fn"]

    evaluated = run(command, cwd=package.parent, packwise=packwise)

    assert evaluated.code == 0, evaluated.stderr
    before = files_of(package)
    generated = [text for name, text in before.items() if name.startswith("packwise/workloads/")]
    assert sorted(kind for text in generated for kind in kinds(text)) == PREVIEWS
    assert all('config.kubernetes.io/local-config: "true"' in text for text in generated)
    again = run(command, cwd=package.parent, packwise=packwise)
    assert (again.code, files_of(package)) == (0, before)


def test_argo_cd_gets_the_graph_and_no_preview(package: Path, packwise: Path, kustomize: Path, tmp_path: Path) -> None:
    with_tool(package, "argocd")
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "packwise-argocd").symlink_to(ROOT / "argocd-plugin" / "generate.sh")
    plugin = yaml.safe_load((ROOT / "argocd-plugin" / "plugin.yaml").read_text(encoding="utf-8"))
    path = os.pathsep.join([str(programs), str(packwise.parent), str(kustomize.parent), os.environ["PATH"]])

    done = subprocess.run(
        plugin["spec"]["generate"]["command"],
        cwd=package,
        env={**os.environ, "PATH": path, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert done.returncode == 0, done.stderr
    assert kinds(done.stdout) == ["ClusterTopologyBinding", "DynamoGraphDeployment"]


def test_flux_finds_the_graph_among_the_workloads_and_the_previews_nowhere(package: Path, tmp_path: Path) -> None:
    with_tool(package, "flux")
    output = tmp_path / "rendered"

    assert main(["render", str(package), "-o", str(output)]) == 0

    files = files_of(output)
    assert [name for name in files if name.startswith("workloads/")] == ["workloads/llm.yaml"]
    assert [name for name in files if name.startswith("topologies/")] == ["topologies/topology.yaml"]
    assert sorted(name for name in files if name.startswith("local/packwise/workloads/")) == [
        "local/packwise/workloads/serving/podcliqueset-llm.yaml",
        "local/packwise/workloads/serving/podgang-llm-0_anchor.yaml",
        "local/packwise/workloads/serving/podgang-llm-0_decode-1.yaml",
    ]
