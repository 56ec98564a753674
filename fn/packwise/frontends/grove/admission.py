"""New or known, changed or not: which of the webhook's two runs a workload goes through, and beside which baseline.

Source: spec/designs.md#3, spec/grove.md#2, #5.

A workload's PodGangs carry the record of its constraints; the workload itself does where none of them is left. The
next render tells by it whether a known workload is unchanged or was edited.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.findings.finding import Stage
from packwise.frontends.grove.default import default
from packwise.frontends.grove.podcliqueset import Pack, PodCliqueSet, TopologyConstraint
from packwise.frontends.grove.rules import validate_create, validate_update
from packwise.frontends.grove.schema import check_shape
from packwise.jsontext import json_object, json_string

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from krmfn.value import Value
    from packwise.findings.finding import Problem, Rule
    from packwise.frontends.grove.podcliqueset import Clique, ScalingGroup
    from packwise.frontends.grove.rules import Context
    from packwise.revisions.revision import Revision

_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


class Stored(NamedTuple):
    """A defaulted workload; `added`: the value of the MNNVL annotation where the webhook wrote it, not the author."""

    value: Mapping[str, Value]
    added: Value = None


def as_stored(baseline: Mapping[str, Value], context: Context) -> Stored:
    """`baseline`, a manifest or an export of the cluster, as the cluster has it."""
    annotation = context.revision.mnnvl_annotation
    value = default(baseline, context.revision, auto_mnnvl=context.auto_mnnvl and not _is_export(baseline))
    if annotation is None:
        return Stored(value)
    is_written = _is_written(baseline, annotation, context)
    return Stored(value, None if is_written else _annotations(value).get(annotation))


def inherit_annotation(value: Mapping[str, Value], before: Stored, context: Context) -> Mapping[str, Value]:
    """`value`, the workload after the change, with the annotation of the webhook: an apply leaves it where it is."""
    annotations, annotation = _annotations(value), context.revision.mnnvl_annotation
    if before.added is None or annotation is None or annotation in annotations:
        return value
    metadata = {**_mapping(value.get("metadata")), "annotations": {**annotations, annotation: before.added}}
    return {**value, "metadata": metadata}


def _is_written(baseline: Mapping[str, Value], annotation: str, context: Context) -> bool:
    """True if the author of `baseline` wrote the annotation: kubectl notes what it applied."""
    annotations = _annotations(baseline)
    if annotation not in annotations or not _is_export(baseline):
        return annotation in annotations
    applied = annotations.get(_APPLIED)
    if isinstance(applied, str):
        return annotation in _annotations(_read_json(applied))
    others = {key: text for key, text in annotations.items() if key != annotation}
    metadata = {**_mapping(baseline.get("metadata")), "annotations": others}
    created = default({**baseline, "metadata": metadata}, context.revision, auto_mnnvl=context.auto_mnnvl)
    return _annotations(created).get(annotation) != annotations[annotation]


def _is_export(baseline: Mapping[str, Value]) -> bool:
    """True if `baseline` was read from a cluster, where admission has been already."""
    return bool(baseline.get("status")) or bool(_mapping(baseline.get("metadata")).get("uid"))


def _read_json(text: str) -> Mapping[str, Value]:
    import json

    try:
        return _mapping(json.loads(text))
    except (ValueError, RecursionError):
        return {}


def _annotations(value: Mapping[str, Value]) -> Mapping[str, Value]:
    return _mapping(_mapping(value.get("metadata")).get("annotations"))


def _mapping(value: Value) -> Mapping[str, Value]:
    return value if isinstance(value, dict) else {}


RECORD_NOTE = "constraints"
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


class History(NamedTuple):
    """A workload's past, as far as it is known: its baseline as written, the record of an earlier render.

    `revision` is the one that the baseline was stored by, None where it is the same.
    """

    baseline: Mapping[str, Value] | None = None
    record: str | None = None
    revision: Revision | None = None


class Admitted(NamedTuple):
    """The defaulted workload, what the webhook refuses in it, and whether the cluster knows it already."""

    pcs: PodCliqueSet
    problems: list[tuple[Rule, Problem]]
    existing: bool


def admit(value: Mapping[str, Value], history: History, admission: str, context: Context) -> Admitted:
    """The webhook's answer for `value`; `admission` is the setting of that name."""
    if is_new(value, history, admission):
        pcs = PodCliqueSet.read(default(value, context.revision, auto_mnnvl=context.auto_mnnvl))
        return Admitted(pcs, validate_create(pcs, context), existing=False)
    past = context if history.revision is None else context._replace(revision=history.revision)
    stored = _stored_baseline(history.baseline, past)
    defaulted = default(value, context.revision, create=False)
    new = PodCliqueSet.read(defaulted if stored is None else inherit_annotation(defaulted, stored, past))
    old = PodCliqueSet.read(stored.value) if stored else _recorded_workload(new, history, recorded=admission == "Auto")
    return Admitted(new, validate_update(old, new, context), existing=True)


def is_new(value: Mapping[str, Value], history: History, admission: str) -> bool:
    """True if the cluster does not know the workload yet, as far as `admission` leaves that open."""
    return admission == "New" or (admission == "Auto" and not _is_known(value, history))


def _is_known(value: Mapping[str, Value], history: History) -> bool:
    return bool(value.get("status")) or history.baseline is not None or history.record is not None


def _stored_baseline(baseline: Mapping[str, Value] | None, context: Context) -> Stored | None:
    """The baseline as the cluster has it; None where there is none, or no decoder ever took it."""
    if baseline is None or _is_undecodable(baseline, context.revision):
        return None
    return as_stored(baseline, context)


def _recorded_workload(new: PodCliqueSet, history: History, *, recorded: bool) -> PodCliqueSet:
    """The workload before the change, by an earlier render; `new` itself where no change is known."""
    if recorded and history.record is not None:
        return with_record(new, history.record) or new
    return new


def _is_undecodable(value: Mapping[str, Value], revision: Revision) -> bool:
    return any(problem.stage is Stage.DECODE for problem in check_shape(value, revision, new=False))
