"""The KAI Scheduler, v0.12 and newer: all of its objects. Source: spec/kai.md."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.objects.kinds import PODGROUP, QUEUE, TOPOLOGY
from packwise.placement import Gang, Grouper
from packwise.schedulers.kai.topologies import KAI_TOPOLOGY, KaiTopologies, scheduler_topologies
from packwise.schedulers.scheduler import Scheduler, SchedulerInput, SchedulerObjects

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypeGuard

    from krmfn.kubeobject import KubeObject
    from packwise.findings.finding import Finding, Rule
    from packwise.objects.place import Generated
    from packwise.placement import Cluster, Node
    from packwise.settings import TopologyRender

__all__ = ["KAI"]

_PRIORITY_CLASS = ("scheduling.k8s.io", "PriorityClass")


class _Kai:
    def objects(self, source: SchedulerInput) -> SchedulerObjects:
        """Topologies, the PodGroups of gangs, and what a service asks for; users' own objects are judged."""
        topologies = scheduler_topologies(source)
        users = _check_users_objects(source, topologies)
        groups, problems = _podgroups(source, topologies)
        previews, refusals = _own_podgroups(source, topologies)
        answers, unanswered = _service_objects(source)
        return SchedulerObjects(
            (*topologies.generated, *answers, *groups, *previews),
            (
                *topologies.findings,
                *users,
                *problems,
                *refusals,
                *unanswered,
                *_check_nodes(source),
                *_check_queues(source),
            ),
            topologies.refusals,
            topologies.conditions,
        )

    def mend(self, item: KubeObject, cluster: Cluster, settings: TopologyRender) -> KubeObject:
        """A ClusterTopologyBinding, which gets the entry that its rendered Topology needs."""
        if cluster.schedulers is None:
            return item
        from packwise.schedulers.kai.references import with_reference

        return with_reference(item, cluster.schedulers, settings)

    def migrate(self, item: KubeObject) -> KubeObject:
        """Itself: KAI serves one version of each of its objects."""
        return item


def _check_users_objects(source: SchedulerInput, topologies: KaiTopologies) -> Iterable[Finding]:
    """KAI's refusals of users' own objects of its kinds; nothing is imported where there are none."""
    if not any(source.inventory.items.of_kind(*kind.key) for kind in (TOPOLOGY, PODGROUP)):
        return ()
    from packwise.schedulers.kai.users_objects import check_users_objects

    return check_users_objects(source, topologies.generated)


def _podgroups(source: SchedulerInput, topologies: KaiTopologies) -> tuple[list[Generated], list[Finding]]:
    """The PodGroups of gangs, where these are rendered or KAI may refuse those that others make."""
    judged = (
        [placement for placement in source.placements if _is_grouped(placement.node)]
        if source.settings.emits(PODGROUP.name)
        else [placement for placement in source.placements if _is_suspect(placement.node)]
    )
    if not judged:
        return [], []
    # No other run pays for the import.
    from packwise.schedulers.kai.podgroups import scheduler_podgroups

    return scheduler_podgroups(judged, source, topologies.generated)


def _own_podgroups(source: SchedulerInput, topologies: KaiTopologies) -> tuple[list[Generated], list[Finding]]:
    """The PodGroups that KAI makes of workloads itself; nothing is imported where there are none."""
    own = [placement for placement in source.placements if _is_own(placement.node)]
    if not own:
        return [], []
    from packwise.schedulers.kai.podgroups import own_podgroups

    return own_podgroups(own, source, topologies.generated)


def _check_nodes(source: SchedulerInput) -> Iterable[Finding]:
    """Findings about nodes that do not suit the topologies; nothing is imported where no nodes are given."""
    if not source.cluster.nodes:
        return ()
    from packwise.schedulers.kai.cluster_rules import check_nodes

    return check_nodes(source)


def _check_queues(source: SchedulerInput) -> Iterable[Finding]:
    """Findings about names of Queues and PriorityClasses; nothing is imported where the input has none."""
    if not any(source.inventory.items.of_kind(*kind) for kind in (QUEUE.key, _PRIORITY_CLASS)):
        return ()
    from packwise.schedulers.kai.cluster_rules import check_queues

    return check_queues(source)


def _is_suspect(node: Node) -> bool:
    """True if the node is a gang, and the PodGroup that others make of it may be refused.

    Of names that Grove's webhook takes, KAI refuses those with dots; and the topology may be none of the cluster's.
    """
    return _is_grouped(node) and ("." in node.workload or KAI_TOPOLOGY in node.annotations)


def _is_grouped(node: Node) -> TypeGuard[Gang]:
    """True if an operator or KAI itself makes a PodGroup for the node, once its PodGang is there."""
    return isinstance(node, Gang) and node.grouper in (Grouper.OPERATOR, Grouper.SCHEDULER)


def _is_own(node: Node) -> bool:
    """True if KAI itself makes a PodGroup of the object that owns the node's pods."""
    return isinstance(node, Gang) and node.grouper is Grouper.OWNER


def _service_objects(source: SchedulerInput) -> tuple[list[Generated], list[Finding]]:
    """The objects that a service submits to KAI itself."""
    asked = [
        placement for placement in source.placements if not (_is_grouped(placement.node) or _is_own(placement.node))
    ]
    if not asked:
        return [], []
    from packwise.schedulers.kai.service_objects import service_objects

    return service_objects(asked, source)


KAI: Scheduler = _Kai()
"""The KAI Scheduler."""


def rule_table() -> tuple[Rule, ...]:
    """Every rule of KAI's objects, in the order in which they are checked."""
    from packwise.schedulers.kai.cluster_rules import NODE_RULES, QUEUE_RULES
    from packwise.schedulers.kai.podgroups import OWN_PODGROUP_RULES, PODGROUP_RULES
    from packwise.schedulers.kai.references import RULES as REFERENCE_RULES
    from packwise.schedulers.kai.service_objects import RULES as SERVICE_RULES
    from packwise.schedulers.kai.topologies import RULES as TOPOLOGY_RULES

    return (
        *TOPOLOGY_RULES,
        *PODGROUP_RULES,
        *OWN_PODGROUP_RULES,
        *SERVICE_RULES,
        *REFERENCE_RULES,
        *NODE_RULES,
        *QUEUE_RULES,
    )
