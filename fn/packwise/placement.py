"""The model between front ends and schedulers: gangs of pods, their topology levels, queues.

Front ends build it and schedulers write their objects from it. It is independent of schedulers and releases. Names are
the names of the future objects. Every node has an origin. Source: spec/packwise.md#5.
"""

from __future__ import annotations

from enum import Enum, auto

from krmfn.hints import TYPE_CHECKING, Record
from packwise.findings import Rule
from packwise.objects.kinds import GANGS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.findings import Finding, Origin, Place
    from packwise.objects.index import Generated
    from packwise.objects.kinds import Kind
    from packwise.revisions.grove import Revision
    from packwise.topology.known import ClusterTopology, Condition, Level


class Bounds(Record):
    """Levels of a topology: pods must share a domain of `required` and share one of `preferred` if possible.

    `origin` is the constraint with its fields `required` and `preferred`. It is None without a written constraint.
    """

    required: Level | None = None
    preferred: Level | None = None
    origin: Origin | None = None

    @property
    def is_empty(self) -> bool:
        """True if neither level is there."""
        return self.required is None and self.preferred is None

    def origins(self, path: FieldPath, levels: Mapping[str, FieldPath]) -> Iterator[tuple[FieldPath, Origin]]:
        """Yield the origins of a manifest's constraint at `path`. `levels` are the paths of its levels below."""
        if self.origin is not None:
            yield path, self.origin
            for level, steps in levels.items():
                yield (*path, *steps), self.origin.of(level)


MNNVL_CLAIM = "mnnvl-claim"
"""The resource claim that an operator adds to a pod for automatic MNNVL. A node has one channel to claim."""


class PodSet(Record):
    """A node of a gang's tree. A leaf holds `members` pods. `members` is None for an inner node with child sets.

    `scheduler` is the scheduler of the pods if it differs from the gang's. `replicas` counts all pods. The gang needs
    `members` of them and the others may come later. It is None if both are equal. `pod_spec` is the spec of each pod.
    It is None if pods of the set are nodes of the model. `labels` and `annotations` are the ones that the workload
    gives each pod. `needed` is the number of required child sets, and None means all. `topology` is the topology of its
    bounds if it differs from the gang's. `is_named` is false if the scheduler knows no set, because the pods belong
    directly to the gang.
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
        """Yield the origins of the set's part of a manifest at `path`. `members` is the name of its count there.

        `levels` are the paths of the levels below its `topologyConstraint`.
        """
        yield path, self.origin
        yield (*path, "name"), self.origin.of("name")
        yield (*path, members), self.origin.of("members")
        yield from self.bounds.origins((*path, "topologyConstraint"), levels)


class Grouper(Enum):
    """The component that makes the scheduler's pod group of a gang. Other fields of the group depend on it."""

    OPERATOR = auto()
    """The operator of the workload."""
    SCHEDULER = auto()
    """The scheduler, from the operator's PodGang."""
    SERVICE = auto()
    """The service that submits the workload, without a PodGang."""
    OWNER = auto()
    """The scheduler, from the owner of the pods, without a PodGang. No other component may write the group."""


class GangOwner(Record):
    """The object that the scheduler makes a gang's group of."""

    api_version: str
    kind: str
    name: str

    @property
    def uid(self) -> str:
        """Return a placeholder for its UID. Only the API server knows the real one."""
        return f"uid-{self.kind.lower()}-{self.name}"


class Gang(Record):
    """Pods that are scheduled together. `sets` lists parents first.

    `members` is the gang's own number of pods, or None if only its leaves state one. `topology` names the topology of
    all bounds. `queue` is None if the workload names no queue, and `queues` are all that it names. `scheduler` is the
    pods' scheduler, or "" if they name none. `bounds` is None if the gang states none.

    `origin` is the gang within its workload. `owner` is the origin of everything shared by the workload's gangs: name,
    namespace, labels, annotations, queue, priorityClassName. A label or annotation with its own origin is a field by
    its key. The field `copies` of both is the number of such gangs.

    `naming` is the origin of the part of the name that the workload does not state. It is also the origin of the labels
    `named_labels` that repeat this part. It is None if the workload states the whole name. `needed` is the number of
    required topmost sets if the gang counts sets instead of `members`.

    `preemptibility`, `preemption_delay` and `grace_period` are "" if not stated. The grace period begins when pods are
    missing. `made_for` is the object of its group, or None for its PodGang or service. The gang stands for `alike`
    gangs of other pods.
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
        """Return the origins of the fields that every manifest of the gang has, by path.

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
        """Return the origins of the numbers that multiply this gang."""
        return [origin.of("copies") for origin in (self.owner, self.origin) if "copies" in origin.fields]

    @property
    def is_of_operator(self) -> bool:
        """Return True if the workload's operator makes the gang. Otherwise a service or the scheduler makes its
        group.
        """
        return self.grouper in (Grouper.OPERATOR, Grouper.SCHEDULER)

    @property
    def is_bounded(self) -> bool:
        """Return True if a topology level is required or preferred for the gang or a part of it."""
        own = self.bounds is not None and not self.bounds.is_empty
        return own or any(not pods.bounds.is_empty for pods in self.sets)

    @property
    def leaves(self) -> list[PodSet]:
        """The sets that hold pods, in their order."""
        return [pods for pods in self.sets if pods.members is not None]

    @property
    def inner_sets(self) -> list[PodSet]:
        """The sets that hold other sets, in their order."""
        return [pods for pods in self.sets if pods.members is None]


def gang_kinds(gang: Gang) -> tuple[Kind, ...]:
    """Return the kinds of objects that exist for a gang, by their rank."""
    return tuple(
        kind
        for kind in GANGS
        if gang.is_of_operator or not kind.gang.of_operator
        if kind.gang.scheduler in ("", gang.scheduler)
    )


class NodeTopology(Record):
    """A front end's own topology with its levels, broadest first.

    `place` is the list of the levels and `field` the key of the node label in an entry. `before` are the baseline's
    node label keys, or None without such a topology.
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
    """GPUs of a queue: the guaranteed number, the most it may use (-1 for no limit), its weight for the rest."""

    quota: int = -1
    limit: int = -1
    weight: int = 1


class Queue(Record):
    """A queue below `parent`. Only its GPUs are limited."""

    name: str
    origin: Origin
    parent: str | None = None
    gpu: GpuShare = GpuShare()
    labels: Mapping[str, str] = {}


class GangPod(Record):
    """The manifest of a pod of `gang`. `pod_set` is its leaf if the gang has sets.

    The fields of its origin are the fields of the manifest, with their paths as text.
    """

    value: Mapping[str, Value]
    gang: str
    queue: str
    pod_set: str | None
    origin: Origin


Node = Gang | NodeTopology | Queue | GangPod
"""The parts of the model for which a scheduler writes objects."""


class Schedulers(Record):
    """The schedulers in Grove's configuration, and the default for pods without one."""

    names: tuple[str, ...]
    default: str


class Cluster(Record):
    """The known facts about the cluster of the render.

    `enabled` is true if TAS is. `domains` are the configuration's in its order. `topologies` maps names to topologies.
    `auto_mnnvl` is the operator's network.autoMNNVLEnabled, and `knows_mnnvl` is true if it is known. `schedulers` are
    set if the revision has them. `makes_topologies` is true if the operator makes the scheduler's topology objects.
    `revision_before` is the baseline's revision, or None if it is not known to differ. `nodes` are the known Node
    objects.
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
    """One node of the model, ready for the schedulers.

    `source` describes the origin of the node and `subject` is that object. `notes` are annotations of the written
    objects without the prefix `packwise.dev/`. With `emit_by_default`, the objects are written even if `spec.emit` is
    not set.
    """

    node: Node
    source: str
    subject: KubeObject
    notes: Mapping[str, str] = {}
    emit_by_default: bool = False


class NodePool(Record):
    """A node pool. Its scheduler sees only its own members. `name` is "" for the default pool.

    `placements` are the gangs of the pool. `shards`, `queues` and `nodes` are names of objects in the input.
    """

    name: str
    shards: tuple[str, ...] = ()
    queues: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    placements: tuple[Placement, ...] = ()


class Outline(Record):
    """A part of a workload for which packwise renders no object. `details` are its requests, `parts` the parts below
    it.
    """

    name: str
    place: Place
    details: tuple[str, ...] = ()
    parts: tuple[Outline, ...] = ()


class WorkloadPlan(Record):
    """The plan of one workload. With an error among `findings`, no objects are written.

    `topology` names the ClusterTopology of its placement, or is None without topology constraints. `notes` are
    annotations of the workload itself without the prefix `packwise.dev/`. None removes one. `entries` is the number
    that counts towards the run's limit, or None if the front end did not count. `previews` are objects that another
    operator makes, for review. `idle` is the reason for a workload without pods, such as suspension. `outline` is its
    structure if a scheduler reads the workload directly.
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
    """A value `asked` at the origin's place that is missing in the objects. The origin's rule omits it.

    `why` names the reason and `remedy` the change that would include it.
    """

    origin: Origin
    asked: str
    why: str
    remedy: str


class PodSlice(Record):
    """Every `size` pods of a set are within one domain of the level. `level` is a node label."""

    level: str
    size: int


class QueuedPods(Record):
    """A set of pods of one template: their number, queue and domains. Levels are node labels.

    `place` is the source in the template. `topologies` names the topologies of the queue's flavors, and is empty if
    unknown. `group` names the sets that are placed together. `flavors` are the queue's, in the order of the scheduler.
    `origins` are the places of the values that decide, each with its text.
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
    origins: tuple[tuple[str, Place], ...] = ()


MAX_GANGS = 200_000
"""The default for the largest number of gangs and entries of gangs in a run. They need 550 MiB."""

LIMIT = Rule(
    "gang-limit",
    f"The workloads of a run become more gangs and entries of gangs than `limits.gangs` allows ({MAX_GANGS}).",
    "spec/packwise.md#5.2",
)
RULES = (LIMIT,)
"""Rules of the size of a render."""

_ENTRY = 1024
"""The number of characters that count as a further entry if an object copies them from its workload."""


def excess_text(entries: str, before: int, most: int) -> str:
    """Return the message of LIMIT for a workload. `entries` is a number with its nouns, `before` the number of
    earlier entries.
    """
    beside = f" in addition to {before} of other workloads" if before else ""
    return (
        f"the workload becomes {entries}{beside}, but a run renders at most {most}. Lower the replicas, split the "
        "input, or raise limits.gangs of the TopologyRender"
    )


def weight_of_copies(characters: int) -> int:
    """Return the number of entries that an object counts for the characters that it copies from its workload."""
    return characters // _ENTRY


def length(texts: Mapping[str, str]) -> int:
    """The characters of labels or annotations."""
    return sum([len(key) + len(text) for key, text in texts.items()])


def characters(value: Value) -> int:
    """The characters of all keys and texts within `value`."""
    return sum(_lengths(value))


def within_limit(plans: Sequence[WorkloadPlan], most: int) -> list[WorkloadPlan]:
    """Return `plans` if they stay within the limit. Plans beyond it have no placements and a finding instead.

    A front end that counts its entries enforces the limit itself.
    """
    total = 0
    checked: list[WorkloadPlan] = []
    for plan in plans:
        if plan.entries is not None:
            total += plan.entries
            checked.append(plan)
            continue
        # The workload may be a document in a ConfigMap, so the place is that of the gang beyond the limit.
        entries = 0
        for placement in plan.placements:
            entries += _entries(placement)
            if total + entries > most:
                message = excess_text(f"at least {entries} gangs, sets of pods and pods", total, most)
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
