"""The rules of PodGroups beside upstream's own CRDs: the same refusals, word for word, version for version."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from krmfn.kubeobject import KubeObject
from packwise.crds.definition import Definition, read_definition
from packwise.crds.problem import Cause
from packwise.finding import Stage
from packwise.schedulers.fault import Effect, Target
from packwise.schedulers.kai import KAI
from packwise.schedulers.kai.podgroup_rules import podgroup_faults
from packwise.schedulers.kai.versions import Versions
from tests.schedulers.test_aliases import TOPOLOGIES
from tests.schedulers.test_podgroup_rules import CRD, OTHERS, TAKEN, WEBHOOK

MINORS = (12, 15, 17)
"""The versions whose CRDs are at hand."""

PODGROUPS = [row[1] for row in (*CRD, *WEBHOOK, *OTHERS)] + TAKEN


@cache
def definition(file: Path) -> Definition:
    return read_definition(KubeObject.parse(file.read_text(encoding="utf-8"), file=str(file)))


@pytest.mark.parametrize("minor", MINORS)
@pytest.mark.parametrize("value", PODGROUPS, ids=str)
def test_the_texts_are_the_crds(shared: Path, value: dict[str, Any], minor: int) -> None:
    crd = definition(shared / "crds" / f"kai-v0.{minor}.0" / "scheduling.run.ai_podgroups.yaml")
    # Names are nobody's own rules.
    problems = [problem for problem in crd.problems(value) if problem.path[:1] != ("metadata",)]

    faults = podgroup_faults(value, Versions(minor, minor))

    refused = [problem for problem in problems if problem.cause not in (Cause.UNKNOWN, Cause.UNCHECKED)]
    ours = [fault for fault in faults if fault.stage is Stage.SCHEMA]
    assert {fault.path for fault in ours} == {problem.path for problem in refused}
    texts = {fault.operator_message for fault in ours} - {None}
    assert texts <= {problem.operator_message for problem in refused}
    dropped = {problem.path for problem in problems if problem.cause is Cause.UNKNOWN}
    assert {fault.path for fault in faults if fault.effect is Effect.UNKNOWN} == dropped


@pytest.mark.parametrize("levels", TOPOLOGIES, ids=str)
def test_the_texts_of_aliases_are_the_crds(shared: Path, levels: list[dict[str, Any]]) -> None:
    value = {"apiVersion": "kai.scheduler/v1alpha1", "kind": "Topology", "spec": {"levels": levels}}
    crd = definition(shared / "crds" / "kai-v0.17.0" / "kai.scheduler_topologies.yaml")

    faults = [fault for fault in KAI.topology_faults(value, Target("v0.17")) if fault.stage is Stage.SCHEMA]

    problems = [problem for problem in crd.problems(value) if problem.path[-1:] == ("alias",)]
    assert {fault.path for fault in faults} == {problem.path for problem in problems}
    assert {fault.operator_message for fault in faults} - {None} <= {problem.operator_message for problem in problems}
