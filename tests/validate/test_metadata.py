"""The metadata of objects. No CRD describes it."""

from __future__ import annotations

from typing import Any

import pytest

from krmfn.fieldpath import format_path

from .objects import definition

QUALIFIED = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
LABEL = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
INTO = "json: cannot unmarshal %s into Go struct field ObjectMeta.%s of type %s"

# Metadata, the field, packwise's text, the API server's text.
REFUSED: list[tuple[Any, str, str, str]] = [
    ("web", "metadata", 'must be a mapping; got "web"',
     "json: cannot unmarshal string into Go value of type v1.ObjectMeta"),
    ({"name": 5}, "metadata.name", "must be a string; got 5", INTO % ("number", "name", "string")),
    ({"name": "a", "namespace": []}, "metadata.namespace", "must be a string; got a list",
     INTO % ("array", "namespace", "string")),
    ({"name": "a", "labels": []}, "metadata.labels", "must be a mapping; got a list",
     INTO % ("array", "labels", "map[string]string")),
    ({"name": "a", "annotations": {"b": True}}, "metadata.annotations.b", "must be a string; got true",
     INTO % ("bool", "annotations", "string")),
    ({}, "metadata.name", "must be set", "metadata.name: Required value: name or generateName is required"),
    ({"name": "A"}, "metadata.name", f'must be a DNS subdomain; got "A": {SUBDOMAIN}',
     f'metadata.name: Invalid value: "A": {SUBDOMAIN}'),
    ({"generateName": "A--"}, "metadata.generateName", f'must be a DNS subdomain; got "A--": {SUBDOMAIN}',
     f'metadata.generateName: Invalid value: "A--": {SUBDOMAIN}'),
    ({"name": "a", "namespace": "b.c"}, "metadata.namespace", 'must be a DNS label; got "b.c": must not contain dots',
     'metadata.namespace: Invalid value: "b.c": must not contain dots'),
    ({"name": "a", "annotations": {"b c": "d"}}, "metadata.annotations[b c]",
     f'must be a qualified name; got "b c": {QUALIFIED}', f'metadata.annotations: Invalid value: "b c": {QUALIFIED}'),
    ({"name": "a", "labels": {"b c": "d"}}, "metadata.labels[b c]",
     f'must be a qualified name; got "b c": {QUALIFIED}', f'metadata.labels: Invalid value: "b c": {QUALIFIED}'),
    ({"name": "a", "labels": {"b": "d e"}}, "metadata.labels.b", f'must be a label\'s value; got "d e": {LABEL}',
     f'metadata.labels: Invalid value: "d e": {LABEL}'),
]  # fmt: skip

TAKEN: list[dict[str, Any]] = [
    {"name": "a.b"},
    {"generateName": "A-"},
    {"name": "a", "labels": None, "annotations": {"EXAMPLE.com/B": "any text"}, "namespace": ""},
    {"name": "a", "labels": {"b": None, "c": ""}},
]


def problems(metadata: Any) -> list[tuple[str, str, str | None]]:
    value: dict[str, Any] = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": metadata, "spec": {}}
    found = definition({"type": "object"}).problems(value)
    return [(format_path(problem.path), problem.message, problem.operator_message) for problem in found]


@pytest.mark.parametrize(("metadata", "field", "message", "text"), REFUSED, ids=[row[1] for row in REFUSED])
def test_metadata_that_the_api_server_refuses(metadata: Any, field: str, message: str, text: str) -> None:
    assert problems(metadata) == [(field, message, text)]


@pytest.mark.parametrize("metadata", TAKEN, ids=str)
def test_metadata_that_the_api_server_takes(metadata: dict[str, Any]) -> None:
    assert problems(metadata) == []
