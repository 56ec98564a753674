"""Levels: a domain, and the node label that tells its members apart; an ordered list of them is a ClusterTopology."""

from __future__ import annotations

import re

from krmfn.fieldpath import format_path
from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from krmfn.result import Severity
from packwise.findings.finding import Effect, Finding, Problem, Rule, Stage
from packwise.kubernetes.validation import JSON_NOUNS, ErrorType, OperatorError, dns_subdomain, type_error
from packwise.objects.identity import identity, is_generated
from packwise.objects.kinds import CLUSTER_TOPOLOGY, CLUSTER_TOPOLOGY_BINDING, TOPOLOGY
from packwise.wording import closest, list_known

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.objects.index import Index
    from packwise.revisions.revision import Limits

DOMAINS: tuple[str, ...] = ("region", "zone", "datacenter", "block", "rack", "host", "numa")
"""The seven domains, broadest first. Source: spec/grove.md#4.3, #r45."""

_RANK = {domain: rank for rank, domain in enumerate(DOMAINS)}


class Level(NamedTuple):
    """One level: `domain` is its name, `key` the node label key."""

    domain: str
    key: str


class ClusterTopology(NamedTuple):
    """A named topology; `levels` in hierarchy order, broadest first."""

    name: str
    levels: tuple[Level, ...]

    def level_of(self, domain: str) -> Level | None:
        """The level of `domain`, or None when this topology has no such level."""
        for level in self.levels:
            if level.domain == domain:
                return level
        return None

    @property
    def strictest(self) -> Level | None:
        """The narrowest level; None without levels."""
        return self.levels[-1] if self.levels else None

    @property
    def domains(self) -> tuple[str, ...]:
        """The domains of the levels, in hierarchy order."""
        return tuple(level.domain for level in self.levels)


def rank(domain: str) -> int:
    """Where `domain` stands among the seven, 0 broadest; an unknown domain ranks 0, as in the operator's lookup."""
    return _RANK.get(domain, 0)


def is_narrower(domain: str, other: str) -> bool:
    """True if `domain` is strictly narrower than `other` in the fixed order of the seven. Source: spec/grove.md#r45."""
    return rank(domain) > rank(other)


def sort_levels(levels: Iterable[Level]) -> tuple[Level, ...]:
    """`levels` from broadest to narrowest by the fixed order of the seven; levels of equal rank keep their order."""
    return tuple(sorted(levels, key=lambda level: rank(level.domain)))


# `spec.levels` of a topology object, as the API server takes them. Source: spec/grove.md#3; crds/alpha7, crds/head.


def levels_of(value: Mapping[str, Value]) -> Sequence[Value]:
    """The entries of `spec.levels`, whatever they are."""
    spec = value.get("spec")
    levels = spec.get("levels") if isinstance(spec, dict) else None
    return levels if isinstance(levels, list) else ()


def read_levels(item: KubeObject) -> ClusterTopology:
    """The topology that `item` states, levels as listed; what has no right shape is left out (see the check)."""
    levels = [
        Level(domain, key)
        for entry in levels_of(item.value)
        if isinstance(entry, dict)
        and isinstance(domain := entry.get("domain"), str)
        and isinstance(key := entry.get("key"), str)
    ]
    return ClusterTopology(item.name, tuple(levels))


def name_problems(name: str) -> Iterator[Problem]:
    """The API server's refusals of the name of a topology object."""
    for text in dns_subdomain(name):
        error = OperatorError("metadata.name", ErrorType.INVALID, name, text)
        yield refusal(("metadata", "name"), f'must be a DNS subdomain; got "{name}": {text}', error)


def level_problems(
    spec: Value, domain_problem: Callable[[FieldPath, str], Problem | None], limits: Limits
) -> Iterator[Problem]:
    """The API server's refusals of the levels of `spec`: one at least, each with a domain and a key.

    `domain_problem` answers what is wrong with the domain at a path, for domains differ from one kind to another.
    """
    path: FieldPath = ("spec", "levels")
    levels = spec.get("levels") if isinstance(spec, dict) else None
    if not isinstance(spec, dict):
        yield wrong_type(("spec",), spec, "object")
    elif not isinstance(levels, list):
        yield wrong_type(path, levels, "array")
    else:
        if not levels:
            text = "spec.levels in body should have at least 1 items"
            error = OperatorError("spec.levels", ErrorType.INVALID, 0, text)
            yield refusal(path, "must hold at least one level; got none", error)
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
    """The fields of `value` that are none of `known`."""
    for name in value:
        if name not in known:
            message = f'must be a field of {noun}; got "{name}"; known: {list_known(known)}{closest(name, known)}'
            yield Problem((*path, name), message, effect=Effect.UNKNOWN)


def wrong_type(path: FieldPath, value: Value, kind: str) -> Problem:
    """`value` is absent, or none of what the API server calls `kind`."""
    field = format_path(path)
    if value is None:
        return refusal(path, f"must be {JSON_NOUNS[kind]}; there is none", OperatorError(field, ErrorType.REQUIRED))
    return refusal(path, *type_error(field, value, kind))


def refusal(path: FieldPath, message: str, error: OperatorError) -> Problem:
    """A problem that the API server refuses with the text of `error`."""
    return Problem(path, message, error.text(), Stage.SCHEMA)


# Labels of nodes that topograph has renamed: levels by the old ones match no node, in silence. Topograph 1.0 writes
# `fabric.topograph.run/tier-N`, tier 0 next to the node, and `accelerator.topograph.run/domain`. Source: topograph's
# changelog, 1.0.0; its reference of node labels.

RENAMED = Rule(
    "label-renamed", "Levels are of labels that nodes still carry.", "spec/kubernetes.md#4.1", Severity.WARNING
)
RULES = (RENAMED,)
"""Rules of labels of nodes."""

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
"""The new names of the old labels; `block` and `datacenter` are topograph's oldest words for leaf and core."""

_TIER = re.compile(r"tier-(\d+)")

_SECTIONS = ("topologyAwareScheduling", "clusterTopology", "topology")
_LEVELS: dict[tuple[str, str], tuple[tuple[FieldPath, str], ...]] = {
    ("packwise.dev", "TopologyRender"): tuple((("spec", section, "levels"), "key") for section in _SECTIONS),
    ("operator.config.grove.io", "OperatorConfiguration"): tuple(((section, "levels"), "key") for section in _SECTIONS),
    CLUSTER_TOPOLOGY.key: ((("spec", "levels"), "key"),),
    CLUSTER_TOPOLOGY_BINDING.key: ((("spec", "levels"), "key"),),
    TOPOLOGY.key: ((("spec", "levels"), "nodeLabel"),),
}
"""Where objects list levels, and the field of a level that is the label's key."""


def new_label(key: str) -> str | None:
    """The new name of topograph's label `key`; None where it was not renamed."""
    if not key.startswith(_OLD):
        return None
    word = key.removeprefix(_OLD)
    tier = _TIER.fullmatch(word)
    return f"{_FABRIC}{tier[1]}" if tier is not None else _NEW.get(word)


def check_labels(index: Index, settings: KubeObject | None) -> Iterator[Finding]:
    """A warning for each level of a renamed label, in the users' objects and in packwise's own settings."""
    listed = [item for key in _LEVELS for item in index.of_kind(*key)]
    # kpt lists the function's configuration among the items too.
    is_listed = settings is None or any(identity(item.value) == identity(settings.value) for item in listed)
    for item in listed if settings is None or is_listed else (settings, *listed):
        for path, old, new in _renamed_labels(item):
            message = (
                f'"{old}" is a label that topograph writes as "{new}" since its version 1.0: nodes that lost the old '
                "one are placed by no level; look whether your nodes carry the new one, and write that here"
            )
            yield Finding.of(RENAMED, item, path, message, proposed=new)


def with_new_labels(item: KubeObject) -> KubeObject:
    """`item` with the new names of labels, but for those that another level of the same list has already.

    Raises FieldError where an anchor or alias is in the way.
    """
    for path, _, new in () if is_generated(item.value) else list(_renamed_labels(item)):
        levels = item.get(path[:-2])
        others = range(len(levels) if isinstance(levels, list) else 0)
        if all(item.get((*path[:-2], place, path[-1])) != new for place in others):
            item = item.set(path, new)
    return item


def _renamed_labels(item: KubeObject) -> Iterator[tuple[FieldPath, str, str]]:
    """The path of each renamed label of the levels of `item`, the label, and its new name."""
    for path, field in _places(identity(item.value)[:2]):
        levels = item.get(path)
        for place, level in enumerate(levels if isinstance(levels, list) else ()):
            key = level.get(field) if isinstance(level, dict) else None
            new = new_label(key) if isinstance(key, str) else None
            if isinstance(key, str) and new is not None:
                yield (*path, place, field), key, new


def _places(kind: tuple[str, ...]) -> Iterable[tuple[FieldPath, str]]:
    return next((places for key, places in _LEVELS.items() if key == kind), ())
