"""What Kueue's webhooks refuse in the jobs of the input, as findings. Source: spec/kueue.md#2 and #4."""

from __future__ import annotations

from dataclasses import dataclass

from krmfn.hints import TYPE_CHECKING
from packwise.findings.finding import Finding, Rule, Severity, Stage
from packwise.schedulers.kueue.admission import admission_problems
from packwise.schedulers.kueue.podsets import KINDS
from packwise.schedulers.kueue.trainjobs import TRAIN_JOB, runtime_of, runtimes, train_job_kind
from packwise.wording import closest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krmfn.kubeobject import KubeObject
    from packwise.objects.index import Index
    from packwise.objects.inventory import Inventory
    from packwise.revisions.kueue import KueueRelease
    from packwise.schedulers.kueue.podsets import JobKind, PodSet

__all__ = ["RULES", "Job", "check_jobs", "jobs_of"]

REFUSED = Rule("kueue-refused", "Kueue's webhooks take the job.", "spec/kueue.md#2")
RUNTIME = Rule("kueue-runtime", "The runtime of a TrainJob is there.", "spec/kueue.md#3", Severity.WARNING)
RULES = (REFUSED, RUNTIME)
"""Rules of jobs."""


@dataclass(frozen=True, slots=True)
class Job:
    """A job of the input and the pod sets that Kueue makes of it."""

    item: KubeObject
    kind: JobKind
    sets: tuple[PodSet, ...]


def jobs_of(index: Index) -> list[Job]:
    """The jobs of the input that Kueue's webhooks see, whether they name a queue or not."""
    jobs = [
        Job(item, kind, tuple(kind.pod_sets(item.value)))
        for kind in KINDS.values()
        for item in index.of_kind(*kind.key)
    ]
    for item in index.of_kind(*TRAIN_JOB):
        runtime = runtime_of(index, item)
        kind = None if runtime is None else train_job_kind(runtime, item.value)
        if kind is not None:
            jobs.append(Job(item, kind, tuple(kind.pod_sets(item.value))))
    return jobs


def check_jobs(jobs: list[Job], inventory: Inventory, release: KueueRelease) -> Iterator[Finding]:
    """What the webhooks refuse, in their order, and TrainJobs whose runtime is missing among others."""
    for job in jobs:
        problems = admission_problems(job.kind, job.item.value, inventory.before(job.item.value), release)
        for order, problem in enumerate(problems):
            yield Finding.about(problem, job.item, REFUSED, order=order)
    for item in inventory.items.of_kind(*TRAIN_JOB):
        yield from _missing_runtime(item, inventory.items)


def _missing_runtime(item: KubeObject, index: Index) -> Iterator[Finding]:
    name = item.get("spec.runtimeRef.name")
    known = [runtime.name for runtime in runtimes(index, item.value)]
    if isinstance(name, str) and known and runtime_of(index, item) is None:
        message = (
            f'names the runtime "{name}", which is not among those of the input{closest(name, known)}: Kueue refuses '
            "the job while there is none"
        )
        text = f"runtime '{name}' not found"
        path = ("spec", "runtimeRef", "name")
        yield Finding.of(RUNTIME, item, path, message, operator_message=text, stage=Stage.WEBHOOK)
