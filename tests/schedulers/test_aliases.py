"""Other names of a Topology's levels, from KAI v0.17 on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from krmfn.fieldpath import format_path
from packwise.findings import Effect
from packwise.revisions.kai import versions_for
from packwise.schedulers.kai.allocate.state import depth_of
from packwise.schedulers.kai.podgroup_rules import read_topology
from packwise.schedulers.kai.users_objects import alias_problems

TOPOLOGIES: list[list[Any]] = [
    [{"nodeLabel": "example.com/rack", "alias": "rack"}],
    [{"nodeLabel": "example.com/rack", "alias": ""}],
    [{"nodeLabel": "example.com/rack", "alias": "a" * 317}],
    [{"nodeLabel": "example.com/rack", "alias": "Up.per/rack"}],
    [{"nodeLabel": "example.com/rack", "alias": "ends-"}],
    [{"nodeLabel": "example.com/rack", "alias": 7}],
    [{"nodeLabel": "example.com/rack", "alias": None}],
]
"""The levels of Topologies that no webhook checks."""


def told(levels: list[Any], version: str | None = None) -> list[tuple[str, str, Effect, str | None]]:
    """Return field, refusing component, effect and KAI's text."""
    value = {"apiVersion": "kai.scheduler/v1alpha1", "kind": "Topology", "spec": {"levels": levels}}
    problems = alias_problems(value, versions_for(version))
    return [(format_path(f.path), f.consequence, f.effect, f.operator_message) for f in problems]


def test_old_versions_drop_an_alias() -> None:
    consequence = "KAI v0.12 to v0.16 drops it, and knows the level only by its nodeLabel"

    for version in (None, "v0.12", "v0.16"):
        assert told(TOPOLOGIES[0], version) == [("spec.levels[0].alias", consequence, Effect.UNKNOWN, None)]
    assert told(TOPOLOGIES[0], "v0.17") == []


def test_the_webhook_tells_everything_in_one_text() -> None:
    levels = [
        {"nodeLabel": "b", "alias": "rack"},
        {"nodeLabel": "rack", "alias": "x"},
        {"nodeLabel": "c", "alias": "x"},
    ]

    assert told(levels, "v0.17") == [
        ("spec.levels[2].alias", "KAI from v0.17 on refuses it", Effect.REFUSED,
         "invalid topology aliases: aliases must be unique within the topology; duplicated: [x]; an alias must not "
         "equal a nodeLabel; conflicting: [rack]"),
        ("spec.levels[0].alias", "KAI from v0.17 on refuses it", Effect.REFUSED, None),
    ]  # fmt: skip


ODD: list[list[Any]] = [
    [{"nodeLabel": "a", "alias": "b"}, "text", {"nodeLabel": "b", "alias": "b"}, {"alias": "a"}],
    [{"nodeLabel": "a", "alias": "z"}, {"nodeLabel": "b", "alias": "y"}, {"alias": "z"}, {"alias": "y"}],
    [{"nodeLabel": "b", "alias": "b"}, {"nodeLabel": "a", "alias": "a"}],
    [{"nodeLabel": "example.com/a", "alias": "a" * 316}, {"nodeLabel": "", "alias": "Up.per/rack"}],
    [{"nodeLabel": 1, "alias": True}, {"nodeLabel": "a", "alias": []}, {"nodeLabel": "b", "alias": "7"}],
]
"""Levels with several problems, to test their order too."""


def test_all_that_is_reported(assert_expected: Callable[[str, str], None]) -> None:
    assert_expected("kai/aliases.txt", "\n".join([all_problems(levels) for levels in (*TOPOLOGIES, *ODD)]))


def all_problems(levels: list[Any]) -> str:
    """Return every problem with the aliases of these levels, for the oldest and the newest KAI, with its CRD and
    without.
    """
    value = {"apiVersion": "kai.scheduler/v1alpha1", "kind": "Topology", "spec": {"levels": levels}}
    lines = [f"{levels}\n"]
    for version, schema in (("v0.12", True), ("v0.12", False), ("v0.17", True), ("v0.17", False)):
        lines.append(f"  {version}{'' if schema else ' whose CRD is at hand'}\n")
        for problem in alias_problems(value, versions_for(version), schema=schema):
            stage = problem.stage.value if problem.stage is not None else "-"
            lines.append(f"    {format_path(problem.path)}: {problem.full_message} ({problem.effect.name}, {stage})\n")
            lines += [f"      {problem.operator_message}\n"] if problem.operator_message is not None else []
    return "".join(lines)


def test_a_level_goes_by_its_label_and_its_alias() -> None:
    value = {"spec": {"levels": [{"nodeLabel": "a", "alias": "b"}, {"nodeLabel": "c"}, "d", {"nodeLabel": 1}]}}
    topology = read_topology(value)

    assert [depth_of(topology, level) for level in ("a", "b", "c", "d", "1", "A")] == [0, 0, 1, None, None, None]
