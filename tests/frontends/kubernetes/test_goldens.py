"""The answers of the API server's own code about Workloads, PodGroups, CompositePodGroups, Jobs and pods."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from krmfn.kubeobject import KubeObject
from krmfn.result import Result, Severity
from packwise.frontends.kubernetes.rules import (
    DECODE,
    GATE_DROPPED,
    GATES,
    GATES_UNNAMED,
    OBJECT,
    REPLACED,
    RULES,
    UNCHECKED,
    UNKNOWN,
    UPDATE,
    VERSION,
)
from packwise.pipeline import render
from packwise.pipeline.selection import Package
from tests.frontends.workloads.workloads import parsed
from tests.golden.cases import GOLDEN
from tests.tables import each

GOLDENS = GOLDEN / "workloads" / "kubernetes.jsonl.gz"

SETTINGS = """\
apiVersion: packwise.dev/v1alpha1
kind: TopologyRender
metadata: {name: topology}
spec:
  apply: false
  kubernetes: {version: vVERSION, featureGates: GATES}
"""

CERTAIN = {rule.name for rule in (VERSION, REPLACED, GATE_DROPPED, GATES)}
"""Rules with advice about an object. An object may have such advice in addition to errors."""

CONDITIONS = {rule.name for rule in RULES if rule not in (OBJECT, UPDATE, DECODE, UNKNOWN, UNCHECKED, GATES_UNNAMED)}
"""The rules with conditions that the goldens state."""


@cache
def rows() -> Mapping[str, Any]:
    with gzip.open(GOLDENS, "rt", encoding="utf-8") as lines:
        every = [json.loads(line) for line in lines]
    return {row["case"]: row for row in every if "place" not in row}


def check(row: Mapping[str, Any]) -> tuple[Result, ...]:
    text = SETTINGS.replace("VERSION", row["settings"]["kubernetes"])
    gates = json.dumps(row["settings"]["featureGates"])
    configuration = KubeObject.parse(text.replace("GATES", gates), file="topology.yaml")
    files = row["files"]
    baseline = (configuration, *parsed(files["old.yaml"])) if "old.yaml" in files else None
    return render(Package((configuration, *parsed(files["input.yaml"])), baseline=baseline)).results


def without_dumps(text: str) -> str:
    """Return the text without dumps of whole objects, which packwise omits."""
    text = re.sub(r"Duplicate value: \{.*\}$", "Duplicate value: {…}", text, flags=re.DOTALL)
    return re.sub(r"Invalid value: \[.*\]: maximum", "Invalid value: […]: maximum", text, flags=re.DOTALL)


def rules_of(results: tuple[Result, ...]) -> set[str]:
    return {result.tags["rule"] for result in results}


@each(rows)
def test_refusals_are_those_of_the_api_server(row: Any) -> None:
    wrong = [result for result in check(row) if result.severity is Severity.ERROR]

    texts = {without_dumps(result.tags["operatorMessage"]) for result in wrong if "operatorMessage" in result.tags}
    if "fields" in row:
        named = " ".join([f"{result.field.path if result.field else ''} {result.message}" for result in wrong])
        assert [field for field in row["fields"] if field not in named] == []
    else:
        assert texts == {without_dumps(text) for text in row["errors"]}


@each(rows)
def test_advice_is_given_on_its_conditions_alone(row: Any) -> None:
    compared = CERTAIN if row["errors"] else CONDITIONS

    assert rules_of(check(row)) & compared == set(row["warnings"]) & compared


@each(rows)
def test_dropped_fields_are_named(row: Any) -> None:
    dropped = [result for result in check(row) if result.tags["rule"] == GATE_DROPPED.name]

    assert {result.field.path for result in dropped if result.field} == set(row["dropped"])
