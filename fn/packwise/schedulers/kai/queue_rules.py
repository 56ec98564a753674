"""Rules about Queues that can never satisfy their gangs: their node pool differs, or their limit is too low.

KAI accepts these objects without an error, and the pods wait. Source: spec/kai.md#8, spec/placement.md#9.1.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.result import Severity
from packwise.findings import Finding, Place, Rule, Stage
from packwise.objects.index import is_placeholder
from packwise.objects.kinds import DYNAMO_GRAPH, QUEUE, SCHEDULING_SHARD
from packwise.placement import Gang, GangPod
from packwise.revisions.kai import NO_DEPARTMENTS, minor_of
from packwise.schedulers.kai.allocate.scene import Scene, absent_queues
from packwise.schedulers.kai.allocate.session import JobTree, Queues, existing_queues, is_bounded
from packwise.schedulers.kai.gang_jobs import gang_jobs, is_of_kai, pool_of
from packwise.schedulers.kai.installation import installation_of
from packwise.schedulers.kai.pod_places import queue_place, written_podgroups
from packwise.schedulers.kai.podgroup import DEFAULT_QUEUE
from packwise.schedulers.kai.snapshot import QUEUE_MEMORY, Snapshot
from packwise.schedulers.simulation import TooManyPodsError
from packwise.wording import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from packwise.placement import Placement
    from packwise.schedulers import SchedulerInput
    from packwise.schedulers.kai.allocate.fit_errors import FitError
    from packwise.schedulers.kai.allocate.scene import QueueShare
    from packwise.schedulers.kai.installation import Installation

_POOL = Rule(
    "queue-pool",
    "A workload and its queues are in different node pools.",
    "spec/kai.md#8.2",
    Severity.WARNING,
)
_SHARD = Rule("node-pool-known", "A node pool has no SchedulingShard.", "spec/kai.md#8.1", Severity.WARNING)
_ABOVE = Rule(
    "queue-limit",
    "The limit of a queue is higher than the limit of its parent.",
    "spec/placement.md#9.1",
    Severity.WARNING,
)
_OVER = Rule(
    "gang-over-limit",
    "A gang requests more than its queues can ever provide.",
    "spec/placement.md#9.1",
    Severity.WARNING,
)
RULES = (_POOL, _SHARD, _ABOVE, _OVER)
"""Rules of queues that cannot give what workloads request."""


def check_queue_tree(source: SchedulerInput, shares: Sequence[QueueShare]) -> Iterator[Finding]:
    """Yield warnings about Queues and gangs in different node pools, and about limits that are too high or too low."""
    installation = installation_of(source.inventory.items)
    yield from _queues_in_pools(source, shares, installation)
    yield from _gangs_in_pools(source, shares, installation)
    yield from _limits(source, {share.name: share for share in shares})
    yield from _gangs_over_limits(source, shares)


def check_pools(source: SchedulerInput) -> Iterator[Finding]:
    """Yield a warning for each node pool that a Queue or a workload names if no SchedulingShard serves it."""
    installation = installation_of(source.inventory.items)
    known = sorted(filter(None, installation.shards))
    key = installation.pool_label
    places = [
        (item.get(("metadata", "labels", key)), Place(item, ("metadata", "labels", key)))
        for item in source.inventory.items.of_kind(*QUEUE.key)
    ]
    places += [
        (pool_of(placement, gang, key), _label_place(placement, gang, key)) for placement, gang in _gangs(source)
    ]
    for pool, place in places:
        if isinstance(pool, str) and pool and pool not in known and not is_placeholder(pool):
            message = (
                f'no {SCHEDULING_SHARD.name} of the input has the node pool "{pool}", so no scheduler '
                f"of KAI serves it. Set partitionLabelValue of a shard to this pool{did_you_mean(pool, known)}"
            )
            yield place.finding(_SHARD, message)


def _gangs(source: SchedulerInput) -> Iterator[tuple[Placement, Gang]]:
    """Yield the gangs that KAI schedules. Skip a gang if an earlier one has the same workload, queue and pods."""
    first: dict[tuple[int, str, tuple[str, ...]], tuple[Placement, Gang]] = {}
    for placement in source.placements:
        gang = placement.node
        if isinstance(gang, Gang) and is_of_kai(gang):
            size = tuple(f"{leaf.members}/{leaf.replicas}/{id(leaf.pod_spec)}" for leaf in gang.leaves)
            first.setdefault((id(placement.subject), gang.queue or "", size), (placement, gang))
    return iter(first.values())


def _label_place(placement: Placement, gang: Gang, key: str) -> Place:
    """Return the place of the workload's node pool label, or the workload itself if the place is unknown."""
    own = Place(placement.subject, ("metadata", "labels", key))
    for place in (own, *[leaf.origin.place.child(*steps, key) for leaf in gang.leaves for steps in _LABELS]):
        if not place.embedded and place.item.get(place.path) is not None:
            return place
    return Place(placement.subject)


_LABELS = (("metadata", "labels"), ("labels",), ("template", "metadata", "labels"))


def _pool_text(pool: str) -> str:
    return f'in the node pool "{pool}"' if pool else "in no node pool"


def _queues_in_pools(
    source: SchedulerInput, shares: Sequence[QueueShare], installation: Installation
) -> Iterator[Finding]:
    by_name = {share.name: share for share in shares}
    for item in source.inventory.items.of_kind(*QUEUE.key):
        share = by_name.get(item.name)
        parent = by_name.get(share.parent) if share is not None else None
        if share is None or parent is None or share.pool == parent.pool:
            continue
        message = (
            f'the parent "{parent.name}" is {_pool_text(parent.pool)}, but this queue is {_pool_text(share.pool)}. '
            "KAI drops the queue and its children. Give the queue and its parent the same label "
            f"{installation.pool_label}"
        )
        yield Finding.of(_POOL, item, ("spec", "parentQueue"), message)


def _gangs_in_pools(
    source: SchedulerInput, shares: Sequence[QueueShare], installation: Installation
) -> Iterator[Finding]:
    by_name = {share.name: share for share in shares}
    key = installation.pool_label
    seen: set[tuple[int, str]] = set()
    for placement, gang in _gangs(source):
        share, pool = by_name.get(gang.queue or ""), pool_of(placement, gang, key)
        at = id(placement.subject), gang.queue or ""
        if share is None or share.pool == pool or is_placeholder(pool) or at in seen:
            continue
        seen.add(at)
        message = (
            f'the queue "{share.name}" is {_pool_text(share.pool)}, but the pods are {_pool_text(pool)}, and their '
            f"scheduler does not see the queue; {_fix_text(placement, share.pool, key)}"
        )
        yield queue_place(gang).finding(
            _POOL, message, operator_message=_missing_queue_text(share, source), stage=Stage.SCHEDULER
        )
    for item in written_podgroups(source.inventory.items):
        share, pool = by_name.get(str(item.get(("spec", "queue")))), item.labels.get(key, "")
        if share is not None and share.pool != pool and not is_placeholder(pool):
            fix = f"add the label {key}: {share.pool}" if share.pool else f"remove the label {key}"
            message = (
                f'the queue "{share.name}" is {_pool_text(share.pool)}, but the PodGroup is {_pool_text(pool)}, and '
                f"its scheduler does not see the queue; {fix}"
            )
            place = Place(item, ("spec", "queue"))
            text = _missing_queue_text(share, source)
            yield place.finding(_POOL, message, operator_message=text, stage=Stage.SCHEDULER)


def _missing_queue_text(share: QueueShare, source: SchedulerInput) -> str | None:
    """Return KAI's text about a queue in another node pool. Return None for KAI before v0.13, which has no text."""
    return None if minor_of(source.settings.kai_version) < NO_DEPARTMENTS else f"Queue '{share.name}' does not exist"


def _fix_text(placement: Placement, pool: str, key: str) -> str:
    """Return the fix that puts the workload into the node pool of its queue."""
    if not pool:
        return f"remove the label {key} of the workload, or add it to the queue and its parents"
    # Dynamo's operator copies `spec.labels` to the pods, and not `metadata.labels`.
    field = "spec.labels" if placement.subject.kind == DYNAMO_GRAPH.name else "metadata.labels"
    return f"add the label {key}: {pool} to {field}"


def _limits(source: SchedulerInput, by_name: Mapping[str, QueueShare]) -> Iterator[Finding]:
    """Yield a finding for each limit of a Queue that is above its parent's limit. No pod can use the difference."""
    for item in source.inventory.items.of_kind(*QUEUE.key):
        share = by_name.get(item.name)
        parent = by_name.get(share.parent) if share is not None else None
        if share is None or parent is None:
            continue
        pairs = (
            ("cpu", share.cpu, parent.cpu),
            ("gpu", share.gpu, parent.gpu),
            ("memory", share.memory, parent.memory),
        )
        for field, own, above in pairs:
            # A queue without a limit uses its parent's limit, which is usual.
            if own.limit is not None and above.limit is not None and own.limit > above.limit:
                path = ("spec", "resources", field, "limit")
                message = (
                    f"{_amount_text(own.limit, field)} is more than the limit of the parent "
                    f'"{parent.name}", {_amount_text(above.limit, field)}, and the queue never gets that '
                    "much; lower it, or raise the parent's limit"
                )
                yield Finding.of(_ABOVE, item, path, message)


def _amount_text(amount: float, field: str) -> str:
    """Return an amount as text, in the unit that Queues use for the resource `field`."""
    return f"{amount / QUEUE_MEMORY if field == 'memory' else amount:g}"


def _gangs_over_limits(source: SchedulerInput, shares: Sequence[QueueShare]) -> Iterator[Finding]:
    """Yield a finding for each gang that needs more to start than its queue, or an ancestor queue, allows."""
    known = existing_queues(shares)
    chosen = [placement for placement, gang in _gangs(source) if is_bounded(gang.queue or DEFAULT_QUEUE, known)]
    if not chosen:
        return
    names = {gang.name for placement in chosen if isinstance(gang := placement.node, Gang)}
    pods = [each for each in source.placements if isinstance(each.node, GangPod) and each.node.gang in names]
    try:
        jobs = gang_jobs(source.replace(placements=(*_distinct_placements(chosen), *pods)), Snapshot(()))
    except TooManyPodsError:
        return
    has_departments = minor_of(source.settings.kai_version) < NO_DEPARTMENTS
    queues = Queues(Scene((), (), tuple(shares), (), has_departments=has_departments))
    absent = {pool: absent_queues(shares, pool) for pool in {each.job.pool for each in jobs}}
    for gang_job in jobs:
        job = gang_job.job
        if job.queue in absent[job.pool]:
            continue
        refusal = queues.refusal(job, JobTree(job, 0).root.next_pods()) if queues.is_tried(job.queue) else None
        if refusal is not None:
            yield _over_limit_finding(gang_job.gang, refusal)


def _distinct_placements(placements: Iterable[Placement]) -> Iterator[Placement]:
    """Yield the placements. Each gang counts once, even if `alike` counts several equal gangs."""
    for placement in placements:
        gang = placement.node
        yield placement.replace(node=gang.replace(alike=1)) if isinstance(gang, Gang) else placement


def _over_limit_finding(gang: Gang, refusal: FitError) -> Finding:
    text = refusal.messages[0].rstrip(".")
    message = (
        f'the gang "{gang.name}" requests more than its queues can ever give, and never starts: {text}; request less, '
        "or raise the limit"
    )
    return queue_place(gang).finding(
        _OVER, message, operator_message=f"{refusal.reason}: {text}", stage=Stage.SCHEDULER
    )
