"""Applications: their values, names and files. Each rule is tested with and without its condition."""

from __future__ import annotations

from typing import Any

import pytest

from packwise.build.sources import ChartSource, Delivery, DirectorySource, KustomizationSource
from tests.builds.planning import CHART, URL, application, chart, layers, planned, refusal

FILES = CHART | {"charts/llm/one.yaml": "", "charts/llm/two.yaml": "", "shared/top.yaml": ""}

VALUES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "the chart's own": ({}, []),
    "files in their order": ({"valueFiles": ["two.yaml", "one.yaml"]}, ["charts/llm/two.yaml", "charts/llm/one.yaml"]),
    "inline after files": ({"valueFiles": ["one.yaml"], "values": "a: 2"}, ["charts/llm/one.yaml", "a: 2"]),
    "an object in the place of text": ({"values": "a: 2", "valuesObject": {"b": 3}}, ['{"b": 3}']),
    "text beside an empty object": ({"values": "a: 2", "valuesObject": {}}, ["a: 2"]),
    "parameters last": (
        {"values": "a: 2", "parameters": [{"name": "a", "value": "3"}]},
        ["a: 2", "--set a=3"],
    ),
    "forced text after others": (
        {
            "parameters": [
                {"name": "a", "value": "3", "forceString": True},
                {"name": "a", "value": "4"},
            ]
        },
        ["--set a=4", "--set-string a=3"],
    ),
    "commas are text": ({"parameters": [{"name": "a", "value": "x,y"}]}, [r"--set a=x\,y"]),
    "commas of a list are not": ({"parameters": [{"name": "a", "value": "{x,y}"}]}, ["--set a={x,y}"]),
    "from the top": ({"valueFiles": ["/shared/top.yaml"]}, ["shared/top.yaml"]),
    "from the chart": ({"valueFiles": ["../../shared/top.yaml"]}, ["shared/top.yaml"]),
    "a missing one that may be missing": (
        {"valueFiles": ["none.yaml", "one.yaml"], "ignoreMissingValueFiles": True},
        ["charts/llm/one.yaml"],
    ),
    "other variables are empty": (
        {"parameters": [{"name": "a", "value": "x$HOME-${USER}-$$"}, {"name": "b", "value": "$ARGOCD_APP_NAME"}]},
        ["--set a=x--$", "--set b=llm"],
    ),
    "build variables": ({"valueFiles": ["$ARGOCD_APP_NAME.yaml"], "ignoreMissingValueFiles": True}, []),
}


@pytest.mark.parametrize("name", VALUES)
def test_values_rank_as_in_argo_cd(name: str) -> None:
    helm, expected = VALUES[name]

    source = chart(FILES | {"apps/a.yaml": application({"helm": helm})})

    assert layers(source) == expected


def test_globs_of_values_are_in_lexical_order_and_leave_named_files_at_their_place() -> None:
    files = CHART | {f"charts/llm/env/{name}.yaml": "" for name in ("10", "9", "base")}
    helm = {"valueFiles": ["env/base.yaml", "env/*.yaml"]}

    source = chart(files | {"apps/a.yaml": application({"helm": helm})})

    assert layers(source) == [f"charts/llm/env/{name}.yaml" for name in ("base", "10", "9")]


REFUSED: dict[str, tuple[dict[str, Any], tuple[str, str, bool]]] = {
    "a missing values file": (
        {"helm": {"valueFiles": ["none.yaml"]}},
        ("MISSING_VALUES", 'values file "charts/llm/none.yaml" does not exist', True),
    ),
    "a glob without a match": (
        {"helm": {"valueFiles": ["none-*.yaml"]}},
        ("MISSING_VALUES", '"none-*.yaml" matches no file', True),
    ),
    "values outside": (
        {"helm": {"valueFiles": ["../../../x.yaml"]}},
        ("FAILED", '"../../../x.yaml" leads out of the repository', True),
    ),
    "remote values": (
        {"helm": {"valueFiles": ["https://example.com/x.yaml"]}},
        ("REMOTE_SOURCE", "values of https://example.com/x.yaml are remote, and packwise fetches nothing", False),
    ),
    "a remote chart": (
        {"chart": "redis", "repoURL": "https://charts.example.com"},
        ("REMOTE_CHART", "chart redis of https://charts.example.com is remote, and packwise fetches nothing", False),
    ),
    "another repository": (
        {"repoURL": "https://git.example.com/acme/other"},
        (
            "REMOTE_SOURCE",
            "https://git.example.com/acme/other is another repository, and packwise fetches nothing",
            False,
        ),
    ),
    "no repository": ({"repoURL": ""}, ("FAILED", "the source has no URL of a repository", True)),
    "no such path": (
        {"path": "charts/none"},
        ("FAILED", 'path "charts/none" does not exist in the repository', True),
    ),
    "a plugin": ({"plugin": {"name": "x"}}, ("UNSUPPORTED", "a config management plugin is not supported", False)),
    "two types": (
        {"helm": {}, "kustomize": {}},
        ("FAILED", "a source must have one type; this source has helm and kustomize", True),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_built_says_why(name: str) -> None:
    source, expected = REFUSED[name]

    assert refusal(FILES | {"apps/a.yaml": application(source)}) == expected


@pytest.mark.parametrize(
    ("source", "release", "namespace"),
    [
        ({}, "llm", "team-a"),
        ({"helm": {"releaseName": "other"}}, "other", "team-a"),
        ({"helm": {"namespace": "own"}}, "llm", "own"),
    ],
)
def test_names_of_a_release(source: dict[str, Any], release: str, namespace: str) -> None:
    built = chart(FILES | {"apps/a.yaml": application(source)})

    assert (built.release, built.namespace) == (release, namespace)


@pytest.mark.parametrize(
    "url",
    [
        "git@git.example.com:acme/gitops",
        "ssh://git@git.example.com/acme/gitops.git",
        "https://user@git.example.com/acme/gitops/",
        "https://GIT.example.com/acme/gitops.git",
    ],
)
def test_a_repository_has_one_address_however_it_is_spelt(url: str) -> None:
    assert chart(FILES | {"apps/a.yaml": application({"repoURL": url})}).folder == "charts/llm"


def test_without_a_remote_a_path_that_exists_is_of_this_repository() -> None:
    (delivery,) = planned(FILES | {"apps/a.yaml": application({})}, remotes=())

    assert delivery.notes == ((f"assumed that {URL} is this repository, because the repository has no remote"),)  # pyright: ignore


@pytest.mark.parametrize(
    ("revision", "notes"),
    [("HEAD", ()), ("main", ()), ("v1.2", ('built the files of the checkout instead of the revision "v1.2"',))],
)
def test_another_revision_is_noted(revision: str, notes: tuple[str, ...]) -> None:
    (delivery,) = planned(FILES | {"apps/a.yaml": application({"targetRevision": revision})})

    assert delivery.notes == notes  # pyright: ignore


def test_several_sources_count_before_one_and_a_reference_delivers_nothing() -> None:
    sources = [
        {"repoURL": URL, "ref": "values"},
        {"repoURL": URL, "path": "charts/llm", "helm": {"valueFiles": ["$values/shared/top.yaml"]}},
    ]

    source = chart(FILES | {"apps/a.yaml": application({"path": "none"}, sources=sources)})

    assert layers(source) == ["shared/top.yaml"]


def test_a_hydrator_delivers_its_dry_source() -> None:
    dry = {"repoURL": URL, "path": "charts/llm", "targetRevision": "main", "helm": {"releaseName": "dry"}}
    hydrator = {"drySource": dry, "syncSource": {"targetBranch": "env", "path": "env"}}
    files = CHART | {"apps/a.yaml": application({"path": "absent"}, sourceHydrator=hydrator)}

    (delivery,) = planned(files)

    assert isinstance(delivery, Delivery)
    assert isinstance(delivery.source, ChartSource)
    assert (delivery.source.release, delivery.path) == ("dry", ("spec", "sourceHydrator", "drySource"))


def test_a_reference_is_the_root_of_the_repository_even_with_a_path() -> None:
    sources = [
        {"repoURL": URL, "path": "plain", "ref": "values"},
        {"repoURL": URL, "path": "charts/llm", "helm": {"valueFiles": ["$values/shared/top.yaml"]}},
    ]

    delivered = planned(FILES | {"apps/a.yaml": application({}, sources=sources), "plain/a.yaml": "kind: A\n"})

    assert [each.source.folder for each in delivered if isinstance(each, Delivery)] == ["plain", "charts/llm"]


@pytest.mark.parametrize(
    ("override", "release"),
    [
        ({}, "llm"),
        ({".argocd-source.yaml": "helm: {releaseName: all}\n"}, "all"),
        (
            {
                ".argocd-source.yaml": "helm: {releaseName: all}\n",
                ".argocd-source-llm.yaml": "helm: {releaseName: x}\n",
            },
            "x",
        ),
        ({".argocd-source-other.yaml": "helm: {releaseName: x}\n"}, "llm"),
    ],
)
def test_overrides_in_the_folder_of_the_source(override: dict[str, str], release: str) -> None:
    files = {f"charts/llm/{name}": content for name, content in override.items()}

    assert chart(FILES | files | {"apps/a.yaml": application({})}).release == release


def test_the_type_of_a_source() -> None:
    def kind(files: dict[str, str], **source: Any) -> str:
        (delivery,) = planned({"apps/a.yaml": application({"path": "x", **source}), **files})
        assert isinstance(delivery, Delivery)
        return type(delivery.source).__name__

    both = {"x/Chart.yaml": "name: x\n", "x/kustomization.yaml": "resources: []\n"}
    assert kind(both) == "KustomizationSource"
    assert kind(both, helm={"releaseName": "x"}) == "ChartSource"
    assert kind({"x/Chart.yaml": "name: x\n"}) == "ChartSource"
    assert kind({"x/kustomization.yaml": "resources: []\n"}) == "KustomizationSource"
    assert kind({"x/a.yaml": "kind: A\n"}) == "DirectorySource"
    assert kind(both, directory={}) == "DirectorySource"


DIRECTORY = {
    "x/a.yaml": "",
    "x/b.json": "",
    "x/c.txt": "",
    "x/skip.yaml": "# +argocd:skip-file-rendering\n",
    "x/in/d.yaml": "",
}


@pytest.mark.parametrize(
    ("directory", "files"),
    [
        ({}, ("x/a.yaml", "x/b.json")),
        ({"recurse": True}, ("x/a.yaml", "x/b.json", "x/in/d.yaml")),
        ({"recurse": True, "include": "*.yaml"}, ("x/a.yaml", "x/in/d.yaml")),
        ({"recurse": True, "exclude": "in/*"}, ("x/a.yaml", "x/b.json")),
        ({"include": "{a,b}.*", "exclude": "b*"}, ("x/a.yaml",)),
    ],
)
def test_the_files_of_a_directory(directory: dict[str, Any], files: tuple[str, ...]) -> None:
    (delivery,) = planned(DIRECTORY | {"apps/a.yaml": application({"path": "x", "directory": directory})})

    assert isinstance(delivery, Delivery)
    assert isinstance(delivery.source, DirectorySource)
    assert delivery.source.files == files


KUSTOMIZE: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "prefix and namespace": ({"namePrefix": "a-", "namespace": "b"}, {"namePrefix": "a-", "namespace": "b"}),
    "an image by its name": ({"images": ["old=new:1"]}, {"images": [{"name": "old", "newName": "new", "newTag": "1"}]}),
    "a tag alone": ({"images": ["x:2"]}, {"images": [{"name": "x", "newTag": "2"}]}),
    "replicas": ({"replicas": [{"name": "a", "count": "3"}]}, {"replicas": [{"name": "a", "count": 3}]}),
    "patches after its own": (
        {"patches": [{"patch": "b"}]},
        {"patches": [{"patch": "a"}, {"patch": "b"}]},
    ),
    "labels": ({"commonLabels": {"a": "b"}}, {"commonLabels": {"a": "b"}}),
    "labels beside selectors": (
        {"commonLabels": {"a": "b"}, "labelWithoutSelector": True},
        {"labels": [{"pairs": {"a": "b"}}]},
    ),
}


@pytest.mark.parametrize("name", KUSTOMIZE)
def test_options_of_kustomize(name: str) -> None:
    options, expected = KUSTOMIZE[name]
    own: dict[str, Any] = {"resources": [], **({"patches": [{"patch": "a"}]} if "patches" in options else {})}

    (delivery,) = planned({"x/kustomization.yaml": "", "apps/a.yaml": application({"path": "x", "kustomize": options})})

    assert isinstance(delivery, Delivery)
    assert isinstance(delivery.source, KustomizationSource)
    assert delivery.source.change is not None
    assert delivery.source.change(own) == {**own, **expected}


def test_charts_of_kustomizations_are_built_where_argo_cd_is_told_to() -> None:
    enabled = (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: argocd-cm}\ndata: {kustomize.buildOptions: --enable-helm}\n"
    )
    files = {"x/kustomization.yaml": "", "apps/a.yaml": application({"path": "x"})}

    def helm(more: dict[str, str]) -> bool:
        (delivery,) = planned(files | more)
        assert isinstance(delivery, Delivery)
        assert isinstance(delivery.source, KustomizationSource)
        return delivery.source.helm

    assert not helm({})
    assert helm({"argocd/cm.yaml": enabled})
