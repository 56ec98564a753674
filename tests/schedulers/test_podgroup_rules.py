"""Each version's refusals of a PodGroup by KAI: every rule once, with the versions, and KAI's own text."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krmfn.fieldpath import format_path
from packwise.findings import Effect, Problem, Stage
from packwise.revisions.kai import KNOWN, Versions, versions_for
from packwise.schedulers.kai.podgroup_rules import podgroup_problems

OLD, NEW, ALL = "KAI v0.12 to v0.14", "KAI from v0.15 on", "KAI"
REFUSED, IGNORED, UNKNOWN = Effect.REFUSED, Effect.IGNORED, Effect.UNKNOWN


def group(spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.run.ai/v2alpha2",
        "kind": "PodGroup",
        "metadata": {"name": "a", "namespace": "team-a"},
        "spec": spec,
    }


def tree(*subgroups: Any, **spec: Any) -> dict[str, Any]:
    return group({**spec, "subGroups": list(subgroups)})


def leaf(name: str, parent: str | None = None, **fields: Any) -> dict[str, Any]:
    return {"name": name, "minMember": 1, **({} if parent is None else {"parent": parent}), **fields}


def told(
    value: Any, versions: Versions = KNOWN, *, update: bool = False, schema: bool = True
) -> list[tuple[str, str, Effect, str | None]]:
    """Return field, refusing component, effect and KAI's text."""
    problems = podgroup_problems(value, versions, update=update, schema=schema)
    return [(format_path(f.path), f.consequence, f.effect, f.operator_message) for f in problems]


def refuses(who: str) -> str:
    return f"{who} refuses it"


CRD: list[tuple[str, dict[str, Any], str, str, str]] = [
    ("no pods", group({"minMember": 0}), "spec.minMember", ALL,
     "spec.minMember: Invalid value: 0: spec.minMember in body should be greater than or equal to 1"),
    ("no subgroups wanted", group({"minSubGroup": 0}), "spec.minSubGroup", NEW,
     "spec.minSubGroup: Invalid value: 0: spec.minSubGroup in body should be greater than or equal to 1"),
    ("a subgroup of no pods", tree(leaf("a", minMember=0)), "spec.subGroups[0].minMember", OLD,
     "spec.subGroups[0].minMember: Invalid value: 0: spec.subGroups[0].minMember in body should be greater than or "
     "equal to 1"),
    ("fewer than none", tree(leaf("a", minMember=-1)), "spec.subGroups[0].minMember", NEW,
     "spec.subGroups[0].minMember: Invalid value: -1: spec.subGroups[0].minMember in body should be greater than or "
     "equal to 0"),
    ("an empty name", tree(leaf("")), "spec.subGroups[0].name", ALL,
     'spec.subGroups[0].name: Invalid value: "": spec.subGroups[0].name in body should be at least 1 chars long'),
    ("no name", tree({"minMember": 1}), "spec.subGroups[0].name", ALL,
     "spec.subGroups[0].name: Required value"),
    ("upper case", tree(leaf("Workers")), "spec.subGroups[0].name", NEW,
     'spec.subGroups[0].name: Invalid value: "Workers": spec.subGroups[0].name in body should match '
     "'^[a-z0-9]([-a-z0-9]*[a-z0-9])?$'"),
    ("a dot", tree(leaf("a.b")), "spec.subGroups[0].name", NEW,
     "spec.subGroups[0].name: Invalid value: \"a.b\": spec.subGroups[0].name in body should match "
     "'^[a-z0-9]([-a-z0-9]*[a-z0-9])?$'"),
    ("a wrong choice", group({"preemptibility": "Preemptible"}), "spec.preemptibility", ALL,
     'spec.preemptibility: Unsupported value: "Preemptible": supported values: "preemptible", "non-preemptible"'),
    ("a text for a number", group({"minMember": "4"}), "spec.minMember", ALL,
     'spec.minMember: Invalid value: "string": spec.minMember in body must be of type integer: "string"'),
    ("a list for a mapping", group({"topologyConstraint": []}), "spec.topologyConstraint", ALL,
     'spec.topologyConstraint: Invalid value: "array": spec.topologyConstraint in body must be of type object: '
     '"array"'),
    ("a number for a level", group({"topologyConstraint": {"topology": "a", "requiredTopologyLevel": 1}}),
     "spec.topologyConstraint.requiredTopologyLevel", ALL,
     'spec.topologyConstraint.requiredTopologyLevel: Invalid value: "integer": '
     'spec.topologyConstraint.requiredTopologyLevel in body must be of type string: "integer"'),
    ("a text for a spec", group("x"), "spec", ALL,
     'spec: Invalid value: "string": spec in body must be of type object: "string"'),
    ("a text for a subgroup", tree("x"), "spec.subGroups[0]", ALL,
     'spec.subGroups[0]: Invalid value: "string": spec.subGroups[0] in body must be of type object: "string"'),
]  # fmt: skip

WEBHOOK: list[tuple[str, dict[str, Any], str, str, str]] = [
    ("a name twice", tree(leaf("a"), leaf("a")), "spec.subGroups[1].name", ALL, "duplicate subgroup name a"),
    ("no such parent", tree(leaf("a", "b")), "spec.subGroups[0].parent", ALL, "parent b of a was not found"),
    ("an empty parent", tree(leaf("a", "")), "spec.subGroups[0].parent", ALL, "parent  of a was not found"),
    ("a circle", tree(leaf("a", "b"), leaf("b", "c"), leaf("c", "b")), "spec.subGroups[1].parent", ALL,
     "cycle detected in subgroups"),
    ("its own parent", tree(leaf("a", "a")), "spec.subGroups[0].parent", ALL, "cycle detected in subgroups"),
    ("a leaf of how many", tree({"name": "a"}), "spec.subGroups[0].minMember", NEW,
     "subgroup a: minMember is required"),
    ("pods of an inner one", tree(leaf("a"), leaf("b", "a")), "spec.subGroups[0].minMember", NEW,
     'subgroup "a": minMember cannot be set on a mid-level SubGroup (has child SubGroups); use minSubGroup instead'),
    ("both counts of all", tree(leaf("a"), minMember=3, minSubGroup=1), "spec.minSubGroup", NEW,
     "minMember and minSubGroup are mutually exclusive: set minMember (3) to schedule a fixed number of pods, or set "
     "minSubGroup to require a minimum number of child SubGroups, but not both"),
    ("both counts of one", tree(leaf("a", minSubGroup=1)), "spec.subGroups[0].minSubGroup", NEW,
     'subgroup "a": minMember and minSubGroup are mutually exclusive'),
]  # fmt: skip


@pytest.mark.parametrize(("value", "field", "who", "text"), [row[1:] for row in CRD], ids=[row[0] for row in CRD])
def test_the_crd_refuses(value: Any, field: str, who: str, text: str) -> None:
    problems = [problem for problem in podgroup_problems(value, KNOWN) if problem.stage is Stage.SCHEMA]

    assert (field, refuses(who), text) in [(format_path(f.path), f.consequence, f.operator_message) for f in problems]
    assert {format_path(f.path) for f in problems} == {field}
    # If the cluster's own CRD is known, it is used.
    assert [f for f in podgroup_problems(value, KNOWN, schema=False) if f.stage is Stage.SCHEMA] == []


@pytest.mark.parametrize(
    ("value", "field", "who", "text"), [row[1:] for row in WEBHOOK], ids=[row[0] for row in WEBHOOK]
)
def test_the_webhook_refuses(value: Any, field: str, who: str, text: str) -> None:
    problems = [problem for problem in podgroup_problems(value, KNOWN) if problem.stage is Stage.WEBHOOK]

    assert [(format_path(f.path), f.consequence, f.operator_message) for f in problems] == [(field, refuses(who), text)]


@pytest.mark.parametrize("row", [*CRD, *WEBHOOK], ids=lambda row: row[0])
def test_only_the_versions_that_are_named_refuse(row: tuple[str, dict[str, Any], str, str, str]) -> None:
    _, value, field, who, text = row
    named = {OLD: {12, 13, 14}, NEW: {15, 16, 17, 18}, ALL: {12, 13, 14, 15, 16, 17, 18}}[who]

    refusing = {
        minor
        for minor in range(KNOWN.oldest, KNOWN.newest + 1)
        if (field, refuses(who), REFUSED, text) in told(value, Versions(minor, minor))
    }

    assert refusing == named


def test_of_faults_of_structure_the_webhook_tells_the_first() -> None:
    value = tree(leaf("a"), leaf("a"), leaf("b", "x"), leaf("c", "y"), minMember=2, minSubGroup=1)

    assert told(value, Versions(15, 18)) == [
        ("spec.minSubGroup", refuses(NEW), REFUSED, WEBHOOK[7][4].replace("(3)", "(2)")),
        ("spec.subGroups[1].name", refuses(ALL), REFUSED, None),
        ("spec.subGroups[2].parent", refuses(ALL), REFUSED, None),
        ("spec.subGroups[3].parent", refuses(ALL), REFUSED, None),
    ]
    assert told(value, Versions(13, 14))[1:] == [
        ("spec.subGroups[1].name", refuses(ALL), REFUSED, "duplicate subgroup name a"),
        ("spec.subGroups[2].parent", refuses(ALL), REFUSED, None),
        ("spec.subGroups[3].parent", refuses(ALL), REFUSED, None),
    ]


def test_a_leaf_that_counts_subgroups_lacks_a_count_of_pods_too() -> None:
    assert told(tree({"name": "a", "minSubGroup": 1}), Versions(15, 18)) == [
        ("spec.subGroups[0].minSubGroup", refuses(NEW), REFUSED,
         'subgroup "a": minSubGroup cannot be set on a leaf SubGroup (no child SubGroups)'),
        ("spec.subGroups[0].minMember", refuses(NEW), REFUSED, "subgroup a: minMember is required"),
    ]  # fmt: skip


def test_an_update_may_keep_the_pods_of_an_inner_subgroup() -> None:
    value = tree(leaf("a"), leaf("b", "a"))

    [(field, _, effect, text)] = told(value, update=True)

    assert (field, effect, text) == ("spec.subGroups[0].minMember", IGNORED, None)


LONG = "a" * 64

OTHERS: list[tuple[str, dict[str, Any], str, str, Effect]] = [
    ("a name too long for a label", tree(leaf(LONG)), "spec.subGroups[0].name",
     "The name is the value of a label of the pods", REFUSED),
    ("more subgroups than there are", tree(leaf("a"), minSubGroup=2), "spec.minSubGroup",
     "KAI never schedules the pods", IGNORED),
    ("more children than there are", tree({"name": "a", "minSubGroup": 2}, leaf("b", "a")),
     "spec.subGroups[0].minSubGroup", "KAI never schedules the pods", IGNORED),
    ("a level of no topology", group({"topologyConstraint": {"preferredTopologyLevel": "a"}}),
     "spec.topologyConstraint", "KAI ignores such a constraint", IGNORED),
    ("no level", tree(leaf("a", topologyConstraint={"topology": "t"})), "spec.subGroups[0].topologyConstraint",
     "KAI schedules no pod that has a constraint without a level", IGNORED),
    ("a field of new versions", group({"minSubGroup": 1}), "spec.minSubGroup", "KAI v0.12 to v0.14 drops it", UNKNOWN),
    ("a field of the newest", group({"preemptionDelay": "5m"}), "spec.preemptionDelay",
     "KAI v0.12 to v0.16 drops it", UNKNOWN),
    ("a field of old versions", group({"backoffLimit": 1}), "spec.backoffLimit", "KAI from v0.15 on drops it", UNKNOWN),
    ("a field of nobody", group({"minMembers": 1}), "spec.minMembers", "KAI drops it", UNKNOWN),
    ("a parent in upper case", tree({"name": "A"}, leaf("b", "A")), "spec.subGroups[1].parent",
     "KAI v0.12 to v0.14 looks up parents in lower case, finds none, and schedules no pod", REFUSED),
    ("pods beside parents", tree({"name": "a"}, leaf("b", "a"), leaf("c")), "spec.subGroups[2]",
     "KAI v0.12 skips its pods; set `kai.version` if you run v0.13 or newer", IGNORED),
    ("another version of the API", {**group({}), "apiVersion": "scheduling.run.ai/v2"}, "apiVersion",
     "KAI refuses it", REFUSED),
]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "field", "consequence", "effect"), [row[1:] for row in OTHERS], ids=[row[0] for row in OTHERS]
)
def test_what_nobody_says(value: Any, field: str, consequence: str, effect: Effect) -> None:
    assert (field, consequence, effect, None) in told(value)


TAKEN: list[dict[str, Any]] = [
    group({}),
    group({"minMember": 1, "queue": "a", "priorityClassName": "b", "markUnschedulable": True, "schedulingBackoff": -1}),
    group({"minMember": 4, "topologyConstraint": {}}),
    tree({"name": "a", "topologyConstraint": {"topology": "t", "requiredTopologyLevel": "l"}}, leaf("b", "a")),
    group({"minMember": None, "minSubGroup": None, "subGroups": None, "topologyConstraint": None}),
    tree({"name": "a", "parent": None, "minMember": 1, "minSubGroup": None}),
    tree(leaf("a" * 63)),
    {"apiVersion": "scheduling.run.ai/v2alpha2", "kind": "PodGroup"},
]


@pytest.mark.parametrize("value", TAKEN, ids=str)
def test_every_version_takes(value: Any) -> None:
    for minor in range(KNOWN.oldest, KNOWN.newest + 1):
        assert [problem for problem in told(value, Versions(minor, minor)) if problem[2] is REFUSED] == []


ODD: list[tuple[str, dict[str, Any]]] = [
    ("types", group({
        "minMember": True, "minSubGroup": 1.5, "queue": 1, "markUnschedulable": "true", "preemptibility": 2.0,
        "priorityClassName": ["a"], "schedulingBackoff": {}, "preemptionDelay": 5, "stalenessGracePeriod": None,
        "backoffLimit": "1", "subGroups": {"a": 1}, "topologyConstraint": "rack",
    })),
    ("whole numbers", tree(leaf("a", minMember=1.0, minSubGroup=0.5), minMember=0.0)),
    ("types of subgroups", tree(1, None, ["a"], {"name": 1, "parent": 2, "minMember": "1", "topologyConstraint": []})),
    ("names", tree(leaf("-a"), leaf("a-"), leaf("A", "B"), leaf("B"), leaf("c", "Up.per"), {"name": None})),
    ("near fields", tree({"names": "a", "minmember": 1}, queues="a", topologyConstraint={"topologies": "t"})),
    ("levels", tree(
        leaf("a", topologyConstraint={"requiredTopologyLevel": "l", "preferredTopologyLevel": "k"}),
        leaf("b", topologyConstraint={"topology": "", "requiredTopologyLevel": "l"}),
        leaf("c", topologyConstraint={"topology": "t", "preferredTopologyLevel": ""}),
        topologyConstraint={"topology": "t", "levels": 1, "preferredTopologyLevel": None},
    )),
    ("counts", tree(
        {"name": "a", "minSubGroup": 3, "minMember": 0}, leaf("b", "a"), leaf("c", "a", minSubGroup=0), minSubGroup=1,
    )),
    ("counts of all", tree({"name": "a", "minSubGroup": 2}, leaf("b", "a"), leaf("c", "a"), minSubGroup=2)),
    ("long names", tree({"name": LONG}, leaf("b", LONG), leaf(f"{LONG}b"), leaf("c" * 63))),
    ("siblings", tree({"name": "a"}, leaf("b", "a"), {"name": "c", "parent": "a"}, leaf("d", "c"), leaf("e"))),
    ("circles", tree(leaf("a", "b"), leaf("b", "a"), leaf("c", "a"), leaf("d", "d"), leaf("e", "none"))),
    ("everything of structure", tree(leaf("a"), leaf("a"), leaf("b", "x"), leaf("c", "c"), minMember=2, minSubGroup=1)),
    ("no version", {"kind": "PodGroup", "spec": {}}),
]  # fmt: skip
"""Values with several problems, to test their order too."""


def test_all_that_is_reported(assert_expected: Callable[[str, str], None]) -> None:
    rows = [*((row[0], row[1]) for row in (*CRD, *WEBHOOK, *OTHERS)), *ODD]

    assert_expected("kai/podgroups.txt", "\n".join([all_problems(name, value) for name, value in rows]))


SUITS = (Versions(12, 12), Versions(13, 14), Versions(15, 16), Versions(17, 17), Versions(18, 18), KNOWN)


def all_problems(name: str, value: dict[str, Any]) -> str:
    """Return every problem with a PodGroup and the versions that have it, for a new PodGroup and for an
    existing one.
    """
    found: dict[str, tuple[list[str], list[str]]] = {}
    for update, versions in product((False, True), SUITS):
        for problem in podgroup_problems(value, versions, update=update):
            stage = problem.stage.value if problem.stage is not None else "-"
            line = f"  {format_path(problem.path)}: {problem.full_message} ({problem.effect.name}, {stage})\n"
            text = f"    {problem.operator_message}\n" if problem.operator_message is not None else ""
            suits = found.setdefault(line + text, ([], []))
            suits[update].append(f"{versions.oldest}-{versions.newest}")
    return f"{name}\n" + "".join([f"{text}    {by(*suits)}\n" for text, suits in found.items()])


def by(new: list[str], update: list[str]) -> str:
    if new != update:
        return f"new by {', '.join(new)}; updates by {', '.join(update)}"
    return "by all" if len(new) == len(SUITS) else f"by {', '.join(new)}"


ANY = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.floats(allow_nan=False) | st.sampled_from(["", "a", "A", "b"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["name", "parent", "minMember", "minSubGroup", "subGroups", "topologyConstraint", "topology"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(ANY, st.booleans())
def test_any_value_is_checked(spec: Any, update: bool) -> None:
    problems: list[Problem] = podgroup_problems(group(spec), KNOWN, update=update)

    assert all(problem.full_message for problem in problems)


@pytest.mark.parametrize(("version", "counts", "expected"), [
    (None, False, Versions(12, 18)),
    (None, True, Versions(15, 18)),
    ("v0.12", True, Versions(12, 18)),
    ("v0.16", False, Versions(16, 18)),
])  # fmt: skip
def test_the_versions_that_the_output_suits(version: str | None, counts: bool, expected: Versions) -> None:
    assert versions_for(version, counts_subgroups=counts) == expected


@pytest.mark.parametrize(("versions", "other", "common"), [
    (Versions(12, 17), Versions(15, 17), Versions(15, 17)),
    (Versions(12, 15), Versions(15, 17), Versions(15, 15)),
    (Versions(13, 14), Versions(12, 17), Versions(13, 14)),
    (Versions(12, 14), Versions(15, 17), None),
    (Versions(15, 17), Versions(12, 14), None),
])  # fmt: skip
def test_what_versions_have_in_common(versions: Versions, other: Versions, common: Versions | None) -> None:
    assert versions.intersection(other) == common


@pytest.mark.parametrize(("versions", "text"), [
    (Versions(12, 18), "KAI"),
    (Versions(15, 18), "KAI from v0.15 on"),
    (Versions(12, 14), "KAI v0.12 to v0.14"),
    (Versions(12, 12), "KAI v0.12"),
    (Versions(17, 18), "KAI from v0.17 on"),
])  # fmt: skip
def test_versions_are_written_in_words(versions: Versions, text: str) -> None:
    assert versions.text == text
