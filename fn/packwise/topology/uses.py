"""Which topologies there are to choose from, and which workload uses which."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple

if TYPE_CHECKING:
    from krmfn.kubeobject import KubeObject
    from packwise.topology.levels import Level

__all__ = ["ListedTopology", "Use"]


class Use(NamedTuple):
    """`workload` is placed by `topology` (None: by none), which it names itself (`explicit`) or gets by default.

    `scheduled` is the number of its scheduled pods, None where no status tells. `document` is kind, namespace and name
    of a workload that is no Kubernetes object. `queue` is the one by whose flavors it gets the topology.
    """

    topology: str | None
    workload: KubeObject
    scheduled: int | None = None
    explicit: bool = True
    document: tuple[str, str, str] | None = None
    queue: str = ""


class ListedTopology(NamedTuple):
    """A topology that workloads can use: of which kind, and its levels, broadest first.

    `item` is the object that it is written in, a configuration or the topology itself, and `generated` tells which.
    """

    kind: str
    name: str
    levels: tuple[Level, ...]
    item: KubeObject
    generated: bool = False
