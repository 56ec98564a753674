"""The model between front ends and schedulers: gangs of pods, their topology levels, queues.

Front ends build the model, and schedulers write their objects from it. The model is independent of schedulers and
releases. Each node has the name of the object that a scheduler writes for it. Every node has an origin. Source:
spec/packwise.md#5.
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
    """Topology levels of some pods. The pods must share a domain of `required`, and share one of `preferred` if
    possible.

    `origin` is the place of the constraint, with its fields `required` and `preferred`. It is None if no constraint is
    written.
    """

    required: Level | None = None
    preferred: Level | None = None
    origin: Origin | None = None

    @property
    def is_empty(self) -> bool:
        """True if no level is required or preferred."""
        return self.required is None and self.preferred is None

    def origins(self, path: FieldPath, levels: Mapping[str, FieldPath]) -> Iterator[tuple[FieldPath, Origin]]:
        """Yield the origins of the constraint at `path` of a manifest.

        `levels` maps the fields `required` and `preferred` to their paths below `path`.
        """
        if self.origin is not None:
            yield path, self.origin
            for level, steps in levels.items():
                yield (*path, *steps), self.origin.of(level)


MNNVL_CLAIM = "mnnvl-claim"
"""The resource claim that an operator adds to a pod for automatic MNNVL (multi-node NVLink). A node has one channel for
such claims.
"""


class PodSet(Record):
    """A node of a gang's tree. A leaf holds `members` pods. `members` is None for an inner node with child sets.

    `scheduler` is the scheduler of the pods if it differs from the gang's. `replicas` is the number of all pods, or
    None if it equals `members`. The gang needs `members` of them, and the others may start later. `pod_spec` is the
    spec of each pod. It is None if the model has a node for each pod. `labels` and `annotations` are the ones that the
    workload gives each pod. `needed` is the number of required child sets, and None means all. `topology` is the
    topology of the set's bounds if it differs from the gang's. `is_named` is false if the scheduler has no such set,
    because the pods belong directly to the gang.
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
        """Yield the origins of the set's entry at `path` of a manifest.

        `members` is the field there with the number of pods. `levels` maps `required` and `preferred` to their paths
        below the entry's `topologyConstraint`.
        """
        yield path, self.origin
        yield (*path, "name"), self.origin.of("name")
        yield (*path, members), self.origin.of("members")
        yield from self.bounds.origins((*path, "topologyConstraint"), levels)


class Grouper(Enum):
    """The component that creates the scheduler's pod group for a gang. Some fields of the group depend on the
    component.
    """

    OPERATOR = auto()
    """The operator of the workload."""
    SCHEDULER = auto()
    """The scheduler, from the operator's PodGang."""
    SERVICE = auto()
    """The service that submits the workload, without a PodGang."""
    OWNER = auto()
    """The scheduler, from the owner of the pods, without a PodGang. No other component may write the group."""


class GangOwner(Record):
    """The object from which the scheduler makes the group of a gang."""

    api_version: str
    kind: str
    name: str

    @property
    def uid(self) -> str:
        """Return a placeholder for the object's UID. Only the API server knows the real one."""
        return f"uid-{self.kind.lower()}-{self.name}"


class Gang(Record):
    """Pods that are scheduled together. `sets` lists parents first.

    `members` is the gang's own number of pods, or None if only its leaves state one. `topology` names the topology of
    all bounds. `queue` is the gang's queue, or None if the workload names none. `queues` are all queues that the
    workload names. `scheduler` is the pods' scheduler, or "" if they name none. `bounds` is None if the gang states
    none.

    `origin` is the place of the gang within its workload. `owner` is the origin of everything shared by the workload's
    gangs: name, namespace, labels, annotations, queue, priorityClassName. If a label or annotation has its own origin,
    `owner` has a field with its key. The field `copies` of either origin is a number of replicas that makes several
    gangs like this one.

    `naming` is the origin of the part of the name that the workload does not state, or None if the workload states the
    whole name. The labels in `named_labels` repeat this part and have the same origin. `needed` is the number of
    required topmost sets if the gang counts sets instead of `members`.

    `preemptibility`, `preemption_delay` and `grace_period` are "" if not stated. The grace period begins when pods are
    missing. `made_for` is the object from which the scheduler makes the group. It is None if the group comes from a
    PodGang or a service. `alike` is the number of gangs that differ only in their pods. The model holds one of them.
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
        """Return the origins of the replica numbers that make several gangs like this one."""
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
    """Return the kinds of objects that exist for a gang, in the order of their rank."""
    return tuple(
        kind
        for kind in GANGS
        if gang.is_of_operator or not kind.gang.of_operator
        if kind.gang.scheduler in ("", gang.scheduler)
    )


class NodeTopology(Record):
    """A topology that a front end defines itself, with its levels, broadest first.

    `place` is the list of the levels. `field` is the field of an entry with the key of the node label. `before` holds
    the keys of the same topology in the baseline, or None if the baseline does not have it.
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
    """GPUs of a queue: the guaranteed `quota`, the `limit` of its use, and its `weight` for the rest. -1 means no
    limit.
    """

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
    """The manifest of a pod of `gang`. `pod_set` is the leaf that holds the pod, or None if the gang has no sets.

    The fields of `origin` are the fields of the manifest, with their paths as text.
    """

    value: Mapping[str, Value]
    gang: str
    queue: str
    pod_set: str | None
    origin: Origin


Node = Gang | NodeTopology | Queue | GangPod
"""The parts of the model for which a scheduler writes objects."""


class Schedulers(Record):
    """The schedulers in Grove's configuration, and the default scheduler of pods that name none."""

    names: tuple[str, ...]
    default: str


class Cluster(Record):
    """The known facts about the cluster of the render.

    `enabled` is true if topology-aware scheduling is enabled. `domains` are the domains of the configuration in its
    order. `topologies` maps names to topologies. `auto_mnnvl` is the value of the operator's network.autoMNNVLEnabled,
    and `is_mnnvl_known` is true if that value is known. `schedulers` is None if the revision has no list of schedulers.
    `makes_topologies` is true if the operator makes the scheduler's topology objects. `revision_before` is the
    baseline's revision, or None if it is not known to differ. `nodes` are the known Node objects.
    """

    revision: Revision
    enabled: bool = False
    domains: tuple[str, ...] = ()
    topologies: Mapping[str, ClusterTopology] = {}
    auto_mnnvl: bool = False
    is_mnnvl_known: bool = True
    schedulers: Schedulers | None = None
    makes_topologies: bool = True
    revision_before: Revision | None = None
    nodes: tuple[Mapping[str, Value], ...] = ()


class Placement(Record):
    """One node of the model, ready for the schedulers.

    `subject` is the object that the node comes from, and `source` describes it. `notes` are annotations of the written
    objects without the prefix `packwise.dev/`. With `emit_by_default`, the objects are written even if `spec.emit` is
    not set.
    """

    node: Node
    source: str
    subject: KubeObject
    notes: Mapping[str, str] = {}
    emit_by_default: bool = False


class NodePool(Record):
    """A node pool. Its scheduler sees only the objects of the pool. `name` is "" for the default pool."""

    name: str
    shards: tuple[str, ...] = ()
    queues: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    placements: tuple[Placement, ...] = ()


class Outline(Record):
    """A part of a workload for which packwise renders no object. `details` are the requests of the part, and `parts`
    are the parts below it.
    """

    name: str
    place: Place
    details: tuple[str, ...] = ()
    parts: tuple[Outline, ...] = ()


class WorkloadPlan(Record):
    """The plan of one workload. If `findings` contains an error, no objects are written.

    `topology` names the ClusterTopology of its placement, or is None without topology constraints. `notes` are
    annotations of the workload itself without the prefix `packwise.dev/`. The value None removes an annotation.
    `entries` is the number that counts towards the run's limit, or None if the front end did not count. `previews` are
    objects that another operator makes, for review. `idle` is the reason why the workload has no pods, such as
    suspension. `outline` is the structure of a workload that the scheduler reads directly.
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
    """A request of a workload that no generated object carries.

    `asked` is the request. `origin` has its place, and the rule that omits it. `why` is the reason, and `remedy` is the
    change that would include the request.
    """

    origin: Origin
    asked: str
    why: str
    remedy: str


class PodSlice(Record):
    """Every `size` pods of a set are within one domain of the level. `level` is the key of a node label."""

    level: str
    size: int


class QueuedPods(Record):
    """Pods of one template: their number, queue and domains. Levels are keys of node labels.

    `place` is the place of the pods in the template. `topologies` names the topologies of the queue's flavors, and is
    empty if unknown. `group` names the sets that are placed together. `flavors` are the flavors of the queue, in the
    order of the scheduler. `origins` lists the values that decide the placement, each with its text and its place.
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
"""The default for the largest number of gangs and parts of gangs in a run. A run of this size needs 550 MiB."""

LIMIT = Rule(
    "gang-limit",
    f"A run would generate more gangs and parts of gangs than `limits.gangs` allows ({MAX_GANGS} by default).",
    "spec/packwise.md#5.2",
)
RULES = (LIMIT,)
"""Rules of the size of a render."""

_ENTRY = 1024
"""The number of characters that count as a further entry if an object copies them from its workload."""


def excess_text(entries: str, before: int, most: int) -> str:
    """Return the message of `LIMIT` for a workload.

    `entries` is the number of its entries with a noun. `before` is the number of entries of earlier workloads.
    """
    beside = f" in addition to {before} of other workloads" if before else ""
    return (
        f"the workload becomes {entries}{beside}, but a run renders at most {most}. Lower the replicas, split the "
        "input, or raise limits.gangs of the TopologyRender"
    )


def weight_of_copies(characters: int) -> int:
    """Return the number of extra entries for an object that copies `characters` characters from its workload."""
    return characters // _ENTRY


def length(texts: Mapping[str, str]) -> int:
    """Return the number of characters of all keys and texts of labels or annotations."""
    return sum([len(key) + len(text) for key, text in texts.items()])


def characters(value: Value) -> int:
    """Return the number of characters of all keys and texts within `value`."""
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
        # The workload may be a document in a ConfigMap. The origin of the gang that exceeds the limit is more exact.
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
