"""LocalQueue, ClusterQueue, ResourceFlavor and Topology: the way from a job to its nodes, as far as the input has it.

No webhook looks at any of it: what is missing, or asked for and not there, shows as a job that waits for ever. Kueue's
own conditions are told in its words. Source: spec/kueue.md#3, #5.3, #6.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from krmfn.hints import TYPE_CHECKING
from krmfn.result import Severity
from packwise.findings.finding import Finding, Rule
from packwise.lenient import entries, mapping, mapping_at, mappings, mappings_by_place, mappings_in_place, value_at
from packwise.objects import Place, is_placeholder
from packwise.objects.kinds import KUEUE_TOPOLOGY, RESOURCE_FLAVOR, TOPOLOGY
from packwise.objects.workload_kinds import QUEUE_NAME
from packwise.placement import PodSlice, QueuedPods
from packwise.revisions.kueue import kueue_release
from packwise.schedulers.kueue.objects import rendered_values
from packwise.schedulers.kueue.podsets import jobs_of
from packwise.schedulers.kueue.request import TOPOLOGY_KEYS, UNCONSTRAINED, TopologyRequest, read_request, unparsable
from packwise.topology.known import node_labels
from packwise.wording import closest, near_miss

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.objects import Generated, Index, Inventory
    from packwise.objects.kinds import Kind
    from packwise.revisions.kueue import KueueRelease
    from packwise.schedulers import SchedulerInput
    from packwise.schedulers.kueue.podsets import KueueJob, KueuePodSet
    from packwise.settings import TopologyRender
    from packwise.topology.known import KnownTopologies

QUEUE = Rule(
    "kueue-queue", "The queue that a job or a LocalQueue names is there.", "spec/kueue.md#6.7", Severity.WARNING
)
INACTIVE = Rule(
    "kueue-inactive",
    "The flavors of a ClusterQueue, and their Topologies, are there.",
    "spec/kueue.md#5.3",
    Severity.WARNING,
)
UNMATCHED = Rule(
    "kueue-unmatched",
    "A flavor of the queue takes what a pod set asks of the topology.",
    "spec/kueue.md#6.3",
    Severity.WARNING,
)
NO_NODES = Rule("kueue-flavor-nodes", "A flavor with a topology has nodes.", "spec/kueue.md#6.6", Severity.WARNING)
FALSE = Rule("kueue-unconstrained-false", 'No pod set asks for `unconstrained: "false"`.', "spec/kueue.md#6.4")
RULES = (QUEUE, INACTIVE, UNMATCHED, NO_NODES, FALSE)
"""Rules of what stands between a job and its nodes."""

_GROUP = "kueue.x-k8s.io"
_LOCAL_QUEUE = (_GROUP, "LocalQueue")
_CLUSTER_QUEUE = (_GROUP, "ClusterQueue")


@dataclass(frozen=True, slots=True)
class _Flavor:
    """A flavor of a ClusterQueue at `path`; `value` is its ResourceFlavor, None where the input has none."""

    name: str
    path: FieldPath
    value: Mapping[str, Value] | None

    @property
    def topology(self) -> str | None:
        """The Topology that it names."""
        name = value_at(self.value, "spec", "topologyName")
        return name if isinstance(name, str) else None


@dataclass(frozen=True, slots=True)
class _Resources:
    """A resource group of a ClusterQueue: the resources that it covers and its flavors."""

    covered: frozenset[str]
    flavors: tuple[_Flavor, ...]


class Chain:
    """The objects of the input, and those that are rendered, by name."""

    def __init__(
        self, items: Index, values: Sequence[Mapping[str, Value]], nodes: Iterable[Mapping[str, Value]] = ()
    ) -> None:
        self.flavors = _by_name(items, values, RESOURCE_FLAVOR)
        self.levels: dict[str, list[str] | None] = {
            name: None if value is None else node_labels(value)
            for name, value in _by_name(items, values, KUEUE_TOPOLOGY).items()
        }
        self.of_kai = [item.name for item in items.of_kind(*TOPOLOGY.key)]
        self.local_queues = items.of_kind(*_LOCAL_QUEUE)
        self.nodes = [mapping_at(node, "metadata", "labels") for node in nodes if node.get("kind") == "Node"]
        self.cluster_queues = items.of_kind(*_CLUSTER_QUEUE)

    def resources(self, queue: KubeObject) -> list[_Resources]:
        """The resource groups of a ClusterQueue."""
        groups = mappings_in_place(queue.get("spec.resourceGroups"))
        return [self._group(group, ("spec", "resourceGroups", position)) for position, group in enumerate(groups)]

    def _group(self, group: Mapping[str, Value], path: FieldPath) -> _Resources:
        covered = frozenset([each for each in entries(group.get("coveredResources")) if isinstance(each, str)])
        flavors = [
            _Flavor(name, (*path, "flavors", position, "name"), self.flavors.get(name))
            for position, flavor in mappings_by_place(group.get("flavors"))
            if isinstance(name := flavor.get("name"), str)
        ]
        return _Resources(covered, tuple(flavors))

    def cluster_queue(self, name: str, namespace: str) -> KubeObject | None:
        """The ClusterQueue of a LocalQueue; None where the input has none, or several that are not the same."""
        queues = [each for each in self.local_queues if each.name == name and _is_near(each, namespace)]
        leads = {str(each.get("spec.clusterQueue")) for each in queues}
        known = [each for each in self.cluster_queues if each.name in leads]
        is_clear = len(leads) == 1 and all(each.get("spec") == known[0].get("spec") for each in known)
        return known[0] if known and is_clear else None

    def topologies(self, queue: str, namespace: str, *, is_asked: bool) -> tuple[str, ...]:
        """The topologies of the flavors of a LocalQueue that a pod set may get, which asks for one or not."""
        cluster_queue = self.cluster_queue(queue, namespace)
        groups = [] if cluster_queue is None else self.resources(cluster_queue)
        names = [flavor.topology for group in groups for flavor in group.flavors]
        if not is_asked and None in names:
            return ()
        return tuple(dict.fromkeys([name for name in names if name is not None]))

    def names_of_queues(self, namespace: str) -> list[str]:
        """The LocalQueues of a namespace."""
        return [each.name for each in self.local_queues if _is_near(each, namespace)]


def _is_near(queue: KubeObject, namespace: str) -> bool:
    return not queue.namespace or not namespace or queue.namespace == namespace


def _by_name(items: Index, values: Iterable[Mapping[str, Value]], kind: Kind) -> dict[str, Mapping[str, Value] | None]:
    """The objects of a kind by name; None for several of another spec, of which nobody knows which one counts."""
    by_name: dict[str, Mapping[str, Value] | None] = {}
    written = [item.value for item in items.of_kind(*kind.key)]
    for value in (*written, *(value for value in values if value["kind"] == kind.name)):
        name = value_at(value, "metadata", "name")
        if isinstance(name, str):
            before = by_name.setdefault(name, value)
            if before is not None and before.get("spec") != value.get("spec"):
                by_name[name] = None
    return by_name


def check_chain(
    source: SchedulerInput, jobs: Sequence[KueueJob], generated: Iterable[Generated], release: KueueRelease
) -> Iterator[Finding]:
    """Findings about what is missing or does not match between the jobs of the input and their flavors."""
    chain = Chain(source.inventory.items, [each.value for each in generated], source.cluster.nodes)
    yield from _queues(chain)
    yield from _without_nodes(source.inventory.items.of_kind(*RESOURCE_FLAVOR.key), chain)
    for job in jobs:
        yield from _job(job, chain, release)


def _queues(chain: Chain) -> Iterator[Finding]:
    for item in chain.local_queues:
        name, names = item.get("spec.clusterQueue"), [queue.name for queue in chain.cluster_queues]
        if isinstance(name, str) and names and name not in names and not is_placeholder(name):
            message = (
                f'names the ClusterQueue "{name}", which is not among those of the input: jobs of this queue wait '
                f"while there is none{closest(name, names)}"
            )
            yield Finding.of(QUEUE, item, ("spec", "clusterQueue"), message)
    for queue in chain.cluster_queues:
        yield from _inactive(queue, chain)


def _inactive(queue: KubeObject, chain: Chain) -> Iterator[Finding]:
    """Why Kueue admits no workload of a ClusterQueue, in the words of its condition."""
    flavors = [
        flavor for group in chain.resources(queue) for flavor in group.flavors if not is_placeholder(flavor.name)
    ]
    missing = [flavor for flavor in flavors if flavor.name not in chain.flavors]
    homeless = [flavor for flavor in flavors if flavor.topology is not None and flavor.topology not in chain.levels]
    if not missing and not homeless:
        return
    parts: list[str] = []
    if missing:
        parts.append(f"references missing ResourceFlavor(s): {','.join(dict.fromkeys(each.name for each in missing))}")
    parts += [f'there is no Topology "{each.topology}" for TAS flavor "{each.name}"' for each in homeless]
    text = f"Can't admit new workloads: {', '.join(dict.fromkeys(parts))}."
    hint = _hint(missing, homeless, chain)
    first = min((*missing, *homeless), key=flavors.index)
    message = f"is not among the input; Kueue says of the ClusterQueue: {text}{hint}"
    if first.value is not None:
        message = (
            f"has a topology that is not among the input, while which Kueue says of the ClusterQueue: {text}{hint}"
        )
    yield Finding.of(INACTIVE, queue, first.path, message)


def _hint(missing: Sequence[_Flavor], homeless: Sequence[_Flavor], chain: Chain) -> str:
    for flavor in missing:
        near = closest(flavor.name, list(chain.flavors))
        if near:
            return near
    for flavor in homeless:
        name = flavor.topology or ""
        if name in chain.of_kai:
            return f' The Topology "{name}" of the input is KAI\'s, which Kueue does not read.'
        near = closest(name, list(chain.levels))
        if near:
            return near
    return ""


def _without_nodes(items: Iterable[KubeObject], chain: Chain) -> Iterator[Finding]:
    """Flavors with a topology whose labels the nodes of the input have with other values."""
    for item in items if chain.nodes else ():
        labels = mapping(item.get("spec.nodeLabels"))
        # Nodes without these labels are of another cluster, or samples.
        nodes = [node for node in chain.nodes if labels.keys() <= node.keys()]
        if (
            item.get("spec.topologyName") is not None
            and nodes
            and not any(labels.items() <= node.items() for node in nodes)
        ):
            message = f"match none of the {len(nodes)} nodes of the input that have them: nothing fits into the flavor"
            yield Finding.of(NO_NODES, item, ("spec", "nodeLabels"), message)


def _job(job: KueueJob, chain: Chain, release: KueueRelease) -> Iterator[Finding]:
    for each in job.sets:
        yield from _false(job, each, release)
    name = job.item.labels.get(QUEUE_NAME)
    if not name or is_placeholder(name):
        return
    namespace = job.item.namespace or ""
    names = chain.names_of_queues(namespace)
    if name not in names:
        near = near_miss(name, names)
        # Whoever keeps queues of just this namespace in the input keeps all of them there.
        if near or (namespace and any(each.namespace == namespace for each in chain.local_queues)):
            message = (
                f'names the queue "{name}", which is not among the LocalQueues of the namespace: the job waits while '
                f"there is none{near}"
            )
            yield Finding.of(QUEUE, job.item, ("metadata", "labels", QUEUE_NAME), message)
        return
    cluster_queue = chain.cluster_queue(name, namespace)
    if cluster_queue is not None:
        groups = chain.resources(cluster_queue)
        for each in job.sets:
            yield from _no_flavor(job, each, groups, chain, release)


def _false(job: KueueJob, each: KueuePodSet, release: KueueRelease) -> Iterator[Finding]:
    """A pod set that asks for topology-aware scheduling and names no level; later releases refuse it themselves."""
    annotations = each.template.annotations
    request = None if unparsable(annotations, release) else read_request(annotations, release)
    if request is not None and request.unconstrained is False and not release.refuses_false:
        message = (
            f'must be "true", or not be there: with "{annotations[UNCONSTRAINED]}" the pod set asks for a topology and '
            "names no level, so that no flavor ever matches"
        )
        yield Finding.of(FALSE, job.item, each.template.key_path(UNCONSTRAINED), message)


def _no_flavor(
    job: KueueJob, each: KueuePodSet, groups: Sequence[_Resources], chain: Chain, release: KueueRelease
) -> Iterator[Finding]:
    """A finding where no flavor takes the pod set, by one of its resources; none where a flavor is unknown."""
    annotations = each.template.annotations
    if unparsable(annotations, release):
        return
    request = read_request(annotations, release)
    flavors = [flavor for group in groups for flavor in group.flavors]
    if not all(_is_known(flavor, chain) for flavor in flavors):
        return
    is_asked = request is not None and request.is_asked
    is_implied = not is_asked and all(flavor.topology is not None for flavor in flavors)
    resources = _requested_resources(each.pod_spec)
    for group in groups:
        if not group.flavors or is_implied or (resources and group.covered.isdisjoint(resources)):
            continue
        reasons = [_mismatch(flavor, request, chain) for flavor in group.flavors]
        if all(reasons):
            known = {level for flavor in group.flavors for level in chain.levels.get(flavor.topology or "") or ()}
            unknown = [level for level in (request.levels if request is not None else ()) if level not in known]
            near = closest(unknown[0], sorted(known)) if unknown and known else ""
            reason = "; ".join(reasons)
            message = f"asks for what no flavor of its queue has, and waits for ever: {reason}{near}"
            yield Finding.of(UNMATCHED, job.item, _place(each, unknown), message)
            return


def _place(each: KueuePodSet, unknown: Sequence[str]) -> FieldPath:
    """The annotation that names a level which no flavor has, else the first one; without any, the queue's name."""
    annotations = each.template.annotations
    asked = [key for key in TOPOLOGY_KEYS if key in annotations]
    wrong = [key for key in asked if unknown and unknown[0] in annotations[key]]
    return each.template.key_path((wrong or asked)[0]) if asked else ("metadata", "labels", QUEUE_NAME)


def _is_known(flavor: _Flavor, chain: Chain) -> bool:
    return flavor.value is not None and (flavor.topology is None or chain.levels.get(flavor.topology) is not None)


def _requested_resources(pod_spec: Mapping[str, Value]) -> set[str]:
    """The resources that pods request, and limits where they have no requests."""
    names: set[str] = set()
    for part in ("initContainers", "containers"):
        for container in mappings(pod_spec.get(part)):
            names |= {*mapping_at(container, "resources", "requests"), *mapping_at(container, "resources", "limits")}
    return names


def _mismatch(flavor: _Flavor, request: TopologyRequest | None, chain: Chain) -> str:
    """Kueue's reason for not placing a pod set in a flavor; "" where it takes it."""
    if request is None or not request.is_asked:
        return f'Flavor "{flavor.name}" supports only TopologyAwareScheduling' if flavor.topology is not None else ""
    if flavor.topology is None:
        return f'Flavor "{flavor.name}" does not support TopologyAwareScheduling'
    levels = chain.levels.get(flavor.topology) or ()
    names_none = not request.levels and not request.unconstrained
    if names_none or any(level not in levels for level in request.levels):
        return f'Flavor "{flavor.name}" does not contain the requested level'
    return _wrong_order(request, levels) or _without_domains(flavor, request, levels, chain)


def _without_domains(flavor: _Flavor, request: TopologyRequest, levels: Sequence[str], chain: Chain) -> str:
    """That the nodes of the input, where it has any, have no domain of the flavor at the level."""
    labels = mapping_at(flavor.value, "spec", "nodeLabels")
    inside = [node for node in chain.nodes if labels.items() <= node.items() and all(level in node for level in levels)]
    if inside or not chain.nodes:
        return ""
    bound = request.required or request.preferred or levels[0 if request.layers else -1]
    return f"no topology domains at level: {bound}"


def _wrong_order(request: TopologyRequest, levels: Sequence[str]) -> str:
    """Slices above the level that the pod set is bound to, and layers that do not go from coarse to fine."""
    bound = request.required or request.preferred
    layers = request.layers
    if bound is not None and layers and levels.index(layers[0].level) < levels.index(bound):
        return f"podset slice topology {layers[0].level} is above the podset topology {bound}"
    for above, layer in pairwise(layers):
        if levels.index(layer.level) <= levels.index(above.level):
            return f"additional slice layer topology {layer.level} must be at a lower level than {above.level}"
    return ""


_NAME = "Kueue"
_WORD = "kueue"
"""It stands in every text that is Kueue's business."""


def queued_pods(inventory: Inventory, topologies: KnownTopologies, settings: TopologyRender) -> Iterator[QueuedPods]:
    """The pod sets of all jobs that name a queue or ask for a topology, in the order of the kinds."""
    if not inventory.items.has_word(_WORD):
        return
    release = kueue_release(settings.kueue.version)
    chain = Chain(inventory.items, rendered_values(topologies, settings))
    for job in jobs_of(inventory.items):
        queue = job.item.labels.get(QUEUE_NAME, "")
        requests = [_request(each, release) for each in job.sets]
        if queue or any(request.is_asked for request in requests):
            for each, request in zip(job.sets, requests, strict=True):
                yield _pods(job, each, request, queue, chain)


def _request(each: KueuePodSet, release: KueueRelease) -> TopologyRequest:
    annotations = each.template.annotations
    request = None if unparsable(annotations, release) else read_request(annotations, release)
    return request or TopologyRequest()


def _pods(job: KueueJob, each: KueuePodSet, request: TopologyRequest, queue: str, chain: Chain) -> QueuedPods:
    topologies = chain.topologies(queue, job.item.namespace or "", is_asked=request.is_asked) if queue else ()
    return QueuedPods(
        workload=job.item,
        place=Place(job.item, each.template.annotations_path),
        scheduler=_NAME,
        name=each.name,
        count=each.count,
        queue=queue,
        required=request.required,
        preferred=request.preferred,
        is_unconstrained=request.unconstrained is True,
        slices=tuple(PodSlice(layer.level, layer.size) for layer in request.layers),
        group=request.group,
        topologies=topologies,
    )
