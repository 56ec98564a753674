"""The page of limits and the constants in the code have the same values."""

from __future__ import annotations

import ast
import re
from functools import cache

import pytest

from krmfn import run
from krmfn.envelope import MAX_ITEMS
from krmfn.yamltext import pyyaml
from krmfn.yamltext.reader import MAX_DEPTH, MAX_NODES
from packwise.build.substitution import MAX_SUBSTITUTED
from packwise.diff import difference as state
from packwise.findings import MAX_TEXT
from packwise.frontends.dynamo.shape import MAX_RANKS
from packwise.frontends.osmo import confined
from packwise.frontends.osmo.account import MAX_CHARACTERS_TOGETHER, MAX_SECONDS_TOGETHER
from packwise.frontends.osmo.template import MAX_TEMPLATE
from packwise.place.cluster import MAX_ADDED
from packwise.place.run import MAX_EXACT
from packwise.placement import LIMIT, MAX_GANGS
from packwise.render.files import MAX_PATH
from packwise.schedulers.kai.allocate.session import MAX_QUEUE_DEPTH
from packwise.schedulers.kai.gang_jobs import MAX_PODS
from packwise.settings.topologyrender import no_configuration
from packwise.topology.topograph import MAX_NAMES
from packwise.validate import cel, schema
from packwise.validate.cost import MAX_COST, MAX_COST_OF_OBJECT, MAX_ITERATIONS
from packwise.validate.definition import MAX_RULES
from packwise.validate.structure import MAX_PATTERN_LENGTH, MAX_STATES, MAX_STATES_OF_OBJECT
from packwise.wording import MAX_COMPARED, MAX_LISTED
from tests.places import ROOT

PAGE = (ROOT / "docs" / "explanation" / "security.md").read_text(encoding="utf-8")
SECTION = PAGE.split("\n## How much is read and written\n")[1].split("\n## ")[0]
ROWS = [tuple(line.strip("| ").split(" | ")) for line in SECTION.splitlines() if line.startswith("| ")][1:]

LIMITS: list[tuple[str, int, str]] = [
    ("MiB of a stream or file", run.MAX_INPUT >> 20, "must be at most 512 MiB"),
    ("items of a ResourceList", MAX_ITEMS, "must have at most 1000000 items; split the package"),
    ("nodes of a document", MAX_NODES, "must have at most 5000000 mappings, lists and scalars; split"),
    ("nodes of a document with expanded aliases", pyyaml.MAX_NODES, "aliases expand to more than 1000000 nodes"),
    ("depth of a document", MAX_DEPTH, "nested deeper than 500 levels"),
    ("depth of an object that `diff` compares", state.MAX_DEPTH, "must not be nested deeper than 100 levels to be"),
    ("depth of a CRD's schema", schema.MAX_DEPTH, "must not be nested deeper than 100 levels"),
    ("gangs and their entries in a run", MAX_GANGS, f"a run renders at most 200000: … [{LIMIT.name}]"),
    ("pods in all gangs that `place` places", MAX_PODS, "the gangs have more than 500000 pods together"),
    ("levels of queues", MAX_QUEUE_DEPTH, "it is its own ancestor, or has 100 ancestors"),
    (
        "nodes of `--add-nodes`",
        MAX_ADDED,
        "--add-nodes needs a file or a text such as 4xexample.com/rack=r9 (1 to 100000 nodes)",
    ),
    ("names of a Slurm topology", MAX_NAMES, "must list at most 200000 names"),
    ("gangs that `--exact` examines", MAX_EXACT, "--exact examines only the first 20"),
    ("nodes of a component that shares GPU memory between pods", MAX_RANKS, "must be at most 256 if pods share"),
    ("characters of one text in a finding", MAX_TEXT, "…"),
    ("known names that a message lists", MAX_LISTED, "and 900 more"),
    ("known names that packwise compares to suggest the nearest", MAX_COMPARED, ""),
    (
        "characters of a text, multiplied by the states of its CRD's pattern",
        MAX_STATES,
        "packwise does not check this pattern for every string: a string is too long",
    ),
    (
        "the sum of these products for all texts of an object, with 256 characters more for each text",
        MAX_STATES_OF_OBJECT,
        "packwise does not check this pattern for every string: one object has too many",
    ),
    ("characters of a CRD's pattern", MAX_PATTERN_LENGTH, (
        "packwise does not check this pattern for every string: it is longer than"
    )),
    ("characters of a CRD's rule", cel.MAX_RULE_LENGTH, "it is longer than 4000 characters"),
    ("rules of a version of a CRD", MAX_RULES, "must have at most 2000 rules"),
    ("iterations of a rule", MAX_ITERATIONS, "Iteration budget exceeded"),
    ("MiB that a rule may need", MAX_COST >> 20, "it may need more than 128 MiB of memory"),
    (
        "MiB that all rules may need for one object, with at least 8 KiB for each rule",
        MAX_COST_OF_OBJECT >> 20,
        "packwise does not check all rules of this CRD for every object",
    ),
    ("calls of `optMap` and `optFlatMap` in a rule", cel.MAX_COPIES, "it calls optMap and optFlatMap more than"),
    ("characters of a template", MAX_TEMPLATE, "the template has more than 1000000 characters"),
    ("characters of a filled-in template", MAX_TEMPLATE, "or becomes more than 1000000 characters"),
    ("seconds of processor time of a template", confined.MAX_SECONDS, "it needs more than 5 seconds of processor time"),
    ("MiB that a template may need", confined.MAX_MEMORY >> 20, "or 128 MiB of memory, is nested too deep"),
    (
        "seconds of processor time of all templates of a command, plus a tenth of a second for each",
        MAX_SECONDS_TOGETHER,
        "The templates before it need more than 20 seconds of processor time",
    ),
    (
        "characters of all filled-in templates of a command, plus 20,000 for each",
        MAX_CHARACTERS_TOGETHER,
        "or become more than 4000000 characters. Fix the earlier templates first",
    ),
    (
        "characters of an object after Flux's variables are replaced",
        MAX_SUBSTITUTED,
        "the text with its variables is longer than 10000000 characters",
    ),
    ("bytes of an output's path", MAX_PATH, "A path must have at most 1024 bytes"),
]  # fmt: skip


def test_the_page_lists_every_limit_with_its_number() -> None:
    assert [(what, number) for what, number, *_ in ROWS] == [(what, f"{number:,}") for what, number, _ in LIMITS]


@pytest.mark.parametrize(("what", "message"), [(what, message) for what, _, message in LIMITS])
def test_the_page_has_the_message(what: str, message: str) -> None:
    (row,) = [row for row in ROWS if row[0] == what]

    assert message in row[2]


_NUMBER = re.compile(r"[0-9]+")
_OF_LIBRARIES = {"Iteration budget exceeded"}
"""Messages from the library that evaluates rules."""


@cache
def messages() -> tuple[str, ...]:
    """Return the texts in the code, with `{}` for each number and each value."""
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in sorted((ROOT / "fn").rglob("*.py"))]
    nodes = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.JoinedStr | ast.Constant)]
    return tuple([template for node in nodes if " " in (template := _template(node))])


def _template(node: ast.expr) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join([_template(part) if isinstance(part, ast.Constant) else "{}" for part in node.values])
    return _NUMBER.sub("{}", node.value) if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_the_code_has_the_message_of_the_page(row: tuple[str, ...]) -> None:
    quoted = [part.strip() for text in re.findall("`([^`]+)`", row[2]) for part in re.split("…|: ", text)]
    parts = {re.sub(r" ?\[[a-z-]+\]$", "", part) for part in quoted} - {"", *_OF_LIBRARIES}

    assert [part for part in parts if not any(_NUMBER.sub("{}", part) in text for text in messages())] == []


def test_the_setting_is_named_and_has_the_default_that_the_page_says() -> None:
    (row,) = [row for row in ROWS if row[0] == "gangs and their entries in a run"]

    assert row[3] == "`limits.gangs`"
    assert no_configuration().limits.gangs == MAX_GANGS
    assert [each[3] for each in ROWS if each is not row] == ["none"] * (len(ROWS) - 1)
