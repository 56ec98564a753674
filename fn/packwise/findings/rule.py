"""A rule as users know it, how bad it is to break it, and who would refuse what breaks it."""

from __future__ import annotations

from enum import StrEnum

from krmfn.record import NamedTuple
from krmfn.result import Severity

__all__ = ["Rule", "Severity", "Stage"]


class Stage(StrEnum):
    """Who would refuse the object. Source: spec/packwise.md#3, `tags.stage`."""

    CONFIG = "config"
    """The operator, at its start."""
    DECODE = "decode"
    """The typed decoder."""
    SCHEMA = "schema"
    """The API server, by the schema of the resource."""
    WEBHOOK = "webhook"
    """The operator's webhook."""
    POD = "pod"
    """The API server, each time that the operator creates a pod of the workload, which itself is taken."""
    SCHEDULER = "scheduler"
    """The scheduler, of the pods of a workload that was taken: in an event of theirs, or in its log."""


class Rule(NamedTuple):
    """A rule as users know it: `name` is stable and public, `summary` one line.

    `source` is a link from `docs/` to the section that it follows from: `spec/grove.md#r08`.

    `once`: it is about all workloads of a package, and reported at one of them.
    """

    name: str
    summary: str
    source: str
    severity: Severity = Severity.ERROR
    once: bool = False
