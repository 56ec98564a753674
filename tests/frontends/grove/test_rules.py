"""Every rule, by cases: exactly these findings, in this order, with these texts and paths."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from packwise.findings.finding import Problem, Rule, Stage
from packwise.frontends.grove.admission import DESIGN, all_rules
from packwise.frontends.grove.rules import Check, Context, Node, Scope
from packwise.frontends.grove.rules.update import update_rules

from .cases import load_cases, outcome, problems_of

RULES = all_rules()
FOLDERS = ("grove-rules", "grep-244-multi", "upstream", "releases")
CASES = [case for folder in FOLDERS for case in load_cases(folder)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_findings(case: dict[str, Any]) -> None:
    assert outcome(case) == case["expect"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_the_webhook_refuses_what_it_has_a_text_for(case: dict[str, Any]) -> None:
    stages = [(problem.operator_message is not None, problem.stage) for _, problem in problems_of(case)]

    assert set(stages) <= {(True, Stage.WEBHOOK), (False, None)}


def test_every_rule_has_a_case() -> None:
    assert {rule.name for rule in RULES} == {finding["rule"] for case in CASES for finding in case["expect"]} | UNCASED


UNCASED: set[str] = set()


def test_rule_names_are_unique_and_documented() -> None:
    names = [rule.name for rule in RULES]
    assert len(set(names)) == len(names)
    assert all(rule.summary.endswith(".") and rule.source for rule in RULES)


def test_annotations_that_are_too_large() -> None:
    found = outcome({"edit": {"metadata.annotations": {"a": "x" * (256 * 1024)}}})
    text = "metadata.annotations: Too long: may not be more than 262144 bytes"
    assert [finding["operator"] for finding in found] == [text]


def names_of(nodes: tuple[Node, ...]) -> list[Any]:
    """The names of rules; those that run for each part of the workload in a list of their own."""
    return [names_of(node.nodes) if isinstance(node, Scope) else node.rule.name for node in nodes]


def no_problems(_subject: Any, _context: Context) -> Iterable[Problem]:
    return ()


def test_what_an_api_adds_to_an_update_has_its_place() -> None:
    one, two, three, four = [Check[Any](Rule(name, "", ""), no_problems) for name in ("one", "two", "three", "four")]

    assert names_of(update_rules(one, clique=(two,), group=(three,), rest=(four,))) == [
        "update-clique-count",
        [
            "update-clique-name",
            "update-clique-order",
            "update-clique-role",
            "update-clique-min-available",
            "update-clique-starts-after",
            "two",
        ],
        "update-startup-type",
        "update-group-count",
        ["update-group-name", "update-group-members", "update-group-min-available", "three"],
        "one",
        "four",
    ]
    assert update_rules() == DESIGN.update
