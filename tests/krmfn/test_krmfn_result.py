from __future__ import annotations

import pytest

from krmfn import (
    ObjectId,
    ResourceRef,
    Result,
    ResultField,
    ResultFile,
    Severity,
    Value,
    exit_code,
    sort_results,
)

REF = ResourceRef("grove.io/v1alpha1", "PodCliqueSet", "team-a", "a")
FULL = Result(
    "must be one of the levels",
    Severity.WARNING,
    REF,
    ResultField("spec.x", "rak", "rack"),
    ResultFile("workloads/a.yaml", 1),
    {"rule": "unknown-level", "line": "12", "column": "5"},
)

CASES: list[tuple[Result, Value, str]] = [
    (Result("no"), {"message": "no", "severity": "error"}, "error: no"),
    (
        FULL,
        {
            "message": "must be one of the levels",
            "severity": "warning",
            "resourceRef": {
                "apiVersion": "grove.io/v1alpha1",
                "kind": "PodCliqueSet",
                "namespace": "team-a",
                "name": "a",
            },
            "field": {"path": "spec.x", "currentValue": "rak", "proposedValue": "rack"},
            "file": {"path": "workloads/a.yaml", "index": 1},
            "tags": {"rule": "unknown-level", "line": "12", "column": "5"},
        },
        "warning: workloads/a.yaml:12:5: PodCliqueSet team-a/a spec.x: must be one of the levels [unknown-level]",
    ),
    (
        Result("no name", resource_ref=ResourceRef("v1", "ConfigMap", "", ""), field=ResultField("metadata.name")),
        {
            "message": "no name",
            "severity": "error",
            "resourceRef": {"apiVersion": "v1", "kind": "ConfigMap", "name": ""},
            "field": {"path": "metadata.name"},
        },
        "error: ConfigMap metadata.name: no name",
    ),
    (
        Result("no kind", resource_ref=ResourceRef("v1", "", "team-a", ""), field=ResultField("kind")),
        {
            "message": "no kind",
            "severity": "error",
            "resourceRef": {"apiVersion": "v1", "kind": "", "namespace": "team-a", "name": ""},
            "field": {"path": "kind"},
        },
        "error: team-a/ kind: no kind",
    ),
    (
        Result("no object", resource_ref=ResourceRef("", "", "", "a"), field=ResultField("spec")),
        {"message": "no object", "severity": "error"},
        "error: a spec: no object",
    ),
    (
        Result("two\nlines", Severity.INFO, field=ResultField("spec.x"), tags={"line": "3"}),
        {"message": "two\nlines", "severity": "info", "tags": {"line": "3"}},
        "info: <stdin>:3: spec.x: two lines",
    ),
    (
        Result("cluster", resource_ref=ResourceRef("v1", "Node", "", "n"), file=ResultFile("n.yaml")),
        {
            "message": "cluster",
            "severity": "error",
            "resourceRef": {"apiVersion": "v1", "kind": "Node", "name": "n"},
            "file": {"path": "n.yaml"},
        },
        "error: n.yaml: Node n: cluster",
    ),
]


@pytest.mark.parametrize(("result", "value", "line"), CASES)
def test_as_value_and_as_text(result: Result, value: dict[str, Value], line: str) -> None:
    assert list(result.to_value().items()) == list(value.items())
    assert result.line_of_text() == line


def test_a_value_gives_the_result_back() -> None:
    assert Result.from_value(FULL.to_value()) == FULL


@pytest.mark.parametrize("value", [None, "x", {}, {"severity": "fatal", "file": 3, "tags": ["a"]}])
def test_what_is_no_result_is_an_empty_one(value: Value) -> None:
    assert Result.from_value(value) == Result("")


def test_ref_of_an_id() -> None:
    assert ResourceRef.of(ObjectId("grove.io/v1alpha1", "PodCliqueSet", "team-a", "a")) == REF


def test_order_and_exit_code() -> None:
    def one(file: str, line: str, severity: Severity, rule: str) -> Result:
        return Result("m", severity, file=ResultFile(file), tags={"line": line, "rule": rule})

    ordered = (
        Result("no file"),
        one("a.yaml", "2", Severity.ERROR, "b"),
        one("a.yaml", "10", Severity.ERROR, "a"),
        one("a.yaml", "10", Severity.ERROR, "b"),
        one("a.yaml", "10", Severity.WARNING, "a"),
        one("a.yaml", "10", Severity.INFO, "a"),
        one("b.yaml", "1", Severity.ERROR, "a"),
    )
    assert sort_results(reversed(ordered)) == ordered
    assert exit_code(ordered) == 1
    assert exit_code(ordered[4:6]) == 0
    assert exit_code(()) == 0


def test_what_a_webhook_refuses_in_one_object_stands_in_its_order() -> None:
    def refused(line: str, order: str, rule: str = "webhook") -> Result:
        tags = {"line": line, "rule": rule, "order": order, "stage": "webhook"}
        return Result("m", Severity.ERROR, file=ResultFile("a.yaml"), tags=tags)

    between = Result("m", Severity.ERROR, file=ResultFile("a.yaml"), tags={"line": "7", "rule": "other"})
    ordered = (refused("3", "0", "sorted"), refused("9", "0"), refused("5", "1"), between, refused("8", "1", "sorted"))

    assert sort_results(reversed(ordered)) == ordered
