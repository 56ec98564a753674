"""PodGroups of PodGangs: every pair that Grove's own code made."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from krmfn.fieldpath import FieldPath
from krmfn.yamltext import read
from packwise.plan import GangTraits
from packwise.revisions import REVISIONS
from packwise.schedulers.fault import Target
from packwise.schedulers.kai import KAI
from packwise.schedulers.kai.versions import KNOWN
from tests.places import SHARED

GOLDENS = SHARED / "golden" / "head"
BY_OPERATOR = Target(by_operator=True)
VERSIONS = [f"v0.{minor}" for minor in range(KNOWN.first, KNOWN.last + 1)]


def place_of(_gang: str, _part: str | None) -> FieldPath:
    return ()


def traits(queue: str | None = None, topology: str | None = None) -> GangTraits:
    return GangTraits(queue, () if queue is None else (queue,), "", topology, place_of)


def pairs() -> list[Any]:
    """PodGangs with the PodGroups that were made of them, by case; a parameter that skips where there are none."""
    found: list[Any] = []
    for file in sorted(GOLDENS.glob("*/expected.yaml")):
        expected: Any = read(file.read_text(encoding="utf-8")) or {}
        built: Any = expected.get("kaiPodGroups") or {}
        groups: list[Any] = built.get("items") or []
        if groups:
            found.append(pytest.param(expected["podGangs"], groups, id=file.parent.name))
    skip = pytest.mark.skip(reason=f"no goldens at {GOLDENS}")
    return found or [pytest.param([], [], id="goldens", marks=skip)]


def without_owner(group: dict[str, Any]) -> dict[str, Any]:
    """A PodGroup as a render can make it: it knows no uid."""
    metadata = {key: value for key, value in group["metadata"].items() if key != "ownerReferences"}
    return {**group, "metadata": metadata}


@pytest.mark.parametrize(("gangs", "groups"), pairs())
def test_the_operators_podgroups(gangs: list[dict[str, Any]], groups: list[dict[str, Any]]) -> None:
    by_name = {gang["metadata"]["name"]: gang for gang in gangs}

    made = [KAI.podgroup_value(by_name[g["metadata"]["name"]], traits(g["spec"]["queue"]), BY_OPERATOR) for g in groups]

    assert made == [without_owner(group) for group in groups]


@pytest.mark.parametrize(("gangs", "groups"), pairs())
def test_kai_takes_the_operators_podgroups_from_the_version_on_that_they_are_for(
    gangs: list[dict[str, Any]], groups: list[dict[str, Any]]
) -> None:
    assert gangs
    for version in ("v0.15", "v0.17"):
        faults = [fault for group in groups for fault in KAI.podgroup_faults(group, Target(version))]
        # A group without cliques becomes a PodGroup without pods.
        assert {fault.path for fault in faults} <= {("spec", "minMember")}
        empty = [group for group in groups if not group["spec"].get("subGroups")]
        assert len(faults) == len(empty)


@pytest.mark.parametrize("name", REVISIONS)
@pytest.mark.parametrize("version", [None, *VERSIONS])
@pytest.mark.parametrize(("gangs", "groups"), pairs())
def test_every_version_that_is_rendered_for_takes_the_podgroups(
    gangs: list[dict[str, Any]], groups: list[dict[str, Any]], version: str | None, name: str
) -> None:
    target = Target(version, REVISIONS[name].podgroups_by_operator)
    empty = {group["metadata"]["name"] for group in groups if not group["spec"].get("subGroups")}

    made = [KAI.podgroup_value(gang, traits("team-a"), target) for gang in gangs if name_of(gang) not in empty]

    assert refused(made, target) == []


def refused(made: Iterable[Any], target: Target) -> list[str]:
    return [f.told() for value in made for f in KAI.podgroup_faults(value, target) if f.effect.name != "IGNORED"]


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
    found = KAI.podgroup_value(GANG, traits(topology="gb200"), Target())

    assert found == {
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
    target = Target(version, by_operator=True)

    found: Any = KAI.podgroup_value(GANG, traits("team-a", "gb200"), target)

    assert found["spec"]["subGroups"][0].get("minSubGroup") == count
    assert found["metadata"]["annotations"] == {"kai.scheduler/skip-podgrouper": "true"}
    assert bool(KAI.podgroup_notes(target)) == (count is None)


@pytest.mark.parametrize(("annotations", "topology"), [
    ({"grove.io/topology-name": "a", "kai.scheduler/topology": "b"}, "a"),
    ({"grove.io/topology-name": "", "kai.scheduler/topology": "b"}, "b"),
    ({"kai.scheduler/topology": "b"}, "b"),
    ({"example.com/other": "c"}, "configured"),
])  # fmt: skip
def test_the_name_of_the_topology(annotations: dict[str, str], topology: str) -> None:
    gang = {**GANG, "metadata": {**GANG["metadata"], "annotations": annotations}}

    found: Any = KAI.podgroup_value(gang, traits("q", "configured"), Target())

    assert found["spec"]["subGroups"][0]["topologyConstraint"]["topology"] == topology
    assert found["metadata"]["annotations"] == annotations


def test_a_constraint_of_no_topology_is_refused_in_the_schedulers_words() -> None:
    with pytest.raises(ValueError, match=r"^topology name cannot be empty when topology constraints are defined$"):
        KAI.podgroup_value(GANG, traits("q"), Target())


def test_a_group_config_without_podgroups_is_no_subgroup() -> None:
    configs: list[Any] = [{"name": "a-0-g-0", "podGroupNames": []}]
    spec = {**GANG["spec"], "topologyConstraintGroupConfigs": configs}

    found: Any = KAI.podgroup_value({**GANG, "spec": spec}, traits("q"), Target())

    assert [group["name"] for group in found["spec"]["subGroups"]] == ["a-0-router", "a-0-g-0-engine"]


def test_paths_of_the_goldens_are_where_they_are_looked_for() -> None:
    assert not SHARED.exists() or len(list(Path(GOLDENS).glob("*/expected.yaml"))) > 100
