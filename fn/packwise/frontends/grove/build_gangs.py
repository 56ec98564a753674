"""Build the gangs of a PodCliqueSet as the operator builds its PodGangs, before any pod exists.

Source: spec/grove.md#7, #6, spec/grove-releases.md#3.3.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING, Record
from krmfn.kubeobject import KubeObject, is_client_key
from krmfn.result import Severity
from packwise.findings import Finding, Origin, Place, Rule
from packwise.frontends.grove.podcliqueset import (
    TEMPLATE,
    VOLCANO,
    anchor_podgang,
    base_podgang,
    group_podgang,
    grouped_clique,
    is_split,
    queues_of,
    requests_lpu,
    resolve_queue,
    resolve_topology,
    scaled_podgang,
    scaling_group,
    spec_with_claim,
    standalone_clique,
    volcano_queue,
)
from packwise.objects.index import EPOCH, GENERATION, REPLICA, ROLE
from packwise.placement import Bounds, Gang, Grouper, PodSet
from packwise.settings.topologyrender import KAI_PROFILE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from packwise.frontends.grove.epoch_sources import MapEntry
    from packwise.frontends.grove.podcliqueset import Clique, PodCliqueSet, ScalingGroup, TopologyConstraint
    from packwise.placement import Schedulers
    from packwise.revisions.grove import Revision
    from packwise.topology.known import ClusterTopology, Level

    _Pods: TypeAlias = tuple[
        str, int, Bounds, Origin, str, int, Mapping[str, Value], Mapping[str, str], Mapping[str, str]
    ]

TOPOLOGY_NAME = "grove.io/topology-name"
"""The annotation of a PodGang with the name of the Topology that KAI uses for its label keys."""

SCHEDULER_NAME = "grove.io/scheduler-name"
"""The label of a PodGang with the name of its scheduler. Grove reads it."""

_OWN = "grove.io/"
_BOOKKEEPING = (
    "packwise.dev/",
    "argocd.argoproj.io/",
    "kustomize.toolkit.fluxcd.io/",
    "kubectl.kubernetes.io/last-applied-configuration",
)

_BASE = "spec/grove.md#base-podgang"
_SCALED = "spec/grove.md#scaled-podgang"
_BEYOND = "spec/grove-releases.md#3.3"
_PODGROUP = "spec/grove.md#podgroups"
_GROUP_CONFIG = "spec/grove.md#group-configs"
_CONSTRAINT = "spec/grove.md#pack-constraint"
_OWNER = "spec/grove.md#6"

_CLIQUE_FIELDS: Mapping[str, FieldPath] = {"name": ("name",), "members": ("spec", "minAvailable")}
_GROUP_FIELDS: Mapping[str, FieldPath] = {"name": ("name",), "copies": ("replicas",)}
_PACK_DOMAIN: Mapping[str, FieldPath] = {"required": ("packDomain",)}
_PACK: Mapping[str, FieldPath] = {"required": ("pack", "required"), "preferred": ("pack", "preferred")}
_MIGRATING: Mapping[str, FieldPath] = {**_PACK, **_PACK_DOMAIN}
_OWNER_FIELDS: Mapping[str, FieldPath] = {
    "copies": ("spec", "replicas"),
    "app.kubernetes.io/component": (),
    "app.kubernetes.io/managed-by": (),
    "app.kubernetes.io/part-of": ("metadata", "name"),
    SCHEDULER_NAME: (*TEMPLATE, "cliques"),
    TOPOLOGY_NAME: TEMPLATE,
    "name": ("metadata", "name"),
    "namespace": ("metadata", "namespace"),
    "labels": ("metadata", "labels"),
    "annotations": ("metadata", "annotations"),
    "queue": ("metadata", "labels"),
    "priorityClassName": (*TEMPLATE, "priorityClassName"),
}


def build_gangs(
    workload: KubeObject,
    pcs: PodCliqueSet,
    topology: ClusterTopology | None,
    plans: Iterable[GangPlan],
    *,
    enabled: bool,
    revision: Revision,
    default_scheduler: str = "",
    schedulers: Schedulers | None = None,
) -> tuple[Gang, ...]:
    """Return the gang of each plan, in the order of the plans.

    `pcs` is `workload` with its defaults. `topology` is its topology. If it is None, all constraints are dropped.
    `enabled` is true if topology-aware scheduling is enabled. If it is not, sets without bounds are kept for
    `admission.keep_preferred`. `default_scheduler` is the scheduler of pods that name none. `schedulers` are the
    schedulers with a profile in Grove. The result can be large. `count_entries` computes a limit of its size.
    """
    builder = _GangBuilder(workload, pcs, topology if enabled else None, enabled=enabled, revision=revision)
    if revision.scheduler_label != "Never":
        builder.name_scheduler(default_scheduler, always=revision.scheduler_label == "Always")
    if revision.mirrors_metadata:
        builder.mirror_metadata()
    if revision.splits_lpx:
        builder.split(schedulers)
    return builder.gangs(plans)


def count_entries(
    pcs: PodCliqueSet, live_replicas: Mapping[tuple[str, str], int], most: int, gang: int = 1, mapped: int = 0
) -> int:
    """Return an upper limit for the number of gangs and their sets that `build_gangs` makes, without building them.

    If the manifest alone exceeds `most`, live replicas are ignored. A gang that copies much of the workload counts as
    `gang` entries. `mapped` is the number of scaling group replicas in PodGangMaps.
    """
    grouped = pcs.grouped_cliques()
    standalone = sum(clique.name not in grouped for clique in pcs.cliques)
    written = sum(_count_group_entries(group, group.replicas, gang) for group in pcs.groups)
    entries = max(pcs.replicas, 0) * (gang + standalone + written)
    if mapped:
        entries += mapped * max((gang + len(group.clique_names) for group in pcs.groups), default=0)
    if entries > most or not live_replicas:
        return entries
    for replica in range(pcs.replicas):
        for group in pcs.groups:
            live = live_replicas.get((pcs.namespace, scaling_group(pcs.name, replica, group.name)))
            if live is not None:
                entries += _count_group_entries(group, live, gang) - _count_group_entries(group, group.replicas, gang)
    return entries


def _count_group_entries(group: ScalingGroup, replicas: int, gang: int) -> int:
    """Return the number of entries that a scaling group with `replicas` replicas adds for one replica of the set."""
    members, scaled = len(group.clique_names), max(replicas - group.min_available, 0)
    return group.min_available * (1 + members) + scaled * (gang + members)


class _OwnPart(Record):
    """The bounds and the origin of a clique, a scaling group or the set. `is_bounded` is true if there are bounds."""

    bounds: Bounds
    origin: Origin
    is_bounded: bool


class _Members(Record):
    """The part that all replicas of a scaling group have in common.

    `pods` are its cliques, and `total` is the number of pods that they need. `is_bounded` is true if a clique has
    bounds. `whole` has the bounds and the origin of a gang for a single replica.
    """

    pods: tuple[_Pods, ...]
    total: int
    is_bounded: bool
    whole: _OwnPart


class _GangBuilder:
    """Builds the gangs of one PodCliqueSet. Their common parts are computed only once."""

    __slots__ = (
        "_annotate_always",
        "_annotations",
        "_by_name",
        "_group_parts",
        "_grouper",
        "_kai_cliques",
        "_keeps_groups",
        "_labels",
        "_maps",
        "_members",
        "_owner",
        "_pcs",
        "_queue",
        "_queues",
        "_scheduler",
        "_set",
        "_standalone",
        "_topology",
        "_topology_annotation",
    )  # fmt: skip

    def __init__(
        self,
        workload: KubeObject,
        pcs: PodCliqueSet,
        topology: ClusterTopology | None,
        *,
        enabled: bool,
        revision: Revision,
    ) -> None:
        translate = _Translation(workload, topology, always_preferred=revision.always_preferred)
        grouped = pcs.grouped_cliques()
        cliques = [
            (clique, translate.part(("cliques", position), clique.topology, _PODGROUP, _CLIQUE_FIELDS))
            for position, clique in enumerate(pcs.cliques)
        ]
        # If two cliques have one name, the operator uses the first.
        self._by_name = {clique.name: (clique, part) for clique, part in reversed(cliques)}
        self._standalone = [(clique, part) for clique, part in cliques if clique.name not in grouped]
        self._group_parts = [
            translate.part(("podCliqueScalingGroups", position), group.topology, _GROUP_CONFIG, _GROUP_FIELDS)
            for position, group in enumerate(pcs.groups)
        ]
        self._set = translate.part((), pcs.topology, _BASE)
        self._pcs, self._maps = pcs, revision.podgang_maps
        self._owner = Origin(Place(workload), _OWNER, _OWNER_FIELDS)
        self._keeps_groups = enabled or revision.keeps_preferred
        resolved = topology.name if topology is not None else resolve_topology(pcs, revision)
        self._topology = resolved or ""
        self._topology_annotation = resolved if revision.annotate_topology else None
        self._annotate_always = enabled and revision.annotate_unconstrained
        self._grouper = Grouper.OPERATOR if revision.podgroups_by_operator else Grouper.SCHEDULER
        self._queue, self._queues = resolve_queue(pcs), queues_of(pcs)
        self._scheduler = next((clique.scheduler for clique in pcs.cliques if clique.scheduler), "")
        self._labels: Mapping[str, str] = {
            "app.kubernetes.io/component": "podgang",
            "app.kubernetes.io/managed-by": "grove-operator",
            "app.kubernetes.io/part-of": pcs.name,
        }
        self._annotations: Mapping[str, str] = {}
        self._kai_cliques: frozenset[str] = frozenset()
        self._members: list[_Members] = []

    def name_scheduler(self, default: str, *, always: bool) -> None:
        """Add a label with the scheduler to the gangs: the first scheduler that a clique names, or `default`.

        If no clique names one and `default` is "", the label is added only with `always`.
        """
        self._scheduler = self._scheduler or default
        if self._scheduler == VOLCANO:
            self._queue, self._queues = volcano_queue(self._pcs), ()
            self._owner = self._owner.replace(fields={**_OWNER_FIELDS, "queue": ("metadata", "annotations")})
        if self._scheduler or always:
            self._labels = {**self._labels, SCHEDULER_NAME: self._scheduler}

    def split(self, schedulers: Schedulers | None) -> None:
        """Set KAI as the scheduler of the cliques that the scheduler of the gangs does not schedule itself."""
        if is_split(self._scheduler, schedulers):
            self._kai_cliques = frozenset(clique.name for clique in self._pcs.cliques if not requests_lpu(clique))

    def mirror_metadata(self) -> None:
        """Add labels and annotations of the workload to the gangs."""
        pcs = self._pcs
        labels = {**_mirror(pcs.labels), **self._labels}
        self._labels = {key: labels[key] for key in sorted(labels)}
        self._annotations = _mirror({key: text for key, text in pcs.annotations.items() if not _is_bookkeeping(key)})

    def gangs(self, plans: Iterable[GangPlan]) -> tuple[Gang, ...]:
        """Return the gang of each plan."""
        self._members = [
            self._members_of(group, part) for group, part in zip(self._pcs.groups, self._group_parts, strict=True)
        ]
        standalone = [(self._pods(clique, part), part.is_bounded) for clique, part in self._standalone]
        return tuple(self._gang(plan, standalone) for plan in plans)

    def _gang(self, plan: GangPlan, standalone: Iterable[tuple[_Pods, bool]]) -> Gang:
        pcs, replica, total = self._pcs, plan.replica, 0
        own = self._set if plan.is_base else self._members[plan.groups[0][0]].whole
        is_packed = self._annotate_always or own.is_bounded
        inner: list[PodSet] = []
        leaves: list[PodSet] = []
        for pods, is_bounded in standalone if plan.cliques else ():
            name, least, bounds, origin, scheduler, replicas, pod_spec, labels, annotations = pods
            if name in plan.cliques:
                most = plan.cliques[name]
                needed, there = (least, replicas) if most is None else (min(least, most), most)
                fqn = standalone_clique(pcs.name, replica, name)
                leaves.append(
                    PodSet(
                        name=fqn,
                        parent=None,
                        members=needed,
                        bounds=bounds,
                        origin=origin,
                        scheduler=scheduler,
                        replicas=there,
                        pod_spec=pod_spec,
                        labels=labels,
                        annotations=annotations,
                    )
                )
                total += needed
                is_packed = is_packed or is_bounded
        for position, indices in plan.groups:
            group, part, members = pcs.groups[position], self._group_parts[position], self._members[position]
            fqn = scaling_group(pcs.name, replica, group.name)
            is_parent = self._has_config(plan, group, part)
            for index in indices:
                parent = f"{fqn}-{index}" if is_parent else None
                leaves += [
                    PodSet(
                        name=grouped_clique(fqn, index, name),
                        parent=parent,
                        members=least,
                        bounds=bounds,
                        origin=origin,
                        scheduler=scheduler,
                        replicas=there,
                        pod_spec=spec,
                        labels=labels,
                        annotations=annotations,
                    )
                    for name, least, bounds, origin, scheduler, there, spec, labels, annotations in members.pods
                ]
                if parent is not None:
                    inner.append(PodSet(parent, None, None, part.bounds, part.origin))
            total += members.total * len(indices)
            is_packed = is_packed or (bool(indices) and (members.is_bounded or (is_parent and part.is_bounded)))
        return self._gang_of(plan, own, (*inner, *leaves), total, is_packed=is_packed)

    def _has_config(self, plan: GangPlan, group: ScalingGroup, part: _OwnPart) -> bool:
        """Return True if each replica of the group is an inner set of the gang, with the constraint of the group."""
        if self._maps:
            return part.is_bounded
        return plan.is_base and group.topology is not None and self._keeps_groups

    def _members_of(self, group: ScalingGroup, part: _OwnPart) -> _Members:
        members = [self._by_name[name] for name in group.clique_names if name in self._by_name]
        # A group without a constraint uses the constraint of the set. A group with a level that no longer exists does
        # not.
        is_own = not self._maps and group.topology and (group.topology.required or group.topology.preferred)
        bounding = part if is_own else self._set
        origin = Origin(part.origin.place, _BEYOND if self._maps else _SCALED, part.origin.fields)
        return _Members(
            tuple(self._pods(clique, own, group) for clique, own in members),
            sum([clique.min_available for clique, _ in members]),
            any(own.is_bounded for _, own in members),
            bounding.replace(origin=origin),
        )

    def _pods(self, clique: Clique, part: _OwnPart, group: ScalingGroup | None = None) -> _Pods:
        """Return the name of the clique, and all fields of its PodSet except name and parent."""
        # This is empty if the clique has the scheduler of the gang.
        scheduler = KAI_PROFILE if clique.name in self._kai_cliques else ""
        return (
            clique.name, clique.min_available, part.bounds, part.origin, scheduler, clique.replicas,
            spec_with_claim(self._pcs, group, clique), clique.labels, clique.annotations,
        )  # fmt: skip

    def _gang_of(self, plan: GangPlan, own: _OwnPart, sets: tuple[PodSet, ...], total: int, *, is_packed: bool) -> Gang:
        annotations = self._annotations
        if is_packed and self._topology_annotation is not None:
            annotations = {**annotations, TOPOLOGY_NAME: self._topology_annotation}
        labels = self._labels
        if plan.labels:
            labels = {**labels, **plan.labels}
            labels = {key: labels[key] for key in sorted(labels)}
        return Gang(
            name=plan.name,
            namespace=self._pcs.namespace,
            workload=self._pcs.name,
            sets=sets,
            bounds=own.bounds,
            members=total,
            topology=self._topology,
            grouper=self._grouper,
            origin=own.origin,
            owner=self._owner,
            queue=self._queue,
            queues=self._queues,
            priority_class=self._pcs.priority_class,
            scheduler=self._scheduler,
            labels=labels,
            annotations=annotations,
            naming=plan.origin,
            named_labels=tuple(plan.labels),
        )


class _Translation:
    """Translates the constraints of one workload into levels of its topology, with their places."""

    __slots__ = ("_strictest", "_topology", "_workload")

    def __init__(self, workload: KubeObject, topology: ClusterTopology | None, *, always_preferred: bool) -> None:
        self._workload, self._topology = workload, topology
        self._strictest: Level | None = topology.narrowest_level if topology and always_preferred else None

    def part(
        self,
        steps: FieldPath,
        constraint: TopologyConstraint | None,
        rule: str,
        fields: Mapping[str, FieldPath] = {},
    ) -> _OwnPart:
        """Return bounds and origin of the part of the template at `steps`. `constraint` is the part's constraint."""
        place = Place(self._workload, (*TEMPLATE, *steps))
        bounds = self._bounds(constraint, place)
        return _OwnPart(bounds, Origin(place, rule, fields), bounds is not _UNBOUND and not bounds.is_empty)

    def _bounds(self, constraint: TopologyConstraint | None, owner: Place) -> Bounds:
        topology, strictest = self._topology, self._strictest
        if topology is None or (constraint is None and strictest is None):
            return _UNBOUND
        if constraint is None:
            return Bounds(None, strictest, Origin(owner, _CONSTRAINT))
        # Look up both levels separately, because the topology may have only one of them.
        required = topology.level_of(constraint.required)
        preferred = strictest or topology.level_of(constraint.preferred)
        pack = constraint.pack
        fields = _PACK_DOMAIN if pack is None else _PACK if pack.required else _MIGRATING
        return Bounds(required, preferred, Origin(owner.child("topologyConstraint"), _CONSTRAINT, fields))


_UNBOUND = Bounds()


def _mirror(entries: Mapping[str, str]) -> Mapping[str, str]:
    """Return the labels or annotations that a PodGang copies from its PodCliqueSet: all except Grove's own."""
    return {key: text for key, text in entries.items() if not key.startswith(_OWN)}


def is_mirrored(part: str, key: str) -> bool:
    """Return True if PodGangs copy this label or annotation of their PodCliqueSet.

    Only some revisions copy any. `part` is `labels` or `annotations`.
    """
    return not key.startswith(_OWN) and (part == "labels" or not _is_bookkeeping(key))


def _is_bookkeeping(annotation: str) -> bool:
    """Return True if a tool records facts about the PodCliqueSet in this annotation.

    The operator also copies such annotations to PodGangs, but packwise does not. Otherwise, a client would use the
    file, the sync wave or the applied state of the PodCliqueSet for the PodGang.
    """
    return annotation.startswith(_BOOKKEEPING) or is_client_key(annotation)


class GangPlan(Record):
    """The plan of one PodGang: its name and its members."""

    name: str
    replica: int
    """The replica of the PodCliqueSet."""
    is_base: bool
    """False if the gang has only one replica of one scaling group."""
    cliques: Mapping[str, int | None]
    """The standalone cliques in the gang, by name. The value is the number of their pods that the gang has, or None if
    it has all pods and needs minAvailable of them.
    """
    groups: tuple[tuple[int, tuple[int, ...]], ...]
    """The scaling groups in the gang: the position of each, and the indices of its replicas."""
    labels: Mapping[str, str] = {}
    origin: Origin | None = None
    """The source of the name and of `labels`, or None if they come from the workload."""


def plans_of_template(pcs: PodCliqueSet, live_replicas: Mapping[tuple[str, str], int]) -> Iterator[GangPlan]:
    """Yield first the base PodGangs by replica, then the scaled PodGangs by replica, group and replica of the group."""
    cliques = _standalone_minimums(pcs)
    least = tuple((position, tuple(range(group.min_available))) for position, group in enumerate(pcs.groups))
    for replica in range(pcs.replicas):
        yield GangPlan(base_podgang(pcs.name, replica), replica, True, cliques, least)
    for replica in range(pcs.replicas):
        for position, group in enumerate(pcs.groups):
            fqn = scaling_group(pcs.name, replica, group.name)
            count = live_replicas.get((pcs.namespace, fqn), group.replicas)
            for index in range(group.min_available, count):
                name = scaled_podgang(fqn, index, group.min_available)
                yield GangPlan(name, replica, False, {}, ((position, (index,)),))


def plans_of_entries(pcs: PodCliqueSet, replica: int, entries: Sequence[MapEntry]) -> Iterator[GangPlan]:
    """Yield the PodGangs of one replica, in the order of its entries. The entries must be sorted by epoch."""
    # The import is lazy, because only some releases have entries.
    from packwise.frontends.grove.epoch_sources import EntryRole

    first = {entry.generation: entry.epoch for entry in reversed(entries) if entry.role is EntryRole.ANCHOR}
    for entry in entries:
        labels = _labels(replica, entry)
        groups = tuple(_groups(pcs, entry))
        if entry.role is EntryRole.ANCHOR:
            is_first = first[entry.generation] == entry.epoch
            cliques = {
                name: None if is_first else entry.cliques[name]
                for name in _standalone_minimums(pcs)
                if entry.cliques.get(name, 0) > 0
            }
            name = anchor_podgang(pcs.name, replica, entry.epoch)
            yield GangPlan(
                name=name,
                replica=replica,
                is_base=True,
                cliques=cliques,
                groups=groups,
                labels=labels,
                origin=entry.origin,
            )
            continue
        for position, indices in groups:
            for index in indices:
                name = group_podgang(pcs.name, replica, entry.epoch, pcs.groups[position].name, index)
                yield GangPlan(
                    name=name,
                    replica=replica,
                    is_base=False,
                    cliques={},
                    groups=((position, (index,)),),
                    labels=labels,
                    origin=entry.origin,
                )


def _standalone_minimums(pcs: PodCliqueSet) -> Mapping[str, int | None]:
    grouped = pcs.grouped_cliques()
    return {clique.name: None for clique in pcs.cliques if clique.name not in grouped}


def _groups(pcs: PodCliqueSet, entry: MapEntry) -> Iterable[tuple[int, tuple[int, ...]]]:
    for position, group in enumerate(pcs.groups):
        if group.name in entry.groups:
            yield position, entry.groups[group.name]


def _labels(replica: int, entry: MapEntry) -> Mapping[str, str]:
    labels = {REPLICA: str(replica), EPOCH: entry.epoch, ROLE: entry.role.value}
    return {**labels, GENERATION: entry.generation} if entry.generation else labels


LENGTH = Rule(
    "podgang-name-length",
    "The name of a PodGang with its epoch is too long for a label.",
    "spec/grove-releases.md#length",
    Severity.WARNING,
)
NAME_RULES = (LENGTH,)
"""Rules about the names of PodGangs."""

_MAX_NAME_LENGTH = 63
_GROUPS = (*TEMPLATE, "podCliqueScalingGroups")


def long_names(workload: KubeObject, plans: Iterable[GangPlan]) -> Iterator[Finding]:
    """Yield a finding for the workload, and for each scaling group, if the name of a PodGang is too long.

    The finding shows the longest name.
    """
    longest: dict[FieldPath, str] = {}
    for plan in plans:
        place = ("metadata", "name") if plan.is_base else (*_GROUPS, plan.groups[0][0], "name")
        if len(plan.name) > max(_MAX_NAME_LENGTH, len(longest.get(place, ""))):
            longest[place] = plan.name
    for place, name in longest.items():
        message = (
            f'the name of PodGang "{name}" has {len(name)} characters. The label grove.io/podgang allows '
            f"{_MAX_NAME_LENGTH}, and the operator cannot create the pods. Shorten the name by "
            f"{len(name) - _MAX_NAME_LENGTH}"
        )
        yield Finding.of(LENGTH, workload, place, message, when_written=Severity.ERROR)
