"""PodGroups made from PodGangs, compared with every pair that Grove's own code made."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import pytest

from krmfn.fieldpath import format_path
from krmfn.yamltext import read
from packwise.findings import Origin, Place
from packwise.placement import Grouper
from packwise.revisions.kai import KNOWN, Versions, versions_for
from packwise.schedulers.grove import podgang_value
from packwise.schedulers.kai.podgroup import podgroup, podgroup_origins
from packwise.schedulers.kai.podgroup_rules import podgroup_problems
from packwise.schedulers.kai.topology import annotated_topology
from tests.golden.cases import GOLDEN
from tests.schedulers.gangs import SUBJECT, gang_of
from tests.tables import each

GOLDENS = GOLDEN / "head"
VERSIONS = [f"v0.{minor}" for minor in range(KNOWN.oldest, KNOWN.newest + 1)]


def podgroup_of(
    podgang: dict[str, Any],
    queue: str | None = None,
    topology: str = "",
    *,
    grouper: Grouper = Grouper.SCHEDULER,
    suits: Versions = KNOWN,
) -> Any:
    """Return the PodGroup of the gang from which `podgang` is made."""
    gang = gang_of(podgang, grouper, queue, topology)
    return podgroup(gang, suits, annotated_topology(gang))


Pair = tuple[list[dict[str, Any]], list[dict[str, Any]]]


@cache
def pairs() -> dict[str, Pair]:
    """Return PodGangs and the PodGroups that were made from them, by case."""
    found: dict[str, Pair] = {}
    for file in sorted(GOLDENS.glob("*/expected.yaml")):
        expected: Any = read(file.read_text(encoding="utf-8")) or {}
        built: Any = expected.get("kaiPodGroups") or {}
        groups: list[Any] = built.get("items") or []
        if groups:
            found[file.parent.name] = (expected["podGangs"], groups)
    return found


def without_owner(group: dict[str, Any]) -> dict[str, Any]:
    """Return a PodGroup as a render can make it, because a render knows no uid."""
    metadata = {key: value for key, value in group["metadata"].items() if key != "ownerReferences"}
    return {**group, "metadata": metadata}


def without_status(gang: dict[str, Any]) -> dict[str, Any]:
    """Return a PodGang as a render can make it, before any pod exists."""
    return {key: value for key, value in without_owner(gang).items() if key != "status"}


@each(pairs)
def test_the_operators_podgroups(pair: Pair) -> None:
    gangs, groups = pair
    by_name = {gang["metadata"]["name"]: gang for gang in gangs}

    written = [
        podgroup_of(
            by_name[group["metadata"]["name"]],
            group["spec"]["queue"],
            grouper=Grouper.OPERATOR,
            suits=versions_for(None, counts_subgroups=True),
        )
        for group in groups
    ]

    assert written == [without_owner(group) for group in groups]


@each(pairs)
def test_the_operators_podgangs(pair: Pair) -> None:
    gangs, groups = pair
    assert len(gangs) >= len(groups)

    assert [podgang_value(gang_of(gang, Grouper.OPERATOR)) for gang in gangs] == [without_status(g) for g in gangs]


@each(pairs)
def test_kai_takes_the_operators_podgroups_from_the_version_on_that_they_are_for(pair: Pair) -> None:
    gangs, groups = pair
    assert gangs
    for version in ("v0.15", "v0.17"):
        problems = [problem for group in groups for problem in podgroup_problems(group, versions_for(version))]
        # A group without cliques becomes a PodGroup without pods.
        assert {problem.path for problem in problems} <= {("spec", "minMember")}
        empty = [group for group in groups if not group["spec"].get("subGroups")]
        assert len(problems) == len(empty)


@pytest.mark.parametrize("by_operator", [False, True])
@pytest.mark.parametrize("version", [None, *VERSIONS])
def test_every_version_that_is_rendered_for_takes_the_podgroups(version: str | None, by_operator: bool) -> None:
    grouper = Grouper.OPERATOR if by_operator else Grouper.SCHEDULER
    suits = versions_for(version, counts_subgroups=by_operator)
    refused: list[str] = []
    for gangs, groups in pairs().values():
        empty = {group["metadata"]["name"] for group in groups if not group["spec"].get("subGroups")}
        written = [
            podgroup_of(gang, "team-a", grouper=grouper, suits=suits) for gang in gangs if name_of(gang) not in empty
        ]
        refused += refusals(written, suits)

    assert refused == []


def refusals(groups: Iterable[Any], suits: Versions) -> list[str]:
    return [f.full_message for value in groups for f in podgroup_problems(value, suits) if f.effect.name != "IGNORED"]


def name_of(gang: dict[str, Any]) -> str:
    return gang["metadata"]["name"]


GANG: dict[str, Any] = {
    "apiVersion": "scheduler.grove.io/v1alpha1",
    "kind": "PodGang",
    "metadata": {"name": "a-0", "namespace": "team-a", "labels": {"app.kubernetes.io/part-of": "a"}},
    "spec": {
        "podgroups": [
            {"name": "a-0-router", "podReferences": [], "minReplicas": 1},
            {"name": "a-0-g-0-engine", "podReferences": [], "minReplicas": 4},
        ],
        "topologyConstraintGroupConfigs": [
            {
                "name": "a-0-g-0",
                "podGroupNames": ["a-0-g-0-engine"],
                "topologyConstraint": {"packConstraint": {"required": "example.com/rack"}},
            }
        ],
    },
}


def test_a_pod_groupers_podgroup_counts_no_subgroups_and_skips_nothing() -> None:
    assert podgroup_of(GANG, topology="gb200") == {
        "apiVersion": "scheduling.run.ai/v2alpha2",
        "kind": "PodGroup",
        "metadata": {"name": "a-0", "namespace": "team-a", "labels": {"app.kubernetes.io/part-of": "a"}},
        "spec": {
            "minMember": 5,
            "queue": "default-queue",
            "topologyConstraint": {},
            "subGroups": [
                {
                    "name": "a-0-g-0",
                    "topologyConstraint": {"topology": "gb200", "requiredTopologyLevel": "example.com/rack"},
                },
                {"name": "a-0-router", "minMember": 1},
                {"name": "a-0-g-0-engine", "parent": "a-0-g-0", "minMember": 4},
            ],
        },
    }


@pytest.mark.parametrize(
    ("version", "count"), [(None, 1), ("v0.15", 1), ("v0.17", 1), ("v0.14", None), ("v0.12", None)]
)
def test_an_operators_podgroup_counts_subgroups_where_kai_knows_that(version: str | None, count: int | None) -> None:
    suits = versions_for(version, counts_subgroups=True)

    group = podgroup_of(GANG, "team-a", "gb200", grouper=Grouper.OPERATOR, suits=suits)

    assert group["spec"]["subGroups"][0].get("minSubGroup") == count
    assert group["metadata"]["annotations"] == {"kai.scheduler/skip-podgrouper": "true"}


@pytest.mark.parametrize(("annotations", "topology"), [
    ({"grove.io/topology-name": "a", "kai.scheduler/topology": "b"}, "a"),
    ({"grove.io/topology-name": "", "kai.scheduler/topology": "b"}, "b"),
    ({"kai.scheduler/topology": "b"}, "b"),
    ({"example.com/other": "c"}, "configured"),
])  # fmt: skip
def test_the_name_of_the_topology(annotations: dict[str, str], topology: str) -> None:
    gang = {**GANG, "metadata": {**GANG["metadata"], "annotations": annotations}}

    group = podgroup_of(gang, "q", "configured")

    assert group["spec"]["subGroups"][0]["topologyConstraint"]["topology"] == topology
    assert group["metadata"]["annotations"] == annotations


def test_a_constraint_of_no_topology_is_refused_in_the_schedulers_words() -> None:
    with pytest.raises(ValueError, match=r"^topology name cannot be empty when topology constraints are defined$"):
        podgroup_of(GANG, "q")


def test_a_group_config_without_podgroups_is_no_subgroup() -> None:
    configs: list[Any] = [{"name": "a-0-g-0", "podGroupNames": []}]
    spec = {**GANG["spec"], "topologyConstraintGroupConfigs": configs}

    group = podgroup_of({**GANG, "spec": spec}, "q")

    assert [entry["name"] for entry in group["spec"]["subGroups"]] == ["a-0-router", "a-0-g-0-engine"]


def test_paths_of_the_goldens_are_where_they_are_looked_for() -> None:
    assert len(list(GOLDENS.glob("*/expected.yaml"))) > 100


@pytest.mark.parametrize(("needed", "counted"), [(None, "minMember"), (1, "minSubGroup")])
def test_every_part_of_a_podgroup_of_kais_own_has_the_origin_that_the_workload_states(
    needed: int | None, counted: str
) -> None:
    place = Place(SUBJECT, ("spec",))
    fields = ("members", "topology", "queue", "preemptibility", "preemptionDelay", "stalenessGracePeriod")
    stated = Origin(place, "test", {field: place.child(field) for field in fields})
    gang = gang_of(GANG, Grouper.OWNER).replace(origin=stated, owner=stated, needed=needed)

    origins = {format_path(path): origin.place.path for path, origin in podgroup_origins(gang).items()}

    expected = {
        f"spec.{counted}": "members",
        "spec.queue": "queue",
        "spec.topologyConstraint.topology": "topology",
        "spec.preemptibility": "preemptibility",
        "spec.preemptionDelay": "preemptionDelay",
        "spec.stalenessGracePeriod": "stalenessGracePeriod",
    }
    assert {path: origins[path] for path in expected} == {path: ("spec", name) for path, name in expected.items()}
