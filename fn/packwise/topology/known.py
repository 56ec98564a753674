"""The topologies that workloads can name. The operator makes one from its configuration, and users write others.

Source: spec/designs.md#1, #7.7 and #7.9, spec/grove.md#9.
"""

from __future__ import annotations

import re
from functools import partial
from itertools import pairwise

from krmfn.fieldpath import format_path
from krmfn.hints import TYPE_CHECKING, Record
from krmfn.result import Severity
from packwise.findings import Effect, Finding, Origin, Place, Problem, Rule, Stage, has_errors
from packwise.kubernetes import (
    JSON_NOUNS,
    ErrorType,
    OperatorError,
    dns_subdomain,
    field_error,
    go_quote,
    is_prefixed_name,
    refusal,
    type_error,
)
from packwise.lenient import entries, value_at
from packwise.objects.index import Generated, identity, is_generated, repetitions
from packwise.objects.kinds import CLUSTER_TOPOLOGY, CLUSTER_TOPOLOGY_BINDING, TOPOLOGY
from packwise.validate.crds import validate_object
from packwise.wording import did_you_mean, list_known

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.objects.index import Index, Inventory
    from packwise.revisions.grove import ConditionCase, Limits, Revision
    from packwise.validate.crds import Definitions


# A level is a domain, and the key of the node label that tells its members apart. A ClusterTopology is an ordered list
# of levels.

DOMAINS: tuple[str, ...] = ("region", "zone", "datacenter", "block", "rack", "host", "numa")
"""The seven domains that a ClusterTopology can have, broadest first. Source: spec/grove.md#4.3, #r45."""

_RANK = {domain: rank for rank, domain in enumerate(DOMAINS)}


class Level(Record):
    """One level: its domain, and the key of the node label."""

    domain: str
    key: str


class ClusterTopology(Record):
    """A named topology. The levels are listed from the broadest to the narrowest."""

    name: str
    levels: tuple[Level, ...]

    def level_of(self, domain: str) -> Level | None:
        """Return the level of `domain`. Return None if this topology has no such level."""
        for level in self.levels:
            if level.domain == domain:
                return level
        return None

    @property
    def narrowest_level(self) -> Level | None:
        """Return the narrowest level. Return None if there are no levels."""
        return self.levels[-1] if self.levels else None

    @property
    def domains(self) -> tuple[str, ...]:
        """Return the domains of the levels, broadest first."""
        return tuple(level.domain for level in self.levels)


def rank(domain: str) -> int:
    """Return the rank of `domain` among the seven domains. The broadest has rank 0.

    An unknown domain has rank 0 too, as in the operator.
    """
    return _RANK.get(domain, 0)


def is_narrower(domain: str, other: str) -> bool:
    """Return True if `domain` is narrower than `other` in the order of the seven domains. Source: spec/grove.md#r45."""
    return rank(domain) > rank(other)


def sort_levels(levels: Iterable[Level]) -> tuple[Level, ...]:
    """Return `levels` in the order of the seven domains, broadest first. Levels of equal rank keep their order."""
    return tuple(sorted(levels, key=lambda level: rank(level.domain)))


# The functions below read and check `spec.levels` as the API server does. Source: spec/grove.md#3; crds/alpha7,
# crds/head.


def levels_of(value: Mapping[str, Value]) -> Sequence[Value]:
    """Return the entries of `spec.levels`. An entry may have any type. If `spec.levels` is not a list, return none."""
    spec = value.get("spec")
    return entries(value_at(spec, "levels"))


def read_levels(item: KubeObject) -> ClusterTopology:
    """Return the topology in `item`, with its levels in their order. Malformed levels are skipped."""
    levels = [
        Level(domain, key)
        for entry in levels_of(item.value)
        if isinstance(entry, dict)
        and isinstance(domain := entry.get("domain"), str)
        and isinstance(key := entry.get("key"), str)
    ]
    return ClusterTopology(item.name, tuple(levels))


LABEL_PATTERN = (
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
)
"""The pattern that Topologies of schedulers require for a node label and for an alias."""


def is_label(text: str) -> bool:
    """Return True if `text` matches LABEL_PATTERN."""
    return is_prefixed_name(text, dns_prefix=True)


def node_labels(value: Mapping[str, Value]) -> list[str]:
    """Return the node labels in a scheduler's Topology, broadest first. Values that are not strings are skipped."""
    labels = [level.get("nodeLabel") for level in levels_of(value) if isinstance(level, dict)]
    return [label for label in labels if isinstance(label, str)]


def level_origins(levels: Place, places: Sequence[Place], field: str, rule: str) -> Mapping[FieldPath, Origin]:
    """Return the origin of each part of a scheduler's Topology, which is made from the list at `levels` by `rule`.

    `places` are the places of the levels in that list. `field` is the field of a level with its node label.
    """
    origins: dict[FieldPath, Origin] = {(): Origin(levels, rule)}
    for position, place in enumerate(places):
        origins["spec", "levels", position] = Origin(place, rule)
        origins["spec", "levels", position, "nodeLabel"] = Origin(place.child(field), rule)
    return origins


def name_problems(name: str) -> Iterator[Problem]:
    """Yield the problems for which the API server refuses the name of a topology object."""
    for text in dns_subdomain(name):
        error = OperatorError("metadata.name", ErrorType.INVALID, name, text)
        yield refusal(("metadata", "name"), f'must be a DNS subdomain; got "{name}": {text}', error, Stage.SCHEMA)


def level_problems(
    spec: Value, domain_problem: Callable[[FieldPath, str], Problem | None], limits: Limits
) -> Iterator[Problem]:
    """Yield the problems for which the API server refuses the levels of `spec`.

    There must be at least one level, and each needs a domain and a key. Domains differ between kinds, so
    `domain_problem` checks the domain at a path. It returns a problem or None.
    """
    path: FieldPath = ("spec", "levels")
    levels = value_at(spec, "levels")
    if not isinstance(spec, dict):
        yield wrong_type(("spec",), spec, "object")
    elif not isinstance(levels, list):
        yield wrong_type(path, levels, "array")
    else:
        if not levels:
            text = "spec.levels in body should have at least 1 items"
            error = OperatorError("spec.levels", ErrorType.INVALID, 0, text)
            yield refusal(path, "must have at least one level; got none", error, Stage.SCHEMA)
        for index, level in enumerate(levels):
            yield from _level_problems((*path, index), level, domain_problem, limits)


def _level_problems(
    path: FieldPath, level: Value, domain_problem: Callable[[FieldPath, str], Problem | None], limits: Limits
) -> Iterator[Problem]:
    if not isinstance(level, dict):
        yield wrong_type(path, level, "object")
        return
    yield from unknown_fields(level, ("domain", "key"), path, "a level")
    for name, problem_of in (("domain", domain_problem), ("key", limits.key_problem)):
        value = level.get(name)
        if not isinstance(value, str):
            yield wrong_type((*path, name), value, "string")
        elif (problem := problem_of((*path, name), value)) is not None:
            yield problem


def unknown_fields(value: Mapping[str, Value], known: Sequence[str], path: FieldPath, noun: str) -> Iterator[Problem]:
    """Yield a problem for each field of `value` that is not in `known`. In messages, `noun` names the mapping."""
    for name in value:
        if name not in known:
            message = f'unknown field "{name}" of {noun}; known: {list_known(known)}{did_you_mean(name, known)}'
            yield Problem((*path, name), message, effect=Effect.UNKNOWN)


def wrong_type(path: FieldPath, value: Value, kind: str) -> Problem:
    """Return the problem of a `value` that is absent, or does not have the type that the API server calls `kind`."""
    field = format_path(path)
    if value is None:
        error = OperatorError(field, ErrorType.REQUIRED)
        return refusal(path, f"must be {JSON_NOUNS[kind]}; it is not set", error, Stage.SCHEMA)
    return refusal(path, *type_error(field, value, kind), Stage.SCHEMA)


# Topograph 1.0 renamed its node labels. It writes `fabric.topograph.run/tier-N`, with tier 0 next to the node, and
# `accelerator.topograph.run/domain`. A level with an old label silently matches no node. Source: topograph's changelog,
# 1.0.0; its reference of node labels.

RENAMED = Rule(
    "label-renamed", "A level uses a node label that Topograph has renamed.", "spec/kubernetes.md#4.1", Severity.WARNING
)
RENAMED_RULES = (RENAMED,)
"""Rules of node labels."""

_OLD = "network.topology.nvidia.com/"
_FABRIC = "fabric.topograph.run/tier-"
_NEW = {
    "accelerator": "accelerator.topograph.run/domain",
    "leaf": f"{_FABRIC}0",
    "block": f"{_FABRIC}0",
    "spine": f"{_FABRIC}1",
    "core": f"{_FABRIC}2",
    "datacenter": f"{_FABRIC}2",
}
"""The new name of each old label, without its prefix. `block` and `datacenter` are older words for leaf and core."""

_TIER = r"tier-(\d+)"

_SECTIONS = ("topologyAwareScheduling", "clusterTopology", "topology")
_LEVELS: dict[tuple[str, str], tuple[tuple[FieldPath, str], ...]] = {
    ("packwise.dev", "TopologyRender"): tuple((("spec", section, "levels"), "key") for section in _SECTIONS),
    ("operator.config.grove.io", "OperatorConfiguration"): tuple(((section, "levels"), "key") for section in _SECTIONS),
    CLUSTER_TOPOLOGY.key: ((("spec", "levels"), "key"),),
    CLUSTER_TOPOLOGY_BINDING.key: ((("spec", "levels"), "key"),),
    TOPOLOGY.key: ((("spec", "levels"), "nodeLabel"),),
}
"""For each kind, the paths of its levels, each with the field of a level that has the key of the node label."""


def new_label(key: str) -> str | None:
    """Return the new name of topograph's label `key`. Return None if it was not renamed."""
    if not key.startswith(_OLD):
        return None
    word = key.removeprefix(_OLD)
    tier = re.fullmatch(_TIER, word)
    return f"{_FABRIC}{tier[1]}" if tier is not None else _NEW.get(word)


def check_labels(index: Index, settings: KubeObject | None) -> Iterator[Finding]:
    """Yield a warning for each level with a renamed label, in the users' objects and in packwise's settings."""
    listed = [item for key in _LEVELS for item in index.of_kind(*key)]
    # kpt passes the function's configuration also as one of the items.
    is_listed = settings is None or any(identity(item.value) == identity(settings.value) for item in listed)
    for item in listed if settings is None or is_listed else (settings, *listed):
        for path, old, new in _renamed_labels(item):
            message = (
                f'topograph 1.0 renamed the label "{old}" to "{new}". A level with the old name does not '
                "contain nodes that have only the new label. Check the labels of your nodes, and use the new name"
            )
            yield Finding.of(RENAMED, item, path, message, proposed=new)


def with_new_labels(item: KubeObject) -> KubeObject:
    """Return `item` with each renamed label replaced by its new name.

    A label is kept if another level of the list already has the new name. A generated object is returned unchanged.
    Raise FieldError if an anchor or alias prevents the change.
    """
    for path, _, new in () if is_generated(item.value) else list(_renamed_labels(item)):
        levels = item.get(path[:-2])
        others = range(len(levels) if isinstance(levels, list) else 0)
        if all(item.get((*path[:-2], place, path[-1])) != new for place in others):
            item = item.set(path, new)
    return item


def _renamed_labels(item: KubeObject) -> Iterator[tuple[FieldPath, str, str]]:
    """Yield each renamed label in the levels of `item`: its path, the old name and the new name."""
    for path, field in _places(identity(item.value)[:2]):
        levels = item.get(path)
        for place, level in enumerate(entries(levels)):
            key = value_at(level, field)
            new = new_label(key) if isinstance(key, str) else None
            if isinstance(key, str) and new is not None:
                yield (*path, place, field), key, new


def _places(kind: tuple[str, ...]) -> Iterable[tuple[FieldPath, str]]:
    return next((places for key, places in _LEVELS.items() if key == kind), ())


class Use(Record):
    """A workload, and the topology that places it."""

    topology: str | None
    """The name of the topology. None if no topology places the workload, or if there are `alternatives`."""
    workload: KubeObject
    scheduled_pods: int | None = None
    """The number of the workload's scheduled pods, or None if unknown."""
    is_explicit: bool = True
    """True if the workload names the topology itself, and false if the topology applies by default."""
    document: tuple[str, str, str] | None = None
    """Kind, namespace and name of a workload that is not a Kubernetes object, otherwise None."""
    queue: str = ""
    """The queue whose flavors provide the topology, or ""."""
    alternatives: tuple[str, ...] = ()
    """The topologies that may place the workload if the input does not decide."""


class ListedTopology(Record):
    """A topology that workloads can use: its kind, and its levels, broadest first.

    If the topology is `generated`, `item` is the configuration from which it is made. Otherwise, it is the topology.
    """

    kind: str
    name: str
    levels: tuple[Level, ...]
    item: KubeObject
    generated: bool = False

    @classmethod
    def of_scheduler(cls, kind: str, item: KubeObject) -> ListedTopology:
        """Return the Topology of a scheduler in `item`. Its levels have node labels, and "" as domain."""
        return cls(kind, item.name, tuple(Level("", label) for label in node_labels(item.value)), item)


# The status of a ClusterTopology shows whether the scheduler's API server accepted the Topology. Source:
# spec/designs.md#5, ClusterTopology `Ready`.

_TYPE = "Ready"


class Condition(Record):
    """One entry of an object's `status.conditions`, without timestamps. Source: spec/designs.md#5."""

    type: str
    status: str
    reason: str
    message: str


class LastError(Record):
    """One entry of an object's `status.lastErrors`, without timestamp."""

    code: str
    description: str


class Status(Record):
    """The parts of an object's status that packwise knows."""

    conditions: tuple[Condition, ...] = ()
    last_errors: tuple[LastError, ...] = ()


def topology_status(revision: Revision, why: str | None) -> Status:
    """Return the status of a ClusterTopology. `why` is the API server's text if it refuses the scheduler's Topology."""
    texts = revision.topology_status
    if texts is None:
        return Status()
    if why is None:
        return Status((_condition(texts.ready),))
    failed = texts.failed.replace(message=texts.failed.message.format(why=why))
    error = LastError(texts.error_code, texts.error_description.format(why=why))
    return Status((_condition(failed),), (error,))


def _condition(case: ConditionCase) -> Condition:
    return Condition(_TYPE, case.status, case.reason, case.message)


# The functions below write a ClusterTopology as the operator does, and check it as the API server does. Source:
# spec/grove.md#3 and 9.

GROUP = "grove.io"
API_VERSION = f"{GROUP}/v1alpha1"
KIND = "ClusterTopology"


_SOURCE = "spec/grove.md#3.4"
SHAPE = Rule("clustertopology-schema", "A ClusterTopology does not match the schema of its CRD.", _SOURCE)
ORDER = Rule(
    "clustertopology-order",
    "The levels of a ClusterTopology are not listed from the broadest to the narrowest.",
    "spec/designs.md#7.9",
)
CLUSTERTOPOLOGY_RULES = (SHAPE, ORDER)
"""Rules of ClusterTopology objects."""


def clustertopology_value(
    topology: ClusterTopology, labels: tuple[tuple[str, str], ...] = (), finalizers: tuple[str, ...] = ()
) -> dict[str, Value]:
    """Return the manifest of `topology`, with these labels and finalizers."""
    metadata: dict[str, Value] = {"name": topology.name}
    if labels:
        metadata["labels"] = dict(labels)
    if finalizers:
        metadata["finalizers"] = list(finalizers)
    levels: list[Value] = [{"domain": level.domain, "key": level.key} for level in topology.levels]
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": metadata, "spec": {"levels": levels}}


def clustertopology_problems(item: KubeObject, limits: Limits) -> Iterator[Problem]:
    """Yield the problems for which the API server refuses a ClusterTopology, with its texts.

    Source: crds/alpha7, schema and CEL.
    """
    levels = levels_of(item.value)
    yield from name_problems(item.name)
    yield from level_problems(item.get("spec"), _domain_problem, limits)
    if limits.levels is not None and len(levels) > limits.levels:
        text = f"spec.levels: Too many: {len(levels)}: must have at most {limits.levels} items"
        message = f"must have at most {limits.levels} levels; got {len(levels)}"
        yield Problem(("spec", "levels"), message, text, Stage.SCHEMA)
    for field in ("domain", "key"):
        yield from _duplicate_levels(levels, field)


def _domain_problem(path: FieldPath, domain: str) -> Problem | None:
    if domain in DOMAINS:
        return None
    supported = ", ".join([go_quote(name) for name in DOMAINS])
    message = f'must be one of {list_known(DOMAINS)}; got "{domain}"{did_you_mean(domain, DOMAINS)}'
    detail = f"supported values: {supported}"
    return field_error(path, ErrorType.NOT_SUPPORTED, domain, detail, message, stage=Stage.SCHEMA)


def check_order(item: KubeObject, topology: ClusterTopology) -> list[Finding]:
    """Return an error for each level that comes after a narrower level. KAI would treat the later level as narrower."""
    findings: list[Finding] = []
    for index, (above, level) in enumerate(pairwise(topology.levels), start=1):
        if rank(level.domain) < rank(above.domain):
            known = sorted(topology.domains, key=rank)
            message = (
                f'"{level.domain}" is broader than "{above.domain}" and must come before it; list the levels as '
                f"{list_known(known)}"
            )
            findings.append(Finding.of(ORDER, item, ("spec", "levels", index, "domain"), message))
    return findings


def _duplicate_levels(levels: Sequence[Value], field: str) -> Iterator[Problem]:
    """Yield a problem for each level with the domain or the key (`field`) of an earlier level.

    Only the first problem has a text of the API server, because one text reports all of them.
    """
    first: dict[Value, int] = {}
    text: str | None = f'spec.levels: Invalid value: "array": {field} must be unique across all levels'
    for index, level in enumerate(levels):
        value = value_at(level, field)
        if not isinstance(value, str):
            continue
        if value in first:
            message = f'two levels have the same value, "{value}" (first at levels[{first[value]}])'
            yield Problem(("spec", "levels", index, field), message, text, Stage.SCHEMA)
            text = None
        else:
            first[value] = index


RESERVED = Rule(
    "clustertopology-reserved",
    "A ClusterTopology uses the name that is reserved for the operator.",
    "spec/designs.md#7.7",
)
UNUSED = Rule(
    "clustertopology-unused",
    "The operator of this revision ignores a ClusterTopology.",
    "spec/designs.md#1",
    Severity.WARNING,
)
RULES = (RESERVED, UNUSED)
"""Rules about the ClusterTopologies that the operator allows."""

_TOPOLOGY_KINDS = (CLUSTER_TOPOLOGY, CLUSTER_TOPOLOGY_BINDING)


class KnownTopology(Record):
    """A topology of the input and its place in the input."""

    topology: ClusterTopology
    places: tuple[Place, ...]
    """The place of each level of the topology. The order is that of the topology and may differ from the input."""
    levels: Place
    """The place of the list of levels."""
    item: KubeObject
    """The object with the list of levels."""
    is_valid: bool = True
    """False if the object has errors. Workloads can still name the topology, so that none reports it as missing."""
    references: Mapping[str, str] = {}
    """Maps each scheduler to the topology that another component maintains for it."""

    @classmethod
    def of_item(cls, item: KubeObject, *, valid: bool, references: Mapping[str, str] = {}) -> KnownTopology:
        """Return the topology with the levels in `spec.levels` of `item`."""
        topology, levels = read_levels(item), Place(item, ("spec", "levels"))
        places = tuple(levels.child(position) for position in range(len(topology.levels)))
        return cls(topology, places, levels, item, valid, references)

    def key_place(self, path: FieldPath) -> Place:
        """Return the place of the key from which the level at `path` of a scheduler's Topology is made.

        Return the place of the list of levels if `path` has no index of a level.
        """
        position = next((step for step in path if isinstance(step, int)), None)
        return self.levels if position is None else self.places[position].child("key")


class KnownTopologies(Record):
    """All topologies sorted by name, the ClusterTopologies to generate, and the findings.

    `written` are the objects of users that define a topology, by name.
    """

    by_name: Mapping[str, KnownTopology]
    generated: tuple[Generated, ...]
    findings: tuple[Finding, ...]
    written: Mapping[str, KubeObject]


class ConfiguredTopology(Record):
    """The topology that the operator makes from its configuration.

    `topology` is None if topology-aware scheduling is disabled. `exists` is true if there is a configuration.
    `finalizers` are the finalizers of ClusterTopologies.
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
    """Return the topologies that workloads can name. `schedulers` are the schedulers in Grove's configuration."""
    unused = tuple(_other_kinds(inventory, revision))
    if revision.default_topology is not None:
        known = _ClusterTopologies(inventory, definitions, revision, configured).known_topologies(
            revision.default_topology
        )
    else:
        from packwise.topology.bindings import known_bindings

        known = known_bindings(inventory, definitions, revision, schedulers)
    return known.replace(findings=(*known.findings, *unused))


def with_finalizer(item: KubeObject, finalizers: tuple[str, ...]) -> KubeObject:
    """Return a user's ClusterTopology. Each of `finalizers` is appended if it is missing."""
    path = ("metadata", "finalizers")
    for finalizer in finalizers:
        before = entries(item.get(path))
        if not before:
            item = item.set(path, [finalizer])
        elif finalizer not in before:
            item = item.set((*path, len(before)), finalizer)
    return item


def _other_kinds(inventory: Inventory, revision: Revision) -> Iterator[Finding]:
    """Yield a warning for each topology of a kind that this revision ignores."""
    for kind in _TOPOLOGY_KINDS:
        if kind.name != revision.topology_kind:
            for item in inventory.items.of_kind(*kind.key):
                yield _unused_finding(item, f'revision "{revision.name}" does not use this kind')


class _ClusterTopologies:
    """The ClusterTopologies of one render, checked by the rules of the revision."""

    __slots__ = ("_configured", "_definitions", "_inventory", "_revision")

    def __init__(
        self, inventory: Inventory, definitions: Definitions, revision: Revision, configured: ConfiguredTopology
    ) -> None:
        self._inventory, self._definitions = inventory, definitions
        self._revision, self._configured = revision, configured

    def known_topologies(self, reserved: str) -> KnownTopologies:
        """Return all topologies. `reserved` is the name of the topology that the operator makes."""
        topologies: list[KnownTopology] = []
        written: dict[str, KubeObject] = {}
        default, revision = self._configured.topology, self._revision
        users = self._inventory.items.of_kind(*CLUSTER_TOPOLOGY.key)
        findings = repetitions(users)
        for item in users:
            refusals = self._reserved_name(item) if item.name == reserved else _users_own(revision, item)
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
                generated.append(self._generate(default))
        topologies.sort(key=lambda known: known.topology.name)
        by_name = {known.topology.name: known for known in topologies}
        return KnownTopologies(by_name, tuple(generated), tuple(findings), written)

    def _generate(self, default: KnownTopology) -> Generated:
        value = clustertopology_value(default.topology, self._revision.topology_labels, self._configured.finalizers)
        return Generated(value, "the topology configuration", default.item, partial(_origins, default))

    def _problems(self, item: KubeObject) -> list[Finding]:
        """Return findings for which the API server refuses a ClusterTopology.

        The cluster's CRD decides. Without the CRD, packwise's table decides.
        """
        verdict = validate_object(
            item.value,
            self._definitions.of_kind(*CLUSTER_TOPOLOGY.key),
            lambda: clustertopology_problems(item, self._revision.limits),
            before=self._inventory.baseline_object(item),
        )
        return list(verdict.findings(item, SHAPE))

    def _reserved_name(self, item: KubeObject) -> list[Finding]:
        """Return findings about a user's object with the reserved name, or none if packwise would write the same."""
        name, revision, default = item.name, self._revision, self._configured.topology
        labelled = all(item.labels.get(key) == value for key, value in revision.topology_labels)
        if default is not None and labelled and item.get("spec") == clustertopology_value(default.topology)["spec"]:
            return []
        if not labelled:
            message = (
                f'"{name}" is reserved for the operator, which creates it from its configuration; choose another name'
            )
            return [Finding.of(RESERVED, item, ("metadata", "name"), message)]
        if default is None:
            if revision.user_topologies == "Refused":
                return [_created_by_others(revision, item)]
            if revision.chooses_topology and not self._configured.exists:
                return []
            return [
                _unused_finding(item, "topology-aware scheduling is disabled, and the operator removes this object")
            ]
        message = (
            f'the levels of "{name}" differ from the configuration ({default.levels.description}); change the levels '
            "there, and remove this object"
        )
        text = "ClusterTopology can only be modified by the operator" if not revision.chooses_topology else None
        stage = Stage.WEBHOOK if text else None
        return [Finding.of(RESERVED, item, ("spec", "levels"), message, operator_message=text, stage=stage)]


def _origins(known: KnownTopology) -> Mapping[FieldPath, Origin]:
    """Return the origin of each part of the ClusterTopology that the operator makes."""
    rule = "spec/grove.md#9"
    origins: dict[FieldPath, Origin] = {
        (): Origin(known.levels, rule),
        ("spec", "levels"): Origin(known.levels, rule),
    }
    for position, place in enumerate(known.places):
        origins["spec", "levels", position] = Origin(place, rule)
        origins["spec", "levels", position, "domain"] = Origin(place.child("domain"), rule)
        origins["spec", "levels", position, "key"] = Origin(place.child("key"), rule)
    return origins


def _users_own(revision: Revision, item: KubeObject) -> list[Finding]:
    """Return findings about a ClusterTopology with a name that is not reserved for the operator."""
    if revision.user_topologies == "Refused":
        return [_created_by_others(revision, item)]
    if revision.user_topologies == "Unused":
        return [_unused_finding(item, f'revision "{revision.name}" uses only "{revision.default_topology}"')]
    return []


def _created_by_others(revision: Revision, item: KubeObject) -> Finding:
    message = (
        f'only the operator may create ClusterTopologies, and it refuses "{item.name}"; it creates '
        f'"{revision.default_topology}" from its configuration. Remove this object'
    )
    text = "ClusterTopology can only be created by the operator"
    return Finding.of(RESERVED, item, ("metadata", "name"), message, operator_message=text, stage=Stage.WEBHOOK)


def _unused_finding(item: KubeObject, why: str) -> Finding:
    return Finding.of(UNUSED, item, ("metadata", "name"), f'"{item.name}" is not used: {why}')


# Workloads that name a user's ClusterTopology forbid some changes of it. Source: spec/designs.md#7.5 and #7.6.

LOCKED = Rule(
    "clustertopology-locked",
    "The levels of a ClusterTopology change while it has scheduled pods.",
    "spec/designs.md#7.5",
)
IN_USE = Rule(
    "clustertopology-in-use",
    "A ClusterTopology is deleted while a workload names it.",
    "spec/designs.md#7.6",
)
PROTECTION_RULES = (LOCKED, IN_USE)
"""Rules about changes since the baseline."""


def check_protection(inventory: Inventory, revision: Revision, uses: Iterable[Use]) -> list[Finding]:
    """Return errors for forbidden changes of users' ClusterTopologies since the baseline. Without it, return none.

    The operator may change its own topology. Conditions of workloads report such a change.
    """
    if inventory.baseline is None or revision.topology_name_field is None:
        return []
    by_topology: dict[str, list[Use]] = {}
    for use in uses:
        if use.is_explicit and use.topology is not None:
            by_topology.setdefault(use.topology, []).append(use)
    now = {item.name: item for item in inventory.items.of_kind(*CLUSTER_TOPOLOGY.key)}
    findings: list[Finding] = []
    for before in inventory.baseline.of_kind(*CLUSTER_TOPOLOGY.key):
        users, after = by_topology.get(before.name, []), now.get(before.name)
        if before.name == revision.default_topology or not users:
            continue
        if after is None:
            message = f"cannot be deleted: {_naming_text(users)} it. Choose another topology in each workload first"
            findings.append(Finding.of(IN_USE, before, ("metadata", "name"), message))
        elif read_levels(after).levels != read_levels(before).levels:
            running = [use for use in users if use.scheduled_pods]
            if running:
                names = _naming_text(running)
                message = (
                    f"cannot change while pods are scheduled by these levels: {names} this topology. Scale these "
                    "workloads to 0 first"
                )
                findings.append(Finding.of(LOCKED, after, ("spec", "levels"), message))
    return findings


def _naming_text(uses: list[Use]) -> str:
    """Return the workloads that name a topology, followed by the verb: `team-a/web, team-a/web-2 name`."""
    names = sorted(use.workload.id.short_text for use in uses)
    return f"{', '.join(names)} name{'s' if len(names) == 1 else ''}"
