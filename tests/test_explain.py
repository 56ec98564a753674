"""Every rule is explained, and every example has the effect that its explanation describes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from krmfn.result import Result, Severity
from packwise.findings import Stage
from packwise.rules.run import (
    RULES_BY_NAME,
    RuleExplanation,
    explained_rules,
    explanation,
    explanation_files,
    refusal,
    results_of,
)
from tests.places import ROOT
from tests.tables import each

EXPLANATIONS = {name: explanation(name) for name in sorted(explained_rules())}
WITH_EXAMPLES = {name: found for name, found in EXPLANATIONS.items() if found.failing}

WORDS_ONLY = {
    *("readable", "outside-link", "output-edited", "output-path", "revision-unnamed", "topology-in-cluster-differs"),
    *("argocd-plugin-unnamed", "kai-unnamed", "source-assumed", "source-build", "source-not-built"),
    *("kubernetes-backend", "kubernetes-preferred"),
    *("migrate-source", "migrate-order", "migrate-comment", "migrate-meaning", "migrate-lost", "migrate-gained"),
    *("fleet-package", "fleet-output", "fleet-build", "fleet-lost"),
}
"""Rules without an example: rules about bytes, files and other objects, and rules of only a migration or a fleet."""

NOT_THERE = {"no-workloads", "clustertopology-in-use"}
"""Rules about missing objects. No line of the example contains the problem."""


@cache
def results_of_failing(name: str) -> Sequence[Result]:
    found = WITH_EXAMPLES[name]
    return results_of(found.failing, found.before)


def test_every_rule_is_explained_and_nothing_else() -> None:
    assert set(EXPLANATIONS) == set(RULES_BY_NAME)
    assert set(EXPLANATIONS) - set(WITH_EXAMPLES) == WORDS_ONLY


def test_an_explanation_lies_beside_the_module_with_its_rule() -> None:
    """Each name has one file, in `explanations/` of the folder of a module that spells it."""
    files = sorted((ROOT / "fn" / "packwise").rglob("explanations/*.yaml"))
    modules = {
        file.parents[1]: "".join([each.read_text("utf-8") for each in file.parents[1].glob("*.py")]) for file in files
    }

    assert sorted(map(str, explanation_files().values())) == sorted(map(str, files))
    assert [str(file) for file in files if f'"{file.stem}"' not in modules[file.parents[1]]] == []


@each(lambda: {name: name for name in EXPLANATIONS})
def test_words_are_whole_sentences_and_examples_short(name: str) -> None:
    found = EXPLANATIONS[name]

    assert [text for text in (found.why, found.fix) if not text.endswith(".") or "\n" in text] == []
    assert max(text.count("\n") for text in (found.before, found.failing, found.passing)) <= 14
    assert bool(found.failing) == bool(found.passing)


@each(lambda: {name: name for name in WITH_EXAMPLES})
def test_the_failing_example_fails_this_rule(name: str) -> None:
    found = WITH_EXAMPLES[name]
    results = results_of_failing(name)

    of_rule = [result for result in results if result.tags["rule"] == name]
    assert {result.severity for result in of_rule} == {RULES_BY_NAME[name].severity}
    errors = {result.tags["rule"] for result in results if result.severity is Severity.ERROR}
    assert errors - {name} == set(found.also)
    if name not in NOT_THERE:
        assert any(has_comment(found, int(result.tags["line"])) for result in of_rule)


def has_comment(found: RuleExplanation, line: int) -> bool:
    """Return True if a comment in that line, or at the key above it, names the problem."""
    return any(" # " in text for text in found.failing.splitlines()[max(line - 2, 0) : line])


@each(lambda: {name: name for name in WITH_EXAMPLES})
def test_the_passing_example_passes(name: str) -> None:
    found = WITH_EXAMPLES[name]
    results = results_of(found.passing, found.before)

    assert [result for result in results if result.severity is Severity.ERROR or result.tags["rule"] == name] == []


def test_texts_of_the_operator_are_those_of_the_example() -> None:
    said = refusal("name-length", EXPLANATIONS["name-length"])

    assert said is not None
    assert (said.stage, said.head) == (Stage.WEBHOOK, "The operator's webhook answers:")
    assert [text.partition(":")[0] for text in said.texts] == ["spec.template.cliques[0].name", "metadata.name"]
    for name, found in WITH_EXAMPLES.items():
        texts = {result.tags.get("operatorMessage") for result in results_of_failing(name)}
        said = refusal(name, found)
        assert said is None or set(said.texts) <= texts


def test_what_nobody_refuses_has_no_text() -> None:
    assert refusal("readable", EXPLANATIONS["readable"]) is None
    assert refusal("topology-name-unused", EXPLANATIONS["topology-name-unused"]) is None
