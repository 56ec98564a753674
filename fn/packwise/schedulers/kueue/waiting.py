"""Findings about jobs that wait forever because of their queue. No webhook checks this.

Each cause is reported once, with the text of Kueue's own condition. A job is not reported if Kueue may admit it later,
or if objects that decide this are not in the input. Source: spec/kueue.md#6; Kueue v0.19.2, workload_controller.go,
scheduler.go and flavorassigner.go.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice

from krmfn.hints import TYPE_CHECKING
from krmfn.result import Severity
from packwise.findings import Finding, Rule, Stage
from packwise.lenient import mapping, mapping_at, mappings_in_place, text
from packwise.objects.index import is_placeholder
from packwise.objects.kinds import RESOURCE_FLAVOR
from packwise.schedulers.kueue.chain import Chain, is_stopped
from packwise.schedulers.kueue.configuration import read_configurations, read_devices, unmapped_class
from packwise.schedulers.kueue.flavors import (
    PODS,
    accepts_labels,
    flavor_mismatch,
    format_amount,
    labels_of,
    most_capacity,
    quota_excess,
    requests_of,
    skipped_pods_text,
    taint_of_flavor,
)
from packwise.schedulers.kueue.inactive import MULTIKUEUE, check_faults, cycle_fault, find_cycles, lacks_multikueue
from packwise.schedulers.kueue.pod_resources import KINDS, adjust, pod_requests, read_rules, resource_fault
from packwise.schedulers.kueue.podsets import POD_GROUP, too_many_sets
from packwise.schedulers.kueue.request import (
    PREFIX,
    SLICE_LAYERS,
    SLICE_SIZE,
    TOPOLOGY_KEYS,
    UNCONSTRAINED,
    parse_int32,
    read_request,
    unread_annotation,
)
from packwise.wording import count_text, did_you_mean, list_known

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from packwise.objects.index import Generated, Index
    from packwise.revisions.kueue import KueueRelease
    from packwise.schedulers import SchedulerInput
    from packwise.schedulers.kueue.chain import ClusterQueue, Flavor, ResourceGroup
    from packwise.schedulers.kueue.pod_resources import ResourceFault
    from packwise.schedulers.kueue.podsets import KueueJob, KueuePodSet
    from packwise.schedulers.kueue.request import TopologyRequest

QUEUE = Rule(
    "kueue-queue", "A job or a LocalQueue names a queue that does not exist.", "spec/kueue.md#6.7", Severity.WARNING
)
INACTIVE = Rule(
    "kueue-inactive",
    "A ClusterQueue is inactive because of its flavors, admission checks or cohorts.",
    "spec/kueue.md#5.3",
    Severity.WARNING,
)
STOPPED = Rule("kueue-stopped", "The queue of a job is stopped.", "spec/kueue.md#6.8", Severity.WARNING)
NAMESPACE = Rule(
    "kueue-namespace",
    "The ClusterQueue of a job does not select the job's namespace.",
    "spec/kueue.md#6.8",
    Severity.WARNING,
)
UNMATCHED = Rule(
    "kueue-unmatched",
    "No flavor of the queue can hold a pod set.",
    "spec/kueue.md#6.3",
    Severity.WARNING,
)
QUOTA = Rule(
    "kueue-quota",
    "A pod set requests a resource that its ClusterQueue does not cover, or more than the quota.",
    "spec/kueue.md#6.10",
    Severity.WARNING,
)
PRIORITY = Rule(
    "kueue-priority", "A job names a WorkloadPriorityClass that does not exist.", "spec/kueue.md#6.11", Severity.WARNING
)
NO_NODES = Rule(
    "kueue-flavor-nodes", "A flavor with a topology selects no node.", "spec/kueue.md#6.6", Severity.WARNING
)
FALSE = Rule(
    "kueue-unconstrained-false",
    'A pod set has the unconstrained topology annotation with the value "false".',
    "spec/kueue.md#6.4",
)
RESOURCES = Rule(
    "kueue-resources", "A pod set requests more than its limits, or breaks a LimitRange.", "spec/kueue.md#6.13",
    Severity.WARNING,
)  # fmt: skip
MANAGED = Rule(
    "kueue-managed-by",
    "A job requests MultiKueue, but its ClusterQueue has no admission check of MultiKueue.",
    "spec/kueue.md#6.14",
    Severity.WARNING,
)
POD_SETS = Rule(
    "kueue-pod-sets",
    "A job has more pod sets than a Workload of Kueue can have.",
    "spec/kueue.md#6.15",
    Severity.WARNING,
)
DEVICES = Rule(
    "kueue-devices", "A pod set claims a DeviceClass that Kueue maps to no resource.", "spec/kueue.md#6.16",
    Severity.WARNING,
)  # fmt: skip
CONFIGURATION = Rule("kueue-configuration", "Kueue refuses its own configuration.", "spec/kueue.md#7.1")
SLICES = Rule(
    "kueue-slices", "The pods of a pod set do not fill a whole number of slices.", "spec/kueue.md#9.6", Severity.WARNING
)
RULES = (
    CONFIGURATION, QUEUE, INACTIVE, STOPPED, NAMESPACE, MANAGED, POD_SETS, DEVICES,
    SLICES, RESOURCES, UNMATCHED, QUOTA, PRIORITY, NO_NODES, FALSE,
)  # fmt: skip
"""Rules about the reasons why a job waits."""

_PRIORITY_CLASS = f"{PREFIX}priority-class"
_LEAST = f"{PREFIX}job-min-parallelism"
_NODE_FIELDS = ("nodeSelector", "affinity", "tolerations")
"""The fields of a pod's spec that Kueue compares with the labels and taints of a flavor."""
_FEW_NAMES = 3
_UNCOUNTED = ("excludeResourcePrefixes", "transformations", "IgnoreUndeclared", "deviceClassMappings")
"""Words in Kueue's own configuration. With one of them, Kueue counts other resources than the pods request."""


def check_chain(
    source: SchedulerInput, jobs: Sequence[KueueJob], generated: Iterable[Generated], release: KueueRelease
) -> Iterator[Finding]:
    """Yield findings about missing objects, and objects that do not match, on the way from jobs to their flavors."""
    items = source.inventory.items
    chain = Chain(items, [each.value for each in generated], source.cluster.nodes)
    yield from _queues(chain)
    yield from _check_flavor_nodes(items.of_kind(*RESOURCE_FLAVOR.key), chain)
    counts_all = not _has_words(items, _UNCOUNTED)
    accepted: set[tuple[object, ...]] = set()
    rules = read_rules([item.value for kind in KINDS for item in items.of_kind(*kind)])
    devices = read_devices(items)
    for each in read_configurations(items) if release.reserves_pods else ():
        if each.uses_reserved_name:
            message = 'the name "pods" of a deviceClassMapping is reserved for the number of pods; use another name'
            yield Finding.of(CONFIGURATION, each.item, each.path, message)
    for written in jobs:
        job = adjust(written, rules)
        fault = resource_fault(job.sets, job.item.namespace or "", rules) if job.queue else None
        if fault is not None:
            yield _resource_finding(job, *fault)
            # Kueue then checks no flavors.
            job = replace(job, sets=())
        unmapped = unmapped_class(job.sets, job.item.namespace or "", devices) if job.queue else None
        if unmapped is not None and release.counts_devices:
            message = (
                f'Kueue\'s configuration maps the DeviceClass "{unmapped.name}" to no resource, and the job waits; add '
                "it to resources.deviceClassMappings"
            )
            yield _finding(DEVICES, job, _path_in_pod(job, unmapped.pods, unmapped.path), message, unmapped.text)
        yield from _check_job(job, chain, release, accepted, counts_all=counts_all)


def _has_words(items: Index, words: Iterable[str]) -> bool:
    """Return True if Kueue's configuration contains one of the words."""
    configurations = [str(each.value) for each in read_configurations(items)]
    return any(word in value for value in configurations for word in words)


def _queues(chain: Chain) -> Iterator[Finding]:
    names = list(chain.cluster_queues_by_name)
    for item in chain.local_queues:
        name = item.get("spec.clusterQueue")
        if isinstance(name, str) and names and name not in chain.cluster_queues_by_name and not is_placeholder(name):
            message = (
                f'the ClusterQueue "{name}" is not in the input. Without it, jobs of this queue '
                f"wait{did_you_mean(name, names)}"
            )
            yield Finding.of(QUEUE, item, ("spec", "clusterQueue"), message)
    for queue in chain.cluster_queues:
        yield from _inactive_findings(queue, chain)
    cycles = find_cycles({item.name: text(item.get("spec.parentName")) for item in chain.cohorts})
    for item in chain.cohorts:
        cycle = cycles.get(item.name, ())
        # Report a cycle only at its first Cohort by name.
        if cycle and item.name == min(cycle):
            message = f"{cycle_fault(cycle)}. Until then, the ClusterQueues below them are inactive"
            yield Finding.of(INACTIVE, item, ("spec", "parentName"), message)


def _inactive_findings(queue: ClusterQueue, chain: Chain) -> Iterator[Finding]:
    """Yield a finding if a ClusterQueue is inactive. Its message has the text of Kueue's condition."""
    flavors = [flavor for flavor in queue.flavors if not is_placeholder(flavor.name)]
    missing = [flavor for flavor in flavors if flavor.name not in chain.flavors]
    # With MultiKueue, the Topologies are in the other clusters.
    is_here = all(chain.checks.controller(each.name) != MULTIKUEUE for each in queue.checks)
    lacking = [each for each in flavors if is_here and each.topology is not None and each.topology not in chain.levels]
    faults = list(check_faults(queue.checks, [each.name for each in queue.flavors], chain.checks))
    parts: list[str] = []
    if missing:
        parts.append(f"references missing ResourceFlavor(s): {','.join(dict.fromkeys(each.name for each in missing))}")
    parts += [fault.text for fault in faults]
    parts += [f'there is no Topology "{each.topology}" for TAS flavor "{each.name}"' for each in lacking]
    text = f"Can't admit new workloads: {', '.join(dict.fromkeys(parts))}."
    if missing or lacking:
        first = min((*missing, *lacking), key=flavors.index)
        message = (
            f"does not exist in the input. Kueue reports for the ClusterQueue: {text}{_hint(missing, lacking, chain)}"
        )
        if first.value is not None:
            message = f"the topology {message}"
        yield Finding.of(INACTIVE, queue.item, first.path, message)
    elif faults:
        message = f"{faults[0].cause}. Kueue reports for the ClusterQueue: {text}{faults[0].hint}"
        yield Finding.of(INACTIVE, queue.item, faults[0].path, message)


def _hint(missing: Sequence[Flavor], lacking: Sequence[Flavor], chain: Chain) -> str:
    for flavor in missing:
        near = did_you_mean(flavor.name, list(chain.flavors))
        if near:
            return near
    for flavor in lacking:
        name = flavor.topology or ""
        if name in chain.topologies_of_kai:
            return f' Kueue does not read the Topology "{name}" of the input, which belongs to KAI.'
        near = did_you_mean(name, list(chain.levels))
        if near:
            return near
    return ""


def _check_flavor_nodes(items: Iterable[KubeObject], chain: Chain) -> Iterator[Finding]:
    """Yield a finding for each flavor that has a topology and matches no node, although nodes have its label keys."""
    for item in items if chain.nodes else ():
        labels = mapping(item.get("spec.nodeLabels"))
        if item.get("spec.topologyName") is None or chain.nodes.matching_nodes(labels):
            continue
        # If no node has these label keys, the nodes belong to another cluster, or are samples.
        carriers = chain.nodes.count_carriers(labels)
        if carriers:
            message = (
                f"no node has these labels with these values ({count_text(carriers, 'node')} of the input "
                f"{'has' if carriers == 1 else 'have'} other values), and nothing fits into the flavor"
            )
            yield Finding.of(NO_NODES, item, ("spec", "nodeLabels"), message)


def _check_job(
    job: KueueJob, chain: Chain, release: KueueRelease, accepted: set[tuple[object, ...]], *, counts_all: bool
) -> Iterator[Finding]:
    """Yield findings about one job.

    `accepted` are the demands that ClusterQueues accept. If the demand of this job is accepted, add it.
    """
    for each in job.sets:
        yield from _check_request(job, each, release)
    excess = too_many_sets(job, release)
    if excess:
        at = job.queue_path
        message = (
            f"the job has {len(job.sets)} pod sets, but a Workload of Kueue {release.name} can have only "
            f"{release.most_pod_sets}. Merge some, or split the job"
        )
        yield _finding(POD_SETS, job, at, message, excess)
    owner, name = job.metadata("labels"), job.queue
    if not name or is_placeholder(name):
        return
    at = job.queue_path
    yield from _priority(job, text(owner.get(_PRIORITY_CLASS)), chain)
    namespace = job.item.namespace or ""
    queues = chain.local_queues_of(name, namespace)
    if not queues:
        yield from missing_queue(job.item, at, name, chain)
        return
    queue = chain.cluster_queue(name, namespace)
    yield from _check_stop(job, at, queues, queue)
    if queue is None:
        return
    if job.item.get(job.manager_path) == MULTIKUEUE and lacks_multikueue(queue.checks, chain.checks):
        message = (
            f'the ClusterQueue "{queue.name}" has no AdmissionCheck of MultiKueue, and no controller makes the pods; '
            "remove managedBy, or add the check"
        )
        yield Finding.of(MANAGED, job.item, job.manager_path, message)
    if chain.selects_namespace(queue, namespace) is False:
        why = "has no namespaceSelector and selects no namespace"
        if queue.selector is not None:
            why = f'does not select the namespace "{namespace}" by its labels'
        message = f'the ClusterQueue "{queue.name}" {why}, and the job waits. Fix spec.namespaceSelector or the labels'
        yield _finding(NAMESPACE, job, at, message, "workload namespace doesn't match ClusterQueue selector")
    demand = (queue.name, *_demand(job))
    if queue.is_known and demand not in accepted:
        refusals = _Admission(job, queue, chain, release).findings(counts_all=counts_all)
        first: dict[tuple[FieldPath, str], Finding] = {}
        for each, reasons in refusals:
            # Report pod sets with the same place and cause only once.
            first.setdefault((each.path, reasons), each)
        if not first:
            accepted.add(demand)
        yield from first.values()


def _demand(job: KueueJob) -> tuple[object, ...]:
    """Return all values of a job that Kueue compares with flavors.

    Jobs of a queue with equal values get the same answer.
    """
    return job.item.annotations.get(_LEAST), *[
        (
            each.count,
            tuple(pod_requests(each.pod_spec).items()),
            repr([pair for pair in each.template.annotations.items() if pair[0].startswith(PREFIX)]),
            repr([each.pod_spec.get(field) for field in _NODE_FIELDS]),
        )
        for each in job.sets
    ]


def _finding(rule: Rule, job: KueueJob, path: FieldPath, message: str, condition: str) -> Finding:
    """Return a finding. `condition` is the text of the condition that Kueue writes into the Workload."""
    return Finding.of(rule, job.item, path, message, operator_message=condition, stage=Stage.SCHEDULER)


def missing_queue(item: KubeObject, at: FieldPath, name: str, chain: Chain) -> Iterator[Finding]:
    """Yield a finding if a workload waits for the LocalQueue `name`, and the input shows that it does not exist.

    `at` is the path at which the workload names the queue.
    """
    namespace = item.namespace or ""
    near = chain.similar_local_queue(name, namespace)
    namespaces = chain.namespaces_of_local_queues(name)
    condition = f"LocalQueue {name} doesn't exist"
    if namespaces:
        message = (
            f'the LocalQueue "{name}" exists only in the namespace {list_known(namespaces)}. A job sees only queues of '
            f'its own namespace, "{namespace}", and waits'
        )
        yield Finding.of(QUEUE, item, at, message, operator_message=condition, stage=Stage.SCHEDULER)
    elif near or chain.has_local_queues(namespace):
        message = f'the namespace has no LocalQueue "{name}", and the job waits for it{near}'
        yield Finding.of(QUEUE, item, at, message, operator_message=condition, stage=Stage.SCHEDULER)


def _check_stop(
    job: KueueJob, at: FieldPath, queues: Sequence[KubeObject], queue: ClusterQueue | None
) -> Iterator[Finding]:
    stopped = next((each for each in queues if is_stopped(each)), None) if all(map(is_stopped, queues)) else None
    if stopped is None and queue is not None and queue.is_stopped:
        stopped = queue.item
    if stopped is not None:
        policy = text(stopped.get("spec.stopPolicy"))
        message = f'the {stopped.kind} "{stopped.name}" has the stopPolicy {policy}; the job waits until it is None'
        yield _finding(STOPPED, job, at, message, f"{stopped.kind} {stopped.name} is inactive")


def _resource_finding(job: KueueJob, each: KueuePodSet, fault: ResourceFault) -> Finding:
    """Return a finding about a pod set with refused resources, at the place of the fault if the job contains it."""
    path = _path_in_pod(job, each, fault.path)
    return _finding(RESOURCES, job, path, f"the {fault.subject} {fault.cause}, and the job waits", fault.text)


def _path_in_pod(job: KueueJob, each: KueuePodSet, steps: FieldPath) -> FieldPath:
    """Return the path of the field `steps` in a pod set's spec, or of the nearest field above it that is set.

    Return the path of the job's queue if the pod template is in another object.
    """
    path: FieldPath = (*_spec_path(each), *steps)
    while path and job.item.get(path) is None:
        path = path[:-1]
    return path if path and not each.template.suffix else job.queue_path


def _priority(job: KueueJob, name: str, chain: Chain) -> Iterator[Finding]:
    """Yield a finding if the WorkloadPriorityClass `name` is missing although the input has others.

    Kueue makes no Workload of such a job.
    """
    if name and chain.priorities and name not in chain.priorities and not is_placeholder(name):
        near = did_you_mean(name, chain.priorities)
        message = f'the WorkloadPriorityClass "{name}" is not in the input. Without it, Kueue makes no Workload{near}'
        path = (*job.owner_path, "labels", _PRIORITY_CLASS)
        yield Finding.of(PRIORITY, job.item, path, message)


def _check_request(job: KueueJob, each: KueuePodSet, release: KueueRelease) -> Iterator[Finding]:
    """Yield a finding if a pod set requests a topology without a level, and one if its last slice is not full.

    Later releases of Kueue refuse a request without a level themselves.
    """
    annotations = each.template.annotations
    request = None if unread_annotation(annotations, release) else read_request(annotations, release)
    if request is not None and request.unconstrained is False and not release.refuses_false:
        message = (
            f'must be "true" or unset; with "{annotations[UNCONSTRAINED]}", the pod set requests a topology without a '
            "level, and no flavor ever matches"
        )
        yield Finding.of(FALSE, job.item, each.template.key_path(UNCONSTRAINED), message)
    # If the pod is in a group, the other pods of the group fill the slices too.
    is_counted = bool(job.queue) and POD_GROUP not in job.item.labels
    left = skipped_pods_text(f'"{each.name}"', each.count, request) if request is not None and is_counted else ""
    if left:
        key = SLICE_SIZE if SLICE_SIZE in annotations else SLICE_LAYERS
        yield Finding.of(SLICES, job.item, each.template.key_path(key), left)


def _is_renamed(resource: str, queue: ClusterQueue) -> bool:
    """Return True if the queue covers a total of the resource instead.

    `nvidia.com/total-gpucores` is the total of `nvidia.com/gpucores`. Only a transformation in Kueue's configuration
    makes such a total, and the configuration may not be in the input.
    """
    domain, _, name = resource.partition("/")
    covered = [each for group in queue.groups for each in group.covered_resources]
    return bool(name) and any(each.startswith(f"{domain}/") and each.endswith(f"-{name}") for each in covered)


@dataclass(frozen=True, slots=True)
class _PodSets:
    """Pod sets that get the same flavors: one group, or a single pod set."""

    members: tuple[KueuePodSet, ...]
    requests: tuple[TopologyRequest | None, ...]

    @property
    def first_pod_set(self) -> KueuePodSet:
        """Return the pod set that a finding is about."""
        return self.members[0]

    def condition(self, reasons: str) -> str:
        """Return the text of Kueue's condition of the Workload."""
        return "; ".join(f"couldn't assign flavors to pod set {each.name}: {reasons}" for each in self.members)


class _Admission:
    """The admission of one job by an idle ClusterQueue with known flavors."""

    def __init__(self, job: KueueJob, queue: ClusterQueue, chain: Chain, release: KueueRelease) -> None:
        self._job, self._queue, self._chain, self._release = job, queue, chain, release
        self._used: dict[tuple[str, str], int] = {}

    def findings(self, *, counts_all: bool) -> Iterator[tuple[Finding, str]]:
        """Yield a finding for each pod set that no flavor can ever hold, each with Kueue's reasons.

        A finding is only about the first cause.
        """
        for sets in self._pod_sets():
            requests = self._requests(sets)
            uncovered = [
                name for name in requests if self._queue.group_of(name) is None and not _is_renamed(name, self._queue)
            ]
            if uncovered and counts_all:
                yield self._coverage_finding(sets, uncovered)
                continue
            # A LimitRange may set a request for any resource on pods that have none.
            groups = [
                each for each in self._queue.groups if not requests or not each.covered_resources.isdisjoint(requests)
            ]
            refusals = (refusal for group in groups if (refusal := self._refusal(sets, group, requests)) is not None)
            yield from islice(refusals, 1)

    def _pod_sets(self) -> list[_PodSets]:
        """Return the pod sets in their order, with the members of a group together.

        Skip pod sets without pods, and pod sets that Kueue cannot read.
        """
        groups: dict[tuple[str, int], list[tuple[KueuePodSet, TopologyRequest | None]]] = {}
        for place, each in enumerate(self._job.sets):
            annotations = each.template.annotations
            if each.count > 0 and not unread_annotation(annotations, self._release):
                request = read_request(annotations, self._release)
                name = request.group if request is not None else ""
                groups.setdefault((name, -1) if name else ("", place), []).append((each, request))
        return [_PodSets(*zip(*members, strict=True)) for members in groups.values()]

    def _requests(self, sets: _PodSets, *, is_least: bool = False) -> dict[str, int]:
        total: dict[str, int] = {}
        for each in sets.members:
            count = self._least_pods(each) if is_least else None
            for name, amount in requests_of(each, self._queue, count).items():
                total[name] = total.get(name, 0) + amount
        return total

    def _least_pods(self, each: KueuePodSet) -> int | None:
        """Return the smallest number of pods that the job accepts by partial admission, or None for all pods."""
        written = self._job.item.annotations.get(_LEAST)
        least = None if written is None else parse_int32(written)
        return None if least is None else min(max(least, 1), each.count)

    def _coverage_finding(self, sets: _PodSets, names: Sequence[str]) -> tuple[Finding, str]:
        listed = list_known(names)
        message = (
            f'no resource group of the ClusterQueue "{self._queue.name}" covers {listed}, and the job waits. Add it to '
            "coveredResources, or remove the request"
        )
        path = _request_path(sets, names[0], self._job)
        reason = f"resource {names[0]} unavailable in ClusterQueue"
        return _finding(QUOTA, self._job, path, message, sets.condition(reason)), reason

    def _refusal(self, sets: _PodSets, group: ResourceGroup, requests: Mapping[str, int]) -> tuple[Finding, str] | None:
        """Return a finding if no flavor of a resource group accepts the pod sets, or None.

        If a flavor accepts them and only one flavor matches, count its use.
        """
        least = self._requests(sets, is_least=True)
        wanted = sorted(name for name in requests if name in group.covered_resources)
        reasons: list[str] = []
        short: list[tuple[Flavor, str]] = []
        matching: list[Flavor] = []
        accepts = False
        for flavor in group.flavors:
            mismatch = self._mismatch(sets, flavor, group)
            if mismatch:
                reasons.append(mismatch)
                continue
            matching.append(flavor)
            excess = [name for name in wanted if self._exceeds(flavor, name, least[name])]
            short += [(flavor, name) for name in excess]
            reasons += [self._excess(flavor, name, requests[name]) for name in excess]
            accepts = accepts or not excess
        if accepts or not group.flavors:
            # If several flavors match, it is not certain which one the pod sets use.
            for name in wanted if len(matching) == 1 else ():
                key = matching[0].name, name
                self._used[key] = self._used.get(key, 0) + least[name]
            return None
        # Kueue sorts the reasons as texts.
        text = ", ".join(sorted(reasons))
        if short:
            return self._quota_finding(sets, short[0], requests, sets.condition(text)), text
        return self._mismatch_finding(sets, group, sets.condition(text)), text

    def _mismatch(self, sets: _PodSets, flavor: Flavor, group: ResourceGroup) -> str:
        for each, request in zip(sets.members, sets.requests, strict=True):
            mismatch = flavor_mismatch(flavor, each, request, group, self._queue)
            if mismatch or (mismatch := self._missing_domain_text(flavor, request)):
                return mismatch
        return ""

    def _missing_domain_text(self, flavor: Flavor, request: TopologyRequest | None) -> str:
        """Return Kueue's message if the known nodes have no domain of the flavor at the requested level, or ""."""
        levels = flavor.levels
        if not levels or not self._chain.nodes:
            return ""
        if any(all(level in own for level in levels) for _, own in self._chain.nodes.matching_nodes(labels_of(flavor))):
            return ""
        asked = request if request is not None and request.is_asked else None
        bound = asked and (asked.required or asked.preferred)
        return f"no topology domains at level: {bound or levels[0 if asked and asked.layers else -1]}"

    def _exceeds(self, flavor: Flavor, name: str, amount: int) -> bool:
        capacity = most_capacity(flavor, name, self._queue)
        return capacity is not None and self._used.get((flavor.name, name), 0) + amount > capacity

    def _excess(self, flavor: Flavor, name: str, amount: int) -> str:
        used = self._used.get((flavor.name, name), 0)
        return quota_excess(name, flavor.name, used, amount, most_capacity(flavor, name, self._queue) or 0)

    def _quota_finding(
        self, sets: _PodSets, short: tuple[Flavor, str], requests: Mapping[str, int], condition: str
    ) -> Finding:
        flavor, name = short
        most = format_amount(name, most_capacity(flavor, name, self._queue) or 0)
        used = self._used.get((flavor.name, name), 0)
        amount = format_amount(name, requests[name])
        also = f" besides {format_amount(name, used)} of other pod sets" if used else ""
        message = (
            f"the pod set requests {amount} of {name}{also}, but the ClusterQueue "
            f'"{self._queue.name}" can never give more than {most} in the flavor "{flavor.name}". The job waits. '
            f"{'Raise the quota' if self._queue.cohort else 'Raise nominalQuota, join a cohort'}, or request less"
        )
        return _finding(QUOTA, self._job, _request_path(sets, name, self._job), message, condition)

    def _mismatch_finding(self, sets: _PodSets, group: ResourceGroup, condition: str) -> Finding:
        each, request = sets.first_pod_set, sets.requests[0]
        known = {level for flavor in group.flavors for level in flavor.levels or ()}
        unknown = [level for level in (request.levels if request is not None else ()) if level not in known]
        path = _annotation_path(each, unknown, self._job)
        advice = f': no Topology of its flavors has the level "{unknown[0]}"' if unknown and known else ""
        advice += did_you_mean(unknown[0], sorted(known)) if advice else ""
        for flavor in group.flavors:
            taint, spec = taint_of_flavor(flavor, each.pod_spec), each.pod_spec
            if not advice and taint is not None:
                advice = f": tolerate the taint {taint.key}={taint.value}:{taint.effect} of the flavor {flavor.name}"
            if not advice and not accepts_labels(flavor, spec):
                own = ", ".join(f"{key}={value}" for key, value in labels_of(flavor).items())
                field = "nodeSelector" if "nodeSelector" in spec else "affinity"
                path = path if each.template.suffix else (*_spec_path(each), field)
                advice = f": the nodes of the flavor {flavor.name} have {own}"
            advice = advice or self._label_advice(flavor)
        is_asked = request is not None and request.is_asked
        if not advice and not is_asked and not self._queue.is_for_topologies:
            advice = ": request a topology in the pod template, or add a flavor without one"
        message = (
            f'the pod set "{each.name}" waits, because no flavor of the ClusterQueue "{self._queue.name}" accepts it'
        )
        return _finding(UNMATCHED, self._job, path, f"{message}{advice}", condition)

    def _label_advice(self, flavor: Flavor) -> str:
        """Return advice on the level labels that the nodes of a flavor lack.

        Return "" if a node has all of these labels, or if no node of the flavor is known.
        """
        nodes = self._chain.nodes.matching_nodes(labels_of(flavor))
        lacking = [(name, [level for level in flavor.levels or () if level not in own]) for name, own in nodes]
        if not nodes or not all(levels for _, levels in lacking):
            return ""
        names = [name for name, _ in lacking]
        shown = _join_names(names)
        labels = _join_names(list(dict.fromkeys(level for _, levels in lacking for level in levels)))
        subject = (
            f"the node {shown} of flavor {flavor.name} lacks"
            if len(names) == 1
            else (f"the nodes {shown} of flavor {flavor.name} lack")
        )
        return f": {subject} the label {labels} and are in no domain of the Topology {flavor.topology}"


def _join_names(names: Sequence[str]) -> str:
    """Return the first names for a sentence: `a, b and c`, `a, b, c and 4 more`."""
    shown, more = names[:_FEW_NAMES], len(names) - _FEW_NAMES
    if more > 0:
        return f"{', '.join(shown)} and {more} more"
    return " and ".join([*[", ".join(shown[:-1])] * (len(shown) > 1), shown[-1]])


def _spec_path(each: KueuePodSet) -> FieldPath:
    path = each.template.path
    return (*path[:-1], "spec") if path[-1:] == ("metadata",) else (*path, "template", "spec")


def _annotation_path(each: KueuePodSet, unknown: Sequence[str], job: KueueJob) -> FieldPath:
    """Return the path of the annotation with an unknown level, or else of the first topology annotation.

    Without topology annotations, return the path of the job's queue.
    """
    annotations = each.template.annotations
    asked = [key for key in TOPOLOGY_KEYS if key in annotations]
    wrong = [key for key in asked if unknown and unknown[0] in annotations[key]]
    return each.template.key_path((wrong or asked)[0]) if asked else job.queue_path


def _request_path(sets: _PodSets, resource: str, job: KueueJob) -> FieldPath:
    """Return the path of the first request of a resource in the pod sets, or else of its limit.

    Return the path of the job's queue if there is neither.
    """
    for each in sets.members:
        if resource == PODS or each.template.suffix or resource not in pod_requests(each.pod_spec):
            continue
        for field in ("requests", "limits"):
            path: FieldPath = (*_spec_path(each), "resources", field, resource)
            if resource in mapping_at(each.pod_spec, "resources", field) and job.item.get(path) is not None:
                return path
        for part in ("containers", "initContainers"):
            for place, container in enumerate(mappings_in_place(each.pod_spec.get(part))):
                for field in ("requests", "limits"):
                    path = (*_spec_path(each), part, place, "resources", field, resource)
                    # A request that a LimitRange adds has no place in the input.
                    if resource in mapping_at(container, "resources", field) and job.item.get(path) is not None:
                        return path
    return job.queue_path
