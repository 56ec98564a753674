"""The levels that KAI tries for a topology constraint, and its texts where it tries none.

Source: spec/placement.md#4, spec/podgrouper.md#9.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple

if TYPE_CHECKING:
    from packwise.schedulers.kai.allocate.scene import Constraint, KaiTopology

__all__ = ["Levels", "Silent", "depth_of", "levels_of", "no_such_topology"]


class Silent(NamedTuple):
    """A mistake in a constraint that KAI writes into its log only: the job is pending without any error."""

    text: str


class Levels(NamedTuple):
    """The levels of a constraint as indexes: candidates stand from the `finest` up to the `coarsest` (-1: the root).

    `required` and `preferred` are None where the constraint does not name them.
    """

    finest: int
    coarsest: int
    required: int | None
    preferred: int | None


def levels_of(topology: KaiTopology, constraint: Constraint, sub_group: str) -> Levels | Silent:
    """The levels of the constraint in the topology, or the mistake in it."""
    depths: dict[str, int | None] = {}
    for kind, level in (("required", constraint.required), ("preferred", constraint.preferred)):
        depths[kind] = depth_of(topology, level) if level else None
        if level and depths[kind] is None:
            return _unknown(topology, sub_group, kind, level)
    required, preferred = depths["required"], depths["preferred"]
    if required is not None and preferred is not None and preferred < required:
        # The search from the finest level up ends at the required one, and never sees the other.
        return _unknown(topology, sub_group, "preferred", constraint.preferred)
    finest = preferred if preferred is not None else required
    if finest is None:
        return Silent(
            f"no topology constraints were found for subgroup {sub_group}, with topology name {topology.name}"
        )
    return Levels(finest, -1 if required is None else required, required, preferred)


def depth_of(topology: KaiTopology, level: str) -> int | None:
    """The index of the level with that node label or alias; None where the topology has none."""
    level = topology.aliases.get(level, level)
    return topology.levels.index(level) if level in topology.levels else None


def no_such_topology(name: str) -> str:
    """KAI's text for a constraint of a Topology that is not there, which the pods see."""
    return f"Requested topology {name} does not exist"


def _unknown(topology: KaiTopology, sub_group: str, kind: str, level: str) -> Silent:
    return Silent(
        f"topology constraint error: sub-group {sub_group} specified '{level}' as the {kind} topology constraint "
        f"level, but the topology tree '{topology.name}' does not contain a level with this name"
    )
