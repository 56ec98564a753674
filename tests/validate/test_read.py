"""A malformed or hostile CRD causes an error in limited time, and never a crash."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krmfn.kubeobject import KubeObject
from packwise.validate.definition import read_definition
from packwise.validate.schema import MAX_DEPTH, SchemaError
from tests.places import ROOT

from .objects import crd, definition, thing

SPEC = ("spec", "versions", 0, "schema", "openAPIV3Schema", "properties", "spec")

WRONG: list[tuple[Any, tuple[str | int, ...], str]] = [
    ("x", (), 'must be a mapping; got "x"'),
    ({"type": "text"}, ("type",),
     'must be one of "array", "boolean", "integer", "number", "object", "string"; got "text"'),
    ({"type": ["string"]}, ("type",), "must be a string; got a list"),
    ({"properties": {"a": 5}}, ("properties", "a"), "must be a mapping; got 5"),
    ({"items": []}, ("items",), "must be a mapping; got a list"),
    ({"required": "a"}, ("required",), 'must be a list; got "a"'),
    ({"required": [1]}, ("required", 0), "must be a string; got 1"),
    ({"nullable": "yes"}, ("nullable",), 'must be true or false; got "yes"'),
    ({"minimum": "1"}, ("minimum",), 'must be a number; got "1"'),
    ({"maximum": 1 << 80}, ("maximum",), "must be a number of 64 bits"),
    ({"maxItems": 1.5}, ("maxItems",), "must be an integer; got 1.5"),
    ({"x-kubernetes-list-type": "bag"}, ("x-kubernetes-list-type",),
     'must be one of "atomic", "map", "set"; got "bag"'),
    ({"x-kubernetes-validations": ["self"]}, ("x-kubernetes-validations", 0), 'must be a mapping; got "self"'),
    ({"x-kubernetes-validations": [{"rule": "true", "fieldPath": "a"}]}, ("x-kubernetes-validations", 0, "fieldPath"),
     'must be a path such as .spec.replicas; got "a"'),
    ({"$ref": "#/definitions/a"}, ("$ref",), (
        "must not be used: the schema of a CRD must be complete, without references"
    )),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "path", "message"), WRONG)
def test_a_schema_that_is_none(schema: Any, path: tuple[str | int, ...], message: str) -> None:
    with pytest.raises(SchemaError) as caught:
        definition(schema)

    assert (caught.value.path, caught.value.message) == ((*SPEC, *path), message)


BROKEN: list[tuple[dict[str, Any], tuple[str | int, ...], str]] = [
    ({"group": 5}, ("spec",), "must name a group and a kind"),
    ({"names": {}}, ("spec",), "must name a group and a kind"),
    ({"versions": {}}, ("spec", "versions"), "must be a list; got a mapping"),
    ({"versions": [{"name": "v1"}]}, ("spec", "versions", 0, "schema", "openAPIV3Schema"),
     "must be a mapping; got null"),
]  # fmt: skip


@pytest.mark.parametrize(("edits", "path", "message"), BROKEN)
def test_a_definition_that_is_none(edits: dict[str, Any], path: tuple[str | int, ...], message: str) -> None:
    value = crd({"type": "object"})
    value["spec"].update(edits)

    with pytest.raises(SchemaError) as caught:
        read_definition(KubeObject.new(value))

    assert (caught.value.path, caught.value.message) == (path, message)


def test_a_schema_is_nested_so_deep_only() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(MAX_DEPTH + 1):
        schema = {"type": "array", "items": schema}

    with pytest.raises(SchemaError, match=f"must not be nested deeper than {MAX_DEPTH} levels"):
        definition(schema)


def test_versions_that_are_not_served_mean_nothing() -> None:
    value = crd({"type": "object"})
    value["spec"]["versions"] += [{"name": "v0", "served": False}, {**value["spec"]["versions"][0], "name": "v2"}]
    found = read_definition(KubeObject.new(value))

    (problem,) = found.problems({**thing({}), "apiVersion": "example.com/v0"})

    assert problem.message == 'its CRD serves only "example.com/v1", "example.com/v2"; got "example.com/v0"'
    assert problem.operator_message == 'no matches for kind "Thing" in version "example.com/v0"'


LIMITED = """
import json, resource, sys
resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
from tests.validate.objects import problems
print(json.dumps(problems(*json.load(sys.stdin))))
"""
"""A script that the kernel ends if it takes more processor time. No figure is tested, because unlimited work would
never end.
"""


def problems_in_time(schema: dict[str, Any], spec: Any) -> list[list[str | None]]:
    """Return the problems of a thing within the limit: packwise's text and the API server's text."""
    given = json.dumps([schema, spec])
    done = subprocess.run(
        [sys.executable, "-c", LIMITED], input=given, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
    )
    return cast("list[list[str | None]]", json.loads(done.stdout))


def test_a_pattern_takes_time_that_is_linear_in_the_text() -> None:
    schema: dict[str, Any] = {"type": "string", "pattern": "^((a+)+)+$"}

    assert len(problems_in_time(schema, "a" * 5000 + "!")) == 1


def test_a_pattern_that_is_none_refuses_nothing() -> None:
    said = "packwise does not check this pattern for every string: RE2 does not accept it; fix the pattern"

    assert problems_in_time({"type": "string", "pattern": "(?=a)b("}, "c") == [[said, None]]


@pytest.mark.parametrize("name", ["email", "duration", "hostname", "date-time", "uri", "byte"])
def test_formats_take_time_that_is_linear_in_the_text(name: str) -> None:
    assert len(problems_in_time({"type": "string", "format": name}, "1a@.:-T" * 50_000)) <= 1


def test_alternatives_within_alternatives_are_looked_at_once() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for name in ("allOf", "anyOf", "oneOf") * 15:
        schema = {name: [schema]}

    assert problems_in_time(schema, "a") == []
    assert problems_in_time(schema, 5) != []


KEYS = st.sampled_from([
    "type", "properties", "items", "required", "enum", "pattern", "format", "minimum", "maxLength", "nullable",
    "default", "additionalProperties", "anyOf", "not", "x-kubernetes-list-type", "x-kubernetes-list-map-keys",
    "multipleOf", "x-kubernetes-validations", "x-kubernetes-int-or-string", "rule", "message", "fieldPath", "a", "b",
])  # fmt: skip
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=5),
    st.sampled_from(["object", "array", "string", "integer", "map", "set", "self.a == 1", "oldSelf == self", "^a"]),
)  # fmt: skip
ANYTHING: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=4)),
    max_leaves=20,
)


@given(schema=ANYTHING, now=ANYTHING, before=ANYTHING)
def test_no_schema_and_no_object_is_a_crash(schema: Any, now: Any, before: Any) -> None:
    try:
        found = definition(schema).problems(thing(now), thing(before))
    except SchemaError:
        return
    assert [problem for problem in found if not problem.message] == []
