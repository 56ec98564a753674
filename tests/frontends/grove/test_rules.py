"""Every rule, by cases: exactly these findings, in this order, with these texts and paths."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from packwise.findings import Problem, Rule, Stage
from packwise.frontends.grove.admission import all_rules
from packwise.frontends.grove.rules.book import Check, Context, Scope, nodes_of, whole_set
from packwise.revisions.grove import ALPHA_12_RC1, ALPHA_14, GREP_244

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


def no_problems(_subject: Any, _context: Context) -> Iterable[Problem]:
    return ()


def test_a_rule_says_since_and_until_when_releases_have_it() -> None:
    one, two, three, four = [Check[Any](Rule(name, "", ""), no_problems) for name in ("one", "two", "three", "four")]
    nodes = (
        one.replace(until=GREP_244),
        two,
        Scope(whole_set, (three.replace(since=ALPHA_12_RC1), four), since=GREP_244, until=ALPHA_14),
    )
    releases = ("", "v0.1.0-alpha.7", "v0.1.0-alpha.11", "v0.1.0-alpha.12-rc1", "v0.1.0-alpha.13", "v0.1.0-alpha.14")
    books = {release: nodes_of(nodes, release) for release in releases}

    below = (two, Scope(whole_set, (four,)))
    with_three = (two, Scope(whole_set, (three, four)))
    assert books == {
        "": (one, two),
        "v0.1.0-alpha.7": below,
        "v0.1.0-alpha.11": below,
        "v0.1.0-alpha.12-rc1": with_three,
        "v0.1.0-alpha.13": with_three,
        "v0.1.0-alpha.14": (two,),
    }
