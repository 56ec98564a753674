"""Every rule, by cases: exactly these findings, in this order, with these texts and paths."""

from __future__ import annotations

from typing import Any

import pytest

from packwise.frontends.grove.rules import all_rules

from .cases import load_cases, outcome

RULES = all_rules()
FOLDERS = ("grove-rules", "grep-244-multi", "upstream", "releases")
CASES = [case for folder in FOLDERS for case in load_cases(folder)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_findings(case: dict[str, Any]) -> None:
    assert outcome(case) == case["expect"]


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
