"""Levels and their order, topologies in the input, and findings about them."""

from __future__ import annotations

from typing import Any

import pytest

from krmfn import KubeObject
from krmfn.fieldpath import format_path
from packwise.findings import Problem
from packwise.pipeline.selection import Package, topologies_of
from packwise.pipeline.steps import read_package
from packwise.revisions.grove import DESIGN_1, DESIGN_2, UPSTREAM
from packwise.topology.bindings import binding_problems, references_of, webhook_problems
from packwise.topology.known import (
    ClusterTopology,
    Condition,
    KnownTopology,
    LastError,
    Level,
    Status,
    check_order,
    clustertopology_problems,
    clustertopology_value,
    is_narrower,
    rank,
    read_levels,
    sort_levels,
    topology_status,
    with_finalizer,
)

ZONE, RACK, HOST = Level("zone", "a"), Level("rack", "b"), Level("host", "c")
TOPOLOGY = ClusterTopology("t", (ZONE, RACK, HOST))


def topology(spec: str, kind: str = "ClusterTopology", name: str = "t") -> KubeObject:
    return KubeObject.parse(f"apiVersion: grove.io/v1alpha1\nkind: {kind}\nmetadata: {{name: {name}}}\nspec: {spec}\n")


def told(problems: Any) -> list[tuple[str, str, str | None, str]]:
    found: list[Problem] = list(problems)
    stages = [problem.stage.value if problem.stage is not None else "-" for problem in found]
    return [
        (format_path(problem.path), problem.message, problem.operator_message, stage)
        for problem, stage in zip(found, stages, strict=True)
    ]


def test_levels_of_a_topology() -> None:
    assert [TOPOLOGY.level_of(domain) for domain in ("zone", "host", "block")] == [ZONE, HOST, None]
    assert (TOPOLOGY.narrowest_level, ClusterTopology("t", ()).narrowest_level) == (HOST, None)
    assert TOPOLOGY.domains == ("zone", "rack", "host")


def test_the_order_of_domains() -> None:
    domains = ("region", "zone", "datacenter", "block", "rack", "host", "numa", "row")

    assert [rank(domain) for domain in domains] == [0, 1, 2, 3, 4, 5, 6, 0]
    assert [is_narrower(*pair) for pair in (("rack", "zone"), ("zone", "rack"), ("rack", "rack"))] == [
        True,
        False,
        False,
    ]
    assert sort_levels([HOST, RACK, Level("row", "d"), ZONE, Level("region", "e")]) == (
        Level("row", "d"),
        Level("region", "e"),
        ZONE,
        RACK,
        HOST,
    )


@pytest.mark.parametrize(("spec", "levels"), [
    ("{levels: [{domain: zone, key: a}, {domain: rack, key: b}]}", (ZONE, RACK)),
    ("{levels: [text, {domain: 1, key: a}, {domain: zone, key: 1}, {domain: zone}, {key: a}, {domain: rack, key: b}]}",
     (RACK,)),
    ("{levels: text}", ()),
    ("text", ()),
])  # fmt: skip
def test_levels_are_read_from_what_has_the_shape(spec: str, levels: tuple[Level, ...]) -> None:
    assert read_levels(topology(spec)) == ClusterTopology("t", levels)


def test_the_manifest_of_a_topology() -> None:
    levels = [{"domain": "zone", "key": "a"}, {"domain": "rack", "key": "b"}, {"domain": "host", "key": "c"}]
    head = {"apiVersion": "grove.io/v1alpha1", "kind": "ClusterTopology"}

    assert clustertopology_value(TOPOLOGY) == {**head, "metadata": {"name": "t"}, "spec": {"levels": levels}}
    assert clustertopology_value(TOPOLOGY, (("d", "e"),), ("f",)) == {
        **head,
        "metadata": {"name": "t", "labels": {"d": "e"}, "finalizers": ["f"]},
        "spec": {"levels": levels},
    }


def test_places_of_levels_are_those_of_the_list() -> None:
    known = KnownTopology.of_item(topology("{levels: [{domain: zone, key: a}, {domain: rack, key: b}]}"), valid=False)

    assert (known.topology, known.is_valid, known.references) == (ClusterTopology("t", (ZONE, RACK)), False, {})
    assert [format_path(place.path) for place in (known.levels, *known.places)] == [
        "spec.levels",
        "spec.levels[0]",
        "spec.levels[1]",
    ]


def configured(section: str) -> str:
    return f"{section}: {{enabled: true, levels: [{{domain: rack, key: b}}]}}"


OWN = ("grove-topology", "{levels: [{domain: rack, key: b}]}")
OTHER = ("grove-topology", "{levels: [{domain: rack, key: c}]}")
USERS = ("t", "{levels: [{domain: rack, key: b}]}")
LABELLED = "labels: {app.kubernetes.io/managed-by: grove-operator}"


@pytest.mark.parametrize(("spec", "users", "known", "written", "generated"), [
    (configured("topology"), [OWN], ["grove-topology"], ["grove-topology"], []),
    (configured("topology"), [USERS], ["grove-topology"], [], ["grove-topology"]),
    (configured("clusterTopology"), [OWN], ["grove-topology"], ["grove-topology"], []),
    (configured("clusterTopology"), [OTHER, USERS], ["grove-topology"], [], []),
    (f"revision: grep-244, {configured('topologyAwareScheduling')}", [OWN, USERS], ["grove-topology"],
     ["grove-topology"], []),
    (configured("topologyAwareScheduling"), [OWN, USERS], ["grove-topology", "t"], ["grove-topology", "t"], []),
    (configured("topologyAwareScheduling"), [USERS, OTHER], ["grove-topology", "t"], ["t"], []),
    (configured("topologyAwareScheduling"), [USERS], ["grove-topology", "t"], ["t"], ["grove-topology"]),
])  # fmt: skip
def test_which_topologies_are_known_written_by_users_and_generated(
    spec: str, users: list[tuple[str, str]], known: list[str], written: list[str], generated: list[str]
) -> None:
    head = "apiVersion: packwise.dev/v1alpha1\nkind: TopologyRender\nmetadata: {name: topology}\n"
    settings = KubeObject.parse(f"{head}spec: {{{spec}}}\n")
    named = [topology(text, name=f"{name}, {LABELLED}" if name != "t" else name) for name, text in users]

    found = topologies_of(*read_package(Package((settings, *named))))

    assert (list(found.by_name), sorted(found.written)) == (known, written)
    assert [KubeObject.new(each.value).name for each in found.generated] == generated


@pytest.mark.parametrize(("metadata", "finalizers", "expected"), [
    ("{name: t}", (), None),
    ("{name: t}", ("a",), ["a"]),
    ("{name: t}", ("a", "b"), ["a", "b"]),
    ("{name: t, finalizers: []}", ("a",), ["a"]),
    ("{name: t, finalizers: [a, c]}", ("a", "b"), ["a", "c", "b"]),
    ("{name: t, finalizers: [a]}", ("a",), ["a"]),
])  # fmt: skip
def test_finalizers_are_added_where_they_are_not_there(
    metadata: str, finalizers: tuple[str, ...], expected: list[str] | None
) -> None:
    item = KubeObject.parse(f"apiVersion: grove.io/v1alpha1\nkind: ClusterTopology\nmetadata: {metadata}\n")

    assert with_finalizer(item, finalizers).get("metadata.finalizers") == expected


def test_the_status_of_a_topology() -> None:
    ready = Condition(
        "Ready", "True", "TopologyReady", "ClusterTopology configured and KAI Topology created successfully"
    )
    failed = Condition("Ready", "False", "TopologyCreationOrUpdateFailed", "Failed to create KAI Topology CR: no")
    error = LastError("KAI_TOPOLOGY_CREATE_ERROR", "Failed to create KAI Topology resource: no")

    assert topology_status(DESIGN_2, None) == Status((ready,))
    assert topology_status(DESIGN_2, "no") == Status((failed,), (error,))
    assert topology_status(UPSTREAM, "no") == Status()


SHAPES = [
    ("text", [("spec", 'must be a mapping; got "text"',
               'spec: Invalid value: "string": spec in body must be of type object: "string"', "schema")]),
    ("{}", [("spec.levels", "must be a list; it is not set", "spec.levels: Required value", "schema")]),
    ("{levels: {}}", [("spec.levels", "must be a list; got a mapping",
                       'spec.levels: Invalid value: "object": spec.levels in body must be of type array: "object"',
                       "schema")]),
    ("{levels: []}", [("spec.levels", "must have at least one level; got none",
                       "spec.levels: Invalid value: 0: spec.levels in body should have at least 1 items", "schema")]),
    ("{levels: [true, {domain: rack, key: 1.5, domains: 1}]}", [
        ("spec.levels[0]", "must be a mapping; got true",
         'spec.levels[0]: Invalid value: "boolean": spec.levels[0] in body must be of type object: "boolean"',
         "schema"),
        ("spec.levels[1].domains",
         'unknown field "domains" of a level; known: "domain", "key"; did you mean "domain"?', None, "-"),
        ("spec.levels[1].key", "must be a string; got 1.5",
         'spec.levels[1].key: Invalid value: "number": spec.levels[1].key in body must be of type string: "number"',
         "schema"),
    ]),
]  # fmt: skip
"""Errors in the structure of a topology, for both kinds."""


@pytest.mark.parametrize(("spec", "expected"), SHAPES)
def test_the_shape_of_topologies_of_both_kinds(spec: str, expected: list[tuple[str, str, str | None, str]]) -> None:
    assert told(clustertopology_problems(topology(spec), DESIGN_2.limits)) == expected
    assert told(binding_problems(topology(spec, "ClusterTopologyBinding"), UPSTREAM.limits)) == expected


def test_domains_and_keys_of_clustertopologies() -> None:
    spec = "{levels: [{domain: rak, key: a}, {domain: rack, key: a}, {domain: zone, key: a}, {domain: rack, key: b}]}"

    assert told(clustertopology_problems(topology(spec), DESIGN_2.limits)) == [
        ("spec.levels[0].domain",
         'must be one of "region", "zone", "datacenter", "block", "rack", "host", "numa"; got "rak"; did you mean '
         '"rack"?',
         'spec.levels[0].domain: Unsupported value: "rak": supported values: "region", "zone", "datacenter", "block", '
         '"rack", "host", "numa"', "schema"),
        ("spec.levels[3].domain", 'two levels have the same value, "rack" (first at levels[1])',
         'spec.levels: Invalid value: "array": domain must be unique across all levels', "schema"),
        ("spec.levels[1].key", 'two levels have the same value, "a" (first at levels[0])',
         'spec.levels: Invalid value: "array": key must be unique across all levels', "schema"),
        ("spec.levels[2].key", 'two levels have the same value, "a" (first at levels[0])', None, "schema"),
    ]  # fmt: skip


@pytest.mark.parametrize(("count", "expected"), [
    (8, []),
    (9, [("spec.levels", "must have at most 8 levels; got 9", "spec.levels: Too many: 9: must have at most 8 items",
          "schema")]),
])  # fmt: skip
def test_how_many_levels_there_may_be(count: int, expected: list[Any]) -> None:
    levels = ", ".join([f"{{domain: d{number}, key: a/b{number}}}" for number in range(count)])
    found = told(clustertopology_problems(topology(f"{{levels: [{levels}]}}"), DESIGN_1.limits))

    assert [problem for problem in found if problem[0] == "spec.levels"] == expected


def test_levels_that_are_broader_than_the_one_before() -> None:
    item = topology("{levels: [{domain: host, key: a}, {domain: rack, key: b}, {domain: rack, key: c}]}")

    [finding] = check_order(item, read_levels(item))

    assert (finding.rule, format_path(finding.path), finding.message) == (
        "clustertopology-order",
        "spec.levels[1].domain",
        '"rack" is broader than "host" and must come before it; list the levels as "rack", "rack", "host"',
    )


BINDING = """{
  levels: [{domain: rack, key: a}, {domain: host, key: a}, {domain: rack, key: b}, text, {domain: 1, key: a}],
  schedulerTopologyBindings: [
    {schedulerName: kai-scheduler, topologyReference: x}, text, {schedulerName: 1, topologyReference: y},
    {schedulerName: kai-scheduler, topologyReference: z}, {schedulerName: default-scheduler, topologyReference: 1},
    {schedulerName: volcano, topologyReference: w}, {topologyReference: v}]}"""


def test_what_the_webhook_has_against_a_binding() -> None:
    item = topology(BINDING, "ClusterTopologyBinding")
    found = list(webhook_problems(item, ("kai-scheduler", "default-scheduler"), ("kai-scheduler",)))

    assert [rule.name for rule, _ in found] == ["binding-unique"] * 3 + ["binding-scheduler"] * 3
    assert told([problem for _, problem in found]) == [
        ("spec.levels[1].key", 'two levels have the same value, "a" (first at levels[0])',
         'spec.levels[1].key: Duplicate value: "a"', "webhook"),
        ("spec.levels[2].domain", 'two levels have the same value, "rack" (first at levels[0])',
         'spec.levels[2].domain: Duplicate value: "rack"', "webhook"),
        ("spec.levels[4].key", 'two levels have the same value, "a" (first at levels[0])',
         'spec.levels[4].key: Duplicate value: "a"', "webhook"),
        ("spec.schedulerTopologyBindings[3].schedulerName", 'duplicate reference to "kai-scheduler"',
         'spec.schedulerTopologyReferences[3].schedulerName: Duplicate value: "kai-scheduler"', "webhook"),
        ("spec.schedulerTopologyBindings[4].schedulerName",
         'the scheduler "default-scheduler" does not support topologies; remove the entry',
         'spec.schedulerTopologyReferences[4].schedulerName: Invalid value: "default-scheduler": scheduler backend '
         "does not implement topology-aware scheduling", "webhook"),
        ("spec.schedulerTopologyBindings[5].schedulerName",
         'Grove is not configured for the scheduler "volcano"; known: "kai-scheduler", "default-scheduler"',
         'spec.schedulerTopologyReferences[5].schedulerName: Invalid value: "volcano": scheduler backend is not '
         "enabled in Grove", "webhook"),
    ]  # fmt: skip


@pytest.mark.parametrize(("spec", "references"), [
    (BINDING, {"kai-scheduler": "z", "volcano": "w"}),
    ("{levels: []}", {}),
    ("{schedulerTopologyBindings: {kai-scheduler: x}}", {}),
    ("text", {}),
])  # fmt: skip
def test_the_topologies_that_others_keep(spec: str, references: dict[str, str]) -> None:
    assert references_of(topology(spec).value) == references
