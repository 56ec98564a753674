"""How much one run may render: a slip of the pen, or an input of a stranger, must not fill memory and repository."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.findings.finding import Rule
from packwise.placement.model import Gang, GangPod

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from krmfn.value import Value
    from packwise.placement.plan import Placement, WorkloadPlan

__all__ = ["LIMIT", "MAX_GANGS", "RULES", "characters", "excess", "length", "weight_of_copies", "within_limit"]

MAX_GANGS = 200_000
"""How many gangs and entries of gangs a run renders at most, where the settings name no number. They take 550 MiB."""

LIMIT = Rule(
    "gang-limit",
    f"All workloads of a run together become at most {MAX_GANGS} gangs and entries of gangs, or `limits.gangs`.",
    "spec/packwise.md#5.2",
)
RULES = (LIMIT,)
"""Rules of how much is rendered."""

_ENTRY = 1024
"""So many characters that an object copies from its workload count as a further entry."""


def excess(entries: str, before: int, most: int) -> str:
    """The message of LIMIT for a workload of `entries`, a number and its nouns; `before`: those before it."""
    beside = f", beside {before} of other workloads" if before else ""
    return (
        f"would become {entries}{beside}; a run renders at most {most}: lower the replicas, split the input, "
        "or raise limits.gangs of the TopologyRender"
    )


def weight_of_copies(characters: int) -> int:
    """How many entries an object counts for the characters that it copies from its workload."""
    return characters // _ENTRY


def length(texts: Mapping[str, str]) -> int:
    """The characters of labels or annotations."""
    return sum([len(key) + len(text) for key, text in texts.items()])


def characters(value: Value) -> int:
    """The characters of all keys and texts within `value`."""
    return sum(_lengths(value))


def within_limit(plans: Sequence[WorkloadPlan], most: int) -> list[WorkloadPlan]:
    """`plans`, where they have at most so many gangs and entries; else without placements, and with what says so.

    A front end that counts its entries keeps to the limit itself.
    """
    total = 0
    checked: list[WorkloadPlan] = []
    for plan in plans:
        if plan.entries is not None:
            total += plan.entries
            checked.append(plan)
            continue
        # The workload may be a document in a ConfigMap: the gang that is too much says where.
        entries = 0
        for placement in plan.placements:
            entries += _entries(placement)
            if total + entries > most:
                message = excess(f"at least {entries} gangs, sets of pods and pods", total, most)
                finding = placement.node.origin.place.finding(LIMIT, message)
                checked.append(plan._replace(findings=(*plan.findings, finding)))
                break
        else:
            total += entries
            checked.append(plan)
    if any(finding.rule == LIMIT.name for plan in checked for finding in plan.findings):
        return [plan._replace(placements=()) for plan in checked]
    return checked


def _entries(placement: Placement) -> int:
    node = placement.node
    if isinstance(node, Gang):
        copied = length(node.labels) + length(node.annotations) + length(placement.notes) + len(node.priority_class)
        return 1 + len(node.sets) + weight_of_copies(copied)
    if isinstance(node, GangPod):
        return 1 + weight_of_copies(characters(node.value))
    return 0


def _lengths(value: Value) -> Iterator[int]:
    if isinstance(value, str):
        yield len(value)
    elif isinstance(value, dict):
        for key, part in value.items():
            yield len(key)
            yield from _lengths(part)
    elif isinstance(value, list):
        for part in value:
            yield from _lengths(part)
