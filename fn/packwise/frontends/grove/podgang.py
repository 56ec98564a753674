"""The PodGangs of a PodCliqueSet, as the operator builds them before any pod exists. Source: operator.md 7."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from krmfn.clientmeta import is_client_key
from packwise.frontends.grove import names
from packwise.frontends.grove.resolution import resolve_topology

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krmfn.value import Value
    from packwise.frontends.grove.podcliqueset import Clique, PodCliqueSet, ScalingGroup, TopologyConstraint
    from packwise.revisions import Revision
    from packwise.topology import ClusterTopology

__all__ = [
    "API_VERSION",
    "GROUP",
    "KIND",
    "SCHEDULER_NAME",
    "TOPOLOGY_NAME",
    "GroupConfig",
    "PackConstraint",
    "PodGang",
    "PodGroup",
    "count_podgangs",
    "podgangs",
]

GROUP = "scheduler.grove.io"
API_VERSION = f"{GROUP}/v1alpha1"
KIND = "PodGang"
TOPOLOGY_NAME = "grove.io/topology-name"
"""Annotation that tells KAI which Topology the label keys belong to."""

SCHEDULER_NAME = "grove.io/scheduler-name"
"""Label that tells Grove whose PodGang it is."""

_OWN = "grove.io/"
_BOOKKEEPING = (
    "packwise.dev/",
    "argocd.argoproj.io/",
    "kustomize.toolkit.fluxcd.io/",
    "kubectl.kubernetes.io/last-applied-configuration",
)


class PackConstraint(NamedTuple):
    """The node label keys that pods must be, and should be, packed by; at least one of the two is there."""

    required: str | None = None
    preferred: str | None = None

    def to_value(self) -> Mapping[str, Value]:
        """A PodGang's `topologyConstraint`."""
        keys: dict[str, Value] = {}
        if self.required is not None:
            keys["required"] = self.required
        if self.preferred is not None:
            keys["preferred"] = self.preferred
        return {"packConstraint": keys}


class PodGroup(NamedTuple):
    """The pods of one PodClique; `pack` is None where no constraint of theirs has a level."""

    name: str
    min_replicas: int
    pack: PackConstraint | None = None

    def to_value(self) -> Mapping[str, Value]:
        """The entry of `spec.podgroups`."""
        value: dict[str, Value] = {"name": self.name, "podReferences": [], "minReplicas": self.min_replicas}
        if self.pack is not None:
            value["topologyConstraint"] = self.pack.to_value()
        return value


class GroupConfig(NamedTuple):
    """PodGroups that are packed together: one replica of a scaling group that names a constraint."""

    name: str
    pod_group_names: tuple[str, ...]
    pack: PackConstraint | None = None

    def to_value(self) -> Mapping[str, Value]:
        """The entry of `spec.topologyConstraintGroupConfigs`; it stays when its level is gone."""
        value: dict[str, Value] = {"name": self.name, "podGroupNames": list(self.pod_group_names)}
        if self.pack is not None:
            value["topologyConstraint"] = self.pack.to_value()
        return value


class PodGang(NamedTuple):
    """One PodGang. `replica` is the PodCliqueSet's; `group` and `group_replica` are set on scaled PodGangs only."""

    name: str
    namespace: str
    workload: str
    pod_groups: tuple[PodGroup, ...]
    group_configs: tuple[GroupConfig, ...] = ()
    pack: PackConstraint | None = None
    priority_class: str = ""
    topology_name: str | None = None
    replica: int = 0
    group: str | None = None
    group_replica: int | None = None
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}

    def to_value(self) -> Mapping[str, Value]:
        """The manifest, without owner reference (a render knows no uid) and status."""
        metadata: dict[str, Value] = {"name": self.name, "namespace": self.namespace, "labels": self.labels}
        if self.topology_name is not None:
            metadata["annotations"] = {**self.annotations, TOPOLOGY_NAME: self.topology_name}
        elif self.annotations:
            metadata["annotations"] = self.annotations
        spec: dict[str, Value] = {"podgroups": [group.to_value() for group in self.pod_groups]}
        if self.pack is not None:
            spec["topologyConstraint"] = self.pack.to_value()
        if self.group_configs:
            spec["topologyConstraintGroupConfigs"] = [config.to_value() for config in self.group_configs]
        if self.priority_class:
            spec["priorityClassName"] = self.priority_class
        return {"apiVersion": API_VERSION, "kind": KIND, "metadata": metadata, "spec": spec}


def podgangs(
    pcs: PodCliqueSet,
    topology: ClusterTopology | None,
    *,
    enabled: bool,
    live_replicas: Mapping[tuple[str, str], int],
    revision: Revision,
    default_scheduler: str = "",
) -> tuple[PodGang, ...]:
    """Base PodGangs by replica, then scaled ones by replica, group and group replica: the operator's order.

    `topology` is the one the workload resolves to (None: its constraints are dropped); `enabled` is whether TAS is.
    While it is not, group configs without a constraint stand for what `preferred.keep_preferred` fills in.
    `live_replicas` maps (namespace, PodCliqueScalingGroup name) to the replicas an autoscaler has set;
    `default_scheduler` is that of pods which name none, where the revision tells it.
    The result can be large: `count_podgangs` tells how large, cheaply.
    """
    plan = _Plan(pcs, topology if enabled else None, enabled, live_replicas, revision)
    if revision.mirrors_metadata:
        plan.mirror_metadata(default_scheduler)
    base = [plan.base(replica) for replica in range(pcs.replicas)]
    return (*base, *plan.scaled())


def count_podgangs(pcs: PodCliqueSet, live_replicas: Mapping[tuple[str, str], int]) -> int:
    """How many entries (PodGangs and the PodGroups in them) `podgangs` would build; counts without building."""
    grouped = pcs.grouped_cliques()
    standalone = sum(clique.name not in grouped for clique in pcs.cliques)
    fixed = sum((1 + len(group.clique_names)) * max(group.replicas, group.min_available) for group in pcs.groups)
    live = sum(max(count, 0) for count in live_replicas.values())
    largest = max((1 + len(group.clique_names) for group in pcs.groups), default=0)
    return max(pcs.replicas, 0) * (1 + standalone + fixed) + live * largest


class _Plan:
    """What all PodGangs of one PodCliqueSet have in common, worked out once."""

    __slots__ = (
        "_annotate_always", "_annotations", "_by_name", "_group_configs", "_group_packs", "_labels", "_live", "_name",
        "_pack", "_pcs", "_standalone",
    )  # fmt: skip

    def __init__(
        self,
        pcs: PodCliqueSet,
        topology: ClusterTopology | None,
        enabled: bool,
        live_replicas: Mapping[tuple[str, str], int],
        revision: Revision,
    ) -> None:
        strictest = topology.strictest_key if topology and revision.always_preferred else None

        def pack(constraint: TopologyConstraint | None) -> PackConstraint | None:
            required, preferred = None, strictest
            if constraint is not None and topology is not None:
                # Each is looked up by itself: one may be there without the other.
                required = topology.key_of(constraint.required)
                preferred = strictest or topology.key_of(constraint.preferred)
            return None if required is None and preferred is None else PackConstraint(required, preferred)

        grouped = pcs.grouped_cliques()
        # Of two cliques of one name the operator's lookup finds the first.
        self._by_name = {clique.name: (clique, pack(clique.topology)) for clique in reversed(pcs.cliques)}
        self._standalone = [(c, pack(c.topology)) for c in pcs.cliques if c.name not in grouped]
        self._group_packs = [pack(group.topology) for group in pcs.groups]
        self._pack = pack(pcs.topology)
        self._pcs, self._live = pcs, live_replicas
        self._group_configs = enabled or revision.keeps_preferred
        name = topology.name if topology else resolve_topology(pcs, revision)
        self._name = name if revision.annotate_topology else None
        self._annotate_always = enabled and revision.annotate_unconstrained
        self._labels = {
            "app.kubernetes.io/component": "podgang",
            "app.kubernetes.io/managed-by": "grove-operator",
            "app.kubernetes.io/part-of": pcs.name,
        }
        self._annotations: Mapping[str, str] = {}

    def mirror_metadata(self, default_scheduler: str) -> None:
        """Gives the PodGangs the workload's labels and annotations, and the name of its scheduler."""
        pcs = self._pcs
        scheduler = next((clique.scheduler for clique in pcs.cliques if clique.scheduler), default_scheduler)
        labels = {**_mirrored(pcs.labels), **self._labels, SCHEDULER_NAME: scheduler}
        self._labels = {key: labels[key] for key in sorted(labels)}
        self._annotations = _mirrored({key: text for key, text in pcs.annotations.items() if not _is_bookkeeping(key)})

    def base(self, replica: int) -> PodGang:
        """The base PodGang of one replica."""
        pcs = self._pcs
        groups = [
            PodGroup(names.standalone_clique(pcs.name, replica, clique.name), clique.min_available, pack)
            for clique, pack in self._standalone
        ]
        configs: list[GroupConfig] = []
        for group, pack in zip(pcs.groups, self._group_packs, strict=True):
            fqn = names.scaling_group(pcs.name, replica, group.name)
            for index in range(group.min_available):
                members = self._members(fqn, index, group)
                groups += members
                if group.topology and self._group_configs:
                    configs.append(GroupConfig(f"{fqn}-{index}", tuple([m.name for m in members]), pack))
        name = names.base_podgang(pcs.name, replica)
        return self._gang(name, groups, self._pack, tuple(configs), (replica, None, None))

    def scaled(self) -> Iterator[PodGang]:
        """The scaled PodGangs of all replicas."""
        pcs = self._pcs
        for replica in range(pcs.replicas):
            for group, own in zip(pcs.groups, self._group_packs, strict=True):
                fqn = names.scaling_group(pcs.name, replica, group.name)
                # A group whose own level is gone does not fall back to the set's constraint; one that names none does.
                pack = own if group.topology and (group.topology.required or group.topology.preferred) else self._pack
                count = self._live.get((pcs.namespace, fqn), group.replicas)
                for index in range(group.min_available, count):
                    name = names.scaled_podgang(fqn, index, group.min_available)
                    members = self._members(fqn, index, group)
                    yield self._gang(name, members, pack, (), (replica, group.name, index))

    def _members(self, fqn: str, index: int, group: ScalingGroup) -> list[PodGroup]:
        found: list[tuple[Clique, PackConstraint | None]] = [
            self._by_name[name] for name in group.clique_names if name in self._by_name
        ]
        return [PodGroup(names.grouped_clique(fqn, index, c.name), c.min_available, pack) for c, pack in found]

    def _gang(
        self,
        name: str,
        pod_groups: list[PodGroup],
        pack: PackConstraint | None,
        configs: tuple[GroupConfig, ...],
        at: tuple[int, str | None, int | None],
    ) -> PodGang:
        packed = self._annotate_always or pack or any(part.pack for part in (*pod_groups, *configs))
        return PodGang(
            name=name,
            namespace=self._pcs.namespace,
            workload=self._pcs.name,
            pod_groups=tuple(pod_groups),
            group_configs=configs,
            pack=pack,
            priority_class=self._pcs.priority_class,
            topology_name=self._name if packed else None,
            replica=at[0],
            group=at[1],
            group_replica=at[2],
            labels=self._labels,
            annotations=self._annotations,
        )


def _mirrored(entries: Mapping[str, str]) -> Mapping[str, str]:
    """The labels or annotations of a PodCliqueSet that its PodGangs have too: all but Grove's own."""
    return {key: text for key, text in entries.items() if not key.startswith(_OWN)}


def _is_bookkeeping(annotation: str) -> bool:
    """Whether a tool keeps its books in it: about the PodCliqueSet, and on a PodGang it would be believed.

    The operator copies these too; here they would make a client take the PodGang for the file, the sync wave or the
    applied state of its workload.
    """
    return annotation.startswith(_BOOKKEEPING) or is_client_key(annotation)
