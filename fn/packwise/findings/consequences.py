"""Of several refusals of one field, the one that tells most: who mends it has mended the others too.

An API server and a webhook may refuse the same value each. Programs are given all texts; people read one, and how many
more there are.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.result import Severity
from packwise.findings.rule import Stage

if TYPE_CHECKING:
    from collections.abc import Iterable

    from krmfn.result import Result

__all__ = ["causes"]

_STAGES = {stage.value: number for number, stage in enumerate(Stage)}


def causes(results: Iterable[Result]) -> list[Result]:
    """`results` without the errors about a field of which another error, of a later stage, says more."""
    kept: list[Result] = []
    places: dict[object, int] = {}
    for result in results:
        place = _place(result)
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


def _place(result: Result) -> object:
    """The field that an error of a stage is about; None for anything else."""
    field = result.field
    if result.severity is not Severity.ERROR or field is None or not field.path or "stage" not in result.tags:
        return None
    return result.file, result.resource_ref, result.tags.get("line"), result.tags.get("column"), field.path


def _stage(result: Result) -> int:
    return _STAGES.get(result.tags.get("stage", ""), -1)
