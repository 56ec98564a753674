"""The rules about PodGroups give the same errors as upstream's CRDs, word for word, for each version."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from krmfn.kubeobject import KubeObject
from packwise.findings import Effect, Stage
from packwise.revisions.kai import Versions
from packwise.schedulers.kai.podgroup_rules import podgroup_problems
from packwise.schedulers.kai.topology import topology_problems
from packwise.schedulers.kai.users_objects import alias_problems
from packwise.validate.definition import Definition, read_definition
from tests.schedulers.test_aliases import TOPOLOGIES
from tests.schedulers.test_podgroup_rules import CRD, OTHERS, TAKEN, WEBHOOK

MINORS = (12, 15, 17)
"""The versions with CRDs in the tests."""

PODGROUPS = [row[1] for row in (*CRD, *WEBHOOK, *OTHERS)] + TAKEN


@cache
def definition(file: Path) -> Definition:
    return read_definition(KubeObject.parse(file.read_text(encoding="utf-8"), file=str(file)))


SPECS: list[Any] = [
    None,
    "levels",
    {},
    {"levels": "rack"},
    {"levels": []},
    {"levels": ["rack"]},
    {"levels": [{}]},
    {"levels": [{"nodeLabel": 7}]},
    {"levels": [{"nodeLabel": None}]},
    {"levels": [{"nodeLabel": ""}, {"nodeLabel": "Example.com/rack"}]},
    {"levels": [{"nodeLabel": "a"}, {"nodeLabel": "b"}]},
    {"levels": [{"nodeLabel": "b"}, {"nodeLabel": "a"}, {"nodeLabel": "b"}]},
    {"levels": [{"nodeLabel": "kubernetes.io/hostname"}, {"nodeLabel": "a"}]},
    {"levels": [{"nodeLabel": "kubernetes.io/hostname"}, {"nodeLabel": "kubernetes.io/hostname"}]},
]
"""Specs of Topologies with every mistake that their CRDs refuse."""


@pytest.mark.parametrize("minor", MINORS)
@pytest.mark.parametrize("value", PODGROUPS, ids=str)
def test_the_texts_are_the_crds(crds: Path, value: dict[str, Any], minor: int) -> None:
    crd = definition(crds / f"kai-v0.{minor}.0" / "scheduling.run.ai_podgroups.yaml")
    # No rule here is about names.
    expected = [problem for problem in crd.problems(value) if problem.path[:1] != ("metadata",)]

    problems = podgroup_problems(value, Versions(minor, minor))

    refused = [problem for problem in expected if problem.effect is Effect.REFUSED]
    ours = [problem for problem in problems if problem.stage is Stage.SCHEMA]
    assert {problem.path for problem in ours} == {problem.path for problem in refused}
    texts = {problem.operator_message for problem in ours} - {None}
    assert texts <= {problem.operator_message for problem in refused}
    dropped = {problem.path for problem in expected if problem.effect is Effect.UNKNOWN}
    assert {problem.path for problem in problems if problem.effect is Effect.UNKNOWN} == dropped


@pytest.mark.parametrize("levels", TOPOLOGIES, ids=str)
def test_the_texts_of_aliases_are_the_crds(crds: Path, levels: list[dict[str, Any]]) -> None:
    value = {"apiVersion": "kai.scheduler/v1alpha1", "kind": "Topology", "spec": {"levels": levels}}
    crd = definition(crds / "kai-v0.17.0" / "kai.scheduler_topologies.yaml")

    problems = [problem for problem in alias_problems(value, Versions(17, 17)) if problem.stage is Stage.SCHEMA]

    expected = [problem for problem in crd.problems(value) if problem.path[-1:] == ("alias",)]
    assert {problem.path for problem in problems} == {problem.path for problem in expected}
    texts = {problem.operator_message for problem in problems} - {None}
    assert texts <= {problem.operator_message for problem in expected}


@pytest.mark.parametrize("minor", MINORS)
@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_the_texts_of_topologies_are_the_crds(crds: Path, spec: Any, minor: int) -> None:
    head: dict[str, Any] = {"apiVersion": "kai.scheduler/v1alpha1", "kind": "Topology", "metadata": {"name": "t"}}
    value: dict[str, Any] = head if spec is None else {**head, "spec": spec}
    before = {**head, "spec": {"levels": [{"nodeLabel": "a"}, {"nodeLabel": "b"}]}}
    crd = definition(crds / f"kai-v0.{minor}.0" / "kai.scheduler_topologies.yaml")

    for old in (None, before):
        ours = topology_problems(value, old, version=f"v0.{minor}", shown="array")

        expected = [problem.operator_message for problem in crd.problems(value, old) if problem.stage is Stage.SCHEMA]
        absent = [text for text in expected if text is not None and "Required value" in text]
        # If a required field is missing, the API server evaluates no rule.
        assert [text for problem in ours if (text := problem.operator_message)] == (absent or expected)
