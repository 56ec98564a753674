"""The model between front ends and schedulers: gangs of pods, the topology levels that bound them, queues.

Front ends fill it, schedulers write their objects from it. It has no scheduler's words and no revision's. Names are
those of the objects to come. Every node has an origin. Source: spec/packwise.md#5.
"""

from __future__ import annotations

from enum import Enum, auto

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from packwise.objects.place import Origin, Place
    from packwise.topology import Level

__all__ = [
    "Bounds",
    "Gang",
    "GangOwner",
    "GangPod",
    "GpuShare",
    "Grouper",
    "Node",
    "NodeTopology",
    "PodSet",
    "Queue",
]


class Bounds(NamedTuple):
    """Levels of a topology: pods must be in one domain of `required`, and are in one of `preferred` if possible.

    `origin` is that of the constraint, its fields `required` and `preferred`; None where no constraint is written.
    """

    required: Level | None = None
    preferred: Level | None = None
    origin: Origin | None = None

    @property
    def is_empty(self) -> bool:
        """Whether neither level is there."""
        required, preferred, _ = self
        return required is None and preferred is None

    def origins(self, path: FieldPath, levels: Mapping[str, FieldPath]) -> Iterator[tuple[FieldPath, Origin]]:
        """The origins of the constraint of a manifest at `path`; `levels` are the paths of its levels below that."""
        if self.origin is not None:
            yield path, self.origin
            for level, steps in levels.items():
                yield (*path, *steps), self.origin.of(level)


class PodSet(NamedTuple):
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


class GangOwner(NamedTuple):
    """The object that the scheduler makes a gang's group of."""

    api_version: str
    kind: str
    name: str

    @property
    def uid(self) -> str:
        """What stands for its UID, which only the API server knows."""
        return f"uid-{self.kind.lower()}-{self.name}"


class Gang(NamedTuple):
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
    def is_bounded(self) -> bool:
        """Whether the gang or a part of it must, or should, stand within a level of the topology."""
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


class NodeTopology(NamedTuple):
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


class GpuShare(NamedTuple):
    """GPUs of a queue: the guaranteed number, the most it may use (-1: no bound), its weight for what is left."""

    quota: int = -1
    limit: int = -1
    weight: int = 1


class Queue(NamedTuple):
    """A queue below `parent`; everything but GPUs is unbounded."""

    name: str
    origin: Origin
    parent: str | None = None
    gpu: GpuShare = GpuShare()
    labels: Mapping[str, str] = {}


class GangPod(NamedTuple):
    """The manifest of a pod of `gang`, in its leaf `pod_set` where the gang has sets.

    The fields of its origin are those of the manifest, by their paths as text.
    """

    value: Mapping[str, Value]
    gang: str
    queue: str
    pod_set: str | None
    origin: Origin


Node = Gang | NodeTopology | Queue | GangPod
"""What a scheduler writes one object for."""
