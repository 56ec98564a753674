"""What one revision of the design does differently from the others, as data. Source: revisions.md, operator.md 12."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["DEFAULT", "GREP_244", "GREP_244_MULTI", "REVISIONS", "ConditionTexts", "Revision"]


class ConditionTexts(NamedTuple):
    """When a workload has a condition that is not about a level. None: the revision has no such case."""

    disabled: tuple[str, str] | None
    """(reason, message), status Unknown, of a workload with constraints while TAS is disabled."""

    unconstrained: str | None
    """Message, status False, of a workload without constraints. None: judged like any other workload."""


class Revision(NamedTuple):
    """One revision of the design: the fields are what the front end asks instead of the revision's name."""

    name: str
    """The name users write in `spec.revision`."""

    rulebook: str
    """Whose webhook judges workloads: the name of a rulebook of the front end."""

    configuration_key: str
    """The key of the topology section in a configuration."""

    chosen_by_key: bool
    """Whether that key alone chooses this revision, or only `spec.revision` does."""

    topology_name_field: str | None
    """Field of `spec.template` that chooses a workload's ClusterTopology; None where there is only the operator's."""

    default_topology: str
    """The ClusterTopology a workload with constraints resolves to when it names none."""

    topology_labels: tuple[tuple[str, str], ...]
    """Labels of the ClusterTopology that the operator makes."""

    scheduler_profiles: bool
    """Whether `scheduler.profiles` decides if KAI Topologies are made; otherwise they always are."""

    group_constraint_field: str
    """Field of `spec.template` that the operator's errors name for a scaling group's constraint."""

    annotate_unconstrained: bool
    """Whether `grove.io/topology-name` stands on every PodGang while TAS is enabled, or only on translated ones."""

    fixed_domain_order: bool
    """Whether the operator lists known domains broadest first, or in the configuration's order."""

    names_missing_domain: bool
    """Whether an empty packDomain has a webhook error of its own, or is an unknown domain like any other."""

    conditions: ConditionTexts
    """The conditions of workloads without a checked level."""


GREP_244 = Revision(
    name="grep-244",
    rulebook="alpha7",
    configuration_key="topologyAwareScheduling",
    chosen_by_key=False,
    topology_name_field=None,
    default_topology="grove-topology",
    topology_labels=(),
    scheduler_profiles=False,
    group_constraint_field="podCliqueScalingGroupConfigs",
    annotate_unconstrained=True,
    fixed_domain_order=False,
    names_missing_domain=False,
    conditions=ConditionTexts(disabled=None, unconstrained=None),
)
"""Grove v0.1.0-alpha.7: one ClusterTopology, made from the operator's configuration."""

GREP_244_MULTI = Revision(
    name="grep-244-multi",
    rulebook="alpha7",
    configuration_key="topologyAwareScheduling",
    chosen_by_key=True,
    topology_name_field="clusterTopologyName",
    default_topology="grove-topology",
    topology_labels=(("app.kubernetes.io/managed-by", "grove-operator"),),
    scheduler_profiles=True,
    group_constraint_field="podCliqueScalingGroups",
    annotate_unconstrained=False,
    fixed_domain_order=True,
    names_missing_domain=True,
    conditions=ConditionTexts(
        disabled=(
            "TopologyAwareSchedulingDisabled",
            "Topology constraints are defined but Topology Aware Scheduling is disabled",
        ),
        unconstrained="No topology constraints defined",
    ),
)
"""Many ClusterTopologies; a workload chooses one by `spec.template.clusterTopologyName`."""

REVISIONS: dict[str, Revision] = {revision.name: revision for revision in (GREP_244, GREP_244_MULTI)}
"""Every revision by name."""

DEFAULT = GREP_244_MULTI
"""The revision where neither `spec.revision` nor a configuration chooses one."""
