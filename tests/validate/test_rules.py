"""Rules of CRDs in CEL: their input, the error about a broken rule, and rules that cannot be evaluated."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any, cast

import pytest

from krmfn.kubeobject import KubeObject
from packwise.findings import Effect
from packwise.validate.cost import MIN_COST
from packwise.validate.definition import read_definition
from packwise.validate.schema import SchemaError
from tests.places import ROOT

from .objects import crd, definition, problems, thing

LEVEL: dict[str, Any] = {"type": "object", "properties": {"key": {"type": "string"}}}


def levels(*rules: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return a spec with these rules for `levels`."""
    found = {"type": "array", "items": LEVEL, "x-kubernetes-validations": list(rules), **more}
    return {"type": "object", "properties": {"levels": found}}


def with_rule(rule: str, **more: Any) -> dict[str, Any]:
    """Return a spec with one rule."""
    properties: dict[str, Any] = {
        "a": {"type": "string"},
        "n": {"type": "integer"},
        "x": {"type": "number"},
        "flag": {"type": "boolean"},
        "namespace": {"type": "string"},
        "a-b": {"type": "string"},
        "free": {"type": "object", "additionalProperties": {"type": "string"}},
        "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "set": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
    }
    return {"type": "object", "properties": properties, "x-kubernetes-validations": [{"rule": rule, **more}]}


UNIQUE = {"rule": "self.all(x, self.filter(y, y.key == x.key).size() == 1)", "message": "key must be unique"}


def test_a_broken_rule_says_its_message() -> None:
    schema = levels(UNIQUE)

    assert problems(schema, {"levels": [{"key": "a"}, {"key": "b"}]}) == []
    assert problems(schema, {"levels": [{"key": "a"}, {"key": "a"}]}) == [
        ("breaks a rule of its CRD: key must be unique", 'spec.levels: Invalid value: "array": key must be unique')
    ]


REASONS: list[tuple[dict[str, Any], str]] = [
    ({"message": "no"}, 'spec: Invalid value: "object": no'),
    ({}, 'spec: Invalid value: "object": failed rule: self.n > 1'),
    ({"message": "no", "reason": "FieldValueForbidden"}, "spec: Forbidden: no"),
    ({"message": "no", "reason": "FieldValueRequired", "fieldPath": ".a"}, "spec.a: Required value: no"),
    ({"message": "no", "reason": "FieldValueDuplicate"}, 'spec: Duplicate value: "object"'),
    ({"message": "no", "fieldPath": "['a-b']"}, 'spec.a-b: Invalid value: "object": no'),
    ({"messageExpression": "'got ' + string(self.n)"}, 'spec: Invalid value: "object": got 1'),
    ({"message": "no", "messageExpression": "self.missing"}, 'spec: Invalid value: "object": no'),
]


@pytest.mark.parametrize(("more", "text"), REASONS)
def test_what_the_api_server_says(more: dict[str, Any], text: str) -> None:
    assert [said for _, said in problems(with_rule("self.n > 1", **more), {"n": 1})] == [text]


HOLD: list[tuple[str, dict[str, Any]]] = [
    ("has(self.a) || has(self.n)", {"n": 1}),
    ("!has(self.a)", {"n": 1}),
    ("self.__namespace__ == 'x'", {"namespace": "x"}),
    ("self.a__dash__b == 'x'", {"a-b": "x"}),
    ("self.free['k/1'] == 'v'", {"free": {"k/1": "v"}}),
    ("'k' in self.free && self.free.all(k, k == 'k')", {"free": {"k": "v"}}),
    ("self.x / 2.0 == 0.5", {"x": 1}),
    ("self.n == 1 && self.flag", {"n": 1, "flag": True}),
    ("self.a.startsWith('x') && self.a.matches('^x+$')", {"a": "xx"}),
    ("self.?a.orValue('none') == 'none'", {}),
    ("self.a.split('/').size() == 2", {"a": "x/y"}),
    ("self.set.exists_one(s, s == 'x')", {"set": ["x", "y"]}),
    ("duration('4h') > duration('1m')", {}),
]


@pytest.mark.parametrize(("rule", "spec"), HOLD)
def test_what_rules_see(rule: str, spec: dict[str, Any]) -> None:
    assert problems(with_rule(rule), spec) == []


def test_unknown_fields_are_not_seen() -> None:
    assert [said for _, said in problems(with_rule("!has(self.b)"), {"b": 1})] == [None], "the unknown field alone"


def test_a_rule_about_what_is_not_there() -> None:
    assert problems(with_rule("self.a == 'x'", message="a must be x"), {}) == [
        (
            "breaks a rule of its CRD: a must be x; packwise cannot evaluate it: no such key: a",
            'spec: Invalid value: "object": no such key: a evaluating rule: a must be x',
        )
    ]


def test_defaults_are_there() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string", "default": "x"}},
        "x-kubernetes-validations": [{"rule": "self.a == 'x'"}],
    }

    assert problems(schema, {}) == []


def test_the_whole_object_has_its_name() -> None:
    value = crd({"type": "object"})
    value["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["x-kubernetes-validations"] = [
        {"rule": "self.metadata.name == 'b' && self.kind == 'Thing'", "message": "its name is b"}
    ]

    (problem,) = read_definition(KubeObject.new(value)).problems(thing({}))

    assert (problem.path, problem.operator_message) == ((), '<nil>: Invalid value: "object": its name is b')


# Changes: the rule, the value, the value before, and True if the rule is kept.
IMMUTABLE = "self == oldSelf"
CHANGES: list[tuple[str, Any, Any, bool]] = [
    (IMMUTABLE, {"a": "x"}, None, True),
    (IMMUTABLE, {"a": "x"}, {"a": "x"}, True),
    (IMMUTABLE, {"a": "x"}, {"a": "y"}, False),
    (IMMUTABLE, {"set": ["x", "y"]}, {"set": ["y", "x"]}, True),
    (IMMUTABLE, {"open": {"k": 1}}, {"open": {"k": 2}}, False),
    ("has(self.a) || !has(oldSelf.a)", {}, {"a": "x"}, False),
]


@pytest.mark.parametrize(("rule", "now", "before", "kept"), CHANGES)
def test_rules_about_a_change_hold_where_there_was_something_before(
    rule: str, now: Any, before: Any, kept: bool
) -> None:
    assert (problems(with_rule(rule), now, before) == []) == kept


def test_an_optional_old_value_is_looked_at_from_the_start() -> None:
    schema = with_rule("oldSelf.hasValue() || !has(self.a)", message="not for new ones", optionalOldSelf=True)

    assert len(problems(schema, {"a": "x"})) == 1
    assert problems(schema, {"a": "x"}, {}) == []


def test_entries_are_compared_with_those_of_the_same_key() -> None:
    entry: dict[str, Any] = {
        "type": "object",
        "properties": {"key": {"type": "string"}, "n": {"type": "integer"}},
        "x-kubernetes-validations": [{"rule": "self.n >= oldSelf.n", "message": "n must grow"}],
    }
    by_key = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["key"]}
    schema = {"type": "object", "properties": {"levels": {"type": "array", "items": entry, **by_key}}}
    before = {"levels": [{"key": "a", "n": 5}, {"key": "b", "n": 1}]}
    now = {"levels": [{"key": "b", "n": 2}, {"key": "a", "n": 4}, {"key": "c", "n": 0}]}

    assert [said for _, said in problems(schema, now, before)] == [
        'spec.levels[1]: Invalid value: "object": n must grow'
    ]


TOO_MUCH = "it may need more than 128 MiB of memory"
UNCHECKED = [
    ("isQuantity(self.a)", "undeclared reference to 'isQuantity' (in container '')"),
    ("self.a ==", "Syntax error"),
    ("self.a > 5", "No matching overloads found : _>_(string, int64)"),
    ("self.set.all(a, self.set.all(b, self.set.all(c, self.set.all(d, a != 'z'))))", "Iteration budget exceeded"),
    ("[self.a]" + ".map(a, a + a + a)" * 20 + ".size() == 1", TOO_MUCH),
    (
        "optional.of([self.a])" + ".optMap(a, a + a)" * 30 + ".hasValue()",
        "it calls optMap and optFlatMap more than 5",
    ),
    ("[self.a]" + ".map // comment\n (a, a + a + a)" * 20 + ".size() == 1", TOO_MUCH),
    ("self.a.replace('x', 'xxxxxxxx').size() > 1", "its memory has no bound"),
    ("self.a == '" + "x" * 5000 + "'", "it is longer than 4000 characters"),
    ("(" * 200 + "self.a" + ")" * 200 + " == 'x'", "Expression recursion limit exceeded. limit: 32"),
]


@pytest.mark.parametrize(("rule", "why"), UNCHECKED, ids=[rule[:40] for rule, _ in UNCHECKED])
def test_a_rule_that_cannot_be_evaluated_is_reported_once(rule: str, why: str) -> None:
    found = definition(with_rule(rule, message="the rule"))
    spec = {"a": "x", "set": [str(number) for number in range(20)]}

    (problem,) = found.problems(thing(spec))
    assert problem.effect is Effect.UNCHECKED
    assert problem.message.startswith(f"packwise does not check this rule: {why}")
    assert problem.message.endswith(". The rule: the rule")
    assert found.item.get(problem.path) == rule
    assert found.problems(thing(spec)) == []


HOSTILE = {
    "texts split in a loop": ("self.set.all(x, self.a.split('').size() > 0)", TOO_MUCH),
    "lists of lists": ("self.set.map(x, self.set.map(y, [x, y])).size() > 0", TOO_MUCH),
    "a list that is copied for each entry": ("self.set.map(x, x).size() > 0", TOO_MUCH),
    "a filter that takes all": ("self.set.filter(x, true).size() > 0", TOO_MUCH),
    "sums of texts": ("self.set.all(x, (self.a + x).size() > 0)", TOO_MUCH),
    "sums that grow": ("[self.a]" + ".map(a, a + a)" * 20 + ".size() > 0", TOO_MUCH),
    "lists that grow": ("[[self.a]]" + ".map(a, [a, a, a, a])" * 15 + " == [[self.a]]", TOO_MUCH),
    "texts in upper case": ("self.set.map(x, self.a.upperAscii()).size() > 0", TOO_MUCH),
    "a split that is split": ("self.a.split('').map(x, x.split('')).size() > 0", TOO_MUCH),
    "values with a name": ("self.?a" + ".optMap(a, a + a)" * 30 + ".hasValue()", "it calls optMap"),
    "texts that are looked for": ("self.set.all(x, !self.a.contains(self.a + 'y'))", TOO_MUCH),
    "places of texts": ("self.set.all(x, self.a.indexOf(self.a.substring(1) + 'y') < 0)", TOO_MUCH),
    "last places of texts": ("self.set.all(x, self.a.lastIndexOf('y' + self.a) < 0)", TOO_MUCH),
    "texts split by texts": ("self.a.split(self.a.substring(1) + 'y').size() == 1", TOO_MUCH),
    "patterns that repeat": ("self.set.all(x, !self.a.matches('(x?){500}x{500}y'))", TOO_MUCH),
    "patterns of the object": ("self.set.all(x, !self.a.matches(x + self.a))", TOO_MUCH),
    "a text that is looked for": ("!self.a.contains('y') && self.a.indexOf('xx') == 0 && self.a.matches('^x')", None),
    "an empty text split": ("self.set.all(x, ''.split('').size() > 0)", None),
    "a text split alone": ("self.a.split('').size() > 0", None),
    "texts that are compared": ("self.a == self.a + '' && self.set.exists(x, x == 'x8999')", None),
}


@pytest.mark.slow
@pytest.mark.parametrize(("rule", "why"), HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_rule_ends_within_its_memory(rule: str, why: str | None) -> None:
    spec = {"a": "x" * 100_000, "set": [f"x{number}" for number in range(9_000)]}

    messages = limited(with_rule(rule, message="the rule"), spec)

    assert [message.startswith(f"packwise does not check this rule: {why}") for message in messages] == (
        [] if why is None else [True]
    )


def test_a_hostile_message_ends_within_its_memory() -> None:
    spec = {"a": "x" * 100_000, "set": [f"x{number}" for number in range(9_000)]}
    expression = "self.set.map(x, self.a + x).size() > 0 ? 'a' : 'b'"

    messages = limited(with_rule("false", message="the rule", messageExpression=expression), spec)

    assert messages == ["breaks a rule of its CRD: the rule"]


def test_a_pattern_that_repeats_ends_within_its_time() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "pattern": "(x?){500}x{500}y"}}}

    assert limited(schema, {"a": "x" * 10_000_000}) == [
        (
            "packwise does not check this pattern for every string: a string is too long for this pattern; shorten "
            "one of them"
        )
    ]
    assert limited(schema, {"a": "xxx"}) == ['must match the pattern (x?){500}x{500}y; got "xxx"']


LONG_PATTERNS = {"a power": "a" + "{9999}" * 300_000, "none": "[[:" * 300_000, "letters": "a" * 1_000_000}


@pytest.mark.parametrize("pattern", LONG_PATTERNS.values(), ids=list(LONG_PATTERNS))
def test_a_long_pattern_is_not_looked_at(pattern: str) -> None:
    text = {"type": "string", "pattern": pattern}
    schema = {"type": "object", "properties": {"a": text, "b": {"type": "string", "pattern": "x"}}}

    assert limited(schema, {"a": "xxx", "b": "y"}) == [
        'must match the pattern x; got "y"',
        "packwise does not check this pattern for every string: it is longer than 4000 characters; shorten it",
    ]


def test_a_text_that_is_none_of_patterns_is_read_once() -> None:
    """RE2 needs a hundredth of a second to refuse the text."""
    list_of = {"type": "array", "items": {"type": "string", "pattern": "[[:" * 1_300}}
    schema = {"type": "object", "properties": {"l": list_of}}

    assert limited(schema, {"l": [str(number) for number in range(20_000)]}) == [
        "packwise does not check this pattern for every string: RE2 does not accept it; fix the pattern"
    ]


def test_many_texts_of_a_large_pattern_end_within_their_time() -> None:
    pattern = "((a|b)*a(a|b){90})?" * 100
    schema = {
        "type": "object",
        "properties": {"l": {"type": "array", "items": {"type": "string", "pattern": pattern}}},
    }

    assert limited(schema, {"l": [str(number) for number in range(5_000)]}) == [
        "packwise does not check this pattern for every string: one object has too many strings for patterns of this "
        "size; split the object, or shorten the patterns"
    ]


def test_ten_thousand_texts_of_a_usual_pattern_are_checked() -> None:
    schema = {
        "type": "object",
        "properties": {
            "l": {"type": "array", "items": {"type": "string", "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"}}
        },
    }

    assert limited(schema, {"l": [*[f"name-{number}" for number in range(10_000)], "A"]}) == [
        'must match the pattern ^[a-z0-9]([-a-z0-9]*[a-z0-9])?$; got "A"'
    ]


LIMITED = """
import json, resource, sys
resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
resource.setrlimit(resource.RLIMIT_AS, (512 << 20, 512 << 20))
from tests.validate.objects import problems
print(json.dumps([message for message, _ in problems(*json.load(sys.stdin))]))
"""
"""A script that the kernel ends if it takes more processor time, and that gets no more memory."""


def limited(schema: dict[str, Any], spec: Any) -> list[str]:
    """Return the problems of a thing, from a separate process."""
    done = subprocess.run(
        [sys.executable, "-c", LIMITED],
        input=json.dumps([schema, spec]), cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    return cast("list[str]", json.loads(done.stdout))


def test_rules_are_left_out_where_types_are_wrong() -> None:
    assert [said for _, said in problems(with_rule("self.n + 1 > 0"), {"n": "x"})] == [
        'spec.n: Invalid value: "string": spec.n in body must be of type integer: "string"'
    ]


def test_that_not_all_rules_are_checked_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("packwise.validate.cel.MAX_COST_OF_OBJECT", MIN_COST)
    found = definition(levels(UNIQUE, {"rule": "size(self) > 1", "message": "must be two"}))

    first, second = (found.problems(thing({"levels": [{"key": "a"}]})) for _ in range(2))

    assert [(problem.effect, problem.message) for problem in first] == [
        (
            Effect.UNCHECKED,
            "packwise does not check all rules of this CRD for every object: together, the rules need more than 1024 "
            "MiB for one object. Split that object, or limit its lists and strings in the CRD",
        )
    ]
    assert second == []


@pytest.mark.slow
def test_all_rules_of_an_object_are_bounded_together() -> None:
    """An API server limits all rules of a request together. packwise does not evaluate the rest, and
    reports that once.
    """
    rules = [{"rule": f"self.a != '{number}'"} for number in range(100)]
    inner: dict[str, Any] = {
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "x-kubernetes-validations": rules,
    }
    found = definition({"type": "object", "properties": {"l": {"type": "array", "items": inner}}})
    few, many = thing({"l": [{"a": "99"}] * 3}), thing({"l": [{"a": "99"}] * 2_000})

    first, second, third = (found.problems(each) for each in (few, many, many))

    assert [problem.message for problem in first] == ["breaks a rule of its CRD: failed rule: self.a != '99'"] * 3
    unchecked = [problem for problem in second if problem.effect is Effect.UNCHECKED]
    assert [problem.message for problem in unchecked] == [
        "packwise does not check all rules of this CRD for every object: together, the rules need more than 1024 MiB "
        "for one object. Split that object, or limit its lists and strings in the CRD"
    ]
    assert 1_000 < len(second) < 2_000
    assert third == second[:-1]


def test_a_schema_has_a_bounded_number_of_rules() -> None:
    with pytest.raises(SchemaError, match="must have at most 2000 rules"):
        definition(levels(*[{"rule": f"size(self) != {number}"} for number in range(2_001)]))
