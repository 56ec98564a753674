"""Grove's releases from alpha.8 on, in the order they came: each says what it does otherwise than the one before.

One record serves the releases that agree. Source: spec/grove-releases.md#1.1.
"""

from __future__ import annotations

from packwise.revisions.designs import GREP_244, GREP_244_MULTI, TOPOLOGY_MISSING
from packwise.revisions.limits import Limits
from packwise.revisions.texts import ConditionCase

__all__ = ["ALPHA_8", "ALPHA_9", "ALPHA_10", "ALPHA_12", "ALPHA_12_RC1", "ALPHA_14", "ALPHA_14_RC1", "UPSTREAM"]

ALPHA_8 = GREP_244._replace(
    name="v0.1.0-alpha.8",
    releases=("v0.1.0-alpha.8",),
    rulebook="alpha8",
    workload_api="alpha8",
    workload_keys=("resourceSharing", "resourceClaimTemplates"),
    scheduler_profiles=True,
    scheduler_backends=("kai-scheduler", "default-scheduler"),
    scheduler_label="Named",
)
"""Scheduler profiles, resource sharing and MNNVL groups; the topology is in the operator's configuration still."""

ALPHA_9 = GREP_244_MULTI._replace(
    name="v0.1.0-alpha.9",
    releases=("v0.1.0-alpha.9",),
    rulebook="alpha9",
    workload_api="alpha9",
    chosen_by_key=False,
    needs_levels=False,
    workload_keys=(),
    limits=Limits(levels=None),
    listed_order=True,
    topology_kind="ClusterTopologyBinding",
    topology_name_field=None,
    default_topology=None,
    topology_labels=(),
    finalizer=None,
    mnnvl_annotation=None,
    scheduler_backends=ALPHA_8.scheduler_backends,
    topology_backends=("kai-scheduler",),
    mirrors_metadata=True,
    scheduler_label="Always",
    fixed_domain_order=False,
    conditions=GREP_244_MULTI.conditions._replace(
        unnamed=ConditionCase(
            "Unknown", "TopologyNameMissing", "PodCliqueSet topology constraints must include topologyName"
        ),
        topology_missing=TOPOLOGY_MISSING._replace(message="ClusterTopologyBinding resource not found"),
    ),
)
"""ClusterTopologyBindings with domains of any name; each constraint may name its topology."""

ALPHA_10 = ALPHA_9._replace(
    name="v0.1.0-alpha.10",
    releases=("v0.1.0-alpha.10", "v0.1.0-alpha.11"),
    rulebook="alpha10",
    workload_api="head",
    deprecates_pack_domain=True,
    scheduler_backends=("kai-scheduler", "default-scheduler", "volcano", "lpx-scheduler"),
    apimachinery="v0.35",
    names_missing_domain=False,
)
"""Constraints require and prefer a domain; Volcano and LPX are schedulers."""

ALPHA_12_RC1 = ALPHA_10._replace(
    name="v0.1.0-alpha.12-rc1",
    releases=("v0.1.0-alpha.12-rc1",),
    rulebook="alpha12-rc1",
)
"""A clique without a name is one error."""

UPSTREAM = ALPHA_12_RC1._replace(
    name="upstream",
    releases=("v0.1.0-alpha.12-rc2",),
    rulebook="head",
    chosen_by_topologies=True,
    podgroups_by_operator=True,
)
"""The operator makes KAI's PodGroups, and a workload must name its queue."""

ALPHA_12 = UPSTREAM._replace(
    name="v0.1.0-alpha.12",
    releases=("v0.1.0-alpha.12", "v0.1.0-alpha.13"),
    chosen_by_topologies=False,
    podgang_maps=True,
)
"""PodGangs are built from PodGangMaps."""

ALPHA_14_RC1 = ALPHA_12._replace(
    name="v0.1.0-alpha.14-rc1",
    releases=("v0.1.0-alpha.14-rc1",),
    rulebook="alpha14-rc1",
    workload_api="alpha14-rc1",
)
"""What this release candidate takes from alpha.14 is not known: it is judged as alpha.13, with warnings."""

ALPHA_14 = ALPHA_12._replace(
    name="v0.1.0-alpha.14",
    releases=("v0.1.0-alpha.14",),
    rulebook="alpha14",
    workload_api="alpha14",
    follows_references=True,
    empty_podgroups=False,
    splits_lpx=True,
    min_available_default="One",
    min_replicas_default="Replicas",
    rolling_updates=True,
)
"""Coherent and rolling updates; PodGroups name the Topology that a binding refers to."""
