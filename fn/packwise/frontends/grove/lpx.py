"""LPX, the scheduler of pods that ask for LPUs; it leaves the other cliques of a workload to KAI.

Source: spec/grove-releases.md#4.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING, cast
from packwise.settings.topologyrender import KAI_PROFILE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krmfn.value import Value
    from packwise.frontends.grove.podcliqueset import Clique
    from packwise.placement import Schedulers

__all__ = ["LPX", "asks_for_lpu", "is_split"]

LPX = "lpx-scheduler"
"""Its name in pods and in Grove's scheduler profiles."""

_LPU = frozenset({"lpu.nvidia.com/lpu", "nvidia.com/lpu"})


def is_split(scheduler: str, schedulers: Schedulers | None) -> bool:
    """Whether KAI schedules the cliques of a workload of `scheduler` that ask for no LPU."""
    names = schedulers.names if schedulers is not None else ()
    return scheduler == LPX and KAI_PROFILE in names


def asks_for_lpu(clique: Clique) -> bool:
    """Whether a container of the clique's pods requests an LPU, or has a limit of them."""
    return any(_LPU & resources.keys() for resources in _resources(clique))


def _resources(clique: Clique) -> Iterator[Mapping[str, Value]]:
    parts = [clique.pod_spec.get(key) for key in ("containers", "initContainers")]
    for container in [entry for part in parts if isinstance(part, list) for entry in part]:
        resources = container.get("resources") if isinstance(container, dict) else None
        for key in ("requests", "limits"):
            amounts = resources.get(key) if isinstance(resources, dict) else None
            if isinstance(amounts, dict):
                yield cast("Mapping[str, Value]", amounts)
