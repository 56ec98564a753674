"""All that is checked of what the input has of Kueue, in order; and the rules of it."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.schedulers.kueue import admission, chain, ignored, keys, objects, podsets
from packwise.schedulers.kueue.admission import check_jobs
from packwise.schedulers.kueue.chain import check_chain
from packwise.schedulers.kueue.ignored import check_ignored
from packwise.schedulers.kueue.keys import check_keys
from packwise.schedulers.kueue.objects import check_objects
from packwise.schedulers.kueue.podsets import check_runtimes, jobs_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from packwise.findings.finding import Finding
    from packwise.objects import Generated
    from packwise.revisions.kueue import KueueRelease
    from packwise.schedulers import SchedulerInput

RULES = (
    *objects.RULES, *admission.RULES, *podsets.RULES, *chain.RULES, *keys.RULES, *ignored.RULES,
)  # fmt: skip
"""Every rule of Kueue, in the order in which they are checked."""


def check(source: SchedulerInput, generated: Sequence[Generated], release: KueueRelease) -> Iterator[Finding]:
    """Findings about what Kueue refuses or ignores; `generated` are the rendered objects of its kinds."""
    yield from check_objects(source, release)
    jobs = jobs_of(source.inventory.items)
    yield from check_jobs(jobs, source.inventory, release)
    yield from check_runtimes(source.inventory.items)
    yield from check_chain(source, jobs, generated, release)
    yield from check_keys(source.inventory.items)
    yield from check_ignored(source.inventory.items, jobs, release, source.settings.kai_name)
