"""Why the scheduler gets what it gets: every value of a render with its origin, and what is missing with the reason."""

from __future__ import annotations

from packwise.commands.explain.explanation import (
    Cause,
    Chosen,
    Emitted,
    EmittedValue,
    Explanation,
    GangTree,
    LevelNode,
    QueuedSet,
    SetTree,
    TopologyNode,
    WorkloadTree,
    at_line,
    explanation_of,
    location_of,
    named,
    names,
    values_of,
)

__all__ = [
    "Cause",
    "Chosen",
    "Emitted",
    "EmittedValue",
    "Explanation",
    "GangTree",
    "LevelNode",
    "QueuedSet",
    "SetTree",
    "TopologyNode",
    "WorkloadTree",
    "at_line",
    "explanation_of",
    "location_of",
    "named",
    "names",
    "values_of",
]
