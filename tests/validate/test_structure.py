"""Schemas: types, required fields, enums, patterns, bounds, formats, alternatives, duplicates, unknown fields."""

from __future__ import annotations

from typing import Any

import pytest

from packwise.findings import Effect

from .objects import definition, problems, thing

TEXT: dict[str, Any] = {"type": "string"}
NUMBER: dict[str, Any] = {"type": "integer"}


def with_field(schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": schema}}


AT = "spec.a"
IN_BODY = f"{AT} in body"

# A schema of the field `a`, a value, packwise's text, the API server's text after `spec.a: `.
REFUSED: list[tuple[dict[str, Any], Any, str, str]] = [
    (TEXT, 5, "must be a string; got 5", f'Invalid value: "integer": {IN_BODY} must be of type string: "integer"'),
    (NUMBER, "x", 'must be an integer; got "x"',
     f'Invalid value: "string": {IN_BODY} must be of type integer: "string"'),
    (NUMBER, 1.5, "must be an integer; got 1.5",
     f'Invalid value: "number": {IN_BODY} must be of type integer: "number"'),
    ({"type": "boolean"}, "no", 'must be true or false; got "no"',
     f'Invalid value: "string": {IN_BODY} must be of type boolean: "string"'),
    ({"type": "array", "items": TEXT}, {}, "must be a list; got a mapping",
     f'Invalid value: "object": {IN_BODY} must be of type array: "object"'),
    ({"x-kubernetes-int-or-string": True}, [], "must be an integer or a string; got a list",
     f'Invalid value: "array": {IN_BODY} must be of type integer,string: "array"'),
    ({"type": "string", "format": "date-time"}, 5, "must be a string; got 5",
     f'Invalid value: "int64": {IN_BODY} must be of type date-time: "int64"'),
    ({"type": "string", "enum": ["rack", "host"]}, "racks", 'must be one of "rack", "host"; got "racks"; did you '
     'mean "rack"?', 'Unsupported value: "racks": supported values: "rack", "host"'),
    ({"type": "integer", "enum": [1, 2]}, 3, 'must be one of "1", "2"; got 3',
     'Unsupported value: 3: supported values: "1", "2"'),
    ({"type": "string", "pattern": "^[a-z]+$"}, "A1", 'must match the pattern ^[a-z]+$; got "A1"',
     f"Invalid value: \"A1\": {IN_BODY} should match '^[a-z]+$'"),
    ({"type": "string", "minLength": 2}, "é", 'must be at least 2 characters long; got "é"',
     f'Invalid value: "é": {IN_BODY} should be at least 2 chars long'),
    ({"type": "string", "maxLength": 2}, "abc", "must be at most 2 characters long; got 3",
     "Too long: may not be more than 2 bytes"),
    ({"type": "string", "format": "date-time"}, "2026-13-01T00:00:00Z",
     'must be a text of the format date-time; got "2026-13-01T00:00:00Z"',
     f'Invalid value: "2026-13-01T00:00:00Z": {IN_BODY} must be of type date-time: "2026-13-01T00:00:00Z"'),
    ({"type": "integer", "minimum": 1}, 0, "must be at least 1; got 0",
     f"Invalid value: 0: {IN_BODY} should be greater than or equal to 1"),
    ({"type": "integer", "minimum": 1, "exclusiveMinimum": True}, 1, "must be greater than 1; got 1",
     f"Invalid value: 1: {IN_BODY} should be greater than 1"),
    ({"type": "integer", "maximum": 3, "exclusiveMaximum": True}, 3, "must be less than 3; got 3",
     f"Invalid value: 3: {IN_BODY} should be less than 3"),
    ({"type": "integer", "multipleOf": 8}, 12, "must be a multiple of 8; got 12",
     f"Invalid value: 12: {IN_BODY} should be a multiple of 8"),
    ({"type": "array", "items": TEXT, "minItems": 1}, [], "must have at least 1 entry; got none",
     f"Invalid value: 0: {IN_BODY} should have at least 1 items"),
    ({"type": "array", "items": TEXT, "maxItems": 1}, ["a", "b"], "must have at most 1 entry; got 2",
     "Too many: 2: must have at most 1 items"),
    ({"type": "array", "items": TEXT, "uniqueItems": True}, ["a", "a"], "must not contain an entry twice",
     f'Invalid value: "": {IN_BODY} shouldn\'t contain duplicates'),
    ({"type": "object", "additionalProperties": TEXT, "maxProperties": 1}, {"x": "a", "y": "b"},
     "must have at most 1 field; got 2", "Too many: 2: must have at most 1 items"),
    ({"type": "object", "additionalProperties": TEXT, "minProperties": 1}, {}, "must have at least 1 field; got none",
     f"Invalid value: 0: {IN_BODY} should have at least 1 properties"),
    ({"type": "integer", "not": {"enum": [5]}}, 5, "must match none of the alternatives in its CRD",
     f'<nil>: Invalid value: "": "{AT}" must not validate the schema (not)'),
    ({"type": "string", "oneOf": [{"minLength": 1}, {"maxLength": 3}]}, "ab",
     "must match exactly one of the alternatives in its CRD",
     f'<nil>: Invalid value: "": "{AT}" must validate one and only one schema (oneOf). Found 2 valid alternatives'),
    ({"type": "string", "anyOf": [{"pattern": "^a"}, {"pattern": "^b"}]}, "c",
     "must match one of the alternatives in its CRD",
     f'<nil>: Invalid value: "": "{AT}" must validate at least one schema (anyOf)'),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "value", "message", "text"), REFUSED)
def test_a_value_that_breaks_its_schema(schema: dict[str, Any], value: Any, message: str, text: str) -> None:
    whole = text if text.startswith("<nil>") else f"{AT}: {text}"

    assert problems(with_field(schema), {"a": value}) == [(message, whole)]


TAKEN: list[tuple[dict[str, Any], Any]] = [
    (TEXT, ""),
    ({"type": "number"}, 5),
    (NUMBER, 5.0),
    ({"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}, "50%"),
    ({"type": "string", "nullable": True}, None),
    ({"type": "string", "format": "int32"}, "a format of numbers means nothing to a text"),
    ({"type": "integer", "format": "int32"}, 1 << 40),
    ({"type": "string", "allOf": [{"minLength": 1}, {"pattern": "^a"}]}, "ab"),
    ({"type": "number", "multipleOf": 0.5}, 1.5),
    ({"type": "object", "additionalProperties": True}, {"x": 1}),
    ({"type": "object", "x-kubernetes-preserve-unknown-fields": True}, {"x": {"y": 1}}),
    ({"x-kubernetes-preserve-unknown-fields": True}, [{"y": 1}]),
]


@pytest.mark.parametrize(("schema", "value"), TAKEN)
def test_a_value_that_keeps_its_schema(schema: dict[str, Any], value: Any) -> None:
    assert problems(with_field(schema), {"a": value}) == []


def test_a_required_field_is_missed() -> None:
    schema = {**with_field(TEXT), "required": ["a"]}

    assert problems(schema, {}) == [("must be set", "spec.a: Required value")]


def test_a_null_counts_as_absent() -> None:
    schema = {**with_field(TEXT), "required": ["a"]}

    assert problems(schema, {"a": None}) == [("must be set", "spec.a: Required value")]


def test_a_default_stands_in_for_what_is_absent() -> None:
    schema = {**with_field({"type": "string", "default": "x"}), "required": ["a"]}

    assert problems(schema, {}) == []
    assert problems(schema, {"a": None}) == []


def test_an_unknown_field_names_the_nearest() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"levels": NUMBER, "name": TEXT}}

    assert problems(schema, {"level": 1}) == [
        ('unknown field "level" of "spec", known: "levels", "name"; did you mean "levels"?', None)
    ]


def test_a_value_of_a_wrong_type_has_that_one_problem() -> None:
    schema = with_field({"type": "array", "items": TEXT, "minItems": 1, "x-kubernetes-list-type": "set"})

    assert len(problems(schema, {"a": "x"})) == 1


def test_entries_with_the_same_keys() -> None:
    entry: dict[str, Any] = {
        "type": "object",
        "properties": {"port": NUMBER, "protocol": {"type": "string", "default": "TCP"}},
    }
    schema = with_field(
        {
            "type": "array",
            "items": entry,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["port", "protocol"],
        }
    )
    ports = [{"port": 1}, {"port": 1, "protocol": "TCP"}, {"port": 1, "protocol": "UDP"}, {"port": 1}]

    assert problems(schema, {"a": ports}) == [
        (
            'two entries have port 1, protocol "TCP"',
            'spec.a[1]: Duplicate value: {"port":1,"protocol":"TCP"}',
        )
    ]


def test_an_entry_of_a_map_that_is_no_mapping() -> None:
    anything = {"x-kubernetes-preserve-unknown-fields": True}
    keys = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}

    assert problems(with_field({"type": "array", "items": anything, **keys}), {"a": [{"name": "x"}, "y"]}) == [
        (
            'must be a mapping; got "y"',
            'spec.a[1]: Invalid value: "y": must be an object for an array of list-type map',
        )
    ]


def test_entries_of_a_set() -> None:
    schema = with_field({"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"})

    assert problems(schema, {"a": ["x", "y", "x"]}) == [('duplicate entry "x"', 'spec.a[2]: Duplicate value: "x"')]


def test_a_field_of_free_keys_is_found_where_it_stands() -> None:
    schema = with_field({"type": "object", "additionalProperties": NUMBER})

    assert problems(schema, {"a": {"b.c/d": "x"}}) == [
        (
            'must be an integer; got "x"',
            'spec.a.b.c/d: Invalid value: "string": spec.a.b.c/d in body must be of type integer: "string"',
        )
    ]


FORMATS = [
    ("date", "2026-02-28", "2026-02-30"),
    ("duration", "1h30m", "soon"),
    ("duration", "2 days", "2"),
    ("byte", "aGk=", "a"),
    ("ipv4", "10.0.0.1", "::1"),
    ("ipv6", "::1", "10.0.0.1"),
    ("cidr", "10.0.0.0/8", "10.0.0.0"),
    ("uri", "https://example.com/a", "a b"),
    ("uuid", "6fa459ea-ee8a-3ca4-894e-db77e160355e", "x"),
    ("uuid3", "6fa459ea-ee8a-3ca4-894e-db77e160355e", "6fa459ea-ee8a-4ca4-894e-db77e160355e"),
    ("hostname", "a.example", "-a"),
    ("email", "a@example.com", "a"),
    ("mac", "00:00:5e:00:53:01", "00:00:5e"),
    ("hexcolor", "#ffF", "#ff"),
]


@pytest.mark.parametrize(("name", "good", "bad"), FORMATS)
def test_formats(name: str, good: str, bad: str) -> None:
    schema = with_field({"type": "string", "format": name})

    assert problems(schema, {"a": good}) == []
    assert [message for message, _ in problems(schema, {"a": bad})] == [
        f'must be a text of the format {name}; got "{bad}"'
    ]


def test_a_pattern_that_is_not_checked_is_said_once_at_its_place_in_the_definition() -> None:
    hard = {"type": "string", "pattern": "(x?){500}x{500}y"}
    schema = {"type": "object", "properties": {"l": {"type": "array", "items": {"oneOf": [hard, NUMBER]}}}}

    (problem,) = definition(schema).problems(thing({"l": ["x" * 1_000_000] * 2}))

    assert problem.effect is Effect.UNCHECKED
    assert problem.path == (
        *("spec", "versions", 0, "schema", "openAPIV3Schema", "properties", "spec", "properties", "l", "items"),
        *("oneOf", 0, "pattern"),
    )
    assert problem.message.startswith(
        "packwise does not check this pattern for every string: a string is too long for this pattern"
    )
