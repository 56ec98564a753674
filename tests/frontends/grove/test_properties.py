"""Properties: nothing crashes, no argument is changed, defaulting twice gives the same as once, durations survive."""

from __future__ import annotations

import copy
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krmfn import KubeObject
from packwise.frontends.grove.admission import validate_create, validate_update
from packwise.frontends.grove.build_gangs import build_gangs, plans_of_template
from packwise.frontends.grove.default import default
from packwise.frontends.grove.frontend import workload_condition
from packwise.frontends.grove.podcliqueset import PodCliqueSet, check_shape
from packwise.frontends.grove.rules.book import Context
from packwise.frontends.grove.rules.cliques import cycles
from packwise.kubernetes import format_duration, go_json, go_quote, parse_duration
from packwise.revisions.grove import REVISIONS
from packwise.schedulers.grove import podgang_value

from .cases import TOPOLOGIES

WORDS = """
apiVersion kind metadata name namespace labels annotations ownerReferences finalizers generateName spec replicas
template cliqueStartupType cliques roleName minAvailable startsAfter podSpec containers env ports value limits x
autoScalingConfig minReplicas maxReplicas podCliqueScalingGroups cliqueNames scaleConfig topologyConstraint resources
packDomain clusterTopologyName terminationDelay headlessServiceConfig updateStrategy type
"""
KEYS = WORDS.split()
scalars: st.SearchStrategy[Any] = (
    st.none()
    | st.booleans()
    | st.integers(-2, 3)
    # If there are too many replicas, the front end counts the gangs first and makes none.
    | st.floats(-100, 100)
    | st.sampled_from([math.inf, -math.inf])
    | st.sampled_from(["", "a", "rack", "1h", "Bad_A"])
)
values: st.SearchStrategy[Any] = st.recursive(
    scalars, lambda v: st.lists(v, max_size=3) | st.dictionaries(st.sampled_from(KEYS), v, max_size=4), max_leaves=20
)
constraints: st.SearchStrategy[Any] = (
    st.fixed_dictionaries({"packDomain": st.sampled_from(["zone", "rack", "host", "numa", ""])}) | values
)
names = st.sampled_from(["a", "b", "c", "B_", ""])
cliques: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {
        "name": names,
        "spec": st.fixed_dictionaries(
            {"replicas": st.integers(-1, 3), "podSpec": values},
            optional={
                "startsAfter": st.lists(names, max_size=3) | values,
                "minAvailable": st.integers(-1, 3),
                "autoScalingConfig": values,
            },
        ),
    },
    optional={"topologyConstraint": constraints, "labels": values},
)
groups: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {"name": names, "cliqueNames": st.lists(names, max_size=3)},
    optional={
        "replicas": st.integers(-1, 3),
        "minAvailable": st.integers(-1, 3),
        "topologyConstraint": constraints,
        "scaleConfig": values,
    },
)
templates: st.SearchStrategy[Any] = st.fixed_dictionaries({}, optional={
    "cliques": st.lists(cliques | values, max_size=3),
    "podCliqueScalingGroups": st.lists(groups | values, max_size=2),
    "cliqueStartupType": st.sampled_from(["CliqueStartupTypeExplicit", "CliqueStartupTypeInOrder"]),
    "topologyConstraint": constraints,
    "clusterTopologyName": st.sampled_from(["gb200", "x"]),
    "terminationDelay": values,
})  # fmt: skip
sets: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {
        "metadata": values | st.fixed_dictionaries({"name": names}),
        "spec": st.fixed_dictionaries({"replicas": st.integers(-1, 2), "template": templates}) | values,
    }
)


@given(sets, sets, st.booleans(), st.sampled_from(sorted(REVISIONS)))
def test_nothing_crashes_and_nothing_given_changes(old: Any, new: Any, enabled: bool, revision: str) -> None:
    before = copy.deepcopy((old, new))
    record = REVISIONS[revision]
    context = Context(record, enabled, ("zone", "rack"), TOPOLOGIES, auto_mnnvl=enabled, scheduled=1)
    views: list[PodCliqueSet] = []
    for value in (old, new):
        check_shape(value, record)
        once = default(value, record, auto_mnnvl=enabled)
        # packwise fills in nothing below a missing template, and the webhook makes one.
        if isinstance(value.get("spec"), dict) and value["spec"].get("template") is not None:
            assert default(once, record, auto_mnnvl=enabled) == once
        views.append(PodCliqueSet.read(once))
        validate_create(views[-1], context)
        workload_condition(views[-1], TOPOLOGIES["gb200"], enabled=enabled, revision=record)
        plans = plans_of_template(views[-1], {})
        for gang in build_gangs(
            KubeObject.new(once), views[-1], TOPOLOGIES["gb200"], plans, enabled=enabled, revision=record
        ):
            podgang_value(gang)
    found = validate_update(views[0], views[1], context)
    texts = [violation.operator_message for _, violation in found if violation.operator_message]
    assert len(texts) == len(set(texts))
    assert (old, new) == before


@given(st.integers(-(1 << 62), 1 << 62))
def test_durations_survive(nanoseconds: int) -> None:
    assert parse_duration(format_duration(nanoseconds)) == nanoseconds


@pytest.mark.parametrize(("text", "shown"), [
    ("-5m", "-5m0s"), ("4h", "4h0m0s"), ("1.5s", "1.5s"), ("1h30m", "1h30m0s"), ("1500us", "1.5ms"), ("0", "0s"),
    ("90s", "1m30s"), ("1ns", "1ns"), (".5h", "30m0s"),
])  # fmt: skip
def test_durations_as_go_prints_them(text: str, shown: str) -> None:
    assert format_duration(parse_duration(text) or 0) == shown


@pytest.mark.parametrize("text", ["", "5", "h", "1x", "1h ", "--1h", "1.2.3s", "9999999999h"])
def test_what_is_no_duration(text: str) -> None:
    assert parse_duration(text) is None


def test_go_formats() -> None:
    assert go_quote('a"\\\n\x01é\u200b') == '"a\\"\\\\\\n\\x01é\\u200b"'
    assert go_json({"a": ["<b>&", None, 1]}) == '{"a":["\\u003cb\\u003e\\u0026",null,1]}'


def test_long_chains_do_not_recurse() -> None:
    chain = {str(i): [str(i + 1)] for i in range(20000)}
    assert cycles(chain) == []
    assert len(cycles({**chain, "20000": ["0"]})[0]) == 20001
