"""Conditions and last errors, as annotations of the objects they belong to.

Source: spec/packwise.md#3, spec/designs.md#5.
"""

from __future__ import annotations

from functools import lru_cache

from krmfn.hints import TYPE_CHECKING, cast
from krmfn.result import Severity
from packwise.findings.finding import Finding, Rule
from packwise.jsontext import json_list, json_object, json_string
from packwise.objects.identity import format_identity, identity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.objects.place import Generated
    from packwise.settings import TopologyRender
    from packwise.topology.known import Condition, Status

__all__ = ["CONDITIONS", "LAST_ERRORS", "RULES", "annotate", "annotate_generated", "with_notes"]

_PREFIX = "packwise.dev/"
CONDITIONS = f"{_PREFIX}conditions"
"""Annotation that holds the conditions as a JSON array."""
LAST_ERRORS = f"{_PREFIX}last-errors"
"""Annotation that holds the last errors as a JSON array; absent without any."""

CONDITION = Rule("condition", "The condition of an object that is not annotated.", "spec/designs.md#5", Severity.INFO)
RULES = (CONDITION,)
"""Rules of conditions."""


def annotate(item: KubeObject, status: Status, settings: TopologyRender) -> tuple[KubeObject, list[Finding]]:
    """`item` with its conditions; with `annotate: false`, itself, and findings that say them.

    What an earlier render said and no longer holds is removed.
    """
    if not settings.annotate:
        return item, [_notice(item, condition) for condition in status.conditions]
    generation = item.get(("metadata", "generation"))
    return _with(item, _texts(status, item, generation)), []


def with_notes(item: KubeObject, notes: Mapping[str, str | None]) -> KubeObject:
    """`item` with `notes`, which a later render reads, whatever the settings say of conditions.

    Their keys are without the prefix `packwise.dev/`; None takes away what an earlier render noted.
    """
    return _with(item, {f"{_PREFIX}{key}": text for key, text in notes.items()})


def _with(item: KubeObject, annotations: Mapping[str, str | None]) -> KubeObject:
    for key, text in annotations.items():
        if text is not None:
            item = item.with_annotation(key, text)
        elif item.get(("metadata", "annotations", key)) is not None:
            item = item.without_annotation(key)
    return item


def annotate_generated(
    generated: Generated, status: Status, before: KubeObject | None, settings: TopologyRender
) -> tuple[Generated, list[Finding]]:
    """`generated` with its conditions, as `annotate` does it; `before` is the object of an earlier render."""
    if not settings.annotate:
        owner = f"of {format_identity(identity(generated.value))}: "
        return generated, [_notice(generated.subject, condition, owner) for condition in status.conditions]
    # What is written has no generation: a later render of it must say the same.
    texts = _texts(status, before, None)
    notes = {key.removeprefix(_PREFIX): text for key, text in texts.items() if text is not None}
    return generated._replace(notes={**generated.notes, **notes}), []


def _texts(status: Status, before: KubeObject | None, generation: Value) -> Mapping[str, str | None]:
    """Each annotation's text; None where there is nothing to say."""
    errors = [
        json_object({"code": json_string(error.code), "description": json_string(error.description)})
        for error in status.last_errors
    ]
    return {
        CONDITIONS: _conditions(status.conditions, before, generation) if status.conditions else None,
        LAST_ERRORS: json_list(errors) if errors else None,
    }


def _conditions(conditions: Sequence[Condition], before: KubeObject | None, generation: Value) -> str:
    observed = generation if type(generation) is int else None
    text = _text_of(tuple(conditions), observed)
    if before is None:
        return text
    annotation = before.get(("metadata", "annotations", CONDITIONS))
    earlier = annotation if isinstance(annotation, str) and annotation != text else None
    written = before.get(("status", "conditions"))
    if earlier is None and written is None:
        return text
    # As the object's status has it, else the annotation.
    times = {**dict(_times_in(_parse(earlier))), **dict(_times_in(written))}
    fields = [_fields(condition, observed) for condition in conditions]
    for condition, each in zip(conditions, fields, strict=True):
        time = times.get((condition.type, condition.status))
        if time is not None:
            each["lastTransitionTime"] = json_string(time)
    return json_list([json_object(each) for each in fields]) if times else text


@lru_cache(maxsize=256)
def _text_of(conditions: tuple[Condition, ...], generation: int | None) -> str:
    """The conditions without times. Few workloads of a run have others than the workload before."""
    return json_list([json_object(_fields(condition, generation)) for condition in conditions])


def _fields(condition: Condition, generation: int | None) -> dict[str, str]:
    fields = {
        "type": json_string(condition.type),
        "status": json_string(condition.status),
        "reason": json_string(condition.reason),
        "message": json_string(condition.message),
    }
    if generation is not None:
        fields["observedGeneration"] = str(generation)
    return fields


def _times_in(conditions: Value) -> Iterator[tuple[tuple[str, str], str]]:
    """When each condition last changed, by type and status."""
    for entry in conditions if isinstance(conditions, list) else ():
        if isinstance(entry, dict):
            parts = (entry.get("type"), entry.get("status"), entry.get("lastTransitionTime"))
            if all(isinstance(part, str) for part in parts):
                kind, status, time = cast("tuple[str, str, str]", parts)
                yield (kind, status), time


def _parse(text: str | None) -> Value:
    if text is None:
        return None
    import json

    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _notice(subject: KubeObject | None, condition: Condition, owner: str = "") -> Finding:
    reason = f" ({condition.reason})" if condition.reason else ""
    message = f": {condition.message}" if condition.message else ""
    return Finding.of(CONDITION, subject, (), f"{owner}{condition.type} is {condition.status}{reason}{message}")
