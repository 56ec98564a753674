"""KAI's errors about domains that are too small. Jobs with the same pods share them."""

from __future__ import annotations

from packwise.schedulers.kai.allocate.fit_errors import DomainErrors, PartErrors
from packwise.schedulers.kai.allocate.scene import (
    CPU,
    GPU,
    PODS,
    Job,
    KaiTopology,
    LevelConstraint,
    Node,
    Pod,
    QueueShare,
    Scene,
)
from packwise.schedulers.kai.allocate.session import JobAnswer, allocate

NODES = tuple(
    Node(f"n{place}", {"zone": f"z{place // 4}", "rack": f"r{place // 2}"}, {CPU: 8000, GPU: 8, PODS: 110})
    for place in range(8)
)


def job(name: str, cpu: int = 1000, topology: str = "t") -> Job:
    """Return a gang with pods of two kinds that fits into no rack."""
    requests = [((CPU, cpu),), *[((CPU, 5000), (GPU, 8))] * 3]
    pods = tuple(Pod(f"{name}-{place}", request) for place, request in enumerate(requests))
    return Job(name, "q", 50, pods, min_members=4, constraint=LevelConstraint(topology, "rack"))


def answers(*jobs: Job) -> list[JobAnswer]:
    topologies = (KaiTopology("t", ("zone", "rack")), KaiTopology("u", ("zone", "rack")))
    return list(allocate(Scene(NODES, topologies, (QueueShare("q"),), jobs)).jobs)


def errors_of(answer: JobAnswer) -> DomainErrors:
    (errors,) = [each for each in answer.refusals if isinstance(each, PartErrors)]
    return errors.domains


def test_jobs_with_the_same_pods_share_the_errors_of_domains() -> None:
    first, second = answers(job("a"), job("b"))

    assert errors_of(first) is errors_of(second)
    assert [error.detail.partition(">")[0] for error in first.errors[:-1]] == [f"<z{at // 2}.r{at}" for at in range(4)]


def test_requests_that_differ_within_a_core_have_errors_of_their_own() -> None:
    # KAI compares whole cores, and names exact amounts.
    apart = [answers(each)[0].errors for each in (job("a", 7001), job("a", 7501))]

    assert [answer.errors for answer in answers(job("a", 7001), job("a", 7501))] == apart
    assert apart[0] != apart[1]


def test_topologies_with_the_same_levels_have_errors_of_their_own() -> None:
    shortages = [answer.nearest_shortage for answer in answers(job("a"), job("b", topology="u"))]

    assert [shortage is not None and shortage.topology for shortage in shortages] == ["t", "u"]
