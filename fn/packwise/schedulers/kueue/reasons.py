"""The reasons why Kueue does not admit a job, and possible fixes, in packwise's words.

Source: spec/kueue.md#9.8 to #9.15.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

from krmfn.hints import TYPE_CHECKING
from packwise.keys import HOSTNAME
from packwise.kubernetes import MAX_QUANTITY
from packwise.lenient import mapping_at, mappings, text_at
from packwise.revisions.kueue import ASSUMED
from packwise.schedulers.kueue.allocate.scene import ResourceGroup, with_pod
from packwise.schedulers.kueue.allocate.session import Session
from packwise.schedulers.kueue.flavors import skipped_pods_text
from packwise.schedulers.kueue.request import SliceLayer
from packwise.schedulers.node_selection import repelling_taint, selects_node
from packwise.schedulers.wording import amount_list, level_word
from packwise.wording import count_text, did_you_mean, list_known

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from krmfn.value import Value
    from packwise.revisions.kueue import KueueRelease
    from packwise.schedulers.kueue.allocate.scene import ClusterQueue, Job, Node, PodSet, Scene
    from packwise.schedulers.kueue.allocate.session import Admitted, Failure, JobAnswer
    from packwise.schedulers.kueue.jobs import QueuedJob

_USUAL = ("cpu", "memory", "ephemeral-storage", "pods")
_MAX_ADVICE = 100
"""The largest number of jobs for which packwise tries changes. Each job needs several runs of the search."""


class Advisor:
    """Explains why jobs wait, on the cluster with all admitted jobs. `words` maps levels' labels to domains."""

    def __init__(self, admitted: Admitted, words: Mapping[str, str]) -> None:
        self._session = admitted.session
        self._scene = admitted.session.scene
        self._words = words
        runs = {
            "running Workloads": bool(self._scene.workloads),
            "jobs before it": any(each.is_admitted for each in admitted.answers),
        }
        self._users = " and ".join([who for who, is_there in runs.items() if is_there])
        self._advised = 0

    @cached_property
    def _empty_session(self) -> Session:
        """Return a session on the cluster without admitted Workloads."""
        return Session(self._scene, is_empty=True)

    def answer_when_empty(self, job: Job) -> JobAnswer | None:
        """Return Kueue's answer on the cluster without admitted Workloads and other jobs.

        Return None if nothing else runs, or if the job has no active queue.
        """
        if not self._users or isinstance(self._session.cluster_queue(job), str):
            return None
        return self._empty_session.plan(job).answer

    def reasons(self, job: Job, answer: JobAnswer) -> Iterator[str]:
        """Yield the reasons why a job waits, and possible fixes."""
        queue = self._session.cluster_queue(job)
        if isinstance(queue, str):
            yield from self._queue_reasons(job, queue)
            return
        failure = answer.failure
        if failure is not None:
            yield self._shortage(job, failure)
            yield from self._name_excluded(failure)
            yield from self._changes(job, queue, failure)
        elif answer.is_short_of_quota:
            yield (f'{self._users} use the quota of the ClusterQueue "{queue.name}"; the job waits until they end')
        elif "insufficient quota" in answer.message:
            yield (
                f'the job requests more than the ClusterQueue "{queue.name}" can ever use; raise its nominalQuota, let '
                "it borrow, or request less"
            )
        elif "unavailable in ClusterQueue" in answer.message:
            yield (
                f'no resource group of the ClusterQueue "{queue.name}" covers a resource that the pods request; add it '
                "to coveredResources"
            )

    def _queue_reasons(self, job: Job, message: str) -> Iterator[str]:
        """Yield the reason why a job has no active queue. `message` is Kueue's own text."""
        names = [each.name for each in self._scene.local_queues if each.namespace == job.namespace]
        local = next(
            (
                each
                for each in self._scene.local_queues
                if each.name == job.queue and each.namespace in ("", job.namespace)
            ),
            None,
        )
        queue = None if local is None else self._scene.cluster_queues.get(local.cluster_queue)
        if not self._scene.local_queues:
            yield (
                "neither the input nor --nodes has a LocalQueue; add the output of `kubectl get "
                "localqueues,clusterqueues,resourceflavors,topologies.kueue.x-k8s.io -A -o json`"
            )
        elif local is None:
            others = sorted({each.namespace for each in self._scene.local_queues if each.name == job.queue})
            there = f"; one exists in the namespace {', '.join(others)}" if others else did_you_mean(job.queue, names)
            yield f'the LocalQueue "{job.queue}" does not exist in the namespace "{job.namespace}"{there}'
        elif local.is_stopped or (queue is not None and queue.is_stopped):
            yield "its stopPolicy holds all jobs back; remove stopPolicy, or set it to None"
        elif queue is None:
            near = did_you_mean(local.cluster_queue, list(self._scene.cluster_queues))
            yield f'the ClusterQueue "{local.cluster_queue}" does not exist{near}'
        elif missing := self._session.missing_objects(queue):
            yield f'the ClusterQueue "{queue.name}" names objects that do not exist: {", ".join(missing)}'
        elif queue.faults:
            yield f'the ClusterQueue "{queue.name}" is inactive: {queue.faults[0]}'
        elif message.startswith("workload namespace") and queue.selector is None:
            yield (
                f'the ClusterQueue "{queue.name}" has no namespaceSelector and selects no namespace; set it to {{}} to '
                "select all"
            )
        elif message.startswith("workload namespace"):
            yield (
                f'the labels of the namespace "{job.namespace}" do not match the namespaceSelector of the ClusterQueue '
                f'"{queue.name}"'
            )

    def _shortage(self, job: Job, failure: Failure) -> str:
        """Return a sentence about the domain that comes nearest to holding the pods, with its missing resources."""
        each = job.sets[failure.worker]
        levels = self._scene.topologies[failure.topology]
        nearest = failure.search.nearest
        flavor = f'the nodes of the flavor "{failure.flavor}"'
        if nearest is None:
            labels = self._flavor_labels(failure)
            if not any(labels.items() <= node.labels.items() for node in self._scene.nodes):
                return f'no node has the labels of the flavor "{failure.flavor}": {_label_list(labels)}'
            return (
                f'{flavor} are in no domain of the topology "{failure.topology}": a node needs the labels '
                f"{', '.join(levels)}, and must be ready"
            )
        word = level_word(self._words, levels[nearest.level])
        domain, size = "/".join(nearest.path), nearest.size
        room = count_text(nearest.room * size, "pod")
        unit = "" if size == 1 else f" in slices of {size}"
        lacking = amount_list(self.missing_amounts(job, failure))
        lack = f": it lacks {lacking}" if lacking else ""
        pods = f"{count_text(each.count, 'pod')}{unit} of {each.name}"
        if failure.leader is not None:
            pods = f"{pods}, with {job.sets[failure.leader].name},"
        if each.topology.required is not None:
            return f"{pods} must be in one {word}; the closest fit, {domain}, has room for {room}{lack}"
        near = f"the closest fit, {word} {domain}, has room for {room}{lack}"
        return f"{pods} do not fit into {flavor}; {near}"

    def _flavor_labels(self, failure: Failure) -> Mapping[str, str]:
        return self._scene.flavors[failure.flavor].labels

    def missing_amounts(self, job: Job, failure: Failure) -> tuple[tuple[str, float], ...]:
        """Return the amount of each resource that the nearest domain lacks, by the sum of its free amounts."""
        nearest = failure.search.nearest
        if nearest is None:
            return ()
        each = job.sets[failure.worker]
        free = self._session.trees[failure.flavor].free_within(nearest.path)
        pods = (nearest.requested - nearest.room) * nearest.size
        if pods <= 0:
            return ()
        wanted = nearest.requested * nearest.size
        lacking = [
            (name, float(amount * wanted - free.get(name, 0)))
            for name, amount in with_pod(each.request)
            if amount * wanted > free.get(name, 0)
        ]
        return tuple(lacking)

    def _name_excluded(self, failure: Failure) -> Iterator[str]:
        """Yield sentences on the nodes that Kueue does not count, with the reason."""
        excluded = failure.search.excluded
        tree = self._session.trees[failure.flavor]
        if excluded is not None:
            what = "node" if tree.is_by_host else "domain"
            for reason, count in sorted(excluded.reasons.items()):
                kind, _, detail = reason.partition(" ")
                why = {
                    "taint": f"an untolerated taint {detail}",
                    "nodeSelector": "labels that the node selector does not accept",
                    "affinity": "labels that the node affinity does not accept",
                    "resource": f"too little {detail.strip(chr(34))} for one pod",
                }[kind]
                yield f"{count} of {count_text(excluded.total, what)} have {why}"
        known = [node for node in self._scene.nodes if self._flavor_labels(failure).items() <= node.labels.items()]
        lost = [node for node in known if any(level not in node.labels for level in tree.levels)]
        if lost:
            keys = ", ".join([f'"{key}"' for key in tree.levels if any(key not in node.labels for node in lost)])
            verb = "lacks" if len(lost) == 1 else "lack"
            nodes = count_text(len(known), "node")
            yield f"{len(lost)} of {nodes} of the flavor {verb} {keys}, and Kueue ignores these nodes"

    def _changes(self, job: Job, queue: ClusterQueue, failure: Failure) -> Iterator[str]:
        """Yield a sentence on the first change that makes the pod set fit, and one if another flavor has room."""
        self._advised += 1
        if self._advised > _MAX_ADVICE:
            return
        position = failure.worker
        for text, changed in _variants(job.sets[position], self._scene.topologies[failure.topology], self._words):
            sets = (*job.sets[:position], changed, *job.sets[position + 1 :])
            if self._session.plan_sets(sets, queue).answer.is_admitted:
                yield f"it fits with one change: {text}"
                break
        for flavor in queue.flavors:
            if (
                flavor != failure.flavor
                and self._session.plan_sets(job.sets, _with_flavor(queue, flavor)).answer.is_admitted
            ):
                yield (
                    f'the flavor "{flavor}" has room, but Kueue does not try it: it uses the first flavor with enough '
                    f'quota, "{failure.flavor}"'
                )
                break


def _label_list(labels: Mapping[str, str]) -> str:
    return ", ".join([f"{key}={value}" for key, value in sorted(labels.items())])


def _with_flavor(queue: ClusterQueue, flavor: str) -> ClusterQueue:
    """Return the queue, with `flavor` as the only flavor of the resource groups that list it."""
    groups = tuple(
        ResourceGroup(group.covered_resources, (flavor,)) if flavor in group.flavors else group
        for group in queue.groups
    )
    return queue.replace(groups=groups)


def _variants(each: PodSet, levels: Sequence[str], words: Mapping[str, str]) -> Iterator[tuple[str, PodSet]]:
    """Yield changes of a pod set to a smaller request, small changes first. Each is a text and the changed pod set."""
    asked = each.topology
    if asked.required is not None and asked.required in levels:
        place = levels.index(asked.required)
        for level in reversed(levels[:place]):
            text = f"require {level_word(words, level)} instead of {level_word(words, asked.required)}"
            yield text, each.replace(topology=replace(asked, required=level))
        text = f"prefer {level_word(words, asked.required)} instead of requiring it"
        yield text, each.replace(topology=replace(asked, required=None, preferred=asked.required))
    if asked.layers:
        first = asked.layers[0]
        for size in range(first.size - 1, 0, -1):
            if first.size % size == 0 and all(size % layer.size == 0 for layer in asked.layers[1:]):
                layers = (SliceLayer(first.level, size), *asked.layers[1:])
                yield f"slices of {size} instead of {first.size}", each.replace(topology=replace(asked, layers=layers))
    for count in _smaller_counts(each):
        yield f"{count_text(count, 'pod')} instead of {each.count}", each.replace(count=count)


def _smaller_counts(each: PodSet) -> list[int]:
    """Return smaller numbers of pods in whole slices, largest first. The steps between them double."""
    size = each.topology.layers[0].size if each.topology.layers else 1
    counts: list[int] = []
    step = 1
    while size > 0 and (count := (each.count // size - step) * size) > 0:
        counts.append(count)
        step *= 2
    return counts


class NodeSearch:
    """Checks that some node can hold a pod that Kueue admits without a topology."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._answers: dict[tuple[object, ...], str] = {}

    def refusal(self, job: Job, answer: JobAnswer) -> str:
        """Return a text about the first pod set with a pod that no node can hold, even an empty one, or ""."""
        if answer.is_delayed or not self._scene.nodes:
            return ""
        for own, wanted in zip(answer.sets, job.sets, strict=True):
            flavors = tuple(sorted({name for name in own.flavors.values() if name in self._scene.flavors}))
            if own.domains is not None or not own.admitted_count:
                continue
            key = (wanted.rules, wanted.request, flavors)
            if key not in self._answers:
                self._answers[key] = self._exclusions(wanted, flavors)
            if self._answers[key]:
                return f"Kueue admits the job, but no node can hold a pod of {wanted.name}: {self._answers[key]}"
        return ""

    def _exclusions(self, wanted: PodSet, names: Sequence[str]) -> str:
        """Return a text with the number of nodes that each reason excludes. Return "" if a node is suitable."""
        flavors = [self._scene.flavors[name] for name in names]
        # Kueue adds the node labels and tolerations of the flavors to the pods.
        selector = (*wanted.rules.selector, *[pair for flavor in flavors for pair in flavor.labels.items()])
        tolerations = (*wanted.rules.tolerations, *[each for flavor in flavors for each in flavor.tolerations])
        counts = {"other labels": 0, "an untolerated taint": 0, "too little room": 0}
        for node in self._scene.nodes:
            if not selects_node(selector, wanted.rules.terms, node.labels, node.name):
                counts["other labels"] += 1
            elif repelling_taint(node.taints, tolerations) is not None:
                counts["an untolerated taint"] += 1
            elif any(amount > _allocatable_amount(node, name) for name, amount in with_pod(wanted.request)):
                counts["too little room"] += 1
            else:
                return ""
        total = count_text(len(self._scene.nodes), "node")
        return ", ".join([f"{count} of {total} have {why}" for why, count in counts.items() if count])


def _allocatable_amount(node: Node, resource: str) -> int:
    """Return the allocatable amount of a node. It is unlimited if a hand-written node omits a usual resource."""
    return node.allocatable.get(resource, MAX_QUANTITY if resource in _USUAL else 0)


def notes_of(job: QueuedJob, answer: JobAnswer, scene: Scene, release: KueueRelease) -> Iterator[str]:
    """Yield notes on facts that the answer ignores, and on effects of Kueue that it does not report."""
    for each in job.job.sets:
        left = skipped_pods_text(each.name, each.count, each.topology)
        if left:
            yield left
    for source, each in zip(job.sets, job.job.sets, strict=True):
        ignored = list(dict.fromkeys(_list_ignored(source.pod_spec)))
        if ignored:
            yield f"Kueue ignores {', '.join(ignored)} of {each.name}; kube-scheduler may still find no node"
        gates = [text_at(gate, "name") for gate in mappings(source.pod_spec.get("schedulingGates"))]
        if gates:
            yield f"pods of {each.name} start only after a controller removes {list_known(gates)} from schedulingGates"
    yield from _queue_notes(job.job, answer, scene)
    if release.name not in (ASSUMED.name, "v0.18"):
        yield (
            f"packwise simulates Kueue {ASSUMED.name}, with the differences that it knows from the source of "
            f"{release.name}. The results were not compared with a running Kueue {release.name}"
        )


def _list_ignored(spec: Mapping[str, Value]) -> Iterator[str]:
    """Yield a noun for each part of a pod spec that kube-scheduler reads and Kueue ignores."""
    containers = [each for part in ("initContainers", "containers") for each in mappings(spec.get(part))]
    ports = [port for each in containers for port in mappings(each.get("ports"))]
    if spec.get("hostNetwork") is True or any(port.get("hostPort") for port in ports):
        yield "host ports"
    if any(each.get("persistentVolumeClaim") or each.get("ephemeral") for each in mappings(spec.get("volumes"))):
        yield "volumes"
    if spec.get("resourceClaims"):
        yield "device claims"
    for kind in ("podAffinity", "podAntiAffinity"):
        if mapping_at(spec, "affinity", kind).get("requiredDuringSchedulingIgnoredDuringExecution"):
            yield "affinity between pods"
    if any(
        text_at(each, "whenUnsatisfiable") != "ScheduleAnyway"
        for each in mappings(spec.get("topologySpreadConstraints"))
    ):
        yield "topology spread constraints"
    if text_at(spec, "runtimeClassName") and "overhead" not in spec:
        yield "the overhead of the RuntimeClass"


def _queue_notes(job: Job, answer: JobAnswer, scene: Scene) -> Iterator[str]:
    queues = {(each.namespace, each.name): each.cluster_queue for each in scene.local_queues}
    name = queues.get((job.namespace, job.queue)) or queues.get(("", job.queue), "")
    queue = scene.cluster_queues.get(name)
    if queue is None:
        return
    yield from queue.notes
    if answer.is_delayed:
        yield (
            f"the admission checks {', '.join(queue.checks)} of the ClusterQueue decide after the quota: Kueue places "
            "the pods later, or in another cluster"
        )
    if queue.selector and job.namespace not in scene.namespaces:
        yield f'the namespace "{job.namespace}" is not in the cluster\'s objects; packwise compares only its name'
    for each in answer.sets:
        levels = scene.topologies.get(each.topology, ())
        rules = next(own.rules for own in job.sets if own.name == each.name)
        if levels and levels[-1] != HOSTNAME and (rules.selector or rules.terms):
            yield (
                f'the topology "{each.topology}" does not end in {HOSTNAME}: Kueue ignores taints, the node selector '
                f"and the affinity of {each.name}"
            )
    if any(not each.flavor for each in answer.sets if each.domains is None) and answer.is_admitted:
        yield "Kueue assigns no topology to pods of a flavor without one; kube-scheduler chooses their nodes"
