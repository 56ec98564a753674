"""KAI's Topology: its manifest, and the errors of KAI's API server about its levels, word for word."""

from __future__ import annotations

from typing import Any

import pytest

from krmfn.fieldpath import format_path
from packwise.schedulers.kai.topology import topology_problems, topology_value
from packwise.topology.known import node_labels

PATTERN = (
    "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
)
LABEL = "must be a label key, with its prefix in lower case; got "
LONG = "example.com/" + "a" * 304
MANY = [f"example.com/level-{number}" for number in range(16)]

LOWEST = "spec.levels: Invalid value: the kubernetes.io/hostname label can only be used at the lowest level of topology"

REFUSED: list[tuple[list[str], list[tuple[str, str, str]]]] = [
    ([], [(
        "spec.levels",
        "must have at least one level; got none",
        "spec.levels: Invalid value: 0: spec.levels in body should have at least 1 items",
    )]),
    ([*MANY, "example.com/one-more"], [(
        "spec.levels",
        "must have at most 16 levels; got 17",
        "spec.levels: Too many: 17: must have at most 16 items",
    )]),
    (["a", ""], [(
        "spec.levels[1].nodeLabel",
        f'{LABEL}""',
        'spec.levels[1].nodeLabel: Invalid value: "": spec.levels[1].nodeLabel in body should be at least 1 chars long',
    )]),
    (["Example.com/a"], [(
        "spec.levels[0].nodeLabel",
        f'{LABEL}"Example.com/a"',
        f'spec.levels[0].nodeLabel: Invalid value: "Example.com/a": spec.levels[0].nodeLabel in body should match '
        f"'{PATTERN}'",
    )]),
    ([f"{LONG}a"], [(
        "spec.levels[0].nodeLabel",
        f'{LABEL}"{LONG}a"',
        "spec.levels[0].nodeLabel: Too long: may not be more than 316 bytes",
    )]),
    (["a", "b", "a"], [(
        "spec.levels[2].nodeLabel",
        'duplicate level "a"',
        'spec.levels: Invalid value: nodeLabel must be unique',
    )]),
    (["kubernetes.io/hostname", "a"], [(
        "spec.levels[0].nodeLabel",
        '"kubernetes.io/hostname" must be the lowest level, but "a" is below it',
        'spec.levels: Invalid value: the kubernetes.io/hostname label can only be used at the lowest level of '
        "topology",
    )]),
]  # fmt: skip


@pytest.mark.parametrize(("keys", "expected"), REFUSED)
def test_what_kai_refuses(keys: list[str], expected: list[tuple[str, str, str]]) -> None:
    found = topology_problems(topology_value("gb200", keys))

    assert [(format_path(problem.path), problem.message, problem.operator_message) for problem in found] == expected


def test_what_breaks_a_rule_twice_is_told_in_one_text() -> None:
    found = topology_problems(topology_value("gb200", ["kubernetes.io/hostname", "kubernetes.io/hostname", "a", "a"]))

    assert [(format_path(problem.path), problem.operator_message) for problem in found] == [
        ("spec.levels[1].nodeLabel", "spec.levels: Invalid value: nodeLabel must be unique"),
        ("spec.levels[3].nodeLabel", None),
        ("spec.levels[0].nodeLabel", LOWEST),
        ("spec.levels[1].nodeLabel", None),
    ]


FROM, TO = topology_value("gb200", ["a", "b"]), topology_value("gb200", ["b", "a"])
ALIASED = {**FROM, "spec": {"levels": [{"nodeLabel": "a", "alias": "block"}, {"nodeLabel": "b"}]}}


@pytest.mark.parametrize(("before", "value", "minor", "texts"), [
    (FROM, TO, 17, ["spec.levels: Invalid value: nodeLabel structure is immutable; only aliases may be edited"]),
    (FROM, TO, 16, ["spec.levels: Invalid value: field is immutable"]),
    (FROM, topology_value("gb200", ["a"]), 18,
     ["spec.levels: Invalid value: nodeLabel structure is immutable; only aliases may be edited"]),
    (FROM, topology_value("gb200", ["a", "a"]), 16,
     ["spec.levels: Invalid value: field is immutable", "spec.levels: Invalid value: must be unique"]),
    (FROM, ALIASED, 17, []),
    (ALIASED, FROM, 17, []),
    (FROM, FROM, 12, []),
])  # fmt: skip
def test_the_levels_stay(before: Any, value: Any, minor: int, texts: list[str]) -> None:
    assert [problem.operator_message for problem in topology_problems(value, before, version=f"v0.{minor}")] == texts


@pytest.mark.parametrize("keys", [["a"], MANY, [LONG], ["example.com/a", "kubernetes.io/hostname"]])
def test_what_kai_takes(keys: list[str]) -> None:
    assert topology_problems(topology_value("gb200", keys)) == []


def test_a_topology_and_its_keys() -> None:
    value = topology_value("gb200", ["example.com/rack", "kubernetes.io/hostname"], {"team": "a"})

    assert value == {
        "apiVersion": "kai.scheduler/v1alpha1",
        "kind": "Topology",
        "metadata": {"name": "gb200", "labels": {"team": "a"}},
        "spec": {"levels": [{"nodeLabel": "example.com/rack"}, {"nodeLabel": "kubernetes.io/hostname"}]},
    }
    assert node_labels(value) == ["example.com/rack", "kubernetes.io/hostname"]
    assert topology_value("gb200", [])["metadata"] == {"name": "gb200"}


@pytest.mark.parametrize(("spec", "keys"), [
    (None, []),
    ({}, []),
    ({"levels": "a"}, []),
    ({"levels": ["a", {"nodeLabel": 1}, {"key": "b"}, {"nodeLabel": "c"}]}, ["c"]),
])  # fmt: skip
def test_keys_are_read_from_what_has_the_shape(spec: Any, keys: list[str]) -> None:
    assert node_labels({"spec": spec}) == keys
