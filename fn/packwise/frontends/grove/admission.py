"""New or known, changed or not: which of the webhook's two runs a workload goes through.

Source: spec/designs.md#3.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.findings.finding import Stage
from packwise.frontends.grove.baseline import inherit_annotation, stored
from packwise.frontends.grove.default import default
from packwise.frontends.grove.podcliqueset import PodCliqueSet
from packwise.frontends.grove.record import with_record
from packwise.frontends.grove.rules import validate_create, validate_update
from packwise.frontends.grove.schema import check_shape

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krmfn.value import Value
    from packwise.findings.finding import Problem, Rule
    from packwise.frontends.grove.baseline import Stored
    from packwise.frontends.grove.rules import Context
    from packwise.revisions.revision import Revision

__all__ = ["Admitted", "History", "admit", "is_new"]


class History(NamedTuple):
    """What is known of a workload's past: its baseline as written, the record of an earlier render.

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
    stored = _stored(history.baseline, past)
    defaulted = default(value, context.revision, create=False)
    new = PodCliqueSet.read(defaulted if stored is None else inherit_annotation(defaulted, stored, past))
    old = PodCliqueSet.read(stored.value) if stored else _recorded(new, history, recorded=admission == "Auto")
    return Admitted(new, validate_update(old, new, context), existing=True)


def is_new(value: Mapping[str, Value], history: History, admission: str) -> bool:
    """Whether the cluster does not know the workload yet, as far as `admission` leaves that open."""
    return admission == "New" or (admission == "Auto" and not _is_known(value, history))


def _is_known(value: Mapping[str, Value], history: History) -> bool:
    return bool(value.get("status")) or history.baseline is not None or history.record is not None


def _stored(baseline: Mapping[str, Value] | None, context: Context) -> Stored | None:
    """The baseline as the cluster has it; None where there is none, or no decoder ever took it."""
    if baseline is None or _is_undecodable(baseline, context.revision):
        return None
    return stored(baseline, context)


def _recorded(new: PodCliqueSet, history: History, *, recorded: bool) -> PodCliqueSet:
    """The workload before the change, by an earlier render; `new` itself where no change is known."""
    if recorded and history.record is not None:
        return with_record(new, history.record) or new
    return new


def _is_undecodable(value: Mapping[str, Value], revision: Revision) -> bool:
    return any(problem.stage is Stage.DECODE for problem in check_shape(value, revision, new=False))
