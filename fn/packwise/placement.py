"""The model between front ends and schedulers: gangs of pods, the topology levels that bound them, queues.

Front ends fill it, schedulers write their objects from it. It has no scheduler's words and no revision's. Names are
those of the objects to come. Every node has an origin. Source: spec/packwise.md#5.
"""

from __future__ import annotations

from enum import Enum, auto

from krmfn.hints import TYPE_CHECKING
from krmfn.record import Record
from packwise.findings.finding import Rule
from packwise.objects.kinds import GANGS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.findings.finding import Finding
    from packwise.objects.kinds import Kind
    from packwise.objects.place import Generated, Origin, Place
    from packwise.revisions.grove import Revision
    from packwise.topology.known import ClusterTopology, Condition, Level


class Bounds(Record):
    """Levels of a topology: pods must be in one domain of `required`, and are in one of `preferred` if possible.

    `origin` is that of the constraint, its fields `required` and `preferred`; None where no constraint is written.
    """

    required: Level | None = None
    preferred: Level | None = None
    origin: Origin | None = None

    @property
    def is_empty(self) -> bool:
        """True if neither level is there."""
        return self.required is None and self.preferred is None

    def origins(self, path: FieldPath, levels: Mapping[str, FieldPath]) -> Iterator[tuple[FieldPath, Origin]]:
        """The origins of the constraint of a manifest at `path`; `levels` are the paths of its levels below that."""
        if self.origin is not None:
            yield path, self.origin
            for level, steps in levels.items():
                yield (*path, *steps), self.origin.of(level)


MNNVL_CLAIM = "mnnvl-claim"
"""The resource claim that an operator gives a pod for automatic MNNVL: a node has one channel to claim."""


class PodSet(Record):
    """A node of a gang's tree. A leaf holds `members` pods; an inner node (None) holds the sets whose parent it is.

    `scheduler` is that of the pods where it is not the gang's, "" where it is. `replicas` are the pods that there are:
    the gang needs `members` of them, the others may come later; None where they are as many. `pod_spec` is the spec of
    each pod, None where pods of the set are nodes of the model; `labels` and `annotations` are those that the workload
    gives to each pod. `needed` is how many of the sets below an inner node the gang needs, None: all. `topology` names
    the one of its bounds where that is not the gang's. Of pods that are the gang's own, the scheduler knows no set: it
    is not `is_named`.
    """

    name: str
    parent: str | None
    members: int | None
    bounds: Bounds
    origin: Origin
    scheduler: str = ""
    replicas: int | None = None
    pod_spec: Mapping[str, Value] | None = None
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    needed: int | None = None
    topology: str = ""
    is_named: bool = True

    def origins(
        self, path: FieldPath, members: str, levels: Mapping[str, FieldPath] = {}
    ) -> Iterator[tuple[FieldPath, Origin]]:
        """The origins of the part of a manifest at `path` that is written for the set; `members` is its count there.

        `levels` are the paths of the levels below its `topologyConstraint`.
        """
        yield path, self.origin
        yield (*path, "name"), self.origin.of("name")
        yield (*path, members), self.origin.of("members")
        yield from self.bounds.origins((*path, "topologyConstraint"), levels)


class Grouper(Enum):
    """Who makes the scheduler's group of pods of a gang in a cluster: other fields of the group depend on it."""

    OPERATOR = auto()
    """The operator of the workload."""
    SCHEDULER = auto()
    """The scheduler, of the operator's PodGang."""
    SERVICE = auto()
    """The service that submits the workload; there is no PodGang."""
    OWNER = auto()
    """The scheduler, of the object that owns the pods; there is no PodGang, and nobody else may write the group."""


class GangOwner(Record):
    """The object that the scheduler makes a gang's group of."""

    api_version: str
    kind: str
    name: str

    @property
    def uid(self) -> str:
        """A stand-in for its UID, which only the API server knows."""
        return f"uid-{self.kind.lower()}-{self.name}"


class Gang(Record):
    """Pods that are scheduled together. `sets` are listed parents first.

    `members` is the number of pods that the gang states for itself, None where only its leaves do. `topology` names the
    topology of all bounds. `queue` is None where the workload names no queue, `queues` are all that it names.
    `scheduler` is the one that the pods name, "" where they name none. `bounds` is None where the gang states none.
    `origin` is that of the gang as one of its workload's, `owner` that of what the workload gives to all of its gangs:
    name, namespace, labels, annotations, queue, priorityClassName; a label or annotation with an origin of its own is
    a field by its key. The field `copies` of both is a number that says how many such gangs there are. `naming` is the
    origin of the part of the name which no workload says, and of the labels `named_labels` that repeat it; None where
    the workload says all of the name. `needed` is how many of the topmost sets it needs where it counts these and not
    its `members`. `preemptibility`, `preemption_delay` and `grace_period`, which it has once it lacks pods, are ""
    where nobody says them. `made_for` is the object that its group is made of, None where that is its PodGang or
    service. So many gangs of other pods are `alike`, of which it stands for all.
    """

    name: str
    namespace: str
    workload: str
    sets: tuple[PodSet, ...]
    bounds: Bounds | None
    members: int | None
    topology: str
    grouper: Grouper
    origin: Origin
    owner: Origin
    queue: str | None = None
    queues: tuple[str, ...] = ()
    priority_class: str = ""
    scheduler: str = ""
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    naming: Origin | None = None
    named_labels: tuple[str, ...] = ()
    needed: int | None = None
    preemptibility: str = ""
    preemption_delay: str = ""
    grace_period: str = ""
    made_for: GangOwner | None = None
    alike: int = 1

    def origins(self, levels: Mapping[str, FieldPath] = {}) -> dict[FieldPath, Origin]:
        """The origins of the fields that every manifest written for the gang has, by path.

        `levels` are the paths of the levels below `spec.topologyConstraint`.
        """
        origins: dict[FieldPath, Origin] = {
            (): self.origin,
            ("metadata", "name"): self.owner.of("name"),
            ("metadata", "namespace"): self.owner.of("namespace"),
            ("metadata", "labels"): self.owner.of("labels"),
            ("metadata", "annotations"): self.owner.of("annotations"),
            ("spec", "priorityClassName"): self.owner.of("priorityClassName"),
        }
        for part, entries in (("labels", self.labels), ("annotations", self.annotations)):
            origins |= {("metadata", part, key): self.owner.of(key) for key in entries if key in self.owner.fields}
        if self.naming is not None:
            origins["metadata", "name"] = self.naming
            origins |= {("metadata", "labels", key): self.naming for key in self.named_labels}
        if self.bounds is not None:
            origins.update(self.bounds.origins(("spec", "topologyConstraint"), levels))
        return origins

    @property
    def copies(self) -> list[Origin]:
        """The origins of the numbers that say how many such gangs there are."""
        return [origin.of("copies") for origin in (self.owner, self.origin) if "copies" in origin.fields]

    @property
    def is_of_operator(self) -> bool:
        """True if the workload's operator makes the gang; else a service or the scheduler makes its group alone."""
        return self.grouper in (Grouper.OPERATOR, Grouper.SCHEDULER)

    @property
    def is_bounded(self) -> bool:
        """True if the gang or a part of it must, or should, stand within a level of the topology."""
        own = self.bounds is not None and not self.bounds.is_empty
        return own or any(not pods.bounds.is_empty for pods in self.sets)

    @property
    def leaves(self) -> list[PodSet]:
        """The sets that hold pods, in their order."""
        return [pods for pods in self.sets if pods.members is not None]

    @property
    def inner(self) -> list[PodSet]:
        """The sets that hold other sets, in their order."""
        return [pods for pods in self.sets if pods.members is None]


def gang_kinds(gang: Gang) -> tuple[Kind, ...]:
    """The kinds of objects that there are for a gang, by their rank."""
    return tuple(
        kind
        for kind in GANGS
        if gang.is_of_operator or not kind.gang.of_operator
        if kind.gang.scheduler in ("", gang.scheduler)
    )


class NodeTopology(Record):
    """A topology that a front end brings itself: its levels, broadest first.

    `place` is the list of the levels and `field` the key of the node label in an entry. `before` are the node label
    keys of the baseline, None where the baseline has no such topology.
    """

    name: str
    levels: tuple[Level, ...]
    labels: Mapping[str, str]
    place: Place
    field: str
    origin: Origin
    before: tuple[str, ...] | None = None

    @property
    def keys(self) -> tuple[str, ...]:
        """The node label keys, broadest first."""
        return tuple(level.key for level in self.levels)


class GpuShare(Record):
    """GPUs of a queue: the guaranteed number, the most it may use (-1: no bound), its weight for what is left."""

    quota: int = -1
    limit: int = -1
    weight: int = 1


class Queue(Record):
    """A queue below `parent`; everything but GPUs is unbounded."""

    name: str
    origin: Origin
    parent: str | None = None
    gpu: GpuShare = GpuShare()
    labels: Mapping[str, str] = {}


class GangPod(Record):
    """The manifest of a pod of `gang`, in its leaf `pod_set` where the gang has sets.

    The fields of its origin are those of the manifest, by their paths as text.
    """

    value: Mapping[str, Value]
    gang: str
    queue: str
    pod_set: str | None
    origin: Origin


Node = Gang | NodeTopology | Queue | GangPod
"""The nodes of the model for each of which a scheduler writes an object."""


class Schedulers(Record):
    """The schedulers that Grove's operator is configured for, and the one of pods that name none."""

    names: tuple[str, ...]
    default: str


class Cluster(Record):
    """The facts about the cluster that is rendered for, as far as they are known.

    `enabled`: whether TAS is. `domains`: the configuration's domains, in its own order. `topologies`: every
    topology by name. `auto_mnnvl`: the operator's network.autoMNNVLEnabled; `knows_mnnvl`: whether anything says so.
    `schedulers`: where the revision has them.
    `makes_topologies`: whether the operator makes the scheduler's topology objects. `revision_before`: the one that the
    baseline was written for, None where it is not known to be another. `nodes` are the Node objects that are known.
    """

    revision: Revision
    enabled: bool = False
    domains: tuple[str, ...] = ()
    topologies: Mapping[str, ClusterTopology] = {}
    auto_mnnvl: bool = False
    knows_mnnvl: bool = True
    schedulers: Schedulers | None = None
    makes_topologies: bool = True
    revision_before: Revision | None = None
    nodes: tuple[Mapping[str, Value], ...] = ()


class Placement(Record):
    """One node of the model, handed to the schedulers.

    `source` says in words what the node is made from, `subject` is that object; `notes` are annotations of the objects
    written for it, their keys without the prefix `packwise.dev/`. `emit_by_default`: the objects are written where
    `spec.emit` is not set, whatever kinds are the default.
    """

    node: Node
    source: str
    subject: KubeObject
    notes: Mapping[str, str] = {}
    emit_by_default: bool = False


class Outline(Record):
    """A part of a workload of which nothing is rendered: `details` are what it asks for, `parts` what is below it."""

    name: str
    place: Place
    details: tuple[str, ...] = ()
    parts: tuple[Outline, ...] = ()


class WorkloadPlan(Record):
    """The plan of one workload. With an error among `findings` there is nothing to write.

    `topology` is the name of the ClusterTopology that it is placed by, None where it asks for no place. `notes` are
    annotations of the workload itself, their keys without the prefix `packwise.dev/`; None: it has none of that key.
    `entries` is how much the placements count towards the run's limit, None where the front end did not count them.
    `previews` are objects that another operator makes of the workload, for review. `idle` says why the workload has no
    pods for now, as while it is suspended. `outline` is what it consists of, if a scheduler reads it as it stands.
    """

    workload: KubeObject
    findings: tuple[Finding, ...] = ()
    placements: tuple[Placement, ...] = ()
    conditions: tuple[Condition, ...] = ()
    topology: str | None = None
    notes: Mapping[str, str | None] = {}
    entries: int | None = None
    previews: tuple[Generated, ...] = ()
    idle: str = ""
    outline: tuple[Outline, ...] = ()


class Omission(Record):
    """`asked` is what stands at the origin's place and is missing in the objects; the origin's rule leaves it out.

    `why` says what keeps it away, `remedy` what would change that.
    """

    origin: Origin
    asked: str
    why: str
    remedy: str


class PodSlice(Record):
    """Every `size` pods of a set are within one domain of the level, which is a node label."""

    level: str
    size: int


class QueuedPods(Record):
    """A set of pods of one template: how many, in which queue, and within which domains; levels are node labels.

    `place` is where the template says so. `topologies` are the names of those that the flavors of the queue are in,
    none where that is not known. `group` is the name of the sets that are placed together. `flavors` are those of the
    queue, in the order in which the scheduler tries them.
    """

    workload: KubeObject
    place: Place
    scheduler: str
    name: str
    count: int  # pyright: ignore[reportIncompatibleMethodOverride]
    queue: str = ""
    required: str | None = None
    preferred: str | None = None
    is_unconstrained: bool = False
    slices: tuple[PodSlice, ...] = ()
    group: str | None = None
    topologies: tuple[str, ...] = ()
    flavors: tuple[str, ...] = ()


MAX_GANGS = 200_000
"""The largest number of gangs and entries of gangs in a run, unless the settings name one. They take 550 MiB."""

LIMIT = Rule(
    "gang-limit",
    f"All workloads of a run together become at most {MAX_GANGS} gangs and entries of gangs, or `limits.gangs`.",
    "spec/packwise.md#5.2",
)
RULES = (LIMIT,)
"""Rules of how much is rendered."""

_ENTRY = 1024
"""So many characters that an object copies from its workload count as a further entry."""


def excess(entries: str, before: int, most: int) -> str:
    """The message of LIMIT for a workload of `entries`, a number and its nouns; `before`: those before it."""
    beside = f", beside {before} of other workloads" if before else ""
    return (
        f"would become {entries}{beside}; a run renders at most {most}: lower the replicas, split the input, "
        "or raise limits.gangs of the TopologyRender"
    )


def weight_of_copies(characters: int) -> int:
    """The number of entries that an object counts for the characters that it copies from its workload."""
    return characters // _ENTRY


def length(texts: Mapping[str, str]) -> int:
    """The characters of labels or annotations."""
    return sum([len(key) + len(text) for key, text in texts.items()])


def characters(value: Value) -> int:
    """The characters of all keys and texts within `value`."""
    return sum(_lengths(value))


def within_limit(plans: Sequence[WorkloadPlan], most: int) -> list[WorkloadPlan]:
    """`plans`, where they have at most so many gangs and entries; else without placements, and with what says so.

    A front end that counts its entries keeps to the limit itself.
    """
    total = 0
    checked: list[WorkloadPlan] = []
    for plan in plans:
        if plan.entries is not None:
            total += plan.entries
            checked.append(plan)
            continue
        # The workload may be a document in a ConfigMap: the gang that is too much says where.
        entries = 0
        for placement in plan.placements:
            entries += _entries(placement)
            if total + entries > most:
                message = excess(f"at least {entries} gangs, sets of pods and pods", total, most)
                finding = placement.node.origin.place.finding(LIMIT, message)
                checked.append(plan.replace(findings=(*plan.findings, finding)))
                break
        else:
            total += entries
            checked.append(plan)
    if any(finding.rule == LIMIT.name for plan in checked for finding in plan.findings):
        return [plan.replace(placements=()) for plan in checked]
    return checked


def _entries(placement: Placement) -> int:
    node = placement.node
    if isinstance(node, Gang):
        copied = length(node.labels) + length(node.annotations) + length(placement.notes) + len(node.priority_class)
        return 1 + len(node.sets) + weight_of_copies(copied)
    if isinstance(node, GangPod):
        return 1 + weight_of_copies(characters(node.value))
    return 0


def _lengths(value: Value) -> Iterator[int]:
    if isinstance(value, str):
        yield len(value)
    elif isinstance(value, dict):
        for key, part in value.items():
            yield len(key)
            yield from _lengths(part)
    elif isinstance(value, list):
        for part in value:
            yield from _lengths(part)
