"""`packwise rules`: the list of rules, and the explanation of one rule."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from packwise.rules.run import RULES_BY_NAME
from tests.cli.calling import Call

Expect = Callable[[str, str], None]


def test_the_list_has_a_line_for_every_rule_in_the_order_they_run(call: Call) -> None:
    ran = call("rules")

    rows = [line.split(maxsplit=2) for line in ran.stdout.splitlines()]
    assert (ran.code, ran.stderr) == (0, "")
    assert rows == [[rule.name, rule.severity.value, rule.summary] for rule in RULES_BY_NAME.values()]
    assert ran.stdout.startswith("readable  ")


def test_the_list_as_json(call: Call) -> None:
    listed = json.loads(call("rules", "-o", "json").stdout)

    assert [rule["name"] for rule in listed] == list(RULES_BY_NAME)
    assert listed[0] == {
        "name": "readable",
        "severity": "error",
        "summary": RULES_BY_NAME["readable"].summary,
        "source": "docs/spec/clients.md#4",
    }


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["topology-hierarchy"], "rule.txt"),
        (["startup-type"], "rule-with-another.txt"),
        (["update-clique-min-available"], "rule-of-updates.txt"),
        (["update-clique-min-available", "-o", "json"], "rule-of-updates.json"),
        (["outside-link"], "rule-in-words.txt"),
        (["outside-link", "-o", "json"], "rule-in-words.json"),
    ],
)
def test_one_rule_explained(words: list[str], name: str, call: Call, assert_expected: Expect) -> None:
    ran = call("rules", *words)

    assert (ran.code, ran.stderr) == (0, "")
    assert_expected(f"cli/{name}", ran.stdout)


def test_every_rule_has_a_page(call: Call) -> None:
    pages = {name: call("rules", name) for name in RULES_BY_NAME}

    assert [name for name, page in pages.items() if page.code or not page.stdout.startswith(f"{name} (")] == []
