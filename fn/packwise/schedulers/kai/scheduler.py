"""The KAI Scheduler: the objects that packwise writes for it, and the findings about them. Source: spec/kai.md."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.lenient import value_at
from packwise.objects.kinds import CONFIGURING, KAI_CONFIG, PODGROUP, QUEUE, SCHEDULING_SHARD, TOPOLOGY
from packwise.placement import Gang, GangPod, Grouper
from packwise.schedulers import Scheduler, SchedulerInput, SchedulerObjects
from packwise.schedulers.kai.topology import KAI_TOPOLOGY, RULES, scheduler_topologies

if TYPE_CHECKING:
    from typing import TypeGuard

    from krmfn.kubeobject import KubeObject
    from packwise.findings import Finding, Rule
    from packwise.objects.index import Generated
    from packwise.placement import Cluster, Node
    from packwise.settings.topologyrender import TopologyRender

_PRIORITY_CLASS = ("scheduling.k8s.io", "PriorityClass")


class _Kai(Scheduler):
    def objects(self, source: SchedulerInput) -> SchedulerObjects:
        """Return Topologies, the PodGroups of gangs, and the objects of services. Also check users' own objects."""
        items, placements = source.inventory.items, source.placements
        topologies = scheduler_topologies(source)
        findings = [*topologies.findings]
        # Import only modules that the input needs: the import of podgroups takes 18 million instructions, and a run of
        # ten workloads 273 (valgrind --tool=cachegrind, Python 3.11).
        if any(items.of_kind(*kind.key) for kind in (TOPOLOGY, PODGROUP)):
            from packwise.schedulers.kai.users_objects import check_users_objects

            findings += check_users_objects(source, topologies.generated)
        groups: list[Generated] = []
        # If packwise renders no PodGroups, check only gangs for which KAI may refuse another component's PodGroup.
        is_checked = _is_grouped if source.settings.emits(PODGROUP.name) else _is_suspect
        checked = [placement for placement in placements if is_checked(placement.node)]
        if checked:
            from packwise.schedulers.kai.podgroups import scheduler_podgroups

            groups, problems = scheduler_podgroups(checked, source, topologies.generated)
            findings += problems
        previews: list[Generated] = []
        own = [placement for placement in placements if _is_own(placement.node)]
        if own:
            from packwise.schedulers.kai.podgroups import own_podgroups

            previews, problems = own_podgroups(own, source, topologies.generated)
            findings += problems
        submitted: list[Generated] = []
        asked = [each for each in placements if not _is_grouped(each.node) and not _is_own(each.node)]
        if asked:
            from packwise.schedulers.kai.service_objects import service_objects

            submitted, problems = service_objects(asked, source)
            findings += problems
        findings += _object_findings(source)
        generated = (*topologies.generated, *submitted, *groups, *previews)
        return SchedulerObjects(generated, tuple(findings), topologies.refusals, topologies.conditions)

    def fix(self, item: KubeObject, cluster: Cluster, settings: TopologyRender) -> KubeObject:
        """Return a ClusterTopologyBinding with the entry that its rendered Topology needs, or `item` itself."""
        if cluster.schedulers is None:
            return item
        from packwise.schedulers.kai.references import with_reference

        return with_reference(item, cluster.schedulers, settings)


_SHARES = frozenset({"gpu-fraction", "gpu-memory", "gpu-fraction-num-devices", "mps"})
"""The annotations with which pods request shares of GPUs."""


def _object_findings(source: SchedulerInput) -> list[Finding]:
    """Return the findings about pods, queues, shards, nodes and other objects that KAI reads."""
    items = source.inventory.items
    findings: list[Finding] = []
    if items.of_kind(*KAI_CONFIG.key) or any(_asks_for_share(each.node) for each in source.placements):
        from packwise.schedulers.kai.pod_admission import check_pods

        findings += check_pods(source)
    if any(items.of_kind(*kind.key) for kind in (QUEUE, *CONFIGURING)):
        from packwise.schedulers.kai.object_schemas import check_objects

        findings += check_objects(source)
    if items.of_kind(*_PRIORITY_CLASS):
        from packwise.schedulers.kai.object_schemas import check_priority_classes

        findings += check_priority_classes(source)
    if items.of_kind(*SCHEDULING_SHARD.key):
        from packwise.schedulers.kai.queue_rules import check_pools
        from packwise.schedulers.kai.shard_rules import check_shards

        findings += check_pools(source)
        findings += check_shards(source)
    if items.of_kind(*KAI_CONFIG.key):
        from packwise.schedulers.kai.shard_rules import check_config_names

        findings += check_config_names(source)
    if source.cluster.nodes:
        from packwise.schedulers.kai.cluster_rules import check_nodes

        findings += check_nodes(source)
    if any(items.of_kind(*kind) for kind in (QUEUE.key, _PRIORITY_CLASS)):
        from packwise.schedulers.kai.cluster_rules import check_queues

        findings += check_queues(source)
    return findings


def _asks_for_share(node: Node) -> bool:
    if isinstance(node, Gang):
        return any(not _SHARES.isdisjoint(leaf.annotations) for leaf in node.sets)
    metadata = node.value.get("metadata") if isinstance(node, GangPod) else None
    annotations = value_at(metadata, "annotations")
    return isinstance(annotations, dict) and not _SHARES.isdisjoint(annotations)


def _is_suspect(node: Node) -> bool:
    """Return True if `node` is a gang and KAI may refuse the PodGroup that another component makes of it.

    KAI refuses names with dots that Grove's webhook accepts. The topology may also be missing in the cluster.
    """
    return _is_grouped(node) and ("." in node.workload or KAI_TOPOLOGY in node.annotations)


def _is_grouped(node: Node) -> TypeGuard[Gang]:
    """Return True if `node` is a gang of an operator. The operator or KAI creates a PodGroup for the gang."""
    return isinstance(node, Gang) and node.is_of_operator


def _is_own(node: Node) -> bool:
    """Return True if `node` is a gang and KAI itself creates its PodGroup from the owner of its pods."""
    return isinstance(node, Gang) and node.grouper is Grouper.OWNER


KAI: Scheduler = _Kai()
"""The KAI Scheduler."""


def rule_table() -> tuple[Rule, ...]:
    """Return all rules about KAI's objects, in the order of the checks."""
    from packwise.schedulers.kai.cluster_rules import NODE_RULES, QUEUE_RULES
    from packwise.schedulers.kai.object_schemas import RULES as OBJECT_RULES
    from packwise.schedulers.kai.pod_admission import RULES as POD_RULES
    from packwise.schedulers.kai.podgroups import OWN_PODGROUP_RULES, PODGROUP_RULES
    from packwise.schedulers.kai.queue_rules import RULES as TREE_RULES
    from packwise.schedulers.kai.references import RULES as REFERENCE_RULES
    from packwise.schedulers.kai.service_objects import RULES as SERVICE_RULES
    from packwise.schedulers.kai.shard_rules import RULES as SHARD_RULES

    return (
        *RULES,
        *PODGROUP_RULES,
        *OWN_PODGROUP_RULES,
        *SERVICE_RULES,
        *REFERENCE_RULES,
        *NODE_RULES,
        *QUEUE_RULES,
        *TREE_RULES,
        *SHARD_RULES,
        *OBJECT_RULES,
        *POD_RULES,
    )
