"""Conditions, as annotations of the workloads they belong to.

Source: product.md "Contract", revisions.md "Conditions".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from packwise.finding import Finding, Rule, Severity
from packwise.jsontext import json_list, json_object, json_string

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.api import TopologyRender
    from packwise.plan import Condition

__all__ = ["CONDITIONS", "RULES", "annotate"]

CONDITIONS = "packwise.dev/conditions"
"""Annotation that holds the conditions as a JSON array."""

CONDITION = Rule("condition", "The condition of a workload that is not annotated.", "revisions.md", Severity.INFO)
RULES = (CONDITION,)
"""Rules of conditions."""


def annotate(
    workload: KubeObject, conditions: Sequence[Condition], settings: TopologyRender
) -> tuple[KubeObject, list[Finding]]:
    """`workload` with its conditions; with `annotate: false`, itself, and findings that say them.

    Without conditions, an annotation of an earlier render is removed.
    """
    if not settings.annotate:
        return workload, [_told(workload, condition) for condition in conditions]
    found = workload.get(("metadata", "annotations", CONDITIONS))
    before = found if isinstance(found, str) else None
    if not conditions:
        return workload if before is None else workload.without_annotation(CONDITIONS), []
    generation = workload.get("metadata.generation")
    fields = [_fields(condition, generation) for condition in conditions]
    text = json_list([json_object(each) for each in fields])
    times = _times(workload, None if text == before else before)
    if times:
        for condition, each in zip(conditions, fields, strict=True):
            time = times.get((condition.type, condition.status))
            if time is not None:
                each["lastTransitionTime"] = json_string(time)
        text = json_list([json_object(each) for each in fields])
    return workload.with_annotation(CONDITIONS, text), []


def _fields(condition: Condition, generation: Value) -> dict[str, str]:
    fields = {
        "type": json_string(condition.type),
        "status": json_string(condition.status),
        "reason": json_string(condition.reason),
        "message": json_string(condition.message),
    }
    if isinstance(generation, int) and not isinstance(generation, bool):
        fields["observedGeneration"] = str(generation)
    return fields


def _times(workload: KubeObject, before: str | None) -> dict[tuple[str, str], str]:
    """When each condition last changed, by type and status: as the object's status has it, else the annotation."""
    return {**dict(_times_in(_parsed(before))), **dict(_times_in(workload.get("status.conditions")))}


def _times_in(conditions: Value) -> Iterator[tuple[tuple[str, str], str]]:
    for entry in conditions if isinstance(conditions, list) else ():
        if isinstance(entry, dict):
            parts = (entry.get("type"), entry.get("status"), entry.get("lastTransitionTime"))
            if all(isinstance(part, str) for part in parts):
                kind, status, time = cast("tuple[str, str, str]", parts)
                yield (kind, status), time


def _parsed(text: str | None) -> Value:
    if text is None:
        return None
    import json

    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _told(workload: KubeObject, condition: Condition) -> Finding:
    message = f"{condition.type} is {condition.status} ({condition.reason}): {condition.message}"
    return Finding.of(CONDITION, workload, (), message)
