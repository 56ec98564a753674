"""Applications of Argo CD for folders of packwise's plugin, and the ones that must name the plugin."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from tests.cli.calling import CONFIG, WORKLOAD, Call, write

URL = "https://git.example.com/platform/clusters.git"
SOURCE = {"repoURL": URL, "targetRevision": "main", "path": "clusters/west"}
RULE = "argocd-plugin-unnamed"
FOLDERS = {
    "clusters/west/topology.yaml": CONFIG,
    "clusters/west/web.yaml": WORKLOAD,
    "clusters/east/config/topology.yml": CONFIG.replace("name: topology", "name: east"),
    "clusters/east/kustomization.yaml": "resources: []\n",
    "clusters/plain/service.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: a}\n",
}


def application(*sources: Mapping[str, object], **spec: object) -> str:
    found: dict[str, object] = {"source": sources[0]} if len(sources) == 1 else {"sources": list(sources)}
    value = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": {"name": "west"}}
    return yaml.safe_dump({**value, "spec": {"project": "default", **found, **spec}}, sort_keys=False)


def application_set(*generators: object, **fields: object) -> str:
    value = {"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet", "metadata": {"name": "all"}}
    template = {"metadata": {"name": "x"}, "spec": {"source": SOURCE | fields}}
    return yaml.safe_dump({**value, "spec": {"generators": list(generators), "template": template}}, sort_keys=False)


GIT = {"git": {"repoURL": URL, "directories": [{"path": "clusters/*"}]}}
CONFIGURED = {"parameters": [{"name": "config", "string": "config/topology.yml"}]}

UNNAMED: dict[str, tuple[str, str]] = {
    "no plugin": (application(SOURCE), "spec.source"),
    "a plugin without its name": (
        application(SOURCE | {"plugin": {"env": [{"name": "A", "value": "b"}]}}),
        "spec.source",
    ),
    "an empty plugin": (application(SOURCE | {"plugin": None}), "spec.source"),
    "the newest commit": (application({"repoURL": URL, "path": "/clusters/west/"}), "spec.source"),
    "another branch of the same folders": (application(SOURCE | {"targetRevision": "v1.2"}), "spec.source"),
    "a folder above": (application(SOURCE | {"path": "clusters"}), "spec.source"),
    "all of the repository": (application(SOURCE | {"path": "."}), "spec.source"),
    "one of several sources": (application({"repoURL": URL, "ref": "values"}, SOURCE), "spec.sources[1]"),
    "a kustomization whose configuration is a parameter": (
        application(SOURCE | {"path": "clusters/east", "plugin": CONFIGURED}),
        "spec.source",
    ),
    "a set with the path in words": (application_set({"list": {"elements": []}}), "spec.template.spec.source"),
    "a set of a list": (
        application_set({"list": {"elements": [{"at": "plain"}, {"at": "west"}]}}, path="clusters/{{at}}"),
        "spec.template.spec.source",
    ),
    "a set of folders": (application_set(GIT, path="{{.path.path}}"), "spec.template.spec.source"),
    "a set of folders by their names": (
        application_set(GIT, path="clusters/{{ path.basename }}"),
        "spec.template.spec.source",
    ),
}

ELSEWHERE: dict[str, str] = {
    "the plugin by name": application(SOURCE | {"plugin": {"name": "packwise"}}),
    "another plugin": application(SOURCE | {"plugin": {"name": "mine"}}),
    "a folder without a TopologyRender": application(SOURCE | {"path": "clusters/plain"}),
    "a folder that is not there": application(SOURCE | {"path": "clusters/north"}),
    "a folder whose name begins so": application(SOURCE | {"path": "clusters/wes"}),
    "a folder outside": application(SOURCE | {"path": "../clusters/west"}),
    "a kustomization": application(SOURCE | {"path": "clusters/east"}),
    "plain files by name": application(SOURCE | {"directory": {"recurse": True}}),
    "kustomize by name": application(SOURCE | {"kustomize": {"namePrefix": "a-"}}),
    "a chart": application(
        {"repoURL": "https://charts.example.com", "chart": "clusters/west", "targetRevision": "1.0.0"}
    ),
    "a chart in a folder": application(SOURCE | {"helm": {"releaseName": "a"}}),
    "a branch that CI rendered": application(SOURCE | {"targetRevision": "rendered/west", "path": "."}),
    "several sources, all elsewhere": application(
        {"repoURL": URL, "ref": "values"},
        SOURCE | {"plugin": {"name": "packwise"}},
        SOURCE | {"path": "clusters/plain"},
    ),
    "a source beside several": application(
        SOURCE | {"path": "clusters/plain"}, SOURCE | {"path": "clusters/east"}, source=SOURCE
    ),
    "no source": application({}),
    "a path that is none": application(SOURCE | {"path": 3}),
    "a set that names the plugin": application_set(GIT, path="{{path}}", plugin={"name": "packwise"}),
    "a set of other folders": application_set(
        {"git": {"repoURL": URL, "directories": [{"path": "clusters/*"}, {"path": "clusters/west", "exclude": True}]}},
        path="{{path}}",
    ),
    "a set of folders of another repository": application_set(
        {"git": {"repoURL": "https://git.example.com/other.git", "directories": [{"path": "clusters/*"}]}},
        path="{{path}}",
    ),
    "a set of a list without it": application_set({"list": {"elements": [{"at": "plain"}]}}, path="clusters/{{at}}"),
    "a set of what nobody knows": application_set({"clusters": {}}, path="clusters/{{name}}"),
    "a kind of another group": application(SOURCE).replace("argoproj.io/", "app.k8s.io/"),
}


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Make a repository in the current folder."""
    for old in (tmp_path / "in").glob("*"):
        old.unlink()
    write(tmp_path, FOLDERS)
    git(tmp_path, "init", "--quiet")
    return tmp_path


def found(call: Call, *paths: str) -> list[str]:
    """Return the lines of the findings of this rule."""
    return [line for line in call("check", *paths).stdout.splitlines() if RULE in line]


@pytest.mark.parametrize("remote", [URL, None, "/srv/clusters.git"])
@pytest.mark.parametrize("case", UNNAMED)
def test_an_application_leaves_it_to_argo_cd_to_find_the_plugin(
    call: Call, repository: Path, case: str, remote: str | None
) -> None:
    text, field = UNNAMED[case]
    write(repository, {"apps/west.yaml": text})
    if remote is not None:
        git(repository, "remote", "add", "origin", remote)

    (line,) = found(call, ".")

    assert line.startswith("warning: apps/west.yaml:")
    assert f" {field}: the Application must name the plugin, as in plugin: {{name: packwise}}. " in line


@pytest.mark.parametrize("case", ELSEWHERE)
def test_an_application_of_something_else_needs_no_plugin(call: Call, repository: Path, case: str) -> None:
    write(repository, {"apps/west.yaml": ELSEWHERE[case]})

    assert found(call, ".") == []


REMOTES = {
    "git@git.example.com:platform/clusters.git": True,
    "ssh://git@git.example.com:7999/platform/clusters": True,
    "https://token@GIT.example.com/Platform/clusters/": True,
    "https://git.example.com/platform/others.git": False,
    "https://mirror.example.com/platform/clusters.git": False,
}


@pytest.mark.parametrize("remote", REMOTES)
def test_repositories_are_told_apart_by_host_and_path(call: Call, repository: Path, remote: str) -> None:
    write(repository, {"apps/west.yaml": application(SOURCE)})
    git(repository, "remote", "add", "origin", remote)

    assert bool(found(call, ".")) == REMOTES[remote]
    git(repository, "remote", "add", "upstream", URL)
    assert found(call, ".")


def test_folders_without_a_repository_are_one(call: Call, tmp_path: Path) -> None:
    write(tmp_path, {f"export/{path}": text for path, text in FOLDERS.items()})
    write(tmp_path, {"export/apps/west.yaml": application(SOURCE)})

    assert len(found(call, "export")) == 1


def test_the_folder_may_be_named_beside_the_application(call: Call, repository: Path) -> None:
    write(repository, {"apps/west.yaml": application(SOURCE)})

    assert len(found(call, "apps", "clusters/west")) == 1
    assert found(call, "apps") == found(call, "apps", "clusters/plain") == []


def test_doctor_says_it_too(call: Call, repository: Path) -> None:
    write(repository, {"apps/west.yaml": application(SOURCE)})

    text, data = call("doctor", "."), call("doctor", ".", "-o", "json")

    assert (text.code, data.code) == (1, 1)
    (problem,) = json.loads(data.stdout)["problems"]
    assert problem["file"] == "apps/west.yaml"
    assert problem["message"] == (
        "the Application must name the plugin, as in plugin: {name: packwise}. Without it, a search of Argo CD that "
        'times out finds no plugin, and Argo CD applies the files of "clusters/west" without rendering'
    )
    assert f"error: apps/west.yaml: {problem['message']}\n" in text.stdout
