"""The objects in the input that lead from a job to its nodes: LocalQueue, ClusterQueue, ResourceFlavor, Topology.

Each object is indexed once by its identity, so that jobs find it without a search. Source: spec/kueue.md#5.3 and #6.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from krmfn.hints import TYPE_CHECKING
from packwise.findings import Place
from packwise.kubernetes import amounts
from packwise.lenient import mapping_at, mappings_by_place, mappings_in_place, strings, text, value_at
from packwise.objects.kinds import (
    CLUSTER_QUEUE,
    COHORT,
    KUEUE_TOPOLOGY,
    LOCAL_QUEUE,
    RESOURCE_FLAVOR,
    TOPOLOGY,
    WORKLOAD_PRIORITY_CLASS,
)
from packwise.schedulers.kueue.inactive import GROUP, named_checks, read_checks
from packwise.schedulers.node_selection import namespace_labels, read_selector, selects_namespace
from packwise.topology.known import node_labels
from packwise.wording import MAX_COMPARED, near_miss

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.objects.index import Index
    from packwise.objects.kinds import Kind
    from packwise.schedulers.kueue.inactive import NamedCheck
    from packwise.schedulers.node_selection import LabelRequirement

_STOPPING = ("Hold", "HoldAndDrain")
_MAX_FLAVORS = 256
"""The largest number of flavors in a ClusterQueue that the webhook accepts.

packwise does not check the jobs of a ClusterQueue with more flavors.
"""


@dataclass(frozen=True, slots=True)
class Quota:
    """The quota of a resource in a flavor: millicores of `cpu`, whole units of all others. None means no limit."""

    nominal: int
    borrowing: int | None = None
    lending: int | None = None


@dataclass(frozen=True, slots=True)
class Flavor:
    """A flavor of a ClusterQueue. `path` is its place in the ClusterQueue.

    `value` is its ResourceFlavor, or None if the input does not have it. `levels` are the levels of its Topology, or
    None if it names no Topology or the input does not have it. `quotas` are by resource.
    """

    name: str
    path: FieldPath
    value: Mapping[str, Value] | None
    levels: Sequence[str] | None
    quotas: Mapping[str, Quota]

    @property
    def topology(self) -> str | None:
        """Return the name of the flavor's Topology. Return None if it names no Topology."""
        name = value_at(self.value, "spec", "topologyName")
        return name if isinstance(name, str) else None

    @property
    def is_known(self) -> bool:
        """Return True if the input has the ResourceFlavor, and the Topology if the flavor names one."""
        return self.value is not None and (self.topology is None or self.levels is not None)


@dataclass(frozen=True, slots=True)
class ResourceGroup:
    """A resource group of a ClusterQueue: the resources that it covers, and its flavors in their order."""

    covered_resources: frozenset[str]
    flavors: tuple[Flavor, ...]


@dataclass(frozen=True)
class ClusterQueue:
    """A ClusterQueue, as Kueue reads it. `selector` selects namespaces. None selects no namespace.

    `checks` are the names of its AdmissionChecks. The class has no slots, because it caches properties that each job of
    the queue reads.
    """

    item: KubeObject
    groups: tuple[ResourceGroup, ...]
    cohort: str
    checks: tuple[NamedCheck, ...]
    selector: tuple[LabelRequirement, ...] | None
    is_stopped: bool

    @property
    def name(self) -> str:
        """Return the name of the ClusterQueue."""
        return self.item.name

    @cached_property
    def flavors(self) -> tuple[Flavor, ...]:
        """Return the flavors of all resource groups."""
        return tuple(flavor for group in self.groups for flavor in group.flavors)

    @cached_property
    def is_known(self) -> bool:
        """Return True if the input has all flavors, and the webhook accepts their number."""
        return len(self.flavors) <= _MAX_FLAVORS and all(flavor.is_known for flavor in self.flavors)

    @cached_property
    def is_for_topologies(self) -> bool:
        """Return True if every flavor has a topology, so that every job implicitly requests one."""
        return all(flavor.topology is not None for flavor in self.flavors)

    def group_of(self, resource: str) -> ResourceGroup | None:
        """Return the resource group that covers `resource`. Return None if no group covers it."""
        return next((group for group in self.groups if resource in group.covered_resources), None)


class Chain:
    """The objects of the input and of the render, by identity."""

    def __init__(
        self, items: Index, values: Sequence[Mapping[str, Value]], nodes: Iterable[Mapping[str, Value]] = ()
    ) -> None:
        self.flavors = _by_name(items, values, RESOURCE_FLAVOR)
        self.levels: dict[str, list[str] | None] = {
            name: None if value is None else node_labels(value)
            for name, value in _by_name(items, values, KUEUE_TOPOLOGY).items()
        }
        self.local_queues = items.of_kind(*LOCAL_QUEUE.key)
        self.cohorts = items.of_kind(*COHORT.key)
        self.checks = read_checks(lambda kind: {item.name: item.value for item in items.of_kind(GROUP, kind)})
        self.priorities = frozenset([item.name for item in items.of_kind(*WORKLOAD_PRIORITY_CLASS.key)])
        self.nodes = FlavorNodes([node for node in nodes if node.get("kind") == "Node"])
        self._items = items
        self._local_queues: dict[tuple[str, str], Sequence[KubeObject]] = {}
        self._queues: dict[tuple[str, str], ClusterQueue | None] = {}
        self._topologies: dict[tuple[str, str, bool], tuple[str, ...]] = {}
        self._flavor_names: dict[tuple[str, str], tuple[str, ...]] = {}
        self._origins: dict[tuple[str, str], tuple[tuple[str, Place], ...]] = {}

    @cached_property
    def topologies_of_kai(self) -> frozenset[str]:
        """Return the names of KAI's Topologies. Kueue does not read these."""
        return frozenset([item.name for item in self._items.of_kind(*TOPOLOGY.key)])

    @cached_property
    def cluster_queues(self) -> tuple[ClusterQueue, ...]:
        """Return all ClusterQueues of the input."""
        return tuple(self._read_queue(item) for item in self._items.of_kind(*CLUSTER_QUEUE.key))

    @cached_property
    def cluster_queues_by_name(self) -> Mapping[str, Sequence[ClusterQueue]]:
        """Map each name to its ClusterQueues. There are several if files repeat the name."""
        by_name: dict[str, list[ClusterQueue]] = {}
        for queue in self.cluster_queues:
            by_name.setdefault(queue.name, []).append(queue)
        return by_name

    @cached_property
    def _local_queues_by_name(self) -> Mapping[str, Mapping[str, Sequence[KubeObject]]]:
        by_name: dict[str, dict[str, list[KubeObject]]] = {}
        for queue in self.local_queues:
            by_name.setdefault(queue.name, {}).setdefault(queue.namespace or "", []).append(queue)
        return by_name

    @cached_property
    def _namespaces(self) -> Mapping[str, Mapping[str, Value] | None]:
        return namespace_labels(self._items)

    def local_queues_of(self, name: str, namespace: str) -> Sequence[KubeObject]:
        """Return the LocalQueues called `name` that a job of the namespace may use.

        If the job or a LocalQueue has no namespace, any namespace may be meant.
        """
        key = name, namespace
        if key not in self._local_queues:
            by_namespace = self._local_queues_by_name.get(name, {})
            near = (namespace, "") if namespace else tuple(by_namespace)
            self._local_queues[key] = [queue for each in near for queue in by_namespace.get(each, ())]
        return self._local_queues[key]

    def namespaces_of_local_queues(self, name: str) -> list[str]:
        """Return the namespaces that have a LocalQueue called `name`, sorted."""
        return sorted(self._local_queues_by_name.get(name, {}))

    @cached_property
    def _local_queue_names(self) -> Mapping[str, Sequence[str]]:
        names: dict[str, dict[str, None]] = {}
        for queue in self.local_queues:
            names.setdefault(queue.namespace or "", {})[queue.name] = None
        return {namespace: tuple(own) for namespace, own in names.items()}

    def has_local_queues(self, namespace: str) -> bool:
        """Return True if the input has LocalQueues of this namespace. It then probably has all of them."""
        return bool(namespace) and namespace in self._local_queue_names

    def similar_local_queue(self, name: str, namespace: str) -> str:
        """Return `; did you mean "x"?` for the namespace's LocalQueue that is a typo away, or ""."""
        near = dict.fromkeys((namespace, "")) if namespace else self._local_queue_names
        lists = [self._local_queue_names.get(each, ()) for each in near]
        # Do not search too many names for a similar one.
        return near_miss(name, sum(map(tuple, lists), ())) if sum(map(len, lists)) <= MAX_COMPARED else ""

    def cluster_queue(self, name: str, namespace: str) -> ClusterQueue | None:
        """Return the ClusterQueue of the LocalQueue `name`.

        Return None if the input does not have it, or if objects with these names differ.
        """
        key = name, namespace
        if key not in self._queues:
            self._queues[key] = self._lead(self.local_queues_of(name, namespace))
        return self._queues[key]

    def _lead(self, queues: Sequence[KubeObject]) -> ClusterQueue | None:
        leads = {str(each.get("spec.clusterQueue")) for each in queues}
        known = self.cluster_queues_by_name.get(leads.pop()) if len(leads) == 1 else None
        is_clear = known is not None and all(each.item.get("spec") == known[0].item.get("spec") for each in known)
        return known[0] if known is not None and is_clear else None

    def _read_queue(self, item: KubeObject) -> ClusterQueue:
        groups = mappings_in_place(item.get("spec.resourceGroups"))
        selector = item.get("spec.namespaceSelector")
        # v1beta2 renamed the field, and drops the old one.
        cohort = "cohort" if item.api_version == f"{CLUSTER_QUEUE.group}/v1beta1" else "cohortName"
        return ClusterQueue(
            item,
            tuple(self._group(group, ("spec", "resourceGroups", place)) for place, group in enumerate(groups)),
            text(item.get(("spec", cohort))),
            named_checks(item.get("spec")),
            read_selector(selector) if isinstance(selector, dict) else None,
            is_stopped(item),
        )

    def _group(self, group: Mapping[str, Value], path: FieldPath) -> ResourceGroup:
        covered = frozenset(strings(group.get("coveredResources")))
        flavors = [
            self._flavor(name, (*path, "flavors", place, "name"), flavor)
            for place, flavor in mappings_by_place(group.get("flavors"))
            if isinstance(name := flavor.get("name"), str)
        ]
        return ResourceGroup(covered, tuple(flavors))

    def _flavor(self, name: str, path: FieldPath, quotas: Mapping[str, Value]) -> Flavor:
        value = self.flavors.get(name)
        topology = value_at(value, "spec", "topologyName")
        levels = self.levels.get(topology) if isinstance(topology, str) else None
        return Flavor(name, path, value, levels, _quotas(quotas.get("resources")))

    def topologies(self, queue: str, namespace: str, *, is_asked: bool) -> tuple[str, ...]:
        """Return the topologies of the flavors that Kueue may assign to a pod set of the LocalQueue `queue`.

        `is_asked` is true if the pod set requests a topology. Return () if the ClusterQueue has too many flavors.
        """
        key = queue, namespace, is_asked
        if key not in self._topologies:
            self._topologies[key] = self._read_topologies(self.cluster_queue(queue, namespace), is_asked)
        return self._topologies[key]

    def _read_topologies(self, queue: ClusterQueue | None, is_asked: bool) -> tuple[str, ...]:
        flavors = () if queue is None else queue.flavors
        names = [flavor.topology for flavor in flavors] if len(flavors) <= _MAX_FLAVORS else []
        if not is_asked and None in names:
            return ()
        return tuple(dict.fromkeys([name for name in names if name is not None]))

    @cached_property
    def topology_objects(self) -> Mapping[str, KubeObject]:
        """Return the Topologies of the input by name."""
        return {item.name: item for item in self._items.of_kind(*KUEUE_TOPOLOGY.key)}

    def origins(self, queue: str, namespace: str) -> tuple[tuple[str, Place], ...]:
        """Return the places in the input that lead from a LocalQueue to flavors and topologies, each with a text."""
        key = queue, namespace
        if key not in self._origins:
            self._origins[key] = tuple(self._list_origins(queue, namespace))
        return self._origins[key]

    def _list_origins(self, queue: str, namespace: str) -> Iterator[tuple[str, Place]]:
        lead = self.cluster_queue(queue, namespace)
        for item in self.local_queues_of(queue, namespace):
            yield f"ClusterQueue {item.get('spec.clusterQueue')}", Place(item, ("spec", "clusterQueue"))
        if lead is None or len(lead.flavors) > _MAX_FLAVORS:
            return
        named = {item.name: item for item in self._items.of_kind(*RESOURCE_FLAVOR.key)}
        for flavor in lead.flavors:
            yield f"flavor {flavor.name}", Place(lead.item, flavor.path)
            if flavor.topology is not None and flavor.name in named:
                yield f"topology {flavor.topology}", Place(named[flavor.name], ("spec", "topologyName"))

    def names_of_flavors(self, queue: str, namespace: str) -> tuple[str, ...]:
        """Return the names of a LocalQueue's flavors, in the order in which Kueue tries them."""
        key = queue, namespace
        if key not in self._flavor_names:
            cluster_queue = self.cluster_queue(queue, namespace)
            flavors = () if cluster_queue is None else cluster_queue.flavors
            self._flavor_names[key] = tuple(dict.fromkeys([each.name for each in flavors]))
        return self._flavor_names[key]

    def selects_namespace(self, queue: ClusterQueue, namespace: str) -> bool | None:
        """Return True if a ClusterQueue accepts jobs of a namespace. Return None if it depends on unknown labels.

        A ClusterQueue without a selector accepts no jobs.
        """
        return False if queue.selector is None else selects_namespace(queue.selector, namespace, self._namespaces)


def is_stopped(queue: KubeObject) -> bool:
    """Return True if the `stopPolicy` of a LocalQueue or ClusterQueue stops it."""
    return queue.get("spec.stopPolicy") in _STOPPING


def _quotas(resources: Value) -> dict[str, Quota]:
    """Return the quotas of a flavor by resource. Invalid quantities are skipped."""
    quotas: dict[str, Quota] = {}
    for _, entry in mappings_by_place(resources):
        name = text(entry.get("name"))
        read = {field: amounts({name: entry.get(field)}).get(name) for field in ("nominalQuota", *_LIMITS)}
        nominal = read["nominalQuota"]
        if name and nominal is not None:
            quotas[name] = Quota(nominal, *[read[field] for field in _LIMITS])
    return quotas


_LIMITS = ("borrowingLimit", "lendingLimit")


def _by_name(items: Index, values: Iterable[Mapping[str, Value]], kind: Kind) -> dict[str, Mapping[str, Value] | None]:
    """Map the names of objects of a kind to the objects.

    The value is None if objects with the same name have different specs, because each of them may be in effect.
    """
    by_name: dict[str, Mapping[str, Value] | None] = {}
    written = [item.value for item in items.of_kind(*kind.key)]
    for value in (*written, *(value for value in values if value["kind"] == kind.name)):
        name = value_at(value, "metadata", "name")
        if isinstance(name, str):
            before = by_name.setdefault(name, value)
            if before is not None and before.get("spec") != value.get("spec"):
                by_name[name] = None
    return by_name


class FlavorNodes:
    """The nodes of the cluster, indexed by their labels."""

    def __init__(self, nodes: Sequence[Mapping[str, Value]]) -> None:
        self._labels = [mapping_at(node, "metadata", "labels") for node in nodes]
        self._names = [text(value_at(node, "metadata", "name")) for node in nodes]
        self._by_key: dict[str, list[int]] = {}
        self._by_label: dict[tuple[str, str], list[int]] = {}
        for place, labels in enumerate(self._labels):
            for key, value in labels.items():
                self._by_key.setdefault(key, []).append(place)
                self._by_label.setdefault((key, str(value)), []).append(place)

    def __bool__(self) -> bool:
        return bool(self._labels)

    def count_carriers(self, keys: Collection[str]) -> int:
        """Return the number of nodes that have all labels `keys`, with any values."""
        fewest = min([self._by_key.get(key, []) for key in keys], key=len, default=range(len(self._labels)))
        return sum([1 for place in fewest if self._labels[place].keys() >= set(keys)])

    def matching_nodes(self, labels: Mapping[str, Value]) -> list[tuple[str, Mapping[str, Value]]]:
        """Return the names and labels of the nodes that have all `labels` with the same values."""
        lists = [self._by_label.get((key, str(value)), []) for key, value in labels.items()]
        fewest = min(lists, key=len, default=range(len(self._labels)))
        return [(self._names[place], own) for place in fewest if labels.items() <= (own := self._labels[place]).items()]
