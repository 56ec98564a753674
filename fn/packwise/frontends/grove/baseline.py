"""A workload of the baseline as the cluster stores it: with what admission added to it when it was created.

Source: spec/grove.md#2, #5.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.frontends.grove.default import default

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krmfn.value import Value
    from packwise.frontends.grove.rules import Context

__all__ = ["Stored", "inherit_annotation", "stored"]

_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


class Stored(NamedTuple):
    """A defaulted workload; `added`: the value of the MNNVL annotation where the webhook wrote it, not the author."""

    value: Mapping[str, Value]
    added: Value = None


def stored(baseline: Mapping[str, Value], context: Context) -> Stored:
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
    """Whether the author of `baseline` wrote the annotation: kubectl notes what it applied."""
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
    """Whether `baseline` was read from a cluster, where admission has been already."""
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
