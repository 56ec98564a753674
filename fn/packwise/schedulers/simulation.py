"""Every scheduler as `place` and `report` know it: the gangs that come to it, and its answers on a cluster.

A scheduler whose algorithm packwise works out offline has a `Simulation`. They are asked one after the other, and each
finds the nodes as those before it left them.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING, Protocol
from krmfn.record import Record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from krmfn.value import Value
    from packwise.objects.place import Place

ALLOCATED, PARTIAL, PENDING, NOT_READY = "allocated", "partial", "pending", "notready"
"""The states of a gang: all of its pods have a place; fewer, but enough; it waits; it is not tried."""

FITS = (ALLOCATED, PARTIAL)
"""The states of gangs that run."""

Spread = tuple[tuple[str, tuple[tuple[str, int], ...]], ...]
"""The pods of each pod set by node, or by domain if the scheduler chooses no node."""


class GangPart(Record):
    """A gang as a whole, or a set of pods in it `depth` sets below; of its `pods`, the gang needs `members`.

    The levels are words, as workloads name them; "" if there is none. `place` is that of the constraint, or of the set.
    """

    name: str
    place: Place
    required: str = ""
    preferred: str = ""
    depth: int = 0
    pods: int = 0
    members: int = 0


class GangOutline(Record):
    """A gang before anything is placed.

    `scheduler_title` is how texts name its scheduler. `labels` tell it from others whose names have an epoch; `title`
    has none. `gpus` are those of all its pods. `parts` begin with the gang itself. `notes` are what an answer leaves
    out.
    """

    scheduler: str
    scheduler_title: str
    namespace: str
    name: str
    workload: str
    queue: str
    pods: int
    gpus: int
    parts: tuple[GangPart, ...]
    title: str = ""
    labels: Mapping[str, str] = {}
    notes: tuple[str, ...] = ()


class NearestDomain(Record):
    """The domain that comes nearest if a gang does not fit: it has room for `held` of `wanted` pods.

    `held` is None if the scheduler compares sums. `level` is a word, "" for the whole topology. `missing` is what lacks
    there, by resource. `is_counted` is false if the scheduler does not see what is free there.
    """

    pod_set: str
    level: str
    domain: str
    held: int | None
    wanted: int
    missing: tuple[tuple[str, float], ...] = ()
    is_counted: bool = True


class LaterAnswer(Record):
    """The answer after everything that the scheduler itself runs is gone."""

    state: str
    spread: Spread = ()
    message: str = ""


class NodeShare(Record):
    """Pods of a gang on one node, and their GPUs."""

    node: str
    pods: int
    gpus: int


class GangAnswer(Record):
    """The outcome of a gang.

    `placed_pods` have a place; `added_gpus` are those of pods that did not run before. `shares` are what it takes of
    nodes. `domain` is the one that all pods share, "" if they share none. `reasons` say in packwise's words why the
    gang, or what is left of it, gets no place; `message` is the scheduler's own text. `flavors` are those that pod sets
    get, of a scheduler that has any; `domains` the one domain of each pod set, of a scheduler that names no nodes.
    """

    gang: GangOutline
    state: str
    placed_pods: int
    spread: Spread = ()
    shares: tuple[NodeShare, ...] = ()
    added_gpus: int = 0
    domain: str = ""
    nearest: NearestDomain | None = None
    reasons: tuple[str, ...] = ()
    message: str = ""
    notes: tuple[str, ...] = ()
    flavors: tuple[tuple[str, str], ...] = ()
    domains: tuple[tuple[str, str], ...] = ()
    later: LaterAnswer | None = None

    @property
    def fits(self) -> bool:
        """True if the gang runs."""
        return self.state in FITS


class NodeUse(Record):
    """The sum of what pods take of a node where a scheduler puts them; their number is one of `pods` each."""

    node: str
    request: tuple[tuple[str, int], ...]


class Levels(Record):
    """A topology: its node labels, broadest first. `is_named`: a gang is bound to it."""

    name: str
    keys: tuple[str, ...]
    is_named: bool = False


class HasObjects(Protocol):
    """A cluster, as the objects that show it."""

    @property
    def objects(self) -> Sequence[Mapping[str, Value]]:
        """The objects, as `kubectl get -o json` lists them."""
        ...


class Simulation(Protocol):
    """A scheduler's algorithm over one cluster and the gangs of a render."""

    scheduler: str
    """Its name for users."""

    gangs: tuple[GangOutline, ...]
    """The gangs, in the order in which they are answered."""

    topologies: tuple[Levels, ...]
    """The topologies that it knows."""

    notes: tuple[str, ...]
    """Workloads that it would place and that have no answer, and why."""

    def place(self, beside: Sequence[NodeUse]) -> tuple[GangAnswer, ...]:
        """The answer for each gang; `beside` are the pods that other schedulers put on nodes before."""
        ...

    def uses(self) -> tuple[NodeUse, ...]:
        """The pods that it put on nodes and that did not run before, after `place`."""
        ...

    def count_more(self) -> Mapping[tuple[str, str], int]:
        """The further replicas of each workload, by namespace and name, that fit beside all gangs, after `place`."""
        ...
