"""What one revision of the design does differently from the others, as data. Source: revisions.md, operator.md 12."""

from __future__ import annotations

from typing import Literal, NamedTuple

from packwise.revisions.texts import ConditionCase, ConditionTexts, TopologyStatus
from packwise.topology.limits import Limits

__all__ = ["DEFAULT", "DESIGN_1", "DESIGN_2", "GREP_244", "GREP_244_MULTI", "REVISIONS", "UPSTREAM", "Revision"]


class Revision(NamedTuple):
    """One revision of the design: the fields are what the front end asks instead of the revision's name."""

    name: str
    """The name users write in `spec.revision`."""

    rulebook: str
    """Whose webhook judges workloads: the name of a rulebook of the front end."""

    workload_api: str
    """Whose API workloads are written in: the name of a table of fields of the front end."""

    configuration_key: str
    """The key of the topology section in a configuration."""

    chosen_by_key: bool
    """Whether that key alone chooses this revision, or only `spec.revision` does."""

    named_by_configuration: bool
    """Whether `name` in that section names the ClusterTopology, or its name is fixed."""

    limits: Limits
    """Which levels and keys the configuration and a topology object may have."""

    duplicate_level: str | None
    """The operator's whole text for a `{field}` whose `{value}` stands twice in the configuration, where it has no
    text for anything else there; None: field errors, for everything."""

    listed_order: bool
    """Whether the list of the levels is the hierarchy, broadest first, or the fixed order of the domains is."""

    topology_kind: str
    """Kind of the objects that hold a topology."""

    chosen_by_topologies: bool
    """Whether such an object in the input chooses this revision."""

    topology_name_field: str | None
    """Field of `spec.template` that chooses a workload's topology; None where there is none, or constraints do it."""

    default_topology: str | None
    """The topology that the operator makes of its configuration's levels; None: its configuration has no levels."""

    topology_labels: tuple[tuple[str, str], ...]
    """Labels of the ClusterTopology that the operator makes."""

    user_topologies: Literal["Refused", "Ignored", "Unused", "Used"]
    """What users' own ClusterTopologies are: an error, nobody's business, a warning, what workloads choose."""

    finalizer: str | None
    """The operator's finalizer of ClusterTopologies, which `finalizers` asks for; None: it has none."""

    topology_status: TopologyStatus | None
    """The status of the ClusterTopology; None: it has none, and what the scheduler refuses is an error."""

    scheduler_profiles: bool
    """Whether `scheduler.profiles` decides if KAI Topologies are made; otherwise they always are."""

    optional_domain: bool
    """Whether a constraint may leave out its packDomain, and demand nothing then."""

    scheduler_backends: tuple[str, ...]
    """The names that profiles may have, in the operator's order; empty: it does not check them."""

    mirrors_metadata: bool
    """Whether PodGangs carry the labels and annotations of their PodCliqueSet, and the name of their scheduler."""

    apimachinery: str
    """Version of the Kubernetes library that the operator checks names and labels with, as its texts tell it."""

    group_constraint_field: str
    """Field of `spec.template` that the operator's errors name for a scaling group's constraint."""

    always_preferred: bool
    """Whether the strictest level is preferred on every PodGang, PodGroup and group config, whatever users wrote."""

    keeps_preferred: bool
    """Whether PodGangs that had a preferred level keep it while TAS is disabled."""

    mutable_constraints: bool
    """Whether an update may change constraints, which are judged again then."""

    annotate_topology: bool
    """Whether PodGangs carry `grove.io/topology-name`; otherwise only `topologyNameAnnotation` asks for it."""

    annotate_unconstrained: bool
    """Whether `grove.io/topology-name` stands on every PodGang while TAS is enabled, or only on translated ones."""

    fixed_domain_order: bool
    """Whether the operator lists known domains broadest first, or in the configuration's order."""

    names_missing_domain: bool
    """Whether an empty packDomain has a webhook error of its own, or is an unknown domain like any other."""

    podgroups_by_operator: bool
    """Whether the operator makes KAI's PodGroups of PodGangs, or KAI's own pod-grouper does once there are pods."""

    conditions: ConditionTexts
    """The condition of workloads."""

    @property
    def chooses_topology(self) -> bool:
        """Whether a workload chooses one of many topologies, which users make."""
        return self.user_topologies == "Used"

    @property
    def constraints_choose(self) -> bool:
        """Whether constraints name the topology, and say `pack`; otherwise they say `packDomain` alone."""
        return self.chooses_topology and self.topology_name_field is None

    def configured(self, name: str | None, *, annotate_topology: bool) -> Revision:
        """This revision with what a configuration may choose in it: the topology's name, the PodGangs' annotation."""
        return self._replace(
            default_topology=name if name and self.named_by_configuration else self.default_topology,
            annotate_topology=self.annotate_topology or annotate_topology,
        )


_DISABLED = "Topology support disabled in operator configuration"
_NOT_FOUND = "Topology level '{levels}' not found in ClusterTopology '{topology}'."
_IGNORED = "Topology constraint will be ignored. Please remove packDomain or update ClusterTopology."
_READY = ConditionCase("True", "TopologyReady", "ClusterTopology configured and KAI Topology created successfully")
_FAILED = "Failed to create KAI Topology CR: {why}"
_ERROR = ("KAI_TOPOLOGY_CREATE_ERROR", "Failed to create KAI Topology resource: {why}")
_DUPLICATE = "duplicate topology {field} '{value}' in configuration"

_TOPOLOGY_MISSING = ConditionCase("Unknown", "ClusterTopologyNotFound", "ClusterTopology resource not found")
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
    rulebook="design",
    workload_api="alpha7",
    configuration_key="topology",
    chosen_by_key=True,
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
    scheduler_backends=(),
    mirrors_metadata=False,
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

DESIGN_2 = Revision(
    name="design-2",
    rulebook="design",
    workload_api="alpha7",
    configuration_key="clusterTopology",
    chosen_by_key=True,
    named_by_configuration=True,
    limits=Limits(),
    duplicate_level=_DUPLICATE,
    listed_order=False,
    topology_kind="ClusterTopology",
    chosen_by_topologies=False,
    topology_name_field=None,
    default_topology="grove-topology",
    topology_labels=(),
    user_topologies="Ignored",
    finalizer=None,
    topology_status=TopologyStatus(_READY, ConditionCase("False", "TopologyCreationOrUpdateFailed", _FAILED), *_ERROR),
    scheduler_profiles=False,
    optional_domain=True,
    scheduler_backends=(),
    mirrors_metadata=False,
    apimachinery="v0.34",
    group_constraint_field="podCliqueScalingGroups",
    always_preferred=True,
    keeps_preferred=False,
    mutable_constraints=True,
    annotate_topology=True,
    annotate_unconstrained=True,
    fixed_domain_order=True,
    names_missing_domain=False,
    podgroups_by_operator=False,
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


GREP_244 = Revision(
    name="grep-244",
    rulebook="alpha7",
    workload_api="alpha7",
    configuration_key="topologyAwareScheduling",
    chosen_by_key=False,
    named_by_configuration=False,
    limits=Limits(),
    duplicate_level=None,
    listed_order=False,
    topology_kind="ClusterTopology",
    chosen_by_topologies=False,
    topology_name_field=None,
    default_topology="grove-topology",
    topology_labels=(),
    user_topologies="Unused",
    finalizer=None,
    topology_status=None,
    scheduler_profiles=False,
    optional_domain=False,
    scheduler_backends=(),
    mirrors_metadata=False,
    apimachinery="v0.34",
    group_constraint_field="podCliqueScalingGroupConfigs",
    always_preferred=False,
    keeps_preferred=False,
    mutable_constraints=False,
    annotate_topology=True,
    annotate_unconstrained=True,
    fixed_domain_order=False,
    names_missing_domain=False,
    podgroups_by_operator=False,
    conditions=ConditionTexts(
        type="TopologyLevelsUnavailable",
        disabled=None,
        unconstrained=None,
        constrained_only=False,
        unnamed=None,
        topology_missing=_TOPOLOGY_MISSING,
        level_missing=_UNAVAILABLE,
        levels_missing=_UNAVAILABLE,
        separator=" ",
        available=_AVAILABLE,
    ),
)
"""Grove v0.1.0-alpha.7: one ClusterTopology, made from the operator's configuration."""

GREP_244_MULTI = Revision(
    name="grep-244-multi",
    rulebook="alpha7",
    workload_api="alpha7",
    configuration_key="topologyAwareScheduling",
    chosen_by_key=True,
    named_by_configuration=False,
    limits=Limits(),
    duplicate_level=None,
    listed_order=False,
    topology_kind="ClusterTopology",
    chosen_by_topologies=False,
    topology_name_field="clusterTopologyName",
    default_topology="grove-topology",
    topology_labels=(("app.kubernetes.io/managed-by", "grove-operator"),),
    user_topologies="Used",
    finalizer="grove.io/clustertopology",
    topology_status=None,
    scheduler_profiles=True,
    optional_domain=False,
    scheduler_backends=(),
    mirrors_metadata=False,
    apimachinery="v0.34",
    group_constraint_field="podCliqueScalingGroups",
    always_preferred=False,
    keeps_preferred=False,
    mutable_constraints=False,
    annotate_topology=True,
    annotate_unconstrained=False,
    fixed_domain_order=True,
    names_missing_domain=True,
    podgroups_by_operator=False,
    conditions=ConditionTexts(
        type="TopologyLevelsUnavailable",
        disabled=_DISABLED_CONSTRAINTS,
        unconstrained=_UNCONSTRAINED,
        constrained_only=False,
        unnamed=None,
        topology_missing=_TOPOLOGY_MISSING,
        level_missing=_UNAVAILABLE,
        levels_missing=_UNAVAILABLE,
        separator=" ",
        available=_AVAILABLE,
    ),
)
"""Many ClusterTopologies; a workload chooses one by `spec.template.clusterTopologyName`."""

UPSTREAM = Revision(
    name="upstream",
    rulebook="head",
    workload_api="head",
    configuration_key="topologyAwareScheduling",
    chosen_by_key=False,
    named_by_configuration=False,
    limits=Limits(levels=None),
    duplicate_level=None,
    listed_order=True,
    topology_kind="ClusterTopologyBinding",
    chosen_by_topologies=True,
    topology_name_field=None,
    default_topology=None,
    topology_labels=(),
    user_topologies="Used",
    finalizer=None,
    topology_status=None,
    scheduler_profiles=True,
    optional_domain=False,
    scheduler_backends=("kai-scheduler", "default-scheduler", "volcano", "lpx-scheduler"),
    mirrors_metadata=True,
    apimachinery="v0.35",
    group_constraint_field="podCliqueScalingGroups",
    always_preferred=False,
    keeps_preferred=False,
    mutable_constraints=False,
    annotate_topology=True,
    annotate_unconstrained=False,
    fixed_domain_order=False,
    names_missing_domain=False,
    podgroups_by_operator=True,
    conditions=ConditionTexts(
        type="TopologyLevelsUnavailable",
        disabled=_DISABLED_CONSTRAINTS,
        unconstrained=_UNCONSTRAINED,
        constrained_only=False,
        unnamed=ConditionCase(
            "Unknown", "TopologyNameMissing", "PodCliqueSet topology constraints must include topologyName"
        ),
        topology_missing=_TOPOLOGY_MISSING._replace(message="ClusterTopologyBinding resource not found"),
        level_missing=_UNAVAILABLE,
        levels_missing=_UNAVAILABLE,
        separator=" ",
        available=_AVAILABLE,
    ),
)
"""Grove's newest API: ClusterTopologyBindings with domains of any name; each constraint may name one, and prefer."""

REVISIONS: dict[str, Revision] = {
    revision.name: revision for revision in (DESIGN_1, DESIGN_2, GREP_244, GREP_244_MULTI, UPSTREAM)
}
"""Every revision by name."""

DEFAULT = GREP_244_MULTI
"""The revision where neither `spec.revision` nor a configuration chooses one."""
