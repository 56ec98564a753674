"""The fields in which two values differ, the order of objects, and constraints among the fields."""

from __future__ import annotations

from typing import Any

import pytest

from krmfn.yamltext import read
from packwise.diff.change import (
    Action,
    NamedEntry,
    ObjectChange,
    Steps,
    entries_by_name,
    field_changes,
    format_steps,
    in_order,
    part_at,
)
from packwise.diff.difference import constraint_text, constraints, topologies_named
from packwise.objects.index import Identity

Changes = list[tuple[str, Any, Any]]

CHANGED: list[tuple[str, str, str, Changes]] = [
    ("nothing", "{a: 1, b: [1], c: {d: null}}", "{c: {d: null}, b: [1], a: 1}", []),
    ("a number and a text", "{a: 1}", '{a: "1"}', [("a", 1, "1")]),
    ("scalars", "1", "2", [("", 1, 2)]),
    ("in the order of what is there, what is gone behind what it stood behind", "{z: 1, a: 1, y: 1, b: 1, x: 1}",
     "{b: 2, new: 2, a: 2}",
     [("z", 1, None), ("b", 1, 2), ("x", 1, None), ("new", None, 2), ("a", 1, 2), ("y", 1, None)]),
    ("a mapping comes", "{a: 1}", "{a: 1, b: {c: 1, d: {e: 2}}}", [("b.c", None, 1), ("b.d.e", None, 2)]),
    ("a mapping goes", "{b: {c: 1}}", "{}", [("b.c", 1, None)]),
    ("an empty mapping comes", "{}", "{a: {}}", [("a", None, {})]),
    ("an empty list comes", "{}", "{a: []}", [("a", None, [])]),
    ("a list of scalars", "{a: [1, 2]}", "{a: [1, 3]}", [("a", [1, 2], [1, 3])]),
    ("entries without names by their places", "{a: [{b: 1}, {b: 2}]}", "{a: [{b: 1}, {b: 3}]}", [("a[1].b", 2, 3)]),
    ("more entries without names", "{a: [{b: 1}]}", "{a: [{b: 1}, {b: 3}]}",
     [("a", [{"b": 1}], [{"b": 1}, {"b": 3}])]),
    ("scalars among entries without names", "{a: [{b: 1}, 2]}", "{a: [{b: 2}, 2]}",
     [("a", [{"b": 1}, 2], [{"b": 2}, 2])]),
    ("entries by name, whatever their order", "{a: [{name: x, b: 1}, {name: y, b: 2}]}",
     "{a: [{name: y, b: 3}, {name: x, b: 1}]}", [("a[y].b", 2, 3)]),
    ("entries that come and go are whole", "{a: [{name: x, b: {c: 1}}]}", "{a: [{name: y, b: {c: 1}}]}",
     [("a[x]", {"name": "x", "b": {"c": 1}}, None), ("a[y]", None, {"name": "y", "b": {"c": 1}})]),
    ("a list of named entries comes", "{}", "{a: [{name: x}]}", [("a[x]", None, {"name": "x"})]),
    ("a list of other entries comes", "{}", "{a: [{b: 1}]}", [("a", None, [{"b": 1}])]),
    ("names that stand twice are none", "{a: [{name: x, b: 1}, {name: x, b: 1}]}",
     "{a: [{name: x, b: 1}, {name: x, b: 2}]}", [("a[1].b", 1, 2)]),
    ("a mapping becomes a list", "{a: {b: 1}}", "{a: [1]}", [("a", {"b": 1}, [1])]),
    ("keys with dots stand in brackets", "{a: {b.c/d: 1}}", "{a: {b.c/d: 2}}", [("a[b.c/d]", 1, 2)]),
]  # fmt: skip


def value(text: str) -> Any:
    return read(text)


@pytest.mark.parametrize(("before", "after", "expected"), [row[1:] for row in CHANGED], ids=[row[0] for row in CHANGED])
def test_fields_that_differ(before: str, after: str, expected: Changes) -> None:
    found = field_changes(value(before), value(after))

    assert [(format_steps(change.path), change.before, change.after) for change in found] == expected


@pytest.mark.parametrize(("path", "text"), [
    ((), ""),
    (("spec", "levels", 0, "key"), "spec.levels[0].key"),
    (("spec", "podgroups", NamedEntry("a.b"), "minReplicas"), "spec.podgroups[a.b].minReplicas"),
    (("metadata", "labels", "a/b"), "metadata.labels[a/b]"),
    ((0, "a"), "[0].a"),
])  # fmt: skip
def test_paths_as_people_read_them(path: Steps, text: str) -> None:
    assert format_steps(path) == text


@pytest.mark.parametrize(("text", "step", "expected"), [
    ("{a: 1}", "a", 1),
    ("{a: 1}", "b", None),
    ("[1]", "a", None),
    ("[1, 2]", 1, 2),
    ("[1, 2]", 2, None),
    ("{a: 1}", 0, None),
    ("[{name: a, b: 1}]", NamedEntry("a"), {"name": "a", "b": 1}),
    ("[{name: a}]", NamedEntry("b"), None),
    ("[{b: 1}]", NamedEntry("a"), None),
    ("{name: a}", NamedEntry("a"), None),
])  # fmt: skip
def test_the_part_of_a_step(text: str, step: str | int | NamedEntry, expected: Any) -> None:
    assert part_at(value(text), step) == expected


@pytest.mark.parametrize(("text", "expected"), [
    ("[]", {}),
    ("[{name: a}, {name: b, c: 1}]", {"a": {"name": "a"}, "b": {"name": "b", "c": 1}}),
    ("[{name: a}, {name: a}]", None),
    ("[{name: a}, {}]", None),
    ("[{name: 1}]", None),
    ("[a]", None),
])  # fmt: skip
def test_entries_by_name(text: str, expected: Any) -> None:
    assert entries_by_name(value(text)) == expected


def object_of_kind(kind: str, name: str, namespace: str = "", group: str = "a") -> Identity:
    return group, kind, namespace, name


def test_objects_are_in_order_of_kind_namespace_and_name() -> None:
    expected = [
        object_of_kind("ClusterTopology", "z"),
        object_of_kind("Topology", "a"),
        object_of_kind("PodGang", "b", "a"),
        object_of_kind("PodGang", "a", "b"),
        object_of_kind("Other", "a"),
        object_of_kind("Others", "a", group="0"),
        object_of_kind("Others", "a", group="1"),
        object_of_kind("Others", "7", group="2"),
        object_of_kind("Others", "10", group="2"),
        object_of_kind("Others", "a", group="2"),
        object_of_kind("Others", "a-1-bb-2", group="2"),
        object_of_kind("Others", "a-1-c-1", group="2"),
        object_of_kind("Others", "a-02", group="2"),
        object_of_kind("Others", "a-2", group="2"),
        object_of_kind("Others", "a-3", group="2"),
        object_of_kind("Others", "a-10", group="2"),
        object_of_kind("Others", "a-30", group="2"),
        object_of_kind("Others", "a-100", group="2"),
    ]

    assert in_order(reversed(expected)) == expected
    assert in_order(expected) == expected


def test_a_change_is_of_an_object() -> None:
    with pytest.raises(ValueError, match=r"^a change must have an object before or after it$"):
        _ = ObjectChange(Action.CREATE, None, None).subject


PODGANG = """
apiVersion: scheduler.grove.io/v1alpha1
kind: PodGang
metadata: {annotations: {grove.io/topology-name: named}}
spec:
  topologyConstraint: {packConstraint: {required: a, preferred: b}}
  podgroups:
  - {name: x, topologyConstraint: {packConstraint: {preferred: c}}}
  - {name: y, topologyConstraint: {packConstraint: {required: ""}}}
  groups: [text, {topologyConstraint: {topology: t, requiredTopologyLevel: d}}]
status: {topologyConstraint: {packConstraint: {required: g}}}
"""
PODGROUP = """
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {annotations: {grove.io/topology-name: named}}
spec:
  groups: [text, {topologyConstraint: {topology: t, requiredTopologyLevel: d, preferredTopologyLevel: e}}]
  others: [{topologyConstraint: {topology: 1, requiredTopologyLevel: f}}, {topologyConstraint: text}]
"""


def test_constraints_wherever_they_stand() -> None:
    found = constraints(value(PODGANG))

    assert [(each.strength, each.key, constraint_text(each)) for each in found] == [
        ("required", "a", "required a"),
        ("preferred", "b", "preferred b"),
        ("preferred", "c", "preferred c of podgroups[x]"),
    ]
    assert constraint_text(found[2], "rack") == 'preferred c ("rack") of podgroups[x]'
    assert topologies_named(value(PODGANG)) == {"named"}


def test_constraints_that_name_their_topology() -> None:
    assert [(each.topology, constraint_text(each)) for each in constraints(value(PODGROUP))] == [
        ("t", "required d of groups[1]"),
        ("t", "preferred e of groups[1]"),
        (None, "required f of others[0]"),
    ]
    assert topologies_named(value(PODGROUP)) == {"named", "t"}


def test_gangs_of_a_kind_without_constraints_have_none() -> None:
    other = value(PODGROUP.replace("scheduling.run.ai/v2alpha2", "scheduling.volcano.sh/v1beta1"))

    assert constraints(other) == []
    assert topologies_named(other) == set()


@pytest.mark.parametrize("text", [
    "{}",
    "{metadata: a}",
    "{metadata: {annotations: [grove.io/topology-name]}}",
    "{metadata: {annotations: {grove.io/topology-name: 1}}}",
    "{apiVersion: scheduler.grove.io/v1alpha1, kind: PodGang, metadata: {annotations: [a]}}",
    "{spec: {topologyConstraint: {packConstraint: {required: a}}}}",
])  # fmt: skip
def test_objects_that_name_no_topology(text: str) -> None:
    assert topologies_named(value(text)) == set()
