"""What the pipeline asks of a scheduler."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krmfn.value import Value
    from packwise.topology import ClusterTopology

__all__ = ["Refusal", "Scheduler"]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a scheduler would not take a topology: of the level at `index`, or (None) of all of them."""

    index: int | None
    message: str


class Scheduler(Protocol):
    """A scheduler that reads topologies of its own kind."""

    @property
    def name(self) -> str:
        """What messages call it."""
        ...

    @property
    def topology_kind(self) -> str:
        """Kind of its topology objects, as in `emit`."""
        ...

    def topology_value(self, topology: ClusterTopology) -> Mapping[str, Value]:
        """The scheduler's own object for `topology`."""
        ...

    def refusals(self, topology: ClusterTopology) -> list[Refusal]:
        """What its API server would refuse in that object."""
        ...
