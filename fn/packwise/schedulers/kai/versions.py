"""Releases of KAI by the fields that they read, as minor versions."""

from __future__ import annotations

from krmfn.record import Record


class Versions(Record):
    """The minor versions from `first` to `last`, both included: (15, 17) is v0.15 to v0.17."""

    first: int
    last: int

    def within(self, other: Versions) -> Versions | None:
        """Return the common versions, or None."""
        shared = Versions(max(self.first, other.first), min(self.last, other.last))
        return shared if shared.first <= shared.last else None

    @property
    def text(self) -> str:
        """The range as a message names it, in the singular: `KAI from v0.15 on`."""
        if self == KNOWN:
            return "KAI"
        if self.last == KNOWN.last:
            return f"KAI from v0.{self.first} on"
        if self.first == self.last:
            return f"KAI v0.{self.first}"
        return f"KAI v0.{self.first} to v0.{self.last}"


KNOWN = Versions(12, 18)
"""All known versions. packwise assumes that newer ones behave like the last one."""


SUBGROUP_COUNTS = 15
"""The first version in which a PodGroup can set the number of needed subgroups (minSubGroup)."""


LEVEL_ALIASES = 17
"""The first version whose Topologies have other names of levels (alias). Only these may change."""


SEGMENT_COUNTS = 16
"""The first version whose pod-grouper writes the number of needed subgroups, not of pods."""


NO_TAINT_NAMES = 17
"""The first version whose messages do not name the taint that a pod does not tolerate."""


def minor_of(version: str | None) -> int:
    """Return the number of `version`, such as `v0.15` in `kai.version`, or the newest known one for None."""
    return KNOWN.last if version is None else int(version.removeprefix("v0."))


def versions_for(version: str | None, *, counts_subgroups: bool = False) -> Versions:
    """Return the versions that the output must suit: `version` and newer ones, or all for None.

    A PodGroup that counts subgroups always needs v0.15 or newer. Source: spec/packwise.md#2.
    """
    if version is not None:
        return Versions(minor_of(version), KNOWN.last)
    return Versions(SUBGROUP_COUNTS, KNOWN.last) if counts_subgroups else KNOWN


NAME = "KAI"
"""The scheduler's name in messages."""
