"""PodGangs and conditions that no golden has: the multi revision, live replicas, missing topologies."""

from __future__ import annotations

from typing import Any

import pytest

from krmfn import KubeObject
from packwise.frontends.grove.build_gangs import TOPOLOGY_NAME, build_gangs, count_entries, plans_of_template
from packwise.frontends.grove.frontend import workload_condition
from packwise.frontends.grove.podcliqueset import resolve_topology
from packwise.pipeline import render
from packwise.pipeline.selection import Package
from packwise.placement import Bounds, Gang
from packwise.revisions.grove import DESIGN_1, DESIGN_2, GREP_244, GREP_244_MULTI, Revision
from packwise.schedulers.grove import podgang_value
from packwise.topology.known import ClusterTopology, Condition, Level, sort_levels

from .cases import TOPOLOGIES, context_of, edited, view_of

T = "spec.template."
MULTI = context_of({"revision": "grep-244-multi"})

TYPES = {
    "design-1": "TopologyConstraints",
    "design-2": "TopologyConstraintSatisfied",
    "grep-244": "TopologyLevelsUnavailable",
    "grep-244-multi": "TopologyLevelsUnavailable",
}


def gangs_of(
    edits: dict[str, Any], topology: ClusterTopology | None, *, enabled: bool = True, live: int | None = None
) -> tuple[Gang, ...]:
    pcs = view_of(edited(edits), MULTI, create=True)
    replicas = {} if live is None else {("team-a", "wl-0-workers"): live}
    item = KubeObject.new(edited(edits))
    plans = plans_of_template(pcs, replicas)
    return build_gangs(item, pcs, topology, plans, enabled=enabled, revision=GREP_244_MULTI)


def keys_of(bounds: Bounds | None) -> tuple[str | None, str | None]:
    """Return the required and the preferred key of the nodes' label."""
    required, preferred = (bounds.required, bounds.preferred) if bounds is not None else (None, None)
    return required and required.key, preferred and preferred.key


def test_only_podgangs_with_a_translated_constraint_name_their_topology() -> None:
    gangs = gangs_of({T + "cliques[0].topologyConstraint.packDomain": "rack"}, TOPOLOGIES["gb200"])
    assert [(gang.name, gang.annotations.get(TOPOLOGY_NAME)) for gang in gangs] == [
        ("wl-0", "gb200"),
        ("wl-0-workers-0", None),
    ]


def test_a_missing_level_leaves_the_group_config_without_constraint_and_no_fallback() -> None:
    edits = {
        T + "topologyConstraint.packDomain": "rack",
        T + "podCliqueScalingGroups[0].topologyConstraint.packDomain": "numa",
    }
    base, scaled = gangs_of(edits, TOPOLOGIES["gb200"])
    assert [(pods.name, keys_of(pods.bounds)) for pods in base.inner_sets] == [("wl-0-workers-0", (None, None))]
    assert keys_of(base.bounds) == ("nvidia.com/rack", None)
    assert (keys_of(scaled.bounds), scaled.annotations) == ((None, None), {})


def test_without_topology_the_podgangs_stay_and_the_constraints_go() -> None:
    edits = {T + "topologyConstraint.packDomain": "rack", T + "priorityClassName": "high"}
    for topology, enabled in ((None, True), (TOPOLOGIES["gb200"], False)):
        values = [podgang_value(gang) for gang in gangs_of(edits, topology, enabled=enabled)]
        assert "topologyConstraint" not in str(values)
        assert "annotations" not in str(values)
        assert str(values).count("'priorityClassName': 'high'") == 2


@pytest.mark.parametrize(("live", "names"), [
    (0, ["wl-0"]),
    (1, ["wl-0"]),
    (4, ["wl-0", "wl-0-workers-0", "wl-0-workers-1", "wl-0-workers-2"]),
])  # fmt: skip
def test_live_replicas_win(live: int, names: list[str]) -> None:
    assert [gang.name for gang in gangs_of({}, None, live=live)] == names


def test_zero_replicas_give_no_podgangs() -> None:
    assert gangs_of({"spec.replicas": 0}, None) == ()


def test_the_count_is_known_before_anything_is_built() -> None:
    pcs = view_of(edited({"spec.replicas": 2000000000}), MULTI, create=True)
    assert count_entries(pcs, {}, 200_000) == 2000000000 * 8


@pytest.mark.parametrize("live", [None, 0, 1, 4])
@pytest.mark.parametrize("gang", [1, 5])
def test_the_count_is_that_of_what_is_built(live: int | None, gang: int) -> None:
    """The group has a separate pod set. Live objects of other workloads do not count."""
    edits = {"spec.replicas": 2, T + "podCliqueScalingGroups[0].topologyConstraint.packDomain": "rack"}
    pcs = view_of(edited(edits), MULTI, create=True)
    own = {} if live is None else {("team-a", "wl-0-workers"): live}
    gangs = gangs_of(edits, TOPOLOGIES["gb200"], live=live)

    counted = count_entries(pcs, {**own, ("team-a", "other-0-workers"): 1_000_000}, 200_000, gang)

    assert counted == sum(gang + len(each.sets) for each in gangs)


def test_resolution() -> None:
    def name(edits: dict[str, Any], revision: Revision) -> str | None:
        return resolve_topology(view_of(edited(edits), MULTI, create=True), revision)

    constrained = {T + "topologyConstraint.packDomain": "rack"}
    assert name({}, GREP_244) == "grove-topology"
    assert name({}, GREP_244_MULTI) is None
    assert name(constrained, GREP_244_MULTI) == "grove-topology"
    assert name({**constrained, T + "clusterTopologyName": "x"}, GREP_244_MULTI) == "x"


CONSTRAINED = {T + "topologyConstraint.packDomain": "host"}
THREE = {
    T + "topologyConstraint.packDomain": "zone",
    T + "podCliqueScalingGroups[0].topologyConstraint.packDomain": "host",
    T + "cliques[0].topologyConstraint.packDomain": "host",
}
ALL = ("False", "AllClusterTopologyLevelsAvailable")
CONDITIONS: list[tuple[str, dict[str, Any], str | None, bool, Revision, tuple[str, str, str] | None]] = [
    ("multi, no constraint", {}, None, True, GREP_244_MULTI, (*ALL, "No topology constraints defined")),
    ("multi, available", CONSTRAINED, "grove-topology", True, GREP_244_MULTI,
     (*ALL, "All topology levels are available")),
    ("multi, gone", CONSTRAINED, "gb200", True, GREP_244_MULTI,
     ("True", "ClusterTopologyLevelsUnavailable", "Unavailable topology domains: [host]")),
    ("multi, no topology", CONSTRAINED, None, True, GREP_244_MULTI,
     ("Unknown", "ClusterTopologyNotFound", "ClusterTopology resource not found")),
    ("multi, disabled", CONSTRAINED, None, False, GREP_244_MULTI,
     ("Unknown", "TopologyAwareSchedulingDisabled",
      "Topology constraints are defined but Topology Aware Scheduling is disabled")),
    ("multi, disabled, no constraint", {}, None, False, GREP_244_MULTI, None),
    ("one topology, no constraint", {}, "grove-topology", True, GREP_244, (*ALL, "All topology levels are available")),
    ("one topology, missing", {}, None, True, GREP_244,
     ("Unknown", "ClusterTopologyNotFound", "ClusterTopology resource not found")),
    ("one topology, disabled", CONSTRAINED, None, False, GREP_244, None),
    ("design-1, no constraint", {}, "grove-topology", True, DESIGN_1, None),
    ("design-1, no constraint, disabled", {}, None, False, DESIGN_1, None),
    ("design-1, available", CONSTRAINED, "grove-topology", True, DESIGN_1,
     ("True", "TopologyLevelsAvailable", "All topology constraints satisfied")),
    ("design-1, disabled", CONSTRAINED, None, False, DESIGN_1,
     ("False", "TopologyDisabled",
      "Topology support disabled in operator configuration. Required constraints removed.")),
    ("design-1, one gone", CONSTRAINED, "gb200", True, DESIGN_1,
     ("False", "TopologyLevelNotFound", "Topology level 'host' not found in ClusterTopology 'grove-topology'. "
      "Remove packDomain or update ClusterTopology.")),
    ("design-1, several gone, one of them twice", THREE, "gb200", True, DESIGN_1,
     ("False", "TopologyLevelsRemoved",
      "Topology levels removed from ClusterTopology: [zone, host]. Update packDomain constraints.")),
    ("design-2, no constraint", {}, "grove-topology", True, DESIGN_2, None),
    ("design-2, available", CONSTRAINED, "grove-topology", True, DESIGN_2, ("True", "", "")),
    ("design-2, disabled", CONSTRAINED, None, False, DESIGN_2,
     ("False", "TopologyDisabled", "Topology support disabled in operator configuration")),
    ("design-2, one gone", CONSTRAINED, "gb200", True, DESIGN_2,
     ("False", "TopologyLevelNotFound", "Topology level 'host' not found in ClusterTopology 'grove-topology'. "
      "Topology constraint will be ignored. Please remove packDomain or update ClusterTopology.")),
    ("design-2, several gone, one of them twice", THREE, "gb200", True, DESIGN_2,
     ("False", "TopologyLevelNotFound", "Topology levels 'zone', 'host' not found in ClusterTopology 'grove-topology'. "
      "Topology constraint will be ignored. Please remove packDomain or update ClusterTopology.")),
]  # fmt: skip


@pytest.mark.parametrize(("_name", "edits", "topology", "enabled", "revision", "want"), CONDITIONS)
def test_condition(
    _name: str,
    edits: dict[str, Any],
    topology: str | None,
    *,
    enabled: bool,
    revision: Revision,
    want: tuple[str, str, str] | None,
) -> None:
    pcs = view_of(edited(edits), MULTI, create=True)
    chosen = TOPOLOGIES[topology] if topology else None
    have = workload_condition(pcs, chosen, enabled=enabled, revision=revision)
    assert have == (Condition(TYPES[revision.name], *want) if want else None)


def test_levels_sort_broadest_first() -> None:
    levels = [Level("numa", "n"), Level("region", "r"), Level("host", "h"), Level("zone", "z")]
    assert [level.domain for level in sort_levels(levels)] == ["region", "zone", "host", "numa"]


def test_what_the_operators_own_podgang_preferred_is_known_from_a_baseline() -> None:
    config = "apiVersion: packwise.dev/v1alpha1\nkind: TopologyRender\nspec: {topology: {enabled: false}}\n"
    live = (
        "apiVersion: scheduler.grove.io/v1alpha1\nkind: PodGang\nmetadata: {name: wl-0, namespace: team-a}\n"
        "spec: {topologyConstraint: {packConstraint: {required: a, preferred: b}}, podgroups: []}\n"
    )
    items = (KubeObject.parse(config), KubeObject.new({**edited({}), "status": {"replicas": 1}}))

    rendered = render(Package(items, baseline=(KubeObject.parse(live),)))

    assert [gang.get("spec.topologyConstraint") for gang in rendered.generated] == [
        {"packConstraint": {"preferred": "b"}},
        None,
    ]
