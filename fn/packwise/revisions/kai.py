"""Releases of KAI as data: the groups that their pod-grouper makes from workloads, and the fields that they read.

Source: spec/podgrouper.md#11, spec/kai.md (v0.12 to v0.18).
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from typing import Literal


class KaiRelease(Record):
    """One minor release of KAI, with the differences of its pod-grouper."""

    name: str
    """The minor release, such as `v0.17`."""

    minor: int
    """The number of the minor release, which decides the rules of KAI's objects."""

    source: str
    """The tag of the code that was run or read to learn this behaviour."""

    is_run: bool = True
    """True if its code was run. If it was only read, packwise warns and refuses nothing."""

    skips_by_annotation: bool = True
    """True if KAI reads `kai.scheduler/skip-podgrouper`."""

    delays: bool = True
    """True if KAI reads preemption-delay and staleness-grace-period."""

    groups_jobs: bool = True
    """True if the pods of a Job are one group, False if each pod is one."""

    batch_min_member: bool = True
    """True if KAI reads `kai.scheduler/batch-min-member`."""

    job_sets: Literal["tree", "flat", "counted"] = "tree"
    """The group of a JobSet: a tree of its Jobs, or a flat group of one pod (or the annotation's number), or of all
    pods.
    """

    counts_segments: bool = True
    """True if the parent of segments contains the number of needed subgroups, False if it contains a number of pods."""

    ray_group_topology: bool = True
    """True if KAI reads topology keys in the pod template of a Ray group."""

    passes_defaults: bool = True
    """True if the object that is created from a TrainJob or a Workflow has the defaults of that type."""


_17 = KaiRelease(name="v0.17", minor=17, source="v0.17.0, run")
_18 = _17.replace(name="v0.18", minor=18, source="read, not run; treated as v0.17", is_run=False)
_16 = _17.replace(name="v0.16", minor=16, source="v0.16.8, run", delays=False)
_15 = _16.replace(name="v0.15", minor=15, source="v0.15.3, run", job_sets="flat", counts_segments=False)
_14 = _15.replace(name="v0.14", minor=14, source="v0.14.7, run", skips_by_annotation=False, job_sets="counted")
_13 = _14.replace(
    name="v0.13", minor=13, source="v0.13.4, run", groups_jobs=False, batch_min_member=False, ray_group_topology=False,
    passes_defaults=False,
)  # fmt: skip

RELEASES = (_13, _14, _15, _16, _17, _18)
"""Every release with a record, oldest first."""

OLDEST = 12
"""The oldest minor release with an API that the output supports. It has no record."""

NEWEST = _17
"""The release that packwise assumes if none is set: the newest release that was run."""

_BY_NAME = {release.name: release for release in RELEASES}


def release_of(name: str | None) -> KaiRelease:
    """Return the record of a release such as `v0.16`. For None and for a newer release, return the assumed one.

    For an older release, return the oldest record.
    """
    if name is None:
        return NEWEST
    known = _BY_NAME.get(name)
    if known is not None:
        return known
    return RELEASES[0] if int(name.removeprefix("v0.")) < RELEASES[0].minor else NEWEST


class Versions(Record):
    """The minor versions from `oldest` to `newest`, both included: (15, 17) is v0.15 to v0.17."""

    oldest: int
    newest: int

    def intersection(self, other: Versions) -> Versions | None:
        """Return the common versions, or None."""
        shared = Versions(max(self.oldest, other.oldest), min(self.newest, other.newest))
        return shared if shared.oldest <= shared.newest else None

    @property
    def text(self) -> str:
        """Return the range as a message names it, in the singular: `KAI from v0.15 on`."""
        if self == KNOWN:
            return "KAI"
        if self.newest == KNOWN.newest:
            return f"KAI from v0.{self.oldest} on"
        if self.oldest == self.newest:
            return f"KAI v0.{self.oldest}"
        return f"KAI v0.{self.oldest} to v0.{self.newest}"


KNOWN = Versions(OLDEST, RELEASES[-1].minor)
"""All known versions. packwise assumes that newer ones behave like the last one."""


SUBGROUP_COUNTS = 15
"""The first version in which a PodGroup can set the number of needed subgroups (minSubGroup)."""


LEVEL_ALIASES = 17
"""The first version with Topologies that have other names of levels (alias). Only the aliases may change."""


SEGMENT_COUNTS = 16
"""The first version with a pod-grouper that writes the number of needed subgroups, not of pods."""


NO_DEPARTMENTS = 13
"""The first version that schedules pods of a queue without a parent. Older ones call the parent a department.

It is also the first one that skips pods of a queue with children, and that reports a missing queue.
"""


NO_TAINT_NAMES = 17
"""The first version with messages that do not name the taint that a pod does not tolerate."""


def minor_of(version: str | None) -> int:
    """Return the minor number of `version`, such as 15 for `v0.15`, or the newest known one for None."""
    return KNOWN.newest if version is None else int(version.removeprefix("v0."))


def versions_for(version: str | None, *, counts_subgroups: bool = False) -> Versions:
    """Return the versions that the output must suit: `version` and newer ones, or all known versions for None.

    A PodGroup that counts subgroups always needs v0.15 or newer. Source: spec/packwise.md#2.
    """
    if version is not None:
        return Versions(minor_of(version), KNOWN.newest)
    return Versions(SUBGROUP_COUNTS, KNOWN.newest) if counts_subgroups else KNOWN
