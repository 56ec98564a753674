"""All that is checked of what the input has of Kueue, in order."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.schedulers.kueue.jobs import check_jobs, jobs_of
from packwise.schedulers.kueue.objects import check_objects

if TYPE_CHECKING:
    from collections.abc import Iterator

    from packwise.findings.finding import Finding
    from packwise.revisions.kueue import KueueRelease
    from packwise.schedulers.scheduler import SchedulerInput

__all__ = ["check"]


def check(source: SchedulerInput, release: KueueRelease) -> Iterator[Finding]:
    """What Kueue refuses or ignores in users' objects."""
    yield from check_objects(source, release)
    jobs = jobs_of(source.inventory.items)
    yield from check_jobs(jobs, source.inventory, release)
