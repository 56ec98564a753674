"""Findings about graphs, and objects made from graphs: tables of cases with the whole answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest

from krmfn.yamltext import read, write
from tests.frontends.dynamo.graphs import rendered, shape, shown
from tests.places import TESTDATA

HEAD = """\
# Each case is a DynamoGraphDeployment that is rendered: its `spec`, and its `metadata` and `version` if they matter.
# `grove` and `dynamo` are the releases (by default v0.1.0-alpha.13 and 1.5). `before` has the fields that differ in the
# baseline. `findings` are all findings. `shape` has its PodCliqueSet and gangs: replicas/minAvailable, with constraints
# in brackets.
"""
TABLES = ("dynamo/rules.yaml", "dynamo/shapes.yaml")


def cases(table: str) -> list[dict[str, Any]]:
    return cast("list[dict[str, Any]]", read((TESTDATA / table).read_text(encoding="utf-8")))


def answered(case: dict[str, Any]) -> dict[str, Any]:
    """Return the case with all its results."""
    answer = rendered(case)
    kept = {key: part for key, part in case.items() if key not in ("findings", "shape")}
    findings = [shown(result) for result in answer.results]
    parts: dict[str, Any] = {"findings": findings, "shape": shape(answer)}
    return kept | {key: part for key, part in parts.items() if part}


@pytest.mark.parametrize(
    ("table", "name"),
    [(table, case["name"]) for table in TABLES for case in cases(table)],
    ids=lambda text: text.removeprefix("dynamo/").removesuffix(".yaml"),
)
def test_a_graph_is_answered_as_the_table_says(
    table: str, name: str, assert_expected: Callable[[str, str], None]
) -> None:
    table_cases = cases(table)
    for place, case in enumerate(table_cases):
        if case["name"] == name:
            table_cases[place] = answered(case)

    assert_expected(table, HEAD + write(table_cases))


def test_no_two_cases_have_one_name() -> None:
    for table in TABLES:
        names = [case["name"] for case in cases(table)]
        assert len(set(names)) == len(names)
