"""KAI's texts about a job that does not fit, and the message in the status of its PodGroup that sums them up.

Source: spec/placement.md#7.
"""

from __future__ import annotations

from collections import Counter
from math import ceil

from krmfn.hints import TYPE_CHECKING, Record
from packwise.schedulers.kai.allocate.scene import CPU, DEFAULT_POD_SET, GPU, MEMORY, PODS
from packwise.schedulers.kai.allocate.state import MIG, gpus_of, portion_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from packwise.schedulers.kai.allocate.scene import Job, LevelConstraint, Node, Pod

JOINT = ". \n"
"""KAI's separator between the reasons of a message."""

_NO_ROOM = "Not enough resources for the workload"
_UNPLACED = "PodSchedulingErrors"
_SHOWN = ((CPU, "CPU cores"), (MEMORY, "memory"), (GPU, "GPUs"))
_STORAGE = "ephemeral-storage"
_UNITS = {CPU: 1000, MEMORY: 10**9, _STORAGE: 10**9}
_QUEUE_WORDS = {GPU: ("GPUs", "GPUs"), CPU: ("CPU cores", "cores"), MEMORY: ("memory", "GB")}

OVER_LIMIT = "OverLimit"
OVER_QUOTA = "NonPreemptibleOverQuota"


class Shortage(Record):
    """A domain that is too small: it has room for `fitting_pods` of `requested_pods` pods.

    `fitting_pods` is None if KAI compares sums of resources. `domain` is the id of the domain in `topology`. `level` is
    its node label, or "" for the whole topology. `sub_group` is the part of the job that does not fit. `missing` is the
    missing amount of each resource. `is_counted` is false if KAI counts no free resources in the domain, because all
    nodes share a finer domain and KAI counts only there.
    """

    sub_group: str
    topology: str
    domain: str
    level: str
    fitting_pods: int | None
    requested_pods: int
    missing: tuple[tuple[str, float], ...]
    is_counted: bool


class FitError(Record):
    """An error about a job. The status of its PodGroup has the `messages`, or `detail` if KAI reports details.

    `shortage` is the domain that is too small, if the error is about a domain.
    """

    reason: str
    messages: tuple[str, ...]
    detail: str
    shortage: Shortage | None = None


class DomainErrors:
    """The errors of all domains of a level that are too small for the same pods. They do not name a subgroup.

    KAI reports each domain, and a large cluster has thousands. So jobs with the same pods share these errors until a
    free amount changes. `counted` are the errors of domains in which KAI counts free resources. In all other `domains`,
    KAI counts no free resources. `wanted` is the request of all pods together. `empty` is the shortage of a domain
    without free resources. Its `domain` is "". `errors` replaces "" by the id of each domain.
    """

    def __init__(
        self, counted: Sequence[FitError], domains: Iterable[str], wanted: Mapping[str, float], empty: Shortage
    ) -> None:
        self._counted = {error.shortage.domain: error for error in counted if error.shortage is not None}
        self._domains = domains
        self._wanted = wanted
        self._empty = empty
        uncounted = [domain for domain in domains if domain not in self._counted]
        self.number = len(self._counted) + len(uncounted)
        self.messages = Counter(message for error in counted for message in error.messages)
        for message in self._empty_error(uncounted[0]).messages if uncounted else ():
            self.messages[message] += len(uncounted)
        nearest = self._counted.values() or map(self._empty_error, uncounted[:1])
        self.nearest = nearest_shortage([error.shortage for error in nearest if error.shortage is not None])

    def errors(self) -> Iterator[FitError]:
        """Yield the error of each domain."""
        for domain in self._domains:
            yield self._counted[domain] if domain in self._counted else self._empty_error(domain)

    def _empty_error(self, domain: str) -> FitError:
        error = insufficient_resources(domain, {}, self._wanted)
        return error.replace(shortage=self._empty.replace(domain=domain))


class PartErrors(Record):
    """The errors of domains that are too small for the pods of a subgroup."""

    sub_group: str
    domains: DomainErrors

    def errors(self) -> Iterator[FitError]:
        """Yield the error of each domain."""
        whose = f"subgroup {self.sub_group}: " if self.sub_group not in ("", DEFAULT_POD_SET) else ""
        for error in self.domains.errors():
            if error.shortage is not None:
                start = f"<{error.shortage.domain}>: "
                detail = f"{start}{whose}{error.detail.removeprefix(start)}"
                yield error.replace(detail=detail, shortage=error.shortage.replace(sub_group=self.sub_group))

    @property
    def shortage(self) -> Shortage | None:
        """Return the shortage of the domain that comes nearest to holding the pods."""
        shortage = self.domains.nearest
        return None if shortage is None else shortage.replace(sub_group=self.sub_group)


def nearest_shortage(shortages: Sequence[Shortage]) -> Shortage | None:
    """Return the shortage of the domain that comes nearest to holding the pods, or None without shortages.

    Return the first one by id if several are equally near.
    """
    return min(
        shortages,
        key=lambda each: (
            not each.is_counted,
            -(each.fitting_pods or 0) / max(each.requested_pods, 1),
            sum(amount for name, amount in each.missing if name == GPU),
            each.domain,
        ),
        default=None,
    )


def summary(errors: Sequence[FitError | PartErrors]) -> str:
    """Return the message in the status of a PodGroup that sums up its errors."""
    number, counted, reason = 0, Counter[str](), ""
    for error in errors:
        if isinstance(error, PartErrors):
            number += error.domains.number
            counted.update(error.domains.messages)
            reason = _NO_ROOM
        else:
            number += 1
            counted.update(error.messages)
            reason = error.reason
    if not number:
        return ""
    reason = reason if number == 1 else "Unable to schedule podgroup"
    lines = sorted(f"{count} {message}" if count > 1 else message for message, count in counted.items())
    return reason + (f": {JOINT.join(lines)}." if lines else "")


def too_few_pods(domain: str, held: int, wanted: int) -> FitError:
    """Return the error of a domain with room for too few pods."""
    message = f"node-group {domain} can allocate only {held} of {wanted} required pods"
    return FitError(_NO_ROOM, (message,), f"<{domain}>: {message}")


def insufficient_resources(domain: str, idle: Mapping[str, int], wanted: Mapping[str, float]) -> FitError:
    """Return the error of a domain that has less of some resources than all pods request together."""
    messages: list[str] = []
    details: list[str] = []
    shown = dict(_SHOWN)
    others = sorted(name for name in wanted if name not in shown and name != PODS)
    for name in (*shown, *others, PODS):
        asked, left = wanted.get(name, 0), idle.get(name, 0)
        if asked <= left:
            continue
        word = shown.get(name, name)
        plural = "resources" if name in _UNITS else "resource"
        messages.append(f"node-group(s) didn't have enough resources: {word}")
        details.append(
            f"{domain} didn't have enough {plural}: {word}, "
            f"requested: {_amount(name, asked)}, available: {_amount(name, left)}"
        )
    return FitError(_NO_ROOM, tuple(messages), f"<{domain}>: {', '.join(details)}")


def constraint_error(job: Job, sub_group: str, constraint: LevelConstraint, start: str | None = None) -> FitError:
    """Return the error if no domain satisfies a constraint.

    `start` is the domain within which KAI searches, if it is too small as a whole.
    """
    of = f", subgroup {sub_group}" if sub_group not in ("", DEFAULT_POD_SET) else ""
    where = "" if start is None else f": not enough resources in {start} to allocate the job"
    return unschedulable_error(
        f"topology {constraint.topology}, requirement {constraint.required} couldn't be satisfied "
        f"for job <{job.namespace}/{job.name}>{of}{where}"
    )


def unschedulable_error(message: str) -> FitError:
    """Return an error that is not about a domain."""
    return FitError(_UNPLACED, (message,), message)


def missing_queue(name: str) -> FitError:
    """Return the error of a job if its queue or a queue above it does not exist."""
    message = f"Queue '{name}' does not exist"
    return FitError("QueueDoesNotExist", (message,), message)


def over_limit(queue: str, resource: str, limit: float, allocated: float, requested: float) -> FitError:
    """Return the error of a job that would exceed the queue's limit of the resource."""
    word, unit = _QUEUE_WORDS[resource]
    limit_text, used, asked = [_amount_decimal(resource, each) for each in (limit, allocated, requested)]
    message = (
        f"{queue} quota has reached the allowable limit of {word}. Limit is {limit_text} {unit}, "
        f"currently {used} {unit} allocated and workload requested {asked} {unit}"
    )
    return FitError(OVER_LIMIT, (message,), message)


def over_quota(queue: str, resource: str, quota: float, allocated: float, requested: float) -> FitError:
    """Return the error of a non-preemptible job that would exceed the queue's quota of the resource."""
    unit = _QUEUE_WORDS[resource][1]
    asked_unit = {CPU: "CPU cores", MEMORY: "GB memory"}.get(resource, unit)
    quota_text, used, asked = [_amount_decimal(resource, each) for each in (quota, allocated, requested)]
    message = (
        "Non-preemptible workload is over quota. "
        f"Workload requested {asked} {asked_unit}, but {queue} quota is {quota_text} {unit}, "
        f"while {used} {unit} are already allocated for non-preemptible pods. "
        "Use a preemptible workload to go over quota."
    )
    return FitError(OVER_QUOTA, (message,), message)


def unmet_conditions(job: Job, pod: Pod, largest: Mapping[str, int]) -> str | None:
    """Return KAI's text about a pod that no node can hold, or None.

    Either an object that the pod needs is missing, or the pod requests more than any node has.
    """
    texts = [text for text in (*pod.lacks, _too_large_text(job, pod, largest)) if text]
    if not texts:
        return None
    listed = "".join([f"{text}.\n" for text in texts])
    return f"Scheduling conditions were not met for pod {job.namespace}/{pod.name}:\n{listed}"


def _too_large_text(job: Job, pod: Pod, largest: Mapping[str, int]) -> str | None:
    """Return KAI's text about a pod that requests more of a resource than any node has, or None."""
    pool = job.pool or "default"
    request: dict[str, float] = dict(pod.request)
    if pod.share is not None:
        request[GPU] = portion_of(pod.share)
    words = {GPU: ("GPU", ""), CPU: ("CPU", " cores"), MEMORY: ("memory", " GB")}
    others = sorted(request.keys() - words.keys())
    for name in (GPU, CPU, MEMORY, *others):
        if request.get(name, 0) <= largest.get(name, 0):
            continue
        word, unit = words.get(name, (name, " GB" if name == _STORAGE else ""))
        # KAI reads the largest amount of other resources, except storage, as 0.
        most = largest.get(name, 0) if name in words or name == _STORAGE else 0
        bound = (
            f"Max {word} resources available in a single node in the {pool} node-pool is topped at "
            f"{_amount_decimal(name, most)}{unit}"
            if most
            else f"No node in the {pool} node-pool has {word} resources"
        )
        gpus = {GPU: gpus_of(pod, 0)}
        asked = [
            f"{label}: {_amount_decimal(key, {**request, **gpus}.get(key, 0))}{suffix}"
            for key, label, suffix in ((GPU, "GPU", ""), (CPU, "CPU", " (cores)"), (MEMORY, "memory", " (GB)"))
        ]
        asked.append("pods: 1")
        for other in others:
            if other == _STORAGE:
                asked.append(f"{other}: {_amount_decimal(other, request[other])} (GB)")
            elif not other.startswith(MIG):
                # KAI writes the amounts of other resources in thousandths.
                asked.append(f"{other}: {_decimal(request[other] * 1000)}")
        return f"MaxNodePoolResources: The pod {job.namespace}/{pod.name} requires {', '.join(asked)}. {bound}"
    return None


def node_shortages(pod: Pod, node: Node, idle: Mapping[str, int]) -> list[str] | None:
    """Return KAI's texts about the resources that do not suffice for the pod on a node. Return None if all suffice.

    `idle` are the free amounts of the node.
    """
    request: dict[str, float] = dict(pod.request)
    share = pod.share
    portion = 0.0
    if share is not None:
        portion = ceil(share.memory * 100 / node.gpu_memory) / 100 if share.memory else share.portion
        is_odd = portion > 1 and portion != int(portion)
        if (
            not is_odd
            and portion_of(share) <= idle.get(GPU, 0)
            and idle.get(PODS, 0) >= 1
            and all(amount <= idle.get(name, 0) for name, amount in request.items())
        ):
            return None
        request[GPU] = round(portion * 100) * share.devices / 100
    texts = [
        f"node(s) didn't have enough of mig profile: {name}"
        for name in sorted(request)
        if name.startswith(MIG) and request[name] > idle.get(name, 0)
    ]
    if request.get(GPU, 0) > idle.get(GPU, 0):
        texts.append("node(s) didn't have enough resources: GPUs")
    if share is not None and share.memory > node.gpu_memory:
        texts.append("node(s) didn't have enough resources: GPU memory")
    shown = {CPU: "CPU cores", MEMORY: "memory"}
    others = sorted(name for name in request.keys() - {CPU, MEMORY, GPU} if not name.startswith(MIG))
    texts += [
        f"node(s) didn't have enough resources: {shown.get(name, name)}"
        for name in (*shown, *others)
        if request.get(name, 0) > idle.get(name, 0)
    ]
    if idle.get(PODS, 0) < 1:
        texts.append("node(s) didn't have enough resources: pods")
    return texts or None


def _amount(name: str, amount: float) -> str:
    return f"{amount:.3g}" if name == GPU else _amount_decimal(name, amount)


def _amount_decimal(name: str, amount: float) -> str:
    return _decimal(amount / _UNITS.get(name, 1))


def _decimal(number: float) -> str:
    """Return a number as text, with at most three decimals. Further digits are cut off, as in go-humanize."""
    whole, _, fraction = f"{number:.6f}".partition(".")
    fraction = fraction[:3].rstrip("0")
    return f"{whole}.{fraction}" if fraction else whole
