"""Answers of the KAI Scheduler's own code, by scenario: the state, the node of every pod, the message and
the errors.
"""

from __future__ import annotations

import gzip
import json
from functools import cache
from typing import Any

from packwise.place.cluster import answers, read_scenario
from packwise.schedulers.kai.allocate.session import allocate
from tests.golden.cases import GOLDEN
from tests.tables import each

FILE = GOLDEN / "placement" / "kai.jsonl.gz"
ASPECTS = ("name", "state", "placement", "errors", "message")


@cache
def cases() -> dict[str, Any]:
    with gzip.open(FILE, "rt", encoding="utf-8") as lines:
        return {case["case"]: case for case in map(json.loads, lines)}


@each(cases)
def test_the_session_answers_as_kai_does(case: Any) -> None:
    session = allocate(read_scenario(case["scenario"]))

    expected = [{aspect: job[aspect] for aspect in ASPECTS if aspect in job} for job in case["answer"]["jobs"]]
    assert answers(session)["jobs"] == expected
    assert list(session.attempts) == case["answer"]["attempts"]


@each(cases)
def test_the_order_of_nodes_in_the_input_changes_nothing(case: Any) -> None:
    turned = {**case["scenario"], "nodes": case["scenario"]["nodes"][::-1]}

    assert answers(allocate(read_scenario(turned))) == answers(allocate(read_scenario(case["scenario"])))
