"""A level is a domain and the node label that tells its members apart; a ClusterTopology is an ordered list of them."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["DOMAINS", "ClusterTopology", "Level", "is_narrower", "rank", "sort_levels"]

DOMAINS: tuple[str, ...] = ("region", "zone", "datacenter", "block", "rack", "host", "numa")
"""The seven domains, broadest first. Source: spec/grove.md#4.3, #r45."""

_RANK = {domain: rank for rank, domain in enumerate(DOMAINS)}


class Level(NamedTuple):
    """One level: `domain` is its name, `key` the node label key."""

    domain: str
    key: str


class ClusterTopology(NamedTuple):
    """A named topology; `levels` in hierarchy order, broadest first."""

    name: str
    levels: tuple[Level, ...]

    def level_of(self, domain: str) -> Level | None:
        """The level of `domain`, or None when this topology has no such level."""
        for level in self.levels:
            if level.domain == domain:
                return level
        return None

    @property
    def strictest(self) -> Level | None:
        """The narrowest level; None without levels."""
        return self.levels[-1] if self.levels else None

    @property
    def domains(self) -> tuple[str, ...]:
        """The domains of the levels, in hierarchy order."""
        return tuple(level.domain for level in self.levels)


def rank(domain: str) -> int:
    """Where `domain` stands among the seven, 0 broadest; an unknown domain ranks 0, as in the operator's lookup."""
    return _RANK.get(domain, 0)


def is_narrower(domain: str, other: str) -> bool:
    """Whether `domain` is strictly narrower than `other` in the fixed order of the seven. Source: spec/grove.md#r45."""
    return rank(domain) > rank(other)


def sort_levels(levels: Iterable[Level]) -> tuple[Level, ...]:
    """`levels` from broadest to narrowest by the fixed order of the seven; levels of equal rank keep their order."""
    return tuple(sorted(levels, key=lambda level: rank(level.domain)))
