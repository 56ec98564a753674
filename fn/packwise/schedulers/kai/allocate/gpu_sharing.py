"""Shares of GPUs: which GPU of a node a pod shares, and what is left of it.

Memory is counted in KAI's measure: MiB, or hundredths of a GPU where the node does not say how much a GPU has.
Source: KAI Scheduler, api/node_info/gpu_sharing_node_info.go and gpu_sharing.
"""

from __future__ import annotations

from math import ceil

from krmfn.hints import TYPE_CHECKING
from packwise.schedulers.kai.allocate.scene import GPU

if TYPE_CHECKING:
    from collections.abc import Mapping

    from packwise.schedulers.kai.allocate.scene import GpuShare, Node, Pod

__all__ = [
    "MIG",
    "fitting_gpus",
    "free_portions",
    "gpus_of",
    "gpus_taken",
    "is_gpu_pod",
    "joins_shared_gpu",
    "memory_of",
    "mig_strategy",
    "portion_of",
]

MIG = "nvidia.com/mig-"
"""How the names of resources begin that are slices of GPUs."""

_MIG_LABEL = "node-role.kubernetes.io/mig-enabled"
_MIG_STRATEGY = "nvidia.com/mig.strategy"


def mig_strategy(labels: Mapping[str, str], allocatable: Mapping[str, int]) -> str:
    """The `mig` of a node with these labels and resources."""
    label = labels.get(_MIG_LABEL)
    if label is None:
        is_sliced = any(name.startswith(MIG) and amount > 0 for name, amount in allocatable.items())
    else:
        is_sliced = label in ("1", "t", "T", "TRUE", "true", "True")
    return (labels.get(_MIG_STRATEGY) or "none") if is_sliced else ""


def gpus_of(pod: Pod, gpu_memory: int) -> float:
    """The GPUs that the pod asks for, by which queues are bounded; `gpu_memory` is that of the largest GPU."""
    if pod.share is not None:
        if pod.share.memory:
            return pod.share.devices * pod.share.memory / gpu_memory if gpu_memory else 0
        return portion_of(pod.share)
    return sum([
        amount if name == GPU else amount * _slices(name)
        for name, amount in pod.request
        if name == GPU or name.startswith(MIG)
    ])  # fmt: skip


def gpus_taken(pod: Pod, node: Node) -> float:
    """The GPUs that the pod takes of its node, by which queues are bounded: shares by memory in hundredths of a GPU."""
    if pod.share is None or not pod.share.memory:
        return gpus_of(pod, 0)
    return pod.share.devices * ceil(pod.share.memory * 100 / node.gpu_memory) / 100


def joins_shared_gpu(pod: Pod, node: Node, shared: Mapping[str, int]) -> bool:
    """Whether KAI prefers the node, since a GPU that is shared there has room for the pod: one without GPUs has it."""
    if pod.share is None and any(name == GPU for name, _ in pod.request):
        return False
    memory = 0 if pod.share is None else memory_of(pod.share, node)
    return any(used > 0 and used + memory <= node.gpu_memory for used in shared.values())


def _slices(name: str) -> int:
    """How many slices of a GPU the profile of a resource has, as in `nvidia.com/mig-3g.20gb`."""
    number = name.removeprefix(MIG).partition("g.")[0]
    return int(number) if number.isdigit() else 0


def is_gpu_pod(pod: Pod) -> bool:
    """Whether the pod asks for a GPU, for a share of one, or for a slice."""
    return pod.share is not None or any(name == GPU or name.startswith(MIG) for name, _ in pod.request)


def portion_of(share: GpuShare) -> float:
    """The portion of GPUs by which KAI counts the share; 0 where it asks for memory."""
    return round(share.portion * 100) * share.devices / 100


def memory_of(share: GpuShare, node: Node) -> int:
    """The memory that the share takes of each GPU of the node."""
    return share.memory or int(share.portion * node.gpu_memory)


def fitting_gpus(share: GpuShare, node: Node, shared: Mapping[str, int], idle: int) -> list[str] | None:
    """The GPUs of the node that the share goes to: the fullest first, "" for one that nobody uses yet.

    None where there are too few. `shared` is what is taken of each shared GPU, `idle` how many GPUs nobody uses.
    """
    portion = ceil(share.memory * 100 / node.gpu_memory) / 100 if share.memory else share.portion
    if portion > 1 and portion != int(portion):
        return None
    memory = memory_of(share, node)
    groups = [name for name, used in shared.items() if used and used + memory <= node.gpu_memory]
    groups.sort(key=lambda name: (-shared[name], name))
    chosen = [*groups, *[""] * max(idle, 0)][: share.devices]
    return chosen if len(chosen) == share.devices else None


def free_portions(node: Node, shared: Mapping[str, int]) -> float:
    """What is left of the GPUs that pods share already, in GPUs."""
    return sum([max(0, node.gpu_memory - used) / node.gpu_memory for used in shared.values() if used > 0])
