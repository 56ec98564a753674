"""Owners with values of any type get an answer without a traceback."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any, cast

import pytest
import yaml

from packwise.build.sources import Delivery, KustomizationSource, SourceError
from packwise.build.substitution import SubstitutionError, substitute
from tests.builds.planning import CHART, URL, application, planned

ODD: tuple[Any, ...] = (None, 5, "x", "../../..", [], {}, [5], [{}], {"a": 5}, True)

_REFERENCE = {"kind": "GitRepository", "name": "r"}
OWNERS: dict[str, Any] = {
    "Application": yaml.safe_load(
        application(
            {
                "helm": {
                    "valueFiles": ["a*.yaml"],
                    "parameters": [{"name": "a", "value": "b"}],
                    "fileParameters": [{"name": "a", "path": "b"}],
                    "valuesObject": {"a": 1},
                }
            }
        )
    ),
    "kustomized": yaml.safe_load(
        application(
            {"kustomize": {"images": ["a:b"], "replicas": [{"name": "a", "count": 1}], "patches": [{"patch": "x"}]}}
        )
    ),
    "directory": yaml.safe_load(application({"directory": {"include": "*", "exclude": "[", "recurse": True}})),
    "ApplicationSet": {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "ApplicationSet",
        "metadata": {"name": "s"},
        "spec": {
            "generators": [
                {"list": {"elements": [{"a": "b"}]}},
                {"git": {"repoURL": URL, "directories": [{"path": "*"}], "values": {"a": "{{path}}"}}},
                {"git": {"repoURL": URL, "files": [{"path": "charts/**"}]}},
                {"matrix": {"generators": [{"list": {"elements": [{"a": "b"}]}}, {"list": {"elements": []}}]}},
            ],
            "template": {"metadata": {"name": "{{a}}"}, "spec": {"source": {"repoURL": URL, "path": "charts/llm"}}},
            "templatePatch": "spec: {project: x}",
        },
    },
    "HelmRelease": {
        "apiVersion": "helm.toolkit.fluxcd.io/v2",
        "kind": "HelmRelease",
        "metadata": {"name": "h", "namespace": "n"},
        "spec": {
            "chart": {"spec": {"chart": "charts/llm", "valuesFiles": ["a"], "sourceRef": _REFERENCE}},
            "valuesFrom": [{"kind": "ConfigMap", "name": "c", "targetPath": "a.b"}],
            "values": {"a": 1},
            "postRenderers": [{"kustomize": {"patches": [{"patch": "a"}]}}],
        },
    },
    "Kustomization": {
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
        "kind": "Kustomization",
        "metadata": {"name": "k", "namespace": "n"},
        "spec": {
            "path": "charts",
            "sourceRef": _REFERENCE,
            "patches": [{"patch": "a"}],
            "images": [{"name": "a"}],
            "postBuild": {"substitute": {"a": "b"}, "substituteFrom": [{"kind": "ConfigMap", "name": "c"}]},
        },
    },
    "TopologyRender": {
        "apiVersion": "packwise.dev/v1alpha1",
        "kind": "TopologyRender",
        "metadata": {"name": "t"},
        "spec": {"sources": [{"chart": "charts/llm", "values": ["a"], "set": {"a": [1]}}]},
    },
}
CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: n}\ndata: {values.yaml: '1', b: 2}\n"


def paths(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        inner = list(cast("dict[str, Any]", value).items())
    elif isinstance(value, list):
        inner = list(enumerate(cast("list[Any]", value)))
    return [at, *[path for key, each in inner for path in paths(each, (*at, key))]]


def changed(value: Any, path: tuple[Any, ...], odd: Any) -> Any:
    copied: Any = deepcopy(value)
    parent = copied
    for step in path[:-1]:
        parent = parent[step]
    parent[path[-1]] = odd
    return copied


@pytest.mark.parametrize("kind", OWNERS)
def test_an_owner_of_any_form_has_an_answer(kind: str) -> None:
    owner = OWNERS[kind]
    for path in paths(owner):
        for odd in ODD if path else ():
            files = CHART | {"o.json": json.dumps(changed(owner, path, odd)), "c.yaml": CONFIG_MAP}
            deliveries = planned(files)
            assert deliveries is not None
            for each in deliveries:
                if isinstance(each, Delivery) and isinstance(each.source, KustomizationSource) and each.source.change:
                    try:
                        each.source.change({"resources": [], "images": 5, "patches": {}})
                    except SourceError:
                        continue


LONG = ("${" * 5000, "${a:=" * 5000 + "}" * 5000, "${a//x/" + "y" * 100_000 + "}", "$" * 100_000)


@pytest.mark.parametrize("text", LONG)
def test_expressions_of_any_length_have_an_answer(text: str) -> None:
    answer = ""
    try:
        answer = substitute(text, {"a": "x"})
    except SubstitutionError as error:
        answer = str(error)
    assert len(answer) <= len(text)
