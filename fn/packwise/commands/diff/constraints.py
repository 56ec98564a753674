"""The topology constraints of an object that a scheduler reads, wherever in its spec they stand."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.commands.diff.fields import Entry, entries_by_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krmfn.value import Value
    from packwise.commands.diff.fields import Steps

__all__ = ["TOPOLOGY_NAME", "Constraint", "constraints", "topologies_named", "topology_annotation"]

TOPOLOGY_NAME = "grove.io/topology-name"
"""Annotation of PodGangs: the topology whose node label keys their constraints name. Source: spec/grove.md#7."""

_FIELD = "topologyConstraint"
_KEYS = (
    # PodGang: below packConstraint. PodGroup: beside `topology`. Source: spec/grove.md#7 and #10.
    ("required", ("required", "requiredTopologyLevel")),
    ("preferred", ("preferred", "preferredTopologyLevel")),
)


class Constraint(NamedTuple):
    """The pods of what stands at `holder` are packed by the node label `key`; `strength` is required or preferred.

    `topology` is the one that the constraint itself names.
    """

    holder: Steps
    strength: str
    key: str
    topology: str | None = None


def constraints(value: Mapping[str, Value]) -> list[Constraint]:
    """All constraints of a PodGang, a PodGroup or any object that spells them like these, in its own order."""
    return list(_below(value.get("spec"), ("spec",)))


def topologies_named(value: Mapping[str, Value]) -> set[str]:
    """The topologies that the constraints of an object refer to; by its annotation, or each by itself."""
    named = {constraint.topology for constraint in constraints(value) if constraint.topology is not None}
    annotated = topology_annotation(value)
    return named | ({annotated} if annotated is not None else set())


def topology_annotation(value: Mapping[str, Value]) -> str | None:
    """The topology that the object's annotation names."""
    metadata = value.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    name = annotations.get(TOPOLOGY_NAME) if isinstance(annotations, dict) else None
    return name if isinstance(name, str) else None


def _below(value: Value, path: Steps) -> Iterator[Constraint]:
    if isinstance(value, dict):
        for key, part in value.items():
            if key == _FIELD and isinstance(part, dict):
                yield from _read(part, path)
            else:
                yield from _below(part, (*path, key))
    elif isinstance(value, list):
        named = entries_by_name(value)
        for at, part in enumerate(value):
            step = at if named is None or not isinstance(part, dict) else Entry(str(part["name"]))
            yield from _below(part, (*path, step))


def _read(value: Mapping[str, Value], holder: Steps) -> Iterator[Constraint]:
    pack = value.get("packConstraint")
    fields = {**value, **pack} if isinstance(pack, dict) else value
    topology = value.get("topology")
    for strength, names in _KEYS:
        for name in names:
            key = fields.get(name)
            if isinstance(key, str) and key:
                yield Constraint(holder, strength, key, topology if isinstance(topology, str) else None)
                break
