"""The cluster as Kueue sees it, read from the objects of the input and of the cluster.

Source: spec/kueue.md#9.1, #9.2 and #9.8; Kueue, tas_nodes_cache.go and non_tas_usage_controller.go.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING, Record
from packwise.keys import HOSTNAME
from packwise.kubernetes import amounts
from packwise.lenient import entries, mapping_at, mappings, strings, text_at, texts, value_at
from packwise.schedulers.kueue.allocate.scene import (
    ClusterQueue,
    Cohort,
    Flavor,
    FlavorResource,
    LocalQueue,
    Node,
    NodeRules,
    PlacedPods,
    Quota,
    ResourceGroup,
    Scene,
    Workload,
    with_pod,
)
from packwise.schedulers.kueue.inactive import (
    KINDS,
    check_faults,
    cycle_fault,
    delaying_checks,
    find_cycles,
    named_checks,
    read_checks,
)
from packwise.schedulers.kueue.pod_resources import pod_requests
from packwise.schedulers.kueue.request import PREFERRED, REQUIRED, SLICE_LAYERS, SLICE_REQUIRED, UNCONSTRAINED
from packwise.schedulers.node_selection import read_node_terms, read_selector, read_taints, read_tolerations
from packwise.topology.known import node_labels

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from krmfn.value import Value
    from packwise.schedulers.kueue.allocate.scene import Path, PodRequest
    from packwise.schedulers.kueue.inactive import KnownChecks

    Objects = Mapping[str, Sequence[Mapping[str, Value]]]
    """Objects by kind."""

_GROUP = "kueue.x-k8s.io/"
_KUEUE_KINDS = ("Topology", "ResourceFlavor", "ClusterQueue", "LocalQueue", "Cohort", "Workload", "AdmissionCheck",
            *[kind for _, kind in KINDS])  # fmt: skip
_ENDED = ("Succeeded", "Failed")

_TOPOLOGY_ANNOTATIONS = (REQUIRED, PREFERRED, UNCONSTRAINED, SLICE_REQUIRED, SLICE_LAYERS)
"""The annotations of pods that Kueue places. Kueue counts these pods by their Workloads."""

_HOLDS = ("Hold", "HoldAndDrain")
_MAX_DOMAINS = 100_000
"""The largest number of domains that are read from one entry of a topology assignment."""


class KueueObjects(Record):
    """Objects by kind: Kueue's own, and the Nodes, Pods, Namespaces and priority classes of the cluster."""

    by_kind: Objects

    def by_name(self, kind: str) -> dict[str, Mapping[str, Value]]:
        """Return the objects of a kind by name. If several have the same name, the last one counts."""
        return {text_at(value, "metadata", "name"): value for value in self.by_kind.get(kind, ())}


def objects_by_kind(objects: Iterable[Mapping[str, Value]]) -> KueueObjects:
    """Return the objects by kind. Skip objects of other API groups that have the name of a kind of Kueue."""
    by_kind: dict[str, list[Mapping[str, Value]]] = {}
    for value in objects:
        kind, version = text_at(value, "kind"), text_at(value, "apiVersion")
        if kind not in _KUEUE_KINDS or version.startswith(_GROUP):
            by_kind.setdefault(kind, []).append(value)
    return KueueObjects(by_kind)


def read_scene(known: KueueObjects) -> Scene:
    """Return the cluster, without jobs to admit."""
    kinds = known.by_kind
    flavors = {name: _flavor(name, value) for name, value in known.by_name("ResourceFlavor").items()}
    checks = read_checks(known.by_name)
    cohorts = {name: _cohort(name, value) for name, value in known.by_name("Cohort").items()}
    cycles = find_cycles({name: cohort.parent for name, cohort in cohorts.items()})
    return Scene(
        nodes=tuple(_usable_nodes(kinds.get("Node", ()))),
        topologies={name: tuple(node_labels(value)) for name, value in known.by_name("Topology").items()},
        flavors=flavors,
        local_queues=tuple(_local_queue(value) for value in kinds.get("LocalQueue", ())),
        cluster_queues={
            name: _cluster_queue(name, value, checks, cycles) for name, value in known.by_name("ClusterQueue").items()
        },
        cohorts=cohorts,
        namespaces={
            name: texts(value_at(value, "metadata", "labels")) for name, value in known.by_name("Namespace").items()
        },
        jobs=(),
        workloads=tuple(_workload(value, flavors) for value in kinds.get("Workload", ()) if _has_quota(value)),
        bound_pods=tuple(_bound_pods(kinds.get("Pod", ()))),
    )


def _usable_nodes(nodes: Iterable[Mapping[str, Value]]) -> Iterator[Node]:
    """Yield the nodes that are ready and not cordoned. Kueue ignores all others."""
    for value in nodes:
        conditions = mappings(value_at(value, "status", "conditions"))
        ready = [condition.get("status") for condition in conditions if condition.get("type") == "Ready"]
        # A node in a hand-written file has no conditions, and counts as ready.
        is_ready = ready[-1] == "True" if ready else not conditions
        if is_ready and value_at(value, "spec", "unschedulable") is not True:
            status = mapping_at(value, "status")
            yield Node(
                text_at(value, "metadata", "name"),
                texts(value_at(value, "metadata", "labels")),
                amounts(mapping_at(status, "allocatable") or mapping_at(status, "capacity")),
                read_taints(value_at(value, "spec", "taints")),
            )


def _bound_pods(pods: Iterable[Mapping[str, Value]]) -> Iterator[tuple[str, PodRequest]]:
    """Yield the node and the request of each running pod that Kueue does not place."""
    for value in pods:
        node = text_at(value, "spec", "nodeName")
        annotations = mapping_at(value, "metadata", "annotations")
        if (
            node
            and text_at(value, "status", "phase") not in _ENDED
            and not annotations.keys() & set(_TOPOLOGY_ANNOTATIONS)
        ):
            yield node, with_pod(pod_request(mapping_at(value, "spec")))


def pod_request(spec: Mapping[str, Value]) -> PodRequest:
    """Return the resources that a pod with this spec requests."""
    return tuple(sorted(pod_requests(spec).items()))


def node_rules(spec: Mapping[str, Value]) -> NodeRules:
    """Return the rules of a pod for its node."""
    return NodeRules(
        tuple(sorted(texts(spec.get("nodeSelector")).items())),
        read_node_terms(spec),
        read_tolerations(spec.get("tolerations")),
    )


def _flavor(name: str, value: Mapping[str, Value]) -> Flavor:
    spec = mapping_at(value, "spec")
    return Flavor(
        name,
        texts(spec.get("nodeLabels")),
        read_taints(spec.get("nodeTaints")),
        read_tolerations(spec.get("tolerations")),
        text_at(spec, "topologyName"),
    )


def _local_queue(value: Mapping[str, Value]) -> LocalQueue:
    return LocalQueue(
        text_at(value, "metadata", "namespace"),
        text_at(value, "metadata", "name"),
        text_at(value, "spec", "clusterQueue"),
        is_stopped=text_at(value, "spec", "stopPolicy") in _HOLDS,
    )


def _cluster_queue(
    name: str, value: Mapping[str, Value], checks: KnownChecks, cycles: Mapping[str, tuple[str, ...]]
) -> ClusterQueue:
    spec = mapping_at(value, "spec")
    selector = spec.get("namespaceSelector")
    named, groups = named_checks(spec), tuple(_resource_groups(spec))
    flavors = [flavor for group in groups for flavor in group.flavors]
    # In v1beta1, the field is called `cohort`.
    cohort = text_at(spec, "cohortName") or text_at(spec, "cohort")
    return ClusterQueue(
        name=name,
        groups=groups,
        quotas=_quotas(spec),
        cohort=cohort,
        selector=read_selector(selector) if isinstance(selector, dict) else None,
        is_stopped=text_at(spec, "stopPolicy") in _HOLDS,
        checks=delaying_checks(named, checks),
        faults=(
            *[fault.cause for fault in check_faults(named, flavors, checks)],
            *[cycle_fault(cycle) for cycle in (cycles.get(cohort),) if cycle],
        ),
        notes=tuple(_settings_not_simulated(spec, name)),
    )


def _resource_groups(spec: Mapping[str, Value]) -> Iterator[ResourceGroup]:
    for group in mappings(spec.get("resourceGroups")):
        covered = tuple(strings(group.get("coveredResources")))
        yield ResourceGroup(covered, tuple(text_at(flavor, "name") for flavor in mappings(group.get("flavors"))))


def _quotas(spec: Mapping[str, Value]) -> dict[FlavorResource, Quota]:
    quotas: dict[FlavorResource, Quota] = {}
    for group in mappings(spec.get("resourceGroups")):
        for flavor in mappings(group.get("flavors")):
            for resource in mappings(flavor.get("resources")):
                name = text_at(resource, "name")
                quotas[text_at(flavor, "name"), name] = Quota(
                    _amount(name, resource.get("nominalQuota")) or 0,
                    _amount(name, resource.get("borrowingLimit")),
                    _amount(name, resource.get("lendingLimit")),
                )
    return quotas


def _amount(name: str, written: Value) -> int | None:
    """Return a quantity of a resource as a number. Return None if it is absent or invalid."""
    return amounts({name: written}).get(name)


def _settings_not_simulated(spec: Mapping[str, Value], name: str) -> Iterator[str]:
    fungibility = mapping_at(spec, "flavorFungibility")
    defaults = {"whenCanBorrow": ("Borrow", "MayStopSearch"), "whenCanPreempt": ("TryNextFlavor",)}
    if any(field in fungibility and fungibility[field] not in usual for field, usual in defaults.items()):
        yield f'the ClusterQueue "{name}" sets flavorFungibility; packwise simulates only the default'
    preemption = mapping_at(spec, "preemption")
    if any(preemption.get(field) not in (None, "Never") for field in ("withinClusterQueue", "reclaimWithinCohort")):
        yield f'the ClusterQueue "{name}" may preempt Workloads; packwise does not simulate preemption'
    if spec.get("fairSharing") is not None:
        yield f'the ClusterQueue "{name}" sets fairSharing, which packwise does not simulate'


def _cohort(name: str, value: Mapping[str, Value]) -> Cohort:
    spec = mapping_at(value, "spec")
    return Cohort(name, text_at(spec, "parentName") or text_at(spec, "parent"), _quotas(spec))


def _has_quota(value: Mapping[str, Value]) -> bool:
    conditions = mappings(value_at(value, "status", "conditions"))
    holding = {text_at(each, "type") for each in conditions if each.get("status") == "True"}
    return "QuotaReserved" in holding and "Finished" not in holding


def is_waiting(value: Mapping[str, Value]) -> bool:
    """Return True if a Workload of the cluster waits for quota: it is active, not finished, and has none."""
    conditions = mappings(value_at(value, "status", "conditions"))
    holding = {text_at(each, "type") for each in conditions if each.get("status") == "True"}
    return not holding & {"QuotaReserved", "Finished"} and value_at(value, "spec", "active") is not False


def _workload(value: Mapping[str, Value], flavors: Mapping[str, Flavor]) -> Workload:
    """Return a Workload that has quota, with its usage and its pods by domain."""
    requests = {
        text_at(each, "name"): with_pod(pod_request(mapping_at(each, "template", "spec")))
        for each in mappings(value_at(value, "spec", "podSets"))
    }
    usage: dict[FlavorResource, int] = {}
    placed: list[tuple[str, PlacedPods]] = []
    sets: list[tuple[str, tuple[tuple[Path, int], ...]]] = []
    for assigned in mappings(value_at(value, "status", "admission", "podSetAssignments")):
        name, by_resource = text_at(assigned, "name"), texts(assigned.get("flavors"))
        for resource, amount in amounts(mapping_at(assigned, "resourceUsage")).items():
            if resource in by_resource:
                key = (by_resource[resource], resource)
                usage[key] = usage.get(key, 0) + amount
        named = [flavor for flavor in by_resource.values() if flavor in flavors and flavors[flavor].topology]
        flavor = (named or [*by_resource.values(), ""])[0]
        domains = tuple(_domains(mapping_at(assigned, "topologyAssignment")))
        sets.append((name, domains))
        placed += [(flavor, PlacedPods(path, requests.get(name, ()), count)) for path, count in domains]
    owners = mappings(value_at(value, "metadata", "ownerReferences"))
    return Workload(
        namespace=text_at(value, "metadata", "namespace"),
        name=text_at(value, "metadata", "name"),
        cluster_queue=text_at(value, "status", "admission", "clusterQueue"),
        usage=usage,
        placed=tuple(placed),
        owners=tuple((text_at(owner, "kind"), text_at(owner, "name")) for owner in owners),
        sets=tuple(sets),
    )


def _domains(assignment: Mapping[str, Value]) -> Iterator[tuple[Path, int]]:
    """Yield the domains of a topology assignment, each with its number of pods.

    v1beta1 lists the domains, and v1beta2 packs them. The path of a host is only its name.
    """
    levels = entries(assignment.get("levels"))
    is_by_host = bool(levels) and levels[-1] == HOSTNAME
    listed = [
        (tuple(str(each) for each in entries(domain.get("values"))), domain.get("count"))
        for domain in mappings(assignment.get("domains"))
    ]
    packed = [entry for part in mappings(assignment.get("slices")) for entry in _unpack(part)]
    for path, count in (*listed, *packed):
        if path and type(count) is int and count > 0:
            yield path[-1:] if is_by_host else path, count


def _unpack(part: Mapping[str, Value]) -> list[tuple[Path, Value]]:
    """Return the domains of an entry of `slices`, each with its number of pods.

    The entry contains the common values of the domains only once.
    """
    number = part.get("domainCount")
    size = min(number, _MAX_DOMAINS) if type(number) is int else 0
    columns = [_column(level, size) for level in mappings(part.get("valuesPerLevel"))]
    counts = mapping_at(part, "podCounts")
    individual = entries(counts.get("individual"))
    pods: list[Value] = individual if "individual" in counts else [counts.get("universal")] * size
    return list(zip(zip(*columns, strict=False), pods, strict=False))


def _column(level: Mapping[str, Value], size: int) -> list[str]:
    """Return the values of one level for all domains of an entry."""
    if "universal" in level:
        return [text_at(level, "universal")] * size
    individual = mapping_at(level, "individual")
    prefix, suffix = text_at(individual, "prefix"), text_at(individual, "suffix")
    return [f"{prefix}{root}{suffix}" for root in entries(individual.get("roots"))[:size]]
