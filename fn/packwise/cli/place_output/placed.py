"""What is printed of a placing, whatever the format."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.cli.coverage import Coverage
from packwise.commands.place.placing import common_domain, topology_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from packwise.commands.place.cure import Second
    from packwise.commands.place.placing import GangAnswer, Move, Placing, Situation
    from packwise.schedulers.kai.allocate.scene import Node

__all__ = ["Baseline", "Placed"]


class Baseline(NamedTuple):
    """The state before a change, which the user calls `name`, placed on the same nodes; what the change moves."""

    name: str
    placed: Placed
    moves: tuple[Move, ...]


class Placed(NamedTuple):
    """The nodes by name, the placing, the reasons of each gang by its place in it, and how many more replicas fit.

    `further` is by namespace and name; None where it was not asked for. `seconds` are exact verdicts by the place of
    the gang. `baseline` is the state before the change under review, None where nobody named one.
    `coverage` is what was judged of the input.
    """

    situation: Situation
    nodes: Mapping[str, Node]
    placing: Placing
    reasons: tuple[tuple[str, ...], ...]
    further: Mapping[tuple[str, str], int] | None = None
    seconds: Mapping[int, Second] = {}
    baseline: Baseline | None = None
    coverage: Coverage = Coverage()

    def domain_of(self, gang: GangAnswer) -> str:
        """The domain that the nodes of the gang share; "" where they share none, or there are none."""
        names = sorted({node for _, spread in gang.spread for node, _ in spread})
        return common_domain(topology_of(self.situation, gang), [self.nodes[name] for name in names]) if names else ""
