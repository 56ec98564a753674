"""PodGangs are compared by pod groups and by the bounds of their pods, not by the names and places of constraints."""

from __future__ import annotations

from typing import Any

import pytest

from packwise.migrate import rewrite as equivalence
from packwise.migrate.rewrite import added_bounds, changed_meanings, gang_key, normalize
from packwise.pipeline.selection import Package
from packwise.revisions.grove import ALPHA_10, ALPHA_12, Step

ZONE, RACK = {"required": "zone-key"}, {"required": "rack-key"}
PREFERRED = {"preferred": "host-key"}


def constraint(bounds: dict[str, str]) -> dict[str, Any]:
    return {"packConstraint": bounds}


def gang(root: dict[str, str] | None = None, *configs: dict[str, str] | None, minimum: int = 1) -> Any:
    """Return a gang of two pod groups. Each config names both groups."""
    names = ["web-0-pair-1-leader", "web-0-pair-1-worker"]
    spec: dict[str, Any] = {
        "podgroups": [{"name": name, "podReferences": [], "minReplicas": minimum} for name in names]
    }
    if root is not None:
        spec["topologyConstraint"] = constraint(root)
    if configs:
        spec["topologyConstraintGroupConfigs"] = [
            {"name": "web-0-pair-1", "podGroupNames": names}
            | ({"topologyConstraint": constraint(bounds)} if bounds is not None else {})
            for bounds in configs
        ]
    return spec


def test_a_gang_is_known_by_its_pod_groups() -> None:
    assert gang_key(gang(ZONE)) == gang_key(gang(None, RACK)) == ("web-0-pair-1-leader", "web-0-pair-1-worker")


def test_a_group_config_that_demands_nothing_counts_for_nothing() -> None:
    assert normalize(gang(ZONE, None)) == gang(ZONE)
    assert normalize(gang(ZONE, RACK)) == gang(ZONE, RACK)


@pytest.mark.parametrize(
    ("old", "new", "added"),
    [
        (gang(RACK), gang(None, RACK), {}),
        (gang(RACK), gang(ZONE, RACK), {}),
        (gang(ZONE), gang(ZONE), {}),
        (gang(PREFERRED), gang(ZONE, PREFERRED), ZONE),
        (gang(), gang(ZONE), ZONE),
        (gang(RACK), gang(ZONE), None),
        (gang(RACK), gang(), None),
        (gang(RACK), gang(None, RACK, minimum=2), None),
    ],
)
def test_what_a_gang_gains(old: Any, new: Any, added: Any) -> None:
    assert added_bounds(old, new) == added


@pytest.mark.parametrize(
    ("new", "messages"),
    [
        (gang(ZONE, RACK), []),
        (
            gang(PREFERRED, RACK),
            [
                "migrate-gained: PodGang shop/web-0-pair-0 would also have the PodCliqueSet's own constraint, "
                '{"preferred": "host-key"}: revision "v0.1.0-alpha.12" adds it to every PodGang'
            ],
        ),
        (
            gang(ZONE),
            [
                "migrate-meaning: PodGang shop/web-0-pair-0 would change for the scheduler: "
                'spec.topologyConstraint.packConstraint.required would change from "rack-key" to "zone-key"'
            ],
        ),
    ],
)
def test_what_becomes_of_a_gang_beyond_the_minimum(
    new: Any, messages: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def specs(_package: Package, name: str, *, drops: bool) -> Any:  # noqa: ARG001
        spec = gang(RACK) if name == ALPHA_10.name else new
        return {("PodGang", "shop", *gang_key(spec)): ("PodGang shop/web-0-pair-0", spec)}, []

    monkeypatch.setattr(equivalence, "scheduled_specs", specs)
    results = changed_meanings(Package(()), Package(()), Step(ALPHA_10, ALPHA_12, ""))

    assert [f"{result.tags['rule']}: {result.message}" for result in results] == messages
