"""KAI's texts for a job that does not fit, and how its PodGroup's status sums them up.

Source: placement.md 7.
"""

from __future__ import annotations

from collections import Counter

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.schedulers.kai.allocate.scene import CPU, DEFAULT_POD_SET, GPU, MEMORY, PODS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from packwise.schedulers.kai.allocate.scene import Constraint, Job, Pod

__all__ = [
    "JOINT",
    "FitError",
    "Shortage",
    "few_pods",
    "insufficient",
    "node_shortages",
    "over_limit",
    "over_quota",
    "summary",
    "too_large",
    "unsatisfied",
    "unschedulable",
]

JOINT = ". \n"
"""What KAI writes between the reasons of a message."""

_NO_ROOM = "Not enough resources for the workload"
_UNPLACED = "PodSchedulingErrors"
_SHOWN = ((CPU, "CPU cores"), (MEMORY, "memory"), (GPU, "GPUs"))
_UNITS = {CPU: 1000, MEMORY: 10**9}


class Shortage(NamedTuple):
    """A domain that is too small: it has room for `held` of `wanted` pods, None where KAI compares sums.

    `domain` is its id in `topology`, `level` its node label ("" for the whole topology), `sub_group` the part of the
    job that does not fit. `missing` is what lacks there, by resource. `is_counted` is false where KAI counts the domain
    as empty, since it counts only within a finer one that all nodes share.
    """

    sub_group: str
    topology: str
    domain: str
    level: str
    held: int | None
    wanted: int
    missing: tuple[tuple[str, int], ...]
    is_counted: bool


class FitError(NamedTuple):
    """A reason against a job: the status of the PodGroup holds `messages`, or `detail` where KAI is asked for details.

    `shortage` is the domain that is too small, where the error is about one.
    """

    reason: str
    messages: tuple[str, ...]
    detail: str
    shortage: Shortage | None = None


def summary(errors: Sequence[FitError]) -> str:
    """The message of the PodGroup's status."""
    if not errors:
        return ""
    reason = errors[0].reason if len(errors) == 1 else "Unable to schedule podgroup"
    counted = Counter(message for error in errors for message in error.messages)
    lines = sorted(f"{count} {message}" if count > 1 else message for message, count in counted.items())
    return reason + (f": {JOINT.join(lines)}." if lines else "")


def few_pods(domain: str, held: int, wanted: int, sub_group: str) -> FitError:
    """A domain has room for too few pods."""
    message = f"node-group {domain} can allocate only {held} of {wanted} required pods"
    return FitError(_NO_ROOM, (message,), _in_domain(domain, sub_group, [message]))


def insufficient(domain: str, idle: Mapping[str, int], wanted: Mapping[str, int], sub_group: str) -> FitError:
    """A domain has less of some resources than all pods together ask for."""
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
    return FitError(_NO_ROOM, tuple(messages), _in_domain(domain, sub_group, details))


def _in_domain(domain: str, sub_group: str, details: Iterable[str]) -> str:
    whose = "" if sub_group in ("", DEFAULT_POD_SET) else f"subgroup {sub_group}: "
    return f"<{domain}>: {whose}{', '.join(details)}"


def unsatisfied(job: Job, sub_group: str, constraint: Constraint, start: str | None = None) -> FitError:
    """No domain satisfies a constraint; `start` is the domain that is too small as a whole, None where it is not."""
    of = f", subgroup {sub_group}" if sub_group not in ("", DEFAULT_POD_SET) else ""
    where = "" if start is None else f": not enough resources in {start} to allocate the job"
    return unschedulable(
        f"topology {constraint.topology}, requirement {constraint.required} couldn't be satisfied "
        f"for job <{job.namespace}/{job.name}>{of}{where}"
    )


def unschedulable(message: str) -> FitError:
    """An error without a domain."""
    return FitError(_UNPLACED, (message,), message)


def over_limit(queue: str, limit: float, allocated: int, requested: int) -> FitError:
    """The queue may not use as many GPUs."""
    message = (
        f"{queue} quota has reached the allowable limit of GPUs. Limit is {_decimal(limit)} GPUs, "
        f"currently {_decimal(allocated)} GPUs allocated and workload requested {_decimal(requested)} GPUs"
    )
    return FitError("OverLimit", (message,), message)


def over_quota(queue: str, quota: float, allocated: int, requested: int) -> FitError:
    """The queue may not use as many GPUs for pods that cannot be preempted."""
    message = (
        "Non-preemptible workload is over quota. "
        f"Workload requested {_decimal(requested)} GPUs, but {queue} quota is {_decimal(quota)} GPUs, "
        f"while {_decimal(allocated)} GPUs are already allocated for non-preemptible pods. "
        "Use a preemptible workload to go over quota."
    )
    return FitError("NonPreemptibleOverQuota", (message,), message)


def too_large(namespace: str, pod: Pod, largest: Mapping[str, int]) -> str | None:
    """The text about a pod that is larger than any node; None where it is not."""
    request = dict(pod.request)
    words = {GPU: ("GPU", ""), CPU: ("CPU", " cores"), MEMORY: ("memory", " GB")}
    for name in (GPU, CPU, MEMORY, *sorted(request.keys() - words.keys())):
        if request.get(name, 0) <= largest.get(name, 0):
            continue
        word, unit = words.get(name, (name, ""))
        most = largest.get(name, 0)
        bound = (
            f"Max {word} resources available in a single node in the default node-pool is topped at "
            f"{_amount_decimal(name, most)}{unit}"
            if most
            else f"No node in the default node-pool has {word} resources"
        )
        asked = ", ".join(
            f"{label}: {_amount_decimal(key, request.get(key, 0))}{suffix}"
            for key, label, suffix in ((GPU, "GPU", ""), (CPU, "CPU", " (cores)"), (MEMORY, "memory", " (GB)"))
        )
        return (
            f"Scheduling conditions were not met for pod {namespace}/{pod.name}:\n"
            f"MaxNodePoolResources: The pod {namespace}/{pod.name} requires {asked}, pods: 1. {bound}.\n"
        )
    return None


def node_shortages(request: Mapping[str, int], idle: Mapping[str, int]) -> list[str]:
    """What a node has too little of for a pod, one text each."""
    shown = {GPU: "GPUs", CPU: "CPU cores", MEMORY: "memory"}
    others = sorted(request.keys() - shown.keys())
    return [
        f"node(s) didn't have enough resources: {shown.get(name, name)}"
        for name in (*shown, *others)
        if request.get(name, 0) > idle.get(name, 0)
    ] + (["node(s) didn't have enough resources: pods"] if idle.get(PODS, 0) < 1 else [])


def _amount(name: str, amount: int) -> str:
    return f"{amount:.3g}" if name == GPU else _amount_decimal(name, amount)


def _amount_decimal(name: str, amount: int) -> str:
    return _decimal(amount / _UNITS.get(name, 1))


def _decimal(number: float) -> str:
    """A number with three decimals at most; what follows them is cut, as go-humanize does."""
    whole, _, fraction = f"{number:.6f}".partition(".")
    fraction = fraction[:3].rstrip("0")
    return f"{whole}.{fraction}" if fraction else whole
