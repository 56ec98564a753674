"""Links of a repository are followed within it, except by Flux, and refused if they lead out of it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from packwise.build.links import LinkedTree
from packwise.build.tree import CommitTree, DiskTree
from packwise.inputs.git import Commit
from tests.builds.planning import CHART, HELM_RELEASE, URL, application
from tests.cli.calling import CONFIG, WORKLOAD, Call, write

LINKS = {
    "a/file.yaml": "../shared/values.yaml",
    "a/folder": "../shared",
    "a/again.yaml": "file.yaml",
    "a/itself": "..",
    "a/hidden.yaml": "../.hidden/x.yaml",
    "a/round": "round",
    "a/nowhere": "../absent",
    "a/outside": "../../outside",
}
FOLLOWED = {
    "a/again.yaml": "shared/values.yaml",
    "a/file.yaml": "shared/values.yaml",
    "a/folder/in/deep.yaml": "shared/in/deep.yaml",
    "a/folder/values.yaml": "shared/values.yaml",
    "a/itself/a/own.yaml": "a/own.yaml",
    "a/itself/shared/in/deep.yaml": "shared/in/deep.yaml",
    "a/itself/shared/values.yaml": "shared/values.yaml",
}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Return a checked-out commit of files and links."""
    top = tmp_path / "top"
    (tmp_path / "outside").mkdir()
    write(top, {path: path for path in ("shared/values.yaml", "shared/in/deep.yaml", "a/own.yaml", ".hidden/x.yaml")})
    for path, target in LINKS.items():
        (top / path).symlink_to(target)
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-C", str(top)]
    for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-qm", "x"]):
        subprocess.run([*git, *words], check=True)
    return top


@pytest.mark.parametrize("kind", ["disk", "commit"])
def test_files_behind_links_are_files(repository: Path, kind: str) -> None:
    commit, disk = Commit("HEAD", str(repository)), DiskTree(str(repository), "")
    tree = LinkedTree(disk if kind == "disk" else CommitTree(commit, "", disk))

    files = {path: tree.read(path).decode() for path in tree.files_below("a")}
    commit.close()

    assert files == FOLLOWED | {"a/own.yaml": "a/own.yaml"}
    assert all(tree.is_file(path) for path in FOLLOWED)
    assert [tree.is_folder(path) for path in ("a/folder", "a/folder/in", "a/nowhere")] == [True, True, False]
    assert tree.outside == ["a/hidden.yaml", "a/nowhere", "a/outside", "a/round"]
    assert tree.with_targets(["a/file.yaml", "a/own.yaml"]) == {"a/file.yaml", "shared/values.yaml", "a/own.yaml"}


@pytest.mark.parametrize("target", ["../shared/web.yaml", "../../elsewhere.yaml"])
def test_a_linked_manifest_is_delivered_and_one_outside_is_refused(call: Call, tmp_path: Path, target: str) -> None:
    workload = WORKLOAD.replace("  namespace: shop\n", "").replace("packDomain: rack", "packDomain: rak")
    write(tmp_path, {"topology.yaml": CONFIG, "shared/web.yaml": workload, "app.yaml": application({"path": "llm"})})
    (tmp_path / ".git").mkdir()
    (tmp_path / "llm").mkdir()
    (tmp_path / "llm/web.yaml").symlink_to(target)
    (tmp_path / "llm/more.yaml").write_text("{}\n", encoding="utf-8")

    ran = call("check", ".", "--build")

    errors = [line for line in ran.stdout.splitlines() if line.startswith("error: ")]
    if "shared" in target:
        assert [line.partition(" spec.")[0] for line in errors] == ["error: llm/web.yaml:9:38: PodCliqueSet team-a/web"]
    else:
        assert errors[0].startswith(
            "error: app.yaml:11:5: Application argocd/llm spec.source: packwise cannot build it: "
        )
        assert "llm/web.yaml is a link that leads out of the repository" in errors[0]


@pytest.mark.parametrize("entry", ["/values/a.yaml", "/values/*.yaml"])
def test_values_behind_a_link_that_leads_out_are_refused(call: Call, tmp_path: Path, entry: str) -> None:
    helm = {"valueFiles": [entry], "ignoreMissingValueFiles": True}
    write(tmp_path, CHART | {"apps/llm.yaml": application({"helm": helm}), "topology.yaml": CONFIG})
    (tmp_path / ".git").mkdir()
    (tmp_path / "values").mkdir()
    (tmp_path / "values/a.yaml").symlink_to("../../elsewhere.yaml")

    ran = call("check", ".", "--build")

    (error,) = [line for line in ran.stdout.splitlines() if line.startswith("error: ")]
    assert error.startswith(
        "error: apps/llm.yaml:15:9: Application argocd/llm spec.source.helm.valueFiles[0]: packwise cannot"
    )
    assert error.endswith("link that leads out of the repository [source-build]")


@pytest.mark.client
def test_values_behind_a_link_count_except_under_flux(
    call: Call, tmp_path: Path, helm: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(helm.parent), prepend=":")
    template = WORKLOAD.replace("name: web # short", "name: {{ .Release.Name }}").replace("  namespace: shop\n", "")
    files = {
        "topology.yaml": CONFIG,
        "shared/values.yaml": "domain: rak\n",
        "charts/llm/Chart.yaml": "apiVersion: v2\nname: llm\nversion: 0.1.0\n",
        "charts/llm/templates/pcs.yaml": template.replace("rack", '{{ .Values.domain | default "rick" }}'),
        "apps/llm.yaml": application({}),
        "flux/release.yaml": HELM_RELEASE,
    }
    write(tmp_path, files)
    (tmp_path / "charts/llm/values.yaml").symlink_to("../../shared/values.yaml")
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    subprocess.run(["git", "-C", str(tmp_path), "remote", "add", "origin", URL], check=True)

    ran = call("check", ".", "--build")

    assert 'got "rak"; did you mean "rack"?; built by Application argocd/llm' in ran.stdout
    assert 'got "rick"; did you mean "rack"?; built by HelmRelease flux-system/release' in ran.stdout
