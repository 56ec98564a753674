"""What the pipeline asks of a scheduler."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from krmfn.value import Value
    from packwise.plan import GangTraits
    from packwise.request import Asked
    from packwise.schedulers.fault import Fault, Target
    from packwise.topology import ClusterTopology

__all__ = ["Refusal", "Scheduler"]


class Refusal(NamedTuple):
    """Why a scheduler would not take a topology: of the level at `index`, or (None) of all of them.

    `api_text` is what its API server says of the field. `operator_message` is the same, where its CRD is at hand.
    """

    index: int | None  # pyright: ignore[reportIncompatibleMethodOverride]
    message: str
    api_text: str
    operator_message: str | None = None


class Scheduler(Protocol):
    """A scheduler that reads topologies of its own kind."""

    @property
    def name(self) -> str:
        """What messages call it."""
        ...

    @property
    def profile(self) -> str:
        """What Grove's scheduler profiles, and pods, call it."""
        ...

    @property
    def group(self) -> str:
        """API group of its topology objects."""
        ...

    @property
    def topology_kind(self) -> str:
        """Kind of its topology objects, as in `emit`."""
        ...

    @property
    def topology_immutable(self) -> bool:
        """Whether its API server refuses every change of a topology object."""
        ...

    def topology_value(self, topology: ClusterTopology) -> Mapping[str, Value]:
        """The scheduler's own object for `topology`."""
        ...

    def read_keys(self, value: Mapping[str, Value]) -> list[str]:
        """The node label keys of one of its own objects, broadest first; what is no text is left out."""
        ...

    def refusals(self, keys: Sequence[str]) -> list[Refusal]:
        """What its API server would refuse in an object with these node label keys."""
        ...

    def requested_value(self, asked: Asked) -> Mapping[str, Value]:
        """The scheduler's own object for what a front end asks."""
        ...

    @property
    def podgroup_group(self) -> str:
        """API group of its groups of pods."""
        ...

    @property
    def podgroup_kind(self) -> str:
        """Kind of its groups of pods, as in `emit`."""
        ...

    @property
    def default_queue(self) -> str:
        """The queue of pods that name none."""
        ...

    def podgroup_value(self, podgang: Mapping[str, Value], traits: GangTraits, target: Target) -> Mapping[str, Value]:
        """Its own object for a PodGang.

        Raises ValueError, with the scheduler's own text, where a constraint is of no topology.
        """
        ...

    def podgroup_notes(self, target: Target) -> Sequence[str]:
        """What its objects for PodGangs do without, for the sake of the version."""
        ...

    def podgroup_faults(
        self, value: Mapping[str, Value], target: Target, *, update: bool = False, schema: bool = True
    ) -> Sequence[Fault]:
        """What it has against a group of pods; `update` of one that is there. Without `schema` its CRD is left out."""
        ...

    def topology_faults(self, value: Mapping[str, Value], target: Target, *, schema: bool = True) -> Sequence[Fault]:
        """What it has against a topology object that a user wrote, beside what `refusals` tells."""
        ...

    def level_names(self, value: Mapping[str, Value]) -> Sequence[str]:
        """What constraints may call the levels of one of its topology objects."""
        ...
