"""A result reports each group that OSMO as built would treat differently, and no other group."""

from __future__ import annotations

import pytest

from krmfn.result import Severity
from tests.frontends.osmo.rendering import POOL, rendered


def told(*topologies: str, policy: str = "Uniform", pool: str = POOL, name: str = "t") -> list[str]:
    """Return the infos about a workflow of one group, which has a task for each of `topologies`."""
    tasks = "".join(
        [
            f"    - {{name: {name}{n}, image: i, command: [c], resource: r{n}{', lead: true' if n == 0 else ''}}}\n"
            for n in range(len(topologies))
        ]
    )
    resources = "".join([f"    r{n}: {{topology: [{text}]}}\n" for n, text in enumerate(topologies)])
    flow = f"workflow:\n  name: w\n  groups:\n  - name: g\n    tasks:\n{tasks}  resources:\n{resources}"
    found = rendered(pool, flow, osmo=f"{{keySets: {policy}}}")
    assert found.accepted
    return [result.message for result in found.results if result.severity is Severity.INFO]


@pytest.mark.parametrize("topologies", [
    ("",),
    ("{key: rack}",),
    ("{key: zone}, {key: rack}",) * 2,
    ("{key: zone, requirementType: preferred}, {key: rack}",),
    ("{key: zone}, {key: rack, group: a}", "{key: zone}, {key: rack, group: b}"),
    ('{key: zone, group: ""}, {key: rack, group: a}', '{key: zone, group: ""}, {key: rack, group: b}'),
])  # fmt: skip
def test_what_osmo_makes_too_is_not_reported(topologies: tuple[str, ...]) -> None:
    assert told(*topologies) == []


@pytest.mark.parametrize(("topologies", "part"), [
    (("{key: zone}, {key: rack, requirementType: preferred}",), "OSMO would keep only the preference"),
    (("{key: zone, group: a}, {key: rack}", "{key: zone, group: b}, {key: rack}"), "OSMO would skip them"),
    (
        (
            "{key: zone, group: a}, {key: rack, group: a}",
            "{key: zone, group: a}, {key: rack, group: b}",
            "{key: zone, group: b}, {key: rack, group: a}",
            "{key: zone, group: b}, {key: rack, group: b}",
        ),
        'no minMember on the inner subgroups "a", "b"',
    ),
    (("{key: rack, group: A}", "{key: rack, group: b}"), '("A" is "a")'),
    (('{key: zone, group: a}, {key: rack, group: ""}', '{key: zone, group: a}, {key: rack}'), '("a-" is "a")'),
    (('{key: zone, group: ""}, {key: rack, group: ""}',), "groups of the same name"),
    (("{key: rack}, {key: rack}",), "names a topology key twice"),
])  # fmt: skip
def test_what_osmo_would_make_otherwise_is_reported(topologies: tuple[str, ...], part: str) -> None:
    (message,) = told(*topologies)

    assert part in message


def test_a_padded_task_is_reported() -> None:
    assert any("added topology keys" in message for message in told("{key: rack}", "", policy="Pad"))


def test_a_name_of_64_characters_is_reported() -> None:
    found = told("{key: rack, group: a}", "{key: rack, group: b}", name="x" * 63)

    assert [f"{'x' * 63}0" in message for message in found] == [True]


def test_a_pool_of_another_name_is_reported() -> None:
    (message,) = told("", pool=POOL.replace("name: gb200", "name: GB_200"))

    assert '"osmo-pool-osmo-workflows-gb-200"' in message
