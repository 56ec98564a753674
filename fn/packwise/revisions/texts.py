"""What a revision's operator writes into statuses, as data. Source: spec/designs.md#5, spec/grove.md#8."""

from __future__ import annotations

from krmfn.record import NamedTuple

__all__ = ["ConditionCase", "ConditionTexts", "TopologyStatus"]


class ConditionCase(NamedTuple):
    """What a condition says in one case; `message` is a format of the names that the case has."""

    status: str
    reason: str
    message: str


class ConditionTexts(NamedTuple):
    """The condition of workloads; None: the revision has no such case, and the workload has no condition then.

    Messages may name `{topology}`, which is the ClusterTopology, and where levels are missing `{levels}`: their
    domains, broadest first, joined by `separator`.
    """

    type: str
    """The condition's type."""

    disabled: ConditionCase | None
    """Of a workload with constraints while TAS is disabled; one without has none."""

    unconstrained: ConditionCase | None
    """Of a workload without constraints; None: see `constrained_only`."""

    constrained_only: bool
    """Whether a workload without constraints has no condition; otherwise it is judged like any other."""

    unnamed: ConditionCase | None
    """Of a workload whose constraints name no topology; None: there is a default one."""

    topology_missing: ConditionCase | None
    """The ClusterTopology does not exist; None: while TAS is enabled it always does."""

    level_missing: ConditionCase
    """One level that the workload names does not exist."""

    levels_missing: ConditionCase
    """Several do not."""

    separator: str
    """What stands between the missing levels."""

    available: ConditionCase
    """Every level that the workload names exists."""


class TopologyStatus(NamedTuple):
    """What a ClusterTopology's condition Ready says; `{why}` is what the scheduler's API server answered."""

    ready: ConditionCase
    """The scheduler takes the object made of it."""

    failed: ConditionCase
    """The scheduler refuses it, for which the operator does not stop."""

    error_code: str
    """Code of the last error that goes with `failed`."""

    error_description: str
    """Its description."""
