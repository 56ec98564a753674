"""Of several refusals of one field, the one that tells most: who mends it has mended the others too.

An API server and a webhook may refuse the same value each. Programs are given all texts, but for echoes; people read
one, and how many more there are.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.result import Severity
from packwise.findings.rule import Stage

if TYPE_CHECKING:
    from collections.abc import Iterable

    from krmfn.result import Result

__all__ = ["causes", "without_echoes"]

_ECHOES = {"workload-schema": "topology-domain-unknown"}
"""Rules whose results echo, at the same place, those of another rule: it says why the value is none."""

_CAUSING = frozenset(_ECHOES.values())

_STAGES = {stage.value: number for number, stage in enumerate(Stage)}


def causes(results: Iterable[Result]) -> list[Result]:
    """`results` without the errors about a field of which another error, of a later stage, says more."""
    kept: list[Result] = []
    places: dict[object, int] = {}
    for result in results:
        place = _place(result) if _is_refused_field(result) else None
        earlier = places.get(place) if place is not None else None
        if earlier is None:
            if place is not None:
                places[place] = len(kept)
            kept.append(result)
        elif _stage(result) > _stage(kept[earlier]):
            kept[earlier] = result
        elif _stage(result) == _stage(kept[earlier]):
            # Two texts of one who refuses it are two things to mend.
            kept.append(result)
    return kept


def without_echoes(results: Iterable[Result]) -> list[Result]:
    """`results` without what a rule has against a value of which another says more: one typo is one error."""
    results = list(results)
    causing = {(result.tags.get("rule"), _place(result)) for result in results if result.tags.get("rule") in _CAUSING}
    return [result for result in results if (_ECHOES.get(result.tags.get("rule", "")), _place(result)) not in causing]


def _is_refused_field(result: Result) -> bool:
    """Whether it is an error of a stage about a field."""
    field = result.field
    return result.severity is Severity.ERROR and field is not None and bool(field.path) and "stage" in result.tags


def _place(result: Result) -> object:
    path = None if result.field is None else result.field.path
    return result.file, result.resource_ref, result.tags.get("line"), result.tags.get("column"), path


def _stage(result: Result) -> int:
    return _STAGES.get(result.tags.get("stage", ""), -1)
