"""The topologies that workloads can name: the operator's own, made from the configuration, and the users'.

Source: spec/designs.md#1, #7.7 and #7.9, spec/grove.md#9.
"""

from __future__ import annotations

from functools import partial

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.findings.finding import Finding, Rule, Severity, Stage, has_errors
from packwise.objects.index import repeated
from packwise.objects.kinds import CLUSTER_TOPOLOGY, CLUSTER_TOPOLOGY_BINDING
from packwise.objects.place import Generated, Origin, Place
from packwise.topology.clustertopology import (
    SHAPE,
    check_order,
    clustertopology_problems,
    clustertopology_value,
)  # fmt: skip
from packwise.topology.levellist import read_levels
from packwise.validate.judge import judge

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from packwise.objects.index import Inventory
    from packwise.revisions import Revision
    from packwise.topology.levels import ClusterTopology
    from packwise.validate.definitions import Definitions

__all__ = ["RULES", "ConfiguredTopology", "KnownTopologies", "KnownTopology", "known_topologies", "with_finalizer"]

RESERVED = Rule(
    "clustertopology-reserved", "The operator's own ClusterTopology is made by nobody else.", "spec/designs.md#7.7"
)
UNUSED = Rule(
    "clustertopology-unused",
    "A ClusterTopology that this revision does not look at.",
    "spec/designs.md#1",
    Severity.WARNING,
)
RULES = (RESERVED, UNUSED)
"""Rules of which ClusterTopologies there may be."""

_TOPOLOGY_KINDS = (CLUSTER_TOPOLOGY, CLUSTER_TOPOLOGY_BINDING)


class KnownTopology(NamedTuple):
    """A topology and where it is written: `levels` is the list, `places` the place of each of its levels.

    `places` are in the topology's order, which need not be the order of the list. `item` is the object that holds the
    list. An invalid topology still counts as existing, so that workloads which name it get no error about that.
    `references` are the topologies that others keep for it, by scheduler.
    """

    topology: ClusterTopology
    places: tuple[Place, ...]
    levels: Place
    item: KubeObject
    valid: bool = True
    references: Mapping[str, str] = {}

    @classmethod
    def of_item(cls, item: KubeObject, *, valid: bool, references: Mapping[str, str] = {}) -> KnownTopology:
        """The topology that `item` states in `spec.levels`."""
        topology, levels = read_levels(item), Place(item, ("spec", "levels"))
        places = tuple(levels.below(position) for position in range(len(topology.levels)))
        return cls(topology, places, levels, item, valid, references)


class KnownTopologies(NamedTuple):
    """All topologies by name, in order of name; the ClusterTopologies to generate; what is wrong with them.

    `written` are the objects of those that users wrote, by name.
    """

    by_name: Mapping[str, KnownTopology]
    generated: tuple[Generated, ...]
    findings: tuple[Finding, ...]
    written: Mapping[str, KubeObject]


class ConfiguredTopology(NamedTuple):
    """The operator's own topology, made from its configuration: None while TAS is disabled.

    `exists`: whether there is a configuration. `finalizers` are those that ClusterTopologies get.
    """

    topology: KnownTopology | None
    exists: bool
    finalizers: tuple[str, ...] = ()


def known_topologies(
    inventory: Inventory,
    definitions: Definitions,
    revision: Revision,
    configured: ConfiguredTopology,
    schedulers: tuple[str, ...] = (),
) -> KnownTopologies:
    """The topologies that workloads can name. `schedulers` are the names of those that Grove is configured for."""
    unused = tuple(_other_kinds(inventory, revision))
    if revision.default_topology is not None:
        known = _ClusterTopologies(inventory, definitions, revision, configured).known(revision.default_topology)
    else:
        from packwise.topology.bindings import known_bindings

        known = known_bindings(inventory, definitions, revision, schedulers)
    return known._replace(findings=(*known.findings, *unused))


def with_finalizer(item: KubeObject, finalizers: tuple[str, ...]) -> KubeObject:
    """A user's ClusterTopology with `finalizers`; itself where it has them."""
    path = ("metadata", "finalizers")
    for finalizer in finalizers:
        entries = item.get(path)
        before = entries if isinstance(entries, list) else []
        if not before:
            item = item.set(path, [finalizer])
        elif finalizer not in before:
            item = item.set((*path, len(before)), finalizer)
    return item


def _other_kinds(inventory: Inventory, revision: Revision) -> Iterator[Finding]:
    """A warning for each topology of a kind that this revision does not look at."""
    for kind in _TOPOLOGY_KINDS:
        if kind.name != revision.topology_kind:
            for item in inventory.items.of_kind(*kind.key):
                yield _unused(item, f'revision "{revision.name}" has no such objects')


class _ClusterTopologies:
    """The ClusterTopologies of one render, judged as the revision judges them."""

    __slots__ = ("_configured", "_definitions", "_inventory", "_revision")

    def __init__(
        self, inventory: Inventory, definitions: Definitions, revision: Revision, configured: ConfiguredTopology
    ) -> None:
        self._inventory, self._definitions = inventory, definitions
        self._revision, self._configured = revision, configured

    def known(self, reserved: str) -> KnownTopologies:
        """All of them; `reserved` is the name of the operator's own."""
        topologies: list[KnownTopology] = []
        written: dict[str, KubeObject] = {}
        default, revision = self._configured.topology, self._revision
        users = self._inventory.items.of_kind(*CLUSTER_TOPOLOGY.key)
        findings = repeated(users)
        for item in users:
            refusals = self._reserved(item) if item.name == reserved else _users_own(revision, item)
            problems = [] if refusals and revision.user_topologies == "Refused" else self._problems(item)
            findings += problems + refusals
            if item.name == reserved and not refusals:
                written[item.name] = item
            if refusals or (item.name == reserved and default is not None) or revision.user_topologies != "Used":
                continue
            topology = KnownTopology.of_item(item, valid=not has_errors(problems))
            findings += check_order(item, topology.topology)
            topologies.append(topology)
            written[item.name] = item
        generated: list[Generated] = []
        if default is not None:
            topologies.append(default)
            if (*CLUSTER_TOPOLOGY.key, "", reserved) not in self._inventory.items.users:
                generated.append(self._generated(default))
        topologies.sort(key=lambda known: known.topology.name)
        by_name = {known.topology.name: known for known in topologies}
        return KnownTopologies(by_name, tuple(generated), tuple(findings), written)

    def _generated(self, default: KnownTopology) -> Generated:
        value = clustertopology_value(default.topology, self._revision.topology_labels, self._configured.finalizers)
        return Generated(value, "the topology configuration", default.item, partial(_origins, default))

    def _problems(self, item: KubeObject) -> list[Finding]:
        """What the API server refuses in a ClusterTopology: by the cluster's own CRD, where that is at hand."""
        verdict = judge(
            item.value,
            self._definitions.of_kind(*CLUSTER_TOPOLOGY.key),
            lambda: clustertopology_problems(item, self._revision.limits),
            before=self._inventory.before(item.value),
        )
        return list(verdict.findings(item, SHAPE))

    def _reserved(self, item: KubeObject) -> list[Finding]:
        """What is wrong with a user's object of the reserved name; nothing when it is what packwise would write."""
        name, revision, default = item.name, self._revision, self._configured.topology
        labelled = all(item.labels.get(key) == value for key, value in revision.topology_labels)
        if default is not None and labelled and item.get("spec") == clustertopology_value(default.topology)["spec"]:
            return []
        if not labelled:
            message = f'must not be "{name}": the operator makes that one from its configuration; choose another name'
            return [Finding.of(RESERVED, item, ("metadata", "name"), message)]
        if default is None:
            if revision.user_topologies == "Refused":
                return [_created(revision, item)]
            if revision.chooses_topology and not self._configured.exists:
                return []
            return [_unused(item, "topology-aware scheduling is disabled, and the operator removes it")]
        message = (
            f'must be what the configuration ({default.levels.description}) makes of "{name}"; change the levels '
            "there, and leave this object out"
        )
        text = "ClusterTopology can only be modified by the operator" if not revision.chooses_topology else None
        stage = Stage.WEBHOOK if text else None
        return [Finding.of(RESERVED, item, ("spec", "levels"), message, operator_message=text, stage=stage)]


def _origins(known: KnownTopology) -> Mapping[FieldPath, Origin]:
    """The origin of each part of the ClusterTopology that the operator makes."""
    rule = "spec/grove.md#9"
    origins: dict[FieldPath, Origin] = {
        (): Origin(known.levels, rule),
        ("spec", "levels"): Origin(known.levels, rule),
    }
    for position, place in enumerate(known.places):
        origins["spec", "levels", position] = Origin(place, rule)
        origins["spec", "levels", position, "domain"] = Origin(place.below("domain"), rule)
        origins["spec", "levels", position, "key"] = Origin(place.below("key"), rule)
    return origins


def _users_own(revision: Revision, item: KubeObject) -> list[Finding]:
    """What there is to say of a ClusterTopology that is not the operator's."""
    if revision.user_topologies == "Refused":
        return [_created(revision, item)]
    if revision.user_topologies == "Unused":
        return [_unused(item, f'revision "{revision.name}" knows only "{revision.default_topology}"')]
    return []


def _created(revision: Revision, item: KubeObject) -> Finding:
    message = (
        f'must not be created by others than the operator, which makes "{revision.default_topology}" from its '
        f'configuration and refuses "{item.name}"; leave it out'
    )
    text = "ClusterTopology can only be created by the operator"
    return Finding.of(RESERVED, item, ("metadata", "name"), message, operator_message=text, stage=Stage.WEBHOOK)


def _unused(item: KubeObject, why: str) -> Finding:
    return Finding.of(UNUSED, item, ("metadata", "name"), f'"{item.name}" is not used: {why}')
