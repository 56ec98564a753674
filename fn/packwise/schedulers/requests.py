"""A scheduler's answers to what front ends ask: its objects, and what it would refuse. Source: kai.md, osmo.md 5."""

from __future__ import annotations

from typing import TYPE_CHECKING

from packwise.finding import Finding, Rule, Severity, Stage
from packwise.plan import Generated
from packwise.request import Gang, NodeLevels
from packwise.schedulers.podgroups import requested_faults
from packwise.schedulers.topologies import REFUSED, refusals_of
from packwise.select.index import identity

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from krmfn.value import Value
    from packwise.request import Request
    from packwise.schedulers.scheduler import Scheduler
    from packwise.select.selection import Selection

__all__ = ["RULES", "answers"]

REPLACED = Rule(
    "topology-replaced",
    "The levels of a scheduler's topology stay, for it does not let them change.",
    "kai.md, osmo.md 5",
    Severity.WARNING,
)
RULES = (REPLACED,)
"""Rules of what was asked for."""


def answers(
    scheduler: Scheduler, requests: Iterable[Request], selection: Selection
) -> tuple[list[Generated], list[Finding]]:
    """The object for each request, in their order, and what the scheduler has against them."""
    generated: list[Generated] = []
    findings: list[Finding] = []
    for request in requests:
        value = scheduler.requested_value(request.asked)
        recreate = False
        if isinstance(request.asked, NodeLevels):
            found, surely_valid = _of_levels(scheduler, request, request.asked, value, selection)
            findings += found
            recreate = scheduler.topology_immutable and surely_valid
        elif isinstance(request.asked, Gang):
            findings += requested_faults(scheduler, value, request.subject, selection, unasked=request.unasked)
        generated.append(Generated(value, request.origin, request.subject, recreate=recreate, unasked=request.unasked))
    return generated, findings


def _of_levels(
    scheduler: Scheduler, request: Request, levels: NodeLevels, value: Mapping[str, Value], selection: Selection
) -> tuple[list[Finding], bool]:
    """What is to be said of a topology's levels, and whether the object made of them surely keeps every rule."""
    refusals, findings = refusals_of(scheduler, value, selection)
    surely_valid = not refusals and not findings
    rendered = selection.settings.emits(scheduler.topology_kind, unasked=request.unasked)
    for refusal in refusals:
        text = refusal.operator_message
        place = levels.place if refusal.index is None else levels.place.below(refusal.index, levels.field)
        findings.append(
            place.finding(
                REFUSED,
                f"{refusal.message}: {scheduler.name} refuses the {scheduler.topology_kind} that is made of it",
                severity=None if rendered else Severity.WARNING,
                operator_message=text,
                stage=None if text is None else Stage.SCHEMA,
            )
        )
    written = _before(scheduler, levels, value, selection)
    if rendered and not refusals and written is not None and written != levels.keys:
        message = (
            f'changes the levels of {scheduler.topology_kind} "{levels.name}" ({", ".join(written)}), which '
            f"{scheduler.name} does not let change: delete it in the cluster when this is applied"
        )
        findings.append(levels.place.finding(REPLACED, message))
    return findings, surely_valid


def _before(
    scheduler: Scheduler, levels: NodeLevels, value: Mapping[str, Value], selection: Selection
) -> tuple[str, ...] | None:
    """The keys that the object has in the baseline, else in what an earlier render left."""
    old = selection.before(value)
    if old is None and levels.before is not None:
        return levels.before
    if old is None:
        earlier = selection.index.earlier.get(identity(value))
        old = None if earlier is None else earlier.value
    return None if old is None else tuple(scheduler.read_keys(old))
