"""A placing for programs. Its schema: docs/reference/place.schema.json."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.cli.report.visible import json_text
from packwise.commands.place.reasons import level_word

if TYPE_CHECKING:
    from typing import Any

    from packwise.cli.place_output.placed import Placed
    from packwise.commands.place.cure import Second
    from packwise.commands.place.placing import GangAnswer, Move
    from packwise.schedulers.kai.allocate.fit_errors import Shortage

__all__ = ["as_json"]


def as_json(placed: Placed) -> str:
    """One object: whether all gangs fit, the cluster, and what becomes of each gang."""
    total, before, after = placed.placing.gpus
    whole: dict[str, Any] = {
        "fits": placed.placing.fits,
        "cluster": {"nodes": placed.placing.nodes, "gpus": total, "gpusInUse": before, "gpusInUseThen": after},
        "gangs": [
            {**_gang(placed, gang, reasons), **_second(placed.seconds.get(index))}
            for index, (gang, reasons) in enumerate(zip(placed.placing.gangs, placed.reasons, strict=True))
        ],
    }
    whole["coverage"] = placed.coverage.fields
    if placed.further is not None:
        whole["furtherReplicas"] = [
            {"namespace": namespace, "workload": name, "replicas": count}
            for (namespace, name), count in placed.further.items()
        ]
    if placed.baseline is not None:
        whole["baseline"] = placed.baseline.name
        whole["changes"] = [_move(move) for move in placed.baseline.moves]
    return json_text(whole)


def _move(move: Move) -> dict[str, Any]:
    gang = move.after or move.before
    return {
        "namespace": "" if gang is None else gang.gang.job.namespace,
        "name": "" if gang is None else gang.gang.job.name,
        "change": move.fate.value,
        "pods": move.pods,
        "before": None if move.before is None else _podsets(move.before),
        "after": None if move.after is None else _podsets(move.after),
    }


def _podsets(gang: GangAnswer) -> list[dict[str, Any]]:
    return [
        {"name": name, "nodes": [{"name": node, "pods": count} for node, count in spread]}
        for name, spread in gang.spread
    ]


def _gang(placed: Placed, gang: GangAnswer, reasons: tuple[str, ...]) -> dict[str, Any]:
    job = gang.gang.job
    return {
        "namespace": job.namespace,
        "name": job.name,
        "workload": gang.gang.gang.workload,
        "queue": job.queue,
        "state": gang.answer.state,
        "pods": len(job.pods),
        "placedPods": gang.placed,
        "domain": placed.domain_of(gang),
        "podSets": _podsets(gang),
        "nearest": None if gang.nearest is None else _shortage(placed, gang.nearest),
        "reasons": list(reasons),
        "message": gang.answer.message,
        "notes": list(gang.notes),
    }


def _second(second: Second | None) -> dict[str, Any]:
    if second is None:
        return {}
    return {"exact": {"verdict": second.verdict.value, "hiddenBy": second.hidden_by, "change": second.change}}


def _shortage(placed: Placed, shortage: Shortage) -> dict[str, Any]:
    return {
        "podSet": shortage.sub_group,
        "level": level_word(placed.situation, shortage.level),
        "domain": shortage.domain,
        "roomFor": shortage.held,
        "pods": shortage.wanted,
        "missing": dict(shortage.missing),
        "counted": shortage.is_counted,
    }
