"""What is printed of a placing, whatever the format."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.commands.place.placing import common_domain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from packwise.commands.place.cure import Second
    from packwise.commands.place.placing import GangAnswer, Placing, Situation
    from packwise.schedulers.kai.allocate.scene import KaiTopology, Node

__all__ = ["Placed"]


class Placed(NamedTuple):
    """The nodes by name, the placing, the reasons of each gang by its place in it, and how many more replicas fit.

    `further` is by namespace and name; None where it was not asked for. `seconds` are exact verdicts by the place of
    the gang.
    """

    situation: Situation
    nodes: Mapping[str, Node]
    placing: Placing
    reasons: tuple[tuple[str, ...], ...]
    further: Mapping[tuple[str, str], int] | None = None
    seconds: Mapping[int, Second] = {}

    def topology_of(self, gang: GangAnswer) -> KaiTopology | None:
        """The topology that the gang, or a part of it, names; without that, the only one there is."""
        job, known = gang.gang.job, self.situation.scene.topologies
        constraints = [job.constraint, *(group.constraint for group in job.sub_groups)]
        named = next((each.topology for each in constraints if each is not None and each.topology), "")
        if not named and len(known) == 1:
            return known[0]
        return next((topology for topology in known if topology.name == named), None)

    def domain_of(self, gang: GangAnswer, nodes: list[str]) -> str:
        """The domain that the nodes share; "" where they share none."""
        return common_domain(self.topology_of(gang), [self.nodes[name] for name in nodes])
