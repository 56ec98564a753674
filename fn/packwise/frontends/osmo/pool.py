"""A pool as the steps see it. Source: osmo.md 1."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krmfn.record import NamedTuple
from packwise.placement.model import GpuShare
from packwise.topology import Level

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from krmfn.value import Value
    from packwise.frontends.osmo import schema
    from packwise.objects.place import Place

__all__ = ["DEFAULT_SCHEDULER", "Backend", "Pool", "TopologyKey", "pool_of", "read_backends", "read_pool"]

DEFAULT_SCHEDULER = "kai-scheduler"


class TopologyKey(NamedTuple):
    """A level: the name that workflows use, and the label of the nodes."""

    key: str
    label: str


class Backend(NamedTuple):
    """A cluster that OSMO sends pods to; `scheduler_type` is None where no file says it."""

    scheduler_type: str | None = None
    scheduler_name: str = DEFAULT_SCHEDULER


class Pool(NamedTuple):
    """A pool; `keys` stand broadest first, as OSMO wants them. `place` is where it is written."""

    name: str
    place: Place
    backend_name: str
    backend: Backend = Backend()
    keys: tuple[TopologyKey, ...] = ()
    platforms: tuple[str, ...] = ()
    default_platform: str | None = None
    gpu: GpuShare = GpuShare()
    guarantee: int = -1

    @property
    def key_names(self) -> list[str]:
        """What workflows may ask for, broadest first."""
        return [each.key for each in self.keys]

    @property
    def levels(self) -> tuple[Level, ...]:
        """The topology of the pool, broadest level first; its domains are the keys that workflows use."""
        return tuple([Level(each.key, each.label) for each in self.keys])

    @property
    def platform(self) -> str | None:
        """The platform of resources that name none."""
        return self.default_platform if self.default_platform in self.platforms else None


def read_pool(name: str, place: Place, model: schema.Pool, backends: Mapping[str, Backend]) -> Pool:
    """The pool that `model` says; one in a mapping has its name there."""
    gpu = model.resources.gpu
    return Pool(
        name,
        place,
        model.backend,
        backends.get(model.backend, Backend()),
        tuple([TopologyKey(each.key, each.label) for each in model.topology_keys]),
        tuple(model.platforms),
        model.default_platform or None,
        GpuShare() if gpu is None else GpuShare(gpu.guarantee, gpu.maximum, gpu.weight),
        -1 if gpu is None else gpu.guarantee,
    )


def read_backends(value: Mapping[str, Value]) -> dict[str, Backend]:
    """The backends that stand beside the pools, as in OSMO's own configuration file; others are KAI's by default."""
    by_name: dict[str, Backend] = {}
    backends = value.get("backends")
    for name, entry in backends.items() if isinstance(backends, dict) else ():
        settings = entry.get("scheduler_settings") if isinstance(entry, dict) else None
        if isinstance(settings, dict):
            kind, scheduler = settings.get("scheduler_type"), settings.get("scheduler_name")
            by_name[str(name)] = Backend(
                kind if isinstance(kind, str) else None,
                scheduler if isinstance(scheduler, str) and scheduler else DEFAULT_SCHEDULER,
            )
    return by_name


def pool_of(name: str, pools: Sequence[Pool]) -> Pool | None:
    """The pool that a workflow names, else (for "") the first; None where it is not there. Source: osmo.md 8."""
    if not name:
        return pools[0] if pools else None
    return next((pool for pool in pools if pool.name == name), None)
