"""Every revision: designs and releases of Grove, in the order in which a cluster comes to run them.

Each says what it does otherwise than the one before. Source: spec/designs.md#1, spec/grove.md#12,
spec/grove-releases.md#1.1.
"""

from __future__ import annotations

from packwise.revisions.revision import ConditionCase, ConditionTexts, Limits, Revision, TopologyStatus

# The designs of topology-aware scheduling: each says what it does otherwise than the one before. Source:
# spec/designs.md#1, spec/grove.md#12.

_DISABLED = "Topology support disabled in operator configuration"
_NOT_FOUND = "Topology level '{levels}' not found in ClusterTopology '{topology}'."
_IGNORED = "Topology constraint will be ignored. Please remove packDomain or update ClusterTopology."
_READY = ConditionCase("True", "TopologyReady", "ClusterTopology configured and KAI Topology created successfully")
_FAILED = "Failed to create KAI Topology CR: {why}"
_ERROR = ("KAI_TOPOLOGY_CREATE_ERROR", "Failed to create KAI Topology resource: {why}")
_DUPLICATE = "duplicate topology {field} '{value}' in configuration"

TOPOLOGY_MISSING = ConditionCase("Unknown", "ClusterTopologyNotFound", "ClusterTopology resource not found")
"""The condition of a workload whose topology does not exist."""

_UNAVAILABLE = ConditionCase("True", "ClusterTopologyLevelsUnavailable", "Unavailable topology domains: [{levels}]")
_AVAILABLE = ConditionCase("False", "AllClusterTopologyLevelsAvailable", "All topology levels are available")
_UNCONSTRAINED = _AVAILABLE._replace(message="No topology constraints defined")
_DISABLED_CONSTRAINTS = ConditionCase(
    "Unknown",
    "TopologyAwareSchedulingDisabled",
    "Topology constraints are defined but Topology Aware Scheduling is disabled",
)

DESIGN_1 = Revision(
    name="design-1",
    releases=(),
    rulebook="design",
    workload_api="alpha7",
    configuration_key="topology",
    chosen_by_key=True,
    needs_levels=False,
    workload_keys=(),
    named_by_configuration=True,
    limits=Limits(levels=8, key_length=64, qualified_keys=True),
    duplicate_level=_DUPLICATE,
    listed_order=True,
    topology_kind="ClusterTopology",
    chosen_by_topologies=False,
    topology_name_field=None,
    default_topology="grove-topology",
    topology_labels=(),
    user_topologies="Refused",
    finalizer=None,
    topology_status=TopologyStatus(
        _READY, ConditionCase("False", "KAITopologyCreationOrUpdateFailed", _FAILED), *_ERROR
    ),
    scheduler_profiles=False,
    optional_domain=True,
    deprecates_pack_domain=False,
    mnnvl_annotation="grove.io/auto-mnnvl",
    scheduler_backends=(),
    topology_backends=(),
    mirrors_metadata=False,
    scheduler_label="Never",
    apimachinery="v0.34",
    group_constraint_field="podCliqueScalingGroups",
    always_preferred=True,
    keeps_preferred=True,
    mutable_constraints=True,
    annotate_topology=False,
    annotate_unconstrained=True,
    fixed_domain_order=False,
    names_missing_domain=False,
    podgroups_by_operator=False,
    follows_references=False,
    empty_podgroups=True,
    splits_lpx=False,
    podgang_maps=False,
    min_available_default="WrittenReplicas",
    min_replicas_default="WrittenReplicas",
    rolling_updates=False,
    conditions=ConditionTexts(
        type="TopologyConstraints",
        disabled=ConditionCase("False", "TopologyDisabled", f"{_DISABLED}. Required constraints removed."),
        unconstrained=None,
        constrained_only=True,
        unnamed=None,
        topology_missing=None,
        level_missing=ConditionCase(
            "False", "TopologyLevelNotFound", f"{_NOT_FOUND} Remove packDomain or update ClusterTopology."
        ),
        levels_missing=ConditionCase(
            "False",
            "TopologyLevelsRemoved",
            "Topology levels removed from ClusterTopology: [{levels}]. Update packDomain constraints.",
        ),
        separator=", ",
        available=ConditionCase("True", "TopologyLevelsAvailable", "All topology constraints satisfied"),
    ),
)
"""The first design: the hierarchy is the listed order, and every PodGang prefers the strictest level."""

DESIGN_2 = DESIGN_1._replace(
    name="design-2",
    configuration_key="clusterTopology",
    limits=Limits(),
    listed_order=False,
    user_topologies="Ignored",
    topology_status=TopologyStatus(_READY, ConditionCase("False", "TopologyCreationOrUpdateFailed", _FAILED), *_ERROR),
    keeps_preferred=False,
    annotate_topology=True,
    fixed_domain_order=True,
    conditions=ConditionTexts(
        type="TopologyConstraintSatisfied",
        disabled=ConditionCase("False", "TopologyDisabled", _DISABLED),
        unconstrained=None,
        constrained_only=True,
        unnamed=None,
        topology_missing=None,
        level_missing=ConditionCase("False", "TopologyLevelNotFound", f"{_NOT_FOUND} {_IGNORED}"),
        # The design has no text for several: each stands in quotes, as the one does.
        levels_missing=ConditionCase(
            "False", "TopologyLevelNotFound", f"{_NOT_FOUND.replace('level', 'levels', 1)} {_IGNORED}"
        ),
        separator="', '",
        available=ConditionCase("True", "", ""),
    ),
)
"""The second design: the hierarchy is the fixed order of the domains, and PodGangs name their topology."""

GREP_244 = DESIGN_2._replace(
    name="grep-244",
    releases=("v0.1.0-alpha.7",),
    rulebook="alpha7",
    configuration_key="topologyAwareScheduling",
    chosen_by_key=False,
    named_by_configuration=False,
    duplicate_level=None,
    user_topologies="Unused",
    topology_status=None,
    optional_domain=False,
    group_constraint_field="podCliqueScalingGroupConfigs",
    always_preferred=False,
    mutable_constraints=False,
    fixed_domain_order=False,
    conditions=ConditionTexts(
        type="TopologyLevelsUnavailable",
        disabled=None,
        unconstrained=None,
        constrained_only=False,
        unnamed=None,
        topology_missing=TOPOLOGY_MISSING,
        level_missing=_UNAVAILABLE,
        levels_missing=_UNAVAILABLE,
        separator=" ",
        available=_AVAILABLE,
    ),
)
"""Grove v0.1.0-alpha.7: one ClusterTopology, made from the operator's configuration."""

GREP_244_MULTI = GREP_244._replace(
    name="grep-244-multi",
    releases=(),
    chosen_by_key=True,
    needs_levels=True,
    workload_keys=("clusterTopologyName",),
    topology_name_field="clusterTopologyName",
    topology_labels=(("app.kubernetes.io/managed-by", "grove-operator"),),
    user_topologies="Used",
    finalizer="grove.io/clustertopology",
    scheduler_profiles=True,
    group_constraint_field="podCliqueScalingGroups",
    annotate_unconstrained=False,
    fixed_domain_order=True,
    names_missing_domain=True,
    conditions=GREP_244.conditions._replace(disabled=_DISABLED_CONSTRAINTS, unconstrained=_UNCONSTRAINED),
)
"""Many ClusterTopologies; a workload chooses one by `spec.template.clusterTopologyName`."""


# Grove's releases from alpha.8 on, in the order they came: each says what it does otherwise than the one before. One
# record serves the releases that agree. Source: spec/grove-releases.md#1.1.

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
"""Its share of alpha.14 is not known: this release candidate is judged as alpha.13, with warnings."""

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


RECORDS: tuple[Revision, ...] = (
    DESIGN_1,
    DESIGN_2,
    GREP_244,
    ALPHA_8,
    GREP_244_MULTI,
    ALPHA_9,
    ALPHA_10,
    ALPHA_12_RC1,
    UPSTREAM,
    ALPHA_12,
    ALPHA_14_RC1,
    ALPHA_14,
)
"""Every record once."""

REVISIONS: dict[str, Revision] = {
    name: record._replace(name=name) for record in RECORDS for name in dict.fromkeys((record.name, *record.releases))
}
"""Every name that `spec.revision` may have: its record, of that name."""

RELEASES = tuple(record for record in RECORDS if record.releases)
"""Every record that clusters run or ran."""

NEWEST = ALPHA_14._replace(name=ALPHA_14.releases[-1])
"""The newest release, which is assumed where the input shows none."""

_PLACES = {
    name: (place, record.releases.index(name) if name in record.releases else -1)
    for place, record in enumerate(RECORDS)
    for name in (record.name, *record.releases)
}
_AFTER_ALL = (len(RECORDS), 0)


def precedes(revision: Revision, other: Revision) -> bool:
    """True if `revision` came before `other`; of one record's tags, the order in which they were released counts."""
    return _PLACES.get(revision.name, _AFTER_ALL) < _PLACES.get(other.name, _AFTER_ALL)


def same_record(revision: Revision, other: Revision) -> bool:
    """True if both are names of one record, which do the same."""
    return _PLACES.get(revision.name, _AFTER_ALL)[0] == _PLACES.get(other.name, _AFTER_ALL)[0]
