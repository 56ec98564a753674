"""The constraints that a workload was rendered with, as an earlier render recorded them.

Its PodGangs carry the record; the workload itself does where none of them is left. The next render tells by it whether
a known workload is unchanged or was edited. Source: spec/designs.md#3.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING, cast
from packwise.frontends.grove.podcliqueset import Pack, TopologyConstraint
from packwise.jsontext import json_object, json_string

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from krmfn.value import Value
    from packwise.frontends.grove.podcliqueset import Clique, PodCliqueSet, ScalingGroup

__all__ = ["NOTE", "record_of", "with_record"]

NOTE = "constraints"
"""Name of the annotation, under `packwise.dev/`."""

_SET = "packDomain"
_CONSTRAINT = "topologyConstraint"
_NAME = "clusterTopologyName"
_CLIQUES = "cliques"
_GROUPS = "podCliqueScalingGroups"


def record_of(pcs: PodCliqueSet) -> str:
    """The constraints of `pcs` as JSON: `{"packDomain":"block","podCliqueScalingGroups":{"prefill":"rack"}}`.

    One with more fields than packDomain is an object of its fields, the set's own under `topologyConstraint`.
    """
    fields: dict[str, str] = {}
    if pcs.topology_name is not None:
        fields[_NAME] = json_string(pcs.topology_name)
    if pcs.topology is not None:
        fields[_SET if _is_domain_only(pcs.topology) else _CONSTRAINT] = _as_json(pcs.topology)
    for key, parts in ((_CLIQUES, pcs.cliques), (_GROUPS, pcs.groups)):
        named = _by_name(parts)
        if named:
            fields[key] = json_object(named)
    return json_object(fields)


def with_record(pcs: PodCliqueSet, record: str) -> PodCliqueSet | None:
    """`pcs` with the constraints of `record` in the place of its own; None where `record` is none."""
    import json

    try:
        fields: Value = json.loads(record)
    except (ValueError, RecursionError):
        return None
    if not isinstance(fields, dict):
        return None
    cliques, groups = _mapping(fields.get(_CLIQUES)), _mapping(fields.get(_GROUPS))
    name = fields.get(_NAME)
    return pcs._replace(
        topology_name=name if isinstance(name, str) else None,
        topology=_constraint(fields.get(_SET, fields.get(_CONSTRAINT))),
        cliques=tuple([clique._replace(topology=_constraint(cliques.get(clique.name))) for clique in pcs.cliques]),
        groups=tuple([group._replace(topology=_constraint(groups.get(group.name))) for group in pcs.groups]),
    )


def _by_name(parts: Iterable[Clique | ScalingGroup]) -> dict[str, str]:
    return {part.name: _as_json(part.topology) for part in parts if part.topology is not None}


def _is_domain_only(constraint: TopologyConstraint) -> bool:
    return constraint.pack is None and constraint.topology_name is None


def _as_json(constraint: TopologyConstraint) -> str:
    if _is_domain_only(constraint):
        return json_string(constraint.pack_domain)
    pack = constraint.pack
    fields = {"topologyName": constraint.topology_name or "", "packDomain": constraint.pack_domain}
    parts = {key: json_string(text) for key, text in fields.items() if text}
    if pack is not None:
        domains = {"required": pack.required, "preferred": pack.preferred}
        parts["pack"] = json_object({key: json_string(text) for key, text in domains.items() if text is not None})
    return json_object(parts)


def _constraint(value: Value) -> TopologyConstraint | None:
    if isinstance(value, str):
        return TopologyConstraint(value)
    if not isinstance(value, dict):
        return None
    pack = value.get("pack")
    return TopologyConstraint(
        _text(value, "packDomain") or "",
        Pack(_text(pack, "required"), _text(pack, "preferred")) if isinstance(pack, dict) else None,
        _text(value, "topologyName"),
    )


def _text(value: Mapping[str, Value], key: str) -> str | None:
    text = value.get(key)
    return text if isinstance(text, str) else None


def _mapping(value: Value) -> Mapping[str, Value]:
    return cast("Mapping[str, Value]", value) if isinstance(value, dict) else {}
